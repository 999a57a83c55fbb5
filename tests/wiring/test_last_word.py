"""Where the page lies is said at the end of a run that wrote it, and of no other."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
from kedro.io import DataCatalog

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
