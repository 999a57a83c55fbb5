"""Nodes of the model card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora

if TYPE_CHECKING:
    from radrl.labelers.base import Labeler
    from radrl.policy.writers.base import Writer

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
    from radrl.labelers.build import build as build_labeler
    from radrl.policy import folder
    from radrl.policy.writers.hf import HfWriter
    from radrl.process.devices import place
    from radrl.process.runtime import pin
    from radrl.training.supervised.pretraining_tasks import films_of
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
    options = {"labeler": reader, "every": 1, "max_new_tokens": max_new_tokens, "batch_size": 64}
    found = {
        name: Watch(shown, references, prompt=prompts[form], form=form, **options).measure(policy)
        for name, (shown, form) in looks.items()
    }
    groups = _groups(
        HfWriter(policy), films[:GROUPS], references[:GROUPS], prompts["plain"], max_new_tokens, reader, seed
    )
    return found | {"groups": groups}


def _groups(
    writer: Writer,
    films: Sequence[Sequence[bytes]],
    references: Sequence[str],
    prompt: str,
    max_new_tokens: int,
    labeler: Labeler,
    seed: int,
) -> dict[str, float]:
    """What FactS makes of groups of rollouts: what an arm without a cold start begins with."""
    import numpy as np

    from radrl.rewards.build import build as build_reward

    reward = build_reward({"facts": FACTS}, labeler)
    earned: list[list[float]] = []
    for number, (own, reference) in enumerate(zip(films, references, strict=True)):
        (written,) = writer.write(
            [own],
            prompt,
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
    from radrl.pipelines.base_card.card import card
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
