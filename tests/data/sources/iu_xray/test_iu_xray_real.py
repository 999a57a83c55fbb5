"""The published reports, tables and four films, where a folder with them is at hand."""

import os
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from radrl.data.ingest import ingest
from radrl.data.phantom.from_labels import COLUMNS, case_from_index, unmapped
from radrl.data.quarantine import Refusal
from radrl.data.sources.iu_xray import source as iu_xray
from radrl.data.sources.iu_xray.csv_reports import open_reports, read_reports
from radrl.data.sources.iu_xray.source import read_labels
from radrl.data.sources.iu_xray.xml_reports import read_archive
from radrl.data.study import Record

OPENI: Final = Path(os.environ.get("RADRL_SHARED", "")) / "data" / "openi"
XML, TABLE, LABELS = "ecgen-radiology.tgz", "indiana_reports.csv", "gold_labels.csv"
VIEWS, NOTES = "indiana_projections.csv", "annotation.json"
pytestmark = pytest.mark.skipif(
    not os.environ.get("RADRL_SHARED") or not (OPENI / XML).is_file(),
    reason="set RADRL_SHARED to a folder with data/openi",
)


@pytest.fixture(scope="module")
def studies():
    return {study.study_id: study for study in read_archive(OPENI / XML, xxxx="keep")}


def read(**options):
    return list(iu_xray.read(root=OPENI, **{"reports": XML, **options}).records)


def told(records):
    return Counter(r.reason if isinstance(r, Refusal) else r.view for r in records)


def ingested(records, **options):
    run = ingest(
        records, seed=0, image_size=32, image_fit="pad", split_shares={"train": 0.7, "val": 0.1, "test": 0.2},
        max_quarantined_share=1.0, min_report_words=1, image_root=OPENI, **{"target": "report", **options},
    )  # fmt: skip
    for _ in run:
        pass
    assert run.read == run.kept + len(run.quarantine)
    return run


def test_the_archive_and_the_table_agree(studies):
    table = {s.study_id: s for s in read_reports(open_reports(OPENI / TABLE), xxxx="keep")}
    assert (len(studies), len(table)) == (2466, 2362)
    for study_id, row in table.items():
        study = studies[study_id]
        assert (row.findings, row.impression, row.tags) == (study.findings, study.impression, study.tags)
    assert {s.study_id for s in studies.values() if not s.films} == studies.keys() - table.keys()


def test_sections_that_are_missing(studies):
    present = Counter((s.findings is not None, s.impression is not None) for s in studies.values())
    assert present == {(True, True): 2098, (True, False): 4, (False, True): 340, (False, False): 24}


def test_dropping_removed_words_empties_no_section(studies):
    dropped = {s.study_id: s for s in read_archive(OPENI / XML, xxxx="drop")}
    marked = 0
    for study_id, study in studies.items():
        for before, after in (
            (study.findings, dropped[study_id].findings),
            (study.impression, dropped[study_id].impression),
        ):
            assert (before is None) == (after is None)
            assert "XXXX" not in (after or "")
            if "XXXX" not in (before or ""):
                assert after == before
            else:
                marked += 1
    assert marked == 1386


def test_r2gens_reports_are_the_findings(studies):
    records = read(reports=None, annotation=NOTES, images="phantom", labels=LABELS, split="r2gen")
    assert Counter(r.split for r in records) == {"train": 1511, "val": 214}
    assert all(r.findings == studies[r.study_id].findings for r in records)


def test_every_tag_is_drawn_or_listed(studies):
    assert set().union(*(unmapped(s.tags) for s in studies.values())) == set()


def test_every_label_shows_on_the_drawn_case(studies):
    labels, refusals = read_labels(OPENI / LABELS)
    assert (len(labels), refusals) == (2362, [])
    untold = Counter()
    for study_id, columns in labels.items():
        case = case_from_index(studies[study_id].tags, columns, np.random.default_rng(0))
        for column in columns:
            look = COLUMNS.get(column)
            untold[column] += look is not None and not case.has(look.label)
    assert +untold == {"Effusion": 4}  # pericardial


def test_films_that_are_there_are_found_and_the_others_told():
    records = read(projections=VIEWS, films="images")
    assert len({r.study_id for r in records}) == 2466
    assert told(records) == {"frontal": 2325, "lateral": 2192, "unknown": 108}
    run = ingested(records)
    assert (run.kept, run.quarantine.counts()) == (4, {"missing_image": 4584, "empty_report": 37})


def test_every_study_is_drawn_or_refused():
    records = read(projections=VIEWS, labels=LABELS, images="phantom")
    assert told(records) == {"frontal": 2379, "lateral": 2152, "missing_image": 90, "left_out_view": 4}
    drawn = {r.study_id for r in records if isinstance(r, Record)}
    refused = {r.study_id for r in records if isinstance(r, Refusal) and r.reason == "missing_image"}
    assert (len(drawn), len(refused), drawn & refused) == (2416, 50, set())


def test_drawn_studies_go_through_ingest():
    records = islice(iter(read(projections=VIEWS, labels=LABELS, images="phantom")), 400)
    run = ingested(records)
    assert run.read == 400
    assert set(run.quarantine.counts()) <= {"missing_image", "empty_report"}
    assert run.kept > 380


def test_r2gens_split_leaves_the_other_studies_out():
    records = read(projections=VIEWS, labels=LABELS, images="phantom", annotation=NOTES, split="r2gen")
    assert len({r.study_id for r in records if isinstance(r, Record)}) == 1690
    left_out = {r.study_id for r in records if isinstance(r, Refusal) and r.reason == "left_out_split"}
    assert len(left_out) == 2466 - 1725
