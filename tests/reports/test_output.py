"""What of an output is its report."""

import pytest

from radrl.reports.output import report_of


def test_by_hand():
    output = "<think>Large heart.</think> <report> Cardiomegaly. </report>"
    assert report_of(output, "think_report") == "Cardiomegaly."
    assert report_of(output, "plain") == output
    assert report_of("Cardiomegaly.", "think_report") == ""


def test_unknown_form_is_refused():
    with pytest.raises(ValueError, match="unknown form 'json' of output; valid: plain, think_report"):
        report_of("", "json")
