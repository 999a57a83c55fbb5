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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from types import TracebackType
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from pycocoevalcap.bleu.bleu_scorer import precook
from pycocoevalcap.rouge.rouge import Rouge

from radrl.evaluation import FloatArray, Metrics, RunningSum, SummedMetrics, join, mean_metrics
from radrl.evaluation.meteor import METEOR, addable, meteor_of_counts
from radrl.parts.section import Section
from radrl.scoring import Scores, ScoringError, require_pairs
from radrl.scoring.by_parts import ScoringByParts
from radrl.scoring.meteor import MeteorProcess, Texts, meteor_missing
from radrl.scoring.ngrams import (
    BLEU_ORDER,
    DocumentFrequencies,
    bleu_counts,
    bleu_of_sums,
    bleu_scores,
    cider_scores,
    corpus_bleu,
)

_AT_ONCE: Final = 512
"""Pairs whose n-grams are held at once, some 40 kB each."""

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
    cider: bool = True,
) -> Scores:
    """Score generated reports by overlap with their references.

    Args:
        references: N reference reports, none of them empty.
        hypotheses: the N generated reports; an empty one scores 0, but for ROUGE-L under ``pycocoevalcap``,
            where it is an empty word and matches one between two blanks of the reference.
        preparation: name of the text preparation, one of `PREPARATIONS`.
        meteor: whether to ask for METEOR, which starts a Java process of about 1 GB.
        cider: whether to ask for CIDEr, half of the time of the others together.

    Returns:
        Corpus and per-report figures; a metric that cannot be had is in `skipped` with the reason.

    Raises:
        ValueError: when the preparation is unknown, the lengths differ, there is no report, or a reference
            is empty, with its row.
        RuntimeError: when METEOR's Java process fails.
    """
    require_pairs(references, hypotheses)
    parts = [slice(start, start + _AT_ONCE) for start in range(0, len(references), _AT_ONCE)]
    with NlgByParts(preparation, meteor=meteor, cider=cider) as course:
        for part in parts:
            course.learn(references[part], hypotheses[part])
        course.ready()
        scores = [course.score(references[part], hypotheses[part]) for part in parts]
        whole = course.corpus()
    sums = [one.summed for one in scores if one.summed is not None]
    return Scores(
        whole.corpus,
        {name: np.concatenate([one.per_report[name] for one in scores]) for name in scores[0].per_report},
        whole.skipped,
        SummedMetrics(np.concatenate([one.per_study for one in sums]), sums[0].of_sums),
    )


class NlgByParts(ScoringByParts):
    """`nlg_scores` part by part: references are read twice, first to count CIDEr's document frequencies.

    Args:
        preparation: as there.
        meteor: as there.
        cider: as there.

    Raises:
        ValueError: as there.
    """

    def __init__(self, preparation: str, *, meteor: bool, cider: bool = True) -> None:
        if preparation not in PREPARATIONS:
            raise ValueError(f"unknown preparation {preparation!r}; valid: {', '.join(PREPARATIONS)}")
        self._preparation, self._prepare = preparation, PREPARATIONS[preparation]
        self._no_meteor = meteor_missing() if meteor else "not asked for"
        self._cider, self._frequencies = cider, DocumentFrequencies()
        self._learnt = 0
        self._counts, self._sums, self._meteor_counts = RunningSum(), RunningSum(), RunningSum()
        self._of_means: Callable[[FloatArray], Metrics] | None = None
        self._started, self._references = ExitStack(), Texts()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._started.__exit__(kind, error, trace)

    def learn(self, references: Sequence[str], hypotheses: Sequence[str]) -> None:
        """See `radrl.scoring.by_parts.ScoringByParts`."""
        require_pairs(references, hypotheses)
        truth = [self._prepare(text) for text in references]
        for row, text in enumerate(truth, self._learnt):
            if not text.split():
                raise ValueError(
                    f"reference {row} is empty as {self._preparation!r} tokens; leave the study out"
                )
        self._learnt += len(truth)
        if self._cider:
            self._frequencies.add(truth)
        if not self._no_meteor:
            self._references.add(truth)

    def ready(self) -> None:
        """Start METEOR."""
        if not self._no_meteor:
            self._meteor = self._started.enter_context(MeteorProcess(references=self._references.all()))

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.by_parts.ScoringByParts`."""
        require_pairs(references, hypotheses)
        truth, found = ([self._prepare(text) for text in texts] for texts in (references, hypotheses))
        known, said = ([precook(text, BLEU_ORDER) for text in texts] for texts in (truth, found))
        per_report, counts = bleu_scores(known, said)
        overlap = {"nlg_rougel": _rouge_l(truth, found)}
        if self._cider and self._frequencies.documents > 1:
            ngrams, others = ([own for _, own in cooked] for cooked in (known, said))
            overlap["nlg_cider"] = np.array(cider_scores(ngrams, others, self._frequencies), np.float64)
        means = mean_metrics(overlap)
        self._counts.add(counts)
        self._sums.add(means.per_study)
        self._of_means = means.of_sums
        per_report |= overlap
        if not self._no_meteor:
            sums, per_report["nlg_meteor"] = self._meteor.score_part(truth, found)
            self._meteor_counts.add(sums[np.newaxis])
        return Scores({}, per_report, summed=join(SummedMetrics(counts, bleu_of_sums), means))

    def corpus(self) -> Scores:
        """See `radrl.scoring.by_parts.ScoringByParts`."""
        assert self._of_means is not None
        skipped: dict[str, str] = {}
        if not self._cider:
            skipped["nlg_cider"] = "skipped (not asked for)"
        elif self._frequencies.documents < 2:
            skipped["nlg_cider"] = "skipped (one report has no document frequencies)"
        corpus = corpus_bleu(self._counts.sums) | self._sums.values(self._of_means)
        if self._no_meteor:
            skipped["nlg_meteor"] = f"skipped ({self._no_meteor})"
        else:
            corpus["nlg_meteor"] = self._meteor.corpus(self._meteor_counts.sums)
        return Scores(corpus, {}, skipped)


class NlgSection(Section):
    """Overlap of words."""

    preparation: Preparation
    meteor: bool


class Nlg:
    """BLEU, ROUGE-L, CIDEr and METEOR: the metrics of `nlg_scores` as a scorer.

    Args:
        preparation: as there.
        meteor: as there.
        cider: as there.
    """

    Section = NlgSection
    name = "nlg"
    wording = True

    def __init__(self, *, preparation: str, meteor: bool, cider: bool = True) -> None:
        self.preparation, self.meteor, self.cider = preparation, meteor, cider

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`."""
        asked = {"meteor": self.meteor, "cider": self.cider}
        return nlg_scores(references, hypotheses, preparation=self.preparation, **asked)

    def sums_of_stored(
        self, references: Sequence[str], rows: Mapping[str, tuple[Sequence[str], Mapping[str, npt.ArrayLike]]]
    ) -> dict[str, SummedMetrics]:
        """BLEU, and metrics that are means of values known already, of several rows against one reference.

        Args:
            references: N reference reports; each is read once for all rows.
            rows: by row, its N generated reports, and by metric name what each of them was given, shape (N,).

        Returns:
            By row the metrics, to the last bit those of `score` where that gave the values.
        """
        prepare = PREPARATIONS[self.preparation]
        cooked = lru_cache(_AT_ONCE)(lambda text: precook(prepare(text), BLEU_ORDER))  # reports repeat
        counts = {row: np.empty((len(references), 2 * BLEU_ORDER + 2)) for row in rows}
        for hypotheses, _ in rows.values():
            require_pairs(references, hypotheses)
        for number, reference in enumerate(references):
            known = precook(prepare(reference), BLEU_ORDER)
            for row, (hypotheses, _) in rows.items():
                counts[row][number] = bleu_counts(known, cooked(hypotheses[number]))
        return {
            row: join(SummedMetrics(counts[row], bleu_of_sums), *([mean_metrics(values)] if values else []))
            for row, (_, values) in rows.items()
        }

    def in_parts(self) -> ScoringByParts:
        """See `radrl.scoring.by_parts.InParts`."""
        return NlgByParts(self.preparation, meteor=self.meteor, cider=self.cider)


def _rouge_l(truth: Sequence[str], found: Sequence[str]) -> FloatArray:
    """ROUGE-L, pycocoevalcap's formula on its own words; it fills a table of lists for the subsequence."""
    squared = Rouge().beta ** 2
    scores = []
    for known, said in zip(truth, found, strict=True):
        reference, words = known.split(" "), said.split(" ")
        common = common_words(reference, words)
        precision, recall = common / float(len(words)), common / float(len(reference))
        scores.append(
            ((1 + squared) * precision * recall) / float(recall + squared * precision) if common else 0.0
        )
    return np.array(scores, np.float64)


def common_words(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence, by bits (Hyyrö 2004, Bit-parallel LCS-length computation).

    Args:
        first: some words.
        second: others.

    Returns:
        How many words both have in the same order.

    Example:
        >>> common_words("no acute process seen".split(), "no process is seen".split())
        3
    """
    places: dict[str, int] = {}
    for i, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << i
    every = (1 << len(first)) - 1
    open_ = every
    for word in second:
        if here := open_ & places.get(word, 0):
            open_ = (open_ + here | open_ - here) & every
    return len(first) - open_.bit_count()


class MeteorCounts:
    """METEOR alone, as a scorer.

    Args:
        preparation: of texts, as the family nlg has it.
    """

    name = METEOR

    def __init__(self, preparation: str) -> None:
        self._prepare = PREPARATIONS[preparation]

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`.

        Raises:
            ScoringError: when METEOR cannot run here.
            RuntimeError: when its Java process fails.
        """
        if missing := meteor_missing():
            raise ScoringError(f"{METEOR} cannot be had here: {missing}; install it, or leave the metric out")
        truth, found = ([*map(self._prepare, side)] for side in (references, hypotheses))
        known = Texts()
        known.add(truth)
        with MeteorProcess(references=known.all()) as process:
            counts = addable(process.counts(truth, found))
        summed = SummedMetrics(counts, lambda sums: {METEOR: meteor_of_counts(sums)})
        return Scores(summed.values(), {METEOR: meteor_of_counts(counts)}, {}, summed)
