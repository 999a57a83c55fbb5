"""GREEN's six error categories, counted by rules from the readings of two reports.

GREEN (Ostmeier et al. 2024, arXiv:2405.03595) has a language model list matched findings and
clinically significant errors of six categories; its score is matched / (matched + errors), 0 where nothing
matched. Here both reports are read by `radrl.scoring.rules.reading` and compared finding by finding:

    a  false_finding       the candidate asserts what the reference denies or leaves out
    b  missing_finding     the reference asserts what the candidate denies or leaves out
    c  wrong_location      both assert it, at another side, or at places in none of which they agree
    d  wrong_severity      both assert it and state severities of different rank
    e  false_comparison    the candidate compares what the reference does not, or the other way
    f  missing_comparison  the candidate leaves out a change (new, increased, decreased, resolved)

Decisions, GREEN's prompt leaving them to its judge:

- A report has one entry a finding: all that its sentences say of it, asserted before denied. So two nodules
  are one finding, and left and right effusions are bilateral ones.
- Certainty is no category: a suspected finding counts as asserted.
- A denied finding that both reports deny is a match, normal statements included; what one denies and the
  other does not mention is neither match nor error.
- Two reports that each deny something and of which neither asserts a disease (a device is none) match in
  that, so that two normal reports in different words are no 0.
- A finding with an error of location or severity is that error and no match; one with an error of comparison
  is both.
- A place lent by another finding of the sentence is judged there alone, so that it is no error twice.
- A side, place or severity that only one report states is no error, nor is an "unchanged" left out.
- A comparison of the study as a whole ("no interval change") stands for every finding's; on its own it
  counts only where the other report compares nothing at all.
- Findings that readers call by each other's names (`radrl.scoring.rules.vocabulary.FAMILIES`) match where
  neither has its own counterpart.
- Every error counts as significant.

Reports without a finding that the reading knows, empty ones included, match nothing and score 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from radrl.evaluation.green import ERRORS, GreenCounts
from radrl.evaluation.green import score as green_of
from radrl.parts.section import Nothing
from radrl.scoring import Scores, means_of, require_pairs
from radrl.scoring.by_parts import ScoringByParts, SumsByParts
from radrl.scoring.rules.reading import STUDY, Finding, read
from radrl.scoring.rules.vocabulary import BILATERAL, DEVICES, FAMILIES, LEFT, RANKS, RIGHT, UNCHANGED

T = TypeVar("T")


class _Entry(NamedTuple):
    """All that a report says of one finding."""

    asserted: bool
    sides: frozenset[str]
    zones: frozenset[str]
    ranks: frozenset[int]
    changes: frozenset[str]


_Summary = dict[str, _Entry]

_MATCHED: Final = "matched"
"""Counted beside the kinds of errors (`radrl.evaluation.green.ERRORS`)."""

_ZONES: Final = {
    "base": "lower",
    "lower": "lower",
    "retrocardiac": "lower",
    "costophrenic angle": "lower",
    "diaphragm": "lower",
    "middle": "middle",
    "lingula": "middle",
    "upper": "upper",
    "apex": "upper",
}
"""Places that reports use for each other; others stand for themselves."""


def count_errors(reference: str, candidate: str) -> GreenCounts:
    """Compare a candidate report with its reference.

    Args:
        reference: raw text.
        candidate: raw text.

    Returns:
        The counts; all 0 where the reading knows nothing of both reports.

    Example:
        >>> count_errors("Small left effusion. No pneumothorax.", "Small right effusion. No pneumothorax.")
        GreenCounts(errors=(0, 0, 1, 0, 0, 0), matched=1)
    """
    return _compare(_summary(read(reference)), _summary(read(candidate)))


class GreenRules:
    """Scores reports by GREEN's formula over errors counted by rules.

    ``green_rules`` is the score; the counts beside it tell where it comes from. In all but
    ``green_rules_matched`` more is worse.

    Args:
        cache_size: reports whose readings are remembered; 0 for none.
    """

    Section = Nothing
    name = "green_rules"
    by_pair = True

    def __init__(self, *, cache_size: int = 4_096) -> None:
        self._summary_of = lru_cache(maxsize=cache_size)(lambda report: _summary(read(report)))

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; a report that states nothing known scores 0.

        Returns:
            ``green_rules``, ``green_rules_matched`` and one count a category of errors.
        """
        require_pairs(references, hypotheses)
        counts = [
            _compare(self._summary_of(reference), self._summary_of(hypothesis))
            for reference, hypothesis in zip(references, hypotheses, strict=True)
        ]
        values: dict[str, Sequence[float]] = {
            self.name: [green_of(count) for count in counts],
            f"{self.name}_matched": [count.matched for count in counts],
        }
        for i, kind in enumerate(ERRORS):
            values[f"{self.name}_{kind}"] = [count.errors[i] for count in counts]
        return means_of(values)

    def in_parts(self) -> ScoringByParts:
        """See `radrl.scoring.by_parts.InParts`."""
        return SumsByParts(self)


def _summary(findings: Sequence[Finding]) -> _Summary:
    """What a report says of each finding, whatever the order of its sentences."""
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        by_name.setdefault(finding.name, []).append(finding)
    return {name: _entry(said) for name, said in by_name.items()}


def _entry(said: Sequence[Finding]) -> _Entry:
    """All that is said of one finding; of a finding asserted somewhere only what its assertions say."""
    asserted = [finding for finding in said if finding.asserted]
    kept = asserted or said
    placed = [finding for finding in kept if not finding.lent]
    sides = {finding.side for finding in placed if finding.side}
    return _Entry(
        bool(asserted),
        frozenset({LEFT, RIGHT} if BILATERAL in sides else sides),
        frozenset(_ZONES.get(place, place) for finding in placed for place in finding.places),
        frozenset(rank for finding in kept for rank in RANKS.get(finding.severity, ())),
        frozenset(finding.change for finding in kept if finding.change),
    )


def _compare(reference: _Summary, candidate: _Summary) -> GreenCounts:
    truth, found = _without_study(reference), _without_study(candidate)
    pairs = dict(_pairs(truth, found))
    counts = Counter(_judge_studies(reference, candidate))
    for known, said in pairs.items():
        counts.update(_judge(truth[known], found[said]))
        counts.update(_judge_change(truth[known], found[said], _study(reference), _study(candidate)))
    counts["missing_finding"] += _asserted(truth, truth.keys() - pairs.keys())
    counts["false_finding"] += _asserted(found, found.keys() - set(pairs.values()))
    counts[_MATCHED] += _is_normal(truth) and _is_normal(found)
    a, b, c, d, e, f = (counts[kind] for kind in ERRORS)
    return GreenCounts((a, b, c, d, e, f), counts[_MATCHED])


def _asserted(summary: _Summary, names: Set[str]) -> int:
    return sum(summary[name].asserted for name in names)


def _pairs(truth: _Summary, found: _Summary) -> Iterator[tuple[str, str]]:
    """Names of findings of both reports that are the same finding."""
    yield from ((name, name) for name in truth if name in found)
    left = {name: entry for name, entry in truth.items() if name not in found}
    over = {name: entry for name, entry in found.items() if name not in truth}
    for family in FAMILIES:
        for known in sorted(family & left.keys()):
            for said in sorted(family & over.keys()):
                if known in left and left[known].asserted == over[said].asserted:
                    yield known, said
                    del left[known], over[said]


def _judge(known: _Entry, said: _Entry) -> list[str]:
    """The match or the errors (a) to (d) of one finding."""
    if known.asserted != said.asserted:
        return ["missing_finding" if known.asserted else "false_finding"]
    if not known.asserted:
        return [_MATCHED]
    errors = []
    if _differ(known.sides, said.sides) or _disjoint(known.zones, said.zones):
        errors.append("wrong_location")
    if _disjoint(known.ranks, said.ranks):
        errors.append("wrong_severity")
    return errors or [_MATCHED]


def _judge_change(known: _Entry, said: _Entry, truth: frozenset[str], found: frozenset[str]) -> list[str]:
    """The errors (e) and (f) of one finding; ``truth`` and ``found`` are the changes of the whole studies."""
    if known.asserted != said.asserted:
        return []
    if said.changes and not said.changes & (known.changes | truth):
        return ["false_comparison"]
    if known.changes - {UNCHANGED} and not said.changes | found:
        return ["missing_comparison"]
    return []


def _judge_studies(reference: _Summary, candidate: _Summary) -> list[str]:
    """The errors (e) and (f) of comparisons that concern no finding."""
    if _study(candidate) and not any(entry.changes for entry in reference.values()):
        return ["false_comparison"]
    if _study(reference) - {UNCHANGED} and not any(entry.changes for entry in candidate.values()):
        return ["missing_comparison"]
    return []


def _study(summary: _Summary) -> frozenset[str]:
    return summary[STUDY].changes if STUDY in summary else frozenset()


def _without_study(summary: _Summary) -> _Summary:
    return {name: entry for name, entry in summary.items() if name != STUDY}


def _is_normal(summary: _Summary) -> bool:
    """Whether a report denies something and asserts no disease."""
    denies = any(not entry.asserted for entry in summary.values())
    return denies and not any(entry.asserted for name, entry in summary.items() if name not in DEVICES)


def _differ(known: frozenset[str], said: frozenset[str]) -> bool:
    return bool(known and said) and known != said


def _disjoint(known: frozenset[T], said: frozenset[T]) -> bool:
    return bool(known and said) and known.isdisjoint(said)
