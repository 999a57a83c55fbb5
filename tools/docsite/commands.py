"""The reference of `radrl`'s commands and of make's targets: what they say themselves."""

from __future__ import annotations

import re
import subprocess
import sys

import click
from click.testing import CliRunner

from docsite.long_pages import pages as cut
from docsite.made import ROOT, Made, table
from radrl.commands import main

_TARGET = re.compile(r"^([a-z-]+):[^\n#]*## (.*)$", re.M)
COMMANDS = "reference/commands.md"
PARTS = "reference/parts.md"
PARTS_OPENING = """# Parts

What `params.yaml` can name, by kind, as `radrl parts --markdown` prints it: what a part is
given, what it gives, its settings.

"""


def names() -> list[str]:
    """The commands that `radrl` has."""
    return list(main.cli.list_commands(click.Context(main.cli)))


def targets() -> dict[str, str]:
    """The targets of the Makefile with their help."""
    return dict(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))


def pages() -> list[Made]:
    """What every command says when it is asked for help."""
    text = "# Commands\n\nAs the commands say it themselves (`radrl COMMAND --help`, `make`).\n"
    for name in ["", *names()]:
        text += f"\n## `{f'radrl {name}'.strip()}`\n\n```text\n{_help(name)}\n```\n"
    rows = [[f"`make {name}`", said] for name, said in targets().items()]
    return cut(COMMANDS, f"{text}\n## make\n\n{table(['target', ''], rows)}")


def _help(name: str) -> str:
    shown = CliRunner().invoke(
        main.cli, [*filter(None, [name]), "--help"], prog_name="radrl", terminal_width=100
    )
    return shown.output.rstrip()


def parts() -> list[Made]:
    """What `radrl parts --markdown` prints."""
    program = "from radrl.commands.main import main; main()"
    printed = subprocess.run(
        [sys.executable, "-c", program, "parts", "--markdown"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return cut(PARTS, PARTS_OPENING + printed.stdout)
