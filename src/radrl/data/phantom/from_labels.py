"""A film from what human indexers noted of a real study, so that real language meets a learnable image.

The indexers of IU X-Ray gave each study tags, a head with qualifiers (`Cardiomegaly/mild`,
`Opacity/lung/upper lobe/right/streaky`). `TAGS` says what a head is drawn as, `BUILD` what changes the build,
`COLUMNS` what the 14 columns of an NIH label table are drawn as where no tag says more, and `NOT_DRAWN` which
heads leave no trace. Qualifiers give the side (`SIDES`), the zone (`ZONES`) and the degree (`DEGREES`); what
they leave open is drawn from the usual sites of the finding.

The film is a phantom: it shows the indexed findings on a drawn patient, nothing of the real one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from radrl.data.phantom.findings import SITES, Anatomy, Case, Finding, Site, draw_patient


@dataclass(frozen=True, slots=True)
class Look:
    """What a tag is drawn as.

    Args:
        label: the observation, or empty for nothing to be drawn.
        severity: 0 to 1, of a tag without a word for the degree.
        kind: sort of device or of pleural change.
        given: the tag needs one of these qualifiers; without any it always holds.
    """

    label: str
    severity: float = 0.5
    kind: str = ""
    given: tuple[str, ...] = ()


_DEVICE: Final = "Support Devices"
_LUNG: Final = (
    "lung", "base", "apex", "upper lobe", "middle lobe", "lower lobe", "lingula", "retrocardiac",
)  # fmt: skip
_HAZE: Final = (Look("Lung Lesion", 0.3, given=("round",)), Look("Lung Opacity"))
_MARKINGS: Final = (Look("Lung Opacity", 0.35),)
_SPOT: Final = 0.05  # severity of a granuloma: a small sharp spot

# The first look of a head whose `given` holds is drawn; a tag with none is not drawn.
TAGS: Final[dict[str, tuple[Look, ...]]] = {
    # heart, vessels, mediastinum
    "cardiomegaly": (Look("Cardiomegaly"),),
    "cardiac shadow": (Look("Cardiomegaly", given=("enlarged", "prominent")),),
    "heart": (Look("Cardiomegaly", 0.3, given=("enlarged", "prominent")),),
    "heart ventricles": (Look("Cardiomegaly", 0.3, given=("enlarged", "prominent")),),
    "heart atria": (Look("Cardiomegaly", 0.3, given=("enlarged", "prominent")),),
    "pericardial effusion": (Look("Cardiomegaly", 0.6),),
    "mediastinum": (Look("Enlarged Cardiomediastinum", given=("enlarged", "prominent")),),
    "aortic aneurysm": (Look("Enlarged Cardiomediastinum", 0.4),),
    "pulmonary congestion": (Look("Edema", 0.25),),
    "heart failure": (Look("Edema", 0.4),),
    "pulmonary edema": (Look("Edema"),),
    # lungs
    "opacity": _HAZE,
    "density": (Look("Lung Lesion", 0.3, given=("round",)), Look("Lung Opacity", given=_LUNG)),
    "airspace disease": (Look("Lung Opacity", 0.7),),
    "infiltrate": (Look("Lung Opacity", 0.6),),
    "markings": _MARKINGS,
    "cicatrix": (
        Look("Pleural Other", 0.3, "thickening", ("pleura",)),
        Look("Lung Opacity", 0.25, given=_LUNG),
    ),
    "pulmonary fibrosis": _MARKINGS,
    "fibrosis": _MARKINGS,
    "lung diseases, interstitial": _MARKINGS,
    "cystic fibrosis": _MARKINGS,
    "bronchiectasis": _MARKINGS,
    "bronchitis": _MARKINGS,
    "consolidation": (Look("Consolidation"),),
    "pneumonia": (Look("Pneumonia"),),
    "pulmonary atelectasis": (Look("Atelectasis"),),
    "atelectasis": (Look("Atelectasis"),),
    "volume loss": (Look("Atelectasis", given=_LUNG),),
    "nodule": (Look("Lung Lesion", 0.3),),
    "mass": (Look("Lung Lesion", 0.85),),
    "cavitation": (Look("Lung Lesion", 0.6),),
    "granuloma": (Look("Lung Lesion", _SPOT),),
    "calcified granuloma": (Look("Lung Lesion", _SPOT),),
    "calcinosis": (
        Look("", given=("lymph nodes",)),
        Look("Pleural Other", 0.4, "plaque", ("pleura",)),
        Look("Lung Lesion", _SPOT, given=_LUNG),
    ),
    # pleura
    "pleural effusion": (Look("Pleural Effusion"),),
    "hemothorax": (Look("Pleural Effusion"),),
    "costophrenic angle": (Look("Pleural Effusion", 0.12, given=("blunted",)),),
    "sulcus": (Look("Pleural Effusion", 0.12, given=("blunted",)),),
    "pleura": (Look("Pleural Effusion", 0.12, given=("blunted",)),),
    "pneumothorax": (Look("Pneumothorax", 0.7),),
    "hydropneumothorax": (Look("Pneumothorax", 0.7),),
    "thickening": (Look("Pleural Other", 0.5, "thickening", ("pleura", "apex")),),
    # bones and devices
    "fractures, bone": (Look("Fracture", given=("ribs",)),),
    "catheters, indwelling": (Look(_DEVICE, kind="central line"),),
    "implanted medical device": (
        Look("", given=("humerus", "shoulder", "thoracic vertebrae")),
        Look(_DEVICE, kind="valve", given=("aortic valve", "mitral valve", "pulmonary artery")),
        Look(_DEVICE, kind="pacemaker", given=("left", "right", "thorax", "heart", "heart atria")),
    ),
    "tube, inserted": (
        Look(_DEVICE, kind="endotracheal tube", given=("trachea", "trachea, carina")),
        Look(_DEVICE, kind="enteric tube", given=("abdomen",)),
        Look(_DEVICE, kind="chest tube", given=("thorax", "large")),
    ),
    "surgical instruments": (Look(_DEVICE, kind="valve", given=("mediastinum",)),),
    "sutures": (Look(_DEVICE, kind="valve", given=("sternum",)),),
}
"""What a tag is drawn as, by its head in small letters."""

_LARGER: Final = ("tortuous", "enlarged", "prominent")
BUILD: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("lung", "shallow", ("hypoinflation",)),
    ("lung", "hyperinflated", ("hyperdistention",)),
    ("diaphragm", "hyperinflated", ("flattened",)),
    ("emphysema", "hyperinflated", ()),
    ("pulmonary emphysema", "hyperinflated", ()),
    ("bullous emphysema", "hyperinflated", ()),
    ("pulmonary disease, chronic obstructive", "hyperinflated", ()),
    ("aorta", "tortuous", _LARGER),
    ("aorta, thoracic", "tortuous", _LARGER),
)
"""Heads that change the build, how, and the qualifiers one of which they need."""

COLUMNS: Final[dict[str, Look | None]] = {
    "Atelectasis": Look("Atelectasis"),
    "Cardiomegaly": Look("Cardiomegaly"),
    "Effusion": Look("Pleural Effusion"),
    "Infiltration": Look("Lung Opacity", 0.6),
    "Mass": Look("Lung Lesion", 0.85),
    "Nodule": Look("Lung Lesion", 0.3),
    "Pneumonia": Look("Pneumonia"),
    "Pneumothorax": Look("Pneumothorax", 0.7),
    "Consolidation": Look("Consolidation"),
    "Edema": Look("Edema"),
    "Emphysema": None,  # the build, not a finding
    "Fibrosis": Look("Lung Opacity", 0.35),
    "Pleural_Thickening": Look("Pleural Other", 0.5, "thickening"),
    "Hernia": None,  # cannot be drawn, and 0 throughout the published table
}
"""What the columns of an NIH label table are drawn as; each counts only where no tag gave its observation."""

NOT_DRAWN: Final[frozenset[str]] = frozenset({
    "normal", "no indexing", "technical quality of image unsatisfactory",
    # bones and joints
    "thoracic vertebrae", "lumbar vertebrae", "cervical vertebrae", "spine", "scoliosis", "kyphosis",
    "osteophyte", "spondylosis", "osteoporosis", "bone diseases, metabolic", "arthritis", "sclerosis",
    "dislocations", "deformity", "ribs", "shoulder", "bone and bones", "expansile bone lesions", "thorax",
    "spinal fusion", "hyperostosis, diffuse idiopathic skeletal", "funnel chest", "pectus carinatum",
    # calcified nodes, great vessels, fat
    "granulomatous disease", "atherosclerosis", "epicardial fat", "adipose tissue", "pulmonary artery",
    "hypertension, pulmonary", "blood vessels", "lymph nodes", "sarcoidosis", "tuberculosis", "shift",
    # air, volume, airways
    "diaphragmatic eventration", "hernia, hiatal", "hernia, diaphragmatic", "lung, hyperlucent", "lucency",
    "cysts", "blister", "subcutaneous emphysema", "mediastinal emphysema", "pneumonectomy", "hypovolemia",
    "bronchiolitis", "trachea", "colonic interposition",
    # soft parts, abdomen, what does not belong there
    "nipple shadow", "mastectomy", "breast implants", "breast", "foreign bodies", "medical device", "stents",
    "contrast media", "cholelithiasis", "abdomen",
})  # fmt: skip
"""Heads that leave no trace: the phantom has no such anatomy, or the tag does not say what the thing is."""

SIDES: Final = {"right": "right", "left": "left", "bilateral": "both"}
_LOBE_SIDES: Final = {"middle lobe": "right", "lingula": "left", "retrocardiac": "left"}
ZONES: Final = {
    "apex": "apex", "upper lobe": "upper", "paratracheal": "upper",
    "middle lobe": "mid", "lingula": "mid", "hilum": "mid",
    "lower lobe": "lower", "retrocardiac": "lower", "base": "base", "costophrenic angle": "base",
}  # fmt: skip
DEGREES: Final = {
    "borderline": 0.2, "mild": 0.4, "small": 0.4, "moderate": 1.1, "large": 1.8, "severe": 1.8,
}  # fmt: skip
"""Qualifier to factor on the severity of a look."""

_SPREAD: Final = frozenset({"diffuse", "scattered", "multiple"})
_ONE_SIDED: Final = frozenset({"Pneumothorax", "Fracture", "Pleural Effusion"})
_STRONGEST: Final = 0.95
_JITTER: Final = 0.04
_UNKNOWN: Final = frozenset({"no indexing"})


@dataclass(frozen=True, slots=True)
class IndexedFilm:
    """Draws one film of an indexed study when called (`radrl.data.study.Draw`).

    Seed and study settle the patient and the findings, the film's number the pose and the grain: the films of
    a study show one patient, and no two films are alike.

    Args:
        study: the study's id.
        tags: the indexers' tags.
        columns: the columns of the label table that are positive.
        seed: of everything drawn.
        view: "frontal" or "lateral".
        number: of the film in its study.
        size: height and width in pixels.
        noise: grain, standard deviation as a share of the full scale.
    """

    study: str
    tags: tuple[str, ...]
    columns: frozenset[str]
    seed: int
    view: str
    number: int
    size: int
    noise: float

    def __call__(self) -> npt.NDArray[np.uint8]:
        """Draw the film, shape (size, size)."""
        from radrl.data.phantom.film import draw_film  # scipy, which whoever opens the source needs not

        study = int.from_bytes(hashlib.sha256(self.study.encode()).digest()[:16], "big")
        case = case_from_index(self.tags, self.columns, np.random.default_rng([self.seed, study, 0]))
        pose = np.random.default_rng([self.seed, study, 1 + self.number])
        return draw_film(case, pose, self.size, self.view, self.noise)


def is_indexed(tags: Collection[str], columns: Collection[str] | None) -> bool:
    """Tell whether indexers looked at a study: without it a film would show health that nobody stated.

    Args:
        tags: the study's tags; `No Indexing` says that there are none.
        columns: positive columns of its row in the label table, or nothing without a row.
    """
    heads = {_parts(tag)[0] for tag in tags}
    return bool(heads - _UNKNOWN) or (not heads and columns is not None) or bool(columns)


def unmapped(tags: Iterable[str]) -> set[str]:
    """Heads of tags that stand in no table here; they are not drawn."""
    return {head for head, _ in map(_parts, tags)} - TAGS.keys() - {head for head, *_ in BUILD} - NOT_DRAWN


def case_from_index(tags: Sequence[str], columns: Collection[str], rng: np.random.Generator) -> Case:
    """Build the case that the indexers' tags and label columns describe.

    Args:
        tags: head and qualifiers, parted by slashes.
        columns: the positive columns of an NIH label table (keys of `COLUMNS`; others are ignored).
        rng: draws the patient and what the tags leave open.

    Returns:
        The case; findings are never hedged.
    """
    anatomy = draw_patient(rng).anatomy
    parts = [_parts(tag) for tag in tags]
    found = [finding for head, words in parts for finding in _drawn(head, words, rng)]
    told = {finding.label for finding in found}
    for column in sorted(_untold(columns, parts)):
        look = COLUMNS[column]
        if look is not None and look.label not in told:
            found += _findings(look, frozenset(), rng)
    builds = {build for head, words in parts for build in _builds(head, words)}
    if "Emphysema" in columns:
        builds.add("hyperinflated")
    return Case(_shaped(anatomy, builds, rng), _distinct(found), portable=False, shallow="shallow" in builds)


def _parts(tag: str) -> tuple[str, frozenset[str]]:
    """A tag's head and qualifiers in small letters."""
    head, *words = (part.strip().casefold() for part in tag.split("/"))
    return head, frozenset(words)


def _untold(columns: Collection[str], parts: Iterable[tuple[str, frozenset[str]]]) -> set[str]:
    """Columns to draw; the table's Effusion also counts pericardial ones, which are no pleural fluid."""
    heads = {head for head, _ in parts}
    pericardial = "pericardial effusion" in heads
    return (set(columns) & COLUMNS.keys()) - ({"Effusion"} if pericardial else set())


def _drawn(head: str, words: frozenset[str], rng: np.random.Generator) -> list[Finding]:
    look = next((look for look in TAGS.get(head, ()) if not look.given or words & set(look.given)), None)
    if look is None or not look.label:
        return []
    found = _findings(look, words, rng)
    if head == "hydropneumothorax":
        found += [_place_seed(replace(f, label="Pleural Effusion", zone="base"), rng) for f in found]
    return found


def _builds(head: str, words: frozenset[str]) -> set[str]:
    return {build for name, build, given in BUILD if name == head and (not given or words & set(given))}


def _findings(look: Look, words: frozenset[str], rng: np.random.Generator) -> list[Finding]:
    """The findings of one tag: several for several lesions, one a side where sides are drawn apart."""
    side, zone = _side(words), _zone(look.label, words)
    if look.label == "Lung Lesion" and words & _SPREAD:
        sites = _lesion_sites(side, rng)
    else:
        if not side and words & _SPREAD and look.label != _DEVICE:
            side = "both"
        sites = [_site(look, side, zone, rng)]
    if look.label in _ONE_SIDED:
        sites = [(s, zone, kind) for both, zone, kind in sites for s in _each(both)]
    return [
        Finding(look.label, *site, _severity(look, words, rng), False, int(rng.integers(2**31)))
        for site in sites
    ]


def _each(side: str) -> tuple[str, ...]:
    return ("right", "left") if side == "both" else (side,)


def _side(words: frozenset[str]) -> str:
    sides = {SIDES[word] for word in words if word in SIDES}
    if len(sides) > 1:
        return "both"
    return next(iter(sides or {_LOBE_SIDES[word] for word in sorted(words) if word in _LOBE_SIDES}), "")


def _zone(label: str, words: frozenset[str]) -> str:
    """The zone the tag names, the uppermost of several, moved to one that the finding can have."""
    zone = next((zone for word, zone in ZONES.items() if word in words), "")
    zones = {site[1] for site, _ in SITES[label]}
    if len(zones) == 1:
        return next(iter(zones))
    if label == "Fracture":
        return {"apex": "upper", "base": "lower"}.get(zone, zone)
    if label == "Pleural Other":
        return "apex" if zone in ("apex", "upper") else "lower"
    return zone


def _site(look: Look, side: str, zone: str, rng: np.random.Generator) -> Site:
    """A usual site of the finding that agrees with the tag; the tag's own where there is none."""
    usual = [(s, w) for s, w in SITES[look.label] if not look.kind or s[2] == look.kind]
    fits = [(s, w) for s, w in usual if (not side or s[0] == side) and (not zone or s[1] == zone)]
    fits = fits or [(s, w) for s, w in usual if s[0] == "midline"]
    if fits:
        return _pick(fits, rng)
    drawn = _pick(usual, rng)
    one = ("right", "left")[int(rng.integers(2))]
    return side or (drawn[0] if drawn[0] != "both" else one), zone or drawn[1], look.kind


def _pick(sites: Sequence[tuple[Site, float]], rng: np.random.Generator) -> Site:
    weights = np.array([weight for _, weight in sites])
    return sites[int(rng.choice(len(sites), p=weights / weights.sum()))][0]


def _lesion_sites(side: str, rng: np.random.Generator) -> list[Site]:
    """Three different places, on the side that is named."""
    places = [site for site, _ in SITES["Lung Lesion"] if side in ("", "both", site[0])]
    return [places[int(index)] for index in rng.choice(len(places), size=3, replace=False)]


def _severity(look: Look, words: frozenset[str], rng: np.random.Generator) -> float:
    factor = next((factor for word, factor in DEGREES.items() if word in words), 1.0)
    severity = look.severity * factor + _JITTER * rng.uniform(-1, 1)
    return float(np.clip(severity, 0.02, _STRONGEST))


def _place_seed(finding: Finding, rng: np.random.Generator) -> Finding:
    return replace(finding, seed=int(rng.integers(2**31)))


def _distinct(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding a place, the gravest: indexers often tag a thing under two heads."""
    kept: dict[Site | tuple[str, ...], Finding] = {}
    for finding in found:
        place = (finding.label, finding.side, finding.zone, finding.kind)
        if place not in kept or kept[place].severity < finding.severity:
            kept[place] = finding
    return tuple(kept.values())


def _shaped(anatomy: Anatomy, builds: set[str], rng: np.random.Generator) -> Anatomy:
    """Flat domes and a slim heart when hyperinflated; a large aortic knob only when tortuous."""
    aorta = float(rng.uniform(1.4, 1.9)) if "tortuous" in builds else min(anatomy.aorta, 1.2)
    anatomy = replace(anatomy, aorta=aorta)
    if "hyperinflated" in builds and "shallow" not in builds:
        return replace(anatomy, dome=anatomy.dome + 0.09, heart=0.95 * anatomy.heart)
    return anatomy
