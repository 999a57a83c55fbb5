"""All mutants of a room that were drawn, one after another."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mutation import forks
from mutation.explained import Reason
from mutation.ledger import Entry, Ledger
from mutation.recorder import Recorder
from mutation.rooms import Room, digest, digest_of
from mutation.sites import Mutant, mutants, mutated

Recorded = dict[str, Any]


class Unsound(RuntimeError):
    """The room's tests fail without any mutant, so nothing can be said of mutants."""


@dataclass(frozen=True)
class Tests:
    """Those that run a mutant's line.

    Args:
        names: node ids, the shortest first.
        cpu: seconds they take as a rule, with what they share.
        cut: how many more there are that would take too long.
    """

    names: Sequence[str]
    cpu: float
    cut: int


def everything(room: Room) -> list[Mutant]:
    """All mutants of a room."""
    return [
        one
        for path, file in room.files.items()
        for one in mutants(file, Path(path).read_text(encoding="utf-8"))
    ]


def recorded(room: Room, work: Path, libraries: tuple[str, ...], seconds: float) -> Recorded:
    """Which test of a room runs which line; files of tests that are as they were are not run again.

    Args:
        room: the room.
        work: the folder that keeps it.
        libraries: whose modules are imported once.
        seconds: as `tests_of` takes them; so many of the shortest tests must pass in that order too.

    Raises:
        Unsound: when a test fails, in the usual order or the shortest first.
    """
    kept = work / f"{room.name}.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    modules = digest(*map(Path, room.files))
    keys = {file: modules + own for file, own in room.digests_of_tests().items()}
    parts = {file: known[file] for file, key in keys.items() if file in known and known[file]["key"] == key}
    if new := [file for file in keys if file not in parts]:
        found = _record(room, [test for file in new for test in room.asked()[file]], libraries)
        for file in new:
            tests = {name: own for name, own in found["tests"].items() if name.startswith(f"{file}::")}
            parts[file] = {**found, "key": keys[file], "tests": tests}
        _require_in_any_order(room, _joined({file: parts[file] for file in new}), seconds)
        work.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(parts), encoding="utf-8")
        unfinished.rename(kept)
    return _joined(parts)


def _joined(parts: dict[str, Recorded]) -> Recorded:
    """One record of several files of tests."""
    return {
        "tests": {name: test for own in parts.values() for name, test in own["tests"].items()},
        "fixtures": max((own["fixtures"] for own in parts.values()), default=0.0),
        "modules": sorted({name for own in parts.values() for name in own["modules"]}),
    }


def _require_in_any_order(room: Room, record: Recorded, seconds: float) -> None:
    order = _shortest([*record["tests"]], record, seconds)
    forks.load(record["modules"])
    if not order:
        return
    outcome = forks.run(order, cpu=10 * _cpu(record, order))
    if outcome.state != "passed":
        raise Unsound(
            f"{room.name}: run the shortest first, {outcome.by} fails without any mutant: {outcome.why}"
        )


def tests_of(mutant: Mutant, record: Recorded, seconds: float) -> Tests:
    """The tests that run a mutant's line, the shortest first.

    Where none is known to run the line, those of the statement. What is run as the module is imported may
    show in any test of the room.

    Args:
        mutant: the mutant.
        record: of `recorded`.
        seconds: CPU seconds that the tests may take together as a rule; the first is run whatever it takes.
    """
    own = {name: set(test["lines"].get(mutant.file, ())) for name, test in record["tests"].items()}
    names: list[str] = []
    for first, last in (mutant.lines, mutant.statement):
        names = names or [name for name, lines in own.items() if not lines.isdisjoint(range(first, last + 1))]
    if not mutant.inside:
        names = list(own)
    chosen = _shortest(names, record, seconds)
    return Tests(chosen, _cpu(record, chosen), len(names) - len(chosen))


def run_room(
    room: Room,
    chosen: Sequence[Mutant],
    record: Recorded,
    ledger: Ledger,
    explained: dict[str, Reason],
    *,
    seconds: float,
    step: Callable[[Entry], None],
) -> None:
    """Run the tests on every mutant that is not in the ledger as things are.

    Args:
        room: the room.
        chosen: its mutants.
        record: of `recorded`.
        ledger: what is known, and where what comes out goes.
        explained: equivalent ones among them are not run.
        seconds: as `tests_of` takes them.
        step: called after each mutant.
    """
    digests = {file: digest(Path(path)) for path, file in room.files.items()}
    now = digest_of("".join(room.digests_of_tests().values()))
    loaded = False
    for mutant in chosen:
        if mutant.name in explained and explained[mutant.name].kind == "equivalent":
            continue
        entry = ledger.entries.get(mutant.name)
        if entry is None or not _holds(entry, digests[mutant.file], now, room):
            if not loaded:
                forks.load(record["modules"])
                loaded = True
            entry = _try(mutant, room, tests_of(mutant, record, seconds), digests[mutant.file], now)
            ledger.add(entry)
        step(entry)


def _try(mutant: Mutant, room: Room, tests: Tests, source: str, now: str) -> Entry:
    if not tests.names:
        return Entry(mutant.name, source, "unread", "", "", now, 0, 0.0)
    path = room.root / mutant.file
    tree = mutated(path.read_text(encoding="utf-8"), mutant)
    outcome = forks.run(
        tests.names, cpu=tests.cpu, mutation=forks.Mutated(room.module(mutant.file), path, tree)
    )
    state = "cut" if outcome.state == "passed" and tests.cut else outcome.state
    known = digest(room.root / outcome.by.partition("::")[0]) if outcome.state == "failed" else now
    return Entry(
        mutant.name, source, state, outcome.by, outcome.why, known, len(tests.names), round(outcome.cpu, 2)
    )


def _holds(entry: Entry, source: str, now: str, room: Room) -> bool:
    """Whether it still holds: a kill as long as its test is the same, all else while all tests are."""
    if entry.source != source:
        return False
    file = room.root / entry.by.partition("::")[0]
    return entry.tests == (digest(file) if entry.state == "failed" and file.is_file() else now)


def _record(room: Room, asked: Sequence[str], libraries: tuple[str, ...]) -> Recorded:
    recorder = Recorder(room.files)

    def work() -> Recorded:
        code = pytest.main([*forks.OPTIONS, *asked], [recorder])
        return {**recorder.found(libraries), "code": int(code)}

    found, log = forks.forked(work)
    if found is None or found["code"] != pytest.ExitCode.OK:
        failed = ", ".join(found["failed"]) if found else "the run was ended"
        raise Unsound(f"{room.name}: without any mutant, its tests fail ({failed}):\n{log}")
    return found


def _shortest(names: Sequence[str], record: Recorded, seconds: float) -> list[str]:
    """The shortest first, as many as take so many CPU seconds together, and one at least."""
    chosen, total = [], 0.0
    for name in sorted(names, key=lambda name: (record["tests"][name]["cpu"], name)):
        total += record["tests"][name]["cpu"]
        if chosen and total > seconds:
            break
        chosen.append(name)
    return chosen


def _cpu(record: Recorded, names: Sequence[str]) -> float:
    return sum(record["tests"][name]["cpu"] for name in names) + record["fixtures"]
