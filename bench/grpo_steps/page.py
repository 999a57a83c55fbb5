"""From measured cells to the tables of docs/bench/grpo_step.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final

from grpo_steps.count import Operations
from grpo_steps.measure import Cell
from grpo_steps.results import Key
from grpo_steps.ways import PARTS, WAYS

TARGETS: Final = {("update", 112): 2.0, ("update", 224): 3.0, ("update", 448): 5.0} | {
    ("step", 112): 1.6,
    ("step", 224): 2.2,
    ("step", 448): 3.0,
}
"""What sharing shall gain over stock at a group of `TARGET_GROUP`, by part and size of the films."""
TARGET_GROUP: Final = 8
MEMORY: Final = "memory"
OTHERS: Final = {
    "stock": "Stock TRL over ours",
    "film": "AReaL's way (film shared, prompt not) over ours",
}
Found = Mapping[Key, Mapping[str, Any]]
Counted = Mapping[Cell, Mapping[str, Operations]]
"""Operations of a cell by way."""


def values(found: Found, cell: Cell, way: str, part: str) -> list[float]:
    """What was measured of a part of a cell, of each round and step; of memory, of each round."""
    rounds = sorted(key for key in found if key[:4] == (*cell, way))
    if part == MEMORY:
        return [found[key]["memory"] / 2**20 for key in rounds]
    return [seconds[part] for key in rounds for seconds in found[key]["seconds"]]


def ratios(found: Found, cell: Cell, ways: tuple[str, str], part: str) -> list[float]:
    """One way's figures over the other's, step by step: the same step says the same in both."""
    one, other = (values(found, cell, way, part) for way in ways)
    return [above / below for above, below in zip(one, other, strict=True)]


def with_spread(numbers: Sequence[float]) -> str:
    """Median, least and largest."""
    return f"{median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


def bounds(found: Found, cell: Cell, operations: Mapping[str, Operations]) -> dict[str, float]:
    """What the counted operations allow of stock's time, by part.

    Of the step: stock's parts, each by its own bound; the reward as it is; what is in no part (films are
    decoded and cut into patches once a rollout) once a film.
    """
    stock, shared = operations["stock"], operations["shared"]
    rollout, forward = stock.rollout / shared.rollout, stock.forward / shared.forward
    own = {part: median(values(found, cell, "stock", part)) for part in PARTS}
    other = own["step"] - sum(own[part] for part in PARTS if part != "step")
    left = own["rollout"] / rollout + (own["log-probabilities"] + own["update"]) / forward
    left += own["reward"] + other / cell.group
    return {"rollout": rollout, "update": forward, "step": own["step"] / left}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def _by_cell(cells: Sequence[Cell], head: Sequence[str], row: Callable[[Cell], list[str]]) -> list[str]:
    rows = [[str(cell.size), str(cell.group), str(cell.tokens), *row(cell)] for cell in cells]
    return table(["pixels", "G", "tokens", *head], rows)


def page(
    found: Found, counted: Counted, about: str, peak: float | None = None, *, targets: bool = True
) -> str:
    """All tables.

    Args:
        found: measured cells.
        counted: operations of the same cells.
        about: what was measured, how and on what.
        peak: operations a second of the card at its best; nothing on a CPU.
        targets: whether they apply: they are the laptop policy's.
    """
    cells = sorted({Cell(*key[:3]) for key in found})
    there = {key[3] for key in found}
    ways = [way for way in WAYS if way in there]
    lines = [about, ""]
    for other, title in OTHERS.items():
        if there >= {other, "shared"}:
            lines += _ratios(found, cells, other, title)
    lines += _seconds(found, cells, ways)
    if peak is not None:
        lines += _shares(found, cells, ways, counted, peak)
    if there >= {"stock", "shared"}:
        lines += _bounds(found, cells, counted)
    if targets and there >= {"stock", "shared"}:
        lines += _targets(found, cells, counted)
    return "\n".join(lines).rstrip() + "\n"


def _ratios(found: Found, cells: Sequence[Cell], other: str, title: str) -> list[str]:
    """What another way takes over what ours does."""
    parts = [*PARTS, MEMORY]

    def row(cell: Cell) -> list[str]:
        return [with_spread(ratios(found, cell, (other, "shared"), part)) for part in parts]

    head = [f"## {title}", "", "Ratios of the same step's figures: median (least to largest).", ""]
    return head + _by_cell(cells, parts, row)


def _seconds(found: Found, cells: Sequence[Cell], ways: Sequence[str]) -> list[str]:
    """What ours takes, and the memory of all."""
    whose = "shared" if "shared" in ways else ways[0]
    memory = [f"MiB, {way}" for way in ways]

    def row(cell: Cell) -> list[str]:
        parts = [f"{median(values(found, cell, whose, part)):.3f}" for part in PARTS]
        return parts + [f"{median(values(found, cell, way, MEMORY)):.0f}" for way in ways]

    lines = [f"## Seconds of a step ({whose}), and memory", ""]
    return lines + _by_cell(cells, [*PARTS, *memory], row)


def share_of_peak(found: Found, cell: Cell, way: str, operations: int, peak: float) -> float:
    """Counted operations of a round's steps over what the card could have done meanwhile."""
    rounds = sum(key[:4] == (*cell, way) for key in found)
    return operations * rounds / sum(values(found, cell, way, "step")) / peak


def _shares(
    found: Found, cells: Sequence[Cell], ways: Sequence[str], counted: Counted, peak: float
) -> list[str]:
    """Each way's share of the card's peak, by its own operations."""

    def row(cell: Cell) -> list[str]:
        return [f"{share_of_peak(found, cell, way, counted[cell][way].step, peak):.1%}" for way in ways]

    lines = [f"## Share of the card's peak ({peak / 1e12:.0f} Tflop/s), each way by its own operations", ""]
    return lines + _by_cell(cells, ways, row)


def _bounds(found: Found, cells: Sequence[Cell], counted: Counted) -> list[str]:
    """What operations allow, and the share of it that is there."""

    def row(cell: Cell) -> list[str]:
        told = []
        for part, bound in bounds(found, cell, counted[cell]).items():
            share = median(ratios(found, cell, ("stock", "shared"), part)) / bound
            told.append(f"{bound:.1f} ({share:.0%})")
        return told

    lines = ["## What counted operations allow", "", "In brackets the share of it that was measured.", ""]
    return lines + _by_cell(cells, ["rollout", "update, log-probabilities", "step"], row)


def _targets(found: Found, cells: Sequence[Cell], counted: Counted) -> list[str]:
    """Whether each target is met."""
    rows = []
    for cell in cells:
        if cell.group != TARGET_GROUP:
            continue
        limits = bounds(found, cell, counted[cell])
        for part in ("update", "step", MEMORY):
            target = 1.0 if part == MEMORY else TARGETS.get((part, cell.size))
            if target is None:
                continue
            have = median(ratios(found, cell, ("stock", "shared"), part))
            bound = "" if part == MEMORY else f"{limits[part]:.1f}"
            rows.append(
                [
                    *(str(cell.size), str(cell.tokens), part, f"{target:.1f}", f"{have:.2f}", bound),
                    "met" if have >= target else "missed",
                ]
            )
    head = ["pixels", "tokens", "part", "target", "measured", "operations allow", "is"]
    return [f"## Targets at G = {TARGET_GROUP}", "", *table(head, rows)]
