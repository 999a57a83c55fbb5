"""Change the core one line at a time and see whether a test notices.

python tools/mutants.py                          all rooms, as docs/bench/mutants.md states them
python tools/mutants.py credit selections        two rooms
python tools/mutants.py rewards --mutants 0      every mutant of one

A run that was ended goes on where it was: build/mutants has what is known of mutants whose modules and tests
are as they were. Exit status 1: a room is below its goal, or a survivor has no reason.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # no threads where a process parts

from mutation import explained, forks, rooms, sites  # noqa: E402
from mutation.ledger import Ledger  # noqa: E402
from mutation.page import GOAL, RoomResult, page, unexplained  # noqa: E402
from mutation.run import Unsound, everything, recorded, run_room  # noqa: E402
from tqdm import tqdm  # noqa: E402

MUTANTS, SEED, SECONDS = 30, 1, 6.0


def main(arguments: list[str] | None = None) -> int:
    """Run, say what survived, write the page; see --help."""
    own = _parser().parse_args(arguments)
    root = own.root.resolve()
    try:
        known = rooms.read(own.rooms, root)
        wanted = [known.rooms[name] for name in own.room or known.rooms]
    except KeyError as error:
        return _refuse(f"no room {error}; give some of {', '.join(known.rooms)}, or none for all")
    except rooms.RoomError as error:
        return _refuse(str(error))
    os.chdir(root)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the fork that runs ends too
    _prepare(known)
    try:
        results, reasons = _run(own, known, wanted)
    except (Unsound, explained.ExplainedError, forks.BrokenRun) as error:
        return _refuse(str(error))
    return _tell(own, results, reasons)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", nargs="*", help="some of those in the list of rooms; all where none is named")
    parser.add_argument(
        "--mutants",
        type=int,
        default=MUTANTS,
        metavar="N",
        help=f"about how many a room, of each module its share; 0: all (default: {MUTANTS})",
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help=f"of the draw (default: {SEED})")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"CPU seconds that a mutant's tests take as a rule, no longer ones (default: {SECONDS:.0f})",
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the page, such as docs/bench/mutants.md"
    )
    parser.add_argument("--list", action="store_true", help="name the drawn mutants and run nothing")
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="what is known of earlier runs (default: build/mutants)"
    )
    parser.add_argument(
        "--rooms",
        type=Path,
        metavar="FILE",
        default=TOOLS / "mutation/rooms.toml",
        help="the list of rooms (default: %(default)s)",
    )
    parser.add_argument(
        "--explained",
        type=Path,
        metavar="FILE",
        default=TOOLS / "mutation/explained.csv",
        help="mutants that may survive, with reasons (default: %(default)s)",
    )
    parser.add_argument(
        "--root", type=Path, metavar="FOLDER", default=TOOLS.parent, help="the project (default: %(default)s)"
    )
    return parser


def _run(
    own: argparse.Namespace, known: rooms.Rooms, wanted: list[rooms.Room]
) -> tuple[list[RoomResult], dict[str, explained.Reason]]:
    there = {room.name: everything(room) for room in wanted}
    names = {one.name for found in there.values() for one in found}
    reasons = explained.read(own.explained, names, [room.folder for room in wanted])
    chosen = {room.name: sites.drawn(there[room.name], own.mutants, own.seed) for room in wanted}
    if own.list:
        for found in chosen.values():
            print(*(f"{one.name}  (line {one.lines[0]})" for one in found), sep="\n")
        return [], reasons
    work = own.work or Path("build/mutants")
    ledger = Ledger(work / "ledger.jsonl")
    results = []
    for room in wanted:
        record = recorded(room, work, known.libraries, own.seconds)
        entries = {}
        left = sum(reasons[one.name].kind == "equivalent" for one in chosen[room.name] if one.name in reasons)
        with tqdm(total=len(chosen[room.name]) - left, desc=room.name, unit="mutant") as bar:

            def step(entry):  # type: ignore[no-untyped-def]
                entries[entry.name] = entry  # noqa: B023
                bar.update()

            run_room(room, chosen[room.name], record, ledger, reasons, seconds=own.seconds, step=step)
        results.append(RoomResult(room.name, len(there[room.name]), chosen[room.name], entries))
    return results, reasons


def _tell(own: argparse.Namespace, results: list[RoomResult], reasons: dict[str, explained.Reason]) -> int:
    for result in results:
        print(f"{result.name}: {result.killed} of {len(result.entries)} killed ({100 * result.share:.1f} %)")
    bare = unexplained(results, reasons)
    for one in bare:
        print(f"survived: {one.file}:{one.lines[0]} {one.scope}: {one.change}")
    if own.write:
        command = f"python tools/mutants.py {' '.join(own.room)}".strip()
        command += f" --mutants {own.mutants} --seed {own.seed} --seconds {own.seconds:g} --write {own.write}"
        unfinished = own.write.with_suffix(".unfinished")
        unfinished.write_text(page(command, results, reasons), encoding="utf-8")
        unfinished.rename(own.write)
    return int(bool(bare) or any(result.share < GOAL for result in results))


def _prepare(known: rooms.Rooms) -> None:
    """What tests import from stands first, and switches of libraries are set before these are imported."""
    sys.path.insert(0, str(known.source))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(known.source), os.environ.get("PYTHONPATH", "")])
    if known.first:
        module, _, function = known.first.partition(":")
        getattr(import_module(module), function)()


def _refuse(words: str) -> int:
    print(words, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
