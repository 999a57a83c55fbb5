"""Names of studies and films, and the texts of sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.data.sources.iu_xray.study import film_id, section, study_id


@pytest.mark.parametrize(
    ("name", "film"),
    [
        ("1_IM-0001-4001.dcm.png", "CXR1 IM-0001-4001"),
        ("CXR1_1_IM-0001-3001", "CXR1 IM-0001-3001"),
        ("CXR1_1_IM-0001-3001.png", "CXR1 IM-0001-3001"),
        ("12/12_IM-0715-1001-0001.dcm", "CXR12 IM-0715-1001-0001"),
        ("CXR2384_IM-0942/0.png", "CXR2384 IM-0942/0"),
        ("CXR1_1_IM-0001/1.png", "CXR1 IM-0001/1"),
        ("images/CXR2084_IM-0715-2001-0002.PNG", "CXR2084 IM-0715-2001-0002"),
        ("0.png", None),
        ("thumbs.png", None),
        ("../1_IM-0001-4001.png/x", None),
    ],
)
def test_one_film_has_one_id_in_every_copy(name, film):
    assert film_id(name) == film


@pytest.mark.parametrize(
    ("text", "study"), [("CXR12", "CXR12"), (" 12 ", "CXR12"), ("x", None), ("", None), ("12.0", None)]
)
def test_study_ids(text, study):
    assert study_id(text) == study


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("Normal chest x-XXXX.", "Normal chest."),
        ("There is XXXX increased opacity.", "There is increased opacity."),
        ("XXXX XXXX XXXX. Results were faxed. .", "Results were faxed."),
        ("Notified at XXXXPM XXXX/XXXX and accepted.", "Notified at and accepted."),
        ("XXXX-year-old male, XXXX.", "male."),
        ("A (XXXX XXXX) line (XXXX 3).", "A line (3)."),
        ("XXXX.", None),
        ("Chest 1 2.5 cm.", "Chest 1 2.5 cm."),
    ],
)
def test_removed_words_are_dropped_with_what_they_leave(text, tidy):
    assert section(text, xxxx="drop") == tidy
    assert section(text, xxxx="keep") == text


@pytest.mark.parametrize("nothing", [None, "", "  ", "nan", "none", "NULL"])
def test_words_for_nothing_are_nothing(nothing):
    assert section(nothing, xxxx="keep") is None


def test_entities_that_were_escaped_twice_are_read():
    assert section("[&lt;Normal.&gt;] Heart &amp; lungs", xxxx="keep") == "[<Normal.>] Heart & lungs"


@given(st.text(alphabet="abX .,;-/\n", max_size=60))
def test_dropping_leaves_no_removed_word_and_is_done_once(text):
    once = section(text, xxxx="drop")
    assert once is None or "XXXX" not in once
    assert section(once, xxxx="drop") == once
