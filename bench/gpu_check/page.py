"""docs/bench/gpu.md from what was found, whatever of it there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from gpu_check.parts import PARTS
from radrl.storage.whole_files import whole_file

NOT_MEASURED: Final = "not measured"
MEMORY_GOAL: Final = 64
"""GiB, for the whole training of a policy of 3 B."""
UPDATE_GOALS: Final = {8: 2.8, 16: 3.4}
DECODING_GOAL: Final = 6.0
STEP_GOAL: Final = 3.0
PEAK_GOAL: Final = 0.4
UNITS: Final = {
    "forward": "TFLOP/s",
    "training": "TFLOP/s",
    "bandwidth": "TB/s",
    "layer_ms": "ms",
    "texts": "texts a second",
}
TWIN: Final = (
    "**Not run on a GPU. This is the CPU twin**: a few narrow layers in float32 on one thread. It proves "
    "that the script runs; its times say nothing of a GPU, and the goals below are not its."
)
Found = Mapping[str, Any]
Row = Sequence[str]


def write(file: Path, found: Found) -> None:
    """Write the page, then rename."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as stream:
        stream.write(text(found).encode())


def text(found: Found) -> str:
    """The page.

    Args:
        found: the JSON of `gpu_check.results`.
    """
    lines = ["# bench/gpu_check", "", _made(found), ""]
    if found["twin"]:
        lines += [TWIN, ""]
    for title, rows in (
        ("Parts", _parts(found)),
        ("Goals", _goals(found)),
        ("Exactness", _checks(found)),
        ("A training step", _steps(found)),
        ("Decoding", _decoding(found)),
        ("Memory", _memory(found)),
        ("Throughputs for `radrl plan`", _throughputs(found)),
    ):
        lines += [f"## {title}", "", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def holds(found: Found) -> bool:
    """Whether every part was done and no check failed."""
    parts = found["parts"].values()
    return all(part["state"] == "done" for part in parts) and all(
        check["holds"] is not False for part in parts for check in part["found"].get("checks", [])
    )


def of(found: Found, name: str) -> Found:
    """What a part found; nothing where it was not run."""
    return found["parts"].get(name, {}).get("found", {})  # type: ignore[no-any-return]


def table(head: Row, rows: Iterable[Row]) -> list[str]:
    """Lines of a table; `not measured` where it has no row."""
    own = [list(row) for row in rows]
    if not own:
        return [NOT_MEASURED.capitalize() + "."]
    return ["| " + " | ".join(line) + " |" for line in [list(head), ["---"] * len(head), *own]]


def _made(found: Found) -> str:
    own = of(found, "machine")
    if not own:
        return f"Made by `{found['command']}`; the part machine said nothing."
    peak = f"{own['peak_tflops']:.3g} TFLOP/s of matrix products" if "peak_tflops" in own else NOT_MEASURED
    speed = f"{own['bandwidth_tbs']:.3g} TB/s" if "bandwidth_tbs" in own else NOT_MEASURED
    names = ", ".join(f"{name} {own[name]}" for name in ("torch", "transformers", "trl"))
    return (
        f"Made by `{found['command']}`: {own['card']}, {own['memory_gib']:.0f} GiB, measured {peak} and "
        f"{speed} of memory; {names}, Python {own['python']}, CUDA {own['cuda']}."
    )


def _parts(found: Found) -> list[str]:
    rows = []
    for part in PARTS:
        own = found["parts"].get(part.name)
        if own is None:
            rows.append([part.name, "not run", "", ""])
            continue
        why = own["why"].splitlines()[-1] if own["why"] else ""
        rows.append([part.name, own["state"], f"{own['seconds']:.0f}", _cell(why)])
    return table(["part", "is", "seconds", "why"], rows)


def _cell(said: str) -> str:
    """Fit for a table."""
    return said.replace("|", "or").replace("<", "(").replace(">", ")")[:200]


def _goals(found: Found) -> list[str]:
    rows: list[list[str]] = []

    def row(goal: str, wanted: str, value: float | None, met: bool | None, form: str) -> None:
        said = NOT_MEASURED if value is None else form.format(value)
        is_met = "" if met is None or found["twin"] else "met" if met else "missed"
        rows.append([goal, wanted, said, is_met])

    for group, goal in UPDATE_GOALS.items():
        ratio = _ratio(found, group, "update")
        row(f"update, G {group}, TRL over radrl", f"{goal:g}", ratio, ratio and ratio >= goal, "{:.2f}")
    for group in UPDATE_GOALS:
        ratio = _decoding_ratio(found, group)
        met = ratio and ratio >= DECODING_GOAL
        row(f"decoding, G {group}, generate over radrl", f"{DECODING_GOAL:g}", ratio, met, "{:.2f}")
    for group in UPDATE_GOALS:
        ratio = _ratio(found, group, "step")
        row(
            f"whole step, G {group}, TRL over radrl",
            f"{STEP_GOAL:g}",
            ratio,
            ratio and ratio >= STEP_GOAL,
            "{:.2f}",
        )
    for group in UPDATE_GOALS:
        share = _share(found, group, "shared")
        met = share and share >= PEAK_GOAL
        row(f"update, G {group}, of the measured matrix peak", f"{PEAK_GOAL:.0%}", share, met, "{:.0%}")
    for group in UPDATE_GOALS:
        own = _way(found, group, "shared")
        changed = of(found, f"speed-{group}").get("changed")
        held = own["memory"] / 2**30 if own and not changed and not found["twin"] else None
        row(
            f"memory of the whole training, G {group}",
            f"{MEMORY_GOAL} GiB",
            held,
            held and held <= MEMORY_GOAL,  # type: ignore[arg-type]
            "{:.1f} GiB",
        )
    return table(["what", "goal", "measured", "is"], rows)


def _way(found: Found, group: int, way: str) -> Found | None:
    """A way's step, where it was measured."""
    own: Found = of(found, f"speed-{group}").get("ways", {}).get(way, {})
    return own if "seconds" in own else None


def seconds(own: Found, part: str) -> float:
    """Of a part of a step, the median of those measured."""
    return median(step[part] for step in own["seconds"])


def _ratio(found: Found, group: int, part: str) -> float | None:
    """Stock TRL's seconds over radrl's."""
    stock, ours = (_way(found, group, way) for way in ("stock", "shared"))
    return None if stock is None or ours is None else seconds(stock, part) / seconds(ours, part)


def _share(found: Found, group: int, way: str) -> float | None:
    """Of the measured matrix peak what a way's own counted operations take in the update."""
    own, peak = _way(found, group, way), of(found, "machine").get("peak_tflops")
    if own is None or peak is None:
        return None
    return float(own["update_operations"] / seconds(own, "update") / (peak * 1e12))


def _decoding_ratio(found: Found, group: int) -> float | None:
    own = {
        row["way"]: row["seconds"] for row in of(found, "decoding").get("rows", []) if row["group"] == group
    }
    return own["transformers"] / own["radrl"] if len(own) == 2 else None


def _checks(found: Found) -> list[str]:
    checks = [check for name in ("exactness", "resume") for check in of(found, name).get("checks", [])]
    verdict = {True: "yes", False: "**no**", None: ""}
    rows = [
        [own["check"], own["dtype"], _cell(own["measured"]), own["asked"], verdict[own["holds"]]]
        for own in checks
    ]
    return table(["what", "dtype", "found", "asked for", "holds"], rows)


def _steps(found: Found) -> list[str]:
    rows, notes = [], []
    names = {"stock": "stock TRL", "shared": "radrl"}
    for group in UPDATE_GOALS:
        speed = of(found, f"speed-{group}")
        if speed.get("changed"):
            notes.append(f"G {group}: without the frozen start, which did not fit beside the rest.")
        for way, name in names.items():
            own = speed.get("ways", {}).get(way)
            if own is None:
                continue
            if "seconds" not in own:
                notes.append(f"G {group}, {name}: {_cell(own['failed'])}")
                continue
            share = _share(found, group, way)
            rows.append(
                [
                    *(str(group), name, str(own["at_once"])),
                    *(
                        f"{seconds(own, part):.3f}"
                        for part in ("rollout", "log-probabilities", "update", "step")
                    ),
                    f"{own['tokens'] / seconds(own, 'rollout'):,.0f}",
                    f"{own['tokens'] / seconds(own, 'step'):,.0f}",
                    NOT_MEASURED if share is None else f"{share:.1%}",
                ]
            )
    head = ["G", "way", "at once", "rollout, s", "log-probabilities, s", "update, s", "step, s"]
    head += ["tokens/s, rollout", "tokens/s, step", "update, of the matrix peak"]
    about = (
        "DEER's recipe: all weights train, float32 masters under autocast, frozen start, fused AdamW, layers "
        "computed again; reports of scripts' lengths. The share is of each way's own counted operations, "
        "recomputation left out."
    )
    return [about, "", *table(head, rows), *[line for note in notes for line in ("", note)]]


def _decoding(found: Found) -> list[str]:
    rows = [
        [
            str(own["group"]),
            own["way"],
            f"{own['seconds']:.3f}",
            f"{own['tokens'] / own['seconds']:,.0f}",
        ]
        for own in of(found, "decoding").get("rows", [])
    ]
    about = "A step's rollouts by a policy that only writes, each of the full length."
    return [about, "", *table(["G", "way", "seconds", "tokens/s"], rows)]


def _memory(found: Found) -> list[str]:
    rows = []

    def row(what: str, own: Found) -> None:
        if "memory" not in own:
            return
        measured, planned = own["memory"] / 2**30, own.get("planned")
        said = "" if planned is None else f"{planned / 2**30:.2f}"
        ratio = "" if planned is None else f"{planned / own['memory']:.2f}"
        rows.append([what, f"{measured:.2f}", said, ratio])

    for group in UPDATE_GOALS:
        for way, name in {"stock": "stock TRL", "shared": "radrl"}.items():
            row(f"training, all weights, G {group}, {name}", _way(found, group, way) or {})
    for own in of(found, "memory").get("rows", []):
        row(f"training, {own['training']}, radrl", own)
    for own in of(found, "decoding").get("rows", []):
        row(f"writing, G {own['group']}, {own['way']}", own)
    about = "The most that torch had allocated, and the fullest moment by `radrl plan`." + (
        " On a CPU: what was added to the process." if found["twin"] else ""
    )
    return [about, "", *table(["what", "GiB, measured", "GiB, planned", "planned / measured"], rows)]


def _throughputs(found: Found) -> list[str]:
    own = of(found, "throughputs").get("measured", {})
    rows = [[key, f"{own[key]:.4g}", unit] for key, unit in UNITS.items() if key in own]
    about = (
        "By the way of `radrl plan --calibrate`; `--write-throughputs` gives the plan's table a row of them."
    )
    return [about, "", *table(["key", "measured", "unit"], rows)]
