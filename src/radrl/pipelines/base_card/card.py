"""The model card of the laptop's base policy: how it was made, what it reads, what it is not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from radrl.observations import OBSERVATIONS

TEMPLATE: Final = Path(__file__).with_name("card.md.j2")
SHOWN: Final = {
    "ce_rules_sample14_f1": "sample F1",
    "ce_rules_macro14_f1": "macro F1",
    "ce_rules_micro14_f1": "micro F1",
    "findings_per_report": "findings a report",
    "findings_per_reference": "a reference",
    "distinct_reports": "distinct reports",
    "repetition": "repeated 4-grams",
    "mean_length": "tokens a report",
    "unended_share": "cut off",
}
"""Numbers of `radrl.training.watching.watch` and what the card calls them."""


def card(
    *,
    weights: Path,
    parameters: Mapping[str, int],
    numbers: Mapping[str, Mapping[str, float]],
    loss: float,
    ingest: Mapping[str, Any],
    policy: Mapping[str, Any],
    seed: int,
) -> str:
    """Write the card.

    Args:
        weights: the safetensors file.
        parameters: how many weights: `all`, and those of the `tower`.
        numbers: of `radrl.pipelines.base_card.nodes.measure_base`.
        loss: of next tokens at the end of pretraining.
        ingest: the section `ingest` it was made with, whose source is drawn films.
        policy: the section `policy` it was made with.
        seed: of films, weights and training.

    Returns:
        Markdown.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(trim_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        md5=hashlib.md5(weights.read_bytes(), usedforsecurity=False).hexdigest(),
        parameters=parameters,
        numbers=numbers,
        loss=loss,
        ingest=ingest,
        phantom=ingest["phantom"],
        policy=policy,
        seed=seed,
        shown=SHOWN,
        observations=OBSERVATIONS,
    )
