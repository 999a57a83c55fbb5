from __future__ import annotations

import pytest

from radrl.data.phantom.census import census, main
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
