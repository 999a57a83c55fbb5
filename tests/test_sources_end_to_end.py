"""Each real dataset's adapter through every stage, on a miniature of its layout with the tiny policy.

And what the record of the runs holds afterwards: no path, no date, no name, no text.
"""

from __future__ import annotations

import csv
import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mimic_tree
import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from projects import copy, kedro_run

ROOT = Path(__file__).resolve().parents[1]
STUDIES = 48
SENTENCES = (
    ("The heart is enlarged.", "Cardiomegaly is seen."),
    ("Small left pleural effusion.", "Left effusion."),
    ("The lungs are clear.", "No acute disease."),
    ("There is a left lower lobe opacity.", "Possible pneumonia."),
    ("No pneumothorax. Mild edema.", "Mild edema."),
)
Section = dict[str, Any]


def texts(number: int) -> tuple[str, str]:
    """Findings and impression of a study, invented."""
    first, second = SENTENCES[number % 5], SENTENCES[(number // 5) % 5]
    return f"{first[0]} {second[0]}", f"{first[1]} {second[1]}"


def draw(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = zlib.crc32(path.as_posix().encode())
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (64, 56), dtype=np.uint8)).save(path)


def iu_xray(root: Path) -> Section:
    """The two CSVs and NLM's PNG films, one frontal and one lateral each."""
    with (root / "indiana_reports.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        columns = "uid MeSH Problems image indication comparison findings impression"
        writer.writerow(columns.split())
        for uid in range(1, STUDIES + 1):
            writer.writerow([uid, "normal", "normal", "PA", "Cough", "2013-08-01", *texts(uid)])
    with (root / "indiana_projections.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["uid", "filename", "projection"])
        for uid in range(1, STUDIES + 1):
            for number, view in enumerate(("Frontal", "Lateral"), 1):
                name = f"{uid}_IM-{uid:04d}-{number}001.dcm.png"
                writer.writerow([uid, name, view])
                draw(root / "images" / name)
    names = {"reports": "indiana_reports.csv", "projections": "indiana_projections.csv", "films": "images"}
    return {
        "source": "iu_xray",
        "iu_xray": {"root": str(root), **names, "annotation": None, "labels": None, "split": "drawn"}
        | {"images": "files", "noise": 0.03, "xxxx": "keep"},
    }


def mimic_cxr(root: Path) -> Section:
    """Tables, report files and JPG films of studies of one or two films."""
    studies = []
    for number in range(STUDIES):
        findings, impression = texts(number)
        report = f"FINAL REPORT\n INDICATION: ___\n\n FINDINGS:\n {findings}\n\n IMPRESSION:\n {impression}\n"
        views = ("PA", "LATERAL")[: 1 + number % 2]
        studies.append(mimic_tree.Study(10000032 + number, 50414267 + number, views, "train", report))
    mimic_tree.write_tables(root, studies)
    mimic_tree.write_reports(root, studies)
    mimic_tree.write_films(root, studies)
    none = dict.fromkeys(("tables", "reports", "annotation", "view_positions", "gold"))
    own = {"root": str(root), **none, "films": "jpg", "split": "drawn", "text": "files"}
    return {"source": "mimic_cxr", "mimic_cxr": own | {"unheaded_findings": True}}


def chexpert_plus(root: Path) -> Section:
    """The release's table, PNG films, and radiologists' labels of a quarter of the studies."""
    table, labels = root / "df_chexpert_plus_240401.csv", root / "valid.csv"
    columns = (
        "path_to_image frontal_lateral ap_pa deid_patient_id section_findings section_impression split age"
    )
    observed = ("No Finding", "Cardiomegaly", "Pleural Effusion", "Edema")
    with table.open("w", newline="") as stream, labels.open("w", newline="") as gold:
        writer, radiologists = csv.writer(stream), csv.writer(gold)
        writer.writerow(columns.split())
        radiologists.writerow(["Path", *_observations()])
        for number in range(STUDIES):
            patient, split = f"patient{number:05d}", "valid" if number % 4 == 0 else "train"
            path = f"{split}/{patient}/study1/view1_frontal.jpg"
            writer.writerow([path, "Frontal", "AP", patient, *texts(number), split, "SECRET-AGE"])
            draw((root / "PNG" / path).with_suffix(".png"))
            if split == "valid":
                positive = observed[number // 4 % 4]
                radiologists.writerow([path, *(float(name == positive) for name in _observations())])
    own = {"path": str(table), "images": str(root / "PNG"), "films": "png", "split": "drawn"}
    return {
        "source": "chexpert_plus",
        "chexpert_plus": own | {"annotation": None, "gold": str(labels), "test": "gold"},
        "split_shares": {"pretrain": 0.4, "train": 0.5, "val": 0.1, "test": 0.0},
    }


def two_hospitals(root: Path) -> Section:
    """CheXpert Plus, and films of MIMIC-CXR for those of another hospital, each in a folder of its own."""
    home, other = chexpert_plus(root / "home"), mimic_cxr(root / "away")
    section = other["mimic_cxr"] | {"split": "official"}
    away = {"source": "mimic_cxr", "split": "train", "set": {"unheaded_findings": False}}
    return home | {"mimic_cxr": section, "away": away}


def _observations() -> tuple[str, ...]:
    from radrl.observations import OBSERVATIONS

    return OBSERVATIONS


def rexgradient(root: Path) -> Section:
    """The three JSON files and PNG films below deid_png, one or two a study."""
    (root / "deid_png").mkdir()
    entries: dict[str, dict[str, Any]] = {}
    for number in range(STUDIES):
        patient, views = f"GRDN{number:03d}", ["PA", "LATERAL"][: 1 + number % 2]
        films = [
            f"../deid_png/{patient}/A/studies/1.2.{number}/series/1/instances/{view}.png" for view in views
        ]
        for film in films:
            draw(root / film.removeprefix("../"))
        findings, impression = texts(number)
        entries[f"{patient}_1.2.{number}"] = {
            "PatientID": patient, "StudyInstanceUid": f"1.2.{number}", "PatientAge": "SECRET-AGE",
            "Indication": "SECRET-INDICATION", "Findings": findings, "Impression": impression,
            "ImagePath": films, "ImageViewPosition": views,
        }  # fmt: skip
    (root / "train_metadata_view_position.json").write_text(json.dumps(entries))
    own = {"metadata": str(root), "images": str(root / "deid_png"), "files": ["train"], "split": "drawn"}
    return {"source": "rexgradient", "rexgradient": own}


def padchest_gr(root: Path) -> Section:
    """The list of sentences, the table, and a PNG film a study."""
    entries, rows = [], ["StudyID,ImageID,PatientID,split,PatientAge"]
    for number in range(STUDIES):
        draw(root / "films" / f"{number}.png")
        sentences = [{"sentence_en": text, "boxes": [[0.1, 0.1, 0.2, 0.2]]} for text in texts(number)]
        entries.append({"StudyID": f"S{number}", "ImageID": f"{number}.png", "findings": sentences})
        rows.append(f"S{number},{number}.png,P{number},train,SECRET-AGE")
    (root / "grounded.json").write_text(json.dumps(entries))
    (root / "master_table.csv").write_text("\n".join(rows))
    files = {"reports": "grounded.json", "table": "master_table.csv", "images": "films"}
    own = {key: str(root / name) for key, name in files.items()} | {"language": "en", "split": "drawn"}
    return {"source": "padchest_gr", "padchest_gr": own}


ADAPTERS: dict[str, tuple[Callable[[Path], Section], dict[str, Any]]] = {
    "iu_xray": (iu_xray, {"sample": "study", "cleaning": "r2gen_iu", "max_report_words": 59}),
    "mimic_cxr": (mimic_cxr, {"views": ["frontal"], "cleaning": "r2gen_mimic", "max_report_words": 99}),
    "chexpert_plus": (chexpert_plus, {"target": "impression"}),
    "padchest_gr": (padchest_gr, {"target": "findings", "cleaning": "none"}),
    "rexgradient": (rexgradient, {"target": "findings_impression", "cleaning": "none"}),
    "two_hospitals": (two_hospitals, {"target": "impression"}),
}


@dataclass(frozen=True)
class Case:
    """A dataset, and how much of the study runs on it."""

    adapter: str
    arms: tuple[str, ...] = ("base", "sft")
    options: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.options


ARMS = ("base", "sft", "deer", "orapo", "mrg_r1")
"""Plain text by credit and by the oracle, reasoning and report; the other arms cost minutes."""
FIRST = ("--pipelines=ingest,labeler,label,selection",)
CASES = {
    "iu_xray, untrained arms": Case("iu_xray"),
    "mimic_cxr, first stages": Case("mimic_cxr", options=FIRST),
    "chexpert_plus, first stages": Case("chexpert_plus", options=FIRST),
    "rexgradient, first stages": Case("rexgradient", options=FIRST),
    "padchest_gr, first stages": Case("padchest_gr", options=FIRST),
    "two hospitals, first stages": Case("two_hospitals", options=FIRST),
}
LONG = {name: Case(name, ARMS) for name in ADAPTERS if name != "two_hospitals"}


@pytest.fixture(
    scope="module",
    params=[*CASES.values(), *(pytest.param(case, marks=pytest.mark.slow) for case in LONG.values())],
    ids=[*CASES, *LONG],
)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def study(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the project after `kedro run` on one dataset; its data lie at a path that says so."""
    project = copy(tmp_path_factory.mktemp(case.adapter))
    write, ingest = ADAPTERS[case.adapter]
    data = project / "secretpath"
    for folder in (data, data / "home", data / "away"):
        folder.mkdir()
    params = _merged(
        yaml.safe_load((ROOT / "params.yaml").read_text()),
        yaml.safe_load((ROOT / "conf/smoke/parameters.yml").read_text()),
    )
    params["ingest"] |= ingest | write(data) | {"max_quarantined_share": 0.0}
    del params["ingest"]["phantom"]
    params["selection"]["balanced"]["studies"] = 8
    params["arms"] = {name: params["arms"][name] for name in case.arms}
    for arm in params["arms"].values():
        arm.get("training", {}).pop("steps", None)
    if case.adapter == "chexpert_plus":
        params["compare"]["metrics"] += ["ce_rules_gold_macro14_f1"]
    (project / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    kedro_run(project, *case.options)
    yield project
    shutil.rmtree(project)


def _merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return base | {
        key: _merged(base[key], value)
        if isinstance(value, dict) and isinstance(base.get(key), dict)
        else value
        for key, value in change.items()
    }


def test_every_film_is_accounted_for_and_every_arm_scored(case: Case, study: Path) -> None:
    ingested = json.loads((study / "data/08_reporting/ingest.json").read_text())
    two = case.adapter == "two_hospitals"
    assert ingested["source"] == ("chexpert_plus" if two else case.adapter)
    assert ingested["input"] == ingested["kept"] + ingested["quarantined"]
    assert ingested["studies_kept"] == STUDIES * (2 if two else 1)
    assert ingested["splits"].get("away", 0) == (STUDIES * 3 // 2 if two else 0)  # of one or two films
    assert set(ingested["reasons"]) <= {"left_out_view"}
    assert ingested["drawn"] is False
    assert len(pd.read_parquet(study / "data/03_primary/labels.parquet")) == ingested["samples"]
    for arm in case.arms if case.whole else ():
        scores = json.loads((study / "data/08_reporting/eval" / arm / "scores.json").read_text())
        assert 0 <= scores["ce_rules_sample14_f1"] <= 1
        assert ("gold_reports" in scores) == (case.adapter == "chexpert_plus")
    if case.whole:
        page = (study / "data/08_reporting/comparison/comparison.html").read_text()
        assert "They say nothing about patients." not in page


def test_the_record_of_runs_holds_no_path_date_name_or_text(case: Case, study: Path) -> None:
    told = [study / "mlflow.db", *(path for path in (study / "mlartifacts").rglob("*") if path.is_file())]
    assert len(told) > (3 if case.whole else 0)
    secrets = ["secretpath/", "213014.531", "2013-08-01", "p1000003", "s5041426", "patient000", "IM-00"]
    secrets += ["dcm.png", "eft pleural effusion", "Cardiomegaly is seen", "view1_frontal", "SECRET-AGE"]
    for path in told:
        content = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in content, f"{secret} stands in {path.relative_to(study)}"
