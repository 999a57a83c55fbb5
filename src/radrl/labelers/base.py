"""The one interface of every labeler: report texts in, 14 class indices a report out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

LabelMatrix = npt.NDArray[np.int8]
"""Labels of N reports, shape (N, 14), class indices in the order of `radrl.observations`."""


class LabelerError(ValueError):
    """A labeler cannot be had as asked for; the message names what is wrong and the mend."""


_WORD: Final = re.compile(r"\b(?!(?:nan|nat|na|n|a|none|null)\b)[^\W\d_]", re.IGNORECASE)
"""Where a word begins that is none of those that pandas and databases write for a missing value."""


class Labeler(Protocol):
    """Reads the 14 CheXpert observations out of report texts.

    Attributes:
        name: goes into every metric's name (``"rules"``, ``"chexbert"``, ``"chexbert_compact"``).
    """

    name: str

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """Label reports.

        Args:
            reports: N report texts; an empty text has every observation blank.

        Returns:
            Class indices, shape (N, 14), dtype int8.
        """
        ...


def says_nothing(text: str) -> bool:
    """Whether a text is no report: empty, marks and digits alone, or a table's word for a missing one.

    Such words are nan, NaT, NA, N/A, none and null, in either case. What people write for it ("missing", "not
    available", "no report") counts as a report, since a report could say so of something else.

    Args:
        text: a report or a sentence.

    Example:
        >>> [says_nothing(text) for text in ("", "nan", "N/A", "123", "Clear.")]
        [True, True, True, True, False]
    """
    return _WORD.search(text) is None


def check_texts(reports: Sequence[str]) -> None:
    """Refuse what is no text.

    Args:
        reports: what is to be labelled.

    Raises:
        TypeError: a report is no string; the message names its number.
    """
    for number, report in enumerate(reports):
        if not isinstance(report, str):
            raise TypeError(
                f"report {number} is {type(report).__name__}, not text: leave missing reports out"
            )
