"""How long arms trained, by their histories."""

from __future__ import annotations

import pandas as pd

from radrl.pipelines.compare.training import EXTRA_ROLLOUTS, TrainingLength, training_lengths


def test_rollouts_are_those_of_the_batches_and_what_was_redrawn() -> None:
    training = {"steps": 4, "epochs": None, "prompts_per_step": 3, "rollouts": 4, "iterations": 2}
    # a batch serves two updates, and its redrawing is told with the first of them
    redrawn = pd.DataFrame({"step": [1, 2, 3, 4], EXTRA_ROLLOUTS: [8.0, None, 12.0, None]})
    plain = redrawn[["step"]]
    found = training_lengths(
        {"base": {}, "plain": {}, "redrawn": {}}, training, {"plain": plain, "redrawn": redrawn}
    )
    assert found == {
        "base": TrainingLength(0, 0),
        "plain": TrainingLength(4, 24),
        "redrawn": TrainingLength(4, 24 + 20),
    }
