"""Where the page lies is said at the end of a run that wrote it; of a failed one, that it is older."""

from __future__ import annotations

import logging
import os
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node, pipeline

from radrl.wiring.datasets import HtmlPage
from radrl.wiring.last_word import PAGE, LastWordHooks


@pytest.mark.parametrize(
    ("saved", "stage", "said"),
    [
        (["labels", PAGE, "cards"], None, ["the page: data/smoke/page.html"]),
        (["labels"], None, []),
        ([PAGE], "compare", []),  # `radrl repro` says it at its own end
    ],
)
def test_the_page_is_named_where_the_run_wrote_it(
    saved: list[str],
    stage: str | None,
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    if stage:
        monkeypatch.setenv("DVC_STAGE", stage)
    hooks = LastWordHooks()
    hooks.after_context_created(SimpleNamespace(project_path=tmp_path))
    hooks.after_catalog_created(DataCatalog({PAGE: HtmlPage(str(tmp_path / "data/smoke/page.html"))}))
    for name in saved:
        hooks.after_dataset_saved(name)
    with caplog.at_level(logging.INFO, logger="radrl"):
        hooks.after_pipeline_run()
    assert [record.getMessage() for record in caplog.records] == said


@pytest.mark.parametrize(
    ("there", "makes", "saved", "said"),
    [
        (True, "comparison_page", [], True),
        (False, "comparison_page", [], False),
        (True, "labels", [], False),  # who runs the first stages alone waits for no page
        (True, "comparison_page", [PAGE], False),
    ],
)
def test_a_failed_run_says_that_the_page_is_not_its_own(
    there: bool,
    makes: str,
    saved: list[str],
    said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    page = tmp_path / "data/page.html"
    page.parent.mkdir()
    if there:
        page.touch()
        written = datetime(2026, 11, 23, 18, 20).timestamp()
        os.utime(page, (written, written))
    hooks = LastWordHooks()
    hooks.after_context_created(SimpleNamespace(project_path=tmp_path))
    hooks.after_catalog_created(DataCatalog({PAGE: HtmlPage(str(page))}))
    for name in saved:
        hooks.after_dataset_saved(name)
    hooks.on_pipeline_error(pipeline([node(lambda corpus: corpus, "corpus", makes)]))
    expected = "the page data/page.html is of an earlier run, of 23 November, 18:20, not of this one"
    assert [record.getMessage() for record in caplog.records] == [expected] * said
