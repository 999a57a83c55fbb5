"""What the reading of a report knows by name: findings, organs, and attributes of findings.

Phrases of findings and organs stand in vocabulary.yml, one a line, as `radrl.labelers.rules.phrases` has
them, matched on the rule labeler's folded tokens (no plurals). A finding that is not there goes by the name
of its observation (`OBSERVATION_NAMES`). Phrases of attributes (sides, places, severities, changes, and
little words) are matched on the words as they stand: "bases" says more than "base".
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Final, NamedTuple

from radrl.labelers.rules import Tables
from radrl.scoring import rules

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


LEFT: Final = "left"
RIGHT: Final = "right"
BILATERAL: Final = "bilateral"
NOTHING: Final = ""
"""What a phrase stands for that only looks like an attribute."""
SIDES: Final[dict[str, str]] = {
    NOTHING: """
        left|right atrium|atrial|ventricle|ventricular|heart|cardiac|main
        compared|relative to|with left|right
        compared|relative to|with the left|right""",
    LEFT: "left|leftward\nleft sided\nlul|lll",
    RIGHT: "right|rightward\nright sided\nrul|rml|rll",
    BILATERAL: """
        bilateral|bilaterally|both|bibasilar|bibasal|biapical|bihilar
        bi basilar|apical
        right|left greater|worse|more than right|left
        right|left larger than right|left
        right and|or left
        left and|or right
        bases|apices|hila
        lower|upper lobes""",
}
PLACES: Final[dict[str, str]] = {
    "base": "base|bases|basilar|basal|bibasilar|bibasal\nbi basilar\nlung base|bases",
    "apex": "apex|apices|apical|biapical\nbi apical\nlung apex|apices",
    "upper": """
        upper lobe|lobes|lung|lungs|zone|zones|field|fields
        upper lung zone|zones|field|fields
        upper
        rul|lul""",
    "middle": """
        middle|mid lobe|lung|lungs|zone|zones|field|fields
        mid|middle lung zone|zones|field|fields
        midlung|mid|middle|rml""",
    "lower": """
        lower lobe|lobes|lung|lungs|zone|zones|field|fields
        lower lung zone|zones|field|fields
        lower
        rll|lll""",
    "lingula": "lingula|lingular",
    "hilum": "hilar|hilum|hila|perihilar|suprahilar|infrahilar|parahilar|bihilar",
    "retrocardiac": "retrocardiac\nbehind the heart\nleft retrocardiac",
    "costophrenic angle": "costophrenic\ncostophrenic angle|angles|sulcus|sulci|recess|recesses",
    "fissure": "fissure|fissures|fissural",
    "mediastinum": "mediastinum|mediastinal|paratracheal",
    "aorta": "aorta|aortic",
    "rib": "rib|ribs",
    "spine": """
        spine|spinal|vertebral|vertebra|vertebrae|thoracolumbar|midthoracic
        thoracic|lumbar|cervical spine""",
    "clavicle": "clavicle|clavicles|clavicular|acromioclavicular",
    "shoulder": "shoulder|shoulders|humerus|humeral|glenohumeral|glenoid|scapula",
    "sternum": "sternum|sternal",
    "diaphragm": "diaphragm|hemidiaphragm|hemidiaphragms|diaphragms",
}
SEVERITIES: Final[dict[str, str]] = {
    NOTHING: """
        small bowel|airway|airways
        small calibre|caliber
        minimally|mildly|slightly|markedly displaced|rotated""",
    "trace": "trace|tiny|minimal|minimally|subtle",
    "small": "small|slight|slightly",
    "mild": "mild|mildly",
    "mild to moderate": "mild|mildly|small to moderate|moderately\nmild|small moderate",
    "moderate": "moderate|moderately\nmoderate in size\nmoderate sized",
    "moderate to severe": "moderate|moderately to severe|large|severely\nmoderate large",
    "large": "large|massive|gross\nvery large",
    "severe": "severe|severely|marked|markedly|extensive|extensively",
}
RANKS: Final[dict[str, frozenset[int]]] = {
    "trace": frozenset({1}),
    "small": frozenset({1}),
    "mild": frozenset({1}),
    "mild to moderate": frozenset({1, 2}),
    "moderate": frozenset({2}),
    "moderate to severe": frozenset({2, 3}),
    "large": frozenset({3}),
    "severe": frozenset({3}),
}
"""Ranks that a severity may stand for; trace, small and mild are one, as reports use them for the same."""
NEW: Final = "new"
INCREASED: Final = "increased"
DECREASED: Final = "decreased"
RESOLVED: Final = "resolved"
UNCHANGED: Final = "unchanged"
CHANGED: Final = "changed"
"""A change whose direction is not said; counts only where it is denied."""
RAISED: Final = "raised"
"""What "increased" says: a comparison, or before a density its presence ("increased opacity")."""
DENIABLE: Final = frozenset({INCREASED, DECREASED, CHANGED, RAISED})
"""Changes whose denial is "unchanged"."""
CHANGES: Final[dict[str, str]] = {
    NOTHING: """
        left|right worse|larger than right|left
        ensure|document|confirm|demonstrate|show|until resolution|clearing|improvement|stability
        ensure|document|confirm|demonstrate|show|until complete resolution|clearing""",
    NEW: "new|newly|developed|developing\ninterval development\ndevelopment of",
    INCREASED: """
        increasing|increase|worsening|worsened|worse|progressed|progression|enlarging|larger
        more prominent|conspicuous|pronounced|extensive
        interval increase|increased|worsening|progression|enlargement""",
    RAISED: "increased",
    DECREASED: """
        decreased|decreasing|decrease|improved|improving|improvement|smaller|diminished|resolving|clearing
        less prominent|conspicuous|pronounced|extensive
        partially|nearly|mostly|largely|incompletely resolved|cleared
        near|nearly complete resolution|clearing
        partial resolution|clearing
        interval decrease|improvement|clearing
        interval partial resolution|clearing""",
    RESOLVED: """
        resolved|cleared|resolution|removed|removal
        interval resolution|removal
        interval complete resolution
        no longer""",
    UNCHANGED: """
        unchanged|stable|persistent|persistently|persists|persist|similar|again|constant
        redemonstrated|redemonstration
        continued|continues
        essentially|grossly unchanged|stable
        xxxx unchanged""",
    CHANGED: "change|changed",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Role(enum.IntEnum):
    """What an attribute says of a finding."""

    SIDE = enum.auto()
    PLACE = enum.auto()
    SEVERITY = enum.auto()
    CHANGE = enum.auto()
    DESCRIPTOR = enum.auto()


COMPARISONS: Final = _words(
    """
    compared comparison prior previous previously since interval interim
    """
)
"""Words that make any "increased" of their sentence a comparison."""

DESCRIPTORS: Final = _words(
    """
    acute active chronic focal multifocal diffuse scattered patchy hazy streaky linear bandlike platelike
    discoid subsegmental segmental lobar rounded round ovoid nodular dense faint vague ill irregular confluent
    old healed healing remote displaced nondisplaced comminuted calcified noncalcified loculated layering
    multiple numerous several few multilevel anterior posterior lateral medial dependent residual coarse
    suspicious definite visible overt prominent atypical nonspecific superimposed central venous significant
    interval
    """
)
"""Words that describe a finding and enter the graph alone."""

ANATOMY: Final = _words(
    """
    lung lungs pulmonary pleural pleura heart cardiac mediastinum mediastinal cardiomediastinal hilar
    hilum hila airspace alveolar interstitial parenchymal parenchyma bronchial peribronchial
    bronchovascular cardiopulmonary cardiothoracic intrathoracic chest thoracic thorax lobe lobes lobar
    lobules fissure fissures costophrenic angle angles sulcus sulci base bases apex apices rib ribs bone
    bones bony osseous skeletal skeleton spine vertebral body bodies disc endplate clavicle shoulder
    humerus sternum aorta aortic arch knob vascular vasculature vascularity vessels trachea tracheal
    midline diaphragm hemidiaphragm hemidiaphragms abdomen abdominal soft tissue tissues lymph node
    nodes space spaces zone zones field fields surface surfaces wall artery coronary venous airway
    airways bowel cavoatrial pericardial subdiaphragmatic intraperitoneal peritoneal hiatal hiatus
    lingula contour contours silhouette silhouettes size structure structures shadow volume volumes air
    """
)
"""Words of a finding's or an organ's phrase that name anatomy."""

SHAPES: Final = _words(
    """
    size contour contours silhouette silhouettes structure structures shadow surface surfaces space
    spaces angle angles marking markings volume volumes
    """
)
"""Anatomy that modifies the anatomy before it ("heart size") and heads no place."""

FUNCTION_WORDS: Final = _words(
    """
    of the a an in is are was were to with without and or at for within on by than has have been be no
    not s from limit limits appear appears show shows , : / ( ) ?
    """
)
"""Words of a phrase that are no entity."""

COPULAS: Final = _words(
    """
    is are was were appear appears remain remains
    """
)
"""Verbs that join an organ to what is said of it."""

LINKS: Final = _words(
    """
    represent represents representing reflect reflects reflecting suggest suggests suggesting suggestive
    indicate indicates indicating consistent compatible concerning suspicious worrisome likely probably
    possibly
    """
)
"""Words by which one finding points to another."""

BESIDE: Final = _words(
    """
    adjacent overlying underlying associated accompanying
    """
)
"""Words before a finding that lies where the one before it does."""

PREPOSITIONS: Final = rules.PREPOSITIONS | {"adjacent"}
"""Words that end a noun phrase."""

LOCATIVES: Final = _words(
    """
    in at within over overlying along near throughout on
    """
)
"""Prepositions whose side or place belongs to what precedes."""

FILLERS: Final = _words(
    """
    the a an lung lungs xxxx aspect aspects portion portions side
    """
)
"""Words that part neither a list nor a place."""

AMOUNTS: Final = _words(
    """
    amount amounts degree degrees area areas focus foci region regions collection collections evidence
    """
)
"""Nouns whose "of" leads to the finding ("small amount of pleural fluid")."""


class Attribute(NamedTuple):
    """What tokens ``start`` to ``end`` (exclusive) say of a finding; ``denied`` where a "no" makes it so."""

    role: Role
    value: str
    start: int
    end: int
    denied: bool = False


class Mention(NamedTuple):
    """A finding named in a sentence, or an organ of which the sentence states no look.

    Args:
        name: of the finding; empty for an organ.
        said: its class (positive, negative or uncertain).
        start: first token of its phrase, or of the organ whose look is stated.
        end: the token after its last.
        look: tokens that state an organ's look ("normal", "clear"), as (start, end).
        normal: whether its words state normality, so that asserting them denies the finding.
        attributes: in the order of the sentence.
    """

    name: str
    said: int
    start: int
    end: int
    look: tuple[int, int] | None = None
    normal: bool = False
    attributes: tuple[Attribute, ...] = ()
