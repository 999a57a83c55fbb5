"""What the laptop policy is pretrained on."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from radrl.reports.output import parse
from radrl.training.supervised.pretraining import asked_and_answered, films_of, negative


def _pixels(film: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(film)))


def test_a_negative_is_bright_where_the_film_is_dark(films: Callable[..., list[bytes]]) -> None:
    (film,) = films(1)
    assert (_pixels(negative(film)).astype(int) + _pixels(film) == 255).all()
    assert (_pixels(negative(negative(film))) == _pixels(film)).all()


def test_a_drawn_share_of_the_studies_keeps_its_films(films: Callable[..., list[bytes]]) -> None:
    studies = [(film, film) for film in films(20)]
    shown = films_of(studies, radiographs=0.3, seed=3)
    kept = [list(own) == seen for own, seen in zip(studies, shown, strict=True)]
    assert sum(kept) == 6
    for own, seen, same in zip(studies, shown, kept, strict=True):
        assert same or seen == [negative(film) for film in own]
    assert films_of(studies, radiographs=0.3, seed=3) == shown
    assert films_of(studies, radiographs=0.3, seed=4) != shown
    assert films_of(studies, radiographs=1.0, seed=3) == [list(own) for own in studies]


def test_share_of_the_texts_has_reasoning_and_report(small: dict[str, Any]) -> None:
    frame = pd.DataFrame(
        {
            "report": [f"Report {i}." for i in range(40)],
            "impression": [None if i % 4 == 0 else f"Thought {i}." for i in range(40)],
        }
    )
    lessons = asked_and_answered(frame, small["prompts"], {"share": 0.5, "obeyed": 0.4}, seed=1)
    asked = lessons["prompt"] == small["prompts"]["think_report"]
    formed = lessons["text"] != frame["report"]
    assert (asked.sum(), formed.sum()) == (20, 8)
    assert asked[formed].all()
    for i in lessons.index[formed]:
        parsed = parse(lessons["text"][i])
        assert (parsed.think, parsed.report, parsed.faults) == (f"Thought {i}.", f"Report {i}.", ())
    again = asked_and_answered(frame, small["prompts"], {"share": 0.5, "obeyed": 0.4}, seed=1)
    pd.testing.assert_frame_equal(lessons, again)
    none = asked_and_answered(frame, small["prompts"], {"share": 0.0, "obeyed": 0.4}, seed=1)
    assert none["text"].tolist() == frame["report"].tolist()


def test_of_reports_without_impressions_none_is_asked_for_its_reasoning(small: dict[str, Any]) -> None:
    frame = pd.DataFrame({"report": ["Report 0.", "Report 1."], "impression": [None, None]})
    lessons = asked_and_answered(frame, small["prompts"], {"share": 1.0, "obeyed": 1.0}, seed=1)
    assert lessons["text"].tolist() == frame["report"].tolist()
    assert set(lessons["prompt"]) == {small["prompts"]["plain"]}
