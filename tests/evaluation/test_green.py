import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.evaluation import green
from radrl.evaluation.green import INSIGNIFICANT, MATCHED, SIGNIFICANT, GreenAnswerError, GreenCounts

KINDS = [f"({letter}) cat" for letter in "abcdef"]


def answer(significant: str, matched: str, insignificant: str = "None.") -> str:
    return (
        f"[Explanation]:\nBecause.\n\n[{SIGNIFICANT}]:\n{significant}\n\n"
        f"[{INSIGNIFICANT}]:\n{insignificant}\n\n[{MATCHED}]:\n{matched}"
    )


def lines(*counts: int, kinds: list[str] = KINDS) -> str:
    return "\n".join(f"{kind}: {count}. x; y." for kind, count in zip(kinds, counts, strict=True))


def test_the_prompt_is_the_packages():
    # make_prompt("reference", "candidate") of github.com/Stanford-AIMI/GREEN, green_score/utils.py
    digest = hashlib.sha256(green.prompt("reference", "candidate").encode()).hexdigest()
    assert digest == "323d502c2b6233a07a055eecf8a55d157548081f69e507d51bbbe89eaf23a004"


def test_the_prompt_takes_300_words_one_blank_apart():
    prompt = green.prompt("heart {0}\n  normal", "word " * 299 + "last lost")
    assert "2. Reference Report:\n    heart {0} normal\n\n" in prompt
    assert "word last\n\n    4. Reporting" in prompt


def test_counts_and_score_by_hand():
    counts = green.parse(answer(lines(2, 1, 0, 0, 0, 3), "2. Heart size; clear lungs."))
    assert counts == GreenCounts((2, 1, 0, 0, 0, 3), matched=2)
    assert green.score(counts) == 0.25  # 2 / (2 + 6)


def test_nothing_matched_scores_0_and_nothing_wrong_scores_1():
    assert green.score(GreenCounts((0, 0, 0, 0, 0, 0), matched=0)) == 0.0
    assert green.score(GreenCounts((0, 0, 0, 0, 0, 0), matched=3)) == 1.0


@pytest.mark.parametrize("none", ["None.", "No errors.", "No clinically significant errors were found."])
def test_no_errors_in_words(none):
    assert green.parse(answer(none, "1. Heart.")) == GreenCounts((0, 0, 0, 0, 0, 0), matched=1)


@pytest.mark.parametrize("none", ["0.", "None.", "No matched findings.", "No findings are matched."])
def test_no_matched_findings_in_words(none):
    assert green.parse(answer(lines(1, 0, 0, 0, 0, 0), none)).matched == 0


def test_kinds_that_are_not_listed_have_no_errors():
    found = green.parse(answer("(b) Missing: 2. a; b.\n(e) Comparison: 1. c.", "1. d."))
    assert found.errors == (0, 2, 0, 0, 1, 0)


def test_kinds_in_any_order_by_number_in_bullets_or_in_one_line():
    numbered = [f"({n}) cat" for n in range(1, 7)]
    assert green.parse(answer(lines(1, 0, 2, 0, 0, 0, kinds=numbered), "1. a.")).errors == (1, 0, 2, 0, 0, 0)
    assert green.parse(answer("(c) cat: 2. x.\n(a) cat: 1. x.", "1. a.")).errors == (1, 0, 2, 0, 0, 0)
    assert green.parse(answer("- (a) cat: 1. x.\n- (c) cat: 2. x.", "1. a.")).errors == (1, 0, 2, 0, 0, 0)
    assert green.parse(answer("(a) cat: 1. x. (c) cat: 2. x.", "1. a.")).errors == (1, 0, 2, 0, 0, 0)


def test_errors_after_a_blank_line_count():
    assert green.parse(answer("(a) cat: 1. x.\n\n(b) cat: 1. x.", "1. a.")).errors == (1, 1, 0, 0, 0, 0)


def test_a_kind_named_in_an_errors_text_is_no_kind():
    assert green.parse(answer("(a) cat: 1. See (b) below.\n(b) cat: 2. x; y.", "1. a.")).errors[:2] == (1, 2)


@pytest.mark.parametrize("section", [SIGNIFICANT, MATCHED])
def test_an_answer_without_a_section_that_counts_is_refused(section):
    whole = answer(lines(0, 0, 0, 0, 0, 0), "3. a; b; c.")
    assert green.score(green.parse(whole)) == 1.0
    with pytest.raises(GreenAnswerError, match=rf"\[{section}\] is missing"):
        green.parse(whole.replace(f"[{section}]:", ""))


@pytest.mark.parametrize("section", [SIGNIFICANT, INSIGNIFICANT, MATCHED])
def test_an_answer_with_a_section_twice_is_refused(section):
    with pytest.raises(GreenAnswerError, match=rf"\[{section}\] is given twice"):
        green.parse(f"{answer(lines(0, 0, 0, 0, 0, 0), '3. a; b; c.')}\n\n[{section}]:\n0.")


@pytest.mark.parametrize(
    "errors", ["(a) cat: 1. x.", "(a) cat: 1. x.\n\n(b) cat: 0.", lines(1, 0, 0, 0, 0, 0)]
)
def test_insignificant_errors_count_for_nothing_so_their_section_may_be_missing(errors):
    found = green.parse(f"Toy explanation.\n\n[{SIGNIFICANT}]:\n{errors}\n\n[{MATCHED}]:\n3. a; b; c.")
    assert found == green.parse(answer(errors, "3. a; b; c.")) == GreenCounts((1, 0, 0, 0, 0, 0), matched=3)
    assert green.score(found) == 0.75


@pytest.mark.parametrize(
    "heading",
    ["Clinically Insignificant Errors:", "**Clinically insignificant errors**", "[Insignificant Errors]"],
)
def test_insignificant_errors_that_are_not_headed_as_asked_are_not_taken_for_significant_ones(heading):
    errors = f"(a) cat: 1. x.\n\n{heading}\n(b) cat: 2. y; z."
    with pytest.raises(GreenAnswerError, match=rf"\[{INSIGNIFICANT}\] is not headed as asked"):
        green.parse(f"[{SIGNIFICANT}]:\n{errors}\n\n[{MATCHED}]:\n3. a; b; c.")


@pytest.mark.parametrize(
    ("significant", "matched", "message"),
    [
        ("", "2. a; b.", "lists no errors"),
        ("a; b.", "2. a; b.", "lists no errors"),
        ("(a) cat: two.", "2. a; b.", "lists no errors"),
        ("(a) cat: 1. x.\n(b) cat: none.", "2. a; b.", r"not one count of \(b\)"),
        ("(a) cat: 1. x.\n(b) cat: 3.5 cm.", "2. a; b.", r"not one count of \(b\)"),
        ("(a) cat: 1. x.\n(a) cat: 2. y.", "2. a; b.", r"not one count of \(a\)"),
        ("(a) cat.\n(a) cat: 2. y.", "2. a; b.", r"not one count of \(a\)"),
        ("(a) cat.\nAlso (a) cat: 2. y.", "2. a; b.", r"not one count of \(a\)"),
        ("(b) cat: 2. y. Also (a) cat: 2. y, (a) cat: 3.", "2. a; b.", r"not one count of \(a\)"),
        ("No errors but:\n(a) cat.", "2. a; b.", "lists no errors"),
        (lines(0, 0, 0, 0, 0, 0), "", "does not begin with a count"),
        (lines(0, 0, 0, 0, 0, 0), "1", "does not begin with a count"),
        (lines(0, 0, 0, 0, 0, 0), "Heart; lungs.", "does not begin with a count"),
        (lines(0, 0, 0, 0, 0, 0), "Normal heart size.", "does not begin with a count"),
        (lines(0, 0, 0, 0, 0, 0), "No pneumothorax; clear lungs.", "does not begin with a count"),
        (lines(0, 0, 0, 0, 0, 0), "3.5 cm nodule.", "does not begin with a count"),
    ],
)
def test_what_cannot_be_read_is_refused_and_never_0(significant, matched, message):
    with pytest.raises(GreenAnswerError, match=message):
        green.parse(answer(significant, matched))


@given(
    counts=st.lists(st.integers(0, 12), min_size=6, max_size=6),
    matched=st.integers(0, 12),
    cut=st.integers(0, 400),
)
def test_an_answer_cut_off_is_refused_or_has_all_its_counts(counts, matched, cut):
    whole = answer(lines(*counts), f"{matched}. a; b.", lines(9, 9, 9, 9, 9, 9))
    try:
        found = green.parse(whole[:cut])
    except GreenAnswerError:
        return
    assert found == GreenCounts(tuple(counts), matched)


PIECES = ("(a) cat", "(b) cat", "(c) cat", ": 1.", ": 23.", ": none.", ": 2", " x;", " y: 4 cm.")


@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), max_size=4))
def test_an_accepted_list_has_the_packages_counts(listed):
    """The package reads, in each line from its kind on, the first number between ": " and "."."""
    try:
        found = green.parse(answer("\n".join(listed), "1. a."))
    except GreenAnswerError:
        return
    if any(len(re.findall(r"\([abc]\)", line)) > 1 for line in listed):
        return  # several kinds in a line: the package reads the first alone
    for i, letter in enumerate("abc"):
        own = [line.partition(f"({letter}) ")[2] for line in listed if f"({letter}) " in line]
        counts = [int(count[1]) for line in own if (count := re.search(r": (\d+)\.", line))]
        assert found.errors[i] == sum(counts), letter
        assert len(counts) <= 1
        assert all(": " in line for line in listed if line.startswith(f"({letter}) "))


def test_agrees_with_the_vectors():
    path = Path(os.environ.get("RADRL_SHARED", "")) / "vectors" / "green_parsing.json"
    if "RADRL_SHARED" not in os.environ or not path.is_file():
        pytest.skip("no green_parsing.json under RADRL_SHARED")
    cases = json.loads(path.read_text())["cases"]
    assert cases
    for case in cases:
        counts, at = green.parse(case["response"]), case["response"].index(f"[{MATCHED}]")
        assert [*counts.errors, counts.matched] == case["sig_counts_plus_matched"], case["name"]
        assert green.score(counts) == pytest.approx(case["green"], abs=1e-12), case["name"]
        without = case["response"].partition(f"[{INSIGNIFICANT}]")[0] + case["response"][at:]
        assert green.parse(without) == counts, case["name"]
        with pytest.raises(GreenAnswerError, match="missing"):  # the package scores such a half 0 or 1
            green.parse(case["response"].partition(f"[{MATCHED}]")[0])
        with pytest.raises(GreenAnswerError, match="missing"):
            green.parse(case["response"].partition(f"[{INSIGNIFICANT}]")[2])
