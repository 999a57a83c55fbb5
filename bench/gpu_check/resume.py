"""Whether a training is the same to the bit: twice from one seed, and killed twice and resumed.

A policy half as wide as Qwen2.5-VL-3B, of four layers, takes four steps on rollouts that it draws itself. The
first kill falls between gradients and update of the second step, the second of the third. On a GPU torch is
asked for operations of a deterministic form, as whoever wants equal bytes there must ask; a reward that any
text has some of, the share of its vowels, lets every group learn.
"""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from grpo_steps import measure as cells
from grpo_steps import policies
from transformers import TrainerCallback

from gpu_check.parts import Keep
from gpu_check.setup import Setup
from radrl.credit.uniform import Uniform
from radrl.labelers.rules.labeler import rules
from radrl.policy import folder
from radrl.process.runtime import pin
from radrl.rewards.build import build as build_reward
from radrl.training.reinforcement.grpo import optimise

STEPS: Final = 4
KILLS: Final = (2, 3)
"""Steps in which the process is killed, in turn."""
CHANGED: Final = {
    "steps": STEPS,
    "epochs": None,
    "prompts_per_step": 2,
    "rollouts": 4,
    "rollouts_at_once": 4,
    "checkpoint_every": 1,
    "learning_rate": 1e-4,  # so that every step moves many weights
    "max_new_tokens": 16,
    "watch": None,
}


def vowels(reports: list[str], references: list[str]) -> list[float]:
    """The share of a report's characters that are vowels; 0 of none."""
    return [sum(one in "aeiou" for one in report) / max(1, len(report)) for report in reports]


def measure(setup: Setup, keep: Keep) -> None:
    """Trainings in processes of their own, compared by the digest of all weights and by the curve."""
    start = setup.start("middle")
    found: list[dict[str, Any]] = []

    def row(check: str, one: Any, other: Any, note: str = "") -> None:
        same = one["weights"] == other["weights"] and one["curve"] == other["curve"]
        moved = one["weights"] != one["start"]
        said = "weights and curve equal to the bit" if same else _apart_said(one, other)
        said += note + ("" if moved else "; but no weight moved")
        dtype = "float32" if setup.twin else "bfloat16 over float32 masters"
        row = {"check": check, "dtype": dtype, "measured": said, "asked": "equal", "holds": same and moved}
        found.append(row)
        keep({"checks": found})

    with tempfile.TemporaryDirectory(dir=setup.work) as work:
        unbroken, again = (_run(setup, start, Path(work) / name) for name in ("one", "two"))
        row("a training, the same seed twice", unbroken, again)
        died = [_killed(setup, start, Path(work) / "killed", step) for step in KILLS]
        ended = _run(setup, start, Path(work) / "killed")
        note = "" if all(died) else "; but a process was not killed"
        row(f"a training killed in steps {KILLS[0]} and {KILLS[1]} and resumed", unbroken, ended, note)


def _apart_said(one: Any, other: Any) -> str:
    steps = [a for a, b in zip(one["curve"], other["curve"], strict=True) if a != b]
    return f"weights differ; curves from step {steps[0]['step']:g} on" if steps else "weights differ"


def _run(setup: Setup, start: Path, workspace: Path, die_in: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = cells.apart(
        str(setup.device), train, setup, start, workspace, setup.texts, die_in
    )
    return found


def _killed(setup: Setup, start: Path, workspace: Path, step: int) -> bool:
    """Whether a training was killed in a step."""
    try:
        _run(setup, start, workspace, step)
    except RuntimeError as error:
        return str(error).endswith(f"ended with {-signal.SIGKILL}")
    return False


class Dying(TrainerCallback):  # type: ignore[misc]
    """Kills its process in a step, between gradients and update."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step - 1:
            os.kill(os.getpid(), signal.SIGKILL)


def train(
    setup: Setup, start: Path, workspace: Path, texts: Sequence[str], die_in: int | None
) -> dict[str, Any]:
    """Train from the workspace's last checkpoint; digests before and after, and the curve."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    pin(1, setup.device)
    torch.use_deterministic_algorithms(True, warn_only=not setup.twin)
    for other in (torch.backends.cuda.enable_mem_efficient_sdp, torch.backends.cuda.enable_cudnn_sdp):
        other(False)  # their gradients add up in no order; nothing to a CPU
    policy = folder.load(start)
    policy.processor.image_processor.size = {"shortest_edge": 112**2, "longest_edge": 112**2}
    before = digest(policy.model)
    own = setup.params
    reward = build_reward(
        {"vowels": {"part": "gpu_check.resume:vowels", "weight": 1.0}},
        rules(**own["labeler"]["rules"]),
        references=texts,
    )
    drawn = policies.records(112, 2 * STEPS)
    workspace.mkdir(exist_ok=True)
    trained, curve = optimise(
        policy,
        policies.prompts(drawn, setup.prompt),
        reward=reward,
        credit=Uniform(),
        settings={**own["training"], **CHANGED},
        seed=0,
        device=setup.device,
        workspace=workspace,
        dtype=setup.dtype,
        observers=[] if die_in is None else [Dying(die_in)],
    )
    return {"start": before, "weights": digest(trained.model), "curve": curve}


def digest(model: torch.nn.Module) -> str:
    """Of all weights."""
    whole = hashlib.sha256()
    for name, weight in sorted(model.named_parameters()):
        whole.update(name.encode())
        whole.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()
