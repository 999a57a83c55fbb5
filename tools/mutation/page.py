"""The page of a mutation run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docsite.made import table

from mutation.explained import KINDS, Reason
from mutation.ledger import Entry
from mutation.sites import Mutant

GOAL = 0.95
STATES = {
    "passed": "no test fails",
    "cut": "no test of those that were run fails",
    "unread": "no test runs the line",
}
INTRODUCTION = """\
A mutant is one small change of one place: a comparison, an operator, a constant by one, a condition, what is
returned, a keyword, an assignment or call that is left out. It is killed when a test fails, or when its
tests run out of time. Left alone are docstrings, annotations, decorators, texts, errors' words, logging,
`strict=` of zip and `encoding=`. Tests are those of the room that run the line, the shortest first; what only
a program that a test starts would notice counts as not noticed. In `tools/mutation`: `rooms.toml` has the
rooms and their tests, `explained.csv` the reasons.
"""


@dataclass(frozen=True)
class RoomResult:
    """What came out of a room.

    Args:
        name: the room's.
        there: mutants that there are.
        chosen: those drawn.
        entries: by name; equivalent ones have none.
    """

    name: str
    there: int
    chosen: Sequence[Mutant]
    entries: Mapping[str, Entry]

    @property
    def killed(self) -> int:
        return sum(entry.killed for entry in self.entries.values())

    @property
    def share(self) -> float:
        """Of those that can be told from the original; 1 where none was drawn."""
        return self.killed / len(self.entries) if self.entries else 1.0

    @property
    def survivors(self) -> list[Mutant]:
        return [one for one in self.chosen if one.name in self.entries and not self.entries[one.name].killed]


def page(command: str, results: Sequence[RoomResult], explained: Mapping[str, Reason]) -> str:
    """Shares by room, then every survivor and every equivalent mutant with its reason."""
    parts = [
        f"# Mutants\n\nMade by `{command}`.\n\n{INTRODUCTION}",
        _summary(results, explained),
        f"## Survivors\n\n{_survivors(results, explained)}",
        f"## Equivalent\n\n{_equivalent(results, explained)}",
    ]
    return "\n".join(parts)


def unexplained(results: Sequence[RoomResult], explained: Mapping[str, Reason]) -> list[Mutant]:
    """Survivors without a reason."""
    return [one for result in results for one in result.survivors if one.name not in explained]


def _summary(results: Sequence[RoomResult], explained: Mapping[str, Reason]) -> str:
    rows = [
        [
            result.name,
            str(result.there),
            str(len(result.chosen)),
            str(len(result.chosen) - len(result.entries)),
            str(result.killed),
            str(sum(entry.state == "time" for entry in result.entries.values())),
            str(len(result.survivors)),
            str(sum(one.name in explained for one in result.survivors)),
            f"{100 * result.share:.1f} %",
        ]
        for result in results
    ]
    header = [
        "room",
        "mutants",
        "drawn",
        "equivalent",
        "killed",
        "by time",
        "survived",
        "explained",
        "killed of the rest",
    ]
    kinds = " ".join(f"*{kind.capitalize()}*: {meaning}." for kind, meaning in KINDS.items())
    return f"{table(header, rows)}\n{kinds}\n"


def _survivors(results: Sequence[RoomResult], explained: Mapping[str, Reason]) -> str:
    rows = []
    for result in results:
        for one in result.survivors:
            why = explained[one.name].reason if one.name in explained else "**none yet**"
            rows.append([_where(one), f"`{one.change}`", STATES[result.entries[one.name].state], why])
    return table(["where", "change", "tests", "reason"], rows) if rows else "None.\n"


def _equivalent(results: Sequence[RoomResult], explained: Mapping[str, Reason]) -> str:
    left = [one for result in results for one in result.chosen if one.name not in result.entries]
    rows = [[_where(one), f"`{one.change}`", explained[one.name].reason] for one in left]
    return table(["where", "change", "reason"], rows) if rows else "None.\n"


def _where(one: Mutant) -> str:
    module = one.file.partition("/radrl/")[2] or one.file
    return f"{module}:{one.lines[0]} {one.scope.rpartition('.')[2]}".strip()
