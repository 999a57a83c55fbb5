"""Requests to `radrl serve` and `radrl ui`, several at once, bad ones among them.

    python bench/serving_load                                  # 500 requests a server, 8 at once; 10 minutes
    python bench/serving_load --servers serve --requests 60
    python bench/serving_load --servers serve ui mlflow --write docs/bench/serving.md

All of it on 127.0.0.1. The kinds take turns in an order drawn by seed, slow ones and those beyond the size
limits rarer than the others. Every good request has to get a 200, every bad one a 4xx with a reason and no
stack trace; memory is that of the server and its children, before and after, with a second to settle.
`mlflow` is `mlflow models serve` with the same model, for comparison; it waits 60 s for a slow client.
"""

from __future__ import annotations

import argparse
import platform
import random
import shlex
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from serving_load import kinds, own  # found by the line above
from serving_load.load import Asked, Measured, load

RARE: Final = 5
"""Kinds that take seconds or hundreds of MB come once in so many turns."""


def drawn(asked: Sequence[Asked], number: int, seed: int) -> list[Asked]:
    """Requests, each kind as often as another, but for rare ones, in an order of their own.

    Args:
        asked: the kinds.
        number: of requests.
        seed: of the order.
    """
    order, found, turn = random.Random(seed), [], 0
    while len(found) < number:
        own_turn = [one for one in asked if turn % RARE == 0 or not one.rare]
        order.shuffle(own_turn)
        found += own_turn
        turn += 1
    return found[:number]


def measure(server: str, folder: Path, made: tuple[str, str, str], given: argparse.Namespace) -> Measured:
    """Load one server.

    Args:
        server: as `own.words` knows it.
        folder: the project's.
        made: of `own.project`.
        given: the command line.
    """
    model, experiment, run = made
    asked = kinds.of_pages(experiment, run) if server == "ui" else kinds.served()
    port = own.free_port()
    with own.running(own.words(server, model, port), folder, port, folder / f"{server}.log") as process:
        warm = [one for one in asked if one.good]
        return load(port, process, warm, drawn(asked, given.requests, given.seed), at_once=given.at_once)


def page(found: dict[str, Measured], command: str, at_once: int) -> str:
    """The page of figures."""
    names = {"serve": "`radrl serve`", "ui": "`radrl ui`", "mlflow": "`mlflow models serve`"}
    libraries = ", ".join(f"{name} {version(name)}" for name in ("mlflow", "uvicorn", "torch"))
    lines = [
        "# bench/serving_load",
        "",
        f"Made by `{command}`.",
        "",
        f"{platform.machine()}; Python {platform.python_version()}, {libraries}. An untrained policy of some "
        f"thousand weights; {at_once} requests at once on loopback.",
        "",
        "| server | requests | good, bad, left | not as they have to be | memory before, after, peak, MB "
        "| growth | seconds, a good one at the median | at most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for server, one in found.items():
        good = [each.seconds for each in one.answers if each.asked.good]
        left = sum(each.asked.leaves for each in one.answers)
        memory = ", ".join(f"{size / 1e6:,.0f}" for size in (one.before, one.after, one.peak))
        lines.append(
            f"| {names[server]} | {len(one.answers)} | {len(good)}, {len(one.answers) - len(good) - left}, "
            f"{left} | {sum(one.wrong().values())} | {memory} | {one.growth:+.1%} | {median(good):.2f} "
            f"| {max(each.seconds for each in one.answers):.1f} |"
        )
    for server, one in found.items():
        if one.wrong():
            lines += ["", f"Not as they have to be, {names[server]}:", ""]
            lines += [f"- {fault}, {number} times" for fault, number in sorted(one.wrong().items())]
    for server, one in found.items():
        if server != "mlflow":
            lines += [
                "",
                f"Answers of {names[server]}, one of each kind:",
                "",
                "| request | answer | reason |",
            ]
            lines += ["|---|---|---|", *_rows(one)]
    return "\n".join(lines) + "\n"


def _rows(found: Measured) -> list[str]:
    first = {each.asked.name: each for each in reversed(found.answers)}
    return [
        f"| {name} | {each.status or 'none'} | {'' if each.asked.good else _reason(each.text)} |"
        for name, each in sorted(first.items())
    ]


def _reason(text: str) -> str:
    said = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return f"{said[:120]} ..." if len(said) > 120 else said


def main() -> None:
    """Load the servers one after another."""
    parser = argparse.ArgumentParser(prog="serving_load", description=__doc__.partition("\n")[0])
    parser.add_argument("--servers", nargs="+", choices=["serve", "ui", "mlflow"], default=["serve", "ui"])
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="radrl-serving-") as temporary:
        folder = Path(temporary) / "project"
        made = own.project(folder)
        found = {server: measure(server, folder, made, given) for server in given.servers}
    text = page(found, shlex.join(["python", "bench/serving_load", *sys.argv[1:]]), given.at_once)
    print(text)
    if given.write:
        given.write.write_text(text)
    print(*(f"{name}: growth {one.growth:+.1%}" for name, one in found.items()), sep="\n")
    faults = [f"{name}: {one.wrong()}, {one.growth:+.1%}" for name, one in found.items() if name != "mlflow"
              and (one.wrong() or one.growth > 0.1)]  # fmt: skip
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
