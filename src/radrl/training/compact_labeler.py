"""The compact CheXbert: the same class, small, trained from random weights on the rules' labels.

As CheXbert (Smit et al. 2020, arXiv:2004.09167) was from CheXpert's labels. Departures from its training:

- no pretrained BERT, and no radiologists' labels after the rules';
- recombination in place of back-translation: texts are drawn from the corpus' sentences and from rewordings
  of them (`radrl.reports.recombination`, `radrl.labelers.rules.rewording`), and labelled by the rules;
- short texts first, so that it learns to read a sentence before it learns to gather a report; rewordings
  first, which teach the rules' phrases, and the corpus' own language last, in long texts;
- with rewordings the matrices of BERT's layers learn by Muon (`radrl.training.muon`), which comes further in
  the same time; without, all weights by AdamW;
- a second loss while it trains: the state of a sentence's last token, one layer before the last, tells that
  sentence's labels. The first token then finds there what it has to gather. Its head is thrown away;
- positions start as sines, which tell order from the first step on; no dropout, since no text comes twice.

A run takes about a minute, with rewordings some minutes, and does not resume.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer
from torch import nn
from torch.nn import functional
from tqdm import tqdm
from transformers import BertConfig, BertTokenizer

from radrl.labelers.base import Labeler, LabelMatrix
from radrl.labelers.chexbert.batching import pad
from radrl.labelers.chexbert.model import CLASSES, CheXbert
from radrl.labelers.chexbert.text import SPECIAL, Encoded, build_tokenizer
from radrl.labelers.rules.rewording import reword
from radrl.observations import OBSERVATIONS
from radrl.reports.recombination import IntArray, draw_texts, rarity_weights, sentences
from radrl.training.callbacks import Report, silent
from radrl.training.muon import Muon

INITIAL_SCALE: Final = 0.06
"""Of weights: BERT's 0.02 suits 768 columns; with 128 it learns nothing for a long while."""
POSITION_SCALE: Final = 0.1
POSITION_BASE: Final = 1000.0
WINDOW: Final = 20
"""Batches whose texts are sorted by length together; the order of windows keeps short texts first."""
OWN_LAST: Final = 0.15
"""Share of the texts, the last ones, that hold no rewordings."""
LONGER_LAST: Final = 4
"""More sentences that these may have."""
OWN_AGAIN: Final = 3
"""Times that each report of the corpus is learned where rewordings are."""
LOGGED_EVERY: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Sentences to draw from.

    Args:
        sentences: S sentences, lower case.
        labels: class indices of each, shape (S, 14).
        weights: probability of each, shape (S,).
        known: numbers of the corpus' own sentences by text; the rest are rewordings.
    """

    sentences: list[str]
    labels: LabelMatrix
    weights: np.ndarray[Any, np.dtype[np.float64]]
    known: dict[str, int]

    @property
    def reworded(self) -> bool:
        """Whether there are rewordings."""
        return len(self.sentences) > len(self.known)


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """One training text.

    Args:
        ids: tokens, [CLS] and [SEP] included.
        ends: position of the last token of each whole sentence.
        sentences: number of that sentence.
    """

    ids: list[int]
    ends: list[int]
    sentences: list[int]


def train(
    reports: Sequence[str],
    teacher: Labeler,
    settings: Mapping[str, Any],
    *,
    seed: int,
    report: Report = silent,
) -> tuple[CheXbert, BertTokenizer, list[dict[str, float]]]:
    """Train a compact CheXbert.

    Args:
        reports: training reports.
        teacher: whose labels it learns.
        settings: the keys of `radrl.params.labeler.Compact`.
        seed: of weights and texts.
        report: told each logged step.

    Returns:
        The model, its tokenizer, and the training curve.

    Raises:
        ValueError: there is no sentence to learn from.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    pool = gather(reports, teacher, settings["reworded"], rng)
    tokenizer = build_tokenizer(_vocabulary(pool.sentences, settings["vocab_size"]))
    texts, labels = _draw(reports, pool, teacher, tokenizer, settings, rng)
    model = build(tokenizer, settings)
    curve = _fit(model, texts, labels, pool, settings, rng, report)
    return model.eval(), tokenizer, curve


def gather(reports: Sequence[str], teacher: Labeler, reworded: int, rng: np.random.Generator) -> Pool:
    """The sentences of reports, and rewordings of those that mention something.

    Args:
        reports: N texts.
        teacher: labels the sentences.
        reworded: how many rewordings are tried; half of all draws then go to them.
        rng: decides them.

    Returns:
        The pool.

    Raises:
        ValueError: there is no sentence.
    """
    counts = Counter(sentence.lower() for text in reports for sentence in sentences(text))
    if not counts:
        raise ValueError("the training reports hold no sentence: there is nothing to learn labels from")
    own = sorted(counts)
    labels = teacher.label(own)
    times = np.array([counts[sentence] for sentence in own])
    weights = rarity_weights(labels, times)
    known = {sentence: number for number, sentence in enumerate(own)}
    telling = np.flatnonzero(labels[:, :-1].any(axis=1))
    if not reworded or not len(telling):
        return Pool(own, labels, weights, known)
    likely = np.sqrt(times[telling])
    drawn = rng.choice(telling, size=reworded, p=likely / likely.sum())
    new = [text for text in reword([own[i] for i in drawn], rng=rng) if text not in known]
    new_labels = teacher.label(new)
    new_weights = rarity_weights(new_labels, np.ones(len(new), dtype=np.int64))
    both = np.concatenate([weights, new_weights]) / (2 if new else 1)
    return Pool(own + new, np.concatenate([labels, new_labels]), both, known)


def build(tokenizer: BertTokenizer, settings: Mapping[str, Any]) -> CheXbert:
    """An untrained compact CheXbert.

    Args:
        tokenizer: whose vocabulary it reads.
        settings: hidden, layers, heads, feed_forward and max_tokens.

    Returns:
        The model, drawn from torch's generator.
    """
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings["hidden"],
        num_hidden_layers=settings["layers"],
        num_attention_heads=settings["heads"],
        intermediate_size=settings["feed_forward"],
        max_position_embeddings=settings["max_tokens"],
        initializer_range=INITIAL_SCALE,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = CheXbert(config)
    model.dropout.p = 0.0
    for head in model.linear_heads:
        _draw_head(head)
    with torch.no_grad():
        positions = model.bert.embeddings.position_embeddings.weight
        positions.copy_(POSITION_SCALE * _sines(*positions.shape))
    return model


def _draw_head(head: nn.Module) -> None:
    assert isinstance(head, nn.Linear)
    nn.init.normal_(head.weight, std=INITIAL_SCALE)
    nn.init.zeros_(head.bias)


def _sines(count: int, width: int) -> torch.Tensor:
    """Sinusoidal positions (Vaswani et al. 2017, section 3.5), shape (count, width)."""
    frequencies = torch.exp(-math.log(POSITION_BASE) * torch.arange(0, width, 2) / width)
    angles = torch.arange(count)[:, None] * frequencies  # (count, width / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(count, -1)[:, :width]


def _vocabulary(texts: Sequence[str], size: int) -> list[str]:
    """Word pieces by id, the special tokens first."""
    trained = BertWordPieceTokenizer(lowercase=True)
    characters = sorted(set(trained.normalize("".join(texts))) - {" "})
    # pieces inside a word get their numbers in the order of a hash map, and ties between merges are broken by
    # these numbers: named beforehand, they are the same in every run
    inner = [f"##{character}" for character in characters]
    trained.train_from_iterator(
        texts, vocab_size=size, min_frequency=2, special_tokens=[*SPECIAL, *inner], show_progress=False
    )
    pieces = trained.get_vocab()
    return sorted(pieces, key=pieces.__getitem__)


def _draw(
    reports: Sequence[str],
    pool: Pool,
    teacher: Labeler,
    tokenizer: BertTokenizer,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> tuple[list[Text], torch.Tensor]:
    """Training texts, in the order they are learned, and their labels, shape (N, 14).

    The reports themselves are strewn over the second half.
    """
    drawn = _drawn(pool, settings["recombined"], settings["longest"], rng)
    own = [_numbers(report, pool) for report in reports]
    own = [numbers for numbers in own if len(numbers)] * (OWN_AGAIN if pool.reworded else 1)
    places = np.concatenate([np.arange(len(drawn)) / max(len(drawn), 1), rng.uniform(0.5, 1, len(own))])
    rows = [[*drawn, *own][i] for i in np.argsort(places, kind="stable")]
    labels = teacher.label([" ".join(pool.sentences[i] for i in row) for row in rows])
    pieces = tokenizer(pool.sentences, add_special_tokens=False)["input_ids"]
    texts = [_text(row, pieces, tokenizer, settings["max_tokens"]) for row in rows]
    return texts, torch.from_numpy(labels).long()


def _drawn(pool: Pool, count: int, longest: int, rng: np.random.Generator) -> list[IntArray]:
    """Texts of drawn sentences; where there are rewordings, the last ones have none and are not short."""
    if not pool.reworded:
        return draw_texts(pool.weights, count, longest=longest, rng=rng)
    own = pool.weights[: len(pool.known)]
    last = round(OWN_LAST * count)
    first = draw_texts(pool.weights, count - last, longest=longest, rng=rng)
    return first + draw_texts(own / own.sum(), last, longest=longest + LONGER_LAST, rng=rng, growing=False)


def _numbers(report: str, pool: Pool) -> IntArray:
    return np.array([pool.known[sentence.lower()] for sentence in sentences(report)], dtype=np.int64)


def _text(row: IntArray, pieces: Sequence[list[int]], tokenizer: BertTokenizer, max_tokens: int) -> Text:
    ids, ends, whole = [tokenizer.cls_token_id], [], []
    for number in row:
        room = max_tokens - 1 - len(ids)
        ids += pieces[number][:room]
        if len(pieces[number]) > room:
            break
        if pieces[number]:
            ends.append(len(ids) - 1)
            whole.append(int(number))
    return Text([*ids, tokenizer.sep_token_id], ends, whole)


def _fit(
    model: CheXbert,
    texts: Sequence[Text],
    labels: torch.Tensor,
    pool: Pool,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    report: Report,
) -> list[dict[str, float]]:
    """Train a model in place; the curve of both losses."""
    sentence_head = nn.Linear(settings["hidden"], len(OBSERVATIONS) * CLASSES)
    _draw_head(sentence_head)
    sentence_labels = torch.from_numpy(pool.labels).long()
    weights = [*model.parameters(), *sentence_head.parameters()]
    batches = list(_batches([len(text.ids) for text in texts], settings["batch_size"], rng))
    matrices = _layer_matrices(model) if pool.reworded else []
    optimizers = _optimizers(weights, matrices, settings)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: _rate(step, len(batches), settings["warmup_share"])
        )
        for optimizer in optimizers
    ]
    model.train()
    curve: list[dict[str, float]] = []
    for step, batch in enumerate(tqdm(batches, desc="compact CheXbert", unit="batch"), start=1):
        chosen = [texts[i] for i in batch]
        own, by_sentence = _losses(model, sentence_head, chosen, labels[batch], sentence_labels)
        model.zero_grad()
        sentence_head.zero_grad()
        (own + by_sentence).backward()
        nn.utils.clip_grad_norm_(weights, settings["gradient_clip"])
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        if step % LOGGED_EVERY == 0 or step == len(batches):
            row = {"loss": own.item(), "sentence_loss": by_sentence.item()}
            report(step, row)
            curve.append({"step": step} | row)
    return curve


def _layer_matrices(model: CheXbert) -> list[torch.Tensor]:
    return [weight for weight in model.bert.encoder.parameters() if weight.ndim > 1]


def _optimizers(
    weights: Sequence[torch.Tensor], by_muon: Sequence[torch.Tensor], settings: Mapping[str, Any]
) -> list[torch.optim.Optimizer]:
    """AdamW for the weights, but Muon for some of them."""
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    apart = {id(weight) for weight in by_muon}
    rest = [weight for weight in weights if id(weight) not in apart]
    adam = torch.optim.AdamW(
        [
            {"params": [w for w in rest if w.ndim > 1], "weight_decay": decay},
            {"params": [w for w in rest if w.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=rate,
        betas=(0.9, 0.98),
    )
    return [adam, Muon(by_muon, lr=rate, weight_decay=decay)] if by_muon else [adam]


def _losses(
    model: CheXbert,
    sentence_head: nn.Linear,
    texts: Sequence[Text],
    labels: torch.Tensor,
    sentence_labels: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over the 14 observations of the cross-entropies of texts (as CheXbert), and of their sentences."""
    encoded = [Encoded(text.ids, []) for text in texts]
    ids, mask = pad(encoded, model.bert.config.pad_token_id, torch.device("cpu"))  # (B, L) each
    read = model.bert(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    logits = [head(read.last_hidden_state[:, 0]) for head in model.linear_heads]
    own = torch.stack([functional.cross_entropy(each, labels[:, i]) for i, each in enumerate(logits)]).sum()

    rows = torch.tensor([row for row, text in enumerate(texts) for _ in text.ends], dtype=torch.long)
    ends = torch.tensor([end for text in texts for end in text.ends], dtype=torch.long)
    numbers = torch.tensor([number for text in texts for number in text.sentences], dtype=torch.long)
    states = read.hidden_states[-2][rows, ends]  # (sentences, hidden)
    told = sentence_head(states).view(-1, CLASSES)  # (sentences x 14, 4)
    by_sentence = functional.cross_entropy(told, sentence_labels[numbers].view(-1))
    return own, len(OBSERVATIONS) * by_sentence


def _batches(lengths: Sequence[int], size: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """Batches of texts of like length, drawn window by window so that the order of texts is kept roughly."""
    for start in range(0, len(lengths), size * WINDOW):
        window = range(start, min(start + size * WINDOW, len(lengths)))
        by_length = sorted(window, key=lengths.__getitem__)
        batches = [by_length[i : i + size] for i in range(0, len(by_length), size)]
        for i in rng.permutation(len(batches)):
            yield batches[i]


def _rate(step: int, steps: int, warmup_share: float) -> float:
    """Linear rise over the warm-up, then linear fall to 0."""
    warmup = max(1.0, warmup_share * steps)
    return (step + 1) / warmup if step < warmup else (steps - step) / max(1.0, steps - warmup)
