"""What of a policy's output is its report, which alone is scored: in rewards and at evaluation."""

from __future__ import annotations

from typing import Final, Literal, get_args

from radrl.reports.think_report import report_text

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
