"""Run every stage that is out of date, several at once: what `kedro repro run` does."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
from tqdm import tqdm

from kedro_repro import cpu_seconds
from kedro_repro.dvc_repair import mend
from kedro_repro.false_records import find, take_out
from kedro_repro.fork_server_process import pays, server
from kedro_repro.locks import alone
from kedro_repro.params_values import read_params
from kedro_repro.programs import duration
from kedro_repro.project import Project
from kedro_repro.restored_outputs import was_restored, was_skipped
from kedro_repro.schedule import StageFailed, run_stages
from kedro_repro.stage_graph import Graph, out_of_date, stages, would_run
from kedro_repro.stage_runner import DvcStages

LOGS: Final = Path("build/repro")
"""Where each stage's output goes, from the project's root."""

INTERRUPTED: Final = 130
"""The exit status after a SIGINT, as shells have it: 128 + the signal."""

_WARNING: Final = re.compile(r"(?:\d\d\d\d-\d\d-\d\d )?\d\d:\d\d:\d\d (?:WARNING|ERROR) +(.*)")
"""A line of a stage's log that is for people, as a project's conf/logging.yml may write it."""


class Around:
    """What a project does before and after its stages run; a subclass is named in its table, as ``around``.

    Args:
        root: the project's folder.
    """

    command = ""
    """What people typed, for messages; empty for what the project's table says."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def jobs(self, params: Mapping[str, Any]) -> int:
        """How many stages run at once where nobody says: as many as there are cores.

        Args:
            params: params.yaml.
        """
        return cores()

    def before(self) -> None:
        """Refuse what is wrong with params.yaml, before DVC reads it and any file is changed."""

    def before_stages(self, chosen: Collection[str]) -> None:
        """Refuse what is lacking on the machine, before the first stage runs.

        Args:
            chosen: the stages that will run.
        """

    def after_failure(self, chosen: Collection[str]) -> str:
        """What to add to the message when a stage has failed; nothing by default."""
        return ""

    def after(self, graph: Graph, params: Mapping[str, Any]) -> None:
        """Show what came of it, where everything was asked for.

        Args:
            graph: of all stages.
            params: params.yaml.
        """


def around(project: Project) -> Around:
    """What a project does before and after, as its table says."""
    module, _, name = project.around.partition(":")
    made: Around = getattr(import_module(module), name)(project.root)
    return made


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def reproduce(
    project: Project,
    targets: Sequence[str],
    jobs: int | None,
    own: Around,
    *,
    dry_run: bool = False,
    verbose: bool = False,
) -> None:
    """Run every stage that is out of date, or some and what they need.

    Args:
        project: whose stages they are.
        targets: the stages that are asked for; all without any.
        jobs: how many run at once; nothing for what the project says.
        own: what the project does before and after.
        dry_run: say what would run, and change no file.
        verbose: print what stages print, too.

    Raises:
        StageFailed: of the first stage that fails.
        kedro_repro.locks.AlreadyRunning: when another process runs stages here.
        kedro_repro.stage_graph.DvcError: when DVC refuses.
    """
    root = project.root
    own.before()
    params = read_params(root)
    at_once = jobs or own.jobs(params)
    if dry_run:
        for untrue in (found := find(root)).values():
            click.echo(untrue, err=True)
        graph = stages(root, targets)
        _show(graph, would_run(root, graph, found), at_once)
        return
    # from here on, nobody else starts stages
    with alone(root / LOGS, own.command or f"{project.program} {project.run_command}", say=_say) as held:
        for mended in mend(root):
            _say(mended)
        for untrue in take_out(root).values():  # DVC cannot know that such a stage is out of date
            _say(untrue)
        graph = stages(root, targets)
        chosen = out_of_date(root, graph)
        if chosen:
            own.before_stages(chosen)
        _run(project, graph, chosen, params, at_once, [held], own, verbose=verbose)
    if not targets:  # with some, what others made may be of another time
        own.after(graph, params)


def _run(
    project: Project,
    graph: Graph,
    chosen: set[str],
    params: Mapping[str, Any],
    jobs: int,
    held: Sequence[int],
    own: Around,
    *,
    verbose: bool,
) -> None:
    """Run stages; what runs holds the locks too, so that nobody starts beside what outlives this process."""
    root, began = project.root, time.monotonic()
    os.environ.setdefault(
        project.group_variable, f"{project.run_command} {time.strftime('%Y-%m-%d %H:%M:%S')}"
    )
    with server(root, held) if pays(project, chosen, params) else nullcontext() as warm:
        runner = DvcStages(root, root / LOGS, warm, held)
        printed = Printed(runner, chosen) if verbose else None
        with Bar(len(chosen), runner, printed) as bar:
            try:
                run_stages(graph, chosen, runner, bar, jobs=jobs)
            except (KeyboardInterrupt, SystemExit) as end:
                raise stopped(end) from None
            except StageFailed as failed:
                raise StageFailed("\n".join(filter(None, [str(failed), own.after_failure(chosen)]))) from None
    say_end(graph, [runner.log(stage) for stage in chosen], time.monotonic() - began)


def stopped(end: KeyboardInterrupt | SystemExit) -> click.exceptions.Exit:
    """Say what a signal leaves behind.

    Args:
        end: what the signal became.

    Returns:
        What ends the command, with the status that a shell gives the signal.
    """
    click.echo("\nstopped: finished stages are kept; started again, it goes on where it was", err=True)
    code = getattr(end, "code", INTERRUPTED)
    return click.exceptions.Exit(code if isinstance(code, int) else 1)


def _say(line: str) -> None:
    click.echo(line, err=True)


def say_end(graph: Graph, logs: Sequence[Path], seconds: float) -> None:
    """Say how many stages ran, came from the cache, or had nothing to do, and what it cost."""
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


class Printed:
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


class Bar:
    """Stages that are done and those that run, on the terminal; one line a stage anywhere else.

    Args:
        total: how many stages run.
        runner: runs them.
        printed: with it all that they print is shown, else warnings alone.
    """

    def __init__(self, total: int, runner: DvcStages, printed: Printed | None = None) -> None:
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

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        for stage in self._running:  # one that failed or was ended
            self._print(stage, ended=True)
        self._bar.close()

    def running(self, times: Mapping[str, float]) -> None:
        """Show what runs, each for how many seconds."""
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
        """Show that a stage ended well, and its warnings."""
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
