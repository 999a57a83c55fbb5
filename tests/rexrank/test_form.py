import json

import pytest

from radrl.rexrank.form import FormError, context, films, located, read

ENTRY = {"image_path": ["/p10/a.jpg", "/p10/b.jpg"], "section_findings": "Clear.", "context": "Age:50-60."}


@pytest.fixture
def written(tmp_path):
    def write(found):
        path = tmp_path / "in.json"
        path.write_text(found if isinstance(found, str) else json.dumps(found))
        return path

    return write


@pytest.mark.parametrize(
    ("more", "film"),
    [
        ({"key_image_path": "/p10/b.jpg", "frontal_lateral": ["Frontal", "Lateral"]}, "/p10/b.jpg"),
        ({"frontal_lateral": ["lateral", "antero-posterior"]}, "/p10/b.jpg"),  # MIMIC-CXR's words
        ({"frontal_lateral": ["Lateral", "Frontal"], "key_image_path": float("nan")}, "/p10/b.jpg"),
        ({"frontal_lateral": ["Lateral", "swimmer's"]}, "/p10/a.jpg"),
        ({}, "/p10/a.jpg"),
    ],
)
def test_a_policy_of_one_film_sees_the_frontal_one(written, more, film):
    (study,) = read(written({"50051329": ENTRY | more}))
    assert (study.key, study.images, study.film) == ("50051329", ("/p10/a.jpg", "/p10/b.jpg"), film)
    assert study.entry["context"] == "Age:50-60."


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([], "its entry is an empty list, not an object"),
        ({}, "'image_path' is absent or null; give a list of at least one film"),
        ({"image_path": "a.jpg"}, "'image_path' is text; give a list"),
        ({"image_path": []}, "'image_path' is an empty list"),
        ({"image_path": ["a.jpg", None]}, "'image_path' has None, which is no path"),
        ({"image_path": ["a.jpg"], "key_image_path": 7}, "'key_image_path' has 7, which is no path"),
        ({"image_path": ["a.jpg"], "frontal_lateral": []}, "no list of 1 views, one a film"),
        ({"image_path": ["a.jpg"], "question": "Effusion?"}, "ReXrank's task of answers, not of reports"),
    ],
)
def test_a_malformed_study_is_named_by_its_key(written, entry, said):
    with pytest.raises(FormError) as error:
        read(written({"good": ENTRY, "CXR7_IM-1": entry}))
    title, problem = str(error.value).splitlines()
    assert title == "in.json: 1 studies cannot be read; mend them, or take them out:"
    assert problem.startswith("  study 'CXR7_IM-1': ")
    assert said in problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "in.json is no JSON: "),
        ('["a"]', "in.json holds a list, not an object with an entry a study"),
        ("{}", "in.json has no study"),
        ('{"a": {}, "a": {}}', "in.json is no JSON: the key 'a' is there twice"),
    ],
)
def test_what_is_no_file_of_studies(written, text, said):
    with pytest.raises(FormError, match=said.replace("[", r"\[")):
        read(written(text))


def test_of_many_problems_ten_are_listed(written):
    with pytest.raises(FormError) as error:
        read(written({str(number): {} for number in range(13)}))
    lines = str(error.value).splitlines()
    assert len(lines) == 12
    assert lines[-1] == "  and 3 more"


def test_a_policy_of_studies_sees_the_views_it_was_trained_with(written):
    views = {
        "image_path": ["a", "b", "c"],
        "frontal_lateral": ["Lateral", "Frontal", "AP"],
        "key_image_path": "c",
    }
    (study,) = read(written({"s": views}))
    assert study.views == ("lateral", "frontal", "frontal")
    assert films(study, whole=True, views=["frontal", "lateral", "unknown"]) == ("a", "b", "c")
    assert films(study, whole=True, views=["frontal"]) == ("b", "c")
    assert films(study, whole=True, views=["unknown"]) == ("c",)
    assert films(study, whole=False, views=["frontal", "lateral"]) == ("c",)


def test_films_lie_below_the_folder_with_or_without_a_slash(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).touch()
    found = located({"s": ["/a.png", "b.png"]}, tmp_path)
    assert found == {"s": (tmp_path / "a.png", tmp_path / "b.png")}


def test_missing_films_are_named_with_their_studies(tmp_path):
    (tmp_path / "a.png").touch()
    with pytest.raises(FormError) as error:
        located({"a": ["a.png"], "b": ["a.jpg"], "c": ["../../etc/passwd"]}, tmp_path)
    assert str(error.value).splitlines() == [
        "films of 2 of the 3 studies are not there:",
        "  study 'b': a.jpg: no such file; a.png is there",
        "  study 'c': ../../etc/passwd: the path leads out of the image root",
        f"Mend: is {tmp_path} the folder that image paths start from?",
    ]


@pytest.mark.parametrize(
    ("text", "age", "indication"),
    [
        (
            "Age:60-70.Gender:F.Indication: ___ year old with CHF. Dyspnea.",
            "60-70",
            "___ year old with CHF. Dyspnea.",
        ),
        ("Age:82.0.Gender:F.Indication:nanComparison: None.", "82", None),
        ("Age:nan.Gender:M.Indication: Cough.\nFever. Comparison: None.", None, "Cough.\nFever."),
        ("Age:50-60.", "50-60", None),
        (float("nan"), None, None),
        (None, None, None),
    ],
)
def test_the_context_of_a_study_is_parted(text, age, indication):
    assert context({"context": text}) == {"age": age, "indication": indication}
