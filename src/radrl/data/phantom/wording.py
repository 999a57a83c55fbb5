"""The report of a case: sentences with what each states, put together as findings and impression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeVar

import numpy as np

from radrl.data.phantom import phrases
from radrl.data.phantom.findings import DRAWN, Case, Finding
from radrl.data.phantom.report import OTHER_FINDING, Report, Sentence
from radrl.observations import (
    NEGATIVE,
    POSITIVE,
    UNCERTAIN,
)

_LUNG_FINDINGS: Final = ("Lung Opacity", "Lung Lesion", "Edema", "Consolidation", "Pneumonia", "Atelectasis")
_FILLINGS: Final = frozenset({"Lung Opacity", "Consolidation", "Pneumonia"})
"""What a sentence states that tells of a finding beside the observations."""
_TORTUOUS_FROM: Final = 1.25
WORDS: Final = (32, 54)
"""Where no range is given: findings are filled until they have at least 32 to 53 words."""
_REPLACED: Final = 1 / 3
"""The chance of a stock sentence to be another one where a report is reworded."""

Boilerplate = Literal["usual", "more"]
"""The stock sentences that findings are filled with: those that always were, in any order, or about four
times as many, in one order, as a template has them, none of which tells of a finding. Without an order a
policy that writes the likeliest would write one of them again and again."""

_TOPICS: Final[dict[str, str]] = {
    **dict.fromkeys(_LUNG_FINDINGS, "lungs"),
    **dict.fromkeys(("Pleural Effusion", "Pneumothorax", "Pleural Other"), "pleura"),
    **dict.fromkeys(("Cardiomegaly", "Enlarged Cardiomediastinum"), "heart"),
    "Fracture": "bones",
    "Support Devices": "devices",
}

T = TypeVar("T")


def check_words(words: Sequence[int]) -> None:
    """Refuse a range of words that holds no length.

    Args:
        words: the least length, and one above the greatest.

    Raises:
        ValueError: when it is no pair, does not rise, or begins below 1.
    """
    if len(words) != 2 or not 1 <= words[0] < words[1]:
        raise ValueError(f"words must be [low, high] with 1 <= low < high, got {list(words)}")


def write_report(
    case: Case,
    rng: np.random.Generator,
    *,
    lateral: bool,
    prior: bool,
    words: Sequence[int] = WORDS,
    boilerplate: Boilerplate = "usual",
) -> Report:
    """Word a case.

    The impression states nothing that the findings do not, so that the findings alone state all there is.

    Args:
        case: what there is to tell.
        rng: generator of the wording.
        lateral: whether the study has a lateral film.
        prior: whether the patient has an earlier study.
        words: low and high; the findings get stock sentences until they have a length drawn from low to
            high - 1. What is told and denied is never cut.
        boilerplate: the stock sentences they get.

    Returns:
        Both sections.
    """
    body = [*_positive(case, rng), *_normal(case, rng)]
    opening = _opening(case, rng, lateral=lateral, prior=prior)
    low, high = words
    target = int(rng.integers(low, high)) - _length(opening)
    stock = _stock(case, boilerplate)
    findings = opening + _filled(body, target, stock, case, rng, ordered=boilerplate == "more")
    return Report(tuple(findings), tuple(_impression(case, findings, rng)))


def _pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]


def _opening(case: Case, rng: np.random.Generator, *, lateral: bool, prior: bool) -> list[Sentence]:
    """Technique, comparison and breath, each often left out."""
    kind = "lateral" if lateral else "portable" if case.portable else "frontal"
    opening = []
    if rng.random() < 0.6:
        opening.append(_pick(rng, phrases.TECHNIQUE[kind]))
    if rng.random() < 0.4:
        opening.append(_pick(rng, phrases.COMPARISON[prior]))
    if case.shallow and rng.random() < 0.8:
        opening.append(_pick(rng, phrases.SHALLOW))
    return [Sentence(text) for text in opening]


def _positive(case: Case, rng: np.random.Generator) -> list[Sentence]:
    """One sentence a finding; a finding that belongs to another joins its sentence."""
    hosts = _hosts(case, rng)
    guests = {id(guest): host for host, guest in hosts}
    sentences = []
    for finding in case.findings:
        if id(finding) in guests:
            continue
        sentence = _state(finding, rng)
        for host, guest in hosts:
            if host is finding:
                sentence = _join(sentence, guest, rng)
        sentences.append(sentence)
    return sentences


def _hosts(case: Case, rng: np.random.Generator) -> list[tuple[Finding, Finding]]:
    """Pairs of a sure finding and the one told in its sentence.

    Pneumonia is told with the opacity it is seen in, atelectasis at times with the effusion beside it.
    """
    pairs = [
        *zip(
            case.labelled("Consolidation") or case.labelled("Lung Opacity"),
            case.labelled("Pneumonia"),
            strict=False,
        )
    ]
    if rng.random() < 0.5:
        plates = (f for f in case.labelled("Atelectasis") if not f.hedged)
        pairs += zip(case.labelled("Pleural Effusion"), plates, strict=False)
    return [(host, guest) for host, guest in pairs if not host.hedged]


def _join(host: Sentence, guest: Finding, rng: np.random.Generator) -> Sentence:
    links = phrases.ATELECTASIS_LINK if guest.label == "Atelectasis" else phrases.PNEUMONIA_LINK[guest.hedged]
    text = host.text.removesuffix(".") + _pick(rng, links)
    return Sentence(text, (*host.states, (guest.label, _class_of(guest))), host.topic)


def _class_of(finding: Finding) -> int:
    return UNCERTAIN if finding.hedged else POSITIVE


def _state(finding: Finding, rng: np.random.Generator, *, brief: bool = False) -> Sentence:
    """A sentence for one finding: in full for the findings, brief for the impression."""
    if finding.label == "Support Devices":
        options = phrases.DEVICES[finding.kind]
    elif brief:
        options = (phrases.IMPRESSION_HEDGED if finding.hedged else phrases.IMPRESSION_SURE)[finding.label]
    else:
        options = (phrases.HEDGED if finding.hedged else phrases.SURE)[finding.label]
    text = _fill(_pick(rng, options), finding, rng)
    return Sentence(text, ((finding.label, _class_of(finding)),), _TOPICS[finding.label])


def _fill(template: str, finding: Finding, rng: np.random.Generator) -> str:
    """Put a finding's side, place and severity into a template, and start with a capital."""
    text = template.format(**_slots(finding, rng))
    return text[0].upper() + text[1:]


def _slots(finding: Finding, rng: np.random.Generator) -> dict[str, str]:
    gain, both = finding.severity, finding.side == "both"
    side = "bilateral" if both else finding.side
    extent = "trace" if gain < 0.12 else _grade(gain, "small", "moderate", "large")
    size = 5 * round(2 + 5 * gain)
    faintness = _grade(gain, "faint", "patchy", "dense")
    return {
        "side": side,
        "zone": finding.zone,
        "place": _place(finding),
        "lobe": "in both lower lobes" if both else f"in the {side} {_lobe_name(finding)} lobe",
        "lobar": "bilateral lower lobe" if both else f"{side} {_lobe_name(finding)} lobe",
        "basilar": _basilar(finding),
        "degree": _grade(gain, "mild", "moderate", "severe"),
        "extent": extent,
        "a_extent": extent if both else f"a {extent}",
        "effusion": "effusions" if both else "effusion",
        "is_are": "are" if both else "is",
        "angle": "angles" if both else "angle",
        "amount": _grade(gain, "minimal", "linear", "marked"),
        "faintness": faintness,
        "a_faintness": f"a {faintness}",
        "density": _grade(gain, "focal", "focal", "dense"),
        "lesion": "nodule" if gain < 0.75 else "mass",
        "measure": f"{size} mm",
        "pleural": f"pleural {finding.kind}" if finding.zone != "apex" else f"apical pleural {finding.kind}",
        "displacement": _grade(gain, "nondisplaced", "minimally displaced", "displaced"),
        "centimetres": str(int(rng.integers(3, 7))),
    }


def _grade(severity: float, low: str, middle: str, high: str) -> str:
    return low if severity < 0.4 else middle if severity < 0.75 else high


def _place(finding: Finding) -> str:
    if finding.side == "both":
        return "at both lung bases"
    if finding.zone == "base":
        return f"at the {finding.side} lung base"
    return f"in the {finding.side} {finding.zone} lung"


def _lobe_name(finding: Finding) -> str:
    return {"base": "lower", "mid": "middle" if finding.side == "right" else "upper"}.get(
        finding.zone, finding.zone
    )


def _basilar(finding: Finding) -> str:
    if finding.side == "both":
        return "bibasilar"
    return f"{finding.side} {'basilar' if finding.zone == 'base' else 'mid lung'}"


def _normal(case: Case, rng: np.random.Generator) -> list[Sentence]:
    """What is said of a normal heart, mediastinum and lungs."""
    normal = {name: not case.has(name) for name in ("Cardiomegaly", "Enlarged Cardiomediastinum")}
    sentences = []
    if all(normal.values()) and rng.random() < 0.4:
        sentences.append(_deny(phrases.NORMAL_BOTH, normal, "heart", rng))
    else:
        for (name, options), share in zip(phrases.NORMAL.items(), (0.75, 0.5), strict=True):
            if normal[name] and rng.random() < share:
                sentences.append(_deny(options, (name,), "heart", rng))
    if not any(case.has(name) for name in _LUNG_FINDINGS) and rng.random() < 0.75:
        sentences.append(_deny(phrases.CLEAR_LUNGS, (), "lungs", rng))
    return sentences


def _deny(options: Sequence[str], names: Iterable[str], topic: str, rng: np.random.Generator) -> Sentence:
    return Sentence(_pick(rng, options), tuple((name, NEGATIVE) for name in names), topic)


def _length(sentences: Iterable[Sentence]) -> int:
    """Number of words."""
    return sum(len(s.text.split()) for s in sentences)


def reword(
    report: Report, case: Case, rng: np.random.Generator, boilerplate: Boilerplate = "usual"
) -> Report:
    """Word a report a little otherwise: some stock sentences are others, and all else is the same.

    Args:
        report: of the case.
        case: what it tells of.
        rng: generator of what is replaced.
        boilerplate: the stock sentences that it was written with.

    Returns:
        A report that states the same, class by class; each stock sentence of the findings that tells of no
        finding is replaced with a chance of a third, as far as there are others.
    """
    plain = [text for text in _stock(case, boilerplate) if text not in phrases.OTHER_FINDINGS]
    used = {sentence.text for sentence in report.findings}
    spare = [str(text) for text in rng.permutation(np.array([t for t in plain if t not in used], object))]
    findings = []
    for sentence in report.findings:
        replaced = rng.random() < _REPLACED and sentence.text in plain and spare
        findings.append(Sentence(spare.pop()) if replaced else sentence)
    if boilerplate == "more":
        placed = [i for i, sentence in enumerate(findings) if sentence.text in plain]
        for i, text in zip(placed, sorted((findings[i].text for i in placed), key=plain.index), strict=True):
            findings[i] = Sentence(text)
    return Report(tuple(findings), report.impression)


def _stock(case: Case, boilerplate: Boilerplate) -> list[str]:
    """The stock sentences that nothing of the case speaks against."""
    every = phrases.BOILERPLATE
    if boilerplate == "more":
        every = tuple(text for text in every if text not in phrases.OTHER_FINDINGS) + phrases.MORE_BOILERPLATE
    stock = [text for text in every if not (case.has("Fracture") and text in phrases.BONES)]
    if case.anatomy.aorta > _TORTUOUS_FROM:
        stock.append(phrases.TORTUOUS)
    return stock


def _filled(
    body: list[Sentence],
    target: int,
    stock: Sequence[str],
    case: Case,
    rng: np.random.Generator,
    *,
    ordered: bool,
) -> list[Sentence]:
    """Add denials, and stock sentences up to the target's words, then put the whole in a drawn order.

    The stock sentences among themselves are in the order of the stock where `ordered`, else as they were
    drawn.
    """
    body = body + _denials(case, rng)
    words, taken = _length(body), list[str]()
    for text in rng.permutation(np.array(stock, dtype=object)):
        if words >= target:
            break
        taken.append(text)
        words += len(text.split())
    if ordered:
        taken.sort(key=stock.index)
    body += [Sentence(text, (OTHER_FINDING,) if text in phrases.OTHER_FINDINGS else ()) for text in taken]
    return _ordered(body, rng)


def _denials(case: Case, rng: np.random.Generator) -> list[Sentence]:
    """One to three sentences that deny what is absent, no observation twice.

    Where a lung is filled, under whatever name, no kind of filling is denied.
    """
    sentences: list[Sentence] = []
    denied: set[str] = set()
    undeniable = {name for name in DRAWN if case.has(name)}
    if undeniable & _FILLINGS:
        undeniable |= _FILLINGS - {"Pneumonia"}
    weights = np.array(phrases.DENIAL_WEIGHTS) / sum(phrases.DENIAL_WEIGHTS)
    order = rng.choice(len(weights), size=len(weights), replace=False, p=weights)
    wanted = int(rng.integers(1, 4))
    for index in order:
        group = phrases.DENIALS[index]
        names = {name for name, _ in group}
        if names & (denied | undeniable):
            continue
        denied |= names
        options = [deny.format(list=_listed([noun for _, noun in group])) for deny in phrases.DENY]
        sentences.append(_deny(options, [name for name, _ in group], _TOPICS[group[0][0]], rng))
        if len(sentences) == wanted:
            break
    return sentences


def _listed(nouns: list[str]) -> str:
    if len(nouns) < 3:
        return " or ".join(nouns)
    return ", ".join(nouns[:-1]) + f", or {nouns[-1]}"


def _ordered(body: list[Sentence], rng: np.random.Generator) -> list[Sentence]:
    """Sort by topic; the heart may come before the lungs and the devices last."""
    lungs_and_heart = ["heart", "lungs", "pleura"] if rng.random() < 0.5 else ["lungs", "pleura", "heart"]
    order = [*lungs_and_heart, "bones", "rest"]
    order.insert(len(order) if rng.random() < 0.4 else 0, "devices")
    return sorted(body, key=lambda sentence: order.index(sentence.topic))


def _impression(case: Case, findings: Sequence[Sentence], rng: np.random.Generator) -> list[Sentence]:
    """The one to three gravest findings, briefly; a normal study gets a stock phrase."""
    diseases = sorted((f for f in case.findings if f.label != "Support Devices"), key=lambda f: -f.severity)
    if not diseases:
        return [Sentence(_pick(rng, phrases.IMPRESSION_NORMAL))]
    told = diseases[: int(rng.integers(1, 3)) + (len(diseases) > 3)]
    return [_state(finding, rng, brief=True) for finding in told]
