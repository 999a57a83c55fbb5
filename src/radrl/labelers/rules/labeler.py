"""The rule labeler: CheXpert's reading of a report by mentions and assertion rules, pure Python and fast.

As CheXpert (Irvin et al. 2019, arXiv:1901.07031) it finds mentions of 13 observations, decides for each
whether its sentence denies, hedges or asserts it, and aggregates over the report: positive over uncertain
over negative, blank where nothing is mentioned. No Finding is 1 when nothing but Support Devices is positive
or uncertain, neither an observation nor one of the other findings that CheXpert lists beside them (emphysema,
scoliosis, degenerative change, ...). Followed in particular: "lungs are clear" says nothing of Lung Opacity;
a normal cardiomediastinal silhouette speaks of Enlarged Cardiomediastinum, not of Cardiomegaly; "upper limits
of normal" is negative; "A or B" and "A versus B" make both uncertain; "likely" and "consistent with" are
positive; vascular congestion is Edema, uncertain at most; heart failure is Edema and an uncertain
Cardiomegaly; fibrosis is Pleural Other, a scar Lung Opacity, a nodular opacity both Lung Lesion and Lung
Opacity; a calcified nodule is no Lung Lesion; "history of" denies.

Departures from CheXpert:

- cues reach by clause rules over the sentence's items instead of a dependency parse;
- heart and mediastinum count only where a size is stated of them (CheXpert takes a bare "heart size" as
  positive and a "stable" one as uncertain: blank here);
- "no new X" is negative (CheXpert: uncertain); "unlikely" denies (CheXpert: no cue, hence positive);
- more hedges, such as "suggests", "suggestive of", "probably", "would be a consideration" (CheXpert: no cues,
  hence positive);
- what a report only asks for is not mentioned: "rule out X", "to exclude X" (CheXpert: denied), "evaluate
  for X", "evaluation for X is limited" (CheXpert: no cues, hence positive), "X must be ruled out" (CheXpert:
  denied);
- "almost completely resolved", "largely resolved", "essentially resolved", "near complete resolution of" and
  "document resolution of" do not deny; "no change in X" is positive;
- a dash between two findings ends a denial: "no effusion - pneumothorax is seen" (CheXpert: as its parser
  takes it);
- more phrases: pleural plaque, sternal wires and stents, lung lesions, ground glass; a hemothorax, the
  fluid of a hemopneumothorax and fluid in a fissure are Pleural Effusion; an infection named as granulomatous
  or tuberculous is no Pneumonia, cystic fibrosis no Pleural Other;
- of CheXpert's list of other findings a fissure, a defibrillator (Support Devices alone) and the adjective
  "prominent" (a size of heart and mediastinum) are not read as such;
- a report without a word is blank throughout, No Finding included: an empty one, digits, "nan", "NaT",
  "NA"; "missing" and "not available" are words;
- text under the headings indication, history, technique and comparison is not read.

Own rules instead of medspacy's ConText, since these readings would have to be rules of its own there too, and
no spaCy pipeline has to run. ``python bench/scoring.py`` says how many reports a second they read on a core.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Final, Literal

import numpy as np

from radrl.labelers import LabelMatrix, check_texts, says_nothing
from radrl.labelers.rules.assertion import claims
from radrl.labelers.rules.text import sentences
from radrl.observations import (
    BLANK,
    NEGATIVE,
    NO_FINDING,
    OBSERVATIONS,
    POSITIVE,
    SUPPORT_DEVICES,
    UNCERTAIN,
)
from radrl.parts.section import Section, takes

_BY_RANK: Final = (BLANK, NEGATIVE, UNCERTAIN, POSITIVE)
_RANK: Final = {said: rank for rank, said in enumerate(_BY_RANK)}


class RulesLabeler:
    """Labels reports by rules; the same text always gets the same labels.

    Sentences are cached, since reports (and rollouts of one film) repeat them.

    Args:
        alternatives: class of "A or B", "A versus B" where nothing else hedges them. Uncertain as in
            CheXpert; positive as human indexers of reports take them.
        other_findings: whether the findings that CheXpert lists beside its observations (emphysema,
            scoliosis, degenerative change, ...) withhold No Finding, as in CheXpert's code; without them
            No Finding follows from the other 13 columns.
        cache_size: sentences remembered; 0 for none.

    Raises:
        ValueError: ``alternatives`` is neither positive nor uncertain.

    Example:
        >>> labels = RulesLabeler().label(["Mild cardiomegaly. No effusion or pneumothorax."])
        >>> [name for name, said in zip(OBSERVATIONS, labels[0]) if said == NEGATIVE]
        ['Pneumothorax', 'Pleural Effusion']
    """

    name = "rules"

    def __init__(
        self, *, alternatives: int = UNCERTAIN, other_findings: bool = True, cache_size: int = 32_768
    ) -> None:
        if alternatives not in (POSITIVE, UNCERTAIN):
            valid = f"{POSITIVE} (positive) or {UNCERTAIN} (uncertain)"
            raise ValueError(f"alternatives is {alternatives}: give {valid}")
        self._other_findings = other_findings
        self._claims = lru_cache(maxsize=cache_size)(partial(claims, alternatives=alternatives))

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """Label reports.

        Args:
            reports: N report texts, raw or cleaned, with or without headings.

        Returns:
            Class indices in the order of `radrl.observations.OBSERVATIONS`, shape (N, 14), dtype int8.

        Raises:
            TypeError: a report is no string; the message names its number.
        """
        check_texts(reports)
        rows = np.zeros((len(reports), len(OBSERVATIONS)), dtype=np.int8)  # (N, 14)
        for number, report in enumerate(reports):
            rows[number] = self._row(report)
        return rows

    def _row(self, report: str) -> list[int]:
        """The 14 class indices of one report."""
        read = sentences(report)
        row = self._stated(read)
        row[NO_FINDING] = int(not (all(map(says_nothing, read)) or self._anything_found(row)))
        return row

    def read_statements(self, report: str) -> list[int]:
        """What a report states of each observation, and in No Finding's place of the other findings.

        Args:
            report: raw or cleaned text.

        Returns:
            14 class indices; the last one is positive, uncertain or negative as the other findings are
            asserted, hedged or denied, whether they withhold No Finding or not.
        """
        return self._stated(sentences(report))

    def _stated(self, read: Sequence[str]) -> list[int]:
        ranks = [0] * len(OBSERVATIONS)
        for sentence in read:
            for observation, said in self._claims(sentence):
                ranks[observation] = max(ranks[observation], _RANK[said])
        return [_BY_RANK[rank] for rank in ranks]

    def _anything_found(self, stated: list[int]) -> bool:
        """Whether what a report states speaks against No Finding."""
        passed_over = {SUPPORT_DEVICES} if self._other_findings else {SUPPORT_DEVICES, NO_FINDING}
        return any(said in (POSITIVE, UNCERTAIN) for i, said in enumerate(stated) if i not in passed_over)


class RulesSection(Section):
    """The rule labeler's readings."""

    alternatives: Literal["uncertain", "positive"]
    other_findings: bool


@takes(RulesSection)
def rules(*, alternatives: str, other_findings: bool) -> RulesLabeler:
    """CheXpert's reading of a report by mentions and assertion rules.

    Args:
        alternatives: what "A or B" says of both, ``uncertain`` or ``positive``.
        other_findings: as `RulesLabeler` takes it.
    """
    said = {"positive": POSITIVE, "uncertain": UNCERTAIN}[alternatives]
    return RulesLabeler(alternatives=said, other_findings=other_findings)
