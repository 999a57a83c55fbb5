"""Steps of fixed shapes write what growing ones write, recorded or not, on a CPU that feigns recording."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from radrl.policy import decoding, families, fixed_shapes, folder, token_draws
from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.fixed_shapes import _Step
from radrl.policy.folder import Policy
from radrl.policy.shared_prefill import write_on

TOKENS = 16
GREEDY = {"do_sample": False, "max_new_tokens": TOKENS}
SAMPLED = {"do_sample": True, "temperature": 1.0, "top_k": 0, "max_new_tokens": TOKENS}
OWNERS = [[0, 1, 2], [0] * 4 + [1] * 4 + [2] * 4, [2, 0, 0, 1, 2, 2, 2]]


@pytest.fixture
def own(family_folder: Path) -> Policy:
    """A family's policy that ends a report after some eight tokens; its windows hold prompt and report."""
    own = folder.load(family_folder)
    text = own.model.model.language_model
    if families.family_of_model(own.model).model_type == "gemma3":
        text.config.sliding_window = 96
        for layer in text.layers:
            layer.self_attn.sliding_window = 96 if layer.self_attn.is_sliding else None
    head = own.model.lm_head
    head.bias = torch.nn.Parameter(torch.zeros(head.out_features))
    with torch.no_grad():
        head.bias[own.processor.tokenizer.eos_token_id] = 4.0
    return own


@pytest.fixture
def asked(own: Policy, films: Callable[..., list[bytes]], prompt: str) -> Any:
    """A film, two films and a film, of two lengths, so that some have padding."""
    a, b, c, d = (decode_film(film) for film in films(4))
    return encode_prompts(own.processor, [[a], [b, c], [d]], [prompt, prompt, f"{prompt} Be brief."])


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The prompts and rows of each step's memory, as it is reserved; each token is one of fixed shapes."""
    made: list[tuple[int, int]] = []

    class Noted(_Step):
        def __init__(self, model: Any, family: Any, before: Any, shape: Any) -> None:
            super().__init__(model, family, before, shape)
            made.append((len(before.layers[0][0]), len(before.owners)))

    monkeypatch.setattr(decoding, "fixes", lambda device: True)
    monkeypatch.setattr(fixed_shapes, "_Step", Noted)
    monkeypatch.setattr(fixed_shapes, "_failed", [])
    monkeypatch.setattr(fixed_shapes.FixedShapes, "look_every", 5)
    fixed_shapes._say_launched.cache_clear()
    yield made
    fixed_shapes._steps.clear()


def drawn(own: Policy, asked: Any, owners: list[int], **settings: Any) -> list[list[int]]:
    numbers = token_draws.numbers(3, range(len(owners)), 1, TOKENS, torch.device("cpu"))
    ids = write_on(own.model, asked, torch.tensor(owners), numbers=numbers, **SAMPLED | settings)
    return ids.tolist()


@pytest.mark.parametrize("owners", OWNERS)
def test_the_likeliest_tokens_are_those_of_transformers_generate(
    own: Policy, asked: Any, owners: list[int], steps: list[Any]
) -> None:
    plain = own.model.generate(**asked, **GREEDY)
    ours = write_on(own.model, asked, torch.tensor(owners), **GREEDY)
    assert ours.tolist() == plain[owners].tolist()
    assert steps[0] == (3, len(owners))


@pytest.mark.parametrize("top_p", [1.0, 0.9])
@pytest.mark.parametrize("owners", OWNERS)
def test_equal_numbers_draw_equal_tokens(
    own: Policy, asked: Any, owners: list[int], top_p: float, request: pytest.FixtureRequest
) -> None:
    growing = drawn(own, asked, owners, top_p=top_p)
    request.getfixturevalue("steps")
    assert drawn(own, asked, owners, top_p=top_p) == growing
    assert len({len(set(row)) for row in growing}) > 1


def test_prompts_leave_in_halves_once_all_their_rollouts_have_ended(
    own: Policy, asked: Any, steps: list[Any]
) -> None:
    own.model.lm_head.bias.data.zero_()
    own.model.generation_config.eos_token_id = ends = 7
    head = own.model.lm_head
    plain, calls = head.forward, []

    def ending(hidden: torch.Tensor) -> torch.Tensor:
        """The first prompt's rollouts end at their third token, the second's at their eighth."""
        logits, rows = plain(hidden), hidden.shape[0]
        calls.append(rows)
        if rows == 6 and len(calls) >= 3:
            logits[:2, :, ends] = 1e4
        if len(calls) >= 8:
            logits[-4:-2, :, ends] = 1e4
        return logits

    head.forward = ending
    write_on(own.model, asked, torch.tensor([0, 0, 1, 1, 2, 2]), **GREEDY | {"eos_token_id": ends})
    assert steps == [(3, 6), (2, 4), (1, 2)]
    # the prompts' own read, four steps until the first look at five tokens, ...
    assert calls[1:] == [6] * 4 + [4] * 5 + [2] * (len(calls) - 10)


def test_memory_is_reserved_once_for_batches_of_one_shape(own: Policy, asked: Any, steps: list[Any]) -> None:
    first = drawn(own, asked, OWNERS[1])
    reserved = list(steps)
    with torch.no_grad():
        own.model.lm_head.weight.mul_(3)
    changed = drawn(own, asked, OWNERS[1])
    assert changed != first
    assert set(steps[len(reserved) :]).isdisjoint(reserved)
    fixed_shapes._steps.clear()
    assert drawn(own, asked, OWNERS[1]) == changed


def test_memory_is_reserved_anew_where_weights_lie_elsewhere(
    own: Policy, asked: Any, steps: list[Any]
) -> None:
    drawn(own, asked, OWNERS[0])
    reserved = len(steps)
    head = own.model.lm_head
    head.bias = torch.nn.Parameter(head.bias + 0.0)
    drawn(own, asked, OWNERS[0])
    assert steps[reserved] == steps[0]


def test_a_model_keeps_the_latest_shapes_alone(own: Policy, asked: Any, steps: list[Any]) -> None:
    for rows in range(1, fixed_shapes.MOST + 4):
        drawn(own, asked, [0, 1, 2] + [0] * rows)
    assert len(fixed_shapes._steps_of(own.model)) == fixed_shapes.MOST


def test_prompts_of_other_lengths_share_a_recording(
    own: Policy, films: Callable[..., list[bytes]], prompt: str, steps: list[Any]
) -> None:
    pictures = [[decode_film(film)] for film in films(2)]
    for words in ("", " Be brief.", " Be brief. Be brief."):
        asked = encode_prompts(own.processor, pictures, [prompt, prompt + words])
        plain = own.model.generate(**asked, **GREEDY)
        assert write_on(own.model, asked, torch.arange(2), **GREEDY).tolist() == plain.tolist()
    assert steps.count((2, 2)) == 1


def test_a_model_is_not_kept_by_its_steps(
    family_folder: Path, films: Callable[..., list[bytes]], prompt: str, steps: list[Any]
) -> None:
    policy = folder.load(family_folder)
    asked = encode_prompts(policy.processor, [[decode_film(film)] for film in films(2)], [prompt] * 2)
    write_on(policy.model, asked, torch.arange(2), do_sample=False, max_new_tokens=2)
    there = weakref.ref(policy.model)
    del policy
    gc.collect()
    assert there() is None


def test_steps_that_are_forgotten_are_reserved_anew(own: Policy, asked: Any, steps: list[Any]) -> None:
    found = drawn(own, asked, OWNERS[0])
    fixed_shapes.forget(own.model)
    steps.clear()
    assert drawn(own, asked, OWNERS[0]) == found
    assert steps


def test_under_autocast_nothing_is_kept_beyond_its_block(own: Policy, asked: Any, steps: list[Any]) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fixed = drawn(own, asked, OWNERS[2])
    assert own.model not in fixed_shapes._steps
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "fixes", lambda device: False)
        growing = drawn(own, asked, OWNERS[2])
    assert len(fixed) == len(growing)
    first = asked["input_ids"].shape[1]
    assert [row[: first + 3] for row in fixed] == [
        row[: first + 3] for row in growing
    ]  # then rounding may differ


def test_a_policy_that_is_spoilt_is_refused_at_the_next_look(
    own: Policy, asked: Any, steps: list[Any]
) -> None:
    own.model.lm_head.weight.data.fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="no token can be drawn"):
        drawn(own, asked, OWNERS[0])


class Recording:
    """What a CUDA graph does: the same work again on the same memory."""

    def __init__(self) -> None:
        self.step: Any = None

    def replay(self) -> None:
        self.step.logits = self.step._compute()


@pytest.fixture
def recorded(steps: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    """Recordings that were made."""
    made: list[Recording] = []
    plain = _Step._record

    def record(step: Any) -> None:
        plain(step)
        if step.recording is not None:
            step.recording.step = step
            made.append(step.recording)

    class Stream:
        def wait_stream(self, other: Any) -> None:
            pass

    monkeypatch.setattr(_Step, "_record", record)
    monkeypatch.setattr(fixed_shapes, "_records", lambda device: not fixed_shapes._failed)
    for name, own in {
        "Stream": Stream,
        "current_stream": Stream,
        "stream": lambda stream: nullcontext(),
        "CUDAGraph": Recording,
        "graph": lambda recording: nullcontext(),
    }.items():
        monkeypatch.setattr(torch.cuda, name, own)
    return made


def test_recording_a_step_leaves_its_memory_as_it_was(
    own: Policy, asked: Any, recorded: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = drawn(own, asked, OWNERS[1])
    assert len(recorded) >= 1
    again = drawn(own, asked, OWNERS[1])
    assert again == found
    monkeypatch.setattr(decoding, "fixes", lambda device: False)
    assert drawn(own, asked, OWNERS[1]) == found


def test_a_step_that_cannot_be_recorded_is_launched_from_python(
    own: Policy,
    asked: Any,
    recorded: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def graph(recording: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(torch.cuda, "graph", graph)
    with caplog.at_level(logging.WARNING, logger=fixed_shapes.__name__):
        found = drawn(own, asked, OWNERS[1])
    (said,) = caplog.messages
    assert said.endswith("their step was not recorded: operation not permitted when stream is capturing")
    assert not recorded
    monkeypatch.setattr(decoding, "fixes", lambda device: False)
    assert drawn(own, asked, OWNERS[1]) == found


@pytest.mark.parametrize("device", ["cpu", "mps", "xpu", "cuda"])
def test_steps_are_fixed_where_they_can_be_recorded(device: str) -> None:
    assert fixed_shapes.fixes(torch.device(device)) is (device == "cuda")
