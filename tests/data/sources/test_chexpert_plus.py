import csv
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radrl.data.images import encode_png, locate
from radrl.data.ingest import ingest
from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources.chexpert_plus import read
from radrl.data.study import Record
from radrl.data.tables import SourceError
from radrl.observations import INDEX, OBSERVATIONS

COLUMNS = [
    "path_to_image",
    "path_to_dcm",
    "frontal_lateral",
    "ap_pa",
    "deid_patient_id",
    "patient_report_date_order",
    "report",
    "section_narrative",
    "section_clinical_history",
    "section_history",
    "section_comparison",
    "section_technique",
    "section_procedure_comments",
    "section_findings",
    "section_impression",
    "section_end_of_impression",
    "section_summary",
    "section_accession_number",
    "age",
    "sex",
    "race",
    "ethnicity",
    "interpreter_needed",
    "insurance_type",
    "recent_bmi",
    "deceased",
    "split",
]
NAME = "df_chexpert_plus_240401.csv"
LABELS = ("No Finding", *OBSERVATIONS[:-1])  # valid.csv begins with it


def film(patient=1, study=1, view=1, split="train", kind="frontal", **cells):
    """One row of the release, invented."""
    path = f"{split}/patient{patient:05d}/study{study}/view{view}_{kind}"
    return {
        "path_to_image": f"{path}.jpg",
        "path_to_dcm": f"{path}.dcm",
        "frontal_lateral": kind.title(),
        "ap_pa": "AP" if kind == "frontal" else "",
        "deid_patient_id": f"patient{patient:05d}",
        "patient_report_date_order": "1",
        "report": "SECRET-REPORT",
        "section_narrative": "SECRET-NARRATIVE",
        "section_findings": "\nHeart normal.",
        "section_impression": f"\n1. Clear, film {view}.",
        "section_accession_number": "SECRET-NUMBER",
        "age": "SECRET-AGE",
        "sex": "SECRET-SEX",
        "race": "SECRET-RACE",
        "split": split,
        **cells,
    }


@pytest.fixture
def release(tmp_path):
    """Writes a release and reads it."""
    (tmp_path / "PNG" / "train").mkdir(parents=True)

    def write(*rows, encoding="utf-8"):
        with (tmp_path / NAME).open("w", newline="", encoding=encoding) as stream:
            writer = csv.DictWriter(stream, COLUMNS, restval="")
            writer.writeheader()
            writer.writerows(rows)

    def run(*rows, **options):
        if rows:
            write(*rows)
        source = read(path=tmp_path / NAME, images=tmp_path / "PNG", **options)
        records = list(source.records)
        assert source.films == len(records)
        return records

    run.write = write
    return run


@pytest.fixture
def valid_csv(tmp_path):
    """Writes labels as CheXpert's valid.csv has them."""

    def write(*rows, name="valid.csv", column="Path"):
        path = tmp_path / name
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([column, "Sex", "Age", "Frontal/Lateral", "AP/PA", *LABELS])
            for place, positive in rows:
                values = positive if isinstance(positive, dict) else dict.fromkeys(positive, "1.0")
                labels = [values.get(label, "0.0") for label in LABELS]
                writer.writerow([place, "Male", "73", "Frontal", "AP", *labels])
        return path

    return write


def test_a_row_becomes_a_record_without_what_could_tell_who_it_was(release, tmp_path):
    (record,) = release(film(patient=42142, study=5))
    assert record == Record(
        key=f"{NAME} row 2",
        study_id="patient42142_study5",
        patient_id="patient42142",
        image=tmp_path / "PNG/train/patient42142/study5/view1_frontal.png",
        view="frontal",
        split="train",
        findings="Heart normal.",
        impression="1. Clear, film 1.",
        taken=1,
    )
    assert "SECRET" not in repr(record)


def test_context_is_that_of_the_studys_first_row(release, caplog):
    first = {"age": "61", "section_clinical_history": "", "section_history": " Cough. "}
    told = (
        film(**first, patient_report_date_order="3"),
        film(view=2, age="62", section_clinical_history="Other."),
    )
    assert [(r.indication, r.age, r.taken) for r in release(*told)] == [("Cough.", 61, 3)] * 2
    (record,) = release(film(study=2, section_clinical_history="Fever.", section_history="Cough."))
    assert (record.indication, record.age) == ("Fever.", None)
    assert "column age holds no such number" in caplog.text
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize(("films", "suffix"), [("png", ".png"), ("jpg", ".jpg"), ("dicom", ".dcm")])
def test_films_in_each_format(release, films, suffix):
    (record,) = release(film(), films=films)
    assert record.image.name == f"view1_frontal{suffix}"


def test_a_study_without_a_dicom_path_has_no_film(release):
    (record,) = release(film(path_to_dcm=""), films="dicom")
    assert record.image is None


def test_scattered_films_come_together_with_the_first_views_text(release):
    rows = [
        film(1, 2, view=2, kind="lateral"),
        film(2, 2),
        film(1, 1),
        film(1, 2, view=10),
        film(1, 2, view=1),
    ]
    records = release(*rows)
    assert [(record.study_id, record.key.rsplit(" ", 1)[1]) for record in records] == [
        ("patient00001_study2", "6"),
        ("patient00001_study2", "2"),
        ("patient00001_study2", "5"),
        ("patient00002_study2", "3"),
        ("patient00001_study1", "4"),
    ]
    assert {record.impression for record in records[:3]} == {"1. Clear, film 1."}
    assert [record.view for record in records[:3]] == ["frontal", "lateral", "frontal"]


@pytest.mark.parametrize(
    ("frontal_lateral", "ap_pa", "view"),
    [
        ("Frontal", "PA", "frontal"),
        ("Frontal", "", "frontal"),
        ("Lateral", "", "lateral"),
        ("Frontal", "LL", "unknown"),
        ("Frontal", "RL", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_views(release, frontal_lateral, ap_pa, view):
    (record,) = release(film(frontal_lateral=frontal_lateral, ap_pa=ap_pa))
    assert record.view == view


def test_missing_sections_are_absent(release):
    (record,) = release(film(section_findings="", section_impression=" \n"))
    assert (record.findings, record.impression, record.report) == (None, None, None)


def test_splits_of_the_release_and_none(release):
    rows = [film(1), film(2, split="valid"), film(3, split="")]
    assert [record.split for record in release(*rows)] == ["train", "valid", None]
    assert [record.split for record in release(split="drawn")] == [None, None, None]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"path_to_image": ""}, "missing_image"),
        ({"path_to_image": "train/00001/view1_frontal.jpg"}, "missing_id"),
        ({"path_to_image": "train/patient00001/study1/film.jpg"}, "missing_id"),
        ({"deid_patient_id": " "}, "missing_id"),
        ({"deid_patient_id": "patient00009"}, "duplicate_id"),
    ],
)
def test_rows_that_name_no_film_or_patient(release, cells, reason):
    refusal, record = release(film(1, **cells), film(2))
    assert (refusal.key, refusal.reason) == (f"{NAME} row 2", reason)
    assert record.study_id == "patient00002_study1"


def test_the_same_film_twice_is_one_record(release):
    refusal, record = release(film(), film())
    assert (refusal.key, refusal.reason) == (f"{NAME} row 3", "duplicate_film")
    assert record.key == f"{NAME} row 2"


@pytest.mark.parametrize("outside", ["../out", "/etc"])
def test_paths_out_of_the_folder_are_refused_by_the_reading_of_films(release, tmp_path, outside):
    (record,) = release(film(path_to_image=f"{outside}/patient00001/study1/view1_frontal.jpg"))
    with pytest.raises(Refused) as refused:
        locate(record.image, tmp_path / "PNG")
    assert refused.value.reason == "outside_root"


def test_broken_rows_do_not_take_their_neighbours_along(release, tmp_path):
    release.write(film(1), film(2), film(3))
    lines = (tmp_path / NAME).read_text()
    second = lines.index("train/patient00002")
    (tmp_path / NAME).write_text(lines[:second] + 'a,b\n\n"x"y,\n' + lines[second:])
    short, stray, *records = release()
    assert (short.reason, short.detail) == ("malformed_row", "2 fields where the header has 27")
    assert (stray.reason, stray.key.rsplit(" ", 1)[1]) == ("malformed_row", "5")
    assert [record.key.rsplit(" ", 1)[1] for record in records] == ["2", "6", "7"]
    assert [record.findings for record in records] == ["Heart normal."] * 3


def test_nul_bytes_are_no_text(release):
    refusal, _ = release(film(1, section_findings="a\0b"), film(2))
    assert refusal.reason == "malformed_row"
    assert "NUL" in refusal.detail


def test_a_row_with_damaged_bytes_is_refused_alone(release, tmp_path):
    release.write(film(1, section_findings="Côté gauche."), film(2, section_findings="Caf?."), film(3))
    table = tmp_path / NAME
    table.write_bytes(table.read_bytes().replace(b"Caf?", b"Caf\xe9"))
    one, two, three = sorted(release(), key=lambda each: each.key)
    assert isinstance(one, Record)
    assert (two.reason, two.detail) == ("malformed_row", "bytes that are no UTF-8")
    assert isinstance(three, Record)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(release, encoding):
    release.write(film(1), film(2, section_findings="Épanchement"), encoding=encoding)
    assert release()[1].findings == "Épanchement"


def test_an_open_quote_is_named(release, tmp_path):
    release.write(film())
    with (tmp_path / NAME).open("a") as stream:
        stream.write('"never closed')
    with pytest.raises(SourceError, match=r"quote.*line \d+ is not closed"):
        release()


texts = st.text(
    st.one_of(
        st.sampled_from('\n\r",;. '),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufdd0\ufdd1"),
    ),
    max_size=40,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    films=st.dictionaries(
        st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 3)), texts, min_size=1, max_size=10
    ),
    shuffle=st.randoms(use_true_random=False),
)
def test_every_film_once_its_study_together_with_the_text_of_its_first(release, films, shuffle):
    order = list(films)
    shuffle.shuffle(order)
    records = release(*(film(*name, section_findings=films[name]) for name in order))
    ids = [record.study_id for record in records]
    assert len(records) == len(films)
    assert sum(one != other for one, other in pairwise(ids)) + 1 == len(set(ids))
    for record in records:
        patient, study = map(int, re.findall(r"\d+", record.study_id))
        first = min(name for name in films if name[:2] == (patient, study))
        assert record.findings == (films[first].strip() or None)


def test_a_release_goes_through_ingest(release, valid_csv, tmp_path, noise_film):
    rows = [film(1, view=2, kind="lateral"), film(7, split="valid"), film(1), film(3, section_impression="")]
    for seed, row in enumerate(rows):
        place = (tmp_path / "PNG" / row["path_to_image"]).with_suffix(".png")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(encode_png(noise_film(seed)))
    release.write(*rows)
    gold = valid_csv(("CheXpert-v1.0/valid/patient00007/study1/view1_frontal.jpg", ["Edema"]))
    source = read(path=tmp_path / NAME, images=tmp_path / "PNG", split="drawn", gold=gold, test="gold")
    found = ingest(
        source,
        seed=0,
        split_shares={"train": 1.0},
        max_quarantined_share=0.25,
        sample="study",
        target="impression",
        image_size=32,
        image_root=tmp_path / "PNG",
    )
    first, second = found
    assert (first["study_id"], first["split"], first["views"]) == (
        "patient00001_study1",
        "train",
        ["frontal", "lateral"],
    )
    assert (second["split"], second["gold"][INDEX["Edema"]]) == ("test", 1)
    assert "SECRET" not in repr([first, second])
    assert found.quarantine.counts() == {"empty_report": 1}


# the whole source


def test_other_tables_are_refused_with_what_is_missing(release, tmp_path):
    (tmp_path / NAME).write_text("path_to_image,split\nx,train\n")
    missing = (
        r"no column .frontal_lateral., .ap_pa..*it has: path_to_image, split; this is no table of CheXpert"
    )
    with pytest.raises(SourceError, match=missing):
        release()


def test_compressed_tables_are_to_be_unpacked(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(SourceError, match="unpack"):
        read(path=tmp_path / f"{NAME}.gz", images=tmp_path)


def test_wrong_folders_are_named(tmp_path):
    with pytest.raises(SourceError, match="is no folder"):
        read(path=tmp_path / NAME, images=tmp_path / "none")
    with pytest.raises(SourceError, match="neither train nor valid"):
        read(path=tmp_path / NAME, images=tmp_path)


@pytest.mark.parametrize("options", [{"split": "mambaxray"}, {"test": "gold"}])
def test_choices_that_need_a_file(release, options):
    with pytest.raises(ValueError, match="needs"):
        release(film(), **options)


# gold labels


def test_gold_labels_in_our_order_and_classes(release, valid_csv):
    path = "CheXpert-v1.0-small/valid/patient64541/study1/view1_frontal.jpg"
    labels = {"Cardiomegaly": "1.0", "Edema": "-1.0", "Fracture": "", "No Finding": "0.0"}
    (record,) = release(film(64541, split="valid"), gold=valid_csv((path, labels)))
    expected = [2] * 13 + [0]
    expected[INDEX["Cardiomegaly"]] = 1
    expected[INDEX["Edema"]] = 3
    expected[INDEX["Fracture"]] = 0
    assert record.gold == tuple(expected)
    assert record.split == "valid"


def test_no_finding_is_there_or_not(release, valid_csv):
    (record,) = release(
        film(7), gold=valid_csv(("valid/patient00007/study1/view1_frontal.jpg", ["No Finding"]))
    )
    assert record.gold == (*[2] * 13, 1)


def test_labels_by_study_as_the_test_sets_majority_vote_has_them(release, valid_csv):
    gold = valid_csv(("CheXpert-v1.0/test/patient00007/study1", ["Edema"]), column="Study")
    (record,) = release(film(7), gold=gold)
    assert record.gold[INDEX["Edema"]] == 1


def test_films_of_a_study_share_their_labels(release, valid_csv):
    rows = [film(7, view=1), film(7, view=2, kind="lateral"), film(8)]
    gold = valid_csv(("valid/patient00007/study1/view1_frontal.jpg", ["Edema"]))
    labelled, other, unlabelled = release(*rows, gold=gold)
    assert labelled.gold == other.gold
    assert unlabelled.gold is None


def test_films_labelled_differently_are_refused_both(release, valid_csv):
    gold = valid_csv(
        ("valid/patient00007/study1/view1_frontal.jpg", ["Edema", "Fracture"]),
        ("valid/patient00007/study1/view2_lateral.jpg", ["Edema"]),
    )
    first, second, record = release(film(7), film(7, view=2, kind="lateral"), film(8), gold=gold)
    assert {first.reason, second.reason} == {"duplicate_id"}
    assert "valid.csv row 2 and valid.csv row 3 differ on Fracture" in first.detail
    assert record.study_id == "patient00008_study1"


@pytest.mark.parametrize(("label", "value"), [("Edema", "2"), ("Edema", "yes"), ("No Finding", "-1")])
def test_labels_that_are_none_refuse_the_study(release, valid_csv, label, value):
    gold = valid_csv(("valid/patient00007/study1/view1_frontal.jpg", {label: value}))
    (refusal,) = release(film(7), gold=gold)
    assert refusal.reason == "malformed_row"
    assert f"valid.csv row 2: {label} is {value!r}" in refusal.detail


def test_labels_of_nothing_in_the_release_are_refused(release, valid_csv):
    gold = valid_csv(
        ("valid/patient00007/study1/view1_frontal.jpg", []), ("valid/x.jpg", []), ("test/patient9/study1", [])
    )
    unnamed, absent, record = release(film(7), gold=gold)
    assert (unnamed.key, unnamed.reason) == ("valid.csv row 3", "malformed_row")
    assert (absent.key, absent.reason) == ("valid.csv row 4", "missing_report")
    assert isinstance(record, Record)


def test_labels_of_another_set_altogether_are_an_error(release, valid_csv):
    with pytest.raises(SourceError, match=r"valid\.csv labels no study of the release"):
        release(film(1), gold=valid_csv(("test/patient64741/study1/view1_frontal.jpg", [])))


def test_a_label_file_without_labels_is_an_error(release, tmp_path):
    (tmp_path / "valid.csv").write_text("Path,Edema\n")
    with pytest.raises(SourceError, match="lacks Enlarged Cardiomediastinum"):
        release(film(), gold=tmp_path / "valid.csv")


def test_the_gold_studies_alone_are_the_test_split(release, valid_csv):
    rows = [
        film(7, 1, split="valid"),
        film(7, 2, split="valid"),
        film(8, split="test"),
        film(9, split="valid"),
        film(1),
    ]
    gold = valid_csv(("valid/patient00007/study1/view1_frontal.jpg", []))
    test, same_patient, other_test, val, train = release(*rows, gold=gold, test="gold")
    assert (test.split, val.split, train.split) == ("test", "valid", "train")
    assert {same_patient.reason, other_test.reason} == {"left_out_split"}


def test_the_gold_studies_are_tested_on_when_the_rest_is_drawn(release, valid_csv):
    gold = valid_csv(("valid/patient00007/study1/view1_frontal.jpg", []))
    assert [r.split for r in release(film(7), film(1), gold=gold, test="gold", split="drawn")] == [
        "test",
        None,
    ]


# the benchmark's split


def annotation(folder, content):
    path = folder / "chexpert_annotation.json"
    path.write_text(json.dumps(content))
    return path


def entry(*paths):
    return {"id": "x", "report": "x", "image_path": list(paths)}


def test_the_benchmarks_split_by_film(release, tmp_path):
    content = {
        "train": [entry("train/patient00001/study1/view1_frontal.png")],
        "val": [entry("train/patient00002/study1/view1_frontal.png")],
        "test": [entry("valid/patient00003/study1/view1_frontal.png")],
    }
    rows = [film(1), film(2), film(3, split="valid"), film(4)]
    *records, left_out = release(*rows, split="mambaxray", annotation=annotation(tmp_path, content))
    assert [record.split for record in records] == ["train", "val", "test"]
    assert (left_out.reason, left_out.study_id) == ("left_out_split", "patient00004_study1")


def test_the_gold_studies_replace_the_benchmarks_test_split(release, valid_csv, tmp_path):
    names = [f"train/patient{number:05d}/study1/view1_frontal.png" for number in (1, 2, 3)]
    content = {"train": [entry(names[0]), entry(names[1])], "val": [], "test": [entry(names[2])]}
    records = release(
        *(film(number) for number in (1, 2, 3)),
        split="mambaxray",
        annotation=annotation(tmp_path, content),
        gold=valid_csv((names[1], [])),
        test="gold",
    )
    assert [record.split if isinstance(record, Record) else record.reason for record in records] == [
        "train",
        "test",
        "left_out_split",
    ]


def test_films_that_only_the_benchmark_names(release, tmp_path):
    content = {
        "train": [entry("train/patient00001/study1/view1_frontal.png"), entry("patient7.png"), entry(), 3],
        "val": [],
        "test": [entry("train/patient00009/study1/view1_frontal.png")],
    }
    *refusals, record = release(film(1), split="mambaxray", annotation=annotation(tmp_path, content))
    assert [(refusal.key.split(" ", 1)[1], refusal.reason) for refusal in refusals] == [
        ("train entry 2", "malformed_row"),
        ("train entry 3", "malformed_row"),
        ("train entry 4", "malformed_row"),
        ("test entry 1", "missing_report"),
    ]
    assert record.split == "train"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"train": [], "test": []}, "no keys train, val and test"),
        ({"train": {}, "val": [], "test": []}, "'train' is no list"),
        ([], "no keys"),
        (
            {
                "train": [entry("a/patient1/study1/view1_x.png")],
                "val": [],
                "test": [entry("patient1/study1/view1_x.jpg")],
            },
            "train entry 1 and .* test entry 1 put one film into two splits",
        ),
    ],
)
def test_annotations_of_another_layout(release, tmp_path, content, message):
    with pytest.raises(SourceError, match=message):
        release(film(), split="mambaxray", annotation=annotation(tmp_path, content))


def test_annotations_that_are_no_json(release, tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(SourceError, match="no JSON"):
        release(film(), split="mambaxray", annotation=tmp_path / "a.json")
    with pytest.raises(SourceError, match="is no file"):
        release(split="mambaxray", annotation=Path("none.json"))


def test_refusals_say_where_and_nothing_of_the_text(release):
    (refusal,) = release(film(deid_patient_id=""))
    assert isinstance(refusal, Refusal)
    assert "SECRET" not in repr(refusal)
