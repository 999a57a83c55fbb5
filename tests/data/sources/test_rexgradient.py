"""ReXGradient-160K on a made-up copy of its layout, entries and films."""

import json
from pathlib import Path

import pytest
from PIL import Image
from pydantic import ValidationError

from radrl.data.ingest import ingest
from radrl.data.quarantine import Refusal
from radrl.data.sources import open_source
from radrl.data.sources.rexgradient import RexgradientSection, rexgradient
from radrl.data.study import Record
from radrl.data.tables import SourceError

FILES = ("train", "valid", "test")


def path_of(patient: str, study: str, image: int) -> str:
    return (
        f"../deid_png/{patient}/GRDNACC{study[-1]}/studies/{study}/series/1.2.{image}/instances/{image}.png"
    )


def entry(patient: str, study: str, views: list, **changed) -> dict:
    """An entry with the keys that the release has."""
    return {
        "PatientID": patient,
        "AccessionNumber": f"GRDNACC{study[-1]}",
        "StudyInstanceUid": study,
        "PatientSex": "F",
        "PatientAge": "007Y",
        "StudyDate": 20200101,
        "Indication": "Cough é.",
        "Comparison": "None",
        "Findings": "The lungs are clear. Café au lait.",
        "Impression": "No acute process.",
        "ImagePath": [path_of(patient, study, number) for number in range(1, len(views) + 1)],
        "ImageViewPosition": views,
    } | changed


USUAL = {
    "train": {
        "p1_s1": entry("GRDN1", "1.2.1", ["POSTERO_ANTERIOR", "LATERAL"]),
        "p1_s2": entry("GRDN1", "1.2.2", ["UNKNOWN"], Findings=None, Impression="Clear."),
    },
    "valid": {"p2_s3": entry("GRDN2", "1.2.3", [None, "AP"], Findings="None", Impression=float("nan"))},
    "test": {"p3_s4": entry("GRDN3", "1.2.4", ["LL"])},
}


def lay(folder: Path, files: dict, **options) -> dict:
    """Write the files; films are the callers'."""
    (folder / "metadata").mkdir()
    (folder / "deid_png").mkdir()
    for name, entries in files.items():
        path = folder / "metadata" / f"{name}_metadata_view_position.json"
        path.write_text(json.dumps(entries, **options), encoding="utf-8")
    own = {"metadata": str(folder / "metadata"), "images": str(folder / "deid_png")}
    return {**own, "files": list(files), "split": "release"}


def told(read: list) -> list[tuple]:
    return [(r.reason, r.key, r.study_id, r.detail) for r in read if isinstance(r, Refusal)]


@pytest.mark.parametrize("options", [{}, {"ensure_ascii": False, "indent": 1}])
def test_films_become_records_file_by_file(tmp_path, options):
    source = rexgradient(**lay(tmp_path, USUAL, **options))
    assert (source.root, source.films) == (tmp_path / "deid_png", None)
    read = list(source.records)
    assert [(r.patient_id, r.study_id, r.view, r.split) for r in read] == [
        ("GRDN1", "1.2.1", "frontal", "train"),
        ("GRDN1", "1.2.1", "lateral", "train"),
        ("GRDN1", "1.2.2", "unknown", "train"),
        ("GRDN2", "1.2.3", "unknown", "valid"),
        ("GRDN2", "1.2.3", "frontal", "valid"),
        ("GRDN3", "1.2.4", "lateral", "test"),
    ]
    assert read[0] == Record(
        key="train_metadata_view_position.json p1_s1 film 1",
        study_id="1.2.1",
        patient_id="GRDN1",
        image=tmp_path / "deid_png/GRDN1/GRDNACC1/studies/1.2.1/series/1.2.1/instances/1.png",
        view="frontal",
        split="train",
        findings="The lungs are clear. Café au lait.",
        impression="No acute process.",
        indication="Cough é.",
        age=7,
        taken=63_713_433_600,  # seconds since 0001-01-01
    )
    assert [(r.findings, r.impression) for r in read[2:4]] == [(None, "Clear."), (None, None)]


def test_files_that_are_asked_for_and_a_split_of_ones_own(tmp_path):
    settings = lay(tmp_path, USUAL) | {"files": ["test", "train"], "split": "drawn"}
    read = list(rexgradient(**settings).records)
    assert [(r.study_id, r.split) for r in read][:2] == [("1.2.4", None), ("1.2.1", None)]
    assert len(read) == 4


@pytest.mark.parametrize(
    ("changed", "reason", "films", "detail"),
    [
        ({"PatientID": " "}, "missing_id", 2, "PatientID is missing or empty"),
        ({"StudyInstanceUid": 12}, "malformed_row", 2, "StudyInstanceUid is int where a text is expected"),
        ({"ImageViewPosition": ["PA"]}, "malformed_row", 2, "has 1 for the 2 films of ImagePath"),
        ({"ImageViewPosition": "PA"}, "malformed_row", 2, "has str for the 2 films of ImagePath"),
        ({"Findings": ["Clear."]}, "malformed_report", 2, "Findings is list where a text is expected"),
        ({"ImagePath": []}, "missing_image", 1, "ImagePath lists no film"),
        ({"ImagePath": None}, "missing_image", 1, "ImagePath lists no film"),
    ],
)
def test_studies_that_cannot_be_read_lose_all_films(tmp_path, changed, reason, films, detail):
    entries = {"bad": entry("GRDN9", "1.2.9", ["PA", "LL"], **changed), **USUAL["train"]}
    read = list(rexgradient(**lay(tmp_path, {"train": entries})).records)
    assert [each[0] for each in told(read)] == [reason] * films
    assert all(detail in each[3] and " bad" in each[1] for each in told(read))
    assert sum(isinstance(r, Record) for r in read) == 3


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../deid_png/../../secret.png", "outside_root"),
        ("/etc/secret.png", "outside_root"),
        ("../deid_png", "outside_root"),
        ("", "missing_image"),
        (7, "missing_image"),
    ],
)
def test_paths_that_lead_nowhere_lose_their_film_alone(tmp_path, path, reason):
    entries = {"one": entry("GRDN9", "1.2.9", ["PA", "LL"], ImagePath=[path, path_of("GRDN9", "1.2.9", 2)])}
    read = list(rexgradient(**lay(tmp_path, {"train": entries})).records)
    assert [each[:3] for each in told(read)] == [
        (reason, "train_metadata_view_position.json one film 1", "1.2.9")
    ]
    assert [r.view for r in read if isinstance(r, Record)] == ["lateral"]


def test_views_may_be_absent_and_paths_may_start_anywhere_above(tmp_path):
    films = [path_of("GRDN9", "1.2.9", 1).removeprefix("../"), "/mnt/x/deid_png/a.png"]
    entries = {"one": entry("GRDN9", "1.2.9", ["PA", "LL"], ImagePath=films, ImageViewPosition=None)}
    read = list(rexgradient(**lay(tmp_path, {"train": entries})).records)
    assert [(r.view, r.image.name) for r in read] == [("unknown", "1.png"), ("unknown", "a.png")]


def test_files_and_folders_that_are_not_there(tmp_path):
    settings = lay(tmp_path, {"test": USUAL["test"]})
    with pytest.raises(SourceError, match=r"train_metadata_view_position\.json is no file; set metadata"):
        rexgradient(**settings | {"files": ["test", "train"]})
    with pytest.raises(SourceError, match="films is no folder; set images to the unpacked deid_png"):
        rexgradient(**settings | {"images": str(tmp_path / "films")})


def test_every_cut_of_a_file_is_noticed(tmp_path):
    settings = lay(tmp_path, {"test": USUAL["test"]})
    path = tmp_path / "metadata/test_metadata_view_position.json"
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(SourceError, match=r"is no JSON object of studies, or cut off: .*fetch it again"):
            list(rexgradient(**settings).records)


@pytest.mark.parametrize("content", ["[]", '{"a": 1}', '{"a": {}} x', "{1: {}}", '{"a": {"b": 1, "b": 2}}'])
def test_files_of_another_form(tmp_path, content):
    settings = lay(tmp_path, {"test": {}})
    (tmp_path / "metadata/test_metadata_view_position.json").write_text(content)
    with pytest.raises(SourceError, match=r"Mend ingest\.rexgradient"):
        list(open_source({"source": "rexgradient", "rexgradient": settings}, seed=0).records)


def test_an_entry_that_is_no_object_or_no_text(tmp_path):
    settings = lay(tmp_path, {"test": {"a": [], "b": "x", **USUAL["test"]}})
    read = list(rexgradient(**settings).records)
    assert [each[0] for each in told(read)] == ["malformed_row"] * 2
    assert sum(isinstance(r, Record) for r in read) == 1


def test_a_patient_in_two_files_is_ingests_to_refuse(tmp_path, noise_film):
    files = {**USUAL, "test": {"p1_s4": entry("GRDN1", "1.2.4", ["PA"])}}
    settings = lay(tmp_path, files)
    source = rexgradient(**settings)
    for seed, record in enumerate(rexgradient(**settings).records):
        record.image.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise_film(seed, 64, 56)).save(record.image)
    rules = {"image_root": source.root, "target": "impression", "image_size": 32}
    shares = {"pretrain": 0.0, "train": 0.8, "val": 0.1, "test": 0.1}
    with pytest.raises(ValueError, match="stands in two splits"):
        list(ingest(source, seed=0, split_shares=shares, max_quarantined_share=1.0, **rules))


@pytest.mark.parametrize("changed", [{"files": []}, {"files": ["val"]}, {"split": "official"}, {"more": 1}])
def test_the_section_refuses(changed):
    own = {"metadata": "m", "images": "i", "files": ["train"], "split": "release"}
    assert RexgradientSection(**own)
    with pytest.raises(ValidationError):
        RexgradientSection(**{**own, **changed})


AGES = {"007Y": 7, "018M": 1, "006W": 0, "004D": 0, "": None, "old": None, None: None}


@pytest.mark.parametrize("written", AGES)
def test_ages_are_whole_years(tmp_path, written):
    entries = {"p1_s1": entry("GRDN1", "1.2.1", ["PA"], PatientAge=written)}
    (record,) = rexgradient(**lay(tmp_path, {"test": entries})).records
    assert record.age == AGES[written]
