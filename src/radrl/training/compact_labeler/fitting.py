"""The compact CheXbert: the same class, small, trained from random weights on the rules' labels.

As CheXbert (Smit et al. 2020, arXiv:2004.09167) was from CheXpert's labels. Departures from its training:

- no pretrained BERT, and no radiologists' labels after the rules';
- recombination in place of back-translation: texts are drawn from the corpus' sentences and from rewordings
  of them (`radrl.labelers.rules.rewording`), and labelled by the rules;
- short texts first, rewordings that it misreads more often, the corpus' own language last, in long texts
  (`radrl.training.compact_labeler.texts`);
- with rewordings the matrices of BERT's layers learn by `Muon`, which comes further in the same time;
  without, all weights by AdamW;
- a second loss while it trains: the state of a sentence's last token, one layer before the last, tells that
  sentence's labels. The first token then finds there what it has to gather. Its head is thrown away;
- positions start as sines, which tell order from the first step on; no dropout, since no text comes twice.

A run takes about a minute, with rewordings some minutes, and does not resume.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer
from torch import nn
from torch.nn import functional
from tqdm import tqdm
from transformers import BertConfig, BertTokenizer

from radrl.labelers import Labeler, LabelMatrix
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.chexbert.model import CLASSES, SPECIAL, CheXbert, Encoded, build_tokenizer, pad
from radrl.observations import OBSERVATIONS
from radrl.training.callbacks import Report, silent
from radrl.training.compact_labeler.texts import Curriculum, Pool, Text, gather

INITIAL_SCALE: Final = 0.06
"""Of weights: BERT's 0.02 suits 768 columns; with 128 it learns nothing for a long while."""
POSITION_SCALE: Final = 0.1
POSITION_BASE: Final = 1000.0
LOGGED_EVERY: Final = 10


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
        settings: the keys of `radrl.params.data.Compact`.
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
    model = build(tokenizer, settings)
    curriculum = Curriculum(reports, pool, teacher, tokenizer, settings, rng)
    curve = _fit(model, tokenizer, curriculum, pool, settings, report)
    return model.eval(), tokenizer, curve


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
    characters = sorted(set(trained.normalizer.normalize_str("".join(texts))) - {" "})
    # pieces inside a word get their numbers in the order of a hash map, and ties between merges are broken by
    # these numbers: named beforehand, they are the same in every run
    inner = [f"##{character}" for character in characters]
    trained.train_from_iterator(
        texts, vocab_size=size, min_frequency=2, special_tokens=[*SPECIAL, *inner], show_progress=False
    )
    pieces = trained.get_vocab()
    return sorted(pieces, key=pieces.__getitem__)


def _fit(
    model: CheXbert,
    tokenizer: BertTokenizer,
    curriculum: Curriculum,
    pool: Pool,
    settings: Mapping[str, Any],
    report: Report,
) -> list[dict[str, float]]:
    """Train a model in place; the curve of both losses."""
    sentence_head = nn.Linear(settings["hidden"], len(OBSERVATIONS) * CLASSES)
    _draw_head(sentence_head)
    sentence_labels = torch.from_numpy(pool.labels).long()
    weights = [*model.parameters(), *sentence_head.parameters()]
    steps = curriculum.steps
    matrices = _layer_matrices(model) if pool.reworded else []
    optimizers = _optimizers(weights, matrices, settings)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: _rate(step, steps, settings["warmup_share"])
        )
        for optimizer in optimizers
    ]

    def read(texts: Sequence[str]) -> LabelMatrix:
        found = CheXbertLabeler(model, tokenizer, cache_size=0).label(texts)
        model.train()
        return found

    model.train()
    curve: list[dict[str, float]] = []
    batches = tqdm(curriculum.batches(read), total=steps, desc="compact CheXbert", unit="batch")
    for step, (texts, labels) in enumerate(batches, start=1):
        own, by_sentence = _losses(model, sentence_head, texts, labels, sentence_labels)
        model.zero_grad()
        sentence_head.zero_grad()
        (own + by_sentence).backward()
        nn.utils.clip_grad_norm_(weights, settings["gradient_clip"])
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        if step % LOGGED_EVERY == 0 or step == steps:
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


def _rate(step: int, steps: int, warmup_share: float) -> float:
    """Linear rise over the warm-up, then linear fall to 0."""
    warmup = max(1.0, warmup_share * steps)
    return (step + 1) / warmup if step < warmup else (steps - step) / max(1.0, steps - warmup)


MUON_MOMENTUM: Final = 0.95
NEWTON_SCHULZ: Final = (3.4445, -4.7750, 2.0315)
"""Of the Newton-Schulz iteration: singular values end between 0.7 and 1.2, wherever they began."""
NEWTON_SCHULZ_STEPS: Final = 5
MUON_SIZE: Final = 0.2
"""Root mean square of a step: about AdamW's, so that it takes AdamW's rate (Liu et al. 2025,
arXiv:2502.16982)."""


class Muon(torch.optim.Optimizer):
    """Muon: steps along the orthogonal matrix nearest to the gradient's running mean.

    So they are of equal size in all directions of a matrix (Jordan et al. 2024,
    github.com/KellerJordan/Muon). `torch.optim.Muon` with ``adjust_lr_fn="match_rms_adamw"`` does the same in
    bfloat16; here it is single precision, since a processor without instructions for bfloat16 takes twenty
    times as long for it.

    Args:
        matrices: weights of two dimensions.
        lr: learning rate, of AdamW's size.
        weight_decay: decoupled, as AdamW's.
    """

    def __init__(self, matrices: Iterable[torch.Tensor], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closure
        """Change the matrices that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    step = self._direction(weight, weight.grad)
                    weight.mul_(1 - group["lr"] * group["weight_decay"])
                    weight.sub_(step, alpha=group["lr"] * MUON_SIZE * math.sqrt(max(weight.shape)))

    def _direction(self, weight: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        mean: torch.Tensor = self.state[weight].setdefault("mean", torch.zeros_like(weight))
        mean.lerp_(gradient, 1 - MUON_MOMENTUM)
        return orthogonal(gradient.lerp(mean, MUON_MOMENTUM))


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """Nearly U V^T of a matrix's singular value decomposition U S V^T.

    Args:
        matrix: shape (M, N).

    Returns:
        A matrix of that shape, its singular values near 1 unless they were tiny beside the largest.
    """
    wide = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    near: torch.Tensor = wide / wide.norm().clamp(min=1e-7)
    first, third, fifth = NEWTON_SCHULZ
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = near @ near.T
        near = first * near + (third * gram + fifth * gram @ gram) @ near
    return near.T if matrix.shape[0] > matrix.shape[1] else near
