"""A copy in bfloat16 draws as its own loop does, with the log-probabilities that correct the loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from datasets import Dataset
from peft import get_peft_model
from PIL import Image
from small_arms import TRAINING, Thirds

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.writer import Drawn
from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement import ArmSettings, grpo, samplers
from radrl.training.reinforcement.grpo import optimise
from radrl.training.reinforcement.samplers import RoundedSampler
from radrl.training.tuning import lora_config

SETTINGS = TRAINING | {"learning_rate": 1e-3}
IMPORTANCE = {"mode": "token_truncate", "cap": 2.0}


def process(index: int = 0) -> Any:
    """An accelerator as the sampler knows it."""
    return SimpleNamespace(process_index=index)


@pytest.fixture
def rows(films: Callable[..., list[bytes]]) -> list[list[Image.Image]]:
    """Two films with two rollouts each, and one with one."""
    a, b, c = (decode_film(film) for film in films(3))
    return [[a], [a], [b], [b], [c]]


@pytest.fixture
def sampler(policy_folder: Path) -> Callable[..., RoundedSampler]:
    def made(dtype: str = "bfloat16", **settings: Any) -> RoundedSampler:
        return RoundedSampler(folder.load(policy_folder, dtype=dtype), SETTINGS | settings, seed=3)

    return made


def under(policy: Policy, film: list[Image.Image], ids: list[int], prompt: str, top_p: float) -> list[float]:
    """Log-probabilities of tokens by one pass over prompt and report, within the nucleus of each place."""
    inputs = dict(encode_prompts(policy.processor, [film], [prompt]))
    more = torch.tensor([ids])
    inputs["input_ids"] = torch.cat([inputs["input_ids"], more], dim=1)
    inputs["attention_mask"] = torch.cat([inputs["attention_mask"], torch.ones_like(more)], dim=1)
    kinds = inputs["mm_token_type_ids"]
    inputs["mm_token_type_ids"] = torch.cat([kinds, torch.zeros_like(more)], dim=1)
    with torch.no_grad():
        logits = policy.model(**inputs).logits[0, -len(ids) - 1 : -1].double()
    logits[:, policy.model.generation_config.suppress_tokens] = -torch.inf
    likely = logits.softmax(-1)
    ordered, order = likely.sort(descending=True)
    beyond = torch.zeros_like(likely, dtype=torch.bool)
    beyond.scatter_(1, order, ordered.cumsum(1) - ordered >= top_p)
    found = logits.masked_fill(beyond, -torch.inf).log_softmax(-1)
    return found.gather(1, more.T)[:, 0].tolist()


@pytest.mark.parametrize("top_p", [1.0, 0.8])
def test_log_probabilities_are_those_of_one_pass_over_the_whole(
    sampler: Callable[..., RoundedSampler], rows: Any, policy_folder: Path, prompt: str, top_p: float
) -> None:
    policy = folder.load(policy_folder)
    drawn = sampler("float32", top_p=top_p).draw(
        policy.model, rows, [prompt] * len(rows), accelerator=process(), step=0
    )
    assert len({tuple(one.ids) for one in drawn}) == len(rows)
    for film, one in zip(rows, drawn, strict=True):
        assert one.log_probabilities == pytest.approx(under(policy, film, one.ids, prompt, top_p), abs=1e-4)


def test_a_report_holds_its_end_and_nothing_behind_it(
    sampler: Callable[..., RoundedSampler], rows: Any, policy_folder: Path, prompt: str
) -> None:
    policy = folder.load(policy_folder)
    end = policy.processor.tokenizer.eos_token_id
    own = sampler("float32")
    for model in (policy.model, own.policy.model):
        model.lm_head.bias = torch.nn.Parameter(torch.zeros(model.lm_head.out_features))
    with torch.no_grad():
        policy.model.lm_head.bias[end] = 5.0
    drawn = own.draw(policy.model, rows, [prompt] * len(rows), accelerator=process(), step=0)
    ended = [one for one in drawn if len(one.ids) < SETTINGS["max_new_tokens"]]
    assert ended
    assert all(one.ids.index(end) == len(one.ids) - 1 for one in ended)
    assert all(len(one.ids) == len(one.log_probabilities) for one in drawn)


def test_draws_follow_from_seed_step_place_and_attempt(
    sampler: Callable[..., RoundedSampler], rows: Any, policy_folder: Path, prompt: str
) -> None:
    model, own = folder.load(policy_folder).model, sampler()
    rows = [*rows, rows[0]]

    def drawn(some: Any, index: int = 0, **at: int) -> list[Drawn]:
        return own.draw(model, some, [prompt] * len(some), accelerator=process(index), **at)

    whole = drawn(rows, step=2)
    parts = drawn(rows[:3], step=2) + drawn(rows[3:], 1, step=2)
    assert [one.ids for one in parts] == [one.ids for one in whole]
    assert drawn(rows, step=3) != whole
    assert drawn(rows, step=2, attempt=1) != whole


def test_the_copy_follows_the_weights_that_train(
    sampler: Callable[..., RoundedSampler], rows: Any, policy_folder: Path, prompt: str
) -> None:
    trained = folder.load(policy_folder).model
    own = sampler()
    with torch.no_grad():
        for weight in trained.parameters():
            weight.add_(1e-2)
    own.draw(trained, rows, [prompt] * len(rows), accelerator=process(), step=0)
    for name, weight in own.policy.model.named_parameters():
        assert torch.equal(weight, trained.get_parameter(name).bfloat16()), name
    before = {name: weight.clone() for name, weight in own.policy.model.state_dict().items()}
    with torch.no_grad():
        trained.lm_head.weight.mul_(2)
    own.draw(
        trained, rows, [prompt] * len(rows), accelerator=process(), step=0, attempt=1
    )  # further films of a step, same weights
    assert all(torch.equal(before[name], weight) for name, weight in own.policy.model.state_dict().items())


def test_adapters_are_merged_into_the_copy_alone(
    sampler: Callable[..., RoundedSampler], policy_folder: Path
) -> None:
    policy = folder.load(policy_folder)
    targets = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": ["model.language_model.layers.*.mlp.*_proj"]}
    adapted = get_peft_model(policy.model, lora_config(targets, policy.model))
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.normal_(generator=torch.Generator().manual_seed(0))
    ids = torch.tensor([[1, 2, 3, 4]])
    copy = sampler("float32").policy.model
    expected = adapted(input_ids=ids).logits
    samplers.round_weights(adapted, copy)
    torch.testing.assert_close(copy(input_ids=ids).logits, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(adapted(input_ids=ids).logits, expected, rtol=0, atol=0)


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, tmp_path: Path, sampler: Any) -> Callable[..., Any]:
    def train(workspace: str, dtype: str = "bfloat16", **settings: Any) -> Any:
        own = sampler(dtype)
        # an untrained policy would often write the marks of films, and the loss knows not that it may not
        own.policy.model.generation_config.suppress_tokens = None
        return optimise(
            folder.load(policy_folder),
            prompts,
            reward=RewardSum([Part(Thirds(), 1.0)]),
            credit=Uniform(),
            sampler=own,
            settings=SETTINGS | {"importance": IMPORTANCE, "checkpoint_every": 1} | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


def test_rounding_shows_in_the_ratios_and_little(run: Callable[..., Any]) -> None:
    exact, rounded = run("exact", "float32")[1], run("rounded")[1]
    for row in exact:
        assert row["sampling/ratio_mean"] == pytest.approx(1, abs=1e-5)
        assert row["sampling/ratio_max"] == pytest.approx(1, abs=1e-3)
    for row in rounded:
        assert row["sampling/ratio_mean"] == pytest.approx(1, abs=2e-2)
        assert 1e-4 < abs(row["sampling/ratio_max"] - 1) < 0.3
        assert row["sampling/capped_share"] == 0


def test_a_training_killed_and_resumed_is_as_never_stopped(
    run: Callable[..., Any], killed_after: Callable[..., Any]
) -> None:
    unbroken, curve = run("unbroken")
    with killed_after(grpo, step=2):
        run("killed")
    resumed, again = run("killed")
    told = ("reward", "loss", "kl", "grad_norm", "sampling/ratio_max")
    assert [{name: row[name] for name in told} for row in again] == [
        {name: row[name] for name in told} for row in curve
    ]
    for name, weight in resumed.model.state_dict().items():
        assert torch.equal(weight, unbroken.model.state_dict()[name]), name


def test_the_engine_hf_bfloat16_opens_it(policy_folder: Path, prompt: str) -> None:
    settings = ArmSettings({}, SETTINGS | {"engine": "hf_bfloat16"}, {}, "float32", prompt, 3, 1, "cpu")
    with samplers.opened(settings, policy_folder, {}) as opened:
        assert isinstance(opened, RoundedSampler)
        assert {weight.dtype for weight in opened.policy.model.parameters()} == {torch.bfloat16}
