from __future__ import annotations

from pathlib import Path

import pytest
from phantom_census import census, main

from radrl.data.study import Record
from radrl.observations import NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN


def record(study: str, label: str, value: int) -> Record:
    gold = [0] * len(OBSERVATIONS)
    gold[OBSERVATIONS.index(label)] = value
    return Record(study, study, "p", None, findings="No edema here today.", gold=tuple(gold))


def test_a_study_counts_once_whatever_its_films() -> None:
    records = [record("a", "Edema", UNCERTAIN)] * 2 + [record("b", OBSERVATIONS[NO_FINDING], POSITIVE)]
    table = census(records)
    assert "| Edema | 0.000 | 0.500 | 0.000 |" in table
    assert "| No Finding | 0.500 | 0.000 | 0.000 |" in table
    assert "2 studies of 1 patients; words in the findings: median 4" in table


def test_records_without_gold_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has no gold labels"):
        census([Record("row 1", "s", "p", None)])


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--studies", "8", "--seed", "1"])
    printed = capsys.readouterr().out
    assert all(f"| {name} |" in printed for name in OBSERVATIONS)
    assert "8 studies" in printed


def test_the_command_counts_the_films_of_a_params_file(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(
        "ingest: {phantom: {studies: {test: 1}, prevalence: {Edema: 0.999}, missing_findings: 0.0}}"
    )
    main(["--studies", "8", "--params", str(path)])
    edema = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| Edema |"))
    assert sum(float(share) for share in edema.split("|")[2:4]) == 1
    for shipped in ("params.yaml", "conf/recipes/phantom-hard.yaml", "conf/recipes/phantom-credit.yaml"):
        main(["--studies", "4", "--params", str(root / shipped)])
        assert "4 studies" in capsys.readouterr().out


def test_a_file_without_phantoms_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("ingest: {source: csv}")
    with pytest.raises(SystemExit, match=r"params.yaml has no section ingest.phantom; name a file that has"):
        main(["--params", str(path)])
