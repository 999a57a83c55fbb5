"""Trainings in processes of their own: as one process, killed and resumed, and ended with the stage."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pyarrow.dataset as ds
import pytest
import torch
from safetensors.torch import load_file
from small_arms import RULE, train_inputs, train_stage, train_stage_with_rollouts

from radrl.training import launching
from radrl.training.preflight import SettingsError

REWARD = {"nlg": {"weight": 1.0, "preparation": "basic", "bleu": 1}}
TWO = {"processes": 2, "config": None, "command": None}
LAUNCHER = "'{python}' -m torch.distributed.run --standalone --nproc-per-node {processes} -m {worker} {job}"
TORCHRUN = TWO | {"command": LAUNCHER}
Run = Callable[..., tuple[dict[str, torch.Tensor], pd.DataFrame, list[int]]]


@pytest.fixture(autouse=True)
def in_the_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # where stages run


@pytest.fixture
def arm(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], policy_folder: Path, tmp_path: Path
) -> dict[str, Any]:
    """Inputs of the stage train: groups of two rollouts, the second of three in both processes."""
    watch = {"every": 0, "films": 1, "metric": "mccs", "patience": None, "keep": "last"}
    watch["rollouts"] = {"every": 2, "groups": 1}
    training = {"prompts_per_step": 3, "max_new_tokens": 16, "learning_rate": 1e-3, "watch": watch}
    corpus = make_corpus(["train", "test"], studies=12)
    told = {"studies": (7, 2, 4, 9, 1, 0), "reward": REWARD, "credit": RULE}
    made = train_inputs(small, corpus, policy_folder, tmp_path, **told)
    return made | {"training": small["training"] | training}


@pytest.fixture
def noted() -> list[pd.DataFrame]:
    """The rollouts to look at of each arm that was trained by `noting`."""
    return []


@pytest.fixture
def noting(noted: list[pd.DataFrame]) -> Callable[..., Any]:
    """The stage train, whose rollouts to look at are kept."""

    def stage(**inputs: Any) -> Any:
        *trained, rollouts = train_stage_with_rollouts(**inputs)
        noted.append(rollouts)
        return trained

    return stage


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a stage; its weights, its curve, and the steps it told."""

    def once(
        stage: Callable[..., Any], **inputs: Any
    ) -> tuple[dict[str, torch.Tensor], pd.DataFrame, list[int]]:
        told: list[int] = []
        writer, curve = stage(**inputs, step_report=lambda step, _: told.append(step))
        target = tmp_path / f"policy{len(list(tmp_path.glob('policy*')))}"
        target.mkdir()
        writer(target)
        assert not inputs["workspace"].exists()
        return load_file(target / "model.safetensors"), curve, told

    return once


def check_close(one: Mapping[str, torch.Tensor], two: Mapping[str, torch.Tensor]) -> None:
    assert one.keys() == two.keys()
    for name in one:
        # AdamW moves a weight by the rate whatever its gradient's size, also where that is rounding
        torch.testing.assert_close(two[name], one[name], rtol=0, atol=2e-4, msg=name)


def check_curves(one: pd.DataFrame, two: pd.DataFrame) -> None:
    assert two.columns.tolist() == one.columns.tolist()
    pd.testing.assert_frame_equal(two, one, check_exact=False, rtol=2e-3, atol=1e-4)


def of_rank(number: int) -> psutil.Process:
    """The process of a rank among our descendants."""
    for process in psutil.Process().children(recursive=True):
        if launching.WORKER in process.cmdline() and process.environ().get("RANK") == str(number):
            return process
    raise AssertionError(f"no process of rank {number}")


def workers() -> list[psutil.Process]:
    found = psutil.Process().children(recursive=True)
    return [one for one in found if one.is_running() and launching.WORKER in one.cmdline()]


def test_an_arm_in_two_processes_is_as_in_one(
    arm: dict[str, Any], run: Run, noting: Callable[..., Any], noted: list[pd.DataFrame], tmp_path: Path
) -> None:
    alone, curve, told = run(noting, **arm)
    shared, again, told_again = run(noting, **arm, compute=TWO)
    assert curve["reward_std"].min() > 0
    check_curves(curve, again)
    check_close(alone, shared)
    assert told_again == told
    # of the first update the policy is the same to the last bit; its groups lie in both processes
    first, second = (rows[rows["update"] == 1] for rows in noted)
    assert len(first) == 4
    pd.testing.assert_frame_equal(second, first)


def test_a_killed_process_ends_the_run_which_goes_on_as_unbroken(
    arm: dict[str, Any], run: Run, noting: Callable[..., Any], noted: list[pd.DataFrame], tmp_path: Path
) -> None:
    arm["training"] |= {"steps": 24}  # so that it is killed long before its end
    unbroken, curve, _ = run(noting, **arm, compute=TWO)
    there = arm | {"workspace": tmp_path / "killed", "compute": TWO}

    def kill(step: int, _: Mapping[str, float]) -> None:
        if step == 3:
            of_rank(1).kill()

    with pytest.raises(launching.WorkerFailed, match="ended from outside"):
        train_stage(**there, step_report=kill)
    assert workers() == []
    assert list((tmp_path / "killed").glob("checkpoint-*"))
    resumed, again, told = run(noting, **there)
    assert told[0] > 2
    pd.testing.assert_frame_equal(noted[1], noted[0])
    assert noted[0]["update"].nunique() == 13  # the first, and every second of 24
    assert again.equals(curve)
    assert all(torch.equal(resumed[name], unbroken[name]) for name in unbroken)


def test_a_process_that_fails_says_why_and_ends_the_others(arm: dict[str, Any]) -> None:
    lacking = arm["labeler"] | {"name": "chexbert_compact"}
    with pytest.raises(
        launching.WorkerFailed, match=r"process [01] of the training failed: \w+: .*chexbert_compact"
    ):
        train_stage(**arm | {"labeler": lacking}, compute=TWO, step_report=lambda *_: None)
    assert workers() == []


def test_a_stage_that_ends_takes_its_processes_with_it(arm: dict[str, Any]) -> None:
    def stop(step: int, _: Mapping[str, float]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_stage(**arm, compute=TWO, step_report=stop)
    assert workers() == []


@pytest.mark.parametrize("compute", [TWO, TORCHRUN], ids=["accelerate", "torchrun"])
def test_a_cold_start_in_two_processes_is_as_in_one(
    compute: dict[str, Any],
    small: dict[str, Any],
    make_corpus: Callable[..., ds.Dataset],
    policy_folder: Path,
    run: Run,
    tmp_path: Path,
) -> None:
    from radrl.pipelines.sft import cold_start

    inputs = {
        "corpus": make_corpus(["train", "test"], studies=12),
        "base": policy_folder,
        "settings": small["sft"] | {"tunes": "full"},
        "dtype": "float32",
        "prompt": small["prompts"]["plain"],
        "seed": 0,
        "threads": 1,
        "device": "cpu",
        "workspace": tmp_path / "work",
    }
    alone, curve, told = run(cold_start, **inputs)
    shared, again, told_again = run(cold_start, **inputs, compute=compute)
    check_curves(curve, again)
    check_close(alone, shared)
    assert told_again == told


def test_processes_that_know_nothing_of_one_another_are_refused(arm: dict[str, Any]) -> None:
    """As srun would start them without torchrun: each would take itself for the only one."""
    alone = TWO | {"command": "'{python}' -m {worker} {job}"}
    with pytest.raises(
        launching.WorkerFailed,
        match=r"compute\.processes is 2, and this process was started as one of 1: compute\.command has to",
    ):
        train_stage(**arm, compute=alone, step_report=lambda *_: None)


def test_a_stage_that_is_killed_leaves_nothing_running(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from radrl.training import launching;"
        "launching._launch([sys.executable, '-c', 'import time; time.sleep(60)'], Path(sys.argv[1]), print)"
    )
    stage = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    try:
        started: list[psutil.Process] = []
        end = time.monotonic() + 60
        while not started and time.monotonic() < end:
            time.sleep(0.2)
            started = psutil.Process(stage.pid).children()
        assert started
    finally:
        os.kill(stage.pid, signal.SIGKILL)
        stage.wait()
    _, left = psutil.wait_procs(started, timeout=10)
    assert left == []


def test_a_template_starts_other_launchers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NNODES", "2")
    template = f"srun --nodes=$SLURM_NNODES --ntasks-per-node=1 {LAUNCHER}"
    command = launching.command({"processes": 8, "command": template}, Path("a job.json"), device="cuda")
    assert command == [
        "srun",
        "--nodes=2",
        "--ntasks-per-node=1",
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "8", "-m"),
        launching.WORKER,
        "a job.json",
    ]


@pytest.mark.parametrize(("device", "config"), [("cpu", "cpu2.yaml"), ("cuda", "ddp.yaml")])
def test_accelerate_starts_them_else_with_a_configuration_of_ours(device: str, config: str) -> None:
    command = launching.command({"processes": 4}, Path("job.json"), device=device)
    assert f"conf/accelerate/{config}" in command
    assert command[command.index("--num_processes") + 1] == "4"


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        ({"command": "srun {ranks} {job}"}, "'ranks'; in braces stand processes, python, worker, job"),
        ({"command": "srun {processes"}, "in braces stand"),
        ({"config": "conf/accelerate/dpp.yaml"}, "dpp.yaml is not there; accelerate's configurations are in"),
    ],
)
def test_what_cannot_be_started_is_refused(compute: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(says)):
        launching.command({"processes": 2, **compute}, Path("job.json"), device="cpu")
