"""What a trained arm has of its own: its model card, and a page of the rollouts that it learnt from.

The card says what it was made from, how, what it scores, where it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pages.page import banner
from radrl.pipelines.compare.inputs import ArmTables, ComparisonSettings
from radrl.pipelines.compare.summary import too_few_patients, too_few_updates

if TYPE_CHECKING:
    from radrl.pipelines.compare.inputs import Diagnosis

TEMPLATE: Final = Path(__file__).with_name("card.md.j2")
NOTHING: Final = "–"
FRONT: Final = {
    "language": "en",
    "library_name": "transformers",
    "pipeline_tag": "image-text-to-text",
    "tags": ["radiology", "chest-x-ray", "report-generation", "reinforcement-learning", "research-only"],
}
"""What model hubs read of a card."""


def write_card(
    arm: str,
    comparison: pd.DataFrame,
    films: int,
    split: str,
    history: pd.DataFrame,
    told: Diagnosis | None,
    ingest: Mapping[str, Any],
    settings: ComparisonSettings,
) -> str:
    """Write an arm's card.

    Args:
        arm: its name.
        comparison: a line a row and metric, of `radrl.pipelines.compare.rows.tabulate`.
        films: how many were scored.
        split: that they are of.
        history: of its training, a line a step; of no lines for an arm that is not trained.
        told: what the history says; nothing for an arm that is not trained.
        ingest: counts of the stage ingest.
        settings: what the arms are compared by.

    Returns:
        Markdown, with the front matter that model hubs read. It holds no path, so that it can go with the
        weights.
    """
    import jinja2
    import yaml

    recipe = settings.arms[arm]
    updates = int(history["step"].max()) if len(history) and "step" in history else 0
    environment = jinja2.Environment(  # Markdown: nothing is escaped
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {"figure": _figure, "or_none": _or_none}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        arm=arm,
        front=yaml.safe_dump(FRONT, sort_keys=False).rstrip(),
        recipe={"reward": {}} | recipe | {name: _named(recipe.get(name)) for name in ("credit", "oracle")},
        parameters=yaml.safe_dump({"arms": {arm: recipe}}, sort_keys=False).rstrip(),
        updates=f"{updates:,}" if updates else NOTHING,
        short_training=too_few_updates([updates]),
        lines=comparison[comparison["arm"] == arm].to_dict("records"),
        few=too_few_patients(comparison),
        findings=told.findings if told else [],
        levelling=told.levelling if told else NOTHING,
        source=ingest["source"],
        drawn=ingest["drawn"],
        splits=ingest["splits"],
        films=films,
        scored=split,
        reference=settings.reference,
        confidence=settings.compare["bootstrap"]["confidence"],
        labeler=settings.labeler["name"],
        seed=settings.seed,
    )


def _named(part: Any) -> str:
    """What a recipe names, without its parameters."""
    return ", ".join(part) if isinstance(part, Mapping) else str(part or NOTHING)


def _figure(value: Any) -> str:
    return NOTHING if pd.isna(value) else f"{value:.3f}"


def _or_none(names: Any) -> str:
    return str(names) if isinstance(names, str) and names else "none"


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
