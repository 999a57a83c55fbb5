"""Weakly supervised pretraining of the vision tower: which phrases does the report of this film hold?

A published vision-language model comes with a tower that has seen millions of captioned pictures. The laptop
policy's tower starts from random weights, and next-token loss alone teaches it slowly, since most tokens of a
report can be guessed without looking. Predicting the bag of words of a caption (Joulin et al. 2016,
"Learning visual features from large weakly supervised data") gives it features in minutes. No label and no
labeler is read.

Departures from Joulin et al.: pairs of words that follow one another count beside single words, since a
report names what is absent too ("no effusion", "left effusion"); and a phrase's evidence is a smooth maximum
over the film's tokens instead of their mean, so that a token learns what lies where it looks.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from tqdm import tqdm
from transformers import get_cosine_schedule_with_warmup

from radrl.policy.encoding import merged_tokens
from radrl.policy.folder import Policy
from radrl.training.callbacks import Report, silent

logger = logging.getLogger(__name__)

_SENTENCE_END = re.compile(r"[.\n]")
_WORD = re.compile(r"[a-z]+")
MIN_REPORTS = 5
"""Rarer phrases say more about one report than about films."""
MIN_SHARE = 0.003
"""Of the reports: among many, thousands of phrases pass `MIN_REPORTS` and cost more than they teach."""


def learn_phrases(
    policy: Policy,
    films: Sequence[bytes],
    reports: Sequence[str],
    *,
    settings: Mapping[str, Any],
    seed: int,
    report: Report = silent,
) -> None:
    """Train the vision tower, in place, to predict the phrases of each film's report.

    The phrases are read off the film's merged tokens by a linear map that is thrown away later.

    Args:
        policy: its vision tower is trained; nothing else moves.
        films: N films as PNG bytes, all of one size.
        reports: N reports.
        settings: epochs, batch_size, learning_rate, warmup_share, weight_decay, gradient_clip.
        seed: of the linear map and of shuffling.
        report: told the mean loss of each epoch.
    """
    torch.manual_seed(seed)  # of the readout's weights and the order of films
    held, shares = phrases(reports)
    if not len(shares):
        logger.warning(
            "no phrase stands in %d of the %d pretraining reports: the vision tower stays as it was drawn; "
            "give the split pretrain more studies",
            MIN_REPORTS,
            len(reports),
        )
        return
    tower = policy.model.model.visual
    readout = nn.Linear(tower.config.out_hidden_size, len(shares))  # drawn on the CPU, wherever it goes
    with torch.no_grad():  # start from how common each phrase is
        readout.bias.copy_(torch.logit(shares.clamp(1e-3, 1 - 1e-3)))
    readout = readout.to(tower.device)

    def loss_of(index: Sequence[int]) -> torch.Tensor:
        tokens = torch.stack(merged_tokens(policy, [films[i] for i in index]))  # (B, T, hidden)
        target = _rows([held[i] for i in index], len(shares)).to(tower.device)
        return nn.functional.binary_cross_entropy_with_logits(evidence(tokens, readout), target)

    tower.train()
    _fit([*tower.parameters(), *readout.parameters()], loss_of, len(films), settings, report)
    tower.eval()


def _fit(
    weights: Sequence[nn.Parameter],
    loss_of: Callable[[Sequence[int]], torch.Tensor],
    films: int,
    settings: Mapping[str, Any],
    report: Report,
) -> None:
    """Lower the loss over shuffled batches of films."""
    optimizer = torch.optim.AdamW(
        weights, lr=settings["learning_rate"], weight_decay=settings["weight_decay"]
    )
    steps = settings["epochs"] * math.ceil(films / settings["batch_size"])
    schedule = get_cosine_schedule_with_warmup(optimizer, round(settings["warmup_share"] * steps), steps)
    with tqdm(total=steps, desc="vision", unit=" batches", mininterval=1) as bar:
        for epoch in range(settings["epochs"]):
            losses = []
            for index in torch.randperm(films).split(settings["batch_size"]):
                loss = loss_of(index.tolist())
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(weights, settings["gradient_clip"])
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
                bar.update()
            bar.set_postfix(loss=f"{sum(losses) / len(losses):.4f}")
            report(epoch, {"vision_loss": sum(losses) / len(losses)})


def phrases(reports: Sequence[str]) -> tuple[list[list[int]], torch.Tensor]:
    """Which of the phrases that enough reports share each report holds.

    Args:
        reports: N texts.

    Returns:
        For each its phrases (words, and pairs within a sentence) as numbers in alphabetical order; and the
        share of reports that holds each of the W phrases, shape (W,).
    """
    found = [_phrases(text) for text in reports]
    counts = Counter(phrase for own in found for phrase in own)
    enough = max(MIN_REPORTS, MIN_SHARE * len(reports))
    known = sorted(phrase for phrase, count in counts.items() if count >= enough)
    number = {phrase: i for i, phrase in enumerate(known)}
    held = [sorted(number[phrase] for phrase in own if phrase in number) for own in found]
    return held, torch.tensor([counts[phrase] / len(reports) for phrase in known])


def evidence(tokens: torch.Tensor, readout: nn.Linear) -> torch.Tensor:
    """How much the tokens of a film say for each phrase: a smooth maximum over them.

    Args:
        tokens: merged tokens of B films, shape (B, T, hidden).
        readout: from a token to W phrases.

    Returns:
        Logits, shape (B, W): those of the bias alone where all tokens say nothing.
    """
    said = nn.functional.linear(tokens, readout.weight)  # (B, T, W)
    return torch.logsumexp(said, dim=1) - math.log(tokens.shape[1]) + readout.bias


def _phrases(text: str) -> set[str]:
    sentences = [_WORD.findall(sentence) for sentence in _SENTENCE_END.split(text.lower())]
    words = {word for sentence in sentences for word in sentence}
    pairs = {f"{a} {b}" for sentence in sentences for a, b in pairwise(sentence)}
    return words | pairs


def _rows(held: Sequence[Sequence[int]], width: int) -> torch.Tensor:
    """Zeros and ones, shape (B, W)."""
    rows = torch.zeros(len(held), width)
    for row, own in zip(rows, held, strict=True):
        row[list(own)] = 1
    return rows
