"""R2Gen's samples of MIMIC-CXR rebuilt from the owners' files, counted, and held against annotation.json.

Nobody has published what wrote that file. Known of it are its numbers (`SAMPLES`) and what its author says of
it in the threads of its repositories: the split is the official one, every film is a sample, studies without
findings were left out (zhjohnchan/R2Gen, issues 1 and 4; cuhksz-nlp/R2Gen, issue 1). The rest is a
reconstruction, and each rule of it a parameter (`R2GenRules`):

- which text counts as findings is not known. Here it is what MIT-LCP's scripts cut, to which the author of
  R2GenGPT, who took over the samples, refers (wang-zhanyu/R2GenGPT, issue 8);
- whether the 54 studies that these scripts treat by number are among them is not known. Here they are left
  out, as they have no row in `mimic_cxr_sectioned.csv`;
- whether a least length was asked for is not known. Here one word will do;
- texts keep their lines, as the scripts give them; in the file they may stand otherwise. R2Gen's cleaning and
  its cut at 99 words make both alike (`ingest.cleaning: r2gen_mimic`, `ingest.max_report_words: 99`). Its
  `<unk>` for words that the training reports have fewer than 10 times is of its model, and not made here;
- samples come by patient, study and dicom_id, not in the file's order.

The file is under the data's agreement, so this was written without it: `check_counts` says in each run
whether the numbers are R2Gen's, and `Comparison` lists what differs, by study, where the file is at hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import Final, Literal

from radrl.data.quarantine import Refusal
from radrl.data.sources.mimic_cxr.reports import read_sections
from radrl.data.study import Record, canonical_split
from radrl.parts.section import PositiveInt, Section
from radrl.reports.cleaning import clean

SAMPLES: Final = {"train": 270_790, "val": 2_130, "test": 3_858}
"""Entries of the file, as its users count them (cuhksz-nlp/R2Gen, issues 1 and 16; DEER, section 4)."""
OFFICIAL_FILMS: Final = {"train": 368_960, "val": 2_991, "test": 5_159}
"""Films of the official split (R2Gen, table 1; 377,110 together)."""


class R2GenRules(Section):
    """What a study needs to be among R2Gen's samples where no annotation names them.

    Args:
        sections: whose findings count: `mit_lcp`, MIT-LCP's scripts; `files`, `reports.read_sections`.
        numbered_studies: `leave_out` or `read` those that MIT-LCP's scripts treat by number.
        min_words: of the findings, separated by white space.
    """

    sections: Literal["mit_lcp", "files"] = "mit_lcp"
    numbered_studies: Literal["leave_out", "read"] = "leave_out"
    min_words: PositiveInt = 1

    def findings(self, study: int, text: str, *, unheaded_findings: bool) -> str | None:
        """The text of a study's samples.

        Args:
            study: its number.
            text: its report as the file holds it.
            unheaded_findings: of `read_sections`, for `sections: files`.

        Returns:
            The findings; nothing where the study is not among the samples.
        """
        if self.numbered_studies == "leave_out" and study in NUMBERED_STUDIES:
            return None
        if self.sections == "mit_lcp":
            found = mit_lcp_findings(text)
        else:
            found = read_sections(text, unheaded_findings=unheaded_findings).findings
        return found if found and len(found.split()) >= self.min_words else None


def check_counts(samples: Mapping[str, int], films: Mapping[str, int]) -> tuple[bool | None, str]:
    """Hold the rebuilt samples against R2Gen's numbers.

    Args:
        samples: rebuilt, by split.
        films: of the official split, by split, as the tables have them.

    Returns:
        Whether they are R2Gen's, nothing where the tables are not whole; and a sentence with the numbers.
    """
    told = numbers(samples)
    if (there := numbers(films)) != (whole := numbers(OFFICIAL_FILMS)):
        return None, f"{told} of {there} films; not checked, since the official split has {whole}"
    same = told == (wanted := numbers(SAMPLES))
    return same, f"{told}, as R2Gen has" if same else f"{told}, where R2Gen has {wanted}"


def numbers(of: Mapping[str, int]) -> str:
    """Of train, val and test, as papers write them.

    Example:
        >>> numbers({"train": 270_790, "test": 3_858})
        '270,790 / 0 / 3,858'
    """
    return " / ".join(f"{of.get(name, 0):,}" for name in SAMPLES)


@dataclass(frozen=True, slots=True)
class Difference:
    """A study that the rebuilt samples and the file have differently.

    Args:
        study_id: the study.
        patient_id: its patient; empty where no table names the study.
        split_rebuilt: its split; empty where it has no sample.
        split_file: as above.
        films_rebuilt: its samples.
        films_file: as above, those of films that a table names.
        films_common: samples of both.
        films_in_no_table: entries of the file whose film no table names.
        same_text: whether the texts are the same words after R2Gen's cleaning; nothing where one is missing.
        words_rebuilt: of the cleaned text.
        words_file: as above.
    """

    study_id: str
    patient_id: str = ""
    split_rebuilt: str = ""
    split_file: str = ""
    films_rebuilt: int = 0
    films_file: int = 0
    films_common: int = 0
    films_in_no_table: int = 0
    same_text: bool | None = None
    words_rebuilt: int = 0
    words_file: int = 0


@dataclass(slots=True)
class Comparison:
    """Rebuilt samples beside those of the file, study by study.

    Args:
        rebuilt: records and refusals of the source without annotation, `split` and `text` r2gen.
        file: the same of the source with it.

    Attributes:
        samples_rebuilt: by split, complete when `differences` has come to its end.
        samples_file: as above.
    """

    rebuilt: Iterable[Record | Refusal]
    file: Iterable[Record | Refusal]
    samples_rebuilt: Counter[str] = field(default_factory=Counter)
    samples_file: Counter[str] = field(default_factory=Counter)

    def differences(self) -> Iterator[Difference]:
        """Yield the studies that differ, by patient and study; last those that no table names."""
        without, unknown = Counter[str](), Counter[str]()
        sides = merge(
            self._films(self.rebuilt, "rebuilt", self.samples_rebuilt, without),
            self._films(self.file, "file", self.samples_file, unknown),
            key=lambda film: film[0],
        )
        for (patient, study), films in groupby(sides, key=lambda film: film[0]):
            own = list(films)
            found = _difference(
                patient,
                study,
                [record for _, side, record in own if side == "rebuilt"],
                [record for _, side, record in own if side == "file"],
            )
            if found is not None:
                yield found
        for study, count in (unknown - without).items():  # less the study list's studies without films
            yield Difference(study, films_in_no_table=count)

    @staticmethod
    def _films(
        told: Iterable[Record | Refusal], side: str, samples: Counter[str], unknown: Counter[str]
    ) -> Iterator[tuple[tuple[str, str], str, Record]]:
        for each in told:
            if isinstance(each, Record):
                samples[_split(each)] += 1
                yield (each.patient_id, each.study_id), side, each
            elif each.reason == "missing_image" and each.image is None:
                unknown[each.study_id] += 1


def _split(record: Record) -> str:
    word = record.split or ""
    return canonical_split(word) or word


def _difference(patient: str, study: str, rebuilt: list[Record], file: list[Record]) -> Difference | None:
    common = {record.image for record in rebuilt} & {record.image for record in file}
    one, other = _words(rebuilt), _words(file)
    split_rebuilt, split_file = _splits(rebuilt), _splits(file)
    if len(common) == len(rebuilt) == len(file) and split_rebuilt == split_file and one == other:
        return None
    return Difference(
        study,
        patient,
        split_rebuilt,
        split_file,
        films_rebuilt=len(rebuilt),
        films_file=len(file),
        films_common=len(common),
        same_text=one == other if rebuilt and file else None,
        words_rebuilt=len(one),
        words_file=len(other),
    )


def _splits(records: list[Record]) -> str:
    return "/".join(sorted(set(map(_split, records))))


def _words(records: list[Record]) -> list[str]:
    return clean(records[0].findings or "", "r2gen_mimic").split() if records else []


_HEADER: Final = re.compile(r"\n ([A-Z ()/,-]+):\s")
_MISSPELT: Final = frozenset(
    ("finding", "findins", "findindgs", "findgings", "findngs", "findnings", "finidngs")
)
_OTHERS: Final = ("history", "comparison", "addendum")
_FILM: Final = re.compile(
    r"chest|portable|ribs|bone window|two views|one view|(?:frontal|pa|ap|lateral) view"
    r"|frontal (?:and|upright|semi-upright)|pa and lat|ap and lateral|lateral and (?:pa|ap)"
)
NUMBERED_STUDIES: Final = frozenset(
    (
        *(50058765, 50196495, 50525523, 50743547, 50798377, 50808053, 50913680, 51410602, 51491012, 51966317),
        *(52035334, 52119491, 52648681, 52674888, 53071062, 53182247, 53202765, 53356173, 53488209, 53514462),
        *(53607029, 54168089, 54231141, 54365831, 54654948, 54875119, 54986978, 55124749, 55157853, 55258338),
        *(56412866, 56451190, 56482935, 56579911, 56724958, 56760320, 57150433, 57564132, 57936451, 58157373),
        *(58235663, 58375018, 59003148, 59067458, 59087630, 59215320, 59279892, 59330497, 59363654, 59505494),
        *(59562049, 59768032, 59889364, 59982525),
    )
)
"""The 54 studies that `custom_mimic_cxr_rules` of section_parser.py lists."""


def mit_lcp_findings(text: str) -> str | None:
    r"""The FINDINGS as MIT-LCP's scripts cut them, which most published samples of MIMIC-CXR go by.

    `txt/section_parser.py` and `txt/create_section_files.py` of github.com/MIT-LCP/mimic-cxr write
    `mimic_cxr_sectioned.csv`. Their rules for this one section, written anew, oddities kept:

    - a header is capitals, blanks and `()/,-` behind a line's one leading blank, up to a colon and white
      space;
    - the line after a header that ends its own line is text, never a header;
    - of several findings the last one that is not empty counts; no paragraph without a header ever does;
    - FINDINGS, seven words like it, and a header that names the film (`CHEST, PA AND LATERAL:`) are findings,
      FINDINGS AND IMPRESSION is an impression;
    - `NUMBERED_STUDIES` have no row in that table: the scripts cut the conclusion out of them by hand.

    Args:
        text: as its file holds it.

    Returns:
        The section without the white space around it, its lines kept; nothing where there is none.

    Example:
        >>> mit_lcp_findings("REPORT\n INDICATION: _\n \n FINDINGS: Clear\n lungs.\n \n IMPRESSION: No.\n")
        'Clear\n lungs.'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found, header = None, _HEADER.search(text)
    while header is not None:
        line_end = text.find("\n", header.end())
        following = _HEADER.search(text, header.end() if line_end < 0 else line_end)
        if _is_findings(header[1].lower().strip()):
            found = text[header.end() : following.start() if following else None].strip() or found
        header = following
    return found


def _is_findings(name: str) -> bool:
    if "impression" in name:
        return False
    if "findings" in name or name in _MISSPELT:
        return True
    return _FILM.search(name) is not None and not any(other in name for other in _OTHERS)
