"""Which labels of the references DiTPO's gradient is taken of, with labels that are given."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from radrl.credit.base import Rollouts
from radrl.credit.gradient import Gradient
from radrl.labelers.chexbert import saliency
from radrl.observations import INDEX, POSITIVE, UNCERTAIN

EDEMA, FRACTURE, NONE = (INDEX[name] for name in ("Edema", "Fracture", "No Finding"))
LABELS = np.zeros((1, 14), np.int64)
LABELS[0, [EDEMA, NONE]] = POSITIVE
LABELS[0, FRACTURE] = UNCERTAIN


@pytest.mark.parametrize(
    ("uncertain_as_positive", "no_finding", "targets"),
    [
        (False, True, {EDEMA, NONE}),
        (False, False, {EDEMA}),
        (True, True, {EDEMA, FRACTURE, NONE}),
        (True, False, {EDEMA, FRACTURE}),
    ],
)
def test_targets_and_classes_are_those_asked_for(
    letters: Any,
    wrote: Callable[..., Rollouts],
    monkeypatch: pytest.MonkeyPatch,
    uncertain_as_positive: bool,
    no_finding: bool,
    targets: set[int],
) -> None:
    asked: list[Any] = []

    def token_saliency(labeler: Any, reports: Any, chosen: Any, *, uncertain: bool) -> Any:
        asked.extend([labeler, reports, set(np.flatnonzero(chosen[0])), uncertain])
        found = SimpleNamespace(spans=np.array([[0, 1], [1, 2]]), values=np.array([0.0, 2.0]))
        return SimpleNamespace(reports=[found])

    monkeypatch.setattr(saliency, "token_saliency", token_saliency)
    labeler: Any = SimpleNamespace(label=lambda references: LABELS)
    credit = Gradient(
        letters,
        labeler,
        beta=0.25,
        normalise="none",
        uncertain_as_positive=uncertain_as_positive,
        no_finding=no_finding,
        uncertain=uncertain_as_positive,
    )
    weights = credit.weigh(wrote("ab", films=["x"], group=1))
    assert asked == [labeler, ["ab"], targets, uncertain_as_positive]
    assert weights.values[0].tolist() == [1.0, 1.5]  # 1 + beta s
