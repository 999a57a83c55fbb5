"""Notes on a run beside a page: named by the page's digest, shown by a script, put in for a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from radrl.pages import run_notes

PAGE = """<dl>
<div id="run"><dt>Commit</dt><dd>nobody knows</dd></div>
<div>stays</div>
</dl>
<script src="runs/of-this-page.js"></script>
"""
SLOTS = {"run": "<div>abc</div>"}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_text(run_notes.sealed(PAGE))
    return file


def test_the_name_follows_from_the_page_alone(page: Path) -> None:
    named = run_notes.write(page, SLOTS)
    assert named.relative_to(page.parent).as_posix() in page.read_text()
    assert run_notes.write(page, {"run": "<div>other</div>"}) == named
    assert run_notes.sealed(PAGE) == page.read_text()
    assert run_notes.sealed(PAGE.replace("stays", "is other")).count(named.name) == 0


def test_notes_leave_the_page_alone(page: Path) -> None:
    before = page.read_bytes()
    run_notes.write(page, SLOTS)
    assert page.read_bytes() == before


def test_a_copy_has_them_inside_and_asks_for_nothing(page: Path) -> None:
    run_notes.write(page, SLOTS)
    assert run_notes.with_notes(page) == "<dl>\n<div>abc</div>\n<div>stays</div>\n</dl>\n"


def test_without_notes_or_with_those_of_another_page_a_copy_is_the_page(page: Path) -> None:
    assert run_notes.with_notes(page) == page.read_text()
    run_notes.write(page, SLOTS)
    page.write_text(run_notes.sealed(PAGE.replace("stays", "is other")))
    assert run_notes.with_notes(page) == page.read_text()


def test_what_does_not_fit_is_refused(page: Path) -> None:
    run_notes.write(page, {"elsewhere": "<p></p>"})
    with pytest.raises(ValueError, match=r"page\.html has no element 'elsewhere'"):
        run_notes.with_notes(page)
    page.write_text(PAGE)
    with pytest.raises(ValueError, match=r"page\.html names no notes"):
        run_notes.write(page, SLOTS)
