"""Labelers that read each text once, and that are loaded when they are first asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np

from radrl.labelers import Labeler, LabelMatrix
from radrl.observations import OBSERVATIONS


class CachedLabeler:
    """A labeler that reads a text once.

    Args:
        labeler: reads what is not known yet.
        known: labels by text, each of shape (14,).
        most: texts kept, those that came first dropped first; nothing for all.
    """

    def __init__(
        self, labeler: Labeler, known: Mapping[str, LabelMatrix] | None = None, *, most: int | None = None
    ) -> None:
        self.name = labeler.name
        self._labeler, self._most = labeler, most
        self._known = dict(known or {})

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.Labeler`."""
        new = [text for text in dict.fromkeys(reports) if text not in self._known]
        if new:
            self._known.update(zip(new, self._labeler.label(new), strict=True))
        rows = np.array([self._known[text] for text in reports], dtype=np.int8)
        if self._most is not None and len(self._known) > self._most:
            for text in list(islice(self._known, len(self._known) - self._most)):
                del self._known[text]
        return rows.reshape(-1, len(OBSERVATIONS))


class LazyLabeler:
    """A labeler.

    Args:
        name: its name.
        make: makes it.
    """

    def __init__(self, name: str, make: Callable[[], Labeler]) -> None:
        self.name, self._make = name, make
        self._made: Labeler | None = None

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.Labeler`."""
        if self._made is None:
            self._made = self._make()
        return self._made.label(reports)
