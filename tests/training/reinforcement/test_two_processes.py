"""Two processes that share a step's rollouts make the update that one would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import check_updates, launch
from small_arms import GRADIENT, MIXING, RULE

SCRIPT = Path(__file__).with_name("one_of_processes.py")
REFERENCES = ["The heart is big.", "a", "big", "is", "Is the heart big?", "b a"]
ACROSS = {"prompts_per_step": 3, "rollouts": 2}  # of three films, the second one's two are in two processes
TARGETS = ["model.language_model.layers.*.self_attn.*_proj", "model.visual.blocks.*.mlp.*_proj"]
ADAPTERS = {"tunes": "lora", "lora": {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": TARGETS}}
TWICE = {"rollouts_at_once": 2, "iterations": 2}


def case(credit: Any = "uniform", oracle: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return {"credit": credit, "oracle": oracle, "settings": settings}


CASES = {
    "uniform, groups across": case(**ACROSS),
    "tf_idf": case(RULE),
    "gradient, groups across": case(GRADIENT, **ACROSS),
    "gradient and dapo, used twice in parts": case(GRADIENT, loss="dapo", **TWICE),
    "oracle, groups across": case(oracle=MIXING, **ACROSS),
    "oracle and tf_idf": case(RULE, MIXING),
    "oracle and tf_idf one at a time": case(RULE, MIXING, rollouts_at_once=1),
    "oracle and dapo one at a time": case(oracle=MIXING, loss="dapo", rollouts_at_once=1),
    "oracle and checkpointing": case(oracle=MIXING, gradient_checkpointing=True),
    "oracle and adapters": case(oracle=MIXING, **ADAPTERS),
    "oracle without kl, used twice in parts": case(
        oracle=MIXING | {"negatives": "all", "per": "batch"}, kl=0.0, **TWICE
    ),
}


@pytest.fixture(scope="module")
def done(
    root: Path,
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    prompt: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[int, Any]:
    """What one process and two made of every case."""
    import yaml

    settings = yaml.safe_load((root / "params.yaml").read_text())["training"]
    settings |= {"steps": 2, "prompts_per_step": 2, "rollouts": 4, "rollouts_at_once": 8}
    settings |= {"iterations": 1, "learning_rate": 1e-3, "max_new_tokens": 6, "checkpoint_every": 4}
    job = {
        "policy": policy_folder,
        "films": films(6),
        "references": REFERENCES,
        "prompt": prompt,
        "settings": settings,
        "cases": CASES,
    }
    work = tmp_path_factory.mktemp("processes")
    torch.save(job, work / "job.pt")
    for processes in (1, 2):
        launch(SCRIPT, work, processes)
    return {n: torch.load(work / f"done-{n}.pt", weights_only=False) for n in (1, 2)}


@pytest.mark.parametrize("name", CASES)
def test_two_processes_make_the_update_of_one(done: dict[int, Any], name: str) -> None:
    check_updates(done[1][name]["gradients"], done[2][name]["gradients"])


@pytest.mark.parametrize("processes", [1, 2])
def test_parts_of_a_step_make_its_update(done: dict[int, Any], processes: int) -> None:
    whole, parts = (
        done[processes][name] for name in ("oracle and tf_idf", "oracle and tf_idf one at a time")
    )
    check_updates(whole["gradients"], parts["gradients"])


@pytest.mark.parametrize("name", CASES)
def test_two_processes_write_the_curve_of_one(done: dict[int, Any], name: str) -> None:
    one, two = done[1][name]["curve"], done[2][name]["curve"]
    assert [row["step"] for row in two] == [1, 2]
    for alone, shared in zip(one, two, strict=True):
        assert shared.keys() == alone.keys()
        for number in alone:
            assert shared[number] == pytest.approx(alone[number], rel=1e-3, abs=1e-5), number


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_all_log_probabilities_are_of_shared_rows(done: dict[int, Any], name: str, processes: int) -> None:
    """With and without a wrapper of processes, adapters and checkpointing around the model."""
    own = done[processes][name]
    assert own["shared"] == own["asked for"] > 0
