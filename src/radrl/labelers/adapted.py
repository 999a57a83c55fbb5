"""A labeler of one's own: a function of reports, or an object, held to the contract at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from radrl.labelers.base import LabelerError, LabelMatrix, check_texts
from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN

_CLASSES = (BLANK, POSITIVE, NEGATIVE, UNCERTAIN)


class Adapted:
    """A labeler under the name that params.yaml gives it.

    Args:
        label: from N reports to class indices, shape (N, 14).
        name: goes into every metric's name.
    """

    def __init__(self, label: Callable[[Sequence[str]], Any], name: str) -> None:
        self.name, self._label = name, label

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.base.Labeler`.

        Raises:
            LabelerError: when it gives anything but class indices of that shape.
        """
        check_texts(reports)
        found, shape = np.asarray(self._label(reports)), (len(reports), len(OBSERVATIONS))
        if found.shape != shape or not np.isin(found, _CLASSES).all():
            raise LabelerError(
                f"the labeler {self.name} gave {found.dtype} of shape {found.shape} for {len(reports)} "
                f"reports; give class indices (radrl.observations) of shape {shape}"
            )
        return found.astype(np.int8)
