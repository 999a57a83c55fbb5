"""Instructions with places, filled and refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.reports.prompts import MISSING, PLACES, fill, longest, places, require_places


def test_places_are_filled_by_hand() -> None:
    template = "For: {indication|none given}. Age: {age|unknown}. Before: {prior:3|no film}. Write."
    known = {"indication": " Chest\n pain ", "age": 61, "prior": "Small left effusion is seen."}
    assert fill(template, known) == "For: Chest pain. Age: 61. Before: Small left effusion. Write."
    assert fill(template, {}) == "For: none given. Age: unknown. Before: no film. Write."
    assert fill(template, {"indication": "  ", "age": 0, "prior": None}) == (
        "For: none given. Age: 0. Before: no film. Write."
    )
    assert fill("{prior}", {}) == MISSING
    assert fill("{prior|}", {}) == ""


def test_a_text_without_a_place_stays_as_it_is() -> None:
    assert fill("Write the findings of this chest X-ray.", {"age": 3}) == (
        "Write the findings of this chest X-ray."
    )
    assert fill("As {{json}}, {age}", {"age": 3}) == "As {json}, 3"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{priors}", r"there is no place \{priors\}; did you mean 'prior'\? Places: indication, age, prior"),
        ("{sex}", r"there is no place \{sex\}\. Places: indication, age, prior"),
        ("Age {age", r"'\{' belongs to no place; places are written \{name\}"),
        ("a } b", r"'\}' belongs to no place"),
        ("{prior:0}", "belongs to no place"),
        ("{prior.x}", "belongs to no place"),
    ],
)
def test_what_is_no_place_is_refused(template: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        places(template)
    with pytest.raises(ValueError, match=message):
        fill(template, {})


def test_a_patients_text_holds_no_mark_of_a_tokenizer_and_no_place() -> None:
    prior = "Nodule <|image_pad|> <start_of_image> < 5 mm {age}"
    assert fill("{prior}", {"prior": prior, "age": 3}) == (
        "Nodule < |image_pad|> < start_of_image> < 5 mm {age}"
    )


@given(st.dictionaries(st.sampled_from(PLACES), st.text(max_size=40)), st.integers(1, 5))
def test_no_text_is_longer_than_its_place(known: dict[str, str], words: int) -> None:
    for name in PLACES:
        text = fill(f"{{{name}:{words}|}}", known).replace("< ", "<")
        assert len(text.split()) <= words


def test_the_longest_is_counted_by_place() -> None:
    assert longest("Age {age}, {indication:2}, {prior:3}.") == (
        "Age 100, opacity opacity, opacity opacity opacity."
    )
    assert longest("Write.") == "Write."
    assert len(longest("{prior}").split()) == 100


def test_what_a_prompt_would_not_use_is_refused() -> None:
    require_places("{prior} {age}", ["age"])
    with pytest.raises(ValueError, match=r"no place \{indication\} \(it has prior, age\)"):
        require_places("{prior} {age}", ["age", "indication"])
    with pytest.raises(ValueError, match=r"\(it has none\), so age would not be read"):
        require_places("Write.", ["age"])
