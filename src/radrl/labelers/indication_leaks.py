"""How often the reason for a study already says what its report is to find.

"Known effusion" in the prompt tells a policy of the effusion without a look at the film. That may be what the
clinic has, and then it belongs into the prompt; but a score on such films is no score of looking. So it is
counted, by finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict

from radrl.labelers import Labeler
from radrl.observations import FINDINGS, INDEX, POSITIVE

MOST: Final = 0.1
"""Share of a finding's positive reports from which on it is warned of: copying the reason alone then gives a
tenth of the recall, more than most arms of a study differ by."""

FEWEST: Final = 20
"""Positive reports below which a share is too uncertain to warn of: the error of 0.1 over 20 is 0.07."""

STUDIES: Final = 20_000
"""Studies that are read at most, drawn at random: the error of a share of 0.1 is then 0.01 for a finding that
one study in twenty has, and the rules take minutes, not hours."""


class Leak(TypedDict):
    """What the reasons for studies say of one finding.

    Args:
        reports: that are positive in it, of studies with a reason.
        named: of these, those whose reason states it as there.
        indications: that state it as there, whatever the report says.
    """

    reports: int
    named: int
    indications: int


def count_leaks(indications: Sequence[str], reports: Sequence[str], labeler: Labeler) -> dict[str, Leak]:
    """Count findings that stand in the reason for a study and in its report.

    Args:
        indications: of N studies.
        reports: theirs.
        labeler: reads both. To be asked after ("evaluate for effusion") is not to be stated.

    Returns:
        By finding; those that no report and no reason has are left out.
    """
    asked = labeler.label(indications) == POSITIVE  # (N, 14)
    found = labeler.label(reports) == POSITIVE
    counts = {
        name: Leak(
            reports=int(found[:, at].sum()),
            named=int((found & asked)[:, at].sum()),
            indications=int(asked[:, at].sum()),
        )
        for name, at in INDEX.items()
        if name in FINDINGS
    }
    return {name: own for name, own in counts.items() if own["reports"] or own["indications"]}


def warned_of(leaks: dict[str, Leak]) -> dict[str, float]:
    """Findings of whose positive reports too many are foretold.

    Args:
        leaks: of `count_leaks`.

    Returns:
        The share of each, the greatest first.
    """
    shares = {name: own["named"] / own["reports"] for name, own in leaks.items() if own["reports"] >= FEWEST}
    return {name: share for name, share in sorted(shares.items(), key=lambda pair: -pair[1]) if share > MOST}
