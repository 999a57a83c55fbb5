"""Two processes that share a step's rollouts, and at times the weights, make the update that one would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import SHARDS, check_updates, launch
from small_arms import GRADIENT, MIXING, RULE

SCRIPT = Path(__file__).with_name("one_of_processes.py")
REFERENCES = ["The heart is big.", "a", "big", "is", "Is the heart big?", "b a"]
ACROSS = {"prompts_per_step": 3, "rollouts": 2}  # of three films, the second one's two are in two processes
TARGETS = ["model.language_model.layers.*.self_attn.*_proj", "model.visual.blocks.*.mlp.*_proj"]
ADAPTERS = {"tunes": "lora", "lora": {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": TARGETS}}
TWICE = {"rollouts_at_once": 2, "iterations": 2}


def case(
    credit: Any = "uniform",
    oracle: dict[str, Any] | None = None,
    *,
    writes: bool = False,
    resumes: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Rollouts are a film's own whatever the policy, or it `writes` them, and is watched; it may resume."""
    return {"credit": credit, "oracle": oracle, "writes": writes, "resumes": resumes, "settings": settings}


CASES = {
    "uniform, groups across": case(**ACROSS),
    "tf_idf": case(RULE),
    "tf_idf, groups across": case(RULE, **ACROSS),
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
    "written and resumed": case(oracle=MIXING, writes=True, resumes=True, checkpoint_every=1),
    "written, groups across, in parts": case(RULE, writes=True, rollouts_at_once=1, **ACROSS),
    "written from a nucleus with adapters": case(GRADIENT, writes=True, top_p=0.9, **ADAPTERS),
}
SHARDED = (
    "uniform, groups across",
    "oracle, groups across",
    "oracle and tf_idf one at a time",
    "oracle and checkpointing",
    "written and resumed",
    "written, groups across, in parts",
)
"""Those that two processes with parts of the weights run too (FSDP2, on the CPU)."""


@pytest.fixture(scope="module")
def done(
    root: Path,
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    prompt: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What one process and two made of every case, and two with parts of the weights of some."""
    import yaml

    params = yaml.safe_load((root / "params.yaml").read_text())
    settings = params["training"]
    settings |= {"steps": 2, "prompts_per_step": 2, "rollouts": 4, "rollouts_at_once": 8}
    settings |= {"iterations": 1, "learning_rate": 1e-3, "max_new_tokens": 6, "checkpoint_every": 4}
    job = {
        "policy": policy_folder,
        "films": films(6),
        "references": REFERENCES,
        "prompt": prompt,
        "settings": settings,
        "cases": CASES,
        "labeler": params["labeler"],
        "sharded": SHARDED,
    }
    work = tmp_path_factory.mktemp("processes")
    torch.save(job, work / "job.pt")
    launch(SCRIPT, work, 1)
    launch(SCRIPT, work, 2)
    launch(SCRIPT, work, 2, **SHARDS)
    files = {"NO": "one", "MULTI_CPU": "two", "FSDP": "parts"}
    return {kind: torch.load(work / f"{engine}.pt", weights_only=False) for engine, kind in files.items()}


SHARED = [*(("two", name) for name in CASES), *(("parts", name) for name in SHARDED)]


@pytest.mark.parametrize(("kind", "name"), SHARED)
def test_processes_make_the_update_of_one(done: dict[str, Any], kind: str, name: str) -> None:
    check_updates(done["one"][name]["gradients"], done[kind][name]["gradients"])


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in SHARED if CASES[name]["writes"]])
def test_processes_write_the_rollouts_of_one(done: dict[str, Any], kind: str, name: str) -> None:
    one = done["one"][name]["rollouts"]
    assert one == done[kind][name]["rollouts"]
    assert len(one) == 2
    assert len({tuple(rollout) for rollout in one[0]}) > 2  # they are drawn, and each by numbers of its own


@pytest.mark.parametrize("name", SHARDED)
def test_the_first_process_ends_with_the_whole_policy(done: dict[str, Any], name: str) -> None:
    one, parts = (done[kind][name]["weights"] for kind in ("one", "parts"))
    assert parts.keys() == one.keys()
    for weight in one:
        assert type(parts[weight]) is torch.Tensor
        # AdamW moves a weight by the rate whatever its gradient's size, also where that is rounding
        torch.testing.assert_close(parts[weight], one[weight], rtol=0, atol=2e-3)


@pytest.mark.parametrize("kind", ["one", "two", "parts"])
def test_a_resumed_run_is_as_the_unbroken_one(done: dict[str, Any], kind: str) -> None:
    own = done[kind]["written and resumed"]
    assert len(own["gradients"]) == 2
    assert own["again"]["curve"] == own["curve"]
    assert len(own["again"]["gradients"]) == 1
    for name, weight in own["weights"].items():
        assert torch.equal(own["again"]["weights"][name], weight), name


@pytest.mark.parametrize("kind", ["one", "two"])
def test_parts_of_a_step_make_its_update(done: dict[str, Any], kind: str) -> None:
    whole, parts = (done[kind][name] for name in ("oracle and tf_idf", "oracle and tf_idf one at a time"))
    check_updates(whole["gradients"], parts["gradients"])


@pytest.mark.parametrize(("kind", "name"), SHARED)
def test_processes_write_the_curve_of_one(done: dict[str, Any], kind: str, name: str) -> None:
    one, several = done["one"][name]["curve"], done[kind][name]["curve"]
    looks = [0] if CASES[name]["writes"] else []  # before the first step, where films are watched
    assert [row["step"] for row in several] == [*looks, 1, 2]
    for alone, shared in zip(one, several, strict=True):
        assert shared.keys() == alone.keys()
        for number in alone:
            assert shared[number] == pytest.approx(alone[number], rel=1e-3, abs=1e-5), number


@pytest.mark.parametrize(("kind", "name"), [*(("one", name) for name in CASES), *SHARED])
def test_all_log_probabilities_are_of_shared_rows(done: dict[str, Any], kind: str, name: str) -> None:
    """With and without a wrapper of processes, shards, adapters and checkpointing around the model."""
    own = done[kind][name]
    assert own["shared"] == own["asked for"] > 0
