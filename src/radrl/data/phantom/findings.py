"""What a phantom patient has: build, findings with side, zone and severity, and their usual company.

Which of the 13 findings a study has comes from a Gaussian copula: each finding has its own prevalence
(the threshold), and shared factors (general illness, heart failure, infection, intensive care) bring the
usual company. A part of each latent is the patient's own, so that chronic findings return in later studies.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from radrl.observations import FINDINGS, OBSERVATIONS

DRAWN: Final[tuple[str, ...]] = FINDINGS
"""The 13 observations that can be drawn: all but No Finding."""

PREVALENCE: Final[dict[str, float]] = {
    "Enlarged Cardiomediastinum": 0.035,
    "Cardiomegaly": 0.20,
    "Lung Opacity": 0.22,
    "Lung Lesion": 0.035,
    "Edema": 0.14,
    "Consolidation": 0.06,
    "Pneumonia": 0.09,
    "Atelectasis": 0.22,
    "Pneumothorax": 0.045,
    "Pleural Effusion": 0.23,
    "Pleural Other": 0.02,
    "Fracture": 0.03,
    "Support Devices": 0.28,
}
"""Share of studies with each finding, stated surely or with a hedge; long-tailed as in MIMIC-CXR."""

# Columns: general illness, heart failure, infection, intensive care; last: the patient's share of the rest.
_COMPANY: Final[dict[str, tuple[float, float, float, float, float]]] = {
    "Enlarged Cardiomediastinum": (0.20, 0.20, 0.00, 0.10, 0.8),
    "Cardiomegaly": (0.30, 0.60, 0.00, 0.00, 0.8),
    "Lung Opacity": (0.30, 0.00, 0.45, 0.10, 0.3),
    "Lung Lesion": (0.20, 0.00, 0.00, 0.00, 0.8),
    "Edema": (0.35, 0.65, 0.00, 0.15, 0.3),
    "Consolidation": (0.30, 0.00, 0.55, 0.10, 0.2),
    "Pneumonia": (0.30, 0.00, 0.75, 0.00, 0.2),
    "Atelectasis": (0.40, 0.20, 0.00, 0.30, 0.3),
    "Pneumothorax": (0.25, 0.00, 0.00, 0.45, 0.2),
    "Pleural Effusion": (0.40, 0.50, 0.10, 0.20, 0.4),
    "Pleural Other": (0.20, 0.00, 0.00, 0.00, 0.9),
    "Fracture": (0.25, 0.00, 0.00, 0.20, 0.7),
    "Support Devices": (0.40, 0.20, 0.00, 0.45, 0.6),
}
_FACTORS: Final = 4

SEVERITY: Final = (1.2, 1.8)
"""Beta distribution of severity where none is given: mild findings are the most common."""

Site = tuple[str, str, str]
"""Side (right, left, both, midline), zone (apex, upper, mid, lower, base, hilum, or empty) and kind."""

# The sites a finding can take, each with its weight. A kind names what only some findings have.
SITES: Final[dict[str, tuple[tuple[Site, float], ...]]] = {
    "Enlarged Cardiomediastinum": ((("midline", "", ""), 1.0),),
    "Cardiomegaly": ((("midline", "", ""), 1.0),),
    "Lung Opacity": (
        (("right", "upper", ""), 1.0),
        (("right", "mid", ""), 1.0),
        (("right", "lower", ""), 2.0),
        (("left", "upper", ""), 1.0),
        (("left", "mid", ""), 1.0),
        (("left", "lower", ""), 2.0),
        (("both", "base", ""), 3.0),
    ),
    "Lung Lesion": tuple(((s, z, ""), 1.0) for s in ("right", "left") for z in ("upper", "mid", "lower")),
    "Edema": ((("both", "hilum", ""), 1.0),),
    "Consolidation": (
        (("right", "upper", ""), 1.5),
        (("right", "lower", ""), 2.0),
        (("left", "upper", ""), 1.0),
        (("left", "lower", ""), 2.0),
        (("both", "lower", ""), 1.0),
    ),
    "Pneumonia": (
        (("right", "upper", ""), 1.0),
        (("right", "lower", ""), 2.0),
        (("left", "upper", ""), 1.0),
        (("left", "lower", ""), 2.0),
    ),
    "Atelectasis": (
        (("right", "base", ""), 2.0),
        (("left", "base", ""), 2.5),
        (("both", "base", ""), 3.5),
        (("right", "mid", ""), 0.7),
        (("left", "mid", ""), 0.7),
    ),
    "Pneumothorax": ((("right", "apex", ""), 1.0), (("left", "apex", ""), 1.0)),
    "Pleural Effusion": (
        (("right", "base", ""), 2.0),
        (("left", "base", ""), 2.0),
        (("both", "base", ""), 2.5),
    ),
    "Pleural Other": tuple(
        ((s, zone, kind), 1.0)
        for s in ("right", "left")
        for zone, kind in (("apex", "thickening"), ("lower", "thickening"), ("lower", "plaque"))
    ),
    "Fracture": tuple(((s, z, ""), 1.0) for s in ("right", "left") for z in ("upper", "mid", "lower")),
    "Support Devices": (
        (("midline", "", "endotracheal tube"), 1.6),
        (("midline", "", "enteric tube"), 1.2),
        (("right", "", "central line"), 2.0),
        (("left", "", "central line"), 1.0),
        (("right", "", "picc"), 1.2),
        (("left", "", "picc"), 1.2),
        (("left", "", "pacemaker"), 2.2),
        (("right", "", "pacemaker"), 0.4),
        (("right", "", "chest tube"), 0.6),
        (("left", "", "chest tube"), 0.6),
        (("midline", "", "valve"), 1.2),
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of one study.

    Args:
        label: its observation, one of `DRAWN`.
        side: right, left, both or midline (the patient's side; the patient's right is the film's left).
        zone: apex, upper, mid, lower, base, hilum, or empty where the finding has no zone.
        kind: the sort of device or of pleural change; empty elsewhere.
        severity: 0 (barely visible) to 1 (gross).
        hedged: whether the report only suspects it.
        seed: settles its own shape and exact place, so that the rest of the film does not depend on it.
    """

    label: str
    side: str
    zone: str
    kind: str
    severity: float
    hedged: bool
    seed: int


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A patient's build; lengths are relative to the standard chest, 1.0 being average."""

    width: float
    height: float
    heart: float
    dome: float
    aorta: float
    breast: float
    seed: int


@dataclass(frozen=True, slots=True)
class Case:
    """What a film shows and a report tells: a build, the findings, and how the film was taken."""

    anatomy: Anatomy
    findings: tuple[Finding, ...]
    portable: bool
    shallow: bool

    def labelled(self, label: str) -> tuple[Finding, ...]:
        """The case's findings of one observation."""
        return tuple(f for f in self.findings if f.label == label)

    def has(self, label: str) -> bool:
        """Whether the case has the observation, stated surely or with a hedge."""
        return any(f.label == label for f in self.findings)


@dataclass(frozen=True, slots=True)
class Patient:
    """What stays the same over a patient's studies: build, disposition and the usual site of each finding."""

    anatomy: Anatomy
    disposition: npt.NDArray[np.float64]  # (13,), standard normal
    sites: Mapping[str, Site]


def draw_patient(rng: np.random.Generator) -> Patient:
    """Draw a patient's build, disposition to each finding and the site where each would appear."""
    return Patient(_anatomy(rng), rng.standard_normal(len(DRAWN)), {name: _site(name, rng) for name in DRAWN})


def shares_of(prevalence: float | Mapping[str, float]) -> dict[str, float]:
    """Tell the share of studies with each observation that can be drawn.

    Args:
        prevalence: a number scales `PREVALENCE`, a mapping replaces the shares it names.

    Returns:
        A share for each of `DRAWN`.

    Raises:
        ValueError: for an observation that cannot be drawn, or a share not between 0 and 1.
    """
    if isinstance(prevalence, Mapping):
        if unknown := sorted(set(prevalence) - set(DRAWN)):
            raise ValueError(
                f"no prevalence can be set for {', '.join(unknown)}; observations: {', '.join(DRAWN)}"
            )
        shares = {**PREVALENCE, **prevalence}
    else:
        shares = {name: prevalence * share for name, share in PREVALENCE.items()}
    for name, share in shares.items():
        if not 0 < share < 1:
            raise ValueError(f"prevalence of {name} must lie between 0 and 1, got {share}")
    return shares


def most_hedges(severity: Sequence[float]) -> float:
    """Compute the largest mean share of hedges: E[(1 - s)^3] of a severity s from Beta(a, b).

    With it the chance of a hedge at severity 0 is 1 (`hedge_chance`).

    Args:
        severity: a and b, both above 0.
    """
    a, b = severity
    return b * (b + 1) * (b + 2) / ((a + b) * (a + b + 1) * (a + b + 2))


def hedge_chance(degree: float, severity: Sequence[float], hedge_share: float) -> float:
    """Compute the chance that a finding is hedged.

    It goes with the cube of what is left to full severity: nearly all hedges lie on subtle findings.

    Args:
        degree: the finding's severity, 0 to 1.
        severity: a and b of the Beta distribution that it was drawn from.
        hedge_share: the mean of the chance under that distribution.
    """
    return hedge_share / most_hedges(severity) * (1 - degree) ** 3


def check_hedges(hedge_share: float, severity: Sequence[float]) -> None:
    """Refuse what no chance of a hedge can keep.

    Args:
        hedge_share: mean share of findings stated with a hedge.
        severity: a and b of the Beta distribution of a finding's severity.

    Raises:
        ValueError: when severity is no such pair, or hedge_share is negative or above `most_hedges`.
    """
    if len(severity) != 2 or not all(0 < part < math.inf for part in severity):
        raise ValueError(
            f"severity must be the two parameters of a Beta distribution, each above 0, got {list(severity)}"
        )
    largest = math.floor(1e4 * most_hedges(severity)) / 1e4
    if not 0 <= hedge_share <= most_hedges(severity):
        raise ValueError(
            f"hedge_share must lie in [0, {largest}] with severity {list(severity)}, got {hedge_share}; "
            "subtle findings carry the hedges: lower hedge_share or make severity milder"
        )


def draw_case(
    patient: Patient,
    rng: np.random.Generator,
    *,
    prevalence: Mapping[str, float],
    hedge_share: float,
    severity: Sequence[float] = SEVERITY,
) -> Case:
    """Draw one study of a patient.

    Args:
        patient: whose study it is.
        rng: the study's own generator.
        prevalence: share of studies for each of `DRAWN`, strictly between 0 and 1.
        hedge_share: mean share of findings stated with a hedge, at most `most_hedges` of the severity.
        severity: a and b of the Beta distribution of a finding's severity.
    """
    shared = rng.standard_normal(_FACTORS)
    own = rng.standard_normal(len(DRAWN))
    present = []
    for name, trait, chance in zip(DRAWN, patient.disposition, own, strict=True):
        loadings, chronic = np.array(_COMPANY[name][:_FACTORS]), _COMPANY[name][_FACTORS]
        rest = np.sqrt(chronic) * trait + np.sqrt(1 - chronic) * chance
        latent = loadings @ shared + np.sqrt(1 - loadings @ loadings) * rest
        if latent < NormalDist().inv_cdf(prevalence[name]):
            present.append(name)
    return _assemble(patient, present, rng, severity, hedge_share)


def case_from_labels(
    positive: Collection[str], rng: np.random.Generator, *, uncertain: Collection[str] = ()
) -> Case:
    """Build a case that has exactly the given observations, at drawn sites and severities.

    Args:
        positive: names of observations present; No Finding is allowed and draws nothing.
        rng: draws the patient and the findings.
        uncertain: names of observations only suspected; they are drawn subtle and stated with a hedge.

    Returns:
        The case.

    Raises:
        ValueError: for a name that is not an observation, or one given in both.
    """
    if unknown := sorted((set(positive) | set(uncertain)) - set(OBSERVATIONS)):
        raise ValueError(f"no such observation: {', '.join(unknown)}; names are {', '.join(OBSERVATIONS)}")
    if both := sorted(set(positive) & set(uncertain)):
        raise ValueError(f"positive and uncertain at once: {', '.join(both)}; name each observation once")
    present = [name for name in DRAWN if name in set(positive) | set(uncertain)]
    case = _assemble(draw_patient(rng), present, rng, SEVERITY, hedge_share=0.0)
    return _hedge(case, set(uncertain))


def _hedge(case: Case, uncertain: set[str]) -> Case:
    """Make the named findings subtle and only suspected."""
    findings = tuple(
        replace(f, severity=0.3 * f.severity, hedged=True) if f.label in uncertain else f
        for f in case.findings
    )
    return replace(case, findings=findings)


def _assemble(
    patient: Patient,
    present: list[str],
    rng: np.random.Generator,
    severity: Sequence[float],
    hedge_share: float,
) -> Case:
    """Give each present observation its site, severity and hedge."""
    sites = _in_company({name: patient.sites[name] for name in present})
    findings = [_finding(name, site, rng, severity, hedge_share) for name, site in sites.items()]
    if "Support Devices" in sites:
        findings += [_finding("Support Devices", site, rng, severity, 0) for site in _further(sites, rng)]
    portable = rng.random() < (0.75 if "Support Devices" in sites else 0.25)
    return Case(patient.anatomy, tuple(findings), portable, rng.random() < (0.4 if portable else 0.1))


def _in_company(sites: dict[str, Site]) -> dict[str, Site]:
    """Bring together what belongs together: atelectasis to its effusion, pneumonia to its opacity."""
    if "Atelectasis" in sites and "Pleural Effusion" in sites:
        sites["Atelectasis"] = (sites["Pleural Effusion"][0], "base", "")
    for host in ("Consolidation", "Lung Opacity"):
        if "Pneumonia" in sites and host in sites:
            sites["Pneumonia"] = sites[host]
            break
    return sites


def _finding(
    label: str, site: Site, rng: np.random.Generator, severity: Sequence[float], hedge_share: float
) -> Finding:
    """Draw severity and hedge; devices are never hedged."""
    a, b = severity
    degree = float(rng.beta(a, b))
    hedged = bool(rng.random() < hedge_chance(degree, severity, hedge_share)) and label != "Support Devices"
    return Finding(label, *site, degree, hedged, int(rng.integers(2**31)))


def _further(sites: Mapping[str, Site], rng: np.random.Generator) -> list[Site]:
    """Further devices: the intubated have an enteric tube, a pneumothorax its chest tube, some a line."""
    first = sites["Support Devices"]
    more: list[Site] = []
    if first[2] == "endotracheal tube" and rng.random() < 0.7:
        more.append(("midline", "", "enteric tube"))
    if "Pneumothorax" in sites and first[2] != "chest tube" and rng.random() < 0.5:
        more.append((sites["Pneumothorax"][0], "", "chest tube"))
    if first[2] not in ("central line", "picc") and rng.random() < 0.3:
        more.append(("right", "", "central line"))
    return more


def _site(label: str, rng: np.random.Generator) -> Site:
    sites, weights = zip(*SITES[label], strict=True)
    site: Site = sites[int(rng.choice(len(sites), p=np.array(weights) / sum(weights)))]
    return site


def _anatomy(rng: np.random.Generator) -> Anatomy:
    return Anatomy(
        width=float(rng.normal(1.0, 0.045)),
        height=float(rng.normal(1.0, 0.04)),
        heart=float(np.clip(rng.normal(1.0, 0.045), 0.9, 1.1)),
        dome=float(rng.normal(0.0, 0.025)),
        aorta=float(rng.uniform(0.6, 1.4)),
        breast=float(rng.uniform(0.0, 1.0) if rng.random() < 0.5 else 0.0),
        seed=int(rng.integers(2**31)),
    )
