"""A study, drawn: its rows over the seeds, and the training curves of its arms."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from radrl.pages.caveats import NOT_OURS
from radrl.pages.colours import APART, INK
from radrl.pages.figures import Style, dress, legend, style
from radrl.studies.curves import OF_LABEL, Place
from radrl.studies.tables import PooledRow, pooled, without_repeats

PANELS: Final = 4
"""Metrics in the picture of all rows, the study's first ones."""
CROWDED: Final = 14
"""Lines that a panel holds; runs with more get panels of their own."""

_REFERENCE: Final = "reference"
_KINDS: Final = {
    "arm": (APART[0], "o", True, "arm"),
    _REFERENCE: (APART[1], "D", True, "arm that the others are tested against"),
    "trivial": (INK, "s", False, "needs no model"),
    "reader": (APART[2], "^", False, "reads labels off the films, writes nothing"),
    "system": (APART[4], "*", False, "not ours"),
}
"""By a row's kind: colour, marker, whether it is filled, and what it is."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of training curves.

    Args:
        what: the quantity's column, as a pattern.
        title: above the panel.
        references: a quantity whose mean is dotted, the same of the references.
        share: whether it lies between 0 and 1, and its band with it.
    """

    what: str
    title: str
    references: str | None = None
    share: bool = True


TRAINING: Final = (
    Panel("reward", "reward, each arm's own", share=False),
    Panel(r"watch/ce_\w+_sample14_f1", "F1 a film, 14 labels, watched films"),
    Panel(r"watch/ce_\w+_macro14_f1", "F1 a label, 14 labels, watched films"),
    Panel(
        "watch/findings_per_report",
        "findings a report, watched films; dotted: the references'",
        references="watch/findings_per_reference",
        share=False,
    ),
)
ZERO: Final = (
    Panel("groups/zero_reward_share", "rollouts whose clinical reward is 0"),
    Panel("oracle/mixing_weight", "mixing weight of the oracle"),
)


def rows(comparisons: pd.DataFrame, metrics: Sequence[str], reference: str, level: float) -> Figure:
    """Every row over the seeds, the best above: mean, standard deviation as a bar, a dot a seed.

    Args:
        comparisons: the experiments' comparisons below one another, with `run` and `seed`.
        metrics: the study's, of which the first `PANELS` are drawn; the first one sorts.
        reference: the arm that the others are tested against; its mean is the dashed line.
        level: as `pooled` takes it.

    Returns:
        The figure, without the references, whose F1 is 1 by definition.
    """
    shown = [row for row in without_repeats(pooled(comparisons, level)) if row.kind != "ceiling"]
    by_metric = {
        metric: {(row.run, row.arm): row for row in shown if row.metric == metric} for metric in metrics
    }
    by_metric = {metric: own for metric, own in [*by_metric.items()][:PANELS] if own}
    first = next(iter(by_metric.values()))
    places = sorted(first, key=lambda place: -first[place].mean)
    seeds = {key: own["value"].tolist() for key, own in comparisons.groupby(["metric", "run", "arm"])}
    figure = Figure(
        figsize=(2.2 + 2.2 * len(by_metric), 0.9 + 0.21 * len(places)),
        layout=ConstrainedLayoutEngine(h_pad=0.06),
    )
    named = _named(places, shown)
    for number, (metric, own) in enumerate(by_metric.items()):
        axes = figure.add_subplot(1, len(by_metric), number + 1)
        dress(axes)
        axes.set_title(metric, fontsize=8, color=INK, loc="left")
        axes.set_yticks(range(len(places)), named if number == 0 else [""] * len(places))
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(places) - 0.4, -0.6)
        for at, place in enumerate(places):
            if place in own:
                _draw_row(axes, at, own[place], seeds[(metric, *place)], reference)
    kinds = dict.fromkeys(_kind(row, reference) for row in first.values())
    handles = [_mark([], [], *_KINDS[kind][:3], label=_KINDS[kind][3]) for kind in _KINDS if kind in kinds]
    legend(figure, handles, columns=3)
    return figure


def training(curves: pd.DataFrame) -> Figure:
    """Reward, watched F1 and findings a report while the arms train.

    Args:
        curves: of `radrl.studies.curves.over_seeds`.

    Returns:
        The figure; a row of panels a run where all runs together are too many lines for one.
    """
    places = _places(curves)
    runs = [*dict.fromkeys(run for run, _ in places)]
    if len(places) <= CROWDED or len(runs) == 1:
        return _grid(curves, {"": places}, TRAINING, _styles(places, _whole))
    groups = {run: [place for place in places if place[0] == run] for run in runs}
    return _grid(curves, groups, TRAINING, _styles(places, _arm))


def rare(curves: pd.DataFrame, places: Collection[Place]) -> Figure:
    """OraPO's figure 2: the zero-reward rate, and F1 of single labels, of some arms.

    Args:
        curves: of `radrl.studies.curves.over_seeds`.
        places: run and arm, of `radrl.studies.curves.with_and_without`.

    Returns:
        The figure.
    """
    from radrl.pipelines.compare.training import FIGURE_2

    looks = _styles(_places(curves), _whole)  # an arm looks as in the picture of all of them
    styles = {place: look for place, look in looks.items() if place in places}
    own = curves[[place in styles for place in zip(curves["run"], curves["arm"], strict=True)]]
    names = dict.fromkeys(found[1] for what in own["what"] if (found := re.fullmatch(OF_LABEL, what)))
    ordered = [*FIGURE_2, *(name for name in names if name not in FIGURE_2)]
    labels = [
        Panel(rf"watch/ce_\w+_f1/{re.escape(name)}", f"F1 {name}, watched films")
        for name in ordered
        if name in names
    ]
    return _grid(own, {"": [*styles]}, [*ZERO, *labels], styles)


def _grid(
    curves: pd.DataFrame,
    groups: Mapping[str, Sequence[Place]],
    panels: Sequence[Panel],
    styles: Mapping[Place, tuple[str, Style]],
) -> Figure:
    """Panels in two columns, or in one row a group."""
    drawn = [panel for panel in panels if curves["what"].str.fullmatch(panel.what).any()]
    columns = len(drawn) if len(groups) > 1 else 2
    lines = len(groups) if len(groups) > 1 else -(-len(drawn) // 2)
    entries = dict(styles.values())
    across = 4 if len(groups) == 1 else 6
    height = 2.35 * lines + 0.2 * -(-len(entries) // across)
    figure = Figure(
        figsize=(4.4 * 2 if columns == 2 else 3 * columns, height), layout=ConstrainedLayoutEngine(h_pad=0.06)
    )
    for line, (name, places) in enumerate(groups.items()):
        for number, panel in enumerate(drawn):
            axes = figure.add_subplot(lines, columns, line * columns + number + 1)
            dress(axes)
            axes.set_title(
                f"{name}: {panel.title}" if name else panel.title, fontsize=8.5, color=INK, loc="left"
            )
            _draw_curves(axes, curves, panel, {place: styles[place][1] for place in places})
            if line == len(groups) - 1 and number >= len(drawn) - columns:
                axes.set_xlabel("step", fontsize=8, color=INK, labelpad=1)
    legend(figure, [_line([], [], look, label=label) for label, look in entries.items()], columns=across)
    return figure


def _draw_curves(axes: Axes, curves: pd.DataFrame, panel: Panel, styles: Mapping[Place, Style]) -> None:
    own = curves[curves["what"].str.fullmatch(panel.what)]
    for (run, arm), look in styles.items():
        points = own[(own["run"] == run) & (own["arm"] == arm)]
        # runs that train by epochs end at other steps a seed; a mean of fewer seeds would jump there
        points = points[points["seeds"] == points["seeds"].max()]
        if points["sd"].notna().any():
            low, high = points["mean"] - points["sd"], points["mean"] + points["sd"]
            if panel.share:
                low, high = low.clip(lower=0), high.clip(upper=1)
            axes.fill_between(points["step"], low, high, color=look.colour, alpha=0.1, linewidth=0)
        axes.add_line(_line(points["step"], points["mean"], look))
    if panel.references is not None:
        references = curves.loc[curves["what"] == panel.references, "mean"]
        axes.axhline(references.mean(), color=INK, linewidth=1.2, linestyle=":")
    axes.autoscale_view()
    if panel.share:  # of a label that nobody finds the line at 0 would stand amid a scale without meaning
        bottom, top = axes.get_ylim()
        axes.set_ylim(max(bottom, -0.02), max(top, 0.1))


def _line(step: Any, values: Any, look: Style, label: str | None = None) -> Line2D:
    return Line2D(
        step,
        values,
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        markersize=3.6,
        linewidth=1.4,
        label=label,
    )


def _draw_row(axes: Axes, at: int, row: PooledRow, seeds: Sequence[float], reference: str) -> None:
    colour, marker, filled, _ = _KINDS[_kind(row, reference)]
    if row.std is not None:
        axes.plot([row.mean - row.std, row.mean + row.std], [at, at], color=colour, linewidth=3.5, alpha=0.35)
        axes.plot(seeds, [at + 0.3] * len(seeds), ".", color=colour, markersize=3, markeredgewidth=0)
    axes.add_line(_mark([row.mean], [at], colour, marker, filled))
    if row.arm == reference:
        axes.axvline(row.mean, color=colour, linewidth=0.9, linestyle=(0, (3, 3)), alpha=0.7)


def _mark(
    at: list[float], height: list[int], colour: str, marker: str, filled: bool, label: str | None = None
) -> Line2D:
    return Line2D(
        at,
        height,
        linestyle="none",
        marker=marker,
        markersize=5,
        markeredgecolor=colour,
        markerfacecolor=colour if filled else "white",
        label=label,
    )


def _kind(row: PooledRow, reference: str) -> str:
    return _REFERENCE if row.arm == reference else row.kind


def _named(places: Sequence[Place], shown: Sequence[PooledRow]) -> list[str]:
    """Rows' names, with the run where several have a row of the name."""
    kinds = {(row.run, row.arm): row.kind for row in shown}
    arms = [arm for _, arm in places]
    return [
        (f"{run}.{arm}" if run and (kinds[run, arm] == "arm" or arms.count(arm) > 1) else arm)
        + (NOT_OURS if kinds[run, arm] == "system" else "")
        for run, arm in places
    ]


def _places(curves: pd.DataFrame) -> list[Place]:
    return [*dict.fromkeys(zip(curves["run"], curves["arm"], strict=True))]


def _styles(places: Sequence[Place], name: Callable[[Place], str]) -> dict[Place, tuple[str, Style]]:
    """By run and arm, the name in the legend and the look that goes with it."""
    names = {place: name(place) for place in places}
    numbers = {label: i for i, label in enumerate(dict.fromkeys(names.values()))}
    return {place: (label, style(numbers[label])) for place, label in names.items()}


def _whole(place: Place) -> str:
    return ".".join(filter(None, place))


def _arm(place: Place) -> str:
    return place[1]
