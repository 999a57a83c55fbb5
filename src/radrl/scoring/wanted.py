"""Which metrics are asked for, by families, names and patterns, where no params.yaml lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Final

from radrl.parts.find import own_names
from radrl.scoring.names import WITHOUT_MODEL, names

EVAL: Final[dict[str, Any]] = {"nlg": {"preparation": "basic", "meteor": True}}
"""The section `eval` where no params.yaml says otherwise."""


class UnknownMetric(ValueError):
    """A metric that there is not; the message says what is near it."""


class Wanted:
    """The metrics that are asked for.

    Args:
        items: names of families or metrics, or patterns of metrics' names with ``*`` and ``?``.
        labelers: names of who reads the labels.
        settings: the section `eval`; a family with a model of its own is there when it can be had.

    Raises:
        UnknownMetric: for an item that is nothing.
    """

    def __init__(self, items: Sequence[str], labelers: Sequence[str], settings: Mapping[str, Any]) -> None:
        self.items = list(dict.fromkeys(items))
        self._labelers = labelers
        self._known = own_names("metric", settings)
        asked = {family for item in self.items for family in self._families(item, settings)}
        self.families = [family for family in self._known if family in asked]
        """In the order in which radrl lists them."""

    def has(self, metric: str, family: str) -> bool:
        """Whether a metric of a family is asked for."""
        return any(item == family or fnmatchcase(metric, item) for item in self.items)

    def require_found(self, found: Mapping[str, Sequence[str]]) -> None:
        """Refuse items that turned out to be nothing.

        Args:
            found: by family, the metrics it gave or skipped.

        Raises:
            UnknownMetric: naming the item.
        """
        for item in self.items:
            if item not in self._known and not _matching(item, found):
                raise self._unknown(item)

    def _families(self, item: str, settings: Mapping[str, Any]) -> list[str]:
        """The families that an item asks for."""
        if item in self._known:
            return [item]
        begun = re.split(r"[*?[]", item)[0]
        possible = [
            one for one in WITHOUT_MODEL if f"{one}_".startswith(begun) or begun.startswith(f"{one}_")
        ]
        found = _matching(item, {family: names(family, self._labelers) for family in possible})
        # what a model of its own would give is not known yet: the name's beginning says whose it is
        owner = max((one for one in self._known if begun.startswith(f"{one}_")), key=len, default=None)
        if owner is not None and owner not in WITHOUT_MODEL and (not found or settings.get(owner)):
            found.append(owner)
        if not found:
            raise self._unknown(item)
        return found

    def _unknown(self, item: str) -> UnknownMetric:
        known = [*self._known, *(name for family in WITHOUT_MODEL for name in names(family, self._labelers))]
        near = get_close_matches(item, known) or [name for name in known if item in name][:3]
        hint = f"; near it: {', '.join(near)}" if near else ""
        return UnknownMetric(f"no metric is {item!r}{hint}")


def _matching(item: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    return [name for name, metrics in known.items() if any(fnmatchcase(one, item) for one in metrics)]
