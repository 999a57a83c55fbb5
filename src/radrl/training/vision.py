"""Weakly supervised pretraining of the vision tower: which words does the caption of this film hold?

A published vision-language model comes with a tower that has seen millions of captioned pictures. The laptop
policy's tower starts from random weights, and next-token loss alone teaches it slowly, since most tokens of a
report can be guessed without looking. Predicting the bag of words of a caption (Joulin et al. 2016,
"Learning visual features from large weakly supervised data") gives it features in seconds. No label and no
labeler is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from tqdm import tqdm

from radrl.policy.encoding import decode_film
from radrl.policy.folder import Policy
from radrl.training.callbacks import Report, silent

_WORD = re.compile(r"[a-z]+")
MIN_CAPTIONS = 5
"""Rarer words say more about one caption than about films."""


def learn_words(
    policy: Policy,
    films: Sequence[bytes],
    captions: Sequence[str],
    *,
    settings: Mapping[str, Any],
    seed: int,
    report: Report = silent,
) -> None:
    """Train the vision tower, in place, to predict the words of each film's caption.

    The words are read off the mean of the film's merged tokens by a linear map that is thrown away later.

    Args:
        policy: its vision tower is trained; nothing else moves.
        films: N films as PNG bytes, all of one size.
        captions: N captions.
        settings: epochs, batch_size, learning_rate, weight_decay.
        seed: of the linear map and of shuffling.
        report: told the mean loss of each epoch.
    """
    torch.manual_seed(seed)
    targets = bag_of_words(captions)  # (N, W)
    tower = policy.model.model.visual
    readout = nn.Linear(tower.config.out_hidden_size, targets.shape[1])
    with torch.no_grad():  # start from how common each word is
        readout.bias.copy_(torch.logit(targets.mean(dim=0).clamp(1e-3, 1 - 1e-3)))
    weights = [*tower.parameters(), *readout.parameters()]
    optimizer = torch.optim.AdamW(
        weights, lr=settings["learning_rate"], weight_decay=settings["weight_decay"]
    )
    batches = -(-len(films) // settings["batch_size"])
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings["learning_rate"], total_steps=settings["epochs"] * batches, pct_start=0.1
    )
    pixels = _pixels(policy, films)
    tower.train()
    for epoch in tqdm(range(settings["epochs"]), desc="vision", unit=" epochs"):
        losses = []
        for index in torch.randperm(len(films)).split(settings["batch_size"]):
            logits = readout(_pooled(tower, [pixels[i] for i in index.tolist()]))  # (B, W)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, targets[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        report(epoch, {"vision_loss": sum(losses) / len(losses)})
    tower.eval()


def bag_of_words(captions: Sequence[str]) -> torch.Tensor:
    """Which of the words that `MIN_CAPTIONS` captions share each caption holds.

    Args:
        captions: N texts.

    Returns:
        Zeros and ones, shape (N, W), words in alphabetical order.
    """
    held = [set(_WORD.findall(caption.lower())) for caption in captions]
    counts = Counter(word for words in held for word in words)
    words = sorted(word for word, count in counts.items() if count >= MIN_CAPTIONS)
    return torch.tensor([[float(word in have) for word in words] for have in held])


def _pixels(policy: Policy, films: Sequence[bytes]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each film's patches (P, D) and grid (3,), computed once for all epochs."""
    encode = policy.processor.image_processor
    found = [encode(images=[decode_film(film)], return_tensors="pt") for film in films]
    return [(one["pixel_values"], one["image_grid_thw"][0]) for one in found]


def _pooled(tower: nn.Module, films: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """Mean merged token of each film, shape (B, hidden)."""
    patches, grids = zip(*films, strict=True)
    tokens = tower(torch.cat(patches), grid_thw=torch.stack(grids)).pooler_output  # (B * tokens, hidden)
    return tokens.view(len(films), -1, tokens.shape[-1]).mean(dim=1)
