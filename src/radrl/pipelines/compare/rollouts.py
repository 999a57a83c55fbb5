"""The rollouts that arms learnt from, a page an arm."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pages.page import banner
from radrl.pipelines.compare.inputs import ArmTables


def write_rollout_pages(
    arm_rollouts: ArmTables, corpus: ds.Dataset, ingest_summary: dict[str, Any]
) -> Callable[[Path], None]:
    """Write a page an arm that noted rollouts.

    Args:
        arm_rollouts: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        corpus: the films.
        ingest_summary: counts of the stage ingest.

    Returns:
        What fills the folder they lie in, which is empty where no arm noted any (`training.watch.rollouts`).
    """
    return partial(_fill, arm_rollouts, corpus, banner(ingest_summary))


def _fill(arm_rollouts: ArmTables, corpus: ds.Dataset, above: str, folder: Path) -> None:
    from radrl.training.watching import rollouts_page

    for arm, noted in arm_rollouts.items():
        films = corpora.pictures(corpus, noted["sample_id"].unique().tolist())
        text = rollouts_page.render(noted, films, arm=arm, banner=above)
        (folder / f"{arm}.html").write_text(text, encoding="utf-8")
