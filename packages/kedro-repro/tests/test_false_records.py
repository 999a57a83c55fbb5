"""Records of what did not run: a stage whose parameters change after its last look, as DVC writes it down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kedro_repro.false_records import find, take_out
from kedro_repro.programs import DVC, environment
from kedro_repro.run_records import RunRecord, notes
from kedro_repro.schedule import StageFailed
from kedro_repro.stage_runner import TRIES, DvcStages

SCRIPT = """\
import hashlib, pathlib, sys
from kedro_repro.run_records import RunRecord
name, root = sys.argv[1], pathlib.Path.cwd()
params = root / "params.yaml"
text = params.read_text()
made = f"{name} of {text.split()[1]}" if name == "a" else name
(root / name).write_text(made)
outs = {name: hashlib.md5(made.encode()).hexdigest()}
RunRecord(name, text, "1", ["given"], outs, ".dvc/cache/runs").write(root)
edits = root / f"edits of {name}"  # one a run, made when all looks are over
if edits.exists():
    first, *others = edits.read_text().splitlines()
    params.write_text(f"n: {first}\\n")
    edits.write_text("\\n".join(others)) if others else edits.unlink()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two stages that read `n`, of which only `a` makes something else of it."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "given").touch()
    (tmp_path / "params.yaml").write_text("n: 98\n")
    stage: dict[str, Any] = {"deps": ["given"], "params": ["n"]}
    wiring = {
        name: {**stage, "cmd": f"{sys.executable} script.py {name}", "outs": [name]} for name in ("a", "b")
    }
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": wiring}))
    dvc(tmp_path, "init", "--no-scm", "--quiet")
    return tmp_path


def dvc(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*DVC, *arguments],
        cwd=folder,
        env=environment(DVC_NO_ANALYTICS="1"),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def recorded(project: Path) -> dict[str, Any]:
    """By stage the value of `n` that dvc.lock says."""
    stages = yaml.safe_load((project / "dvc.lock").read_text())["stages"]
    return {stage: entry["params"]["params.yaml"]["n"] for stage, entry in stages.items()}


def kept(project: Path) -> list[Any]:
    """The values of `n` with outputs that DVC's records of earlier runs say."""
    records = [yaml.safe_load(file.read_text()) for file in (project / ".dvc/cache/runs").glob("*/*/*")]
    return sorted((one["params"]["params.yaml"]["n"], one["outs"][0]["path"]) for one in records)


def test_entry_that_did_not_run_is_taken_out_and_the_others_stay(project: Path) -> None:
    (project / "edits of a").write_text("598")
    dvc(project, "repro", "a")
    assert recorded(project) == {"a": 598}  # what this is about: it ran with 98
    assert (project / "a").read_text() == "a of 98"
    dvc(project, "repro", "b")
    other = (project / "dvc.lock").read_text().partition("  b:\n")[2]
    lock, noted = (project / "dvc.lock").read_bytes(), [*notes(project)]
    assert find(project)["a"].startswith("dvc.lock says of a what did not run: n changed before DVC wrote")
    assert ((project / "dvc.lock").read_bytes(), [*notes(project)]) == (lock, noted)  # it only looks
    assert (598, "a") in kept(project)
    found = take_out(project)
    assert [*found] == ["a"]
    assert found["a"].startswith("dvc.lock said of a what did not run: n changed before DVC wrote it down.")
    assert recorded(project) == {"b": 598}
    assert (project / "dvc.lock").read_text() == f"schema: '2.0'\nstages:\n  b:\n{other}"
    assert kept(project) == [(598, "b")]
    assert [*notes(project)] == []
    assert "Running stage 'a'" in dvc(project, "repro", "a")
    assert (project / "a").read_text() == "a of 598"
    assert take_out(project) == {}
    assert recorded(project) == {"a": 598, "b": 598}


def test_radrl_repro_runs_such_a_stage_again_and_says_so(project: Path) -> None:
    (project / "edits of a").write_text("598")
    runner = DvcStages(project, project / "logs")
    runner("a")
    assert recorded(project) == {"a": 598}
    assert (project / "a").read_text() == "a of 598"
    assert "WARNING dvc.lock said of a what did not run: n changed" in runner.log("a").read_text()


def test_radrl_repro_looks_at_the_stage_that_ended_alone(project: Path) -> None:
    """The other one's note is for whoever runs that stage, who runs it again."""
    (project / "edits of a").write_text("598")
    dvc(project, "repro", "a")
    DvcStages(project, project / "logs")("b")
    assert recorded(project) == {"a": 598, "b": 598}
    assert [ran.stage for _, ran in notes(project)] == ["a"]


def test_radrl_repro_gives_up_without_an_entry_where_the_edits_do_not_end(project: Path) -> None:
    (project / "edits of a").write_text("\n".join(str(number) for number in range(TRIES + 3)))
    runner = DvcStages(project, project / "logs")
    with pytest.raises(StageFailed, match=rf"{TRIES} times params\.yaml or the code changed just before"):
        runner("a")
    assert not (project / "dvc.lock").exists()  # it was the only one
    assert kept(project) == []
    assert len((project / "edits of a").read_text().splitlines()) == 3


def test_true_entries_stay_where_the_outputs_are_those_of_other_values(project: Path) -> None:
    """Of `b` every value makes the same, and both values ran."""
    dvc(project, "repro", "b")
    (project / "params.yaml").write_text("n: 598\n")
    dvc(project, "repro", "b")
    before = (project / "dvc.lock").read_bytes()
    assert take_out(project) == {}
    assert (project / "dvc.lock").read_bytes() == before
    assert kept(project) == [(98, "b"), (598, "b")]


def test_entry_of_another_time_is_left_alone(project: Path) -> None:
    """As of a dvc.lock that was checked out: it is of outputs that this run did not make."""
    dvc(project, "repro", "a")
    take_out(project)
    before = (project / "dvc.lock").read_bytes()
    (project / "params.yaml").write_text("n: 598\n")
    dvc(project, "repro", "a")
    (project / "dvc.lock").write_bytes(before)
    assert take_out(project) == {}
    assert (project / "dvc.lock").read_bytes() == before
    assert [*notes(project)] == []


def test_record_that_would_restore_what_did_not_run_goes_without_an_entry_too(project: Path) -> None:
    """As after a kill between DVC's two writings."""
    (project / "edits of a").write_text("598")
    dvc(project, "repro", "a")
    (project / "dvc.lock").unlink()
    assert kept(project) == [(598, "a")]
    assert take_out(project) == {}
    assert kept(project) == []
    assert "Running stage 'a'" in dvc(project, "repro", "a")


@pytest.mark.parametrize(("path", "looked_at"), [("a", False), ("b", True)])
def test_stage_that_dvc_has_not_written_down_yet_is_looked_at_later(
    project: Path, path: str, looked_at: bool
) -> None:
    """Somebody asks `radrl code` while DVC hashes what the stage has made."""
    (project / "edits of a").write_text("598")
    dvc(project, "repro", "a")
    used = project / ".dvc/tmp/rwlock"
    used.write_text(json.dumps({"write": {str(project / path): {"pid": os.getpid(), "cmd": "dvc"}}}))
    assert bool(take_out(project)) == looked_at
    assert [ran.stage for _, ran in notes(project)] == ([] if looked_at else ["a"])


def test_lock_that_was_cut_off_is_for_others_to_mend_first(project: Path) -> None:
    (project / "edits of a").write_text("598")
    dvc(project, "repro", "a")
    text = (project / "dvc.lock").read_text()
    (project / "dvc.lock").write_text(text[:-1])
    assert take_out(project) == {}
    (project / "dvc.lock").write_text(text)
    assert [*take_out(project)] == ["a"]


# What differs

ENTRY: dict[str, Any] = {
    "deps": [{"path": "data/models/sft"}, {"path": "data/eval"}],
    "params": {
        "params.yaml": {"generate": {"tokens": 98, "split": "test"}, "seed": 0},
        "data/08_reporting/code.yaml": {"train.deer": "1f"},
    },
    "outs": [{"path": "out", "md5": "00"}, {"path": "more", "md5": "11"}],
}
RAN = RunRecord(
    stage="train@deer",
    params="generate: {tokens: 98, split: test}\nseed: 0\nother: 1\n",
    digest="1f",
    reads=["data/models/sft", "data/eval/deer/scores.json"],
    outs={"out": "00"},
    runs="",
)


def test_entry_of_what_ran_differs_in_nothing() -> None:
    assert RAN.unlike(ENTRY) == []


@pytest.mark.parametrize(
    ("params", "keys"),
    [
        ("generate: {tokens: 598, split: test}\nseed: 0\n", ["generate.tokens"]),
        (
            "generate: {tokens: 98, split: val, more: 1}\nseed: 1\n",
            ["generate.split", "generate.more", "seed"],
        ),
        ("generate: {split: test}\nseed: 0\n", ["generate.tokens"]),
        ("generate: none\nseed: 0\n", ["generate"]),
        ("seed: 0\n", ["generate"]),
        ("generate: {tokens: 98.0, split: test}\nseed: false\n", ["generate.tokens", "seed"]),  # other types
    ],
)
def test_keys_are_named_down_to_the_value(params: str, keys: list[str]) -> None:
    assert RunRecord(RAN.stage, params, RAN.digest, RAN.reads, RAN.outs, "").unlike(ENTRY) == keys


def test_code_and_paths_that_differ_are_named() -> None:
    """`start` was `sft` when DVC read dvc.yaml, and `base` when the stage began."""
    ran = RunRecord(RAN.stage, RAN.params, "2e", ["data/models/base", "data/evaluation"], RAN.outs, "")
    assert ran.unlike(ENTRY) == ["the code", "data/models/base", "data/evaluation"]


@pytest.mark.parametrize(
    ("outs", "made"),
    [
        ({"out": "00"}, True),
        ({"out": "00", "more": "11", "not in the lock": "22"}, True),
        ({"out": "00", "more": "12"}, False),
        ({"not in the lock": "22"}, False),
        ({}, False),
    ],
)
def test_entry_is_of_a_run_that_made_its_outputs(outs: dict[str, str], made: bool) -> None:
    assert RunRecord(RAN.stage, "", "", [], outs, "").is_of_outputs(ENTRY) == made


def test_values_that_are_no_numbers_equal_themselves() -> None:
    ran = RunRecord("a", "x: .nan\ny: 1e-5\nz: 2020-01-01\n", "", [], {}, "")
    nan = float("nan")
    assert ran.unlike({"params": {"params.yaml": {"x": nan, "y": 1e-5}}}) == []
    assert ran.unlike({"params": {"params.yaml": {"x": 1.0}}}) == ["x"]
