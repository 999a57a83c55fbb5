import json

import mimic_tree as tree
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.data import json_scanner
from radrl.data.quarantine import Refusal
from radrl.data.sources import mimic_cxr as mimic_cxr
from radrl.data.sources.mimic_cxr.annotation import Annotation
from radrl.data.sources.mimic_cxr.tables import dicom_bytes, dicom_text
from radrl.data.study import Record
from radrl.data.tables import SourceError

ONE = tree.Study(10000032, 50414267, ("PA", "LATERAL"))
TWO = tree.Study(10000032, 53189527, ("AP",), "validate")
THREE = tree.Study(11000048, 50000003, ("LL", ""), "test")
STUDIES = (ONE, TWO, THREE)


@pytest.fixture
def root(tmp_path):
    tree.write_tables(tmp_path, STUDIES)
    tree.write_reports(tmp_path, STUDIES)
    tree.write_films(tmp_path, STUDIES)
    return tmp_path


def usual():
    return {"train": tree.entries(ONE, "Clear é."), "val": [], "test": tree.entries(TWO, "Opacity.")}


def records(root, splits, *, ensure_ascii=True, indent=None, **options):
    path = tree.write_annotation(root / "annotation.json", splits, ensure_ascii=ensure_ascii, indent=indent)
    source = mimic_cxr.read(root=root, annotation=path, **{"split": "r2gen", **options})
    read = list(source.records)
    assert len(read) == source.films
    return read


def refused(read):
    return [(r.reason, r.key, r.study_id, r.detail) for r in read if isinstance(r, Refusal)]


def test_split_of_the_annotation_with_texts_of_the_files(root):
    read = records(root, usual())
    assert [(r.study_id, r.split, r.findings) for r in read if isinstance(r, Record)] == [
        ("s50414267", "train", "The lungs are clear."),
        ("s50414267", "train", "The lungs are clear."),
        ("s53189527", "test", "The lungs are clear."),
    ]
    assert {(r[0], r[2], r[3]) for r in refused(read)} == {
        ("left_out_split", "s50000003", "R2Gen's annotation does not name this film")
    }
    assert sum(isinstance(r, Refusal) for r in read) == 2


def test_no_split_table_is_needed(root):
    (root / "mimic-cxr-2.0.0-split.csv.gz").unlink()
    assert sum(isinstance(r, Record) for r in records(root, usual())) == 3


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
def test_texts_of_the_annotation_stand_as_findings(root, ensure_ascii, indent):
    for path in root.glob("files/p*/p*/s*.txt"):
        path.unlink()  # they are not needed
    read = records(root, usual(), text="r2gen", ensure_ascii=ensure_ascii, indent=indent)
    assert [(r.findings, r.impression, r.report) for r in read if isinstance(r, Record)] == [
        ("Clear é.", None, None),
        ("Clear é.", None, None),
        ("Opacity.", None, None),
    ]


def test_texts_of_the_annotation_with_the_official_split(root):
    read = records(root, usual(), split="official", text="r2gen")
    assert [r.split for r in read if isinstance(r, Record)] == ["train", "train", "validate"]
    assert [(r[0], r[2]) for r in refused(read)] == [("missing_report", "s50000003")] * 2


@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        ({"image_path": None, "id": None}, "missing_id", "neither `image_path` nor `id` names a film"),
        ({"image_path": ["p10/../x.jpg"]}, "malformed_row", "is not five groups of 8 hexadecimal digits"),
        ({"study_id": None}, "missing_id", "`study_id` is missing"),
        ({"subject_id": "p1"}, "malformed_row", "`subject_id` '1' is no number of 8 digits"),
    ],
)
def test_broken_entries_are_refused_by_number(root, change, reason, detail):
    splits = usual()
    splits["test"][0].update(change)
    read = records(root, splits)
    told = refused(read)[0]
    assert told[:2] == (reason, "annotation.json test entry 1")
    assert detail in told[3]
    assert sum(isinstance(r, Record) for r in read) == 2


def test_of_an_annotation_without_a_sound_entry_the_split_is_still_taken(root):
    read = records(root, {"train": ["x"], "val": [], "test": []})
    assert {reason for reason, *_ in refused(read)} == {"malformed_row", "left_out_split"}
    assert not any(isinstance(r, Record) for r in read)


def test_entry_that_is_no_object(root):
    assert refused(records(root, {**usual(), "val": ["x", []]}))[:2] == [
        ("malformed_row", "annotation.json val entry 1", "", "str where an object is expected"),
        ("malformed_row", "annotation.json val entry 2", "", "list where an object is expected"),
    ]


def test_id_will_do_for_a_path_and_letters_before_numbers(root):
    splits = usual()
    splits["test"][0].update(image_path=[], study_id="s53189527", subject_id="p10000032")
    assert sum(isinstance(r, Record) for r in records(root, splits)) == 3


def test_film_that_no_table_names(root):
    splits = {**usual(), "val": tree.entries(tree.Study(10000032, 59999999), "Clear.")}
    (name,) = tree.Study(10000032, 59999999).names
    assert refused(records(root, splits))[-1] == (
        "missing_image",
        f"annotation.json val {name}",
        "s59999999",
        "no table names this film",
    )


def test_film_with_another_study_than_the_table(root):
    splits = usual()
    splits["test"][0]["study_id"] = 50000003
    told = [r for r in refused(records(root, splits)) if r[0] == "duplicate_id"]
    detail = "annotation.json gives this film to another study or patient than the table; mend one"
    assert [(study, text) for _, _, study, text in told] == [("s53189527", detail)]


def test_film_in_two_splits_is_refused(root):
    splits = {**usual(), "val": tree.entries(TWO, "Opacity.")}
    read = records(root, splits)
    told = refused(read)
    assert told[0][:2] == ("duplicate_film", "annotation.json test entry 1")
    assert ("unknown_split", "annotation.json has this film in val and test; take one out") in [
        (reason, detail) for reason, _, _, detail in told
    ]
    assert sum(isinstance(r, Record) for r in read) == 2


def test_film_twice_in_one_split_is_kept_once(root):
    splits = usual()
    splits["test"] *= 2
    read = records(root, splits)
    assert [r[:2] for r in refused(read)][:1] == [("duplicate_film", "annotation.json test entry 2")]
    assert sum(isinstance(r, Record) for r in read) == 3


@pytest.mark.parametrize(
    ("report", "reason"), [(None, "missing_report"), (7, "missing_report"), ("\ud800", "malformed_report")]
)
def test_texts_that_are_none(root, report, reason):
    splits = {**usual(), "test": tree.entries(TWO, report)}
    assert reason in [r[0] for r in refused(records(root, splits, text="r2gen"))]


def test_text_that_is_no_utf_8(root):
    path = tree.write_annotation(root / "annotation.json", usual(), ensure_ascii=False)
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9"))
    read = list(mimic_cxr.read(root=root, annotation=path, split="r2gen", text="r2gen").records)
    assert [r[0] for r in refused(read)].count("malformed_report") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "'{' was expected, but the file ends at byte 0"),
        (b"[]", "'{' was expected, but '\\[' stands at byte 0"),
        (b'{"train": {}}', "'\\[' was expected, but '{' stands at byte 10"),
        (b'{"train": [1]}', "an entry was expected at byte 11"),
        (b'{"train": [{"id": 1}', "',' was expected, but the file ends at byte 20"),
        (b'{"train": [{"id": ', "at byte 11"),
        (b'{"train": [] "val": []}', "',' was expected"),
        (b'{"train": []} x', "nothing more was expected, but 'x' stands at byte 14"),
        (b'{"train": [' + b"[" * 100_000, "at byte 11"),
    ],
)
def test_files_that_are_no_annotation(tmp_path, content, message):
    path = tmp_path / "annotation.json"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"annotation .*annotation\.json is no JSON .*{message}"):
        Annotation(path)


def test_every_cut_is_noticed(tmp_path):
    path = tree.write_annotation(tmp_path / "annotation.json", usual())
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(SourceError):
            Annotation(path)


def test_an_entry_without_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(json_scanner, "_LONGEST", 100)
    monkeypatch.setattr(json_scanner, "_CHUNK", 64)
    path = tmp_path / "annotation.json"
    path.write_text('{"train": [{"report": "' + "x" * 1000 + '"}]}')
    with pytest.raises(SourceError, match="at byte 11"):
        Annotation(path)


@given(
    st.integers(1, 200),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_any_chunk_gives_the_texts_that_json_gives(tmp_path_factory, chunk, texts, ascii_only, indent):
    studies = [tree.Study(10000001, 50000000 + i) for i in range(len(texts))]
    splits = {"train": [e for s, t in zip(studies, texts, strict=True) for e in tree.entries(s, t)]}
    path = tmp_path_factory.mktemp("annotation") / "annotation.json"
    tree.write_annotation(path, splits, ensure_ascii=ascii_only, indent=indent)
    before, json_scanner._CHUNK = json_scanner._CHUNK, chunk
    try:
        annotation = Annotation(path)
    finally:
        json_scanner._CHUNK = before
    assert not annotation.refusals
    for study, entry in zip(studies, json.loads(path.read_text("utf-8"))["train"], strict=True):
        packed = dicom_bytes(entry["id"])
        assert annotation.text(packed, study.study, study.subject) == entry["report"]
        assert annotation.split(packed, study.study, study.subject) == "train"


@given(st.binary(min_size=20, max_size=20))
def test_names_of_films_survive_packing(packed):
    assert dicom_bytes(dicom_text(packed)) == packed
    assert len(dicom_text(packed)) == 44
