"""How processes share a step: the batch stays what params state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.training import batches
from radrl.training.batches import Parts, split
from radrl.training.preflight import SettingsError


@pytest.mark.parametrize(
    ("total", "at_once", "processes", "parts"),
    [
        (64, 16, 1, (16, 4)),
        (64, 64, 1, (64, 1)),
        (64, 4, 8, (4, 2)),
        (64, 4, 16, (4, 1)),
        (64, 16, 16, (4, 1)),  # less is left than fits
        (64, 1, 2, (1, 32)),
        (62, 16, 1, (2, 31)),  # 31 is prime
        (6, 4, 2, (3, 1)),
    ],
)
def test_parts_of_a_step(total: int, at_once: int, processes: int, parts: tuple[int, int]) -> None:
    assert split(total, at_once, processes) == Parts(*parts)


@given(share=st.integers(1, 300), at_once=st.integers(1, 100), processes=st.integers(1, 40))
def test_parts_are_the_fewest_that_fit_and_make_the_whole(share: int, at_once: int, processes: int) -> None:
    size, number = split(share * processes, at_once, processes)
    assert size * number * processes == share * processes
    assert size <= at_once
    assert not [fewer for fewer in range(1, number) if share % fewer == 0 and share // fewer <= at_once]


@given(total=st.integers(1, 300), processes=st.integers(2, 40))
def test_unequal_shares_are_refused(total: int, processes: int) -> None:
    if total % processes:
        with pytest.raises(ValueError, match=f"{total} do not divide among {processes} processes"):
            split(total, 4, processes)
    else:
        assert split(total, 4, processes)


@pytest.mark.parametrize(
    ("prompts", "processes", "mend"),
    [
        (8, 3, "set training.prompts_per_step to 6 or 9, or start 2 or 4 processes"),
        (8, 48, "set training.prompts_per_step to 6 or 12, or start 32 or 64 processes"),
        (1, 24, "set training.prompts_per_step to 3, or start 8 processes"),
    ],
)
def test_rollouts_that_processes_cannot_share_are_refused(prompts: int, processes: int, mend: str) -> None:
    settings = {"prompts_per_step": prompts, "rollouts": 8, "rollouts_at_once": 4}
    with pytest.raises(SettingsError) as refused:
        batches.of_rollouts(settings, processes)
    said = f"the {8 * prompts} rollouts of a step (training.prompts_per_step {prompts} * rollouts 8) do not"
    assert str(refused.value) == f"{said} divide among {processes} processes; {mend}"


def test_a_batch_that_processes_cannot_share_is_refused() -> None:
    with pytest.raises(SettingsError) as refused:
        batches.of_examples({"batch_size": 64, "examples_at_once": 8}, 12)
    said = "batch_size 64 does not divide among 12 processes; set it to 60 or 72, or start 8 or 16 processes"
    assert str(refused.value) == said


@pytest.mark.parametrize("processes", [1, 2, 4, 8, 16])
def test_a_step_is_the_same_however_many_processes(
    monkeypatch: pytest.MonkeyPatch, small: dict[str, Any], tmp_path: Path, processes: int
) -> None:
    """What the trainers are told, of the laptop's numbers and of the papers'."""
    from radrl.training.reinforcement import grpo
    from radrl.training.supervised import fine_tuning

    told: list[dict[str, Any]] = []
    for module, name in ((grpo, "GRPOConfig"), (fine_tuning, "TrainingArguments")):
        monkeypatch.setattr(module, name, lambda **arguments: told.append(arguments))
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    training = small["training"] | {"prompts_per_step": 8, "rollouts": 8, "rollouts_at_once": 4}
    grpo._arguments(training, _Nothing(), 0, tmp_path)  # type: ignore[arg-type]
    sft = small["sft"] | {"batch_size": 64, "examples_at_once": 8}
    fine_tuning._arguments(sft, 0, tmp_path)
    for arguments, most in zip(told, (4, 8), strict=True):
        size, number = (arguments[name] for name in STATED)
        assert size * number * processes == 64
        assert size <= most
    assert told[0]["steps_per_generation"] == told[0]["gradient_accumulation_steps"]


STATED = ("per_device_train_batch_size", "gradient_accumulation_steps")


class _Nothing:
    """A reward without parts."""

    def weights(self, progress: float) -> list[float]:
        return []
