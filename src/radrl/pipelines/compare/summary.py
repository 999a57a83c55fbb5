"""What came out, in three sentences: of the arms, of the rows that need no model, and of training again."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from radrl.evaluation.paired import enough, holm
from radrl.pipelines.compare.few import WANTED, counted

Line = Mapping[Hashable, Any]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the page's first screen.

    Args:
        lead: what it speaks of, in a word or two.
        text: the sentence.
    """

    lead: str
    text: str


def sentences(
    comparison: pd.DataFrame, pairs: pd.DataFrame, over_seeds: Sequence[Line], settings: Mapping[str, Any]
) -> list[Sentence]:
    """Say what came out, and which differences are decided by what.

    Args:
        comparison: a line a row and metric.
        pairs: a line a metric and pair of rows, with the error of their difference.
        over_seeds: of `radrl.pipelines.compare.seeds.of_shipped`.
        settings: the section `compare`; its first metric leads.

    Returns:
        Three sentences.
    """
    metric, alpha = settings["metrics"][0], 1 - settings["bootstrap"]["confidence"]
    first = comparison[comparison["metric"] == metric]
    arms = first[first["kind"] == "arm"].sort_values("value", ascending=False, kind="stable")
    ranked = arms.to_dict("records")
    return [
        Sentence("These films.", _of_arms(ranked, pairs, settings, alpha)),
        Sentence("No model.", _of_trivial(first, comparison, ranked)),
        Sentence("Other seeds.", _of_seeds(ranked, over_seeds, settings["reference"], alpha)),
    ]


def _of_arms(ranked: Sequence[Line], pairs: pd.DataFrame, settings: Mapping[str, Any], alpha: float) -> str:
    first, reference = ranked[0], settings["reference"]
    text = (
        f"{first['arm']} stands highest of {_counted(len(ranked), 'arm')} on {first['metric']} with "
        f"{first['value']:.3f} ({1 - alpha:.0%} interval over patients {first['low']:.3f} to "
        f"{first['high']:.3f})"
    )
    over = [int(line["patients"]) for line in ranked if pd.notna(line["patients"])]
    if over and not enough(min(over)):
        return f"{text}. {counted(min(over))}: {WANTED}, so nothing here says which arm is above which."
    level = _level_with_first(ranked, pairs, alpha)
    tested = [line for line in ranked if pd.notna(line["p_holm"])]
    if tested:
        text += f"; {_decided(tested, reference, alpha)} by Holm’s p over these patients"
    if level:
        text += f", and {listed(level)} {'is' if len(level) == 1 else 'are'} not told apart from the highest"
    return f"{text}."


def _decided(tested: Sequence[Line], reference: str, alpha: float) -> str:
    """Which arms differ from the reference arm, by the p that each line has."""
    sure = [line for line in tested if line["p_holm"] < alpha]
    above = [line["arm"] for line in sure if line["difference"] > 0]
    below = [line["arm"] for line in sure if line["difference"] < 0]
    open_ = [line["arm"] for line in tested if line["arm"] not in {*above, *below}]
    parts = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} {said}"
        for names, said in (
            (above, f"above {reference}"),
            (below, f"below {reference}"),
            (open_, "undecided"),
        )
        if names
    ]
    return ", ".join(parts)


def _of_trivial(first: pd.DataFrame, comparison: pd.DataFrame, ranked: Sequence[Line]) -> str:
    trivial = first[first["kind"] == "trivial"].sort_values("value", ascending=False, kind="stable")
    if trivial.empty:
        return "No row that needs no model has this metric."
    best = trivial.to_dict("records")[0]
    under = [line["arm"] for line in ranked if line["value"] < best["value"]]
    text = f"The best row that needs none, {best['arm'].replace('_', ' ')}, reaches {best['value']:.3f}: "
    text += (
        f"{listed(under)} of the arms {'stands' if len(under) == 1 else 'stand'} below it"
        if under
        else "no arm stands below it"
    )
    lost = _lost(comparison)
    every = comparison["metric"].nunique()
    said = f"beats every arm on {len(lost)} of {_counted(every, 'metric')} ({', '.join(lost)})"
    none = f"beats every arm on none of {_counted(every, 'metric')}"
    return f"{text}, and such a row {said if lost else none}."


def _lost(comparison: pd.DataFrame) -> list[str]:
    """The metrics on which a row that needs no model is above every arm."""
    best = comparison.pivot_table(index="metric", columns="kind", values="value", aggfunc="max", sort=False)
    if "trivial" not in best:
        return []
    return [str(metric) for metric in best.index[best["trivial"] > best["arm"]]]


def _of_seeds(ranked: Sequence[Line], over_seeds: Sequence[Line], reference: str, alpha: float) -> str:
    known = {line["arm"]: line for line in over_seeds if line["kind"] == "arm"}
    tested = [
        known[line["arm"]]
        for line in ranked
        if line["arm"] in known and pd.notna(known[line["arm"]]["p_holm"])
    ]
    if not tested:
        return (
            "Each arm was trained once, and intervals over patients are no test of training: which of these "
            "differences another seed would give again is not known, so none is decided between methods."
        )
    seeds = tested[0]["seeds"]
    text = f"Trained with {seeds} seeds, {_decided(tested, reference, alpha)} by Holm’s p over seeds"
    return f"{text}{_spread(ranked, known)}; intervals over patients are no test of training."


def _spread(ranked: Sequence[Line], known: Mapping[str, Line]) -> str:
    """How the lead of the first arm compares with what a seed changes."""
    if len(ranked) < 2 or ranked[0]["arm"] not in known:
        return ""
    lead, sd = ranked[0]["value"] - ranked[1]["value"], known[ranked[0]["arm"]]["sd"]
    less = "less" if lead < sd else "more"
    return (
        f", while the lead of {ranked[0]['arm']} over {ranked[1]['arm']} here, {lead:.3f}, is {less} than "
        f"one standard deviation of its own seeds, {sd:.3f}"
    )


def _level_with_first(ranked: Sequence[Line], pairs: pd.DataFrame, alpha: float) -> list[str]:
    """The arms that these patients do not tell apart from the highest, Holm's correction over the arms."""
    if len(ranked) < 2:
        return []
    first, *others = ranked
    own = pairs[pairs["metric"] == first["metric"]]
    errors = {frozenset((line["arm"], line["other"])): line["error"] for line in own.to_dict("records")}
    p = [
        _normal_p(first["value"] - line["value"], errors[frozenset((first["arm"], line["arm"]))])
        for line in others
    ]
    return [line["arm"] for line, corrected in zip(others, holm(p), strict=True) if corrected >= alpha]


def _normal_p(difference: float, error: float) -> float:
    """Two-sided p of a difference with a standard error; 1 where it is undefined."""
    if math.isnan(error) or (error == 0 and difference == 0):
        return 1.0
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error else 0.0


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: "a", "a and b", "a, b and c"."""
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
