"""How well the reader of findings finds what people indexed in the reports of Open-i (IU X-Ray)

    python tools/reader_recall.py --openi FOLDER                                  the half for development
    python tools/reader_recall.py --openi FOLDER --half aside --write docs/bench/reader.md

FOLDER holds `ecgen-radiology.tgz` or its files (`CXR*.xml`), each a report with the terms under which it was
indexed: heads of MeSH and of RadLex with modifiers, such as ``Pleural Effusion/left/small``. `HEADS` says
which concepts of the reader stand for a head. The halves are cut by a digest of the report's id. Reports that
were not indexed are left out.

Counted for a group of concepts is a report: does the index name it, does the reader find it. The index holds
some of what a report only hedges and lacks some: a finding that the reader takes for hedged and that is not
indexed is neither right nor wrong, and in a column of its own a false one. A nodule that is indexed as
calcified at the same place is a calcified granuloma, as the reader calls it; the lingula is on the left.
Sides, regions and degrees are counted where both do: each side that one names is a decision. Figures alone
are written, no text of a report.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from radrl.scoring.weighted_findings import Finding
from radrl.scoring.weighted_findings.reader import findings_of

ARCHIVE: Final = "ecgen-radiology.tgz"
LEAST: Final = 20
"""Reports in which the index names a group before its F1 is held against `TARGET`."""
TARGET: Final = 0.85

SPINE: Final = "thoracic vertebrae|lumbar vertebrae|cervical vertebrae|spine"

HEADS: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("cardiomegaly", "Cardiomegaly", "", "cardiomegaly"),
    ("cardiomegaly", "Cardiac Shadow", "enlarged|prominent|borderline", "cardiomegaly"),
    (
        "chamber_enlargement",
        "Heart Ventricles|Heart Atria|Heart",
        "enlarged|prominent",
        "chamber_enlargement",
    ),
    (
        "mediastinal_widening",
        "Mediastinum",
        "enlarged|prominent",
        "mediastinal_widening enlarged_cardiomediastinum",
    ),
    ("mediastinal_shift", "Shift", "", "mediastinal_shift tracheal_deviation"),
    ("pericardial_effusion", "Pericardial Effusion", "", "pericardial_effusion"),
    ("heart_failure", "Heart Failure", "", "heart_failure"),
    ("vascular_congestion", "Pulmonary Congestion", "", "vascular_congestion"),
    (
        "pulmonary_edema",
        "Pulmonary Edema",
        "",
        "pulmonary_edema interstitial_edema alveolar_edema kerley_lines",
    ),
    ("pulmonary_hypertension", "Hypertension, Pulmonary", "", "pulmonary_hypertension"),
    ("pulmonary_artery_enlargement", "Pulmonary Artery", "", "pulmonary_artery_enlargement"),
    ("hilar_enlargement", "Lung", "hilum+enlarged|prominent", "hilar_enlargement hilar_adenopathy"),
    ("tortuous_aorta", "Aorta|Aorta, Thoracic", "tortuous", "tortuous_aorta"),
    ("aortic_dilation", "Aorta|Aorta, Thoracic|Aortic Aneurysm", "", "aortic_dilation aortic_aneurysm"),
    ("aortic_calcification", "Atherosclerosis", "", "aortic_calcification coronary_calcification"),
    ("aortic_calcification", "Calcinosis", "aorta|aorta, thoracic|blood vessels", "aortic_calcification"),
    ("coronary_calcification", "Calcinosis", "coronary vessels", "coronary_calcification"),
    ("calcified_lymph_node", "Calcinosis", "lymph nodes|hilum|mediastinum", "calcified_lymph_node"),
    ("granuloma", "Calcinosis", "lung|multiple|scattered", "calcified_granuloma"),
    (
        "other_calcification",
        "Calcinosis",
        "",
        "calcification pleural_calcification cartilage_calcification soft_tissue_calcification "
        "valve_calcification",
    ),
    ("granuloma", "Calcified Granuloma|Granuloma", "", "calcified_granuloma granuloma"),
    ("granulomatous_disease", "Granulomatous Disease", "", "granulomatous_disease"),
    ("interstitial_pattern", "Opacity|Density", "interstitial|reticular", "interstitial_pattern"),
    ("nodule", "Opacity|Density", "round", "nodule"),
    (
        "lung_opacity",
        "Opacity|Density|Airspace Disease|Infiltrate",
        "",
        "lung_opacity ground_glass_opacity airspace_opacity",
    ),
    ("consolidation", "Consolidation", "", "consolidation"),
    ("pneumonia", "Pneumonia", "", "pneumonia aspiration"),
    ("interstitial_pattern", "Markings", "", "interstitial_pattern vascular_crowding"),
    ("interstitial_pattern", "Lung Diseases, Interstitial", "", "interstitial_lung_disease"),
    ("pulmonary_fibrosis", "Pulmonary Fibrosis|Fibrosis", "", "pulmonary_fibrosis"),
    (
        "pleural_thickening",
        "Cicatrix|Thickening",
        "pleura",
        "pleural_thickening apical_cap fissural_thickening pleural_plaque",
    ),
    ("scarring", "Cicatrix", "", "scarring"),
    ("bronchial_thickening", "Thickening", "bronchovascular|bronchi", "bronchial_thickening"),
    (
        "atelectasis",
        "Pulmonary Atelectasis",
        "",
        "atelectasis linear_atelectasis lobar_collapse lung_collapse",
    ),
    ("volume_loss", "Volume Loss", "", "volume_loss"),
    ("low_lung_volumes", "Lung", "hypoinflation", "low_lung_volumes"),
    ("hyperinflation", "Lung", "hyperdistention", "hyperinflation"),
    ("flattened_diaphragm", "Diaphragm", "flattened", "flattened_diaphragm"),
    ("copd", "Pulmonary Disease, Chronic Obstructive", "", "copd"),
    ("emphysema", "Emphysema|Pulmonary Emphysema|Bullous Emphysema", "", "emphysema"),
    ("bulla", "Blister", "", "bulla"),
    ("hyperlucency", "Lung, Hyperlucent|Lucency", "", "hyperlucency"),
    ("bronchiectasis", "Bronchiectasis", "", "bronchiectasis"),
    ("nodule", "Nodule", "", "nodule"),
    ("mass", "Mass", "", "mass hilar_mass mediastinal_mass pleural_mass soft_tissue_mass"),
    ("cavity", "Cavitation", "", "cavity"),
    ("pleural_effusion", "Pleural Effusion", "", "pleural_effusion loculated_effusion fissural_fluid"),
    ("blunted_costophrenic_angle", "Costophrenic Angle|Sulcus", "", "blunted_costophrenic_angle"),
    (
        "pneumothorax",
        "Pneumothorax|Hydropneumothorax",
        "",
        "pneumothorax hydropneumothorax tension_pneumothorax",
    ),
    ("subcutaneous_emphysema", "Subcutaneous Emphysema", "", "subcutaneous_emphysema"),
    ("hemidiaphragm_elevation", "Diaphragm", "elevated", "hemidiaphragm_elevation"),
    ("eventration", "Diaphragmatic Eventration", "", "eventration"),
    ("hernia", "Hernia, Hiatal|Hernia, Diaphragmatic", "", "hiatal_hernia hernia diaphragmatic_hernia"),
    ("vertebral_fracture", "Deformity|Fractures, Bone", SPINE, "vertebral_fracture"),
    (
        "fracture",
        "Fractures, Bone",
        "",
        "fracture rib_fracture clavicle_fracture sternal_fracture humerus_fracture "
        "scapula_fracture old_fracture old_rib_fracture",
    ),
    ("bone_deformity", "Deformity", "", "bone_deformity"),
    ("dislocation", "Dislocations", "", "dislocation"),
    (
        "degenerative_spine",
        "Spine|Thoracic Vertebrae|Thoracic vertebrae|Lumbar Vertebrae|Cervical Vertebrae",
        "degenerative",
        "degenerative_spine disc_disease degenerative_change",
    ),
    ("degenerative_spine", "Spondylosis", "", "degenerative_spine"),
    ("osteophyte", "Osteophyte", "", "osteophyte"),
    ("arthritis", "Arthritis", "", "degenerative_shoulder"),
    ("scoliosis", "Scoliosis", "", "scoliosis"),
    ("kyphosis", "Kyphosis", "", "kyphosis"),
    ("osteopenia", "Bone Diseases, Metabolic|Osteoporosis", "", "osteopenia"),
    ("bone_lesion", "Sclerosis|Expansile Bone Lesions", "", "bone_lesion"),
    (
        "central_line",
        "Catheters, Indwelling",
        "",
        "central_line picc port dialysis_catheter pulmonary_artery_catheter",
    ),
    (
        "implanted_device",
        "Implanted Medical Device|Medical Device",
        "",
        "cardiac_device pacemaker defibrillator orthopedic_hardware joint_prosthesis "
        "spinal_hardware prosthetic_valve support_device nerve_stimulator loop_recorder "
        "monitoring_leads intra_aortic_balloon_pump",
    ),
    ("spinal_hardware", "Spinal Fusion", "", "spinal_hardware"),
    (
        "tube",
        "Tube, Inserted",
        "",
        "endotracheal_tube tracheostomy_tube enteric_tube nasogastric_tube feeding_tube "
        "chest_tube gastrostomy_tube",
    ),
    ("surgical_clips", "Surgical Instruments|Sutures", "", "surgical_clips"),
    ("stent", "Stents", "", "stent"),
    ("foreign_body", "Foreign Bodies", "", "foreign_body"),
    ("breast_implant", "Breast Implants", "", "breast_implant"),
    ("mastectomy", "Mastectomy", "", "mastectomy"),
    ("nipple_shadow", "Nipple Shadow", "", "nipple_shadow"),
    ("epicardial_fat", "Epicardial Fat|Adipose Tissue", "", "epicardial_fat"),
    ("sarcoidosis", "Sarcoidosis", "", "sarcoidosis"),
    ("tuberculosis", "Tuberculosis", "", "tuberculosis"),
    ("cystic_fibrosis", "Cystic Fibrosis", "", "cystic_fibrosis"),
    ("adenopathy", "Lymph nodes|Lymph Nodes", "", "adenopathy mediastinal_adenopathy"),
)
"""(group, heads, one of these modifiers (of all that ``+`` joins), concepts); the first that fits."""

REGIONS: Final = {
    "base": "base",
    "apex": "apex",
    "upper lobe": "upper_lobe",
    "middle lobe": "middle_lobe",
    "lower lobe": "lower_lobe",
    "lingula": "lingula",
    "hilum": "hilum",
    "retrocardiac": "retrocardiac",
}
DEGREES: Final = {"borderline": 0, "small": 1, "mild": 1, "moderate": 2, "large": 3, "severe": 3}

_CONCEPTS: Final[dict[str, frozenset[str]]] = {}
for _group, _, _, _names in HEADS:
    _CONCEPTS[_group] = _CONCEPTS.get(_group, frozenset()) | frozenset(_names.split())
_GROUP_OF: Final = {concept: group for group, names in _CONCEPTS.items() for concept in names}


class Term(NamedTuple):
    """What is said of a group in a report: sides, regions, highest degree, and whether it is only hedged."""

    sides: frozenset[str]
    regions: frozenset[str]
    degree: int | None
    hedged: bool = False


@dataclass(slots=True)
class Count:
    """True and false positives and false negatives."""

    true: int = 0
    false: int = 0
    missed: int = 0

    def add(self, indexed: Iterable[str], found: Iterable[str]) -> None:
        indexed, found = set(indexed), set(found)
        self.true += len(indexed & found)
        self.false += len(found - indexed)
        self.missed += len(indexed - found)

    @property
    def n(self) -> int:
        return self.true + self.missed

    @property
    def precision(self) -> float | None:
        return self.true / (self.true + self.false) if self.true + self.false else None

    @property
    def recall(self) -> float | None:
        return self.true / self.n if self.n else None

    @property
    def f1(self) -> float | None:
        total = 2 * self.true + self.false + self.missed
        return 2 * self.true / total if total else None


@dataclass(slots=True)
class Row:
    """Counts of one group."""

    finding: Count = field(default_factory=Count)
    strict: Count = field(default_factory=Count)
    side: Count = field(default_factory=Count)
    region: Count = field(default_factory=Count)
    degree: Count = field(default_factory=Count)


class Report(NamedTuple):
    """A report of Open-i: its id, its text and the terms under which it was indexed."""

    id: str
    text: str
    terms: tuple[str, ...]


def reports(folder: Path) -> Iterator[Report]:
    """The reports of a folder, in the order of their ids."""
    archive = folder / ARCHIVE
    found: dict[str, bytes] = {}
    if archive.exists():
        with tarfile.open(archive) as packed:
            for member in packed:
                if member.name.endswith(".xml") and (file := packed.extractfile(member)) is not None:
                    found[member.name] = file.read()
    else:
        found = {path.name: path.read_bytes() for path in folder.rglob("*.xml")}
    if not found:
        raise SystemExit(
            f"{folder} holds neither {ARCHIVE} nor files *.xml: give the folder of Open-i's reports"
        )
    for name in sorted(found):
        yield _report(name, found[name])


def _report(name: str, content: bytes) -> Report:
    root = ElementTree.parse(io.BytesIO(content)).getroot()
    uid = root.find("uId")
    parts = {part.get("Label"): part.text or "" for part in root.iter("AbstractText")}
    text = f"FINDINGS: {parts.get('FINDINGS', '')}\n\nIMPRESSION: {parts.get('IMPRESSION', '')}"
    terms = tuple(term.text.strip() for term in root.iter("major") if term.text)
    return Report((uid.get("id") if uid is not None else None) or name, text, terms)


def aside(id: str) -> bool:
    """Whether a report is in the half that is put aside."""
    return hashlib.sha256(id.encode()).digest()[-1] % 2 == 1


def group_of(term: str) -> str | None:
    """The group of an index term."""
    head, *modifiers = term.split("/")
    for group, heads, needed, _ in HEADS:
        if head.strip() in heads.split("|") and _fits(needed, modifiers):
            return group
    return None


def _fits(needed: str, modifiers: Iterable[str]) -> bool:
    own = {modifier.strip() for modifier in modifiers}
    return all(own & set(one.split("|")) for one in needed.split("+") if one)


def indexed(terms: Iterable[str]) -> dict[str, Term]:
    """What a report's index says, by group."""
    said: dict[str, Term] = {}
    terms = list(terms)
    calcified = {term.removeprefix("Calcinosis") for term in terms if term.startswith("Calcinosis/")}
    for term in terms:
        group = group_of(term)
        if group is None:
            continue
        _, _, modifiers = term.partition("/")
        if group == "nodule" and f"/{modifiers}" in calcified:
            group = "calcified_lymph_node" if "hilum" in modifiers else "granuloma"
        own = {modifier.strip() for modifier in modifiers.split("/")}
        sides = {"left", "right"} if "bilateral" in own else own & {"left", "right"}
        sides |= {"left"} if "lingula" in own else set()
        regions = {REGIONS[one] for one in own if one in REGIONS}
        degree = max((DEGREES[one] for one in own if one in DEGREES), default=None)
        _add(said, group, Term(frozenset(sides), frozenset(regions), degree))
    return said


def read(findings: Iterable[Finding]) -> dict[str, Term]:
    """What the reader finds, by group."""
    said: dict[str, Term] = {}
    for finding in findings:
        group = _GROUP_OF.get(finding.concept)
        if finding.present and group is not None:
            regions = {lobe for one in finding.regions for lobe in _lobe(one, finding.sides)}
            regions &= set(REGIONS.values())
            severity = finding.severity
            hedged = finding.certainty == "hedged"
            _add(said, group, Term(frozenset(finding.sides), frozenset(regions), severity, hedged))
    return said


def _lobe(region: str, sides: Iterable[str]) -> set[str]:
    """A zone by the lobe under which it is indexed."""
    if region == "mid_zone":
        return {{"right": "middle_lobe", "left": "lingula"}[side] for side in sides}
    return {
        {"perihilar": "hilum", "upper_zone": "upper_lobe", "lower_zone": "lower_lobe"}.get(region, region)
    }


def _add(said: dict[str, Term], group: str, term: Term) -> None:
    if group in said:
        before = said[group]
        degrees = [one for one in (before.degree, term.degree) if one is not None]
        sides, regions = before.sides | term.sides, before.regions | term.regions
        term = Term(sides, regions, max(degrees, default=None), before.hedged and term.hedged)
    said[group] = term


def measure(of: Iterable[Report]) -> tuple[dict[str, Row], int]:
    """Counts by group, and how many reports were read."""
    rows = {group: Row() for group in _CONCEPTS}
    read_reports = 0
    for report in of:
        if not report.terms or "No Indexing" in report.terms:
            continue
        read_reports += 1
        truth, found = indexed(report.terms), read(findings_of(report.text))
        for group in truth.keys() | found.keys():
            pair = [group] if group in truth else [], [group] if group in found else []
            rows[group].strict.add(*pair)
            if group in truth or not found[group].hedged:
                rows[group].finding.add(*pair)
        for group in truth.keys() & found.keys():
            rows[group].side.add(truth[group].sides, found[group].sides)
            rows[group].region.add(truth[group].regions, found[group].regions)
            # Trace counts as small: the index has no lower degree.
            degrees = [
                {str(max(one.degree, 1) if group != "cardiomegaly" else one.degree)}
                if one.degree is not None
                else set()
                for one in (truth[group], found[group])
            ]
            rows[group].degree.add(*degrees)
    return rows, read_reports


def total(rows: Mapping[str, Row]) -> Row:
    """All groups together."""
    out = Row()
    for row in rows.values():
        for name in Row.__slots__:
            own, one = getattr(out, name), getattr(row, name)
            own.true, own.false, own.missed = (
                own.true + one.true,
                own.false + one.false,
                own.missed + one.missed,
            )
    return out


def table(rows: Mapping[str, Row], least: int) -> str:
    """The groups that the index names in so many reports, the most frequent first, and all together."""
    lines = [
        "| concept | reports | precision | recall | F1 | F1, hedges as stated "
        "| sides | F1 | regions | F1 | degrees | F1 |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    shown = sorted(
        ((row.finding.n, group) for group, row in rows.items() if row.finding.n >= least), reverse=True
    )
    for _, group in shown:
        lines.append(_line(group, rows[group]))
    rest = {group: row for group, row in rows.items() if row.finding.n < least}
    lines.append(_line(f"the other {len(rest)}, together", total(rest)))
    lines.append(_line("**all together**", total(rows)))
    return "\n".join(lines)


def _line(name: str, row: Row) -> str:
    cells = [
        name,
        str(row.finding.n),
        *map(_shown, (row.finding.precision, row.finding.recall, row.finding.f1)),
    ]
    cells.append(_shown(row.strict.f1))
    for count in (row.side, row.region, row.degree):
        cells += [str(count.n), _shown(count.f1)]
    return f"| {' | '.join(cells)} |"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def below(rows: Mapping[str, Row]) -> list[str]:
    """Where the target is missed: group, what, F1."""
    out = []
    for group, row in sorted(rows.items()):
        for what, count in (("finding", row.finding), ("side", row.side)):
            if row.finding.n >= LEAST and count.n >= LEAST and count.f1 is not None and count.f1 < TARGET:
                out.append(f"{group}, {what} {count.f1:.2f}")
    return out


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--openi", type=Path, required=True, help="folder of Open-i's reports")
    parser.add_argument("--half", choices=("development", "aside"), default="development")
    parser.add_argument(
        "--least", type=int, default=LEAST, help="reports of a group that has a row of its own"
    )
    parser.add_argument("--write", type=Path, help="page whose table is written anew")
    args = parser.parse_args()
    half = [one for one in reports(args.openi) if aside(one.id) == (args.half == "aside")]
    rows, read_reports = measure(half)
    shown = table(rows, args.least)
    print(shown)
    print(f"\n{read_reports} reports; below {TARGET}: {'; '.join(below(rows)) or 'none'}")
    if args.write:
        page = args.write.read_text(encoding="utf-8")
        begin, end = (
            f"<!-- {args.half}: written by tools/reader_recall.py -->\n",
            f"<!-- end of {args.half} -->\n",
        )
        if begin not in page or end not in page:
            raise SystemExit(f"{args.write} lacks the marks {begin.strip()} and {end.strip()}: put them in")
        missed = "; ".join(below(rows)) or "none"
        body = f"{shown}\n\n{read_reports} reports. Below {TARGET} with {LEAST} or more: {missed}.\n"
        new = re.sub(
            f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: begin + body + end, page, flags=re.DOTALL
        )
        args.write.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
