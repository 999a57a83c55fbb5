"""Write docs/reproduction.md and its pages from conf/base/paper_rows.csv: what gives each row of the papers.

python tools/paper_rows.py            write the pages
python tools/paper_rows.py --check    exit 1 when one would change (a test does this)

The table names a row, its study and arm at the paper's scale, the study and arm on drawn films, the page of
a run of that study, and an arm of another study that resembles it. Recipe, needs and run of a study are read
from the study's file, the published figure stays in conf/base/published_results.csv.
"""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import yaml
from docsite.made import ROOT, table

ROWS = ROOT / "conf/base/paper_rows.csv"
RECIPES = ROOT / "conf/recipes"
INDEX = ROOT / "docs/reproduction.md"
FOLDER = ROOT / "docs/reproduction"
OTHER = "other system"
"""The note of a row that no arm of ours gives."""
LIKE = "study-combinations"
"""The study, run and committed, whose arms resemble some rows' and are no run of them."""
MADE = "<!-- written by tools/paper_rows.py from conf/base/paper_rows.csv -->\n\n"

INTRODUCTION = f"""\
# Every row of the papers

{MADE}One line for every row of every table and figure of the three papers: the study and arm that give it
at the paper's scale, those that give it on drawn films, and the page of a run of the latter, or
"never". On drawn films a row shows that the machinery works and says nothing about patients; **at
the papers' scale nothing has been run**.

**A like arm is no run of a row**: it is the arm of `{LIKE}` that comes nearest. Where it
has the name of the row's own arm it was trained alike; its page has other arms beside it, other
seeds and tests, and not the paper's figure.

| paper | rows | with an arm or stage of ours | other systems | run, on drawn films | a like arm alone |
| --- | --- | --- | --- | --- | --- |
"""
CLOSING = """
`radrl study` runs a study's file, which lies in conf/recipes as its recipe does
([studies](studies.md)). An arm is written as `run.arm` where the study has several runs.

**Other systems** (R2Gen, MedGemma, ...) are not trained here. Their rows are the papers' figures,
which stand below a study's own rows; their outputs on films of yours are scored as further rows of
the comparison by `compare.systems`. Trainers and scorers that do like work, with CXRMate-2, stand
[beside radrl feature by feature](peers.md).

**Seconds an image** (OraPO, section 4.2: 3.3) are told by stage `generate` on the terminal and, as
`generate/seconds_per_image`, in MLflow, where the run has the batch size among its parameters. They
stand in no output, since the same inputs give the same reports but not the same seconds. Set
`generate.batch_size` to 1 for what a reader waits. The laptop's policy of 1 M parameters took 0.11
s at 1 film and 0.026 s at 64 films a batch on one thread of a busy processor (arm grpo, 100 drawn
films, up to 128 tokens). Nothing is known yet of a policy of 3 B parameters.
"""


@dataclass(frozen=True)
class Row:
    """A line of conf/base/paper_rows.csv.

    Args:
        paper: its name.
        place: the table or figure, as in "table 1".
        dataset: what the paper measured on.
        method: the row's name, as conf/base/published_results.csv has it where it has the row.
        rl_train_size: likewise.
        study: at the paper's scale, by name; nothing where no study gives the row.
        arm: of that study, or `run.arm`.
        drawn_study: the study on drawn films.
        drawn_arm: likewise.
        ran: the committed page of a run of the study on drawn films, or "never"; of what a stage gives
            without a study, the page of that stage's run.
        ran_arm: what the row is called there.
        like_arm: the arm of `LIKE` that resembles a row that was never run, or nothing.
        note: how else it comes about, or `OTHER`.
    """

    paper: str
    place: str
    dataset: str
    method: str
    rl_train_size: str
    study: str
    arm: str
    drawn_study: str
    drawn_arm: str
    ran: str
    ran_arm: str
    like_arm: str
    note: str

    @property
    def page(self) -> str:
        """The name of its paper's page."""
        return self.paper.lower().replace("-", "_")


def rows() -> list[Row]:
    """The table, in its order."""
    with ROWS.open(encoding="utf-8", newline="") as stream:
        return [Row(**line) for line in csv.DictReader(stream)]


def said(study: str, key: str) -> str:
    """What the head of a study's file says under a key, in one line."""
    text = (RECIPES / f"{study}.yaml").read_text(encoding="utf-8")
    found = re.search(rf"^# {key}  +(.*(?:\n#  +.*)*)", text, flags=re.MULTILINE)
    if not found:
        raise ValueError(f"{study}.yaml: its head has no line {key!r}")
    return " ".join(found[1].replace("\n#", " ").split()).removeprefix("what its recipe needs: ")


def recipe(study: str) -> str:
    """The recipe that a study starts from, without its ending."""
    given = yaml.safe_load((RECIPES / f"{study}.yaml").read_text(encoding="utf-8"))
    return str(given["recipe"]).removesuffix(".yaml")


def pages() -> dict[Path, str]:
    """Every page's text, by file."""
    found = {INDEX: INTRODUCTION}
    for name, own in groupby(rows(), key=lambda row: row.paper):
        inside = list(own)
        others = sum(row.note == OTHER for row in inside)
        ran = sum(row.ran != "never" for row in inside)
        like = sum(bool(row.like_arm) for row in inside)
        link = f"[{name}](reproduction/{inside[0].page}.md)"
        found[INDEX] += f"| {link} | {len(inside)} | {len(inside) - others} | {others} | {ran} | {like} |\n"
        found[FOLDER / f"{inside[0].page}.md"] = _page(name, inside)
    found[INDEX] += CLOSING
    return found


def _page(paper: str, inside: list[Row]) -> str:
    parts = [
        f"# {paper}, row by row\n\n{MADE}[What the columns mean](../reproduction.md).\n",
        _studies(inside),
    ]
    for place in dict.fromkeys(row.place for row in inside):
        here = [row for row in inside if row.place == place]
        own = [row for row in here if row.note != OTHER]
        parts.append(f"## {place[0].upper()}{place[1:]}\n")
        if own:
            header = ["row", "data", "at the paper's scale", "on drawn films", "run", "a like arm"]
            parts.append(table(header, [_line(row) for row in own]))
        named = _named([row for row in here if row.note == OTHER])
        if named:
            parts.append(f"Other systems, published figure or `compare.systems`; never run here: {named}.\n")
    return "\n".join(parts)


def _studies(inside: list[Row]) -> str:
    used = dict.fromkeys(name for row in inside for name in (row.study, row.drawn_study) if name)
    lines = [[f"`{name}`", f"`{recipe(name)}`", said(name, "needs"), said(name, "run")] for name in used]
    return "## Studies\n\n" + table(["study", "recipe", "needs", "run"], lines)


def _line(row: Row) -> list[str]:
    name = f"{row.method}, {row.rl_train_size}" if row.rl_train_size.strip("-") else row.method
    at_scale = _arm(row.study, row.arm)
    cell = "; ".join(part for part in (at_scale, row.note) if part) or "-"
    like = _link(row.like_arm, said(LIKE, "run")) if row.like_arm else "-"
    return [name, row.dataset, cell, _arm(row.drawn_study, row.drawn_arm) or "-", _run(row), like]


def _arm(study: str, arm: str) -> str:
    return f"`{study}`: {arm}" if study else ""


def _run(row: Row) -> str:
    if row.ran == "never":
        return "never"
    return _link(row.ran_arm, row.ran)


def _link(name: str, page: str) -> str:
    return f"[{name}](../{page.removeprefix('docs/')})"


def _named(others: list[Row]) -> str:
    """The other systems of a table, once each, with their data where a table has several."""
    data = dict.fromkeys(row.dataset for row in others)
    parts = []
    for dataset in data:
        names = [
            f"{row.method} ({row.rl_train_size})" if row.rl_train_size.strip("-") else row.method
            for row in others
            if row.dataset == dataset
        ]
        parts.append((f"on {dataset} " if len(data) > 1 else "") + ", ".join(names))
    return "; ".join(parts)


def main() -> int:
    """Write the pages, or say whether one would change."""
    changed = [
        path
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        for path in changed:
            print(f"{path.relative_to(ROOT)} has drifted; run `make rows`.")
        return int(bool(changed))
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
