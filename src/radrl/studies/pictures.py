"""The pictures beside a study's page: which ones it has, and what stands below each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from radrl.params.schema import Params
from radrl.studies.curves import with_and_without
from radrl.studies.page import Described


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a study.

    Args:
        name: of its file.
        title: what it shows.
        caption: how it is read.
        content: a PNG file.
    """

    name: str
    title: str
    caption: str
    content: bytes


def draw(
    comparisons: pd.DataFrame,
    curves: pd.DataFrame,
    runs: Mapping[str, Params],
    study: Described,
    *,
    stem: str,
) -> list[Picture]:
    """Draw a study.

    Args:
        comparisons: the experiments' comparisons below one another, with `run` and `seed`.
        curves: of `radrl.studies.curves.over_seeds`.
        runs: the parameters of each run.
        study: what the page says besides numbers.
        stem: of the page's file name, with which the pictures' names begin.

    Returns:
        All rows; the training curves, where an arm trained; OraPO's figure 2, where arms with an oracle or
        FactS stand beside others.
    """
    from radrl.pages.figures import png
    from radrl.studies import figures

    rows = figures.rows(comparisons, study.metrics, study.reference, study.level)
    drawn = [Picture(f"{stem}.png", "All rows over the seeds", _ROWS, png(rows))]
    if len(curves):
        training = png(figures.training(curves))
        drawn.append(Picture(f"{stem}-curves.png", "Training curves", _TRAINING, training))
        trained = {*zip(curves["run"], curves["arm"], strict=True)}
        if places := [place for place in with_and_without(runs) if place in trained]:
            rare = png(figures.rare(curves, places))
            drawn.append(Picture(f"{stem}-rare.png", "Zero rewards and rare labels", _RARE, rare))
    return drawn


def section(drawn: Sequence[Picture]) -> list[str]:
    """The pictures as paragraphs of the study's page, which lies beside them.

    Args:
        drawn: of `draw`, at least one.
    """
    shown = [f"![{one.title}]({one.name})\n\n{one.caption}" for one in drawn]
    return ["## In pictures", *shown]


_ROWS = """\
Mark: mean over seeds. Bar: one standard deviation between them to each side. Dots: the seeds. Dashed: the
reference arm. A seed has other films, which all its rows share: bars of two arms may overlap whose difference
is sure, and the tables have that difference with its interval."""
_TRAINING = """\
Line: mean over seeds. Band: one standard deviation between them to each side. A point of the reward is the
mean of five steps; rewards of different arms are different quantities. Watched films are validation films on
which the arm writes greedily; a seed has others, so that bands are wider than differences between arms."""
_RARE = """\
OraPO's figure 2: how often a rollout's clinical reward is 0, and F1 of Pneumonia, of Fracture and of the two
rarest other labels that the watched films of every seed have. A label with two positives there has an F1 of
0, 0.5 or 1 a seed, so that single steps say little. Arms that learn by an oracle or FactS, each beside the
arm most like it without."""
