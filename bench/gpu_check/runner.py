"""The command: each part in a process of its own, with a limit; what was found is kept after each."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from gpu_check import page, results
from gpu_check.parts import PARTS, Part, chosen

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs/bench/gpu.md"
JSON: Final = "gpu_check.json"
LEAST: Final = 20
"""Seconds below which a part is not begun."""
TAIL: Final = 12
"""Lines of a failed part's output that are kept."""


def options(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    import gpu_check.__main__ as told

    parser = argparse.ArgumentParser(
        prog="python bench/gpu_check",
        description=told.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(part.name for part in PARTS)
    parser.add_argument("--only", help=f"parts, with commas between them: {names}")
    parser.add_argument("--minutes", type=float, default=25.0, help="for all parts together")
    parser.add_argument("--twin", action="store_true", help="a few narrow layers on the CPU")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page; the twin's goes where it is told")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / JSON, help="what was found")
    parser.add_argument(
        "--work", type=Path, help="keep the policies here, in place of a folder for the while"
    )
    parser.add_argument(
        "--write-throughputs", action="store_true", help="give the card a row in radrl plan's throughputs.yml"
    )
    parser.add_argument(
        "--render",
        type=Path,
        metavar="JSON",
        help="run nothing: the page, and the row, of what another machine found",
    )
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run the parts, or one of them where a runner asks for it.

    Returns:
        0 where every part was done and every check holds, else 1; 2 where nothing could be asked for.
    """
    own = options(given)
    if own.part:
        return _one(own)
    try:
        parts = chosen(own.only.split(",") if own.only else None)
    except ValueError as error:
        print(f"--only: {error}", file=sys.stderr)
        return 2
    if own.render:
        found = results.read(own.render)
        if not found:
            print(f"--render: there is no {own.render}", file=sys.stderr)
            return 2
        page.write(own.out, found)
        return _ended(own, found, found)
    card = "" if own.twin else _card()
    own.twin = not card
    if own.twin and own.out == PAGE:
        own.out = ROOT / "build/gpu_twin.md"
        print(f"torch sees no GPU, or --twin: the page of the CPU twin goes to {own.out}", file=sys.stderr)
    found = results.read(own.json)
    if (found.get("twin"), found.get("card")) != (own.twin, card):  # of another machine, or none yet
        found = {"twin": own.twin, "card": card, "parts": {}}
    found["command"] = shlex.join(["python", "bench/gpu_check", *(given or sys.argv[1:])])
    ends = time.monotonic() + 60 * own.minutes
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        work = own.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        results.write(work / results.of_part("machine"), page.of(found, "machine"))
        for part in parts:
            found["parts"][part.name] = run(part, own.twin, work, ends - time.monotonic())
            results.write(own.json, found)
            page.write(own.out, found)
            print(f"{part.name}: {said(found['parts'][part.name])}", file=sys.stderr, flush=True)
    asked = {**found, "parts": {part.name: found["parts"][part.name] for part in parts}}
    return _ended(own, found, asked)


def _ended(own: argparse.Namespace, found: dict[str, Any], asked: dict[str, Any]) -> int:
    """Write the row where it is wanted, say where the page is, give the status of what was asked."""
    if own.write_throughputs:
        from gpu_check import row

        print(row.written(found), file=sys.stderr)
    print(f"{own.out}\n{own.render or own.json}")
    return 0 if page.holds(asked) else 1


def said(result: dict[str, Any]) -> str:
    """How a part ended, in a line."""
    why = f": {result['why'].splitlines()[-1]}" if result.get("why") else ""
    return f"{result['state']} after {result['seconds']:.0f} s{why}"


def run(part: Part, twin: bool, work: Path, left: float) -> dict[str, Any]:
    """A part to its end or to its limit.

    Args:
        part: which.
        twin: on the CPU.
        work: where policies lie.
        left: seconds for this part and all behind it.

    Returns:
        state: done, failed, killed or left out; seconds; why; found, all that it had kept.
    """
    limit = min(part.limit, left)
    if limit < LEAST:
        return {
            "state": "left out",
            "seconds": 0.0,
            "why": "no time was left for it (--minutes)",
            "found": {},
        }
    into = work / results.of_part(part.name)
    into.unlink(missing_ok=True)
    log = work / f"{part.name}.log"
    command = [sys.executable, str(Path(__file__).parent), "--part", part.name, "--into", str(into)]
    command += ["--work", str(work), *(["--twin"] if twin else [])]
    began = time.monotonic()
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdout=stream,
            stderr=stream,
            stdin=subprocess.DEVNULL,
            env=_variables(),
            start_new_session=True,
        )
        try:
            status = process.wait(limit)
            state = "done" if status == 0 else "failed"
        except subprocess.TimeoutExpired:
            state = "killed"
        finally:
            _end(process)
    seconds = time.monotonic() - began
    why = {"done": "", "killed": f"ended at its limit of {limit:.0f} s"}.get(state) or _tail(log, state)
    return {"state": state, "seconds": round(seconds, 1), "why": why, "found": results.read(into)}


def _variables() -> dict[str, str]:
    """Of a part: its card's memory grows in pieces, for stock TRL and radrl alike."""
    return {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", **os.environ}


def _tail(log: Path, state: str) -> str:
    if state == "done":
        return ""
    return "\n".join(log.read_text(errors="replace").strip().splitlines()[-TAIL:]) or "it said nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a part with every process below it: they share its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _card() -> str:
    """The first GPU's name; empty where torch sees none. Asked elsewhere: a look takes some of its memory."""
    code = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def _one(own: argparse.Namespace) -> int:
    """One part, in this process."""
    from radrl.process import offline

    offline.apply()
    import torch
    from transformers.utils import logging

    from gpu_check.setup import Setup
    from radrl.process.runtime import pin

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    setup = Setup(own.twin, own.work)
    pin(1 if own.twin else torch.get_num_threads(), setup.device)
    (part,) = chosen([own.part])
    part.measure(setup, lambda found: results.write(own.into, found))
    return 0
