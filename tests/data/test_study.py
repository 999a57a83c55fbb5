import pytest

from radrl.data.study import VIEW_WORDS, VIEWS, view_table, view_word


@pytest.mark.parametrize(
    ("word", "view"),
    [
        ("PA", "frontal"),
        ("AP", "frontal"),
        ("AP Supine", "frontal"),
        ("ap-supine", "frontal"),
        ("Frontal", "frontal"),
        ("L", "lateral"),
        ("Lateral", "lateral"),
        ("LL", "lateral"),
    ],
)
def test_common_words(word, view):
    assert view_table()[view_word(word)] == view


@pytest.mark.parametrize("word", ["", "?", "oblique", "left lateral decubitus"])
def test_words_that_are_neither_are_not_listed(word):
    assert view_word(word) not in view_table()


def test_own_words_win_over_the_default_ones():
    words = view_table({"Thorax_PA": "frontal", "L": "unknown"})
    assert words["thorax pa"] == "frontal"
    assert words["l"] == "unknown"
    assert VIEW_WORDS["l"] == "lateral"


def test_default_words_are_normalised_and_lead_to_views():
    assert all(view_word(word) == word and view in VIEWS for word, view in VIEW_WORDS.items())


def test_word_that_leads_to_no_view_is_refused():
    with pytest.raises(ValueError, match=r"'PA' leads to 'front'.*frontal, lateral"):
        view_table({"PA": "front"})
