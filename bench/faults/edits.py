"""Edits of params.yaml and of code while a stage runs, and whether dvc.lock says afterwards what ran.

    python bench/faults edits --edits 200 --folder build/bench-edits --write docs/bench/edits.md
    python bench/faults edits --edits 18 --revision HEAD~1           # of an earlier commit

The clone of `faults.project` runs once. Then, a trial each, one stage runs again, because a parameter of it
was given another value, while edits are made: of a parameter of that stage, one that names a path in dvc.yaml
among them, of a parameter of others, or of a module that belongs to the code of every stage. Three fall on
moments drawn from the whole of the run, two on moments between the last look of the stage's process and
DVC's end, while DVC hashes and writes. Of the former one in four is left, of the latter every other one, the
rest is put back within two seconds; a run that is refused ends before its later edits. The stage is run

    radrl    as `radrl repro` runs one
    dvc      by `dvc repro --single-item`, whose next command begins with `radrl code`, as this trial does

and every entry of dvc.lock is held against what a Kedro plugin (`faults.witness`) wrote down in the stages'
processes: the values that nodes were handed, the code that was imported, the paths that were read, the bytes
that were made. An entry is true where one run of its stage had all of it. Kill it when you like: trials are
kept in --folder, and the next start goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np
import yaml

from faults.project import ROOT, clone, stored, variables
from faults.witness import FOLDER
from kedro_repro.fork_server_process import server
from kedro_repro.programs import DVC
from kedro_repro.schedule import StageFailed
from kedro_repro.stage_runner import DvcStages

SEED: Final = {"seed": range(1, 10**6)}
KEYS: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "ingest": {"ingest.max_quarantined_share": [round(0.5 + i / 5000, 4) for i in range(2000)]},
    "labeler": SEED,
    "label": {"threads": range(1, 4), "labeler.rules.alternatives": ["uncertain", "positive"]},
    "policy": SEED,
    "sft": SEED | {"sft.learning_rate": [i * 1e-6 for i in range(10, 999)]},
    "rollouts": SEED,
    "ddsampling": SEED,
    "selection": SEED,
    "own_selection@few": SEED | {"selection.own.few.share": [round(0.4 + i / 5000, 4) for i in range(1000)]},
    "ceilings": SEED | {"ceilings.start": ["sft", "base"]},
    "analyses": SEED,
    "train@deer": SEED | {"arms.deer.start": ["sft", "base"], "arms.deer.selection": ["full", "random"]},
    "generate@deer": SEED | {"generate.max_new_tokens": range(6, 24)},
    "eval@deer": {"eval.max_report_words": range(20, 2000)},
    "compare": SEED,
}
"""By stage the keys that are edited, with values that it runs with; the first makes it run again."""
CODE: Final = "src/radrl/pipelines/__init__.py"
VARIANTS: Final = range(4)
"""Numbers that the module is given; 0 is the committed one."""
HEADS: Final = ("refused", "taken out, run again", "true at once", "false record")


# Parameters


def get(params: Mapping[str, Any], key: str) -> Any:
    """What stands under a key with dots."""
    for part in key.split("."):
        params = params[part]
    return params


def put(params: dict[str, Any], key: str, value: Any) -> None:
    """Put a value under a key with dots."""
    *above, last = key.split(".")
    for part in above:
        params = params[part]
    params[last] = value


def write(file: Path, text: str) -> None:
    """Write as an editor does that saves beside and renames."""
    partial = file.with_name(f"{file.name}~")
    partial.write_text(text)
    partial.replace(file)


@dataclass(frozen=True, slots=True)
class Edit:
    """What is edited, and when.

    Args:
        key: of params.yaml, or `code`.
        value: what it gets; of code the number of the variant.
        moment: seconds from the start of DVC, or from the end of the stage's process.
        at_end: whether that end is waited for.
        back: seconds until it is put back; below 0 it is left.
    """

    key: str
    value: Any
    moment: float
    at_end: bool
    back: float


# Whether dvc.lock is true


def lock(root: Path) -> dict[str, Any]:
    """dvc.lock by stage, read as YAML 1.2, which DVC writes."""
    from ruamel.yaml import YAML

    found: dict[str, Any] = YAML(typ="safe").load((root / "dvc.lock").read_text())["stages"]
    return found


def untrue(root: Path, entry: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], codes: Any) -> list[str]:
    """What an entry says that no run of its stage had; of the run that is nearest."""
    return min((differences(root, entry, run, codes) for run in runs), key=len, default=["nothing ran"])


def differences(root: Path, entry: Mapping[str, Any], run: Mapping[str, Any], codes: Any) -> list[str]:
    """In what an entry is not of a run: keys, the code, paths read, files made."""
    params = dict(entry["params"])
    code = params.pop("data/08_reporting/code.yaml")
    found = [
        key
        for key, recorded in params.get("params.yaml", {}).items()
        if json.dumps(handed(run["params"], key), sort_keys=True) != json.dumps(recorded, sort_keys=True)
    ]
    found += ["code" for key, digest in code.items() if codes[run["code"]].get(key) != digest]
    deps = [PurePath(dep["path"]) for dep in entry.get("deps", [])]
    found += [path for path in run["reads"] if not any(map(PurePath(path).is_relative_to, deps))]
    made = dict(files(root, entry))
    return found + [path for path, md5 in made.items() if run["files"].get(path) != md5]


def handed(params: Mapping[str, Any], key: str) -> Any:
    """What nodes were handed under a key, or as a part of what they were handed."""
    for above in sorted((name for name in params if f"{key}.".startswith(f"{name}.")), key=len):
        return get(params[above], key[len(above) + 1 :]) if key != above else params[above]
    return "(not handed)"


def files(root: Path, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The files of an entry's outputs, with their digests."""
    for out in entry.get("outs", []):
        if out["md5"].endswith(".dir"):
            listed = json.loads(stored(root / ".dvc" / "cache", out["md5"]).read_text())
            yield from ((f"{out['path']}/{one['relpath']}", one["md5"]) for one in listed)
        else:
            yield out["path"], out["md5"]


def flat(digests: Mapping[str, Any]) -> dict[str, str]:
    """Digests of code by the key that dvc.lock has for them."""
    return {
        f"{name}.{key}" if key else name: digest
        for name, own in digests.items()
        for key, digest in (own.items() if isinstance(own, dict) else [("", own)])
    }


# Trials


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of a stage, the edits made in it, and what came of them.

    Args:
        stage: that ran.
        how: `radrl` or `dvc`.
        edits: of each that was made what, in which part of the run, and whether it was put back.
        outcome: of `HEADS`, or what failed.
        false: entries of dvc.lock that are not true, and in what.
    """

    stage: str
    how: str
    edits: list[list[str]]
    outcome: str
    false: list[str]


class Bench:
    """The clone, in which stages run.

    Args:
        root: its folder.
        notes: the folder in which the witness writes.
    """

    def __init__(self, root: Path, notes: Path) -> None:
        self.root, self.notes = root, notes
        self.params, self.module = root / "params.yaml", root / CODE
        self.committed = subprocess.run(
            ["git", "show", f"HEAD:{CODE}"], cwd=root, check=True, capture_output=True, text=True
        ).stdout
        self._entries: dict[str, Any] = {}
        self._usual: dict[tuple[str, str], tuple[float, float]] = {}

    def code(self) -> str:
        """Let `radrl code` write the digests; what it said."""
        done = subprocess.run(
            [sys.executable, "-m", "radrl.commands", "code"], cwd=self.root, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stderr

    def variant(self, number: int) -> str:
        """The text of the module with a number."""
        return self.committed + (f"\nEDITED = {number}\n" if number else "")

    def codes(self) -> list[dict[str, str]]:
        """The digests of each variant."""
        found = []
        for number in [*VARIANTS, 0]:
            write(self.module, self.variant(number))
            self.code()
            found.append(flat(yaml.safe_load((self.root / "data/08_reporting/code.yaml").read_text())))
        return found[:-1]

    def runs(self) -> dict[str, list[dict[str, Any]]]:
        """What the witness wrote, by stage."""
        found: dict[str, list[dict[str, Any]]] = {}
        for file in sorted(self.notes.glob("*.json")):
            run = json.loads(file.read_text())
            found.setdefault(run["stage"], []).append(run)
        return found

    def false(self, codes: Any) -> list[str]:
        """Entries of dvc.lock that are not true, with what is not."""
        runs = self.runs()
        entries = {stage: entry for stage, entry in lock(self.root).items() if stage != "code"}
        told = {
            stage: untrue(self.root, entry, runs.get(stage, []), codes) for stage, entry in entries.items()
        }
        return [f"{stage} ({', '.join(keys)})" for stage, keys in told.items() if keys]

    def give_reason(self, stage: str, rng: np.random.Generator) -> None:
        """Give a stage's first key another value, so that it has to run."""
        key, values = next(iter(KEYS[stage].items()))
        self.set(key, pick(values, get(yaml.safe_load(self.params.read_text()), key), rng))

    def set(self, key: str, value: Any) -> None:
        """Edit: params.yaml, or the module."""
        if key == "code":
            write(self.module, self.variant(value))
            return
        params = yaml.safe_load(self.params.read_text())
        put(params, key, value)
        write(self.params, yaml.safe_dump(params, sort_keys=False))

    def now(self, key: str) -> Any:
        """What stands there."""
        if key == "code":
            return next(number for number in VARIANTS if self.module.read_text() == self.variant(number))
        return get(yaml.safe_load(self.params.read_text()), key)

    def draw(self, stage: str, how: str, rng: np.random.Generator) -> list[Edit]:
        """Draw the edits of a trial."""
        usual, recording = self._usual.get((stage, how), (30.0, 4.0))
        found = []
        for at_end in (False, False, False, True, True):
            of = stage if rng.random() < 0.9 else str(rng.choice([name for name in KEYS if name != stage]))
            key = "code" if rng.random() < 0.2 else str(rng.choice([*KEYS[of]]))
            values = VARIANTS if key == "code" else KEYS[of][key]
            moment = rng.uniform(0, recording if at_end else usual)
            left = rng.random() < (0.5 if at_end else 0.25)
            back = -1.0 if left else float(rng.uniform(0.05, 2))
            found.append(Edit(key, pick(values, self.now(key), rng), float(moment), at_end, back))
        return found

    def make(self, edits: Sequence[Edit], stage: str, over: threading.Event) -> list[tuple[float, Edit]]:
        """Make edits, one after another, until DVC has ended; with the times."""
        made, began, known = [], time.monotonic(), len(self.runs().get(stage, []))
        for edit in sorted(edits, key=lambda edit: (edit.at_end, edit.moment)):
            if edit.at_end:
                while len(self.runs().get(stage, [])) == known and not over.is_set():
                    time.sleep(0.02)
                over.wait(edit.moment)
            else:
                over.wait(max(0.0, began + edit.moment - time.monotonic()))
            if over.is_set():
                break
            before = self.now(edit.key)
            self.set(edit.key, edit.value)
            made.append((time.time(), edit))
            if edit.back >= 0:
                time.sleep(edit.back)
                self.set(edit.key, before)
        return made

    def trial(self, stage: str, how: str, runner: DvcStages, codes: Any, rng: np.random.Generator) -> Trial:
        """Run a stage while something is edited, and look."""
        if self._coded:
            self.code()
        self.put_in_place()
        self.give_reason(stage, rng)
        edits = self.draw(stage, how, rng)
        over, made = threading.Event(), list[tuple[float, Edit]]()
        editor = threading.Thread(target=lambda: made.extend(self.make(edits, stage, over)))
        known, began = len(self.runs().get(stage, [])), time.monotonic()
        editor.start()
        said = self.run(stage, how, runner)
        took, ended = time.monotonic() - began, time.time()
        over.set()
        editor.join()
        self._coded = any(edit.key == "code" for _, edit in made)
        if how == "dvc":
            said += self.code()
        if ran := self.runs().get(stage, [])[known:]:
            self._usual[stage, how] = took, max(1.0, ended - ran[-1]["ended"])
        told = [
            [edit.key, part(at, ran, ended), "put back" if edit.back >= 0 else "left"] for at, edit in made
        ]
        return Trial(stage, how, told, outcome_of(said), self.false(codes))

    _coded = False

    def put_in_place(self) -> None:
        """Copy outputs that are missing from DVC's cache: of a stage that is refused it has removed them."""
        self._entries |= lock(self.root)  # one that was taken out may have been refused since
        for path, md5 in (one for entry in self._entries.values() for one in files(self.root, entry)):
            if not (self.root / path).exists():
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(stored(self.root / ".dvc/cache", md5), self.root / path)

    def run(self, stage: str, how: str, runner: DvcStages) -> str:
        """Run a stage; what was said."""
        if how == "radrl":
            with contextlib.suppress(StageFailed):
                runner(stage)
            return runner.log(stage).read_text(errors="replace")
        done = subprocess.run(
            [*DVC, "repro", "--single-item", stage], cwd=self.root, capture_output=True, text=True
        )
        return done.stdout + done.stderr


def pick(values: Sequence[Any], now: Any, rng: np.random.Generator) -> Any:
    """Another value."""
    while (found := values[int(rng.integers(len(values)))]) == now:
        pass
    return found


def part(edited: float, ran: Sequence[Mapping[str, Any]], ended: float) -> str:
    """In which part of a stage's run an edit fell."""
    if not ran:
        return "in a run that was refused"
    if edited < ran[0]["began"]:
        return "before its process had begun"
    if edited < ran[0]["ended"]:
        return "while it ran"
    return "while DVC recorded it" if edited < ended else "after"


def outcome_of(said: str) -> str:
    """In one word what the stage or the next command said."""
    if "The entry is taken out" in said:
        return "taken out, run again"
    if "so its outputs are not recorded" in said or "it was changed after DVC looked" in said:
        return "refused"
    if "has read other values than params.yaml" in said:
        return "refused"
    if "ERROR" in said or "error:" in said:
        return f"failed: {said[-1500:]}"
    return "true at once"


# The page


def page(found: Sequence[Trial], seed: int) -> str:
    """What was seen, as a page of the docs."""
    edits = [(one, edit) for one in found for edit in one.edits]
    false = [name for one in found for name in one.false]
    failed = [f"{one.stage}: {why(one)}" for one in found if one.outcome.startswith("failed")]
    head = (
        f"Made by `python bench/faults edits --edits {len(edits)} --seed {seed}`; DVC {version('dvc')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, which other programs used too."
    )
    said = (
        f"{len(edits)} edits in {len(found)} runs of {len({one.stage for one in found})} stages, seed "
        f"{seed}: {len(false)} false records. {len(failed)} runs failed by themselves, which records "
        "nothing: a stage is run alone here, beside outputs that an earlier trial made with another seed."
    )
    lines = [head, "", said, *(f"- {one}" for one in (*false, *failed))]
    lines += table("run by", [(one.how, one) for one in found], "runs")
    lines += table("stage", [(one.stage, one) for one in found], "runs")
    lines += table("edit", [(f"{edit[1]}, {edit[2]}", one) for one, edit in edits], "edits")
    lines += table("edited", [(edit[0], one) for one, edit in edits], "edits")
    return "\n".join([*lines, ""])


def why(failed: Trial) -> str:
    """The error of a run that failed by itself."""
    lines = failed.outcome.splitlines()
    return next((line for line in reversed(lines) if re.match(r"\w+(Error|Exception)\b", line)), lines[-1])


def table(title: str, found: Sequence[tuple[str, Trial]], of: str) -> list[str]:
    """How often what came of it, by name."""
    lines = ["", f"| {title} | {of} | {' | '.join(HEADS)} |", f"|{'---|' * (len(HEADS) + 2)}"]
    for name in sorted({name for name, _ in found}):
        own = [one for given, one in found if given == name]
        counts = [sum(one.outcome == head for one in own) for head in HEADS[:-1]]
        counts.append(sum(bool(one.false) for one in own))
        lines.append(f"| {name} | {len(own)} | {' | '.join(map(str, counts))} |")
    return lines


# The start


def run(folder: Path, edits: int, seed: int, revision: str) -> Iterator[str]:
    """The first run, or the one that an earlier start left in the folder, then the trials.

    Yields:
        The page of the trials that were there, and after each further one.
    """
    root, notes = folder / "radrl", folder / "witness"
    prepare(folder, revision)
    bench = Bench(root, notes)
    if not (folder / "codes.json").is_file():
        logged = (folder / "log").open("wb")
        subprocess.run(
            [sys.executable, "-m", "radrl.commands", "repro"],
            cwd=root,
            check=True,
            stdout=logged,
            stderr=logged,
        )
        (folder / "codes.json").write_text(json.dumps(bench.codes()))
    codes = json.loads((folder / "codes.json").read_text())
    write(bench.module, bench.variant(0))
    bench.code()
    if false := bench.false(codes):
        raise SystemExit(f"false before any edit: {false}")
    kept = folder / f"trials-{seed}.jsonl"
    lines = kept.read_text().splitlines() if kept.is_file() else []
    found = [Trial(**json.loads(line)) for line in lines]
    if found:
        yield page(found, seed)
    with server(root) as warm:
        runner = DvcStages(root, root / "build/repro", warm)
        while sum(len(one.edits) for one in found) < edits:
            rng = np.random.default_rng([seed, len(found)])
            stage = [*KEYS][len(found) % len(KEYS)]
            how = "dvc" if rng.random() < 0.2 else "radrl"
            found.append(bench.trial(stage, how, runner, codes, rng))
            line = json.dumps(asdict(found[-1]))
            print(f"{len(found)} {line}", file=sys.stderr, flush=True)
            with kept.open("a") as stream:
                stream.write(line + "\n")
            if found[-1].false:
                mend(bench)
            yield page(found, seed)


def mend(bench: Bench) -> None:
    """Take false entries out by hand, so that each is counted once."""
    text = yaml.safe_load((bench.root / "dvc.lock").read_text())
    runs, codes = bench.runs(), json.loads((bench.root.parent / "codes.json").read_text())
    for stage, entry in lock(bench.root).items():
        if stage != "code" and untrue(bench.root, entry, runs.get(stage, []), codes):
            del text["stages"][stage]
    (bench.root / "dvc.lock").write_text(yaml.safe_dump(text, sort_keys=False))


def prepare(folder: Path, revision: str) -> None:
    """The clone and the plugin, and this process started again with the clone's own package."""
    root, plugin = folder / "radrl", folder / "plugin"
    if not root.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        clone(root, revision)
        (folder / "witness").mkdir()
        shutil.copytree(
            ROOT / "bench/faults", plugin / "faults", ignore=shutil.ignore_patterns("__pycache__")
        )
        described = plugin / "radrl_witness-1.dist-info"
        described.mkdir(parents=True)
        (described / "METADATA").write_text("Metadata-Version: 2.1\nName: radrl-witness\nVersion: 1\n")
        (described / "entry_points.txt").write_text("[kedro.hooks]\nwitness = faults.witness:witness\n")
    path = os.pathsep.join(map(str, (root / "src", plugin)))
    if os.environ.get("PYTHONPATH") != path:
        own = variables(root, MLFLOW_TRACKING_URI="off", **{FOLDER: str(folder / "witness")})
        given = [sys.executable, str(ROOT / "bench/faults"), "edits", *sys.argv[1:]]
        if "--folder" not in given:
            given += ["--folder", str(folder)]
        os.execve(sys.executable, given, own | {"PYTHONPATH": path})


def main() -> None:
    """Edit, look, and print the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--revision", default="HEAD", help="the commit whose code runs")
    parser.add_argument("--folder", type=Path, help="keeps what has run; default: a temporary folder")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()

    text, folder = "", given.folder or Path(tempfile.mkdtemp(prefix="edits-"))
    for text in run(folder.absolute(), given.edits, given.seed, given.revision):
        if given.write:
            given.write.write_text("# bench/edits\n\n" + text)
    print(text)


if __name__ == "__main__":
    main()
