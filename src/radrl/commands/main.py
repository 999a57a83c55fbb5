"""The command `radrl` itself: which subcommands there are, and how it ends."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import FrameType
from typing import Any, Final, NoReturn

from radrl.process import importing

importing.go_offline()
importing.space_bars()

import click  # noqa: E402  (after the switches)

from radrl.commands.project import INTERRUPTED  # noqa: E402
from radrl.storage import refused  # noqa: E402

_COMMANDS: Final = {
    "claims": "Gather the verdicts of several studies in one table.",
    "code": "Digest what each stage's code does, or list the files of one.",
    "dag": "Draw the pipeline, narrow enough for a screen.",
    "doctor": "Say what this machine has of what a recipe wants, and what the rest costs.",
    "label": "Read the 14 CheXpert observations out of reports.",
    "parts": "List what params.yaml can name: rewards, credits, selections, sources, metrics, labelers.",
    "plan": "Say what a recipe needs: films, tokens, memory, processes, hours.",
    "report": "Write reports on films with a trained arm.",
    "repro": "Run the pipeline's stages that are out of date, several at once.",
    "rexrank": "Write reports on ReXrank's studies with a trained arm, in its form.",
    "rexrank-pairs": "Put predictions in ReXrank's form beside their references, to score them.",
    "rows": "Score another system's released reports as a row of the comparison.",
    "score": "Score generated reports against their references.",
    "serve": "Serve a trained arm on this machine: films in, reports out.",
    "study": "Run a study file: its arms over runs and seeds, in one table.",
    "ui": "Show every run in MLflow's pages, the arms side by side.",
}
"""With their one-line help: a command's module is imported when it is asked for."""

_BESIDE: Final = {
    "code": "stages:code",
    "dag": "stages:dag",
    "rexrank-pairs": "rexrank:pairs",
    "serve": "servers:serve",
    "ui": "servers:ui",
}
"""Commands that share a module, and what they are there; any other is `command` of the module of its name."""


class _Commands(click.Group):
    """Imports a subcommand when it is named, and says errors in their own words."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _BESIDE.get(cmd_name, f"{cmd_name}:command").partition(":")
        command = getattr(importlib.import_module(f"radrl.commands.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\ninterrupted: no file was written", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("RADRL_TRACEBACK"):
                raise
            raise click.ClickException(_message(error)) from error


def _message(error: Exception) -> str:
    """What went wrong; radrl's own errors name the file, row or key and the mend."""
    if (mend := refused.mend(error)) and mend not in str(error):  # a stage has said it already
        return f"{str(error).rstrip()}\nMend: {mend}"
    if isinstance(error, (ValueError, RuntimeError, OSError, ImportError)) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error} (this is a bug: RADRL_TRACEBACK=1 shows where)"


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  radrl label reports.csv -o labels.csv
  radrl score outputs.csv --reference findings --hypothesis generated --bootstrap 1000
  radrl repro
  radrl study conf/recipes/study-deer-table4.yaml --dry-run
  radrl COMMAND --help          all there is to a command

\b
Exit codes: 0 done; 1 the data or a tool is at fault, and says which row or which tool;
2 the command line is; 129, 130, 143 ended by a signal. A file is written whole or not at all.
Nothing is sent anywhere. RADRL_TRACEBACK=1 shows where an error came from.""",
)
@click.version_option(package_name="radrl", prog_name="radrl")
def cli() -> None:
    """Labels and scores for chest X-ray reports of any system.

    Every metric's name states its protocol: who read the labels, how they are averaged, what an uncertain
    finding counts as. Tables go in as CSV, TSV, JSON lines or Parquet.
    """


def main() -> NoReturn:
    """Run the command line and end the process."""
    signal.signal(signal.SIGTERM, _terminated)
    # a terminal that was closed; `nohup` has it ignored, and it stays so
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminated)
    cli(prog_name="radrl")
    raise AssertionError("click ends the process")


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """End by way of the `finally` blocks, which take unfinished files away."""
    sys.exit(128 + number)
