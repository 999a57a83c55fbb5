import pytest

from radrl.labelers.rules.phrases import Phrases, entries, spelled

TABLE = {"lobe": "lower|upper lobe\nlobe", "zone": "lower lung zone", "side": "left"}
PHRASES = Phrases(entries(TABLE.items()))


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
    assert PHRASES.find(text.split()) == found


def test_alternatives_are_written_out_and_folded():
    found = list(entries([("a", "big|large nodes"), ("b", "")], lambda word: word.removesuffix("s")))
    assert found == [(("big", "node"), "a"), (("large", "node"), "a")]


def test_phrases_are_spelled_in_every_way():
    assert [*map(" ".join, spelled("big? heart|cardiac size\n\nedema"))] == [
        "big heart size",
        "big cardiac size",
        "heart size",
        "cardiac size",
        "edema",
    ]


def test_of_equal_phrases_the_first_stays():
    assert Phrases([(("x",), 1), (("x",), 2)]).find(["x"]) == [(1, 0, 1)]
