"""Every row of the papers has its line in the docs, with study and arm that are there, and what was run."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from paper_rows import LIKE, OTHER, Row, pages, recipe, rows, said

from radrl.studies.file import Study, read

ROOT = Path(__file__).parents[1]
ROWS = rows()
BY_ANALYSES = {("DEER", place) for place in ("figure 1 (b)", "figure 3")}
"""What stage `analyses` gives, without a study; its run is told on docs/results.md."""
NUMBERS = {"DEER": ("1234567", "123"), "OraPO": ("1234567", "123"), "MRG-R1": (("I", "II"), "123")}


def test_pages_are_current() -> None:
    assert {path for path, text in pages().items() if path.read_text(encoding="utf-8") != text} == set()


def test_no_row_is_there_twice() -> None:
    keys = [(row.paper, row.place, row.dataset, row.method, row.rl_train_size) for row in ROWS]
    assert len(keys) == len(set(keys))


def test_every_published_row_has_its_line() -> None:
    with (ROOT / "conf/base/published_results.csv").open(newline="") as stream:
        columns = ("paper", "table", "dataset", "method", "rl_train_size")
        published = {tuple(line[name] for name in columns) for line in csv.DictReader(stream)}
    told = {
        (row.paper, row.place.removeprefix("table "), row.dataset, row.method, row.rl_train_size)
        for row in ROWS
    }
    assert published - told == set()


@pytest.mark.parametrize("paper", NUMBERS)
def test_every_table_and_figure_has_lines(paper: str) -> None:
    tables, figures = NUMBERS[paper]
    places = {re.sub(r" \(.\)$", "", row.place) for row in ROWS if row.paper == paper}
    assert places == {f"table {number}" for number in tables} | {f"figure {number}" for number in figures}


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    names = {name for row in ROWS for name in (row.study, row.drawn_study) if name}
    return {name: read(ROOT / "conf/recipes" / f"{name}.yaml", ROOT) for name in sorted(names)}


def place_of(study: Study, arm: str) -> tuple[str, str] | None:
    """The run and the arm that a line names, where the study has them."""
    run, _, name = arm.rpartition(".")
    found = [one for one, rows in study.compared.rows.items() if name in rows and run in ("", one)]
    return (found[0], name) if found else None


def test_studies_and_arms_are_there(studies: dict[str, Study]) -> None:
    named = [(row.study, row.arm) for row in ROWS] + [(row.drawn_study, row.drawn_arm) for row in ROWS]
    assert all(bool(study) == bool(arm) for study, arm in named)
    assert [pair for pair in named if pair[0] and not place_of(studies[pair[0]], pair[1])] == []


def test_studies_on_drawn_films_are_apart_from_those_at_scale(studies: dict[str, Study]) -> None:
    sources = {name: study.params.ingest.source for name, study in studies.items()}
    assert {sources[row.drawn_study] for row in ROWS if row.drawn_study} == {"phantom"}
    assert "phantom" not in {sources[row.study] for row in ROWS if row.study}


def test_a_study_of_the_rows_table_sets_the_arm_beside_this_row(studies: dict[str, Study]) -> None:
    for row in ROWS:
        for name, arm in ((row.study, row.arm), (row.drawn_study, row.drawn_arm)):
            table = studies[name].published if name else None
            tables = table.paper.split(" and ") if table else []
            if f"{row.paper}, {row.place}" not in tables or row.dataset not in table.dataset.split(" and "):
                continue
            beside = table.rows[place_of(studies[name], arm)]
            assert beside in (row.method, f"{row.method}, {row.rl_train_size}"), (row, beside)


def test_other_systems_have_no_arm_and_what_is_ours_has_one_or_says_what_gives_it() -> None:
    assert [row for row in ROWS if row.note == OTHER and (row.study or row.drawn_study)] == []
    assert [row for row in ROWS if row.note != OTHER and not (row.study or row.note)] == []


def holds(page: str, name: str) -> bool:
    """Whether a committed page has a line of a table or a picture of this name, `run.arm` as two cells."""
    text = (ROOT / page).read_text(encoding="utf-8")
    cells = " | ".join(name.split(".", 1))
    in_a_table, under_a_picture = rf"^\|(?:.*\|)? {re.escape(cells)} \|", rf"^!\[{re.escape(name)}\]"
    return bool(re.search(f"{in_a_table}|{under_a_picture}", text, flags=re.MULTILINE))


@pytest.mark.parametrize("row", [row for row in ROWS if row.ran != "never"], ids=str)
def test_the_page_of_a_run_holds_the_row(row: Row) -> None:
    assert holds(row.ran, row.ran_arm)


@pytest.mark.parametrize("row", [row for row in ROWS if row.drawn_study], ids=str)
def test_a_row_was_run_where_its_own_study_was(row: Row) -> None:
    assert row.ran == said(row.drawn_study, "run")
    if row.ran != "never":
        assert row.ran == f"docs/results/{row.drawn_study.removeprefix('study-')}.md"
        assert f"conf/recipes/{row.drawn_study}.yaml`" in (ROOT / row.ran).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", [row for row in ROWS if not row.drawn_study], ids=str)
def test_what_no_study_gives_was_run_by_stage_analyses_alone(row: Row) -> None:
    by_analyses = (row.paper, row.place) in BY_ANALYSES
    assert row.ran == ("docs/results.md" if by_analyses else "never")
    recipes = re.findall(r"`(.+?)`", row.note)
    assert recipes == (["deer-mimic_cxr", "phantom-laptop"] if by_analyses else [])


def test_a_like_arm_was_run_and_is_no_run_of_its_row() -> None:
    page, found = said(LIKE, "run"), [row for row in ROWS if row.like_arm]
    assert [row for row in found if row.ran != "never" or row.drawn_study in ("", LIKE)] == []
    arms = {arm for run in read(ROOT / f"conf/recipes/{LIKE}.yaml", ROOT).runs.values() for arm in run.arms}
    assert {row.like_arm for row in found} <= arms
    assert [name for name in sorted({row.like_arm for row in found}) if not holds(page, name)] == []


def test_a_study_that_was_run_is_not_said_never_to_have_been(studies: dict[str, Study]) -> None:
    for name in studies:
        page = ROOT / "docs/results" / f"{name.removeprefix('study-')}.md"
        assert (said(name, "run") == "never") == (not page.is_file())


def test_a_recipe_and_what_it_needs_are_read_from_the_study() -> None:
    assert recipe("study-mrg_r1-mimic_cxr") == "mrg_r1-mimic_cxr"
    assert said("study-orapo-table3", "needs").startswith("2 cores, 6 GB")
    assert said("study-orapo-chexpert_plus-judge", "needs").endswith("two questions a new report.")
