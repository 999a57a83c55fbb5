"""The second hospital's style: the same sentences in telegraphic wording, with abbreviations.

What a sentence states stays as it is. Rules are applied one after another, in their order, to each sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from radrl.data.phantom.report import Report, Sentence

Wording = Literal["usual", "telegraphic"]
"""How a hospital words its reports: in whole sentences, or in short ones with abbreviations."""
Rule = tuple[re.Pattern[str], str]

_STOCK: Final[dict[str, str]] = {
    "The osseous structures are intact.": "Bones intact.",
    "Visualized osseous structures are unremarkable.": "Bones WNL.",
    "No acute osseous abnormality is seen.": "No acute bony abnl.",
    "The visualized upper abdomen is unremarkable.": "Upper abd WNL.",
    "There is no free air below the right hemidiaphragm.": "No free air under R hemidiaphragm.",
    "No free air is seen under the diaphragm.": "No free air.",
    "The patient is slightly rotated.": "Pt rotated.",
    "Mild degenerative changes are seen in the thoracic spine.": "Mild degenerative changes T-spine.",
    "No prior studies are available for comparison.": "No priors.",
    "There are no prior radiographs for comparison.": "No comparison.",
    "Comparison is made to the prior study.": "Compared to prior.",
    "In comparison with the study of ___, there is little change.": "Since ___, little change.",
    "As compared to the previous radiograph, there is no relevant change.": "Since prior, no change.",
    "No acute cardiopulmonary process.": "No acute CP process.",
    "No acute cardiopulmonary abnormality.": "No acute CP abnl.",
    "No acute intrathoracic process.": "NAD.",
    "No acute findings in the chest.": "Neg chest.",
    "Heart size and mediastinal contours are normal.": "Heart and mediastinum WNL.",
    "The heart and mediastinal contours are within normal limits.": "Heart, mediastinum WNL.",
    "The heart and mediastinum are unremarkable.": "Heart and mediastinum WNL.",
    "Both lungs are clear and well expanded.": "Lungs clear, well expanded.",
    "The lungs are well expanded and clear.": "Lungs clear, well expanded.",
}
"""Stock sentences that have one of their own there."""


def _rules(*given: tuple[str, str]) -> tuple[Rule, ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), put) for pattern, put in given)


_REWORDED: Final = _rules(
    (r"^there (?:is|are) no evidence of ", "neg for "),
    (r"^no evidence of ", "no e/o "),
    (r"^(.*) cannot be excluded\.$", r"cannot r/o \1."),
    (r"^there (?:is|are) possible ", "poss "),
    (r"^there (?:is|are) a possible ", "poss "),
    (r"^there (?:is|are|may be) (?:an? )?(?=.*\bmay be\b)", ""),
    (r"^there may be (?:an? )?", "poss "),
    (r"^there (?:is|are) (?:an? )?", ""),
    (r" (?:is|are) (?:seen|noted|present|identified)(?=[. ])", ""),
    (r"^(.*) (?:is|are) possible\.$", r"poss \1."),
    (r" (?:is|are) (?:unremarkable|normal in size|normal|within normal limits)\.$", " WNL."),
    (r"^findings (.*) are (?:consistent|compatible) with (.*)\.$", r"\1 c/w \2."),
    (r"^findings are (?:consistent|compatible) with ", "c/w "),
    (r"(?:is|are) (?:consistent|compatible) with", "c/w"),
    (r"(?:consistent|compatible) with", "c/w"),
    (r"\bstatus post\b", "s/p"),
    (r"^patient is ", ""),
    (r" (?:is|are) (?=(?:(?:mild|moderate|severe)ly |widened|enlarged|low|clear|intact|in |midline))", " "),
    (r" was obtained| were obtained", ""),
    (r"^(?:the|an?) |\b(?:the|an?) (?=\S)", ""),
)
_ABBREVIATED: Final = _rules(
    *(
        (rf"\b{side} {lobe}( lung)? lobe\b", f"{side[0]}{lobe[0]}L".upper())
        for side in ("right", "left")
        for lobe in ("upper", "middle", "lower")
    ),
    (r"\b(mild|moderate|severe) cardiomegaly", r"\1 CM"),
    (r"\bpneumothorax", "PTX"),
    (r"\bpneumonia", "PNA"),
    (r"\batelectasis", "atx"),
    (r"\bpleural effusion", "eff"),
    (r"\bconsolidation", "consol"),
    (r"\bpulmonary edema", "pulm edema"),
    (r"\bfracture", "fx"),
    (r"\bendotracheal tube", "ETT"),
    (r"\bnasogastric tube", "NGT"),
    (r"\binternal jugular", "IJ"),
    (r"\bcentral venous catheter", "CVC"),
    (r"\bcostophrenic", "CP"),
    (r"\bsuperior vena cava", "SVC"),
    (r"\bbilateral(?:ly)?\b", "b/l"),
    (r"\bwith\b", "w/"),
    (r"\bmoderate\b", "mod"),
    (r"\bright\b", "R"),
    (r"\bleft\b", "L"),
)


def telegraphic(report: Report) -> Report:
    """Word a report as the second hospital does.

    Args:
        report: as `radrl.data.phantom.wording.write_report` has it.

    Returns:
        One that states the same, sentence by sentence.
    """
    return Report(_worded(report.findings), _worded(report.impression))


def _worded(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    return tuple(replace(one, text=_text(one.text)) for one in sentences)


def _text(text: str) -> str:
    if text in _STOCK:
        return _STOCK[text]
    if text[1:2].islower():  # not "PA view"
        text = text[0].lower() + text[1:]
    for pattern, put in (*_REWORDED, *_ABBREVIATED):
        text = pattern.sub(put, text)
    return text[0].upper() + text[1:]
