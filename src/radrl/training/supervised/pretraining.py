"""The laptop policy from nothing: a tokenizer, a tower that learns to look, a whole that learns to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from radrl.policy import folder, tiny
from radrl.policy.encoding import Films
from radrl.policy.folder import Policy
from radrl.policy.writer import Prompt
from radrl.storage.whole_files import replacing
from radrl.training import device_placement
from radrl.training.callbacks import Report, silent
from radrl.training.supervised.fine_tuning import Examples, fine_tune
from radrl.training.supervised.pretraining_tasks import asked_and_answered, films_of
from radrl.training.supervised.vision import learn_phrases

LOOKING = "looking"
"""In the workspace: the policy after its tower has learnt phrases, before it learns to write."""


def pretrained(
    studies: pd.DataFrame,
    shown: Sequence[Films],
    *,
    settings: Mapping[str, Any],
    image_size: int,
    prompts: Mapping[str, Prompt],
    seed: int,
    device: torch.device = device_placement.CPU,
    workspace: Path,
    report: Report = silent,
) -> tuple[Policy, list[dict[str, float]]]:
    """Build the laptop policy and pretrain it.

    Args:
        studies: report and impression, a row a study.
        shown: their films.
        settings: the section `policy`, with `dtype`, `tiny`, `radiographs`, `vision` and `pretrain`.
        image_size: side of the films in pixels.
        prompts: the instruction for each form of output, or one a study.
        seed: of the weights, the films' polarity, what is asked, and training.
        device: where it trains.
        workspace: a folder of this work alone; a run that was killed goes on from what is in it.
        report: told each step's numbers.

    Returns:
        The policy and the curve of its learning to write.
    """
    pretrain = settings["pretrain"]
    lessons = asked_and_answered(studies, prompts, pretrain["think_report"], seed=seed)
    films = films_of(shown, radiographs=settings["radiographs"], seed=seed)
    looking = workspace / LOOKING
    if not looking.is_dir():
        asked = ([own] if isinstance(own, str) else own for own in prompts.values())
        texts = [*chain(*asked), *lessons["text"]]
        tokenizer = tiny.train_tokenizer(texts, settings["tiny"]["vocab_size"])
        policy = tiny.build(tokenizer, image_size=image_size, shape=settings["tiny"], seed=seed)
        policy.model.to(device)
        seen = [(film, text) for own, text in zip(films, studies["report"], strict=True) for film in own]
        learn_phrases(policy, *zip(*seen, strict=True), settings=settings["vision"], seed=seed, report=report)
        with replacing(looking) as unfinished:
            folder.save(policy, unfinished)
    return fine_tune(
        folder.load(looking),
        Examples(films, lessons["prompt"].tolist(), lessons["text"].tolist()),
        settings=pretrain,
        seed=seed,
        device=device,
        workspace=workspace,
        tunes=pretrain["tunes"],
        dtype=settings["dtype"],
        report=report,
    )
