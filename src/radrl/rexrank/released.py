"""Reports that other systems released, put beside one's own references of the same studies.

Two forms are read, of released reports and of references alike: a table with a study a row (as the authors of
CXRMate-2 release theirs, aehrc/cxrmate-2, `generated_reports`: `findings`, `impression`, `study_id`), and
ReXrank's JSON (`model_prediction`, `section_findings`, `section_impression`). References may also be the
corpus of the stage ingest. Studies meet by `study_key`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from radrl.data.records import BadRow, Record, format_of, kind_of, open_records
from radrl.data.tables import SourceError
from radrl.labelers import says_nothing
from radrl.parts.choices import near
from radrl.reports.sections import Target, compose
from radrl.rexrank.form import PREDICTION, FormError, absent, entries, listed

COLUMNS: Final[Mapping[str, str]] = {
    "study": "study_id",
    "findings": "findings",
    "impression": "impression",
    "report": "report",
    "patient": "patient_id",
}
"""What is read of a table, and the column that is read for it unless another one is named."""

CORPUS: Final = Path("data/02_intermediate/corpus")
"""Where the stage ingest writes its shards."""

_NOTHING: Final = ("/", "None", "None.")
"""What stands for a section that a report lacks: CXRMate-2's "/", and ReXrank's "None"."""
_NEEDED: Final[Mapping[Target, tuple[str, ...]]] = {
    "findings": ("findings",),
    "impression": ("impression",),
}
_MIMIC: Final = re.compile(r"(?:(?:p\d\d/)?p\d{8}[/_])?s?(\d{8})")
_IU_XRAY: Final = re.compile(r"(cxr\d+)_im-[\d-]+")
_HEADINGS: Final = re.compile(r"\b(?:findings|impression):", re.IGNORECASE)
_HEADED: Final = re.compile(
    r"(?:.*?\bfindings:)?(?P<findings>.*?)(?:\bimpression:(?P<impression>.*))?", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Report:
    """A study's report, of a system or a person.

    Args:
        study: as the file names it.
        place: where the file has it, for messages.
        text: the sections that are compared; empty where it has none of them.
        label_text: what labelers read of it.
        patient: whose it is, where that is known.
        whole: whether it was to be parted at headings, has none, and stands as it is.
    """

    study: str
    place: str
    text: str
    label_text: str
    patient: str | None = None
    whole: bool = False


OfEntry = Callable[[str, Mapping[str, Any], Target], Report]
"""From an entry's key, the entry of ReXrank's JSON and the sections that are compared to the report."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Released reports beside references.

    Args:
        pairs: a reference and the system's report, in the references' order.
        without: references without the sections that are compared.
        unreported: references that the system has no report of.
        elsewhere: released reports of studies that the references have not.
    """

    pairs: list[tuple[Report, Report]]
    without: list[Report]
    unreported: list[Report]
    elsewhere: list[Report]


def study_key(name: str) -> str:
    """A study's name without what files spell differently.

    Args:
        name: of the study.

    Example:
        >>> study_key("50414267") == study_key("s50414267") == study_key("p10000032_s50414267")
        True
        >>> study_key("patient64541/study1") == study_key("patient64541_study1")
        True
        >>> study_key("CXR3030_IM-1405") == study_key("CXR3030")
        True
        >>> study_key("1.23") == study_key("12.3")
        False
    """
    name = name.strip().lower()
    if found := _MIMIC.fullmatch(name):
        return f"s{found[1]}"
    if found := _IU_XRAY.fullmatch(name):
        return found[1]
    return re.sub(r"[^0-9a-z]+", "/", name)


def chosen_columns(given: Iterable[str]) -> dict[str, str]:
    """Columns as the command line names them.

    Args:
        given: such as ``"report=generated"``.

    Returns:
        By key of `COLUMNS`, those that are named.

    Raises:
        FormError: for another form, another key, or a key that is named twice.
    """
    found: dict[str, str] = {}
    for one in given:
        key, equals, column = one.partition("=")
        if not equals or not column:
            raise FormError(f"{one!r} is no KEY=COLUMN, such as report=generated")
        if key not in COLUMNS:
            raise FormError(f"{key!r} is no key{near(key, COLUMNS)} Keys: {', '.join(COLUMNS)}")
        if key in found:
            raise FormError(f"{key} is named twice, {found[key]!r} and {column!r}")
        found[key] = column
    return found


def released(path: Path, target: Target, columns: Mapping[str, str]) -> dict[str, Report]:
    """The reports that a system wrote.

    Args:
        path: ReXrank's JSON, or a table (CSV, TSV, JSON lines, Parquet).
        target: the sections that are compared.
        columns: of `chosen_columns`; a JSON file has no use for them.

    Returns:
        By `study_key`, in the file's order.

    Raises:
        FormError: the file is of neither form, lacks a column, or names a study twice; says file and row.
    """
    return _once(path, _read(path, target, columns, _predicted))


def references(path: Path, target: Target, columns: Mapping[str, str]) -> dict[str, Report]:
    """The references of a file.

    Args:
        path: as `released` takes it; of ReXrank's JSON the reference's sections are read.
        target: the sections that are compared.
        columns: of `chosen_columns`.

    Returns:
        By `study_key`, in the file's order, with patients where every reference has one.

    Raises:
        FormError: as `released`.
    """
    return _once(path, _read(path, target, columns, _referred))


def of_corpus(folder: Path, split: str) -> list[Report]:
    """The references that the arms are scored on, a film or study each as ingest has its samples.

    Args:
        folder: of the shards.
        split: whose.

    Raises:
        FormError: there is no corpus, or two of its studies have one `study_key`.
        ValueError: a shard is damaged, or the split is empty.
    """
    from radrl.data import corpus

    if not (shards := sorted(folder.glob("*.arrow"))):
        raise FormError(f"{folder} has no corpus: run `radrl repro ingest`, or give a file of references")
    for shard in shards:
        corpus.check(shard)
    named = ["study_id", "report", "label_text", "patient_id"]
    frame = corpus.read(corpus.opened(folder), split=split, columns=named)
    found = [
        Report(study, f"study {study!r}", text, label_text, patient)
        for study, text, label_text, patient in zip(*(frame[name].tolist() for name in named), strict=True)
    ]
    names: dict[str, str] = {}
    for one in found:
        if names.setdefault(study_key(one.study), one.study) != one.study:
            raise FormError(
                f"the corpus has studies {names[study_key(one.study)]!r} and {one.study!r}, which cannot be "
                "told apart in other systems' files; give a file of references"
            )
    return found


def join(found: Mapping[str, Report], beside: Iterable[Report]) -> Joined:
    """Put released reports beside references.

    Args:
        found: of `released`.
        beside: references; several may be of one study, each then stands beside the study's report.

    Raises:
        FormError: no study has both.
    """
    pairs, without, unreported, met = [], [], [], set()
    for reference in beside:
        key = study_key(reference.study)
        met.add(key)
        if says_nothing(reference.text):
            without.append(reference)
        elif key in found:
            pairs.append((reference, found[key]))
        else:
            unreported.append(reference)
    if not pairs:
        theirs = next(iter(found.values())).study
        own = next((f"{one.study!r}" for one in [*unreported, *without]), "none")
        raise FormError(
            f"no study has both a released report (of {theirs!r} and others) and a reference (of {own} and "
            "others) with the sections that are compared: are both of one data set and one split?"
        )
    return Joined(pairs, without, unreported, [one for key, one in found.items() if key not in met])


def headed(report: str, target: Target) -> str | None:
    """The sections of a report in which they stand behind their headings.

    Args:
        report: such as ``Findings: ... Impression: ...``, either of which may be missing. What stands before
            "Findings:" is none of them; without that heading the findings are what stands before
            "Impression:".
        target: the sections.

    Returns:
        The sections, or nothing where there is no heading.

    Example:
        >>> headed("Findings:Clear lungs.Impression:None", "findings_impression")
        'Clear lungs.'
        >>> headed("Clear lungs.", "findings") is None
        True
    """
    if not _HEADINGS.search(report):
        return None
    parts = _HEADED.fullmatch(report)
    assert parts is not None  # every text matches
    sections = {name: _present(text) for name, text in parts.groupdict().items()}
    return compose(target, findings=sections["findings"], impression=sections["impression"], report=None)


def _once(path: Path, reports: Iterable[Report]) -> dict[str, Report]:
    found: dict[str, Report] = {}
    twice = []
    for one in reports:
        first = found.setdefault(study_key(one.study), one)
        if first is not one:
            names = f"{one.study!r}" + (f" (there as {first.study!r})" if one.study != first.study else "")
            twice.append(f"{one.place}: study {names} stands in {first.place} already")
    if twice:
        raise FormError(listed(f"{path.name}: a study has one report; take the others out:", twice))
    if not found:
        raise FormError(f"{path.name} has no report; is it the right file?")
    return found


def _read(path: Path, target: Target, columns: Mapping[str, str], of_entry: OfEntry) -> Iterator[Report]:
    if path.suffix.lower() != ".json":
        yield from _table(path, target, columns)
        return
    if columns:
        raise FormError(
            f"{path.name} is ReXrank's JSON, which has no column {next(iter(columns.values()))!r}"
        )
    for key, entry in entries(path).items():
        if not isinstance(entry, dict):
            raise FormError(f"{path.name}, study {key!r}: its entry is {kind_of(entry)}, not an object")
        try:
            yield of_entry(key, entry, target)
        except FormError as error:
            raise FormError(f"{path.name}, study {key!r}: {error}") from None


def _predicted(key: str, entry: Mapping[str, Any], target: Target) -> Report:
    if not isinstance(entry.get(PREDICTION), str):
        raise FormError(f"no text under {PREDICTION!r}; give a file that a system has filled in")
    return _parted(key, f"study {key!r}", entry[PREDICTION], target)


def _referred(key: str, entry: Mapping[str, Any], target: Target) -> Report:
    findings, impression = (_text(entry, f"section_{name}") for name in ("findings", "impression"))
    text = compose(target, findings=findings, impression=impression, report=_text(entry, "report"))
    return Report(key, f"study {key!r}", text, text, _name(entry.get("subject_id")))


def _parted(study: str, place: str, report: str, target: Target, patient: str | None = None) -> Report:
    """A report as it stands, or of one with headings the sections."""
    sections = None if target == "report" else headed(report, target)
    text = compose("report", findings=None, impression=None, report=report) if sections is None else sections
    whole = sections is None and target != "report" and bool(text)
    return Report(study, place, text, text, patient, whole)


def _table(path: Path, target: Target, columns: Mapping[str, str]) -> Iterator[Report]:
    format = format_of(path)
    if not path.is_file():
        raise FormError(f"{path} is no file; give the file of reports")
    if format is None:
        raise FormError(f"{path.name}: give ReXrank's .json, or a table as .csv, .tsv, .jsonl or .parquet")
    try:
        for row in open_records(path, format).rows():
            if isinstance(row, BadRow):
                raise FormError(f"{path.name} {row}; mend the row, or take it out")
            try:
                yield _of_row(row, target, columns)
            except FormError as error:
                raise FormError(f"{path.name} {BadRow(row.number, row.line, str(error))}") from None
    except SourceError as error:
        raise FormError(str(error)) from None


def _of_row(row: Record, target: Target, columns: Mapping[str, str]) -> Report:
    values, names = row.values, {**COLUMNS, **columns}
    asked = list(dict.fromkeys(["study", *columns]))
    for key in asked:
        if names[key] not in values:
            raise FormError(f"no column {names[key]!r} ({key}); there are {', '.join(values)}")
    study = _name(values[names["study"]])
    if study is None:
        raise FormError(f"{names['study']!r} is empty; give the study's id, or take the row out")
    place, patient = f"row {row.number}", _name(values.get(names["patient"]))
    needed = _NEEDED.get(target, ("findings", "impression"))
    parted = all(names[key] in values for key in needed)
    whole = names["report"] in values
    if whole and (target == "report" or "report" in columns or not parted):
        return _parted(study, place, _text(values, names["report"]) or "", target, patient)
    if not parted:
        lacking = " and ".join(repr(names[key]) for key in needed if names[key] not in values)
        raise FormError(
            f"no column {lacking}, nor {names['report']!r}; there are {', '.join(values)}: say which holds "
            f"the text, such as {needed[0]}=COLUMN or report=COLUMN"
        )
    findings, impression = (
        _text(values, names[key]) if names[key] in values else None for key in ("findings", "impression")
    )
    text = compose(target, findings=findings, impression=impression, report=None)
    return Report(study, place, text, text, patient)


def _text(values: Mapping[str, Any], name: str) -> str | None:
    value = values.get(name)
    if absent(value):
        return None
    if not isinstance(value, str):
        raise FormError(f"{name!r} is {kind_of(value)}, not text; mend it, or take the row out")
    return _present(value)


def _present(text: str | None) -> str | None:
    return None if text is None or text.strip() in _NOTHING else text.strip()


def _name(value: Any) -> str | None:
    """A study's or patient's name; tables hold some as numbers."""
    if absent(value):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise FormError(f"{value!r} is {kind_of(value)}, not a name or a whole number")
    return str(value).strip()
