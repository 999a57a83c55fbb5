"""Updates, passes over the films, and whose length counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.training import length

LENGTH: dict[str, Any] = {"prompts_per_step": 8, "iterations": 1, "steps": None, "epochs": None}


@pytest.mark.parametrize(
    ("settings", "films", "steps"),
    [
        ({"steps": 7}, 1000, 7),
        ({"epochs": 1.0}, 1200, 150),
        ({"epochs": 1.0}, 1201, 151),  # a part of a batch is one
        ({"epochs": 0.1}, 240, 3),  # not 4 for 0.1 x 240 = 24.000000000000004
        ({"epochs": 0.5}, 164, 11),
        ({"epochs": 2.0, "iterations": 3}, 20, 15),  # 5 batches serve three steps each
    ],
)
def test_steps_by_hand(settings: dict[str, Any], films: int, steps: int) -> None:
    assert length.steps(LENGTH | settings, films) == steps


@given(
    epochs=st.sampled_from([0.05, 0.1, 0.3, 1.0, 2.5]),
    films=st.integers(1, 5000),
    prompts=st.integers(1, 64),
    iterations=st.integers(1, 4),
)
def test_epochs_are_passed_and_not_by_more_than_a_batch(
    epochs: float, films: int, prompts: int, iterations: int
) -> None:
    settings = {"steps": None, "epochs": epochs, "prompts_per_step": prompts, "iterations": iterations}
    found = length.passes(settings, films)
    assert epochs - 1e-9 <= found < epochs + prompts / films + 1e-9


def test_passes_of_steps_by_hand() -> None:
    settings = LENGTH | {"steps": 5, "iterations": 2, "prompts_per_step": 3}
    assert length.passes(settings, 12) == 0.75  # 3 batches of 3 films


@pytest.mark.parametrize(
    ("section", "own", "steps", "epochs"),
    [
        ({"steps": 60, "epochs": None}, {}, 60, None),
        ({"steps": 60, "epochs": None}, {"epochs": 1.0}, None, 1.0),
        ({"steps": None, "epochs": 1.0}, {"steps": 5}, 5, None),
        ({"steps": 60, "epochs": None}, {"steps": None, "epochs": 2.0}, None, 2.0),
        ({"steps": 60, "epochs": None}, {"steps": 5, "epochs": 2.0}, 5, 2.0),  # for the schema to refuse
        ({"steps": 60, "epochs": None}, {"steps": None}, None, None),  # likewise
    ],
)
def test_an_arms_length_puts_the_sections_aside(
    section: dict[str, Any], own: dict[str, Any], steps: int | None, epochs: float | None
) -> None:
    found = length.of_arm(section | {"kl": 0.1}, own)
    assert found == {"steps": steps, "epochs": epochs, "kl": 0.1}
