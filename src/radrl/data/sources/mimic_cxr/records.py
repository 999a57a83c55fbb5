"""How the films that the tables name become records, each study's report read once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Final, Literal

from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources.mimic_cxr.annotation import Annotation
from radrl.data.sources.mimic_cxr.r2gen_split import R2GenRules, check_counts
from radrl.data.sources.mimic_cxr.reports import Reports, Sections, read_sections
from radrl.data.sources.mimic_cxr.tables import Film, Index, study_path
from radrl.data.study import Record, canonical_split, view_table, view_word

Split = Literal["official", "r2gen", "drawn"]
Text = Literal["files", "r2gen"]

_NOT_R2GEN: Final = "no findings by ingest.mimic_cxr.r2gen, so the study is not among R2Gen's samples"
_log = logging.getLogger(__name__)


class _Report:
    """What a study's report says, read where it is first asked for."""

    def __init__(self, reading: Reading, film: Film) -> None:
        self._reading, self._film = reading, film

    @cached_property
    def _text(self) -> str | Refused:
        assert self._reading.reports is not None  # read opens them where a text or the split needs them
        try:
            return self._reading.reports.text(self._film.subject, self._film.study)
        except Refused as refused:
            return refused

    def text(self) -> str:
        """As the file holds it; raises what refuses it."""
        if isinstance(self._text, Refused):
            raise self._text
        return self._text

    @cached_property
    def sections(self) -> Sections:
        return read_sections(self.text(), unheaded_findings=self._reading.unheaded_findings)

    @cached_property
    def r2gen_findings(self) -> str | None:
        unheaded = self._reading.unheaded_findings
        return self._reading.rules.findings(self._film.study, self.text(), unheaded_findings=unheaded)


@dataclass(frozen=True, slots=True)
class Reading:
    """How films become records; the arguments are those of `radrl.data.sources.mimic_cxr.read`.

    Where `split` or `text` is r2gen and there is no `annotation`, both follow from the reports by `rules`.
    """

    image_root: Path
    suffix: str
    split: Split
    text: Text
    reports: Reports | None
    annotation: Annotation | None
    rules: R2GenRules
    unheaded_findings: bool
    views: frozenset[str] | None
    gold: Mapping[int, tuple[int, ...]]
    words: Mapping[str, str] = field(default_factory=view_table)

    def records(self, films: Index) -> Iterator[Record | Refusal]:
        """One film after the other; a report is opened only where a film of its study may need it."""
        official, samples = Counter[str](), Counter[str]()
        for _, study in groupby(films, key=lambda film: (film.subject, film.study)):
            report: _Report | None = None
            for film in study:
                report = report or _Report(self, film)
                official[canonical_split(film.split or "") or ""] += 1
                try:
                    split = self._split(film, report)
                    samples[canonical_split(split or "") or ""] += 1
                    self._check_view(film)
                    yield self._record(film, split, report)
                except Refused as refused:
                    yield self._refusal(film, refused)
        if self._rebuilds_split:
            same, told = check_counts(samples, official)
            _log.log(logging.WARNING if same is False else logging.INFO, "R2Gen's samples rebuilt: %s", told)

    @property
    def _rebuilds_split(self) -> bool:
        return self.split == "r2gen" and self.annotation is None

    def _split(self, film: Film, report: _Report) -> str | None:
        """The split of a film.

        Raises:
            Refused: it is in no split that is asked for, or the tables do not agree about it.
        """
        if film.problem:
            raise film.problem
        annotated = None
        if self.annotation:
            annotated = self.annotation.split(film.packed, film.study, film.subject)
            if self.split == "r2gen" and annotated is None:
                raise Refused("left_out_split", "R2Gen's annotation does not name this film")
        if self.split == "drawn":
            return None
        if self.split == "r2gen" and self.annotation:
            return annotated
        if not film.split:
            raise Refused("unknown_split", "the split table has no row of this film, or an empty cell")
        if self._rebuilds_split and report.r2gen_findings is None:
            raise Refused("left_out_split", _NOT_R2GEN)
        return film.split

    def _check_view(self, film: Film) -> None:
        if self.views is None:
            return
        if film.view is None:
            raise Refused("malformed_row", "the metadata have no row of this film, so its view is unknown")
        if view_word(film.view) not in self.views:
            raise Refused("left_out_view", f"ViewPosition {film.view!r} is not in view_positions")

    def _sections(self, film: Film, report: _Report) -> Sections:
        if self.text == "files":
            return report.sections
        if self.annotation is None:
            return Sections(report.r2gen_findings, None, indication=report.sections.indication)
        return Sections(self.annotation.text(film.packed, film.study, film.subject), impression=None)

    def _record(self, film: Film, split: str | None, report: _Report) -> Record:
        sections = self._sections(film, report)
        return Record(
            key=film.key,
            study_id=f"s{film.study}",
            patient_id=f"p{film.subject}",
            image=self._path(film),
            view=self.words.get(view_word(film.view or ""), "unknown"),
            split=split,
            findings=sections.findings,
            impression=sections.impression,
            gold=self.gold.get(film.study),
            indication=sections.indication,
            taken=film.taken,
        )

    def _refusal(self, film: Film, refused: Refused) -> Refusal:
        image = str(self._path(film).relative_to(self.image_root))
        return Refusal(film.key, refused.reason, refused.detail, f"s{film.study}", image)

    def _path(self, film: Film) -> Path:
        folder = self.image_root / "files" / study_path(film.subject, film.study)
        return folder / f"{film.name}.{self.suffix}"
