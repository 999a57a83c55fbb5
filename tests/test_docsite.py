"""tools/docsite and tools/site_hook.py on small inputs."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import pytest
import site_hook
from docsite import house, long_pages, parameters, shipped
from docsite.layout import layout
from docsite.made import Made
from pydantic import BaseModel, Field


class Inner(BaseModel):
    """What is inside."""

    share: Annotated[float, Field(ge=0, le=1)]
    kind: Literal["a", "b", "c"] = "b"


class Outer(BaseModel):
    """A section."""

    count: Annotated[int, Field(ge=1)]
    inner: Inner | None = None
    by_name: dict[str, Inner] = {}
    pair: Annotated[list[float], Field(min_length=2, max_length=2)]


@pytest.fixture(scope="module")
def reference() -> parameters._Reference:
    values = {"o": {"count": 3, "by_name": {"x": {"share": 0.25}}}}
    files = [("params.yaml", values, {"o.count": "how many"}), ("more.yaml", {"o": {"pair": [0.5, 1.0]}}, {})]
    schema = Outer.model_json_schema()
    return parameters._Reference(schema["$defs"] | {"Outer": schema}, shipped.Shipped(files))


def test_a_section_has_a_row_a_key(reference: parameters._Reference) -> None:
    page = reference.page("o", {"$ref": "#/$defs/Outer"})
    assert page.splitlines()[4:8] == [
        "| `count` | whole number, at least 1 | required | `3` | how many |",
        "| `inner` | a section or `null` | `null` |  |  |",
        "| `by_name` | mapping to a section | `{}` |  |  |",
        "| `pair` | list of 2, each: number | required | `[0.5, 1.0]` (more) |  |",
    ]


def test_sections_inside_follow(reference: parameters._Reference) -> None:
    page = reference.page("o", {"$ref": "#/$defs/Outer"})
    assert "## `o.inner`\n\nWhat is inside." in page
    assert "| `share` | number, 0 to 1 | required | `0.25` |  |" in page.split("## `o.by_name`")[1]
    assert "| `kind` | `a`, `b` or `c` | `b` |  |  |" in page


def test_comments_are_found_by_key() -> None:
    text = "a:   # first\n  b: 1  # second\n  # alone\n  c: {d: '#1'}\ne: 2\n  # no key\nf: x#y\n"
    assert shipped.comments(text) == {"a": "first", "a.b": "second"}


def long_text(rows: int) -> str:
    table = "".join(f"| metric{row // 10} | arm{row % 10} | {'x' * 60} |\n" for row in range(rows))
    head = "| metric | arm | |\n| --- | --- | --- |\n"
    return f"# Arms\n\nDrawn films.\n\n## Seeds\n\n{head}{table}\n## Last\n\nend\n"


def test_a_short_text_stays_one_page() -> None:
    (page,) = long_pages.pages("a.md", long_text(10))
    assert page.text == long_text(10)


def test_a_long_table_goes_on_over_the_page_and_loses_nothing() -> None:
    text = long_text(280)
    made = long_pages.pages("results/a.md", text)
    assert [page.path for page in made] == ["results/a.md", "results/a-2.md"]
    assert all(long_pages.size(page.text) < long_pages.LIMIT for page in made)
    assert all("Drawn films.\n" in page.text and "| metric | arm | |\n" in page.text for page in made)
    rows = [line for page in made for line in page.text.splitlines() if line.startswith("| metric")]
    assert [row for row in rows if row != "| metric | arm | |"] == [
        line for line in text.splitlines() if line.startswith("| metric") and line != "| metric | arm | |"
    ]
    last = [line for line in made[0].text.splitlines() if line.startswith("| metric")][-1]
    assert "| arm9 |" in last  # cut between two metrics
    assert "## Last" in made[1].text


def test_arrows_that_a_longer_way_implies_are_left_out() -> None:
    counts = {("a", "b"): 1, ("b", "c"): 2, ("a", "c"): 3, ("c", "d"): 1, ("a", "d"): 1}
    assert house.needed(counts) == {("a", "b"): 1, ("b", "c"): 2, ("c", "d"): 1}


def test_no_box_or_arrow_lies_on_a_box() -> None:
    widths = {name: 8.0 * len(name) + 26 for row in house.layers() for name in row}
    drawing = layout(house.layers(), list(house.needed(house.imports())), widths)
    for row in drawing.layers:
        places = sorted((drawing.x[place], drawing.half(place)) for place in row)
        for (left, half), (right, other) in pairwise(places):
            assert right - left > half + other


def test_every_package_is_in_the_drawing() -> None:
    drawn = house.svg()
    for name in (name for row in house.layers() for name in row):
        assert f">{name}</text>" in drawn


@pytest.mark.parametrize(
    ("page", "written", "turned"),
    [
        ("index.md", "[d](docs/data.md#a)", "[d](data.md#a)"),
        ("index.md", "![p](docs/comparison.png)", "![p](comparison.png)"),
        ("index.md", "[licence](LICENSE)", "licence"),
        ("index.md", "[x](https://arxiv.org/abs/1)", "[x](https://arxiv.org/abs/1)"),
        ("index.md", "[here](#three)", "[here](#three)"),
        ("arms.md", "[c](../CONTRIBUTING.md)", "[c](contributing.md)"),
        ("results/hard/README.md", "[r](../../results.md)", "[r](../../results.md)"),
        ("contributing.md", "[s](docs/studies.md)", "[s](studies.md)"),
    ],
)
def test_links_are_turned_to_the_site(page: str, written: str, turned: str) -> None:
    assert site_hook.with_site_links(written, page) == turned


def test_a_link_to_a_heading_goes_to_the_part_on_which_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [
        Made("long.md", "Long", "# Long\n\n## One\n"),
        Made("long-2.md", "Long", "# Long\n\n## Two it is\n"),
    ]
    monkeypatch.setattr(site_hook, "groups", lambda: {"long.md": parts})
    written = "[a](long.md#one) [b](long.md#two-it-is) [c](long.md)"
    assert (
        site_hook.with_site_links(written, "page.md")
        == "[a](long.md#one) [b](long-2.md#two-it-is) [c](long.md)"
    )
    assert site_hook.with_site_links("[b](#two-it-is)", "long.md") == "[b](long-2.md#two-it-is)"
    assert site_hook.with_site_links("[b](#two-it-is)", "long-2.md") == "[b](#two-it-is)"
    assert site_hook.with_site_links("[a](#one)", "long-2.md") == "[a](long.md#one)"
