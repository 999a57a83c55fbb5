"""A source."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from radrl.data.study import Record
from radrl.parts.section import PositiveInt, Section, takes

FINDINGS = ("There is a small left pleural effusion.", "The lungs are clear. No pneumothorax.")


class TwinsSection(Section):
    """How many patients a split has."""

    patients: dict[str, PositiveInt]


@takes(TwinsSection, drawn=True)
def twins(seed: int, image_size: int, *, patients: dict[str, int]) -> Iterator[Record]:
    """Films of noise, brighter where the report names an effusion: nobody's, to try a pipeline with."""
    rng = np.random.default_rng(seed)
    for split, count in patients.items():
        for number in range(count):
            brightness = 120 if number % 2 else 160
            pixels = rng.integers(0, brightness, (image_size, image_size), dtype=np.uint8)
            yield Record(
                key=f"twins {split} {number}",
                study_id=f"{split}-{number}",
                patient_id=f"{split}-p{number}",
                image=pixels,
                view="frontal",
                split=split,
                findings=FINDINGS[number % 2],
            )
