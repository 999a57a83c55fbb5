"""Which split a patient belongs to: the source's word for it, else a draw from a hash of the patient."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Final, Literal, get_args

from radrl.parts.choices import require_one_of

SPLITS: Final = ("pretrain", "train", "val", "test")
"""`pretrain` trains the laptop's stand-in for a general pretrained policy and nothing else."""

_ALIASES: Final[Mapping[str, str]] = {
    "training": "train",
    "valid": "val",
    "validate": "val",
    "validation": "val",
    "dev": "val",
    "testing": "test",
}


Crossing = Literal["refuse", "allow"]
CROSSINGS: Final[tuple[Crossing, ...]] = get_args(Crossing)
"""What is done with a patient whom the source puts into two splits."""


class PatientInTwoSplits(ValueError):
    """A source puts one patient into two splits, so that a test would know its patients from training."""


def canonical(word: str) -> str | None:
    """Translate a source's word for a split (`Train`, `validate`) into ours; nothing when it is unknown."""
    folded = word.strip().casefold()
    split = _ALIASES.get(folded, folded)
    return split if split in SPLITS else None


def check_shares(shares: Mapping[str, float]) -> None:
    """Refuse shares that name no split, are negative or do not add up to 1.

    Raises:
        ValueError: with the shares and the valid names.
    """
    if unknown := set(shares) - set(SPLITS):
        raise ValueError(f"split_shares names {sorted(unknown)}; valid: {', '.join(SPLITS)}")
    negative = any(not share >= 0 for share in shares.values())  # so that NaN is caught too
    if negative or not math.isclose(sum(shares.values()), 1, abs_tol=1e-6):
        raise ValueError(f"split_shares must not be negative and must add up to 1, got {dict(shares)}")


def draw(patient_id: str, *, seed: int, shares: Mapping[str, float]) -> str:
    """Draw a patient's split from a hash of seed and patient.

    The draw depends on nothing else, so it needs no second pass over the source and a patient's split
    stays when studies are added or leave.

    Args:
        patient_id: the patient.
        seed: another seed is another, independent partition.
        shares: expected share of patients a split, adding up to 1 (`check_shares`).

    Returns:
        One of `SPLITS`.
    """
    digest = hashlib.sha256(f"{seed}\0{patient_id}".encode()).digest()
    u = (int.from_bytes(digest[:8], "big") >> 11) / 2**53  # 53 bits: exact in a float and below 1
    offered = [split for split in SPLITS if shares.get(split, 0) > 0]
    reached = 0.0
    for split in offered:
        reached += shares[split]
        if u < reached:
            return split
    return offered[-1]  # shares whose float sum stays a hair below 1


def patient_hash(patient_id: str) -> str:
    """Name a patient in a message without giving the identifier away."""
    return hashlib.sha256(patient_id.encode()).hexdigest()[:12]


class PatientSplits:
    """The split of every patient met so far.

    Args:
        seed: of the draw for patients whose split the source does not state.
        shares: of the draw.
        crossing: whether a patient may stand in two splits because the source says so.

    Attributes:
        crossed: patients who stand in two.
    """

    def __init__(self, *, seed: int, shares: Mapping[str, float], crossing: Crossing = "refuse") -> None:
        check_shares(shares)
        require_one_of("patients_in_two_splits", crossing, CROSSINGS)
        self._crossing = crossing
        self.crossed: set[str] = set()
        self._seed = seed
        self._shares = dict(shares)
        self._met: dict[str, tuple[str, str]] = {}  # patient -> split, and the key and kind of its origin

    def assign(self, patient_id: str, *, stated: str | None, key: str) -> str:
        """Give a patient's split.

        Args:
            patient_id: the patient.
            stated: the split the source states (one of `SPLITS`), or nothing.
            key: of the record, for the message.

        Returns:
            The stated split; where there is none the one this patient already has, else a draw.

        Raises:
            PatientInTwoSplits: the patient already stands in another split, and that is not allowed.
        """
        known, origin = self._met.get(patient_id, (None, ""))
        split = stated or known or draw(patient_id, seed=self._seed, shares=self._shares)
        if known not in (None, split) and self._crossing == "allow":
            self.crossed.add(patient_id)
        elif known not in (None, split):
            raise PatientInTwoSplits(
                f"patient {patient_hash(patient_id)} stands in two splits: {known} ({origin}) and {split} "
                f"({key}, stated); give every record of the patient the same split, or none, or set "
                "ingest.patients_in_two_splits to allow"
            )
        if known is None:
            self._met[patient_id] = (split, f"{key}, {'stated' if stated else 'drawn'}")
        return split
