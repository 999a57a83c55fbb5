"""Log-probabilities of rollouts that share their prompts are those of separate rows, and so are gradients."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from trl import GRPOTrainer
from trl.trainer.utils import add_fused_lm_head

from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.training.reinforcement import shared_forward
from radrl.training.reinforcement import trainer as module
from radrl.training.reinforcement.trainer import ReportGRPOTrainer

TEMPERATURE = 0.7
LENGTHS = (3, 7, 1, 0, 5, 7, 2, 4)  # of rollouts; one is left out of the loss
FILMS = {
    "a film each": [["a"]] * 3 + [["b"]] * 3 + [["c"]] * 2,
    "studies of several films": [["a", "b"]] * 3 + [["c"]] * 3 + [["b", "a"]] * 2,
    "films of two sizes": [["large"]] * 3 + [["a"]] * 3 + [["b", "large"]] * 2,
    "no two prompts alike": [["a"], ["b"], ["a"], ["c"], ["b", "c"], ["b"], ["large"], ["c"]],
}


@pytest.fixture
def trainer() -> ReportGRPOTrainer:
    """Of which only what its log-probabilities need is there."""
    trainer = object.__new__(ReportGRPOTrainer)
    trainer.accelerator = Accelerator(cpu=True)
    trainer.args = SimpleNamespace(report_to=[])
    trainer.temperature, trainer.beside = TEMPERATURE, None
    trainer._entropy_bonus_enabled = False
    return trainer


@pytest.fixture
def asked(policy: Policy, films: Callable[..., list[bytes]], prompt: str) -> Callable[..., dict[str, Any]]:
    """What TRL asks log-probabilities for."""
    pictures = {name: decode_film(film) for name, film in zip("abc", films(3), strict=True)}
    pictures["large"] = decode_film(films(1, size=84)[0])

    def make(named: list[list[str]], lengths: Sequence[int] = LENGTHS) -> dict[str, Any]:
        own = [[pictures[name] for name in row] for row in named]
        inputs = dict(encode_prompts(policy.processor, own, [prompt] * len(own)))
        drawn = torch.Generator().manual_seed(0)
        ids = torch.randint(10, 300, (len(own), max(lengths)), generator=drawn)
        mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
        kinds = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(ids)], dim=1)
        return {
            "input_ids": torch.cat([inputs["input_ids"], ids], dim=1),
            "attention_mask": torch.cat([inputs["attention_mask"], mask], dim=1),
            "logits_to_keep": ids.shape[1],
            "compute_entropy": True,
            "num_images": [len(row) for row in own],
            "mm_token_type_ids": kinds,
            "pixel_values": inputs["pixel_values"],
            "image_grid_thw": inputs["image_grid_thw"],
        }

    return make


@pytest.fixture(params=["bare", "adapters", "checkpointing"])
def model(policy: Policy, request: pytest.FixtureRequest) -> Any:
    """As the trainer wraps it; temperature is not 1, so that one left out is seen."""
    model = wrapped(policy)
    if request.param == "checkpointing":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if request.param == "adapters":
        model = get_peft_model(
            model, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj"])
        )
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.1, generator=torch.Generator().manual_seed(len(name)))
    return model


def wrapped(policy: Policy) -> Any:
    """With the head that TRL puts on."""
    model = policy.model.train()
    add_fused_lm_head(model, temperature=TEMPERATURE, outputs=("log_probs", "entropy"))
    return model


def weighed(logps: torch.Tensor) -> torch.Tensor:
    """A sum in which tokens weigh differently."""
    return (logps * torch.linspace(-1, 2, logps.numel()).view_as(logps)).sum()


def gradients(model: Any) -> dict[str, torch.Tensor]:
    return {name: w.grad.clone() for name, w in model.named_parameters() if w.grad is not None}


def check_gradients(own: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert own.keys() == expected.keys()
    for name, gradient in expected.items():
        assert (own[name] - gradient).norm() <= 1e-4 * gradient.norm() + 1e-7, name


def check_same(own: Any, expected: Any) -> None:
    """Log-probabilities, entropies and gradients."""
    torch.testing.assert_close(own[0], expected[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(own[1], expected[1], rtol=0, atol=1e-5)
    check_gradients(own[2], expected[2])


def found(
    trainer: Any, model: Any, asked: dict[str, Any]
) -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """Log-probabilities and entropies, (B, T), and gradients of a sum in which tokens weigh differently."""
    model.zero_grad()
    logps, entropies, _ = trainer._get_per_token_logps_and_entropies(model, **asked)
    weighed(logps).backward()
    return logps.detach(), entropies.detach(), gradients(model)


@pytest.mark.parametrize("size", [None, 5], ids=["whole", "parts across groups"])
@pytest.mark.parametrize("named", FILMS.values(), ids=FILMS)
def test_shared_rows_are_separate_rows(
    trainer: Any, model: Any, asked: Callable[[Any], dict[str, Any]], named: list[list[str]], size: int | None
) -> None:
    plain = found(trainer, model, asked(named))
    shared_forward.enable(model)
    shared = found(trainer, model, asked(named) | {"batch_size": size})
    check_same(shared, plain)
    assert trainer.last_log_probabilities.tolist() == shared[0].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_any_lengths_and_groups(
    trainer: Any, policy: Policy, asked: Callable[..., dict[str, Any]], seed: int
) -> None:
    drawn = random.Random(seed)
    named: list[list[str]] = []
    while len(named) < 8:
        study = drawn.choices(["a", "b", "c", "large"], k=drawn.randint(1, 3))
        named += [study] * drawn.randint(1, 5)
    model = wrapped(policy)
    rows = asked(named, [drawn.randint(0, 9) for _ in named])
    plain = found(trainer, model, rows)
    shared_forward.enable(model)
    check_same(found(trainer, model, rows | {"batch_size": drawn.randint(1, len(named))}), plain)


@pytest.mark.parametrize("size", [None, 5], ids=["whole", "parts across groups"])
@pytest.mark.parametrize("longest", [3, 12], ids=["shorter", "longer"])
def test_texts_beside_rollouts_are_texts_alone(
    trainer: Any, model: Any, asked: Callable[..., dict[str, Any]], longest: int, size: int | None
) -> None:
    """As the oracle asks for references: behind the prompts of some rollouts, one a prompt."""
    named, rows = FILMS["films of two sizes"], [1, 6]  # the middle prompt has none
    lengths = [longest, 1]
    alone = asked([named[row] for row in rows], lengths)
    texts = shared_forward.Texts(
        torch.tensor(rows), alone["input_ids"][:, -longest:], alone["attention_mask"][:, -longest:]
    )
    plain, texts_alone = found(trainer, model, asked(named)), found(trainer, model, alone)
    shared_forward.enable(model)
    trainer.beside = texts
    model.zero_grad()
    logps, entropies, _ = trainer._get_per_token_logps_and_entropies(
        model, **asked(named) | {"batch_size": size}
    )
    torch.testing.assert_close(logps.detach(), plain[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(entropies, plain[1], rtol=0, atol=1e-5)
    torch.testing.assert_close(trainer.last_of_texts.detach(), texts_alone[0], rtol=0, atol=1e-5)
    (weighed(logps) + weighed(trainer.last_of_texts)).backward()
    both = {name: plain[2][name] + texts_alone[2][name] for name in plain[2]}
    check_gradients(gradients(model), both)


def test_head_in_tiles_gives_the_same(
    trainer: Any, model: Any, asked: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vocabulary whose logits are too many to keep."""
    shared_forward.enable(model)
    rows = asked(FILMS["films of two sizes"])
    kept = found(trainer, model, rows)
    monkeypatch.setattr(shared_forward, "MOST_LOGITS", 0)
    check_same(found(trainer, model, rows), kept)


def test_entropies_carry_a_gradient_where_the_loss_rewards_doubt(
    trainer: Any, model: Any, asked: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same by TRL's separate rows, by shared ones, and with the head in tiles."""

    def of_entropies() -> dict[str, torch.Tensor]:
        model.zero_grad()
        _, entropies, _ = trainer._get_per_token_logps_and_entropies(model, **rows)
        weighed(entropies).backward()
        return gradients(model)

    rows = asked(FILMS["films of two sizes"])
    monkeypatch.setattr(trainer, "_entropy_bonus_enabled", True)
    separate = of_entropies()
    assert max(float(gradient.abs().max()) for gradient in separate.values()) > 0
    shared_forward.enable(model)
    check_gradients(of_entropies(), separate)
    monkeypatch.setattr(shared_forward, "MOST_LOGITS", 0)
    check_gradients(of_entropies(), separate)
    monkeypatch.setattr(trainer, "_entropy_bonus_enabled", False)
    for most in (0, 10**9):
        monkeypatch.setattr(shared_forward, "MOST_LOGITS", most)
        assert not trainer._get_per_token_logps_and_entropies(model, **rows)[1].requires_grad


def test_each_film_is_seen_once_and_each_token_read_once(
    trainer: Any,
    policy: Policy,
    asked: Callable[[Any], dict[str, Any]],
    passes: tuple[list[int], list[tuple[int, ...]]],
) -> None:
    add_fused_lm_head(policy.model, outputs=("log_probs", "entropy"))
    shared_forward.enable(policy.model)
    seen, read = passes
    rows = asked(FILMS["a film each"])
    with torch.no_grad():
        trainer._get_per_token_logps_and_entropies(policy.model, **rows)
    assert seen == [len(rows["pixel_values"]) * 3 // 8]
    prompt = rows["input_ids"].shape[1] - max(LENGTHS)
    assert read == [(1, 3 * (prompt - 1) + sum(LENGTHS))]


def test_no_rollout_in_the_loss_is_no_error(
    trainer: Any, policy: Policy, asked: Callable[[Any], dict[str, Any]]
) -> None:
    add_fused_lm_head(policy.model, outputs=("log_probs", "entropy"))
    shared_forward.enable(policy.model)
    rows = asked(FILMS["a film each"])
    rows["attention_mask"][:, -max(LENGTHS) :] = 0
    logps = trainer._get_per_token_logps_and_entropies(policy.model, **rows)[0]
    logps.sum().backward()
    assert not logps.any()
    assert all(torch.isfinite(w.grad).all() for w in policy.model.parameters() if w.grad is not None)


def test_model_of_another_attention_is_asked_row_by_row(
    trainer: Any, policy: Policy, asked: Callable[[Any], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy.model.set_attn_implementation("eager")
    add_fused_lm_head(policy.model, outputs=("log_probs", "entropy"))
    assert "eager" in (shared_forward.enable(policy.model) or "")
    assert not shared_forward.enabled(policy.model)
    rows = asked(FILMS["a film each"])
    function = GRPOTrainer._get_per_token_logps_and_entropies
    calls: list[Any] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return function(*args, **kwargs)

    monkeypatch.setattr(GRPOTrainer, "_get_per_token_logps_and_entropies", counted)
    with torch.no_grad():
        trainer._get_per_token_logps_and_entropies(policy.model, **rows)
    assert len(calls) == 1


@pytest.mark.parametrize("hindrance", ["eager", "sliding_attention", None])
def test_log_says_once_which_way_is_taken(
    policy: Policy, caplog: pytest.LogCaptureFixture, hindrance: str | None
) -> None:
    if hindrance == "eager":
        policy.model.set_attn_implementation("eager")
    elif hindrance:
        policy.model.model.language_model.config.layer_types[-1] = hindrance
    with caplog.at_level(logging.INFO, logger=module.__name__):
        module._share([policy.model, policy.model])
    [line] = caplog.records
    assert line.levelname == ("WARNING" if hindrance else "INFO")
    assert (hindrance or "once for all rollouts of a group") in line.getMessage()
    assert shared_forward.enabled(policy.model) == (hindrance is None)


@pytest.mark.parametrize("on", [False, True])
def test_everything_else_is_as_with_torchs_attention(
    policy: Policy, asked: Callable[[Any], dict[str, Any]], on: bool
) -> None:
    """Generation and plain forward passes, padded on the left."""
    rows = asked(FILMS["studies of several films"])
    inputs = {name: rows[name] for name in ("pixel_values", "image_grid_thw")}
    inputs |= {
        name: rows[name][:, : -max(LENGTHS)] for name in ("input_ids", "attention_mask", "mm_token_type_ids")
    }
    with torch.no_grad():
        logits = policy.model(**inputs).logits
        ids = policy.model.generate(**inputs, max_new_tokens=5, do_sample=False)
        shared_forward.enable(policy.model)
        assert torch.equal(policy.model(**inputs).logits, logits)
        assert torch.equal(policy.model.generate(**inputs, max_new_tokens=5, do_sample=False), ids)


def test_layout_by_hand() -> None:
    row = shared_forward.lay_out(torch.tensor([2, 1]), torch.tensor([1, 2, 0]), torch.tensor([0, 0, 1]))
    assert row.prompts.tolist() == [[0, 1], [2, 0]]
    assert row.rollouts.tolist() == [[3, 0], [4, 5], [0, 0]]
    assert row.places.tolist() == [0, 1, 2, 4, 6, 7]
    assert row.mask[:, 0].int().tolist() == [
        [[1, 1, 1, 0], [1, 1, 1, 1]],
        [[1, 1, 1, 0], [1, 1, 1, 1]],
        [[1, 0, 1, 0], [1, 0, 1, 1]],
    ]
