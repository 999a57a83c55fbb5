"""Two processes that share a batch of fine-tuning, and at times the weights, make the update of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import check_parted, check_updates, check_weights, engines
from small_families import make

SCRIPT = Path(__file__).with_name("one_of_tuning_processes.py")
REPORTS = ["Clear.", "The heart is big.", "No.", "Is the heart big?", "big", "a b a b a", "b", "heart"]
TARGETS = ["model.language_model.layers.*.self_attn.*_proj"]
LORA = {"lora": {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": TARGETS}}
ROUNDED = {"bf16": True, "learning_rate": 1e-2}


def case(
    tunes: str = "full",
    *,
    at_once: int = 4,
    family: str = "tiny",
    dtype: str = "float32",
    resumes: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """A step's four examples go through the model `at_once`; it may lose its last checkpoint and resume."""
    asked = {"tunes": tunes, "family": family, "dtype": dtype, "resumes": resumes}
    return {"settings": {"examples_at_once": at_once, **settings}, **asked}


CASES = {
    "full": case(resumes=True),
    "full, one at a time": case(at_once=1),
    "vision": case("vision", resumes=True),
    "language": case("language", at_once=1),
    "lora": case("lora", **LORA),
    "qwen3_vl, full": case(family="qwen3_vl"),
    "gemma3, vision": case("vision", family="gemma3", at_once=1),
    "vision under bfloat16": case("vision", dtype="bfloat16", **ROUNDED),
}
SHARDED = tuple(name for name in CASES if name != "lora")
"""Those that two processes with parts of the weights run too (FSDP2, on the CPU)."""
SHARED = [*(("two", name) for name in CASES), *(("parts", name) for name in SHARDED)]
EXACT = [(engine, name) for engine, name in SHARED if "bfloat16" not in name]


@pytest.fixture(scope="module")
def done(
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    prompt: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What one process and two made of the same examples."""
    settings = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "warmup_share": 0.0}
    settings |= {"weight_decay": 0.0, "gradient_clip": 1.0, "max_tokens": 24, "checkpoint_every": 1}
    settings |= {"optimizer": "adamw", "bf16": False}
    work = tmp_path_factory.mktemp("processes")
    families = {own["family"] for own in CASES.values()} - {"tiny"}
    policies = {"tiny": policy_folder} | {name: make(name, work / name, [prompt]) for name in families}
    job = {"policies": policies, "films": films(8), "texts": REPORTS, "prompt": prompt}
    return engines(SCRIPT, work, job | {"settings": settings, "cases": CASES, "sharded": SHARDED})


@pytest.mark.parametrize(("engine", "name"), EXACT)
def test_a_batch_makes_one_update_however_it_is_shared(done: dict[str, Any], engine: str, name: str) -> None:
    alone, shared = done["one"][name], done[engine][name]
    check_updates(alone["gradients"], shared["gradients"])
    check_weights(alone["weights"], shared["weights"])
    assert [row["step"] for row in shared["curve"]] == [1, 2]
    for own, other in zip(alone["curve"], shared["curve"], strict=True):
        assert other == pytest.approx(own, rel=1e-3)


def test_a_batch_makes_one_update_however_it_is_parted(done: dict[str, Any]) -> None:
    whole, parts = (done["one"][name] for name in ("full", "full, one at a time"))
    check_updates(whole["gradients"], parts["gradients"])


def test_sums_of_bfloat16_are_rounded_alike_whether_weights_are_parted_or_not(done: dict[str, Any]) -> None:
    """A process' share of the batch is the same; one that has all of it adds up otherwise."""
    one, two, parts = (done[engine]["vision under bfloat16"] for engine in ("one", "two", "parts"))
    check_updates(two["gradients"], parts["gradients"])
    assert all(gradient.dtype == torch.float32 for gradient in parts["gradients"][0].values())
    for own, other in zip(one["curve"], parts["curve"], strict=True):
        assert other["loss"] == pytest.approx(own["loss"], rel=2e-2)


@pytest.mark.parametrize("name", SHARDED)
def test_weights_are_parted_layer_by_layer_of_any_family(done: dict[str, Any], name: str) -> None:
    assert done["parts"][name]["engine"] == "FSDP"
    check_parted(done["parts"][name]["parted"])


@pytest.mark.parametrize("engine", ["one", "two", "parts"])
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]["resumes"]])
def test_a_resumed_run_is_as_the_unbroken_one(done: dict[str, Any], engine: str, name: str) -> None:
    own = done[engine][name]
    assert len(own["again"]["gradients"]) == 1 < len(own["gradients"])
    assert own["again"]["curve"] == own["curve"]
    for weight, values in own["weights"].items():
        assert torch.equal(own["again"]["weights"][weight], values), weight
