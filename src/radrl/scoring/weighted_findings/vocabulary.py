"""What the reader knows by name: the tables of vocabulary.yml, and what each is for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from radrl.labelers.rules import Tables

_NAMES: Final = """
    concepts of_observation organs enlarged reversed shadowed sides regions paired lung hints refined
    implied severities degrees changes comparisons densities tips links prepositions endings amounts
    enlarged_words normal_words hedges hedges_back removals no_denials denials opacities explanations
    sideless sideless_with_a_place not_of_the_stomach venous with_tips
"""
_TABLES: Final = Tables(Path(__file__).with_name("vocabulary.yml"), _NAMES.split())


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLES.text(name).split())


def _side_and_region(key: str) -> tuple[str, str]:
    side, _, region = key.rpartition("; ")
    return side, region


def _triple(line: str) -> tuple[str, str, str]:
    concept, sign, name = line.split()
    return concept, sign, name


CONCEPTS: Final = _TABLES.by_key("concepts")
"""Phrases by concept. A word that only describes (``elevated``) is named by what it mostly means."""

OF_OBSERVATION: Final = _TABLES.by_key("of_observation")
"""Concepts of the labeler's phrases that `CONCEPTS` does not hold."""

ORGANS: Final = _TABLES.by_key("organs")
"""Organs whose size or look is stated, by the concept that a normal one denies."""

ENLARGED: Final = _TABLES.by_key("enlarged")
"""What "enlarged" or "prominent" says of an organ; of the others only normality is read."""

REVERSED: Final = _TABLES.by_key("reversed")
"""Phrases whose assertion denies the concept ("well expanded")."""

SHADOWED: Final = _TABLES.text("shadowed")
"""Phrases that only look like others."""

STATED_ABSENT_ONLY: Final = frozenset(
    {"acute_disease", "lung_abnormality", "pleural_abnormality", "bone_abnormality"}
)
"""Concepts that name nothing by themselves; a report's denial of them is a normal statement."""

SIDES: Final = _TABLES.by_key("sides")
"""Phrases by side; those under the empty one only look like a side."""

REGIONS: Final = {_side_and_region(key): own for key, own in _TABLES.by_key("regions").items()}
"""Phrases by the side and the regions that they name; those under nothing only look like a region."""

PAIRED: Final = _words("paired")
"""Plurals that say of a finding without a side that it is on both."""

LUNG: Final = _words("lung")
"""Lobes and zones of a lung."""

HINTS: Final = _TABLES.by_key("hints")
"""Words that make one concept another (`REFINED`) and are no region by themselves."""

REFINED: Final[tuple[tuple[str, str, str], ...]] = tuple(
    _triple(line) for line in _TABLES.text("refined").splitlines()
)
"""(concept, region or hint, the concept that both together name), in order of precedence."""

IMPLIED: Final = _TABLES.by_key("implied")
"""Regions that a concept names anyway, so that nothing is said by naming them again."""

SEVERITIES: Final[dict[int | None, str]] = {
    int(rank) if rank else None: own for rank, own in _TABLES.by_key("severities").items()
}
"""Phrases by rank (`finding.SEVERITIES`); those under None only look like one."""

DEGREES: Final = _words("degrees")
"""Words of severity that say so within a concept's phrase as well ("diaphragm is mildly elevated")."""

CHANGES: Final = _TABLES.by_key("changes")
"""Phrases by change; those under the empty one only look like one."""

COMPARISONS: Final = _words("comparisons")
"""Words that make any "increased" of their sentence a comparison."""

DENSITIES: Final = _words("densities")
"""Concepts that "increased" before them only describes ("increased opacity")."""

TIPS: Final = _TABLES.by_key("tips")
"""Places where a line or tube may end, by their names in `regions.csv`."""

LINKS: Final = _TABLES.text("links")
"""Words by which one finding points to the next, which lies where it lies."""

PREPOSITIONS: Final = _TABLES.text("prepositions")
"""Words whose side or place belongs to what precedes."""

ENDINGS: Final = _TABLES.text("endings")
"""Other words that end a noun phrase."""

AMOUNTS: Final = _words("amounts")
"""Nouns whose "of" leads on to the finding ("small amount of pleural fluid")."""

ENLARGED_WORDS: Final = _TABLES.text("enlarged_words")
"""Words that state an organ's enlargement besides the labeler's."""

NORMAL_WORDS: Final = _TABLES.text("normal_words")
"""Words that state an organ's normality besides the labeler's."""

HEDGES: Final = _TABLES.text("hedges")
"""Hedges besides the labeler's, which follows CheXpert in taking "likely" for a statement."""

HEDGES_BACK: Final = _TABLES.text("hedges_back")

REMOVALS: Final = _TABLES.text("removals")
"""Denials that follow, besides the labeler's."""

NO_DENIALS: Final = _TABLES.text("no_denials")
"""Phrases that deny a denial, which is none."""

DENIALS: Final = _TABLES.text("denials")
"""Denials besides the labeler's."""

OPACITIES: Final = _words("opacities")
"""Looks that a diagnosis behind a comma explains ("opacity at the left base, likely atelectasis")."""

BLUNTING: Final = frozenset({"pleural_effusion", "loculated_effusion", "pleural_thickening", "scarring"})
"""What blunts a costophrenic angle."""

EXPLANATIONS: Final = _words("explanations")
"""What explains them."""

SIDELESS: Final = _words("sideless")
"""Concepts of which a side says nothing."""

PLACELESS: Final = SIDELESS - _words("sideless_with_a_place") | {"hiatal_hernia", "hyperinflation"}
"""Concepts of which a place says nothing."""

MISPLACED: Final[dict[str, frozenset[str]]] = {
    "endotracheal_tube": frozenset({"right_main_bronchus", "left_main_bronchus", "esophagus"}),
    **dict.fromkeys(("enteric_tube", "nasogastric_tube", "feeding_tube"), _words("not_of_the_stomach")),
}
"""By tube the places where its tip must not be, so that the tube is malpositioned."""

BELOW_CARINA: Final = {
    "endotracheal_tube": "right_main_bronchus",
    "tracheostomy_tube": "right_main_bronchus",
    **dict.fromkeys(("enteric_tube", "nasogastric_tube", "feeding_tube"), "esophagus"),
}
"""By tube where it is that ends below the carina; of a venous line that is said for the vena cava."""

WIDE: Final = frozenset({"esophagus", "stomach", "superior_vena_cava", "right_atrium"})
"""Places that no distance is measured from: what is measured is the way to where two of them meet."""

VENOUS: Final = _words("venous")
"""Places where only a central venous line ends, whatever it is called."""

WITH_TIPS: Final = _words("with_tips")
"""Devices that end somewhere."""
