"""The comparison in sentences: what came out, what several seeds gave, where patients or updates are few."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from radrl.evaluation.paired import FEWEST_PATIENTS, enough, holm
from radrl.pages.tables import p_value

TOO_FEW: Final = f"too few for a test of films, which wants {FEWEST_PATIENTS}"

FEWEST_UPDATES: Final = 10
"""So many has the shortest training of a recipe (conf/recipes/deer-iu_xray-zeroshot.yaml, a pass over few
films). With fewer, as in conf/smoke, a policy is about what it started from."""


def too_few_updates(updates: Iterable[int]) -> str:
    """What stands above the figures of trainings that were none.

    Args:
        updates: of each arm; 0 of one that does not train.

    Returns:
        A sentence; empty where an arm trained for `FEWEST_UPDATES`, or none trained.
    """
    most = max(updates, default=0)
    if not 0 < most < FEWEST_UPDATES:
        return ""
    had = f"{most} update{'' if most == 1 else 's'} an arm"
    return f"{had}: this shows that the machinery runs; its figures mean nothing."


def too_few_patients(comparison: pd.DataFrame) -> str:
    """Why differences from the reference arm have no p.

    Args:
        comparison: a line a row and metric, of `radrl.pipelines.compare.rows.tabulate`.

    Returns:
        A sentence; empty where the patients are enough on every metric, or nothing is tested.
    """
    tested = comparison[(comparison["kind"] == "arm") & comparison["difference"].notna()]
    few = tested[[not enough(int(patients)) for patients in tested["patients"]]]
    if few.empty:
        return ""
    metrics = list(dict.fromkeys(few["metric"]))
    among = "" if len(few) == len(tested) else f" on {', '.join(metrics)}"
    return (
        f"{count_patients(int(few['patients'].min()))}{among}: {TOO_FEW}, so no difference has a mark or a p."
    )


def count_patients(patients: int) -> str:
    """So many patients, in words."""
    return f"{patients} patient{'' if patients == 1 else 's'}"


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
        over_seeds: of `radrl.pipelines.compare.summary.shipped_over_seeds`.
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
        return (
            f"{text}. {count_patients(min(over))}: {TOO_FEW}, so nothing here says which arm is above which."
        )
    level = _level_with_first(ranked, pairs, alpha)
    tested = [line for line in ranked if pd.notna(line["p_holm"])]
    if tested:
        text += f"; {_decided(tested, reference, alpha)} by Holm’s p over these patients"
    if level:
        text += (
            f", and {in_words(level)} {'is' if len(level) == 1 else 'are'} not told apart from the highest"
        )
    return f"{text}."


def _decided(tested: Sequence[Line], reference: str, alpha: float) -> str:
    """Which arms differ from the reference arm, by the p that each line has."""
    sure = [line for line in tested if line["p_holm"] < alpha]
    above = [line["arm"] for line in sure if line["difference"] > 0]
    below = [line["arm"] for line in sure if line["difference"] < 0]
    open_ = [line["arm"] for line in tested if line["arm"] not in {*above, *below}]
    parts = [
        f"{in_words(names)} {'is' if len(names) == 1 else 'are'} {said}"
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
        f"{in_words(under)} of the arms {'stands' if len(under) == 1 else 'stand'} below it"
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


def in_words(names: Sequence[str]) -> str:
    """Names as a sentence has them: "a", "a and b", "a, b and c"."""
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def shipped_over_seeds(
    results: pd.DataFrame,
    metric: str,
    rows: Collection[str],
    *,
    corpus: str,
    settings: Callable[[str, str], str],
    reference: str,
) -> list[dict[str, Any]]:
    """What the shipped study gave over its seeds, of the rows that stand in this comparison too.

    Args:
        results: the table of `radrl study` on the shipped parameters, a line a metric, arm and run.
        metric: the one to tell of.
        rows: of this comparison, arms and others.
        corpus: digest of the parameters of its films and reports.
        settings: of a row and a metric, digest of what else decides it (`radrl.params.rows`).
        reference: the arm that this comparison tests against.

    Returns:
        Lines of the table in its order, without rows of other settings; none where films are others, another
        metric leads, the study tested against another arm or one of other settings, or it has one seed.
    """
    own = (results["metric"] == metric) & (results["corpus"] == corpus) & (results["seeds"] > 1)
    found = results[own & results["arm"].isin(list(rows))]
    found = found[found["settings"] == found["arm"].map(lambda row: settings(row, metric))]
    arms = found[found["kind"] == "arm"]
    tested_against = arms.loc[arms["difference"].isna(), "arm"].tolist()
    return found.to_dict("records") if tested_against == [reference] else []


def over_seeds_in_words(line: Mapping[str, Any], reference: str) -> str:
    """One arm's line in words.

    Args:
        line: of `shipped_over_seeds`.
        reference: the arm the others were tested against.

    Returns:
        Mean and spread, and for an arm that was tested the difference with its interval and Holm's p.
    """
    text = f"{line['mean']:.3f} ± {line['sd']:.3f}"
    if pd.isna(line["difference"]):
        return text
    interval = f"{line['difference_low']:+.3f} to {line['difference_high']:+.3f}"
    p = p_value(line["p_holm"])
    return f"{text}, {line['difference']:+.3f} ({interval}) from {reference}, p {p} by Holm"
