"""`radrl repro`: `dvc repro` with several stages at once."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import click
from tqdm import tqdm

from radrl.commands.project import complete_stages, project_folder, stopped
from radrl.data.sources.base import drawn
from radrl.pages.caveats import DRAWN_FILMS, ONE_SEED
from radrl.pages.earlier import of_an_earlier_run
from radrl.pipelines.stages import LAST
from radrl.process import started_for
from radrl.process.programs import DVC, duration, environment
from radrl.reproduction.graph import Graph, out_of_date, stages, would_run
from radrl.reproduction.mending import mend
from radrl.reproduction.restored import was_restored, was_skipped
from radrl.reproduction.schedule import StageFailed, run_stages
from radrl.reproduction.stage import DvcStages
from radrl.reproduction.untrue import find, take_out
from radrl.reproduction.warm import pays, server
from radrl.storage import cpu_seconds, yaml_files
from radrl.storage.locks import alone

_EXAMPLES: Final = """\b
Examples:
  radrl repro                    everything that is out of date
  radrl repro --jobs 1           one stage after another, as `dvc repro` does
  radrl repro eval@deer          one arm, and what it needs
  radrl repro --dry-run          what would run"""

LOGS: Final = Path("build/repro")
PAGE: Final = "data/08_reporting/comparison/comparison.html"
NEXT: Final = f"""\
the page    {PAGE}
all runs    radrl ui
dvc.lock    says what ran with what; commit it to come back to it"""
LAPTOP_BYTES: Final = 100e6
"""Weights up to this size leave room for other stages beside the one that trains them."""

_WARNING: Final = re.compile(r"\d\d:\d\d:\d\d (?:WARNING|ERROR) +(.*)")
"""A line of a stage's log that is for people, as conf/logging.yml writes it."""


@click.command("repro", epilog=_EXAMPLES)
@click.argument("targets", metavar="[STAGE]...", nargs=-1, shell_complete=complete_stages)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Stages that run at once.  [default: cores / `threads` for a laptop's policy, else 1]",
)
@click.option("--dry-run", is_flag=True, help="Say what would run; run nothing, and change no file.")
@click.option("--verbose", is_flag=True, help="Print all that stages print, too, while they run.")
def command(targets: tuple[str, ...], jobs: int | None, dry_run: bool, verbose: bool) -> None:
    """Run every stage that is out of date, or STAGE and what it needs, several at once.

    DVC runs each stage and records it in dvc.lock, so the outcome is that of `dvc repro`, byte for byte; what
    is new is that stages which do not wait for one another run side by side. What a stage prints goes to
    build/repro/STAGE.log, its warnings, or with --verbose all of it, also here.

    Kill it when you like: finished stages are kept, and training goes on from its last checkpoint.
    """
    root = project_folder(Path.cwd())
    params = yaml_files.read(root / "params.yaml")  # before DVC reads it, whose message has no mend
    _refuse_what_is_wrong(root)
    if dry_run:
        for untrue in (found := find(root)).values():
            _say(untrue)
        graph = stages(root, targets)
        _show(graph, would_run(root, graph, found), jobs or default_jobs(params))
        return
    with alone(root / LOGS, "radrl repro", say=_say) as held:  # from here on, nobody else starts stages
        for mended in mend(root):
            _say(mended)
        _say_untrue(root)
        graph = stages(root, targets)
        chosen = out_of_date(root, graph)
        _refuse_what_lacks(root, chosen)
        _run(root, graph, chosen, params, jobs or default_jobs(params), [held], verbose=verbose)
    if not targets:  # with some, other arms' figures may be of another time
        _show_headlines(root, graph, params)


def _run(
    root: Path,
    graph: Graph,
    chosen: set[str],
    params: Mapping[str, Any],
    jobs: int,
    held: Sequence[int],
    *,
    verbose: bool,
) -> None:
    """Run stages; what runs holds the locks too, so that nobody starts beside what outlives this process."""
    began = time.monotonic()
    os.environ.setdefault(started_for.VARIABLE, started_for.now("repro"))
    with server(root, held) if pays(chosen, params) else nullcontext() as warm:
        runner = DvcStages(root, root / LOGS, warm, held)
        printed = _Printed(runner, chosen) if verbose else None
        with _Bar(len(chosen), runner, printed) as bar:
            try:
                run_stages(graph, chosen, runner, bar, jobs=jobs)
            except (KeyboardInterrupt, SystemExit) as end:
                raise stopped(end) from None
            except StageFailed as failed:
                old = of_an_earlier_run(root / PAGE, root) if LAST in chosen else ""
                raise StageFailed("\n".join(filter(None, [str(failed), old]))) from None
    _say_end(graph, [runner.log(stage) for stage in chosen], time.monotonic() - began)


def _say_untrue(root: Path) -> None:
    """Take out what dvc.lock says and what did not run: DVC cannot know that such a stage is out of date."""
    for untrue in take_out(root).values():
        _say(untrue)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _refuse_what_is_wrong(root: Path) -> None:
    """Before dvc.lock is touched: the first stage would say the same, where stages are Kedro's."""
    if not (root / "pyproject.toml").is_file():
        return
    from radrl.doctor.recipe import refusal

    if said := refusal(root / "params.yaml"):
        raise click.ClickException(said)


def _refuse_what_lacks(root: Path, chosen: Collection[str]) -> None:
    """Look before the first stage runs: the last may run tomorrow."""
    if not chosen:
        return
    from radrl.doctor.findings import mends
    from radrl.doctor.recipe import lacking

    if lacks := lacking(root / "params.yaml", root, chosen):
        raise click.ClickException("\n".join(["params.yaml asks for what is not there:", *mends(lacks)]))


def _say_end(graph: Graph, logs: Sequence[Path], seconds: float) -> None:
    if not logs:
        click.echo(f"nothing to run; {len(graph)} stages are up to date", err=True)
        return
    restored, skipped = (sum(map(was, logs)) for was in (was_restored, was_skipped))
    cpu = f"{cpu_seconds.used() / 60:.1f} CPU minutes"  # of every process below this one
    ran = len(logs) - restored - skipped
    done = f"{ran} stage{'s' * (ran != 1)} ran"
    done += f", {restored} came from the cache" if restored else ""
    left = len(graph) - len(logs) + skipped
    click.echo(f"{done}, in {duration(seconds)}, {cpu}; {left} of {len(graph)} had nothing to do", err=True)


def _show_headlines(root: Path, graph: Graph, params: Mapping[str, Any]) -> None:
    arms = [stage.removeprefix("eval@") for stage in graph if stage.startswith("eval@")]
    figures = [f"data/08_reporting/eval/{arm}/headline.json" for arm in arms]
    subprocess.run([*DVC, "metrics", "show", *figures], cwd=root, env=environment(), check=False)
    if drawn(params["ingest"]):
        click.echo(DRAWN_FILMS, err=True)
    click.echo(ONE_SEED, err=True)
    click.echo(f"\n{NEXT}", err=True)
    if activate := not_activated(root):
        click.echo(
            f"commands    {activate}   (once a terminal: then radrl, kedro, dvc and mlflow are found)",
            err=True,
        )


def not_activated(root: Path) -> str:
    """How to activate the project's environment; empty where commands are found without.

    Args:
        root: the project's folder.
    """
    script = Path(sys.prefix) / "bin" / "activate"
    if os.environ.get("VIRTUAL_ENV") or not script.is_file():
        return ""
    return f"source {script.relative_to(root) if script.is_relative_to(root) else script}"


def default_jobs(params: Mapping[str, Any]) -> int:
    """How many stages run at once where nobody says.

    Args:
        params: params.yaml.

    Returns:
        As many as the cores carry, for a laptop's policy; 1 for a real one, which takes a GPU for itself.
    """
    path = params["policy"]["path"]
    if path is not None and _bytes_of_weights(Path(path)) > LAPTOP_BYTES:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // int(params["threads"]))


def _bytes_of_weights(folder: Path) -> float:
    """What a policy's weights take; without end where there are none to see, so that nothing is risked."""
    files = list(folder.glob("*.safetensors"))
    return sum(file.stat().st_size for file in files) if files else math.inf


class _Printed:
    """What stages print, in whole lines, each once."""

    def __init__(self, runner: DvcStages, chosen: Iterable[str]) -> None:
        self._logs = {stage: runner.log(stage) for stage in chosen}
        self._read = dict.fromkeys(self._logs, 0)
        for log in self._logs.values():  # of an earlier start, until the stage begins
            log.unlink(missing_ok=True)

    def more(self, stage: str, *, ended: bool = False) -> str:
        """What a stage has printed since it was last asked; an unfinished line only where it has ended."""
        if not self._logs[stage].is_file():
            return ""
        with self._logs[stage].open("rb") as stream:
            stream.seek(self._read[stage])
            new = stream.read()
        new = new if ended else new[: new.rfind(b"\n") + 1]
        self._read[stage] += len(new)
        return new.decode(errors="replace") + ("\n" if new and not new.endswith(b"\n") else "")


class _Bar:
    """Stages that are done and those that run, on the terminal; one line a stage anywhere else.

    Args:
        total: how many stages run.
        runner: runs them.
        printed: with it all that they print is shown, else warnings alone.
    """

    def __init__(self, total: int, runner: DvcStages, printed: _Printed | None = None) -> None:
        self._runner, self._printed = runner, printed
        self._running: set[str] = set()
        self._bar = tqdm(
            total=total,
            desc="stages",
            disable=None if total else True,
            leave=False,
            # no rate: a stage takes seconds or minutes, so it would tell nothing of what is left
            bar_format="{desc} {n_fmt}/{total_fmt} |{bar:30}| {elapsed}{postfix}",
        )

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        for stage in self._running:  # one that failed or was ended
            self._print(stage, ended=True)
        self._bar.close()

    def running(self, times: Mapping[str, float]) -> None:
        for stage in times.keys() - self._running:
            if self._bar.disable and not self._printed:  # else nothing is seen of it until it ends
                log = os.path.relpath(self._runner.log(stage))
                self._bar.write(f"{stage:24s} started, {log}", file=sys.stderr)
        self._running = set(times)
        for stage in times:
            self._print(stage)
        self._bar.set_postfix_str(
            ", ".join(f"{stage} {duration(seconds)}" for stage, seconds in times.items())
        )

    def done(self, stage: str, seconds: float) -> None:
        self._print(stage, ended=True)
        self._bar.update()
        self._bar.write(f"{stage:24s} {duration(seconds)}", file=sys.stderr)
        if self._printed:
            return
        for line in self._runner.log(stage).read_text(encoding="utf-8", errors="replace").splitlines():
            if found := _WARNING.fullmatch(line):
                self._bar.write(f"    {found[1]}", file=sys.stderr)

    def _print(self, stage: str, *, ended: bool = False) -> None:
        if self._printed and (more := self._printed.more(stage, ended=ended)):
            self._bar.write(more, file=sys.stderr, end="")


def _show(graph: Graph, chosen: set[str], jobs: int) -> None:
    click.echo(f"{len(chosen)} of {len(graph)} stages to run, {jobs} at once")
    for stage in graph:
        if stage in chosen:
            click.echo(f"  {stage}")
