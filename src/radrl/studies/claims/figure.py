"""The claims of several studies in one picture: a line a hypothesis, grouped by paper."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from radrl.pages.figures import APART, INK, dress
from radrl.pages.tables import effect
from radrl.studies.claims.verdict import Verdict

LOOKS: Final = {
    Verdict.SUPPORTED: (APART[0], "o"),
    Verdict.CONTRADICTED: (APART[1], "X"),
    Verdict.OPEN: (INK, "s"),
    Verdict.STOPPED_EARLY: (APART[3], "P"),
}
"""Colour and marker of a verdict."""
PAPERS_OWN: Final = (APART[4], "D")
LINE: Final = 0.165
"""Height of a line in inches."""
WRITTEN: Final = 82
"""Letters of a claim on a line."""
BESIDE: Final = 26
"""Letters of a metric that have room beside it; a longer name is given room by shorter lines."""
LEFT: Final = -2.28
"""Where claims begin, in widths of the panel from its left edge."""
LEAST_SCALE: Final = 0.05
_IMPLIED: Final = "ce_rules_"


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim's lines, from the top.

    Args:
        top: the number of its first line.
        said: what it says, line by line.
        lines: its hypotheses, of the table; each stands on the next line.
    """

    top: int
    said: Sequence[str]
    lines: Sequence[Mapping[Any, Any]]

    @property
    def height(self) -> int:
        """In lines."""
        return max(len(self.said), len(self.lines))


def forest(found: pd.DataFrame) -> Figure:
    """Every hypothesis: effect with its interval, the difference that matters, the verdict, the paper's own.

    Args:
        found: lines of `radrl.studies.claims.page.lines`, of one or more studies, at least one.

    Returns:
        The figure. The scale holds nine of ten intervals; what lies outside stands at its edge as an arrow
        and in full beside it.
    """
    headings, claims, count = _laid_out(found)
    height = LINE * (count + 6.5)
    figure = Figure(figsize=(11, height))
    panel = figure.add_axes((0.575, 2.2 * LINE / height, 0.25, LINE * (count + 0.5) / height))
    dress(panel)
    limit = _limit(found)
    panel.set(xlim=(-limit, limit), ylim=(count, -0.5))
    panel.set_yticks([])
    panel.tick_params(labeltop=True)
    panel.axvline(0, color=INK, linewidth=1)
    for at, (paper, verdicts) in headings.items():
        _write(panel, LEFT, at, paper, weight="bold", size=9)
        _write(panel, -0.03, at, verdicts, align="right")
    for claim in claims:
        rule = {"xmin": LEFT, "xmax": 1.68, "clip_on": False}
        panel.axhline(claim.top - 0.5, color=INK, linewidth=0.5, alpha=0.3, **rule)
        for number, line in enumerate(claim.said):
            _write(panel, LEFT, claim.top + number, line, size=7.5)
        for number, hypothesis in enumerate(claim.lines):
            _draw(panel, claim.top + number, hypothesis, limit)
    panel.set_xlabel("difference, the arm minus the row that it is set over", fontsize=8, color=INK)
    _explain(figure, _has_papers(found))
    return figure


def _laid_out(found: pd.DataFrame) -> tuple[dict[int, tuple[str, str]], list[_Claim], int]:
    """Headings by line, each a paper and its verdicts; the claims below them, and the number of all lines."""
    headings, claims, at = {}, [], 0
    places = found["where"].str.partition(";")[0].str.partition(",")  # a paper, and the place in it
    for paper, own in found.assign(place=places[2].str.strip()).groupby(places[0].str.strip(), sort=True):
        counts = own["verdict"].value_counts()
        headings[at] = str(paper), ", ".join(f"{counts.get(one.value, 0)} {one.value}" for one in Verdict)
        at += 1
        for lines in _claims(own):
            place = f" ({lines[0]['place']})" if lines[0]["place"] else ""
            said = f"{lines[0]['claim']}{place}"
            claims.append(_Claim(at, textwrap.wrap(said, _width(lines)), lines))
            at += claims[-1].height
        at += 1
    return headings, claims, at - 1


def _width(lines: Sequence[Mapping[Any, Any]]) -> int:
    return WRITTEN - max(0, *(len(_short(line)) - BESIDE for line in lines))


def _short(line: Mapping[Any, Any]) -> str:
    """The metric's name as it stands beside the claim."""
    return str(line["metric"]).removeprefix(_IMPLIED)


def _claims(own: pd.DataFrame) -> Iterator[Sequence[Mapping[Any, Any]]]:
    """The hypotheses of each claim."""
    about = ["study", "where", "claim", "run", "arm", "over_run", "over"]
    for _, lines in own.groupby(about, sort=False, dropna=False):
        yield lines.to_dict("records")


def _draw(panel: Axes, at: int, line: Mapping[Any, Any], limit: float) -> None:
    colour, marker = LOOKS[Verdict(line["verdict"])]
    low, high = (min(max(line[f"difference_{end}"], -limit), limit) for end in ("low", "high"))
    panel.plot([low, high], [at, at], color=colour, linewidth=1.6, solid_capstyle="butt")
    _mark(panel, line["difference"], at, limit, colour=colour, marker=marker)
    margin = line["margin"] if line["expects"] == "more" else -line["margin"]
    panel.plot([margin, margin], [at - 0.38, at + 0.38], color=INK, linewidth=1.1)
    if pd.notna(line["paper_difference"]):
        colour, marker = PAPERS_OWN
        _mark(panel, line["paper_difference"], at, limit, colour=colour, marker=marker, hollow=True)
    _write(panel, -0.03, at, _short(line), align="right", size=7)
    found = effect(line["difference"], line["difference_low"], line["difference_high"])
    _write(panel, 1.03, at, found, size=7)


def _mark(
    panel: Axes, value: float, at: int, limit: float, *, colour: str, marker: str, hollow: bool = False
) -> None:
    """A mark at a value; of one beyond the scale an arrow at the edge, and the mark before it."""
    look: dict[str, Any] = {
        "markeredgecolor": colour,
        "markerfacecolor": "none" if hollow else colour,
        "linestyle": "none",
    }
    look |= {"markersize": 5, "clip_on": False, "zorder": 4 if hollow else 3}
    if abs(value) > limit:
        panel.plot([math.copysign(limit, value)], [at], marker=">" if value > 0 else "<", **look)
        value = math.copysign(0.94 * limit, value)
    panel.plot([value], [at], marker=marker, **look)


def _write(
    panel: Axes,
    x: float,
    at: float,
    text: str,
    *,
    size: float = 8,
    weight: str = "normal",
    align: str = "left",
) -> None:
    """Text on a line; x in widths of the panel from its left edge."""
    panel.text(
        x,
        at,
        text,
        transform=panel.get_yaxis_transform(),
        ha=align,
        va="center",
        fontsize=size,
        fontweight=weight,
        color=INK,
    )


def _explain(figure: Figure, papers: bool) -> None:
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=5, linewidth=1.6, label=verdict.value)
        for verdict, (colour, marker) in LOOKS.items()
    ]
    handles.append(
        Line2D(
            [], [], color=INK, marker="|", markersize=9, linestyle="none", label="m, the least that matters"
        )
    )
    if papers:
        colour, marker = PAPERS_OWN
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": colour, "linestyle": "none"}
        label = "the paper's own difference, on its data"
        handles.append(Line2D([], [], marker=marker, markersize=5, label=label, **hollow))
    figure.legend(
        handles=handles, loc="upper left", ncols=len(handles), frameon=False, fontsize=8, labelcolor=INK
    )


def _has_papers(found: pd.DataFrame) -> bool:
    return bool(found["paper_difference"].notna().any())


def _limit(found: pd.DataFrame) -> float:
    ends = found[["difference_low", "difference_high"]].abs().max(axis=1)
    return max(LEAST_SCALE, 1.05 * float(ends.quantile(0.9)), 1.2 * float(found["margin"].max()))
