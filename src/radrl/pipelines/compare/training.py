"""How arms trained: how long, how diverse their outputs, and the curves, a row of panels a question.

    Reward                   what is pushed up, its parts, and the groups alike or at 0 clinically
    Oracle and credit        mixing weight, what references gain and failed rollouts lose, weights of tokens
    Policy                   how far it has gone from its start, and what its outputs are like
    Watched films            clinical F1 on validation films; apart, labels of OraPO's figure 2 and rare ones
    Signs of a hacked reward on the same films; dotted: their references

A panel is drawn where an arm has the numbers; of shares that are mostly 0 only where one is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from radrl.observations import FINDINGS, POSITIVE
from radrl.pages.figures import INK, Style, dress, style
from radrl.training import length

FIGURE_2: Final = ("Pneumonia", "Fracture")
"""The labels of OraPO's figure 2, drawn wherever some of the watched references have them."""
RARE: Final = 2
"""Rare labels that are drawn beside them, of those that some of the watched references have."""
FEWEST_POSITIVES: Final = 10
"""Positives in the training references that a rare label needs: with fewer nothing can be learnt of it."""
EXTRA_ROLLOUTS: Final = "dynamic_sampling/extra_rollouts"
"""Of a history, the rollouts of a step that were drawn in place of groups of equal rewards."""

COLUMNS: Final = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """What one panel shows.

    Args:
        column: of the history.
        title: above the panel.
        band: two columns that the line lies between.
        references: a column whose value is dotted: the same of the references.
        often_zero: whether it is left out while all its values are 0.
        watched: few points of the same films, each of which is marked.
    """

    column: str
    title: str
    band: tuple[str, str] | None = None
    references: str | None = None
    often_zero: bool = False
    watched: bool = False


def draw_curves(histories: Mapping[str, pd.DataFrame], rare: Mapping[str, int] | None = None) -> Figure:
    """Draw training curves; where there are many steps, their running mean over them.

    Args:
        histories: by arm, step and what the trainer logged.
        rare: of `rare_labels`, which also tells how many training references have a label of `FIGURE_2`.

    Returns:
        The figure; a line of text when no arm trained.
    """
    groups = _groups(histories, rare or {})
    if not groups:
        figure = Figure(figsize=(5, 1))
        figure.text(0.5, 0.5, "no arm trained", ha="center", va="center", color=INK)
        return figure
    styles = {arm: style(number) for number, arm in enumerate(histories)}
    lines = [-(-len(panels) // COLUMNS) for panels in groups.values()]
    heights = [0.45 + 1.85 * count for count in lines]
    legend = 0.3 * -(-len(styles) // 6)
    figure = Figure(
        figsize=(3.1 * COLUMNS, legend + sum(heights)), layout=ConstrainedLayoutEngine(h_pad=0.06)
    )
    parts = figure.subfigures(len(groups), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, (heading, panels), count in zip(parts, groups.items(), lines, strict=True):
        _draw_group(part, heading, panels, count, histories, styles)
    handles = [
        Line2D([], [], color=look.colour, ls=look.dash, marker=look.marker, markersize=4, label=arm)
        for arm, look in styles.items()
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=6, frameon=False, fontsize=9, labelcolor=INK
    )
    return figure


def rare_labels(labels: pd.DataFrame) -> dict[str, int]:
    """The findings with `FEWEST_POSITIVES` positives or more in the training references, the rarest first.

    Args:
        labels: of the stage label: split, and a class index for each observation.

    Returns:
        Positives by observation.
    """
    train = labels[labels["split"] == "train"]
    counts = {name: int((train[name] == POSITIVE).sum()) for name in FINDINGS}
    return dict(
        sorted((item for item in counts.items() if item[1] >= FEWEST_POSITIVES), key=lambda item: item[1])
    )


def _groups(histories: Mapping[str, pd.DataFrame], rare: Mapping[str, int]) -> dict[str, list[Panel]]:
    """The panels with something to show, by the heading of their row."""
    logged = list(dict.fromkeys(str(name) for history in histories.values() for name in history))
    everything = {
        "Reward": [Panel("reward", "reward"), *_parts(logged), *_GROUPS],
        "Oracle and credit": [*_ORACLE, *_CREDIT],
        "Policy": [*_POLICY],
        "Watched films": [*_clinical(logged, rare)],
        "Signs of a hacked reward on the watched films": [*_SIGNS],
    }
    shown = {
        heading: [panel for panel in panels if _has_values(histories.values(), panel)]
        for heading, panels in everything.items()
    }
    return {heading: panels for heading, panels in shown.items() if panels}


_GROUPS: Final = (
    Panel("groups/zero_variance_share", "groups of equal clinical rewards"),
    Panel("groups/all_zero_share", "groups without any clinical reward", often_zero=True),
    Panel("groups/zero_reward_share", "zero-reward rate, clinical", often_zero=True),
)
_ORACLE: Final = (
    Panel("oracle/mixing_weight", "mixing weight of the oracle"),
    Panel("oracle/reference_gain", "gain of the references, nats a token"),
    Panel("oracle/rollout_loss", "loss of the rollouts, nats a token"),
)
_CREDIT: Final = (
    Panel(
        "credit/weight_p50",
        "token weight, 10 to 90 % and median",
        band=("credit/weight_p10", "credit/weight_p90"),
    ),
    Panel("credit/weight_p99", "token weight, 99th percentile"),
)
_POLICY: Final = (
    Panel("kl", "KL to the start, nats a token"),
    Panel("entropy", "entropy, nats a token"),
    Panel("completions/mean_length", "output length, tokens"),
    Panel("completions/clipped_ratio", "truncated outputs", often_zero=True),
    Panel("clip_ratio/region_mean", "clipped tokens", often_zero=True),
)
_SIGNS: Final = (
    Panel("watch/most_common_share", "reports equal to the commonest", watched=True),
    Panel(
        "watch/like_normal_share",
        "labelled as the normal report",
        references="watch/like_normal_share_of_references",
        watched=True,
    ),
    Panel(
        "watch/findings_per_report",
        "findings a report",
        references="watch/findings_per_reference",
        watched=True,
    ),
    Panel("watch/repetition", "repeated 4-grams", often_zero=True, watched=True),
    Panel("watch/form_share", "faultless think/report form", watched=True),
)


def _parts(logged: Sequence[str]) -> list[Panel]:
    parts = [name for name in logged if re.fullmatch(r"rewards/[^/]+/mean", name)]
    # a single part is the reward itself
    return [Panel(name, name.removesuffix("/mean")) for name in parts] if len(parts) > 1 else []


def _clinical(logged: Sequence[str], rare: Mapping[str, int]) -> list[Panel]:
    """Panels of the watched F1, whoever reads the labels."""
    averaged = {f"{averaging}14_f1": f"{averaging} F1, 14 labels" for averaging in ("sample", "macro")}
    told = {name: f" ({count} in training)" for name, count in rare.items()}
    figure_2 = {f"f1/{name}": f"F1 {name}{told.get(name, '')}" for name in FIGURE_2}
    others = {f"f1/{name}": f"F1 {name}{told[name]}" for name in rare if name not in FIGURE_2}

    def panels(titles: Mapping[str, str]) -> list[Panel]:
        return [
            Panel(name, title, watched=True)
            for ending, title in titles.items()
            for name in logged
            if name.startswith("watch/ce_") and name.endswith(f"_{ending}")
        ]

    return panels(averaged) + panels(figure_2) + panels(others)[:RARE]


def _has_values(histories: Iterable[pd.DataFrame], panel: Panel) -> bool:
    values = pd.concat([history[panel.column] for history in histories if panel.column in history] or [_NONE])
    return bool((values != 0)[values.notna()].any() if panel.often_zero else values.notna().any())


_NONE: Final = pd.Series([], dtype=float)


def _draw_group(
    part: SubFigure,
    heading: str,
    panels: Sequence[Panel],
    lines: int,
    histories: Mapping[str, pd.DataFrame],
    styles: Mapping[str, Style],
) -> None:
    part.set_facecolor("none")
    part.suptitle(heading, x=0.005, ha="left", fontsize=10.5, fontweight="bold", color=INK)
    for number, panel in enumerate(panels):
        axes = part.add_subplot(lines, COLUMNS, number + 1)
        dress(axes)
        axes.set_title(panel.title, fontsize=9, color=INK, loc="left")
        if number >= len(panels) - COLUMNS:
            axes.set_xlabel("step", fontsize=8, color=INK, labelpad=1)
        for arm, history in histories.items():
            if panel.column in history:
                _draw(axes, panel, history, styles[arm], pale=0.35 / len(histories) ** 0.5)
    for empty in range(len(panels), lines * COLUMNS):  # so that the columns of all rows have one width
        part.add_subplot(lines, COLUMNS, empty + 1).set_axis_off()


def _draw(axes: Axes, panel: Panel, history: pd.DataFrame, look: Style, *, pale: float) -> None:
    line = {"color": look.colour, "linestyle": look.dash}
    points = history.dropna(subset=[panel.column])
    step, values = points["step"], points[panel.column]
    if panel.watched:
        axes.plot(step, values, **line, linewidth=1.6, marker=look.marker, markersize=3)
        if panel.references in history:
            axes.axhline(history[panel.references].dropna().iloc[0], color=INK, linewidth=1, linestyle=":")
        return
    window = max(1, len(values) // 10)
    if panel.band and {*panel.band} <= {*history}:
        low, high = (_smooth(points[name], window) for name in panel.band)
        axes.fill_between(step, low, high, color=look.colour, alpha=0.12, linewidth=0)
    else:
        axes.plot(step, values, **line, linewidth=0.7, alpha=pale)
    sparse = {"marker": look.marker, "markersize": 3, "markevery": max(1, len(values) // 5)}
    axes.plot(step, _smooth(values, window), **line, **sparse, linewidth=1.7)


def _smooth(values: pd.Series, window: int) -> pd.Series:
    return values.rolling(window, center=True, min_periods=1).mean()


OVER_STEPS: Final = {
    "groups/unique_rewards": "different rewards in a group",
    "groups/zero_variance_share": "groups of equal clinical rewards",
    "entropy": "entropy, nats a token",
}
"""Columns of a history that say how diverse rollouts are."""


@dataclass(frozen=True, slots=True)
class TrainingLength:
    """How long an arm trained.

    Args:
        updates: optimiser steps; 0 of an arm that hands its start on.
        rollouts: reports sampled for them.
    """

    updates: int
    rollouts: int


@dataclass(frozen=True, slots=True)
class OutputDiversity:
    """How diverse an arm's rollouts and reports are.

    Args:
        distinct: different reports on the scored films, as a share of the films.
        commonest: share of the films that got the commonest report.
        course: of a column of `OVER_STEPS` its mean over the first and the last tenth of the updates.
    """

    distinct: float
    commonest: float
    course: Mapping[str, tuple[float, float]]


def training_lengths(
    arms: Mapping[str, Any], training: Mapping[str, Any], histories: Mapping[str, pd.DataFrame]
) -> dict[str, TrainingLength]:
    """How long each arm trained, its rollouts counted from the steps that its history has, redrawn ones too.

    Args:
        arms: the section `arms`.
        training: the section `training`.
        histories: by arm that trained, its curve.

    Returns:
        By arm, in the order of the section.
    """
    found = {}
    for arm, own in arms.items():
        settings = length.of_arm(training, own.get("training") or {})
        updates = int(histories[arm]["step"].max()) if arm in histories else 0
        batches = math.ceil(updates / settings["iterations"])
        drawn = batches * settings["prompts_per_step"] * settings["rollouts"]
        found[arm] = TrainingLength(updates, drawn + _redrawn(histories.get(arm)))
    return found


def _redrawn(history: pd.DataFrame | None) -> int:
    """Rollouts that were drawn in place of groups of equal rewards."""
    if history is None or EXTRA_ROLLOUTS not in history:
        return 0
    return int(history[EXTRA_ROLLOUTS].sum())


def output_diversity(
    arms: Mapping[str, pd.DataFrame], histories: Mapping[str, pd.DataFrame]
) -> dict[str, OutputDiversity]:
    """How diverse what each arm wrote is.

    Args:
        arms: by arm, its reports on the scored films.
        histories: by arm that trained, its curve.

    Returns:
        By arm.
    """
    found = {}
    for arm, frame in arms.items():
        counts = frame["report"].value_counts()
        course = _course(histories[arm]) if arm in histories else {}
        found[arm] = OutputDiversity(len(counts) / len(frame), float(counts.max() / len(frame)), course)
    return found


def _course(history: pd.DataFrame) -> dict[str, tuple[float, float]]:
    values = {name: history[name].dropna() for name in OVER_STEPS if name in history}
    return {
        name: (float(own.head(_tenth(own)).mean()), float(own.tail(_tenth(own)).mean()))
        for name, own in values.items()
        if len(own)
    }


def _tenth(values: pd.Series) -> int:
    return max(1, len(values) // 10)
