"""The rollouts to look at as a page: update by update, the best groups first, then the worst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from radrl.evaluation.label_agreement import VERDICTS
from radrl.pages import examples
from radrl.pages.examples import Chip
from radrl.pages.page import environment
from radrl.training.watching.rollouts import JOINT, PART, Row

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

# not beside this module: a file in a package counts as code of every training that reaches the package
_TEMPLATE: Final = Path(examples.__file__).with_name("rollouts.html.j2")


@dataclass(frozen=True, slots=True)
class Written:
    """Rollouts of a group that say the same and are rewarded the same.

    Args:
        numbers: theirs in the group.
        text: what they say.
        reward: the weighted sum; NaN is none.
        parts: before their weights, by name; NaN is none.
        chips: their findings, held against the reference's.
    """

    numbers: Sequence[int]
    text: str
    reward: float
    parts: Mapping[str, float]
    chips: Sequence[Chip]


@dataclass(frozen=True, slots=True)
class Group:
    """The rollouts of a film.

    Args:
        rank: best 1, worst 1 and so on.
        sample_id: of the film.
        pictures: its films as data URIs.
        prompt: what the policy was asked.
        reference: its report.
        chips: the findings of the report.
        mean: of the rewards; NaN where there are none.
        teaches: whether two rewards differ.
        written: the rollouts, those of the highest reward first.
    """

    rank: str
    sample_id: str
    pictures: Sequence[str]
    prompt: str
    reference: str
    chips: Sequence[Chip]
    mean: float
    teaches: bool
    written: Sequence[Written]


def render(rollouts: pd.DataFrame, films: Mapping[str, Sequence[bytes]], *, arm: str, banner: str) -> str:
    """Write the page.

    Args:
        rollouts: of `radrl.training.watching.rollouts.table`, at least one row.
        films: as PNG by sample_id, all that the rows name.
        arm: its name.
        banner: what stands above everything.

    Returns:
        One page that needs nothing else and runs no script.
    """
    parts = [name for name in rollouts if name.startswith(PART)]
    pictures = {name: [examples.data_uri(film) for film in own] for name, own in films.items()}
    looks: dict[int, dict[str, list[Row]]] = {}
    for row in rollouts.to_dict("records"):
        looks.setdefault(row["update"], {}).setdefault(row["group"], []).append(row)
    shown = {
        update: [_group(rank, rows, parts, pictures) for rank, rows in own.items()]
        for update, own in sorted(looks.items())
    }
    told = {"parts": [name.removeprefix(PART) for name in parts], "verdicts": examples.VERDICTS}
    return f"{_template().render(looks=shown, arm=arm, banner=banner, **told)}\n"


@cache
def _template() -> jinja2.Template:
    return environment().from_string(_TEMPLATE.read_text(encoding="utf-8"))


def _group(
    rank: str, rows: Sequence[Row], parts: Sequence[str], pictures: Mapping[str, Sequence[str]]
) -> Group:
    first, rewards = rows[0], [row["reward"] for row in rows if not math.isnan(row["reward"])]
    # those without a reward last
    ordered = sorted(rows, key=lambda row: math.inf if math.isnan(row["reward"]) else -row["reward"])
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in ordered:
        alike.setdefault((row["output"], *(str(row[name]) for name in ("reward", *parts))), []).append(row)
    # what the reference says is in every verdict on it but what is wrong
    stated = sorted({chip.observation for chip in _chips(first) if chip.verdict != "wrong"})
    return Group(
        rank,
        first["sample_id"],
        pictures[first["sample_id"]],
        first["prompt"],
        first["reference"],
        [Chip(name, "stated") for name in stated],
        sum(rewards) / len(rewards) if rewards else math.nan,
        len(set(rewards)) > 1,
        [_written(own, parts) for own in alike.values()],
    )


def _written(rows: Sequence[Row], parts: Sequence[str]) -> Written:
    row = rows[0]
    scores = {name.removeprefix(PART): row[name] for name in parts}
    return Written([own["rollout"] for own in rows], row["output"], row["reward"], scores, _chips(row))


def _chips(row: Row) -> list[Chip]:
    return [Chip(name, verdict) for verdict in VERDICTS for name in row[verdict].split(JOINT) if name]
