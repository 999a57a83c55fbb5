"""Run the notebooks on what a study left, and write them as pages of the site with their pictures.

python tools/notebooks.py            docs/notebooks anew, from the outputs in data/
python tools/notebooks.py --check    exit 1 where a page has other cells than its notebook (a test does this)

Notebooks are kept without outputs; the pages hold those of the shipped study. To run them needs the extra
`notebooks`, to check them nothing.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docsite.made import ROOT

NOTEBOOKS, PAGES = ROOT / "notebooks", ROOT / "docs/notebooks"
SHOWN = ["image/png", "text/plain"]
"""A table as text: as HTML it would bring pandas' own style into the site."""
CAPTION = "*From drawn films of the shipped study.*"
COLOURS = 256
"""Of a picture's palette: lines and films look as before, in half the bytes."""

_LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)]*)?\)")
_CODE = re.compile(r"^```python\n(.*?)\n```$", re.M | re.S)
_NOTE = (
    '!!! note ""\n'
    "    `{name}`, run on the shipped study: one seed, **films that are drawn**. What comes out\n"
    "    shows the machinery at work and says nothing about patients. [How to run it](index.md)."
)


@dataclass(frozen=True)
class Page:
    """A notebook as the site shows it.

    Args:
        text: Markdown.
        pictures: PNGs by file name.
    """

    text: str
    pictures: dict[str, bytes]


def paths() -> list[Path]:
    """The notebooks, in order."""
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def run(path: Path, data: Path, own: Path) -> Any:
    """Run a notebook in a kernel of this Python.

    Args:
        path: the notebook.
        data: the outputs it reads.
        own: the folder it may write a module into, which is on the kernel's path.

    Returns:
        It, with outputs.

    Raises:
        nbclient.exceptions.CellExecutionError: when a cell fails, with its traceback.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    found = os.environ.get("PYTHONPATH")
    env = os.environ | {
        "RADRL_DATA": str(data.resolve()),
        "RADRL_OWN": str(own),
        "PYTHONPATH": os.pathsep.join([str(own), *([found] if found else [])]),
        "IPYTHONDIR": str(own / ".ipython"),  # the user's own may change what comes out
    }
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as sockets:  # files: a port could be read by the machine's other users
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        folder = {"metadata": {"path": str(path.parent)}}
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder, config=config)
        return client.execute(env=env)


def page(notebook: Any, name: str) -> Page:
    """Turn a notebook with outputs into a page.

    Args:
        notebook: as `run` gives it.
        name: its path in the repository.
    """
    from nbconvert import MarkdownExporter
    from traitlets.config import Config

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_page_links(cell.source)
    config = Config({"NbConvertBase": {"display_data_priority": SHOWN}})
    stem = Path(name).stem
    text, resources = MarkdownExporter(config=config).from_notebook_node(notebook, {"unique_key": stem})
    title, rest = text.strip().split("\n", 1)
    lines = [title, "", *_NOTE.format(name=name).splitlines(), "", *rest.strip().splitlines()]
    text = "\n".join(line.rstrip() for line in _named_pictures(lines)) + "\n"
    return Page(text, {file: smaller(png) for file, png in resources["outputs"].items()})


def _named_pictures(lines: list[str]) -> Iterator[str]:
    """A page's lines; each picture has its section's heading for a name, and a caption."""
    heading = ""
    for line in lines:
        heading = line.lstrip("# ") if line.startswith("## ") else heading
        yield line.replace("![png](", f"![{heading}](")
        if line.startswith("![png]("):
            yield from ("", CAPTION)


def with_page_links(text: str) -> str:
    """A cell's Markdown with links as they are from docs/notebooks, to pages of the site if any."""

    def turned(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("notebooks", found[1]))
        if target.endswith(".ipynb"):
            target = f"docs/{target.removesuffix('.ipynb')}.md"
        return f"]({posixpath.relpath(target, 'docs/notebooks')}{found[2] or ''})"

    return _LINK.sub(turned, text)


def smaller(png: bytes) -> bytes:
    """A picture with a palette, and without what wrote it."""
    import io

    from PIL import Image

    stream = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def differences() -> list[str]:
    """What of docs/notebooks does not belong to the notebooks, in words; nothing where all does."""
    wrong = []
    for path in paths():
        written = PAGES / f"{path.stem}.md"
        if not written.is_file():
            wrong.append(f"{written.relative_to(ROOT)} is missing")
        elif not _belongs(written.read_text(encoding="utf-8"), path):
            wrong.append(f"{written.relative_to(ROOT)} has other cells than {path.relative_to(ROOT)}")
    pages = {path.stem for path in paths()} | {"index"}
    wrong += [f"{f.relative_to(ROOT)} has no notebook" for f in PAGES.glob("*.md") if f.stem not in pages]
    shown = "".join(f.read_text(encoding="utf-8") for f in PAGES.glob("*.md"))
    wrong += [
        f"{f.relative_to(ROOT)} is on no page" for f in PAGES.glob("*.png") if f"({f.name})" not in shown
    ]
    return wrong


def _belongs(text: str, path: Path) -> bool:
    """Whether a page has a notebook's code cells, all of them and no other, and its text."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    source = {
        kind: ["".join(c["source"]) for c in cells if c["cell_type"] == kind] for kind in ("code", "markdown")
    }
    said = [with_page_links(cell) for cell in source["markdown"]]
    said = [part for cell in said for part in cell.split("\n", 1)]  # the note stands below the title
    return _CODE.findall(text) == source["code"] and all(part.strip() in text for part in said)


def write(data: Path) -> None:
    """Run all notebooks, then write all pages: a notebook that fails leaves them as they are."""
    made = {}
    for path in paths():
        with tempfile.TemporaryDirectory() as own:
            shown = page(run(path, data, Path(own)), path.relative_to(ROOT).as_posix())
        made[path.stem] = Page(shown.text.replace(own, "../src"), shown.pictures)
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.png"):
        old.unlink()
    for stem, one in made.items():
        (PAGES / f"{stem}.md").write_text(one.text, encoding="utf-8")
        for name, png in one.pictures.items():
            (PAGES / name).write_bytes(png)


def main() -> int:
    """Write the pages, or say what is wrong with them."""
    if "--check" not in sys.argv[1:]:
        write(Path(os.environ.get("RADRL_DATA", ROOT / "data")))
        return 0
    wrong = differences()
    if wrong:
        print("\n".join([*wrong, "run `make notebooks` after `make repro`, and commit docs/notebooks"]))
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
