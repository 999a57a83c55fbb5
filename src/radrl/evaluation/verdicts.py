"""What one report got right of another, finding by finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from radrl.observations import OBSERVATIONS, POSITIVE, UNCERTAIN

VERDICTS: Final = ("right", "hedged", "missed", "wrong")
ASSERTED: Final = (POSITIVE, UNCERTAIN)


def finding_verdicts(reference: Sequence[int], labels: Sequence[int]) -> dict[str, str]:
    """What a report got right, hedged, missed or made up.

    Args:
        reference: 14 class indices.
        labels: 14 class indices of the report.

    Returns:
        A verdict by observation that either asserts: ``right`` where both are positive or both uncertain,
        ``hedged`` where one is positive and the other uncertain, ``missed`` and ``wrong`` where only the
        reference or only the report asserts it.

    Example:
        >>> finding_verdicts([0, 1, 1, 0, 1] + [0] * 9, [0, 1, 3, 1, 0] + [0] * 9)
        {'Cardiomegaly': 'right', 'Lung Opacity': 'hedged', 'Lung Lesion': 'wrong', 'Edema': 'missed'}
    """
    found = {}
    for name, known, said in zip(OBSERVATIONS, reference, labels, strict=True):
        if known in ASSERTED and said in ASSERTED:
            found[name] = "right" if known == said else "hedged"
        elif known in ASSERTED:
            found[name] = "missed"
        elif said in ASSERTED:
            found[name] = "wrong"
    return found
