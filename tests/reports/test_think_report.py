import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.reports.output import CREDITS, FAULTS, compose, format_credit, parse, report_text

PERFECT = "<think>The heart is large.</think>\n<report>Cardiomegaly.</report>"
CASES = {
    PERFECT: (1.0, "Cardiomegaly.", ()),
    f"\n {PERFECT} \n": (1.0, "Cardiomegaly.", ()),
    f"Sure! {PERFECT}": (0.75, "Cardiomegaly.", ("text_outside",)),
    f"{PERFECT} Done": (0.75, "Cardiomegaly.", ("text_outside",)),
    "<think>a</think> so <report>b</report>": (0.75, "b", ("text_outside",)),
    "<think> ... </think><report>b</report>": (0.5, "b", ("empty_think",)),
    "<think>a <report>b</report>": (0.5, "b", ("unclosed_think",)),
    "<think>a</think><report>b and": (0.5, "b and", ("unclosed_report",)),
    "<think>a <report>b and": (0.25, "b and", ("unclosed_think", "unclosed_report")),
    "<report>b</report>": (0.25, "b", ("no_think",)),
    "Hm. <report>b</report>": (0.1875, "b", ("text_outside", "no_think")),
    "<report>b": (0.125, "b", ("unclosed_report", "no_think")),
    "<report>b</report><think>a</think>": (0.25, "b", ("wrong_order",)),
    "<think>a</think><report> </report>": (0.0, "", ("no_report",)),
    "<think>a</think><report>...</report>": (0.0, "...", ("no_report",)),
    "<think>a</think>": (0.0, "", ("no_report", "malformed")),
    "": (0.0, "", ("no_report", "malformed")),
    "Cardiomegaly.": (0.0, "", ("text_outside", "no_report", "malformed")),
    "<think>a</think><report>b</report><report>c</report>": (0.0, "b", ("malformed",)),
    "<think>a<report>draft</report></think><report>b</report>": (0.0, "b", ("malformed",)),
    "<think>a<report>b</report></think>": (0.0, "b", ("malformed",)),
    "<THINK>a</THINK><report>b</report>": (0.1875, "b", ("text_outside", "no_think")),
    "<think>a</think><report>b</report></report>": (0.0, "b", ("malformed",)),
}

PIECES = st.sampled_from(
    ["<think>", "</think>", "<report>", "</report>", "<", "report>", " ", "\n", "a", "b c", "..."]
)
OUTPUTS = st.lists(PIECES, max_size=12).map("".join) | st.text()
WORDS = st.text("abc .\n", min_size=1).filter(lambda text: any(c in text for c in "abc"))


@pytest.mark.parametrize("output", CASES)
def test_credit_report_and_faults_by_hand(output):
    credit, report, faults = CASES[output]
    found = parse(output)
    assert (format_credit(output), found.report, found.faults) == (credit, report, faults)


def test_white_space_before_the_report_is_not_part_of_it():
    output = "<think>a</think><report> \n b </report>"
    assert output.index("b") == parse(output).report_start
    assert parse("<think>a</think>").report_start == len("<think>a</think>")


def test_think_is_taken_out_too():
    assert parse(PERFECT).think == "The heart is large."
    assert parse("<report>b</report>").think == ""


@given(OUTPUTS)
def test_credit_lies_in_0_1_and_is_1_only_for_the_perfect_form(output):
    found = parse(output)
    credit = format_credit(output)
    assert 0 <= credit <= 1
    assert (credit == 1) == (not found.faults)
    if credit == 1:
        assert "".join(output.split()) == "".join(compose(found.think, found.report).split())


@given(OUTPUTS)
def test_the_report_stands_where_it_is_said_to(output):
    found = parse(output)
    assert output[found.report_start :].startswith(found.report)
    assert found.report == found.report.strip() == report_text(output)
    assert not any(tag in found.report for tag in ("<report>", "</report>", "<think>", "</think>"))


@given(OUTPUTS)
def test_what_earns_credit_has_a_report(output):
    assert format_credit(output) == 0 or any(c.isalpha() for c in report_text(output))


@given(WORDS, WORDS)
def test_what_is_composed_is_perfect_and_comes_back(think, report):
    output = compose(think, report)
    found = parse(output)
    assert format_credit(output) == 1
    assert (found.think, found.report) == (think.strip(), report.strip())


@given(WORDS, WORDS, st.data())
def test_every_cut_of_a_perfect_output_earns_less(think, report, data):
    output = compose(think, report)
    cut = output[: data.draw(st.integers(0, len(output) - 1))]
    assert format_credit(cut) < 1


def test_mending_any_fault_pays():
    assert format_credit("Hm. <report>b") < format_credit("<report>b") < format_credit("<report>b</report>")


def test_credits_are_a_parameter():
    strict = dict.fromkeys(FAULTS, 0.0)
    assert format_credit(PERFECT, strict) == 1
    assert format_credit(f"Sure! {PERFECT}", strict) == 0
    assert set(CREDITS) == set(FAULTS)


def test_refuses_credits_that_could_reach_1_or_lack_a_fault():
    with pytest.raises(ValueError, match=r"give each of text_outside, .* a number in \[0, 1\)"):
        format_credit(PERFECT, {**CREDITS, "no_think": 1.0})
    with pytest.raises(ValueError, match="give each of"):
        format_credit(PERFECT, {"no_think": 0.5})


def test_compose_refuses_tags_and_emptiness():
    with pytest.raises(ValueError, match="malformed"):
        compose("a</think><think>", "b")
    with pytest.raises(ValueError, match="no_report"):
        compose("a", "...")
    with pytest.raises(ValueError, match="empty_think"):
        compose(" ", "b")
