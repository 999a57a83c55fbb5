"""A policy's outputs: the report in them, which alone is scored; reasoning and report in blocks (MRG-R1).

Outputs of the form `think_report` are <think>...</think><report>...</report>. The paper names what is judged
(tags present, in order, balanced, not empty) and gives 1 for full compliance, partial credit for minor
violations and 0 otherwise, without the credits. This is the table:

| fault | credit |
|---|---|
| none | 1 |
| text outside the two blocks | 0.75 |
| nothing inside <think> | 0.5 |
| </think> missing | 0.5 |
| </report> missing at the end, as where an output was cut off | 0.5 |
| no <think> block | 0.25 |
| the blocks in the wrong order | 0.25 |
| no <report>, nothing inside it, or tags in any other way unbalanced, repeated or nested | 0 |

Credits of several faults are multiplied, so that mending any of them pays. Tags are lower-case and without
blanks; white space around the blocks is no fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from radrl.reports.sections import word_count

Fault = Literal[
    "text_outside",
    "empty_think",
    "unclosed_think",
    "unclosed_report",
    "no_think",
    "wrong_order",
    "no_report",
    "malformed",
]
FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)

CREDITS: Final[Mapping[Fault, float]] = MappingProxyType(
    {
        "text_outside": 0.75,
        "empty_think": 0.5,
        "unclosed_think": 0.5,
        "unclosed_report": 0.5,
        "no_think": 0.25,
        "wrong_order": 0.25,
        "no_report": 0.0,
        "malformed": 0.0,
    }
)
"""The credit that each fault leaves."""

_TAG: Final = re.compile(r"</?(?:think|report)>")

# Sequences of tags that can be read without guessing, and the fault each of them is.
_FORMS: Final[Mapping[tuple[str, ...], tuple[Fault, ...]]] = {
    ("<think>", "</think>", "<report>", "</report>"): (),
    ("<think>", "</think>", "<report>"): ("unclosed_report",),
    ("<think>", "<report>", "</report>"): ("unclosed_think",),
    ("<think>", "<report>"): ("unclosed_think", "unclosed_report"),
    ("<report>", "</report>"): ("no_think",),
    ("<report>",): ("no_think", "unclosed_report"),
    ("<report>", "</report>", "<think>", "</think>"): ("wrong_order",),
}


@dataclass(frozen=True, slots=True)
class ThinkReport:
    """An output taken apart.

    Args:
        think: the text inside <think>, stripped; empty where there is none.
        report: the text inside <report>, stripped; empty where there is none.
        report_start: where `report` begins in the output, in characters: what is found in the report lies so
            much further on in the output.
        faults: what is wrong with the form, in the order of `FAULTS`, each once.
    """

    think: str
    report: str
    report_start: int
    faults: tuple[Fault, ...]


def write(think: str, report: str) -> str:
    """Reasoning and report as one output without a fault.

    Example:
        >>> write("Large heart.", "Cardiomegaly.")
        '<think>Large heart.</think><report>Cardiomegaly.</report>'
    """
    return f"<think>{think}</think><report>{report}</report>"


def parse(output: str) -> ThinkReport:
    """Take an output apart; every string has an answer.

    A block runs to the next tag of any kind or to the end. Where there are several, the first <report> after
    the last </think> is the report, or the first one where none comes after it.

    Args:
        output: what a policy wrote.

    Returns:
        Its parts and its faults.

    Example:
        >>> parse("<think>Large heart.</think> <report>Cardiomegaly.</report>").report
        'Cardiomegaly.'
    """
    found = list(_TAG.finditer(output))
    tags = tuple(tag[0] for tag in found)
    ends = [*(tag.start() for tag in found), len(output)][1:]
    blocks = [(tag.end(), end) for tag, end in zip(found, ends, strict=True)]  # what follows each tag
    think, _ = _stripped(output, blocks, _first(tags, "<think>"))
    report, start = _stripped(output, blocks, _report_tag(tags))
    outside = [output[: found[0].start()] if found else output]
    outside += [output[a:b] for tag, (a, b) in zip(tags, blocks, strict=True) if tag.startswith("</")]
    faults = set(_FORMS.get(tags, ("malformed",)))
    if not word_count(report):
        faults.add("no_report")
    if "<think>" in tags and not word_count(think):
        faults.add("empty_think")
    if any(text.strip() for text in outside):
        faults.add("text_outside")
    return ThinkReport(think, report, start, tuple(fault for fault in FAULTS if fault in faults))


def report_text(output: str) -> str:
    """The text inside <report>, which alone is scored: in rewards and at evaluation.

    Args:
        output: what a policy wrote.

    Returns:
        The report, stripped; empty where there is none, which scores as an empty report.
    """
    return parse(output).report


def format_credit(output: str, credits: Mapping[Fault, float] = CREDITS) -> float:
    """The format reward of one output (MRG-R1, section on rewards).

    Args:
        output: what a policy wrote.
        credits: what each fault leaves, for every fault a number in [0, 1).

    Returns:
        1 for the perfect form and only for it, else the product of its faults' credits, in [0, 1).

    Raises:
        ValueError: when the credits lack a fault, or one lies outside [0, 1).
    """
    if set(credits) != set(FAULTS) or not all(0 <= credit < 1 for credit in credits.values()):
        raise ValueError(f"credits are {dict(credits)}; give each of {', '.join(FAULTS)} a number in [0, 1)")
    total = 1.0
    for fault in parse(output).faults:
        total *= credits[fault]
    return total


def compose(think: str, report: str) -> str:
    """Write an output of the perfect form.

    Args:
        think: the reasoning, with at least one word and no tag.
        report: the report, with at least one word and no tag.

    Returns:
        The output; `parse` gives back both texts without white space at their ends.

    Raises:
        ValueError: when a text has no word, or holds one of the four tags.
    """
    output = f"<think>{think.strip()}</think>\n<report>{report.strip()}</report>"
    if faults := parse(output).faults:
        raise ValueError(f"these texts cannot be written in the form: {', '.join(faults)}")
    return output


def _first(tags: tuple[str, ...], tag: str, start: int = 0) -> int | None:
    return next((i for i in range(start, len(tags)) if tags[i] == tag), None)


def _report_tag(tags: tuple[str, ...]) -> int | None:
    thought = max((i for i, tag in enumerate(tags) if tag == "</think>"), default=0)
    after = _first(tags, "<report>", thought)
    return _first(tags, "<report>") if after is None else after


def _stripped(output: str, blocks: list[tuple[int, int]], tag: int | None) -> tuple[str, int]:
    """A block's text without white space at its ends, and where it begins."""
    if tag is None:
        return "", len(output)
    start, end = blocks[tag]
    text = output[start:end]
    return text.strip(), start + len(text) - len(text.lstrip())


Form = Literal["plain", "think_report"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
"""The output is the report; or reasoning and report, each in a block of its own (MRG-R1)."""


def report_of(output: str, form: str) -> str:
    """The report in an output.

    Args:
        output: what a policy wrote.
        form: one of `FORMS`, an arm's `output` in params.yaml.

    Returns:
        The report; of reasoning and report the text inside <report>, empty where there is none.

    Raises:
        ValueError: when the form is unknown.

    Example:
        >>> report_of("<think>Large heart.</think><report>Cardiomegaly.</report>", "think_report")
        'Cardiomegaly.'
    """
    if form not in FORMS:
        raise ValueError(f"unknown form {form!r} of output; valid: {', '.join(FORMS)}")
    return report_text(output) if form == "think_report" else output
