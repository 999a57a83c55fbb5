import pytest

from radrl.reports.sections import TARGETS, compose, tidy, word_count

BOTH = {"findings": " Lungs clear. ", "impression": "Normal.", "report": None}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("findings", "Lungs clear."),
        ("impression", "Normal."),
        ("findings_impression", "Lungs clear.\nNormal."),
        ("report", "Lungs clear.\nNormal."),
    ],
)
def test_target_of_a_study_with_sections(target, expected):
    assert compose(target, **BOTH) == expected


def test_whole_text_wins_for_report_alone():
    texts = {**BOTH, "report": "All of it."}
    assert compose("report", **texts) == "All of it."
    assert compose("findings_impression", **texts) == "Lungs clear.\nNormal."


@pytest.mark.parametrize("missing", [None, "", "  \n"])
def test_missing_section_is_left_out_and_not_replaced(missing):
    texts = {"findings": missing, "impression": "Normal.", "report": "All of it."}
    assert compose("findings", **texts) == ""
    assert compose("findings_impression", **texts) == "Normal."


@pytest.mark.parametrize("target", TARGETS)
def test_no_text_gives_no_target(target):
    assert compose(target, findings=None, impression="", report=" ") == ""


def test_unknown_target_names_the_valid_ones():
    with pytest.raises(ValueError, match=r"'history'.*findings_impression"):
        compose("history", **BOTH)


def test_tidy_turns_windows_newlines_into_plain_ones():
    assert tidy("\r\nHeart normal.\r\nLungs clear.\r\n") == "Heart normal.\nLungs clear."


@pytest.mark.parametrize(
    ("text", "count"), [("___ ... 12", 0), ("No acute disease.", 3), ("5 mm nodule", 2), ("Épanchement", 1)]
)
def test_words_are_made_of_letters(text, count):
    assert word_count(text) == count
