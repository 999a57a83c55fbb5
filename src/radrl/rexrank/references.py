"""Predictions beside their references, put together as ReXrank's evaluation does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from radrl.rexrank.form import PREDICTION, Entry, FormError, absent, entries, listed


@dataclass(frozen=True, slots=True)
class Pair:
    """One study's prediction and reference.

    Args:
        study_id: the study's key.
        reference: ``Findings: ... Impression: ...``, "None" for a section that is absent.
        hypothesis: the prediction as it stands.
        patient: `subject_id` where the file has it.
    """

    study_id: str
    reference: str
    hypothesis: str
    patient: str | None


def reference_of(entry: Entry) -> str:
    """A study's reference in the words of ReXrank's evaluation script.

    Args:
        entry: of the study.

    Returns:
        Both sections after their headings.

    Raises:
        FormError: it has neither section.

    Example:
        >>> reference_of({"section_findings": "Clear lungs.", "section_impression": None})
        'Findings: Clear lungs. Impression: None'
    """
    findings, impression = (_section(entry.get(f"section_{name}")) for name in ("findings", "impression"))
    if absent(findings) and absent(impression):
        raise FormError("neither 'section_findings' nor 'section_impression': nothing to compare with")
    return f"Findings: {findings} Impression: {impression}"


def read(path: Path) -> list[Pair]:
    """The pairs of a file of predictions.

    Args:
        path: the JSON file, radrl's or another system's.

    Returns:
        The pairs in the file's order.

    Raises:
        FormError: it is no such file; or studies lack prediction or reference, each named by its key.
    """
    pairs, problems = [], []
    for key, entry in entries(path).items():
        try:
            pairs.append(_pair(key, entry))
        except FormError as error:
            problems.append(f"study {key!r}: {error}")
    if problems:
        raise FormError(
            listed(
                f"{path.name}: {len(problems):,} studies cannot be scored; mend them, or take them out:",
                problems,
            )
        )
    return pairs


def rows(pairs: list[Pair]) -> Iterator[dict[str, str]]:
    """Rows of a table for `radrl score`, with patients where every study has one."""
    patients = all(pair.patient for pair in pairs)
    for pair in pairs:
        row = {"study_id": pair.study_id, "reference": pair.reference, "hypothesis": pair.hypothesis}
        yield row | ({"patient": pair.patient} if patients and pair.patient else {})


def _pair(key: str, entry: Any) -> Pair:
    if not isinstance(entry, dict):
        raise FormError("its entry is no object")
    if not isinstance(entry.get(PREDICTION), str):
        raise FormError(f"no text under {PREDICTION!r}")
    patient = entry.get("subject_id")
    return Pair(key, reference_of(entry), entry[PREDICTION], None if absent(patient) else str(patient))


def _section(value: Any) -> str | None:
    """A section as it stands; an empty one stands too, as ReXrank's script has it."""
    if value is None or value != value:
        return None
    if not isinstance(value, str):
        raise FormError(f"a section is {value!r}, not text")
    return value
