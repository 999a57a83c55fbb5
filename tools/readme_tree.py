"""Write the tree of README.md from the first line of every module's docstring.

python tools/readme_tree.py            write it between the markers
python tools/readme_tree.py --check    exit 1 when it would change (a test does this)
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BEGIN, END = "<!-- tree: written by tools/readme_tree.py -->\n", "<!-- end of tree -->\n"
WIDTH = 44


def tree() -> str:
    """src/radrl as indented lines, packages before their modules."""
    lines = ["```", *_lines(ROOT / "src/radrl", 0), "```"]
    return "\n".join(lines) + "\n"


def _lines(folder: Path, depth: int) -> list[str]:
    lines = [_line(f"{folder.name}/", folder / "__init__.py", depth)]
    for entry in sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name)):
        if entry.is_dir() and (entry / "__init__.py").is_file():
            lines += _lines(entry, depth + 1)
        elif entry.suffix == ".py" and entry.name != "__init__.py":
            lines.append(_line(entry.name, entry, depth + 1))
    return lines


def _line(name: str, module: Path, depth: int) -> str:
    doc = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    summary = " ".join(doc.split("\n\n")[0].split()).rstrip(".:")
    return f"{'  ' * depth}{name}".ljust(WIDTH) + summary


def main() -> int:
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
