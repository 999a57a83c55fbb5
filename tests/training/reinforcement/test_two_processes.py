"""Two processes that share a step's rollouts, and at times the weights, make the update that one would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import check_parted, check_updates, check_weights, engines
from small_arms import GRADIENT, MIXING, RULE
from small_families import make
from vllm_interpreter import PYTHON

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
    family: str = "tiny",
    writes: bool = False,
    resumes: bool = False,
    alike: bool = False,
    vllm: str | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Rollouts are a film's own whatever the policy, or it `writes` them, and is watched; it may resume.

    Rewards may be `alike` on every other film. vLLM is that of an interpreter, else only pretended.
    """
    asked = {"family": family, "writes": writes, "resumes": resumes, "alike": alike, "vllm": vllm}
    return {"credit": credit, "oracle": oracle, "settings": settings, **asked}


ROUNDED = "written under bfloat16"
UNEVEN = "gemma3, oracle, groups across, in parts"
CASES = {
    "uniform, groups across": case(**ACROSS),
    "dropped, groups across": case(alike=True, dynamic_sampling={"mode": "drop"}, **ACROSS),
    "dropped and dapo, one at a time": case(
        alike=True, dynamic_sampling={"mode": "drop"}, loss="dapo", rollouts_at_once=1, **ACROSS
    ),
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
    "written by a copy, groups across": case(RULE, writes=True, engine="hf_bfloat16", **ACROSS),
    "handed over, groups across": case(RULE, writes=True, engine="vllm", **ACROSS),
    ROUNDED: case(oracle=MIXING, writes=True, bf16=True),
    "qwen3_vl, oracle, groups across": case(oracle=MIXING, family="qwen3_vl", writes=True, **ACROSS),
    UNEVEN: case(oracle=MIXING, family="gemma3", rollouts_at_once=1, **ACROSS),
    "gemma3, oracle and checkpointing": case(
        RULE, MIXING, family="gemma3", writes=True, gradient_checkpointing=True
    ),
}
BY_VLLM = "written by vLLM, groups across"
if PYTHON:
    CASES[BY_VLLM] = case(RULE, writes=True, engine="vllm", vllm=PYTHON, **ACROSS)
SHARDED = (
    "uniform, groups across",
    "oracle, groups across",
    "oracle and tf_idf one at a time",
    "oracle and checkpointing",
    "written and resumed",
    "written, groups across, in parts",
    "handed over, groups across",
    ROUNDED,
    *([BY_VLLM] if PYTHON else []),
    *(name for name in CASES if CASES[name]["family"] != "tiny"),
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
    work = tmp_path_factory.mktemp("processes")
    families = {own["family"] for own in CASES.values()} - {"tiny"}
    policies = {"tiny": policy_folder} | {name: make(name, work / name, [prompt]) for name in families}
    job = {
        "policies": policies,
        "films": films(6),
        "references": REFERENCES,
        "prompt": prompt,
        "settings": settings,
        "cases": CASES,
        "labeler": params["labeler"],
        "sharded": SHARDED,
    }
    return engines(SCRIPT, work, job)


SHARED = [*(("two", name) for name in CASES), *(("parts", name) for name in SHARDED)]
EXACT = [(kind, name) for kind, name in SHARED if name != ROUNDED]


@pytest.mark.parametrize(("kind", "name"), EXACT)
def test_processes_make_the_update_of_one(done: dict[str, Any], kind: str, name: str) -> None:
    check_updates(done["one"][name]["gradients"], done[kind][name]["gradients"])


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in EXACT if CASES[name]["writes"]])
def test_processes_write_the_rollouts_of_one(done: dict[str, Any], kind: str, name: str) -> None:
    one = done["one"][name]["rollouts"]
    assert one == done[kind][name]["rollouts"]
    assert len(one) == 2
    assert len({tuple(rollout) for rollout in one[0]}) > 2  # they are drawn, and each by numbers of its own


def test_sums_of_bfloat16_are_rounded_alike_whether_weights_are_parted_or_not(done: dict[str, Any]) -> None:
    """A process' share of the rollouts is the same; one that has all of them adds up otherwise."""
    two, parts = (done[kind][ROUNDED] for kind in ("two", "parts"))
    assert two["rollouts"] == parts["rollouts"]
    check_updates(two["gradients"], parts["gradients"])


def test_processes_that_have_different_numbers_of_references_ask_for_as_many_passes(
    done: dict[str, Any],
) -> None:
    """Else one would wait for the other's part of the weights for ever."""
    assert any(len(set(of_step)) > 1 for of_step in done["parts"][UNEVEN]["references"])


@pytest.mark.parametrize("name", SHARDED)
def test_the_first_process_ends_with_the_whole_policy(done: dict[str, Any], name: str) -> None:
    check_weights(done["one"][name]["weights"], done["parts"][name]["weights"])


@pytest.mark.parametrize("name", SHARDED)
def test_weights_are_parted_layer_by_layer_of_any_family(done: dict[str, Any], name: str) -> None:
    assert done["parts"][name]["engine"] == "FSDP"
    check_parted(done["parts"][name]["parted"])


@pytest.mark.parametrize("kind", ["one", "two", "parts"])
def test_a_resumed_run_is_as_the_unbroken_one(done: dict[str, Any], kind: str) -> None:
    own = done[kind]["written and resumed"]
    assert len(own["gradients"]) == 2
    assert own["again"]["curve"] == own["curve"]
    assert len(own["again"]["gradients"]) == 1
    for name, weight in own["weights"].items():
        assert torch.equal(own["again"]["weights"][name], weight), name


def test_two_processes_go_on_from_what_one_has_left(done: dict[str, Any]) -> None:
    """With the draws of a run that was never broken."""
    one, taken = done["one"]["written and resumed"], done["two"]["written and resumed"]["taken over"]
    assert taken["rollouts"] == one["rollouts"][1:]
    assert taken["curve"][:2] == one["curve"][:2]
    check_updates(one["gradients"][1:], taken["gradients"])
    check_weights(one["weights"], taken["weights"])


@pytest.mark.parametrize("kind", ["one", "two"])
def test_parts_of_a_step_make_its_update(done: dict[str, Any], kind: str) -> None:
    whole, parts = (done[kind][name] for name in ("oracle and tf_idf", "oracle and tf_idf one at a time"))
    check_updates(whole["gradients"], parts["gradients"])


@pytest.mark.parametrize(("kind", "name"), EXACT)
def test_processes_write_the_curve_of_one(done: dict[str, Any], kind: str, name: str) -> None:
    one, several = done["one"][name]["curve"], done[kind][name]["curve"]
    looks = [0] if CASES[name]["writes"] else []  # before the first step, where films are watched
    assert [row["step"] for row in several] == [*looks, 1, 2]
    for alone, shared in zip(one, several, strict=True):
        assert shared.keys() == alone.keys()
        for number in alone:
            # TRL's is the mean of the processes' means: tokens of the one with fewer of them count for more
            uneven = CASES[name]["settings"].get("engine") == "vllm" and number.endswith("difference/mean")
            least = 3e-5 if uneven else 1e-5
            assert shared[number] == pytest.approx(alone[number], rel=1e-3, abs=least), number


@pytest.mark.parametrize(("kind", "name"), [*(("one", name) for name in CASES), *SHARED])
def test_all_log_probabilities_are_of_shared_rows_where_a_family_shares_them(
    done: dict[str, Any], kind: str, name: str
) -> None:
    """With and without a wrapper of processes, shards, adapters and checkpointing around the model."""
    own = done[kind][name]
    assert own["asked_for"] > 0
    assert own["shared"] == (0 if CASES[name]["family"] == "gemma3" else own["asked_for"])
