"""What holds whatever an arm trains on: the frozen start, adapters, resuming anywhere, one function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from peft import PeftModel
from processes import Gradients
from small_arms import MIXING, RULE, Thirds
from transformers import Qwen2_5_VLForConditionalGeneration
from trl import GRPOTrainer

from radrl.credit.build import build
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training import tuning
from radrl.training.reinforcement import grpo, shared_forward
from radrl.training.reinforcement.grpo import optimise
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.trainer import ReportGRPOTrainer

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
# "rank 128, alpha = 256, dropout 0.05" on attention and MLP projections (MRG-R1), at the tests' width
PROJECTIONS = [f"model.language_model.layers.*.{part}.*_proj" for part in ("self_attn", "mlp")]
ADAPTERS = {"tunes": "lora", "lora": {"rank": 8, "alpha": 16, "dropout": 0.05, "targets": PROJECTIONS}}
TUNES = pytest.mark.parametrize("tuned", [{}, ADAPTERS], ids=["full", "lora"])


class Lengths(Thirds):
    """Speaks in another phase, of something else."""

    name = "lengths"

    def __call__(self, reports: Sequence[str], *_: Any) -> list[float]:
        return [len(report) / 10 for report in reports]


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, small: dict[str, Any], tmp_path: Path) -> Run:
    brief = {"rollouts": 4, "learning_rate": 1e-2, "warmup_share": 0.0, "max_new_tokens": 6}

    def train(
        *,
        credit: Any = "uniform",
        oracle: Mapping[str, Any] | None = None,
        phases: bool = False,
        workspace: str = "work",
        report: Any = grpo.silent,
        **settings: Any,
    ) -> tuple[Policy, list[dict[str, float]]]:
        policy = folder.load(policy_folder)
        tokenizer = policy.processor.tokenizer
        later = [Part(Lengths(clinical=False), 1.0, phase_switch=0.5)] if phases else []
        return optimise(
            policy,
            prompts,
            reward=RewardSum([Part(Thirds(), 1.0), *later]),
            credit=build(credit, tokenizer, lambda _: None),  # type: ignore[arg-type,return-value]
            oracle=Oracle(tokenizer, **oracle) if oracle else None,
            settings=small["training"] | brief | settings,
            seed=3,
            workspace=tmp_path / workspace,
            report=report,
        )

    return train


def log_probabilities(model: Any, batch: dict[str, Any]) -> torch.Tensor:
    """Of the batch's rollouts under a model, by its logits alone; shape (B, T), 0 at padding."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    films = {name: batch[name] for name in ("pixel_values", "image_grid_thw", "mm_token_type_ids")}
    written = batch["completion_ids"].size(1)
    with torch.no_grad():
        logits = model.eval()(input_ids=ids, attention_mask=mask, **films).logits
    every = logits[:, -written - 1 : -1].log_softmax(-1)
    return every.gather(2, batch["completion_ids"][..., None])[..., 0] * batch["completion_mask"]


@TUNES
def test_kl_is_to_the_frozen_start(
    run: Run, batches: list[dict[str, Any]], policy_folder: Path, tuned: dict[str, Any]
) -> None:
    _, curve = run(kl=0.05, steps=3, **tuned)
    assert curve[0]["kl"] == 0.0
    assert curve[2]["kl"] > 1e-4
    last = batches[-1]
    start = log_probabilities(folder.load(policy_folder).model, last)
    frozen = last["ref_per_token_logps"] * last["completion_mask"]
    torch.testing.assert_close(frozen, start, rtol=1e-5, atol=1e-5)


@pytest.fixture
def adapted(monkeypatch: pytest.MonkeyPatch, batches: list[dict[str, Any]]) -> dict[str, Any]:
    """A trained model's weights and log-probabilities before its adapters are merged."""
    seen: dict[str, Any] = {}
    finished = tuning.finished

    def keeping(model: PeftModel) -> Any:
        seen["log-probabilities"] = log_probabilities(model, batches[-1])
        seen["weights"] = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        return finished(model)

    monkeypatch.setattr(tuning, "finished", keeping)
    return seen


def test_adapters_alone_train_and_a_plain_policy_keeps_what_they_learnt(
    run: Run,
    batches: list[dict[str, Any]],
    adapted: dict[str, Any],
    weights: Callable[[Any], Any],
    policy_folder: Path,
    tmp_path: Path,
) -> None:
    merged, _ = run(steps=3, **ADAPTERS)
    start = weights(policy_folder)
    found = adapted["weights"]
    adapters = {name for name in found if ".lora_" in name}
    layers = {name.split(".lora_")[0].removeprefix("base_model.model.") for name in adapters}
    assert all(any(fnmatchcase(layer, target) for target in PROJECTIONS) for layer in layers)
    assert len(layers) == 2 * 7  # of two blocks
    assert all(bool(found[name].any()) for name in adapters)  # B starts at 0
    for name in found.keys() - adapters:
        plain = name.removeprefix("base_model.model.").replace(".base_layer.", ".")
        assert torch.equal(found[name], start[plain]), name

    (tmp_path / "policy").mkdir()
    folder.save(merged, tmp_path / "policy")
    last = batches[-1]
    for policy in (merged, folder.load(tmp_path / "policy")):
        again = log_probabilities(policy.model, last)
        torch.testing.assert_close(again, adapted["log-probabilities"], rtol=1e-4, atol=1e-4)
    moved = log_probabilities(folder.load(policy_folder).model, last)
    assert float((moved - adapted["log-probabilities"]).abs().max()) > 0.01


DOUBT = {"name": "cispo", "doubtful_share": 0.8, "entropy": {"weight": 0.01, "target": 2.0, "step": 0.01}}


class Killed(RuntimeError):
    """Stands for the signal that ends a process."""


@pytest.mark.parametrize(
    ("settings", "resumes"),
    [
        ({"credit": RULE, "oracle": MIXING, "checkpoint_every": 1}, [1, 2, 3, 4]),
        ({"credit": RULE, "iterations": 2, "rollouts_at_once": 4, "checkpoint_every": 2}, [1, 1, 3, 3]),
        ({"oracle": MIXING, "prompts_per_step": 5, "checkpoint_every": 3}, [1, 1, 1, 4]),
        ({"loss": DOUBT, "credit": RULE, "oracle": MIXING, "checkpoint_every": 1}, [1, 2, 3, 4]),
    ],
    ids=["a checkpoint a step", "rollouts used twice", "an epoch a step", "a weight of doubt that moves"],
)
def test_run_killed_at_any_step_goes_on_as_never_stopped(
    run: Run,
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    settings: dict[str, Any],
    resumes: list[int],
) -> None:
    """Each step's kill comes before its checkpoint; the run after it says where it goes on."""
    settings = {"phases": True, "kl": 0.05, "steps": 4, **settings}
    unbroken, curve = run(workspace="unbroken", **settings)
    for at, first in enumerate(resumes, start=1):
        steps: list[int] = []

        def dying(step: int, _: Any, at: int = at) -> None:
            if step == at:
                raise Killed

        def noting(step: int, _: Any, steps: list[int] = steps) -> None:
            steps.append(step)

        with pytest.raises(Killed):
            run(workspace=f"killed {at}", report=dying, **settings)
        torch.manual_seed(99)  # another process has other states of the global generators
        resumed, resumed_curve = run(workspace=f"killed {at}", report=noting, **settings)
        assert steps[0] == first
        assert same(weights(resumed), weights(unbroken))
        assert resumed_curve == curve


@TUNES
def test_log_probabilities_come_from_one_function(
    run: Run, monkeypatch: pytest.MonkeyPatch, tuned: dict[str, Any]
) -> None:
    """Of the policy, the frozen start and the oracle; nothing but generation asks a model elsewhere."""
    inside: list[str] = []
    asked: Counter[tuple[str, bool]] = Counter()  # with adapters or not, with gradients or not
    elsewhere: list[str] = []
    function = grpo.ReportGRPOTrainer._get_per_token_logps_and_entropies
    generate = GRPOTrainer._generate_single_turn
    forward = Qwen2_5_VLForConditionalGeneration.forward

    def counted(trainer: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        start = model is trainer.ref_model or (
            isinstance(model, PeftModel) and model.get_model_status().enabled is False
        )
        asked["start" if start else "policy", torch.is_grad_enabled()] += 1
        inside.append("log-probabilities")
        try:
            return function(trainer, model, *args, **kwargs)
        finally:
            inside.pop()

    def generating(*args: Any, **kwargs: Any) -> Any:
        inside.append("generation")
        try:
            return generate(*args, **kwargs)
        finally:
            inside.pop()

    @wraps(forward)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if not inside:
            elsewhere.append("forward")
        return forward(*args, **kwargs)

    monkeypatch.setattr(grpo.ReportGRPOTrainer, "_get_per_token_logps_and_entropies", counted)
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", generating)
    monkeypatch.setattr(Qwen2_5_VLForConditionalGeneration, "forward", watched)
    run(oracle=MIXING | {"negatives": "all"}, kl=0.05, steps=2, **tuned)
    assert not elsewhere
    # a step asks the start of its rollouts and the references beside them, the policy with gradients
    assert asked == {("start", False): 2, ("policy", True): 2}


@TUNES
@pytest.mark.parametrize("settings", [{}, {"gradient_checkpointing": True}, {"temperature": 0.7}])
def test_step_of_shared_rows_is_that_of_separate_ones(
    run: Run,
    batches: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    tuned: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    """The old and the frozen start's log-probabilities, the references', and what the optimiser is given."""
    kept: list[dict[str, torch.Tensor]] = []
    noting = grpo.ReportGRPOTrainer

    class Keeping(noting):  # type: ignore[misc,valid-type]
        def __init__(self, **own: Any) -> None:
            super().__init__(**own)
            self.add_callback(Gradients(kept))

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Keeping)
    if tuned:
        tuned = tuned | {"lora": tuned["lora"] | {"dropout": 0.0}}
    brief = {
        "steps": 2,
        "iterations": 2,
        "kl": 0.05,
        "rollouts_at_once": 4,
        "oracle": MIXING | {"negatives": "all"},
    }
    run(workspace="shared", **brief, **tuned, **settings)
    monkeypatch.setattr(shared_forward, "enable", lambda model: "separate ones are asked for")
    run(workspace="separate", **brief, **tuned, **settings)
    shared, separate = batches
    mask = separate["completion_mask"]
    assert torch.equal(shared["completion_ids"], separate["completion_ids"])
    for name in ("old_per_token_logps", "ref_per_token_logps"):
        torch.testing.assert_close(shared[name] * mask, separate[name] * mask, rtol=0, atol=1e-5)
    for name in ("reference_start", "rollout_start"):
        torch.testing.assert_close(shared[name], separate[name], rtol=0, atol=1e-5)
    first, other = kept[0], kept[2]
    assert first.keys() == other.keys()
    for name, gradient in other.items():
        assert (first[name] - gradient).norm() <= 1e-4 * gradient.norm() + 1e-6, name


def test_a_films_rollouts_stay_in_one_part_of_a_step(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they can share a forward pass; TRL shuffles a step's rollouts over its parts."""
    parts: list[tuple[torch.Tensor, ...]] = []
    plain = ReportGRPOTrainer._compute_loss

    def watched(self: Any, model: Any, inputs: Any) -> torch.Tensor:
        parts.append(inputs["pixel_values"].chunk(len(inputs["prompt_ids"])))
        return plain(self, model, inputs)

    monkeypatch.setattr(ReportGRPOTrainer, "_compute_loss", watched)
    run(rollouts_at_once=4, steps=2)
    assert len(parts) == 4
    for films in parts:
        assert len(films) == 4
        assert all(torch.equal(film, films[0]) for film in films)
    for first, second in (parts[:2], parts[2:]):
        assert not torch.equal(first[0], second[0])


def test_what_the_oracle_weighs_is_taken_from_grpo(run: Run, batches: list[dict[str, Any]]) -> None:
    """OraPO, eq. 11: (1 - w) GRPO + w LN-DPO; the clipped loss is linear in a positive factor."""
    run(steps=1, workspace="alone")
    quarter = MIXING | {"w_min": 0.25, "w_max": 0.25, "negatives": "all"}
    run(steps=1, workspace="mixed", oracle=quarter)
    alone, mixed = batches
    assert torch.equal(alone["completion_ids"], mixed["completion_ids"])
    assert bool(alone["advantages"].any())
    torch.testing.assert_close(mixed["advantages"], 0.75 * alone["advantages"])
