"""What the compact CheXbert learns from: texts of drawn sentences, labelled by the rules, in lessons.

- short texts first, so that it learns to read a sentence before it learns to gather a report;
- with rewordings some lessons of both kinds of sentences, then one of the corpus' own, in long texts;
- between lessons the pupil reads all rewordings, and those that it misreads are drawn more often afterwards:
  what the rules know is a long tail, and most of a corpus' language is learned early;
- the reports themselves are strewn over the later lessons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from transformers import BertTokenizer

from radrl.labelers import Labeler, LabelMatrix
from radrl.labelers.rules.rewording import FloatArray, IntArray, draw_texts, rarity_weights, reword, sentences

WINDOW: Final = 20
"""Batches whose texts are sorted by length together; the order of windows keeps short texts first."""
LESSONS: Final = 3
"""Before the last one."""
OWN_LAST: Final = 0.15
"""Share of the texts, the last ones, that hold no rewordings."""
LONGER_LAST: Final = 8
"""More sentences that these may have."""
MISREAD: Final = 0.5
"""Share of the draws of rewordings that goes to those that the pupil misreads."""

Read = Callable[[Sequence[str]], LabelMatrix]
"""The pupil as it is: labels of N sentences, shape (N, 14)."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Sentences to draw from.

    Args:
        sentences: S sentences, lower case.
        labels: class indices of each, shape (S, 14).
        weights: probability of each, shape (S,).
        known: numbers of the corpus' own sentences by text, the first ones; the rest are rewordings.
    """

    sentences: list[str]
    labels: LabelMatrix
    weights: FloatArray
    known: dict[str, int]

    @property
    def reworded(self) -> bool:
        """Whether there are rewordings."""
        return len(self.sentences) > len(self.known)

    @property
    def own_weights(self) -> FloatArray:
        """Probability of each sentence where rewordings are not to be drawn, shape (S,)."""
        weights = np.zeros_like(self.weights)
        own = self.weights[: len(self.known)]
        weights[: len(own)] = own / own.sum()
        return weights


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


@dataclass(frozen=True, slots=True)
class Lesson:
    """Texts that are drawn at one time.

    Args:
        count: how many are drawn.
        longest: most sentences of one.
        span: part of the curriculum over which texts grow.
        own_from: share of the lesson after which the corpus' reports are strewn in, each once; nothing for
            none.
        own_language: whether it holds no rewordings.
    """

    count: int
    longest: int
    span: tuple[float, float]
    own_from: float | None
    own_language: bool = False


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


class Curriculum:
    """The lessons of one training.

    Args:
        reports: training reports.
        pool: their sentences, and rewordings.
        teacher: labels the texts.
        tokenizer: the pupil's.
        settings: the keys of `radrl.params.data.Compact`.
        rng: decides the texts and their order.
    """

    def __init__(
        self,
        reports: Sequence[str],
        pool: Pool,
        teacher: Labeler,
        tokenizer: BertTokenizer,
        settings: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> None:
        own = [np.array([pool.known[s.lower()] for s in sentences(text)], dtype=np.int64) for text in reports]
        self._own = [numbers for numbers in own if len(numbers)]
        self._pool, self._teacher, self._tokenizer, self._rng = pool, teacher, tokenizer, rng
        self._size, self._max_tokens = settings["batch_size"], settings["max_tokens"]
        self._lessons = plan(settings["recombined"], settings["longest"], reworded=pool.reworded)
        self._pieces: list[list[int]] = tokenizer(pool.sentences, add_special_tokens=False)["input_ids"]

    @property
    def steps(self) -> int:
        """Batches of all lessons."""
        return sum(-(-self._texts(lesson) // self._size) for lesson in self._lessons)

    def batches(self, read: Read) -> Iterator[tuple[list[Text], torch.Tensor]]:
        """Draw the lessons, each when it is reached.

        Args:
            read: asked between lessons.

        Yields:
            The texts of a batch and their labels, shape (B, 14).
        """
        for number, lesson in enumerate(self._lessons):
            texts, labels = self._draw(lesson, self._weights(lesson, number, read))
            for batch in _batches([len(text.ids) for text in texts], self._size, self._rng):
                yield [texts[i] for i in batch], labels[batch]

    def _texts(self, lesson: Lesson) -> int:
        return lesson.count + (0 if lesson.own_from is None else len(self._own))

    def _weights(self, lesson: Lesson, number: int, read: Read) -> FloatArray:
        """Probability of each sentence."""
        pool, known = self._pool, len(self._pool.known)
        if lesson.own_language:
            return pool.own_weights
        if not number:
            return pool.weights
        misread = (read(pool.sentences[known:]) != pool.labels[known:])[:, :-1].any(axis=1)
        return harder(pool, misread)

    def _draw(self, lesson: Lesson, weights: FloatArray) -> tuple[list[Text], torch.Tensor]:
        """Texts in the order they are learned, and their labels, shape (N, 14)."""
        drawn = draw_texts(weights, lesson.count, longest=lesson.longest, rng=self._rng, span=lesson.span)
        own = [] if lesson.own_from is None else self._own
        places = self._rng.uniform(lesson.own_from or 0.0, 1, len(own))
        places = np.concatenate([np.arange(len(drawn)) / max(len(drawn), 1), places])
        rows = [[*drawn, *own][i] for i in np.argsort(places, kind="stable")]
        labels = self._teacher.label([" ".join(self._pool.sentences[i] for i in row) for row in rows])
        return [self._text(row) for row in rows], torch.from_numpy(labels).long()

    def _text(self, row: IntArray) -> Text:
        ids, ends, whole = [self._tokenizer.cls_token_id], [], []
        for number in row:
            room = self._max_tokens - 1 - len(ids)
            ids += self._pieces[number][:room]
            if len(self._pieces[number]) > room:
                break
            if self._pieces[number]:
                ends.append(len(ids) - 1)
                whole.append(int(number))
        return Text([*ids, self._tokenizer.sep_token_id], ends, whole)


def plan(count: int, longest: int, *, reworded: bool) -> list[Lesson]:
    """The lessons of a curriculum.

    Args:
        count: texts to draw.
        longest: most sentences of one, until the last lesson.
        reworded: whether there are rewordings.

    Returns:
        One lesson where there are none, otherwise `LESSONS` and a last one.
    """
    if not reworded:
        return [Lesson(count, longest, (0.0, 1.0), own_from=0.5)]
    last = round(OWN_LAST * count)
    cuts = [(count - last) * i // LESSONS for i in range(LESSONS + 1)]
    lessons = [
        Lesson(cuts[i + 1] - cuts[i], longest, (i / LESSONS, (i + 1) / LESSONS), own_from=0.0 if i else None)
        for i in range(LESSONS)
    ]
    return [*lessons, Lesson(last, longest + LONGER_LAST, (1.0, 1.0), own_from=0.0, own_language=True)]


def harder(pool: Pool, misread: npt.NDArray[np.bool_]) -> FloatArray:
    """Draw misread rewordings more often, where they get less than `MISREAD` of the draws of rewordings.

    Args:
        pool: has R rewordings.
        misread: which of them the pupil misreads, shape (R,).

    Returns:
        Probability of each sentence, shape (S,); the corpus' own keep theirs.
    """
    weights = pool.weights.copy()
    new = weights[len(pool.known) :]
    share = new[misread].sum() / new.sum()
    if 0 < share < MISREAD:
        new *= np.where(misread, MISREAD / share, (1 - MISREAD) / (1 - share))
    return weights


def _batches(lengths: Sequence[int], size: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """Batches of texts of like length, drawn window by window so that the order of texts is kept roughly."""
    for start in range(0, len(lengths), size * WINDOW):
        window = range(start, min(start + size * WINDOW, len(lengths)))
        by_length = sorted(window, key=lengths.__getitem__)
        batches = [by_length[i : i + size] for i in range(0, len(by_length), size)]
        for i in rng.permutation(len(batches)):
            yield batches[i]
