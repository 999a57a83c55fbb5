"""A function of references and reports as a scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from radrl.labelers.base import Labeler
from radrl.parts.find import Part
from radrl.parts.signature import ingredients
from radrl.scoring.base import Scores, ScoringError, means_of, require_pairs


class OfFunction:
    """The means of what a function gives for each report.

    Args:
        part: the function; its metrics are named after it.
        settings: its own.
        labelers: for a function that asks for them.
    """

    def __init__(self, part: Part, settings: Mapping[str, Any], labelers: Sequence[Labeler]) -> None:
        self.name, self._part, self._labelers = part.name, part, labelers
        self.wording = bool(getattr(part.object, "wording", False))
        self._settings = part.settings(settings)

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.base.Scorer`.

        Raises:
            ScoringError: when it gives another number of values than there are reports.
        """
        require_pairs(references, hypotheses)
        given = {"references": references, "hypotheses": hypotheses, "labelers": self._labelers}
        wanted = {name: given[name] for name in ingredients(self._part.object) if name in given}
        found = self._part.object(**wanted, **self._settings)
        by_name = found if isinstance(found, Mapping) else {"": found}
        for values in by_name.values():
            if len(values) != len(hypotheses):
                raise ScoringError(
                    f"{self._part.path} gave {len(values)} values for {len(hypotheses)} reports; give each "
                    "report one"
                )
        return means_of({f"{self.name}_{key}" if key else self.name: own for key, own in by_name.items()})
