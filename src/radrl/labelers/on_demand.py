"""A labeler that is made when it is first asked: where labels are known it loads no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from radrl.labelers.base import Labeler, LabelMatrix


class OnDemand:
    """A labeler.

    Args:
        name: its name.
        make: makes it.
    """

    def __init__(self, name: str, make: Callable[[], Labeler]) -> None:
        self.name, self._make = name, make
        self._made: Labeler | None = None

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.base.Labeler`."""
        if self._made is None:
            self._made = self._make()
        return self._made.label(reports)
