"""Claims and verdicts as a table: in the study's page, as CSV, and of several studies together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from radrl.pages.tables import effect, markdown_table, p_value
from radrl.studies.claims.verdict import Tested, Verdict
from radrl.studies.published import Published
from radrl.training.watching.levelling import State

EXPLAINED: Final = """\
**Supported**: a difference of 0 or less is ruled out ("as good": one of -m or less). **Contradicted**: one
of m, the least that matters, or more is ruled out ("as good": one of 0 or more). **Not decidable**: neither
is. p is of what support has to rule out, of a contradicted claim of what contradiction has, by Holm within
the family; intervals are not corrected. **Stopped early**: one of these that more training could overturn,
because a training had not levelled off: a supported claim whose arm was falling at its end, or the row it is
set over rising; another one whose arm was rising, or that row falling. *Sees*: the least difference that four
of five studies of this size find, as expected before the study ran, and with the spread found. A metric's
name begins with `ce_rules_` unless it says otherwise."""


def lines(
    tested: Sequence[Tested], *, study: str, command: str, drawn: bool, published: Published | None
) -> pd.DataFrame:
    """The verdicts, a line a claim and metric, unrounded.

    Args:
        tested: what became of the study's claims.
        study: its name.
        command: what makes its page.
        drawn: whether its films are drawn.
        published: the paper's rows, where the study has any.

    Returns:
        The lines, as the CSV beside the study's page has them.
    """
    about = {"study": study, "command": command, "drawn": drawn}
    return pd.DataFrame([about | _line(one, published) for one in tested])


def section(found: pd.DataFrame) -> list[str]:
    """A study's claims as paragraphs of its page.

    Args:
        found: of `lines`, at least one.

    Returns:
        The paragraphs.
    """
    return ["## Claims", summary(found), EXPLAINED, verdicts(found)]


def summary(found: pd.DataFrame) -> str:
    """How many verdicts of each kind.

    Args:
        found: of `lines`, of one or more studies.

    Returns:
        A sentence, and one more where tables are among them that were made before there was "stopped early".
    """
    counts = found["verdict"].value_counts()
    said = ", ".join(f"{counts.get(verdict.value, 0)} {verdict.value}" for verdict in Verdict)
    claims = found[["study", "where", "claim"]].drop_duplicates()
    unasked = len(found) - found.get("verdict_of_test", pd.Series()).count()
    blind = f" Of {unasked} nobody asked whether their trainings had levelled off." if unasked else ""
    return f"{len(claims)} claims, {len(found)} hypotheses: {said}.{blind}"


def verdicts(found: pd.DataFrame, *, commands: bool = False) -> str:
    """The table of claims, a line a claim, with its metrics below one another.

    Args:
        found: of `lines`, of one or more studies.
        commands: whether a line with the command that makes them stands above each study's claims.

    Returns:
        Markdown.
    """
    header = ["claim", "verdict", "effect (95 %), p by Holm", "sees: planned, found", "where"]
    rows = []
    for command, own in found.groupby("command", sort=False):
        if commands:
            rows.append([f"**`{command}`**", *[""] * (len(header) - 1)])
        rows += [_row(claim.to_dict("records")) for _, claim in own.groupby(["where", "claim"], sort=False)]
    return markdown_table(header, rows)


def _row(hypotheses: Sequence[Mapping[Any, Any]]) -> list[str]:
    """A claim with its hypotheses, one a metric."""
    cells = zip(*map(_cells, hypotheses), strict=True)
    return [_said(hypotheses[0]), *map("<br>".join, cells), hypotheses[0]["where"]]


def _line(one: Tested, published: Published | None) -> dict[str, Any]:
    hypothesis, answer = one.hypothesis, one.answer
    found = {
        "where": hypothesis.claim.where,
        "claim": hypothesis.claim.says,
        "family": hypothesis.family,
        "run": hypothesis.arm[0],
        "arm": hypothesis.arm[1],
        "over_run": hypothesis.over[0],
        "over": hypothesis.over[1],
        "metric": hypothesis.metric,
        "expects": hypothesis.claim.expects,
        "margin": hypothesis.claim.margin,
        "seeds": len(one.seeds),
        "difference": answer.pooled.difference,
        "difference_low": answer.pooled.low,
        "difference_high": answer.pooled.high,
        "p": answer.p,
        "p_family": answer.p_family,
        "p_contradicted": answer.p_contradicted,
        "planned": answer.planned,
        "detectable": answer.detectable,
        "verdict": one.verdict.value,
        "verdict_of_test": answer.verdict.value,
        "arm_ended": one.ended[0],
        "over_ended": one.ended[1],
        "differences": " ".join(f"{difference:+.4f}" for difference in one.differences),
        "paper_difference": _printed(hypothesis.arm, hypothesis.over, hypothesis.metric, published),
    }
    return (
        found
        if hypothesis.beyond is None
        else found | {"beyond": hypothesis.beyond, "paper_difference": None}
    )


def _printed(
    arm: tuple[str, str], over: tuple[str, str], metric: str, published: Published | None
) -> float | None:
    """The paper's own difference between its two rows, where it prints both."""
    values = [published.values.get(place, {}).get(metric) for place in (arm, over)] if published else [None]
    ours, theirs = values[0], values[-1]
    return None if ours is None or theirs is None else ours - theirs


def _said(line: Mapping[Any, Any]) -> str:
    bound = f"{'as good, ' if line['expects'] == 'as_much' else ''}m {line['margin']:g}"
    beyond = line.get("beyond")
    more = "" if pd.isna(beyond) else f" beyond that in `{beyond}`"
    return f"{line['claim']} (`{_named(line, '')}` over `{_named(line, 'over')}`{more}, {bound})"


def _cells(line: Mapping[Any, Any]) -> list[str]:
    """Verdict, effect and what the study sees, of one metric."""
    found = effect(line["difference"], line["difference_low"], line["difference_high"])
    if pd.notna(line["paper_difference"]):
        found += f"; paper {line['paper_difference']:+.3f}"
    test = _of_test(line)
    p = line["p_contradicted" if test == Verdict.CONTRADICTED else "p_family"]
    planned = "-" if pd.isna(line["planned"]) else f"{line['planned']:.3f}"
    return [
        f"{line['metric'].removeprefix('ce_rules_')}: **{line['verdict']}**{_moving(line)}",
        f"{found}, p {p_value(p)}",
        f"{planned}, {line['detectable']:.3f}",
    ]


def _of_test(line: Mapping[Any, Any]) -> str:
    """The verdict by the test alone; tables of studies before there were others have no such column."""
    known = line.get("verdict_of_test")
    return str(line["verdict"] if pd.isna(known) else known)


def _moving(line: Mapping[Any, Any]) -> str:
    """Of a claim that was stopped early: which rows moved, and what the test says."""
    if line["verdict"] != Verdict.STOPPED_EARLY:
        return ""
    moved = [
        f"`{_named(line, row)}` {line[ended]}"
        for row, ended in (("", "arm_ended"), ("over", "over_ended"))
        if line[ended] in (State.RISING, State.FALLING)
    ]
    return f" ({', '.join(moved)}; the test: {_of_test(line)})"


def _named(line: Mapping[Any, Any], row: str) -> str:
    run, name = (line["run"], line["arm"]) if not row else (line["over_run"], line["over"])
    return name if pd.isna(run) or run == "" else f"{run}.{name}"
