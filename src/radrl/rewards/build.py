"""From an arm's `reward` block in params.yaml to the reward it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from radrl.labelers import Labeler
from radrl.parts.find import Part as NamedPart
from radrl.parts.find import find, ingredients
from radrl.rewards.base import InTheSum, Part, Reward, RewardSum


class Adapted:
    """A reward under the name that params.yaml gives it.

    Args:
        score: from reports, references and sample_ids to a number a report.
        name: what its curve is called.
        of: what says the rest: `clinical`, `reads` and `told`, `waits` and `opened`.
    """

    def __init__(
        self,
        score: Callable[[Sequence[str], Sequence[str], Sequence[str]], Sequence[float]],
        name: str,
        of: object,
    ) -> None:
        self.name, self._score, self._of = name, score, of
        self.told: Mapping[str, float] = {}
        self.clinical = bool(getattr(of, "clinical", False))
        self.reads: Literal["report", "output"] = getattr(of, "reads", "report")
        self.waits = bool(getattr(of, "waits", False))
        if opened := getattr(of, "opened", None):
            self.opened = opened

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        scores = self._score(reports, references, sample_ids)
        self.told = getattr(self._of, "told", {})
        return scores


def of_function(part: NamedPart, settings: Mapping[str, Any], labeler: Labeler) -> Adapted:
    """A function of reports as a reward.

    Args:
        part: the function.
        settings: its own.
        labeler: for a function that asks for one.
    """
    function, own = part.object, part.settings(settings)
    wanted = ingredients(function)

    def score(
        reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        given = {
            "reports": reports,
            "references": references,
            "sample_ids": sample_ids,
            "labeler": labeler,
        }
        scores: Sequence[float] = function(**{name: given[name] for name in wanted if name in given}, **own)
        return scores

    return Adapted(score, part.name, function)


Settings = Mapping[str, Any]


def build(
    parts: Mapping[str, Settings | None],
    labeler: Labeler,
    *,
    references: Sequence[str] = (),
    output: str = "plain",
) -> RewardSum:
    """Build a reward.

    Args:
        parts: part name to its settings; a part set to nothing is left out.
        labeler: for the parts that read labels.
        references: of the films the arm trains on, for the parts that count in them.
        output: what the policy writes, one of `radrl.reports.output.FORMS`.

    Returns:
        The weighted sum.

    Raises:
        radrl.parts.find.PartError: for a part that cannot be had.
        ValueError: when `references` are too few for one.
        radrl.scoring.ScoringError: when a judge refuses its settings.
    """
    chosen = {name: settings for name, settings in parts.items() if settings is not None}
    built = [_part(name, settings, labeler, references) for name, settings in chosen.items()]
    return RewardSum(built, output=output)


def needing_more(parts: Mapping[str, Settings | None]) -> dict[str, Settings]:
    """Those parts of a reward that need something beside their settings, which is to be tried beforehand.

    Args:
        parts: as `build` takes them.
    """
    chosen = {name: settings for name, settings in parts.items() if settings is not None}
    return {name: own for name, own in chosen.items() if hasattr(find("reward", name, own).object, "opened")}


def _part(name: str, settings: Settings, labeler: Labeler, references: Sequence[str]) -> Part:
    own = {key: value for key, value in settings.items() if key not in InTheSum.model_fields}
    in_the_sum = {key: settings[key] for key in InTheSum.model_fields if key in settings}
    missing = in_the_sum.get("missing", "raise")
    return Part(_reward(name, own, labeler, references, missing), **in_the_sum)


def _reward(name: str, own: Settings, labeler: Labeler, references: Sequence[str], missing: str) -> Reward:
    part = find("reward", name, own)
    if part.is_function:
        return of_function(part, own, labeler)
    made: Reward = part.make(own, labeler=labeler, references=references, missing=missing, name=name)
    return made if part.origin == "built-in" else Adapted(made, name, made)
