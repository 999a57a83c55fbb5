"""Overlap of words: BLEU, ROUGE-L, CIDEr and METEOR as pycocoevalcap computes them, and BLEU-2 for rewards.

The papers print pycocoevalcap's figures on whitespace tokens, without its PTB tokenizer. What the tokens
are is the preparation's business:

- ``whitespace``: the text as it is, runs of whitespace taken as one blank;
- ``basic``: lower-cased, every punctuation mark a token of its own;
- ``pycocoevalcap``: the text untouched. pycocoevalcap's ROUGE-L parts at single blanks, so that two blanks,
  which a paper's cleaning leaves where a word stood, hold an empty word: up to 0.002 in published values.

Metrics: ``nlg_bleu1`` to ``nlg_bleu4``, ``nlg_rougel`` (beta 1.2), ``nlg_cider`` (idf from the references
at hand, hence without meaning across corpora), ``nlg_meteor`` (METEOR 1.5, English, normalised). These
measure wording: a flipped negation hardly moves them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from radrl.evaluation.summed import FloatArray, Metrics, SummedMetrics, join, mean_metrics
from radrl.parts.section import Section
from radrl.scoring.base import Scores, require_pairs
from radrl.scoring.meteor import MeteorProcess, meteor_missing

BLEU_ORDER: Final = 4
_TINY, _SMALL = 1e-15, 1e-9
"""pycocoevalcap's smoothing: added to the matches and to the number of n-grams."""

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


def whitespace(text: str) -> str:
    """The text as it is; a run of whitespace becomes one blank.

    pycocoevalcap's ROUGE-L would count a second blank as an empty word, and a line feed would break METEOR's
    line protocol.
    """
    return " ".join(text.split())


def untouched(text: str) -> str:
    """The text to the letter, as published code has it scored; `radrl.scoring.meteor` makes a line of it."""
    return text


def basic(text: str) -> str:
    """Lower-cased, every punctuation mark a token of its own.

    Example:
        >>> basic("No effusion, S/P surgery.")
        'no effusion , s / p surgery .'
    """
    return " ".join(_TOKEN.findall(text.lower()))


Preparation = Literal["whitespace", "basic", "pycocoevalcap"]
PREPARATIONS: Final[dict[str, Callable[[str], str]]] = {
    "whitespace": whitespace,
    "basic": basic,
    "pycocoevalcap": untouched,
}


def nlg_scores(
    references: Sequence[str],
    hypotheses: Sequence[str],
    *,
    preparation: str = "whitespace",
    meteor: bool = True,
) -> Scores:
    """Score generated reports by overlap with their references.

    Args:
        references: N reference reports, none of them empty.
        hypotheses: the N generated reports; an empty one scores 0.
        preparation: name of the text preparation, one of `PREPARATIONS`.
        meteor: whether to ask for METEOR, which starts a Java process of about 1 GB.

    Returns:
        Corpus and per-report figures; a metric that cannot be had is in `skipped` with the reason.

    Raises:
        ValueError: when the preparation is unknown, the lengths differ, there is no report, or a reference
            is empty, with its row.
        RuntimeError: when METEOR's Java process fails.
    """
    truth, found = _prepared(references, hypotheses, preparation)
    corpus, per_report, counts = _bleu_scores(truth, found)
    skipped: dict[str, str] = {}
    per_report["nlg_rougel"] = _rouge_l(truth, found)
    if len(truth) > 1:
        per_report["nlg_cider"] = _cider(truth, found)
    else:
        skipped["nlg_cider"] = "skipped (one report has no document frequencies)"
    means = mean_metrics({name: per_report[name] for name in per_report if name not in corpus})
    corpus |= means.values()
    summed = join(SummedMetrics(counts, _bleu_of_sums), means)

    missing = meteor_missing() if meteor else "not asked for"
    if missing:
        skipped["nlg_meteor"] = f"skipped ({missing})"
    else:
        with MeteorProcess() as process:
            corpus["nlg_meteor"], per_report["nlg_meteor"] = process.score(truth, found)
    return Scores(corpus, per_report, skipped, summed)


class NlgSection(Section):
    """Overlap of words."""

    preparation: Preparation
    meteor: bool


class Nlg:
    """BLEU, ROUGE-L, CIDEr and METEOR: the metrics of `nlg_scores` as a scorer.

    Args:
        preparation: as there.
        meteor: as there.
    """

    Section = NlgSection
    name = "nlg"
    wording = True

    def __init__(self, *, preparation: str, meteor: bool) -> None:
        self.preparation, self.meteor = preparation, meteor

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.base.Scorer`."""
        return nlg_scores(references, hypotheses, preparation=self.preparation, meteor=self.meteor)


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


def _prepared(
    references: Sequence[str], hypotheses: Sequence[str], preparation: str
) -> tuple[list[str], list[str]]:
    if preparation not in PREPARATIONS:
        raise ValueError(f"unknown preparation {preparation!r}; valid: {', '.join(PREPARATIONS)}")
    require_pairs(references, hypotheses)
    prepare = PREPARATIONS[preparation]
    truth = [prepare(text) for text in references]
    for row, text in enumerate(truth):
        if not text.split():
            raise ValueError(f"reference {row} is empty as {preparation!r} tokens; leave the study out")
    return truth, [prepare(text) for text in hypotheses]


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


def _bleu_of_sums(sums: FloatArray) -> Metrics:
    """Corpus BLEU from summed matches, n-grams and the two lengths, shape (..., 10)."""
    bleu = _bleu(sums[..., :BLEU_ORDER], sums[..., BLEU_ORDER:-2], sums[..., -2], sums[..., -1])
    return {f"nlg_bleu{n}": bleu[..., n - 1] for n in range(1, BLEU_ORDER + 1)}


def _bleu_scores(
    truth: Sequence[str], found: Sequence[str]
) -> tuple[dict[str, float], dict[str, FloatArray], FloatArray]:
    """Corpus and per-report BLEU by pycocoevalcap, and its counts for `_bleu_of_sums`."""
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer

    scorer = BleuScorer(n=BLEU_ORDER)
    for reference, hypothesis in zip(truth, found, strict=True):
        scorer += (hypothesis, [reference])
    corpus, per_report = scorer.compute_score(option="closest", verbose=0)  # higher values print to stdout
    names = [f"nlg_bleu{n}" for n in range(1, BLEU_ORDER + 1)]
    counts = [[*one["correct"], *one["guess"], one["testlen"], one["reflen"][0]] for one in scorer.ctest]
    return (
        {name: float(value) for name, value in zip(names, corpus, strict=True)},
        {name: np.asarray(values, np.float64) for name, values in zip(names, per_report, strict=True)},
        np.asarray(counts, np.float64),
    )


def _rouge_l(truth: Sequence[str], found: Sequence[str]) -> FloatArray:
    from pycocoevalcap.rouge.rouge import Rouge

    rouge = Rouge()
    return np.array(
        [rouge.calc_score([said], [known]) for known, said in zip(truth, found, strict=True)], np.float64
    )


def _cider(truth: Sequence[str], found: Sequence[str]) -> FloatArray:
    from pycocoevalcap.cider.cider_scorer import CiderScorer

    scorer = CiderScorer()
    for reference, hypothesis in zip(truth, found, strict=True):
        scorer += (hypothesis, [reference])
    _, per_report = scorer.compute_score()
    return np.asarray(per_report, np.float64)
