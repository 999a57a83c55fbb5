"""The model card of the base policy: what it reads on films that no training saw, how it was made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS

if TYPE_CHECKING:
    from radrl.labelers import Labeler
    from radrl.policy.writer import Prompt, Writer


TEMPLATE: Final = Path(__file__).parent / "templates" / "base_card.md.j2"
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
        numbers: of `radrl.pipelines.base_card.measure_base`.
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


SPLIT: Final = "test"
GROUPS: Final = 100
"""Films of which a group of rollouts is drawn."""
ROLLOUTS: Final = 8
FACTS: Final = {
    "weight": 1.0,
    "extractor": "rules",
    "entailment": "labeler",
    "uncertain_as_positive": False,
    "beta": 1.5,
    "xi": 1.0e-8,
    "both_empty": 1.0,
}
"""FactS as the arms have it (OraPO, eq. 15)."""

Numbers = dict[str, dict[str, float]]
"""Of each kind of look, its numbers."""


def measure_base(
    corpus: ds.Dataset,
    base: Path,
    prompts: dict[str, str],
    max_new_tokens: int,
    labeler: dict[str, Any],
    seed: int,
    threads: int,
    device: str,
) -> Numbers:
    """Measure what the base policy reads on films that its pretraining did not see, and how it speaks.

    Args:
        corpus: the films; the split `test` is read.
        base: the base policy's folder.
        prompts: the instruction for each form of output.
        max_new_tokens: of a report.
        labeler: the section `labeler`; reports are read by its rules.
        seed: of the rollouts.
        threads: of torch.
        device: where the policy computes.

    Returns:
        The numbers of `radrl.training.watching.watch` for greedy reports on the films' negatives, on the
        films, and on the films when reasoning is asked for; and under `groups` what FactS makes of groups of
        rollouts.
    """
    from radrl.data.prompts import of_split
    from radrl.labelers import build as build_labeler
    from radrl.policy import folder
    from radrl.policy.hf_writer import HfWriter
    from radrl.process.devices import pin, place
    from radrl.training.supervised.pretraining import films_of
    from radrl.training.watching.watch import Watch

    where = place(device)
    pin(threads, where)
    references = corpora.read(corpus, split=SPLIT, columns=["label_text"])["label_text"].tolist()
    policy, reader = folder.load(base, device=where), build_labeler(labeler, None, name="rules")
    films = corpora.Films(corpus, SPLIT)
    looks = {
        "negatives": (films_of(films, radiographs=0.0, seed=seed), "plain"),
        "films": (films, "plain"),
        "films_asked_to_think": (films, "think_report"),
    }
    asked = {form: of_split(corpus, SPLIT, own) for form, own in prompts.items()}
    options = {"labeler": reader, "every": 1, "max_new_tokens": max_new_tokens, "batch_size": 64}
    found = {
        name: Watch(shown, references, prompt=asked[form], form=form, **options).measure(policy)
        for name, (shown, form) in looks.items()
    }
    groups = _groups(
        HfWriter(policy), films[:GROUPS], references[:GROUPS], asked["plain"], max_new_tokens, reader, seed
    )
    return found | {"groups": groups}


def _groups(
    writer: Writer,
    films: Sequence[Sequence[bytes]],
    references: Sequence[str],
    prompt: Prompt,
    max_new_tokens: int,
    labeler: Labeler,
    seed: int,
) -> dict[str, float]:
    """What FactS makes of groups of rollouts: what an arm without a cold start begins with."""
    import numpy as np

    from radrl.policy.writer import of_part
    from radrl.rewards.build import build as build_reward

    reward = build_reward({"facts": FACTS}, labeler)
    earned: list[list[float]] = []
    for number, (own, reference) in enumerate(zip(films, references, strict=True)):
        (written,) = writer.write(
            [own],
            of_part(prompt, slice(number, number + 1)),
            max_new_tokens=max_new_tokens,
            samples=ROLLOUTS,
            temperature=1.0,
            seed=seed,
            first=number,
        )
        texts = [one.text for one in written]
        sample = [str(number)] * ROLLOUTS
        earned.append(reward.score_part(reward.parts[0], texts, [reference] * ROLLOUTS, sample))
    groups = np.array(earned)  # (films, G)
    return {
        "films": float(len(groups)),
        "rollouts": float(ROLLOUTS),
        "all_zero_share": float((groups == 0).all(axis=1).mean()),
        "zero_variance_share": float((groups == groups[:, :1]).all(axis=1).mean()),
        "zero_reward_share": float((groups == 0).mean()),
        "mean_reward": float(groups.mean()),
    }


def write_card(
    base: Path,
    numbers: Numbers,
    history: pd.DataFrame,
    ingest: dict[str, Any],
    policy: dict[str, Any],
    seed: int,
) -> str:
    """Write the model card.

    Args:
        base: the base policy's folder.
        numbers: of `measure_base`.
        history: the curve of its learning to write.
        ingest: the section `ingest` it was made with.
        policy: the section `policy` it was made with.
        seed: of films, weights and training.

    Returns:
        The card as Markdown.
    """
    from radrl.policy import folder

    model = folder.load(base).model
    return card(
        weights=base / "model.safetensors",
        parameters={"all": model.num_parameters(), "tower": model.model.visual.num_parameters()},
        numbers=numbers,
        loss=_closing_loss(history),
        ingest=ingest,
        policy=policy,
        seed=seed,
    )


def _closing_loss(history: pd.DataFrame) -> float:
    return float(history["loss"].dropna().tail(20).mean())


def create_pipeline() -> Pipeline:
    """Base policy and films that no training saw -> its model card."""
    return pipeline(
        [
            node(
                measure_base,
                {
                    "corpus": "corpus",
                    "base": "base_policy",
                    "prompts": "params:prompts",
                    "max_new_tokens": "params:generate.max_new_tokens",
                    "labeler": "params:labeler",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                },
                "base_numbers",
                name="measure_base",
            ),
            node(
                write_card,
                {
                    "base": "base_policy",
                    "numbers": "base_numbers",
                    "history": "base_history",
                    "ingest": "params:ingest",
                    "policy": "params:policy",
                    "seed": "params:seed",
                },
                "base_card",
                name="write_card",
            ),
        ]
    )
