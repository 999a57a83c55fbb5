"""What the reading of a report knows by name: findings and organs.

Phrases stand in vocabulary.yml, one a line, ``a|b`` for alternative words, matched on the rule labeler's
folded tokens (no plurals).
A finding that is not here goes by the name of its observation (`OBSERVATION_NAMES`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from radrl.labelers.rules.lexicon import Tables

_TABLES: Final = Tables(
    Path(__file__).with_name("vocabulary.yml"),
    ("observation_names", "findings", "reversed", "organs", "normal_words", "denials"),
)

OBSERVATION_NAMES: Final = _TABLES.by_key("observation_names")
"""Names of what the labeler's lexicon alone knows."""

GENERIC: Final = "acute abnormality"
"""Stands for its subject's abnormality ("the bones show no acute abnormality"), alone for the chest's."""
WHOLE_CHEST: Final = "acute cardiopulmonary abnormality"

FINDINGS: Final = _TABLES.by_key("findings")
"""Findings by name; a phrase of more than one word swallows the words around the head."""

REVERSED: Final = _TABLES.by_key("reversed")
"""Phrases whose assertion denies the finding ("well expanded")."""

ORGANS: Final = _TABLES.by_key("organs")
"""Organs whose normal or abnormal size or look is stated, by the finding that a normal one denies."""

ENLARGEABLE: Final = frozenset({"hilar enlargement", "vascular congestion"})
"""Organs' findings that "prominent" or "enlarged" asserts; of the others only normality is read."""

NORMAL_WORDS: Final = _TABLES.text("normal_words")
"""Words that state an organ's normality besides the labeler's."""

DENIALS: Final = _TABLES.text("denials")
"""Denials besides the labeler's."""

FAMILIES: Final[tuple[frozenset[str], ...]] = (
    frozenset({"opacity", "consolidation"}),
    frozenset({"opacity", "interstitial opacity"}),
    frozenset({"edema", "vascular congestion", "heart failure"}),
    frozenset({"nodule", "mass"}),
    frozenset({"mass", "malignancy"}),
    frozenset({"cardiomegaly", "enlarged cardiomediastinum"}),
    frozenset({"pleural effusion", "blunted costophrenic angle"}),
    frozenset({"atelectasis", "volume loss"}),
    frozenset({"emphysema", "hyperinflation"}),
    frozenset({"granuloma", "calcification"}),
    frozenset({"scarring", "pleural thickening"}),
    frozenset({"deformity", "fracture"}),
    frozenset({"acute cardiopulmonary abnormality", "lung abnormality"}),
    frozenset({"low lung volumes", "bronchovascular crowding"}),
    frozenset({"surgical change", "sternotomy", "surgical clips"}),
)
"""Findings that two readers may well call by each other's name."""

DEVICES: Final = frozenset(
    {
        "device",
        "endotracheal tube",
        "enteric tube",
        "tracheostomy",
        "chest tube",
        "central line",
        "pacemaker",
        "valve",
        "stent",
        "surgical clips",
        "sternotomy",
    }
)
"""Findings whose places are those of a tip or a lead and not of a disease."""

SIDELESS: Final = frozenset(
    {
        "cardiomegaly",
        "enlarged cardiomediastinum",
        "heart failure",
        "hyperinflation",
        "low lung volumes",
        "tortuous aorta",
        "atherosclerosis",
        "mediastinal shift",
        "pericardial effusion",
        "acute cardiopulmonary abnormality",
        "sternotomy",
        "degenerative change",
        "scoliosis",
        "kyphosis",
    }
)
"""Findings of which a side says nothing."""

PLACELESS: Final = DEVICES | SIDELESS - {"degenerative change", "scoliosis", "kyphosis"}
"""Findings of which a place says nothing."""

DENSITIES: Final = frozenset({"opacity", "interstitial opacity", "consolidation", "vascular congestion"})
"""Findings that "increased" describes without comparing ("increased opacity")."""

CALCIFIED: Final = (["calcified"], ["calcific"])
"""Findings of their own, but before another one its description."""
WHEN_CALCIFIED: Final = {"nodule": "granuloma"}
