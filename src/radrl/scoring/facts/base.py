"""The two parts of FactS: one writes a report's atomic facts, one says what they entail of each observation.

A fact is a short text that stands on its own ("no pleural effusion", "linear atelectasis at the left base"),
so that either part can be exchanged for another that knows nothing of the first.

A verdict is about one statement an observation: that the film shows it. It never sees the reference, which
comes in when `radrl.scoring.facts.score` compares. So a judge cannot be led by the right answer, and its
answers serve every reference.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from radrl.observations import BLANK, NEGATIVE, POSITIVE

Facts = tuple[str, ...]
"""Atomic facts of one report, in its order, each a text that is not blank; none for an empty report."""


class Verdict(enum.IntEnum):
    """What facts say of the statement that a film shows an observation, as the class index it amounts to."""

    SILENT = BLANK
    SUPPORTED = POSITIVE
    CONTRADICTED = NEGATIVE


class Ruling(NamedTuple):
    """A verdict and the facts it rests on.

    Args:
        verdict: about one observation.
        facts: numbers of the facts that support or contradict it, from 0; none where they are silent, or
            where the report was judged as a whole.
    """

    verdict: Verdict
    facts: tuple[int, ...] = ()


Rulings = tuple[Ruling, ...]
"""14 of them, in the order of `radrl.observations.OBSERVATIONS`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a report has no facts or no verdicts; never to be taken for a report that states nothing.

    Args:
        reason: what was wrong, without the report's text.
    """

    reason: str


class Extractor(Protocol):
    """Writes the atomic facts of reports.

    Attributes:
        name: goes into the reward's name (``rules``, ``judge``).
    """

    name: str

    @property
    def about(self) -> dict[str, str]:
        """What its facts depend on beside its name, for the record."""
        ...

    def extract(self, reports: Sequence[str]) -> list[Facts | Failure]:
        """Write the facts of reports.

        Args:
            reports: N report texts; an empty one has no facts.

        Returns:
            N times facts, or why there are none.

        Raises:
            ScoringError: when no report can be read at all, with the mend.
        """
        ...


class Entailment(Protocol):
    """Tests the 14 observations on facts.

    Attributes:
        name: goes into the reward's name (``rules``, ``judge``, ``labeler``).
        uncertain_as_positive: whether a hedged fact ("possible pneumonia") supports its observation; where
            not, it is silent about it. It never contradicts.
    """

    name: str
    uncertain_as_positive: bool

    @property
    def about(self) -> dict[str, str]:
        """What its verdicts depend on beside its name, for the record."""
        ...

    def entail(self, facts: Sequence[Facts], reports: Sequence[str]) -> list[Rulings | Failure]:
        """Test the observations.

        Args:
            facts: of N reports; without any, all 14 verdicts are silent, but for who reads reports.
            reports: the N texts, for who reads them as a whole.

        Returns:
            N times 14 rulings, or why there are none.

        Raises:
            ScoringError: when no facts can be judged at all, with the mend.
        """
        ...
