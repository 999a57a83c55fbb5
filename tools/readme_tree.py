"""Write the tree of README.md from the first line of every package's docstring.

python tools/readme_tree.py            write it between the markers
python tools/readme_tree.py --check    exit 1 when it would change (a test does this)

Packages of two levels are shown; the stages' own and the modules stand in the docs site.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docsite.made import ROOT
from docsite.packages import SOURCE, inside, summary

README = ROOT / "README.md"
BEGIN, END = "<!-- tree: written by tools/readme_tree.py -->\n", "<!-- end of tree -->\n"
WIDTH = 22
STAGES = "pipelines"


def tree() -> str:
    """The packages of src/radrl as indented lines."""
    lines = ["```text", _line(SOURCE, 0)]
    for package in inside(SOURCE):
        lines.append(_line(package, 1))
        lines += [_line(inner, 2) for inner in inside(package) if package.name != STAGES]
    return "\n".join([*lines, "```"]) + "\n"


def _line(package: Path, depth: int) -> str:
    return f"{'  ' * depth}{package.name}/ ".ljust(WIDTH) + summary(package / "__init__.py")


def main() -> int:
    """Write the tree, or say whether it would change."""
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    wanted = head + BEGIN + tree() + END + rest.split(END)[1]
    if "--check" in sys.argv:
        if wanted != text:
            print("README.md's tree has drifted; run `make tree`.")
        return int(wanted != text)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
