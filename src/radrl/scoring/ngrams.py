"""BLEU and CIDEr: what pycocoevalcap gives for the n-grams that two texts share.

Its `CiderScorer` keeps a dictionary of n-grams for every text, tens of kB a pair, because it counts document
frequencies over the list of its references. Its `compute_cider`, however, reads nothing but those
frequencies and the number of references: here they are counted first, compactly, and texts are then scored
some at a time. It takes NumPy's logarithm anew for each n-gram of each text and adds up NumPy's scalars; here
there is one logarithm a frequency and Python's floats, in the same order, which takes a third of the time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

from radrl.evaluation import FloatArray, Metrics

ORDER: Final = 4
"""CIDEr's n-grams have 1 to 4 words."""
SIGMA: Final = 6.0
"""Of the Gaussian by which a difference of lengths takes from a score."""

_NONE, _UNKNOWN, _FIRST = 0, 1, 2
"""Numbers of words: where an n-gram has ended, of a word in no reference, of the first word known."""

_HALF: Final = 2.0**26
"""Two words' numbers are exact in one float64 as long as there are fewer words."""

Ngram = tuple[str, ...]
Keys = npt.NDArray[np.complex128]

BLEU_ORDER: Final = 4
BLEUS: Final = [f"nlg_bleu{n}" for n in range(1, BLEU_ORDER + 1)]

Cooked = tuple[int, dict[tuple[str, ...], int]]
"""A text's length in words and its n-grams, as pycocoevalcap's `precook` has them."""

_TINY, _SMALL = 1e-15, 1e-9
"""pycocoevalcap's smoothing: added to the matches and to the number of n-grams."""


def sentence_bleu2(reference: str, hypothesis: str) -> float:
    """BLEU-2 of one report, the second term of DEER's reward (eq. 1).

    With c_n matched (clipped) and g_n all n-grams of the hypothesis, on whitespace tokens as given:
    sqrt(prod_{n = 1, 2} (c_n + 1e-15) / (g_n + 1e-9)) * min(1, exp(1 - |reference| / |hypothesis|)).
    This is pycocoevalcap's BLEU-2 of a corpus of this one pair; no bigram in common gives about 1e-8, not a
    smoothed value.

    Args:
        reference: the reference report, prepared.
        hypothesis: the generated report, prepared in the same way.

    Returns:
        BLEU-2, in [0, 1].

    Raises:
        ValueError: when the reference has no token.

    Example:
        >>> round(sentence_bleu2("no acute process .", "no acute change ."), 4)
        0.5
    """
    truth, found = reference.split(), hypothesis.split()
    if not truth:
        raise ValueError("the reference report is empty; leave the study out")
    matched, total = [], []
    for n in (1, 2):
        matched.append((_ngrams(truth, n) & _ngrams(found, n)).total())
        total.append(max(0, len(found) - n + 1))
    bleu = _bleu(np.array(matched), np.array(total), np.array(len(found)), np.array(len(truth)))
    return float(bleu[-1])


def _ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _bleu(
    matched: npt.NDArray[Any], total: npt.NDArray[Any], length: npt.NDArray[Any], reference: npt.NDArray[Any]
) -> FloatArray:
    """BLEU-1 to BLEU-n, pycocoevalcap's smoothing, from counts, shape (..., n), and lengths, shape (...)."""
    precisions = np.cumprod((matched + _TINY) / (total + _SMALL), axis=-1)
    orders = np.arange(1, matched.shape[-1] + 1)
    shortness = (length + _TINY) / (reference + _SMALL)
    brevity = np.exp(np.minimum(0.0, 1.0 - 1.0 / shortness))
    bleu: FloatArray = precisions ** (1.0 / orders) * brevity[..., np.newaxis]
    return bleu


def bleu_of_sums(sums: FloatArray) -> Metrics:
    """Corpus BLEU from summed matches, n-grams and the two lengths, shape (..., 10)."""
    bleu = _bleu(sums[..., :BLEU_ORDER], sums[..., BLEU_ORDER:-2], sums[..., -2], sums[..., -1])
    return {name: bleu[..., n] for n, name in enumerate(BLEUS)}


def bleu_scores(known: Sequence[Cooked], said: Sequence[Cooked]) -> tuple[dict[str, FloatArray], FloatArray]:
    """Per-report BLEU by pycocoevalcap, and its counts for `bleu_of_sums`, shape (N, 10)."""
    counts = [bleu_counts(*pair) for pair in zip(known, said, strict=True)]
    _, per_report = _pycocoevalcap(counts)
    return (
        {name: np.asarray(values, np.float64) for name, values in zip(BLEUS, per_report, strict=True)},
        np.asarray(counts, np.float64),
    )


def bleu_counts(known: Cooked, said: Cooked) -> list[int]:
    """Matches of each order, n-grams of each order, and the two lengths."""
    reference, ngrams = known[1], said[1]
    correct = [0] * BLEU_ORDER
    for ngram in ngrams.keys() & reference.keys():
        correct[len(ngram) - 1] += min(ngrams[ngram], reference[ngram])
    return [*correct, *(max(0, said[0] - n) for n in range(BLEU_ORDER)), said[0], known[0]]


def corpus_bleu(sums: FloatArray) -> dict[str, float]:
    """Corpus BLEU by pycocoevalcap, which has it from sums over all reports."""
    corpus, _ = _pycocoevalcap([[int(count) for count in sums]])
    return {name: float(value) for name, value in zip(BLEUS, corpus, strict=True)}


def _pycocoevalcap(counts: Sequence[Sequence[int]]) -> tuple[list[float], list[list[float]]]:
    """BLEU of all and of each, from what its scorer counts."""
    scorer = BleuScorer(n=BLEU_ORDER)
    scorer.ctest = [
        {"correct": one[:BLEU_ORDER], "guess": one[BLEU_ORDER:-2], "testlen": one[-2], "reflen": [one[-1]]}
        for one in counts
    ]
    corpus, per_report = scorer.compute_score(option="closest", verbose=0)  # higher values print to stdout
    return corpus, per_report


class DocumentFrequencies:
    """In how many references each n-gram stands.

    It grows with the references' n-grams, not with their number: 20 bytes each. An n-gram's key is exact,
    the numbers of its four words in the two halves of a complex number, which NumPy sorts and searches.
    """

    def __init__(self) -> None:
        self.documents = 0
        self._words: dict[str, int] = {}
        self._keys: Keys = np.empty(0, np.complex128)  # sorted
        self._counts = np.empty(0, np.int32)

    def add(self, references: Sequence[str]) -> None:
        """Count the n-grams of references, each n-gram of a reference once.

        Args:
            references: prepared references.
        """
        words = [text.split() for text in references]
        for word in {word for own in words for word in own}:
            self._words.setdefault(word, len(self._words) + _FIRST)
        if len(self._words) + _FIRST > _HALF:
            raise OverflowError(f"{len(self._words)} different words; CIDEr counts up to {int(_HALF)}")
        lengths = np.array([len(own) for own in words], np.int64)
        numbers = np.fromiter((self._words[word] for own in words for word in own), np.int64, lengths.sum())
        self._merge(*_frequencies(numbers, np.repeat(np.arange(len(words)), lengths)))
        self.documents += len(references)

    def frequencies(self, ngrams: Sequence[Ngram]) -> dict[Ngram, float]:
        """The frequencies of n-grams, 0 of those in no reference.

        Args:
            ngrams: each of 1 to 4 words.

        Returns:
            By n-gram.
        """
        number = self._words.get
        padded = [
            [number(word, _UNKNOWN) for word in ngram] + [_NONE] * (ORDER - len(ngram)) for ngram in ngrams
        ]
        keys = _keys(np.array(padded, np.int64).reshape(-1, ORDER).T)
        at, known = self._find(keys)
        found = np.zeros(len(keys))
        found[known] = self._counts[at[known]]
        return dict(zip(ngrams, found.tolist(), strict=True))

    def _find(self, keys: Keys) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Where each key stands or would stand, and whether it does."""
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == keys[known]
        return at, known

    def _merge(self, keys: Keys, counts: npt.NDArray[np.int32]) -> None:
        """Add counts of sorted keys, each there once."""
        at, known = self._find(keys)
        self._counts[at[known]] += counts[known]
        self._counts = np.insert(self._counts, at[~known], counts[~known])
        self._keys = np.insert(self._keys, at[~known], keys[~known])


def _keys(words: npt.NDArray[np.int64]) -> Keys:
    """Keys of n-grams from the numbers of their four words, shape (4, N)."""
    first, second, third, fourth = words.astype(np.float64)
    keys: Keys = (first * _HALF + second) + 1j * (third * _HALF + fourth)
    return keys


def _frequencies(
    words: npt.NDArray[np.int64], documents: npt.NDArray[np.int64]
) -> tuple[Keys, npt.NDArray[np.int32]]:
    """The n-grams in running words, each word with its document's number, and in how many documents."""
    keys, owners = [], []
    for n in range(1, ORDER + 1):
        starts = np.flatnonzero(documents[n - 1 :] == documents[: len(documents) - n + 1])
        shifted = np.full((ORDER, len(starts)), _NONE)
        shifted[:n] = [words[starts + i] for i in range(n)]
        keys.append(_keys(shifted))
        owners.append(documents[starts])
    known, which = np.unique(np.concatenate(keys), return_inverse=True)
    width = documents.max(initial=0) + 1
    standing = np.sort(which * width + np.concatenate(owners))
    once = standing[np.diff(standing, prepend=-1) > 0]
    counts = np.bincount(once // width, minlength=len(known))
    return known, counts.astype(np.int32)


def cider_scores(
    references: Sequence[Mapping[Ngram, int]],
    hypotheses: Sequence[Mapping[Ngram, int]],
    frequencies: DocumentFrequencies,
) -> list[float]:
    """CIDEr of each pair, to the last bit pycocoevalcap's.

    Args:
        references: the n-grams of N references and how often each stands there, in the order of
            pycocoevalcap's `precook`, in which it adds up.
        hypotheses: of the N generated reports.
        frequencies: of all references of the corpus.

    Returns:
        N scores in [0, 10].
    """
    found = frequencies.frequencies(list({}.fromkeys(chain(*references, *hypotheses))))
    of_all = np.log(float(frequencies.documents))
    rarity = {count: float(of_all - np.log(max(1.0, count))) for count in {*found.values()}}
    weights = {ngram: rarity[count] for ngram, count in found.items()}
    return [_score(*pair, weights) for pair in zip(references, hypotheses, strict=True)]


class _Vector:
    """TF-IDF of a text's n-grams by their order, the norms, and its length in bigrams."""

    __slots__ = ("bigrams", "norms", "of")

    def __init__(self, ngrams: Mapping[Ngram, int], weights: Mapping[Ngram, float]) -> None:
        self.of: list[dict[Ngram, float]] = [{} for _ in range(ORDER)]
        squares, self.bigrams = [0.0] * ORDER, 0
        for ngram, count in ngrams.items():
            order = len(ngram) - 1
            self.of[order][ngram] = value = count * weights[ngram]
            squares[order] += value**2
            if order == 1:
                self.bigrams += count
        self.norms = [math.sqrt(one) for one in squares]


def _score(
    reference: Mapping[Ngram, int], hypothesis: Mapping[Ngram, int], weights: Mapping[Ngram, float]
) -> float:
    """Mean over the orders of the clipped cosine, less what the lengths differ by, times 10."""
    known, said = _Vector(reference, weights), _Vector(hypothesis, weights)
    shortened = math.e ** (-(float(said.bigrams - known.bigrams) ** 2) / (2 * SIGMA**2))
    total = 0.0
    for order in range(ORDER):
        truth, cosine = known.of[order], 0.0
        for ngram, value in said.of[order].items():
            if ngram in truth:  # of an n-gram in one text alone pycocoevalcap adds 0
                cosine += min(value, truth[ngram]) * truth[ngram]
        if said.norms[order] != 0 and known.norms[order] != 0:
            cosine /= said.norms[order] * known.norms[order]
        total += cosine * shortened
    return total / ORDER * 10.0
