"""From an arm's `reward` block in params.yaml to the reward it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from radrl.labelers.base import Labeler
from radrl.rewards.base import Part, Reward, RewardSum
from radrl.rewards.clinical import Accuracy, ClinicalF1, Mccs
from radrl.rewards.factual import Facts
from radrl.rewards.form import Format
from radrl.rewards.wording import Bleu2, Nlg
from radrl.scoring.facts.build import build as build_facts

Settings = Mapping[str, Any]

PARTS: Final[dict[str, Callable[[Settings, Labeler, Sequence[str]], Reward]]] = {
    "ce_f1": lambda own, labeler, _: ClinicalF1(labeler, **own),
    "bleu2": lambda own, _, __: Bleu2(**own),
    "nlg": lambda own, _, references: Nlg(references, **own),
    "accuracy": lambda own, labeler, _: Accuracy(labeler, **own),
    "mccs": lambda own, labeler, _: Mccs(labeler, **own),
    "format": lambda own, _, __: Format(**own),
    "facts": lambda own, labeler, _: Facts(labeler, build_facts(own)),
}

_IN_THE_SUM: Final = ("weight", "phase_switch", "first_weight", "missing")
"""Settings of every part: how it enters the sum."""


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
        ValueError: for an unknown part, or when `references` are too few for one.
        radrl.scoring.base.ScoringError: when a judge refuses its settings.
    """
    chosen = {name: settings for name, settings in parts.items() if settings is not None}
    for name in chosen:
        if name not in PARTS:
            raise ValueError(f"no reward {name!r}; there are {', '.join(PARTS)}")
    built = [_part(name, settings, labeler, references) for name, settings in chosen.items()]
    return RewardSum(built, output=output)


def _part(name: str, settings: Settings, labeler: Labeler, references: Sequence[str]) -> Part:
    own = {key: value for key, value in settings.items() if key not in _IN_THE_SUM}
    in_the_sum = {key: settings[key] for key in _IN_THE_SUM if key in settings}
    if name == "facts":
        own["missing"] = settings.get("missing", "raise")  # FactS says why a report has no score
    return Part(PARTS[name](own, labeler, references), **in_the_sum)
