"""Which words of a report weigh: DiTPO's gradient (DEER, eq. 9 to 12), the report being its own reference.

Training weighs a rollout's tokens by what they do to the reference's findings. On a film without a reference
the targets are the findings that the labeler reads of the report itself, so heavy words are those by which
the report says what it says. They show no place in the film.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from radrl.labelers.base import Labeler
from radrl.reporting.arms import TrainedArm

LABELERS = Path("data/06_models/labeler")
"""What the stage labeler wrote."""

Weighed = list[tuple[str, float]]
"""The report in pieces of text with their weights, at least 1; the pieces in a row are the report."""


class Weigher:
    """Weighs the words of reports with a labeler that the study trained.

    Args:
        arm: whose tokenizer cuts the reports.
        root: the project's folder.

    Raises:
        ValueError: when no labeler with gradients is there.
    """

    def __init__(self, arm: TrainedArm, root: Path) -> None:
        from radrl.credit.build import build
        from radrl.labelers.base import LabelerError
        from radrl.parts.find import PartError
        from radrl.pipelines.analyses.groups import load_tokenizer

        own = arm.params.analyses.credit.model_dump()["gradient"]
        if own is None:
            raise ValueError(
                "analyses.credit.gradient is null in params.yaml, which says how words are weighed"
            )
        self._tokenizer = load_tokenizer(arm.folder)
        try:
            self._credit = build({"gradient": own}, self._tokenizer, _labelers(arm, root / LABELERS))
        except (LabelerError, PartError, FileNotFoundError) as error:
            raise ValueError(
                f"words are weighed by the labeler {own['labeler']}, which is not there: {error}"
            ) from None

    def weigh(self, reports: Sequence[str]) -> list[Weighed]:
        """Weigh the words of reports.

        Args:
            reports: N texts.

        Returns:
            For each its pieces with their weights; an empty report has none.
        """
        from radrl.pipelines.analyses.groups import tokenised

        places = [f"report {number}" for number in range(1, len(reports) + 1)]
        frame = pd.DataFrame({"report": reports, "reference": reports, "sample_id": places})
        rollouts = tokenised(frame, self._tokenizer)
        found = self._credit.weigh(rollouts)
        assert found is not None  # the gradient weighs every text
        rows = zip(rollouts.outputs, found.values, found.spans, strict=True)
        return [
            [(text[begin:end], float(value)) for value, (begin, end) in zip(values, spans, strict=True)]
            for text, values, spans in rows
        ]


def _labelers(arm: TrainedArm, models: Path) -> Callable[[str], Labeler]:
    def get(name: str) -> Labeler:
        from radrl.labelers.build import build

        section, device, threads = arm.params.labeler.model_dump(), arm.params.device, arm.params.threads
        return build(section, models, name=name, device=device, threads=threads)

    return get
