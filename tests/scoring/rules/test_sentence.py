import pytest

from radrl.scoring.rules.sentence import Phrases, written

TABLE = {"lobe": "lower|upper lobe\nlobe", "zone": "lower lung zone", "side": "left"}
PHRASES = Phrases(written(TABLE))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("left lower lobe", [("side", 0, 1), ("lobe", 1, 3)]),
        ("lower lung zone", [("zone", 0, 3)]),
        ("lobe lobe", [("lobe", 0, 1), ("lobe", 1, 2)]),
        ("lower lung", []),  # a phrase cut off by the end of the sentence
        ("the upper lobe", [("lobe", 1, 3)]),
        ("", []),
    ],
)
def test_the_longest_phrase_at_each_place(text, found):
    assert list(PHRASES.find(text.split())) == found


def test_alternatives_are_written_out_and_folded():
    entries = list(written({"a": "big|large nodes"}, lambda word: word.removesuffix("s")))
    assert entries == [(("big", "node"), "a"), (("large", "node"), "a")]


def test_of_equal_phrases_the_first_stays():
    assert list(Phrases([(("x",), 1), (("x",), 2)]).find(["x"])) == [(1, 0, 1)]
