"""GREEN: the prompt, what an answer counts, and the score.

GREEN (Ostmeier et al. 2024, Findings of EMNLP, arXiv:2405.03595) asks a language model to compare a report
with its reference. Prompt, chat and counts are those of the authors' package (github.com/Stanford-AIMI/GREEN,
``make_prompt``, ``parse_error_counts``, ``compute_green``), because the published model was tuned on them.

Departures, all in what counts as an answer:

- The package reads 0 wherever it finds nothing, so an answer cut off before its errors scores 1. Here an
  answer without significant errors or matched findings, with a section twice, or with a line that has no
  readable count is refused. Insignificant errors count for nothing, so their section may be missing; but one
  that is not headed as asked, which would be read as significant errors, is refused too.
- A section ends at the next section's heading; in the package it ends at the first blank line, and errors
  listed after one are lost.
- Findings that begin with "No" ("Normal heart size") are no answer "none": they need their count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

ERRORS: Final[tuple[str, ...]] = (
    "false_finding",
    "missing_finding",
    "wrong_location",
    "wrong_severity",
    "false_comparison",
    "missing_comparison",
)
"""The kinds of clinically significant errors, (a) to (f) of the prompt."""

MAX_WORDS: Final = 300
"""Words of a report that the prompt takes; the package cuts there as well."""

CHAT_TEMPLATE: Final = (
    "{% for message in messages %}{{ '<|user|>\n' + message['content'] + eos_token + '\n' }}{% endfor %}"
    "{{ '<|assistant|>\n' + eos_token + '\n<|assistant|>\n' + eos_token }}"
)
"""The published model's chat as the package feeds it: an empty answer precedes the one that is asked for,
and an end of sequence closes the prompt (``add_eos_token``). A beginning of sequence goes before it. A server
of the model needs both too (vLLM: ``--chat-template``, and ``add_special_tokens`` in each request)."""

SIGNIFICANT: Final = "Clinically Significant Errors"
INSIGNIFICANT: Final = "Clinically Insignificant Errors"
MATCHED: Final = "Matched Findings"

_HEADING: Final = re.compile(rf"\[({SIGNIFICANT}|{INSIGNIFICANT}|{MATCHED})\]:")
_UNHEADED: Final = re.compile(r"^\W*(?:clinically\s+)?insignificant errors", re.IGNORECASE | re.MULTILINE)
_NONE: Final = re.compile(r"No(?:ne)?\b")
_NONE_MATCHED: Final = re.compile(r"None\b|No\b[^;.\n]*\b(?:match|finding)")
_MATCHED_COUNT: Final = re.compile(r"(\d+)\.(?!\d)")
_COUNT: Final = r"\) .*?: (\d+)\.(?!\d)"


class GreenAnswerError(ValueError):
    """An answer is no complete GREEN assessment; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class GreenCounts:
    """What a judge counted in one pair of reports.

    Args:
        errors: clinically significant errors of each kind, in the order of `ERRORS`.
        matched: findings that both reports have.
    """

    errors: tuple[int, int, int, int, int, int]
    matched: int


def prompt(reference: str, hypothesis: str) -> str:
    """The question to the judge, to the letter that of the package.

    Args:
        reference: the reference report.
        hypothesis: the generated report. Of either the first `MAX_WORDS` words are taken, one blank apart.

    Returns:
        The prompt, without the chat's frame.
    """
    reference, hypothesis = (" ".join(text.split()[:MAX_WORDS]) for text in (reference, hypothesis))
    return f"""\
Objective: Evaluate the accuracy of a candidate radiology report in comparison to a reference radiology \
report composed by expert radiologists.

    Process Overview: You will be presented with:

    1. The criteria for making a judgment.
    2. The reference radiology report.
    3. The candidate radiology report.
    4. The desired format for your assessment.

    1. Criteria for Judgment:

    For each candidate report, determine:

    The count of clinically significant errors.
    The count of clinically insignificant errors.

    Errors can fall into one of these categories:

    a) False report of a finding in the candidate.
    b) Missing a finding present in the reference.
    c) Misidentification of a finding's anatomic location/position.
    d) Misassessment of the severity of a finding.
    e) Mentioning a comparison that isn't in the reference.
    f) Omitting a comparison detailing a change from a prior study.
    Note: Concentrate on the clinical findings rather than the report's writing style. Evaluate only the \
findings that appear in both reports.

    2. Reference Report:
    {reference}

    3. Candidate Report:
    {hypothesis}

    4. Reporting Your Assessment:

    Follow this specific format for your output, even if no errors are found:
    ```
    [Explanation]:
    <Explanation>

    [{SIGNIFICANT}]:
    (a) <Error Type>: <The number of errors>. <Error 1>; <Error 2>; ...; <Error n>
    ....
    (f) <Error Type>: <The number of errors>. <Error 1>; <Error 2>; ...; <Error n>

    [{INSIGNIFICANT}]:
    (a) <Error Type>: <The number of errors>. <Error 1>; <Error 2>; ...; <Error n>
    ....
    (f) <Error Type>: <The number of errors>. <Error 1>; <Error 2>; ...; <Error n>

    [{MATCHED}]:
    <The number of matched findings>. <Finding 1>; <Finding 2>; ...; <Finding n>
    ```
"""


def parse(answer: str) -> GreenCounts:
    r"""Read the counts out of a judge's answer.

    Whether the answer was cut off within its last section cannot be seen in the text; who generated it knows.

    Args:
        answer: what the judge wrote, without the prompt.

    Returns:
        The counts; a kind of error that the answer does not list has none.

    Raises:
        GreenAnswerError: saying which section is missing, given twice or unreadable.

    Example:
        >>> parse("[Clinically Significant Errors]:\n(b) Missing a finding: 1. Effusion.\n\n"
        ...       "[Clinically Insignificant Errors]:\nNone.\n\n[Matched Findings]:\n2. Heart; lungs.")
        GreenCounts(errors=(0, 1, 0, 0, 0, 0), matched=2)
    """
    sections = _sections(answer)
    return GreenCounts(_errors(sections[SIGNIFICANT]), _matched(sections[MATCHED]))


def score(counts: GreenCounts) -> float:
    """GREEN of one report: matched / (matched + significant errors).

    Args:
        counts: of one pair of reports.

    Returns:
        GREEN, in [0, 1]; 0 where nothing matched.

    Example:
        >>> score(GreenCounts((2, 1, 0, 0, 0, 0), matched=1))
        0.25
    """
    return counts.matched / (counts.matched + sum(counts.errors)) if counts.matched else 0.0


def _sections(answer: str) -> dict[str, str]:
    _, *parts = _HEADING.split(answer)
    names = parts[::2]
    for name in (SIGNIFICANT, INSIGNIFICANT, MATCHED):
        if names.count(name) > 1:
            raise GreenAnswerError(f"section [{name}] is given twice")
        if name not in names and name != INSIGNIFICANT:
            raise GreenAnswerError(f"section [{name}] is missing")
    sections = dict(zip(names, (body.strip() for body in parts[1::2]), strict=True))
    if _UNHEADED.search(sections[SIGNIFICANT]):
        raise GreenAnswerError(f"section [{INSIGNIFICANT}] is not headed as asked")
    return sections


def _errors(body: str) -> tuple[int, int, int, int, int, int]:
    letters = "abcdef" if re.search(r"\([a-f]\) ", body) else "123456"  # GPT-4 numbers the kinds
    listed = {
        found.start(1): found[1] for found in re.finditer(rf"^\W*\(([{letters}])\) ", body, re.MULTILINE)
    }
    counted = {found.start(1): found for found in re.finditer(rf"\(([{letters}]){_COUNT}", body)}
    if _NONE.match(body) and not listed:
        return (0, 0, 0, 0, 0, 0)
    if not counted:
        raise GreenAnswerError(f"section [{SIGNIFICANT}] lists no errors and does not say that it has none")
    kinds = [found[1] for found in counted.values()]
    bad = [kind for at, kind in listed.items() if at not in counted]
    if bad := bad + [kind for kind in kinds if kinds.count(kind) > 1]:
        raise GreenAnswerError(f"section [{SIGNIFICANT}] has not one count of ({bad[0]})")
    counts = {found[1]: int(found[2]) for found in counted.values()}
    a, b, c, d, e, f = (counts.get(letter, 0) for letter in letters)
    return a, b, c, d, e, f


def _matched(body: str) -> int:
    if count := _MATCHED_COUNT.match(body):
        return int(count[1])
    if _NONE_MATCHED.match(body):
        return 0
    raise GreenAnswerError(f"section [{MATCHED}] does not begin with a count")
