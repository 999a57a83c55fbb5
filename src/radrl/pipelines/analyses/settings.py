"""What the nodes of the stage analyses hand on together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from radrl.labelers import Labeler, build


@dataclass(frozen=True, slots=True, eq=False)
class AnalysisSettings:
    """What rollouts are looked at by.

    Args:
        analyses: the section `analyses`.
        bootstrap: resamples and confidence.
        labeler: the section `labeler`; its `name` gives the rewards, as when arms train.
        readers: the labelers that read the labels before and after masking.
        seed: of the films, of the random row, of ties and of the resamples.
        threads: of torch.
        device: where a CheXbert computes.
    """

    analyses: dict[str, Any]
    bootstrap: dict[str, Any]
    labeler: dict[str, Any]
    readers: list[str]
    seed: int
    threads: int
    device: str

    @property
    def level(self) -> float:
        """Coverage of the intervals."""
        return float(self.bootstrap["confidence"])

    def labelers_from(self, labeler_models: Path) -> Callable[[str], Labeler]:
        """What gives a labeler by its name, one object a labeler.

        So what the gradient's forward pass reads need not be read again.

        Args:
            labeler_models: what the stage labeler wrote.
        """
        return cache(lambda name: build(self.labeler, labeler_models, name=name, device=self.device))
