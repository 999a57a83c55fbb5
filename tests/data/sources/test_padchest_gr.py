"""PadChest-GR on a made-up copy of its layout: entries, table and films."""

import json
import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from radrl.data.quarantine import Refusal
from radrl.data.sources import open_source
from radrl.data.sources.padchest_gr import PadchestGrSection, padchest_gr
from radrl.data.study import Box, Record
from radrl.data.tables import SourceError


def finding(en: str, es: str, **more) -> dict:
    return {"sentence_en": en, "sentence_es": es, "abnormal": bool(more), "progression": None} | more


ONE = {
    "StudyID": "1098",
    "ImageID": "1098_dln48o.png",
    "PreviousStudyID": None,
    "findings": [
        finding(
            "With formation of an\n air-fluid level.",
            "Con formación de nivel hidroaéreo.",
            boxes=[[0.52, 0.55, 0.8, 0.83]],
            extra_boxes=[],
            labels=["air fluid level"],
            locations=["right"],
        ),
        finding("No pleural effusion.", "Sin derrame pleural."),
    ],
}
TWO = {
    "StudyID": 4473,
    "ImageID": "4473_a.png",
    "findings": [finding("No significant alterations.", "Sin alteraciones.")],
}
TABLE = [
    "StudyID,ImageID,PatientID,split,label,label_group",
    "1098,1098_dln48o.png,2021,train,air fluid level,Other",
    "1098,1098_dln48o.png,2021,train,nodule,Nodule/Mass",  # a row a label
    "4473,4473_a.png,4494,validation,Normal,Normal",
]


def lay(folder: Path, entries=(ONE, TWO), rows=TABLE) -> dict:
    reports, table = folder / "grounded_reports_20240819.json", folder / "master_table.csv"
    reports.write_text(json.dumps(list(entries)))
    table.write_text("\n".join(rows) + "\n")
    (folder / "PadChest_GR").mkdir()
    own = {"reports": str(reports), "table": str(table), "images": str(folder / "PadChest_GR")}
    return {**own, "language": "en", "split": "release"}


def read(settings: dict) -> list[Record | Refusal]:
    source = padchest_gr(**settings)
    found = list(source.records)
    assert len(found) == source.films
    return found


def told(found: list) -> list[tuple[str, str, str]]:
    return [(r.reason, r.key, r.study_id) for r in found if isinstance(r, Refusal)]


def test_studies_become_records(tmp_path):
    found = read(lay(tmp_path))
    assert found[0] == Record(
        key="grounded_reports_20240819.json entry 1",
        study_id="1098",
        patient_id="2021",
        image=tmp_path / "PadChest_GR/1098_dln48o.png",
        view="frontal",
        split="train",
        findings="With formation of an air-fluid level. No pleural effusion.",
        boxes=(Box("With formation of an air-fluid level.", 0.52, 0.55, 0.8, 0.83),),
    )
    assert found[1].boxes == ()
    assert (found[1].study_id, found[1].patient_id, found[1].split) == ("4473", "4494", "validation")


def test_spanish_is_warned_of_since_labelers_read_english(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    found = read(lay(tmp_path) | {"language": "es", "split": "drawn"})
    assert found[0].findings == "Con formación de nivel hidroaéreo. Sin derrame pleural."
    assert found[0].split is None
    assert "labelers read English" in caplog.text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"StudyID": None}, "missing_id"),
        ({"StudyID": "9"}, "missing_id"),  # no row has it
        ({"ImageID": ""}, "missing_id"),
        ({"ImageID": "../secret.png"}, "outside_root"),
        ({"findings": None}, "missing_report"),
        ({"findings": ["Clear."]}, "malformed_report"),
        ({"findings": [{"sentence_es": "Normal."}]}, "malformed_report"),
    ],
)
def test_entries_that_cannot_be_read(tmp_path, changed, reason):
    found = read(lay(tmp_path, [ONE | changed, TWO]))
    assert told(found)[0][:2] == (reason, "grounded_reports_20240819.json entry 1")
    assert [r.study_id for r in found if isinstance(r, Record)] == ["4473"]


@pytest.mark.parametrize(
    "box", [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2, 0.4], [0.1, 0.1, 0.2, 12.0], ["0.1", 0.1, 0.2, 0.2], "all", None]
)
def test_a_box_that_is_none_is_left_out_and_its_study_kept(tmp_path, caplog, box):
    caplog.set_level(logging.WARNING)
    sentences = [finding("Nodule.", "Nódulo.", boxes=[box, [0.1, 0.1, 0.2, 0.2]])]
    found = read(lay(tmp_path, [ONE | {"findings": sentences}, TWO]))
    assert found[0].boxes == (Box("Nodule.", 0.1, 0.1, 0.2, 0.2),)
    assert "grounded_reports_20240819.json entry 1: a box is no left, top, right, bottom" in caplog.text


def test_boxes_that_are_no_list_are_left_out(tmp_path, caplog):
    found = read(lay(tmp_path, [ONE | {"findings": [finding("Nodule.", "Nódulo.", boxes=7)]}, TWO]))
    assert found[0].boxes == ()
    assert "a box is no left, top, right, bottom" in caplog.text


def test_an_entry_without_sentences_is_ingests_to_refuse(tmp_path):
    assert read(lay(tmp_path, [ONE | {"findings": []}, TWO]))[0].findings is None


def test_tables_that_contradict_lack_or_break(tmp_path):
    rows = [
        *TABLE,
        "4473,4473_a.png,4494,test,Nodule,Nodule",
        "8,8.png,,test,a,b",
        "9,9.png,9,test,a,b",
        "1,2",
    ]
    assert told(read(lay(tmp_path, ["x", ONE, TWO], rows))) == [
        ("missing_id", "master_table.csv row 6", "8"),
        ("malformed_row", "master_table.csv row 8", ""),
        ("malformed_row", "grounded_reports_20240819.json entry 1", ""),
        ("duplicate_id", "grounded_reports_20240819.json entry 3", "4473"),
        ("missing_report", "master_table.csv 9", "9"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("reports", "{}", "holds dict where a list of studies is expected"),
        ("reports", "[{", r"cannot be read: .*fetch it again"),
        ("reports", None, "is no file; set reports"),
        ("table", "StudyID,split\n1,train\n", "has no column 'PatientID'"),
        ("table", None, "is no file"),
        ("images", None, "is no folder; set images"),
    ],
)
def test_files_that_are_not_there_or_of_another_form(tmp_path, name, content, message):
    settings = lay(tmp_path)
    if content is None:
        settings[name] += ".x"
    else:
        Path(settings[name]).write_text(content)
    with pytest.raises(SourceError, match=rf"(?s){message}.*Mend ingest\.padchest_gr"):
        list(open_source({"source": "padchest_gr", "padchest_gr": settings}, seed=0).records)


@pytest.mark.parametrize("changed", [{"language": "fr"}, {"split": "official"}, {"boxes": True}])
def test_the_section_refuses(changed):
    own = {"reports": "r", "table": "t", "images": "i", "language": "en", "split": "release"}
    assert PadchestGrSection(**own)
    with pytest.raises(ValidationError):
        PadchestGrSection(**{**own, **changed})
