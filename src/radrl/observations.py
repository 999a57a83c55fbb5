"""The 14 CheXpert observations in CheXbert's order, and the four classes a report can give each.

Everything that speaks of labels (labelers, rewards, sampling, metrics) indexes by this order.
A label row is an integer vector of shape (14,) holding class indices.
"""

from typing import Final

OBSERVATIONS: Final[tuple[str, ...]] = (
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Opacity",
    "Lung Lesion",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
    "No Finding",
)

FIVE: Final[tuple[str, ...]] = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")
"""The five observations of CheXpert's competition, reported beside the 14."""

BLANK: Final = 0
POSITIVE: Final = 1
NEGATIVE: Final = 2
UNCERTAIN: Final = 3

INDEX: Final[dict[str, int]] = {name: i for i, name in enumerate(OBSERVATIONS)}
FIVE_INDEX: Final[tuple[int, ...]] = tuple(INDEX[name] for name in FIVE)
NO_FINDING: Final = INDEX["No Finding"]
FINDINGS: Final[tuple[str, ...]] = OBSERVATIONS[:NO_FINDING]
"""All observations but No Finding, which stands last."""
SUPPORT_DEVICES: Final = INDEX["Support Devices"]
