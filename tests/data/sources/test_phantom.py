from __future__ import annotations

import hashlib
import pickle
import re
from collections import defaultdict
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest

from radrl.data.phantom.film import Drawing
from radrl.data.phantom.findings import PREVALENCE
from radrl.data.sources.phantom import SPLITS, read
from radrl.data.study import Film, Record
from radrl.observations import INDEX, POSITIVE, UNCERTAIN

SIZE = 32


def drawn(studies: dict[str, int], **options: Any) -> list[Record]:
    return list(read(**{"seed": 0, "studies": studies, "image_size": SIZE, **options}))


def content(records: list[Record], split: str) -> list[tuple[Any, ...]]:
    """Everything of a split's records, pixels as bytes."""
    rows = []
    for record in records:
        if record.split == split:
            rows.append((pixels(record).tobytes(), *astuple(replace(record, image=None))))
    return rows


def pixels(record: Record) -> Film:
    assert isinstance(record.image, Drawing)
    return record.image()


def by_study(records: list[Record]) -> dict[str, Record]:
    return {record.study_id: record for record in records}


@pytest.fixture(scope="module")
def many() -> list[Record]:
    return drawn({"train": 900}, missing_findings=0.1, missing_impression=0.2, lateral_share=0.3)


def test_same_seed_same_records_other_seed_others() -> None:
    first, again, other = (content(drawn({"train": 12}, seed=seed), "train") for seed in (4, 4, 5))
    assert first == again
    assert first != other


def test_default_settings_draw_the_films_and_reports_they_always_drew() -> None:
    """Other callers, tables and pictures in docs count on these bytes."""
    digest = hashlib.md5()
    for record in drawn({"pretrain": 6, "train": 40, "test": 6}):
        told = (record.findings, record.impression, record.gold)
        names = (record.key, record.study_id, record.patient_id, record.view, record.split)
        digest.update(pixels(record).tobytes())
        digest.update(repr((*names, *told)).encode())
    assert digest.hexdigest() == "7fb8d44df11a50cd0db659dffd53204c"


def test_a_split_can_grow_and_nothing_else_changes() -> None:
    small = drawn({"pretrain": 3, "train": 10, "test": 6})
    large = drawn({"pretrain": 7, "train": 13, "test": 6, "val": 2})
    for split in ("pretrain", "train", "test"):
        rows = content(small, split)
        assert rows == content(large, split)[: len(rows)]
    assert content(small, "test") == content(large, "test")


def test_the_asked_number_of_studies_comes_in_order() -> None:
    records = drawn(dict(zip(SPLITS, (3, 5, 2, 4), strict=True)))
    numbers = {split: len({r.study_id for r in records if r.split == split}) for split in SPLITS}
    assert numbers == {"pretrain": 3, "train": 5, "val": 2, "test": 4}
    assert len({record.key for record in records}) == len(records)


def test_patients_keep_to_one_split_and_some_come_again(many: list[Record]) -> None:
    splits = defaultdict(set)
    for record in drawn({"train": 40, "val": 40, "test": 40}):
        splits[record.patient_id].add(record.split)
    assert all(len(seen) == 1 for seen in splits.values())
    studies = defaultdict(set)
    for record in many:
        studies[record.patient_id].add(record.study_id)
    visits = [len(seen) for seen in studies.values()]
    assert sum(visits) == 900
    assert {1, 2, 3} <= set(visits) <= {1, 2, 3, 4}


def test_a_study_has_a_frontal_film_and_at_times_a_lateral(many: list[Record]) -> None:
    views = defaultdict(list)
    for record in many:
        views[record.study_id].append(record)
    assert all([r.view for r in films] in (["frontal"], ["frontal", "lateral"]) for films in views.values())
    assert np.mean([len(films) == 2 for films in views.values()]) == pytest.approx(0.3, abs=0.06)
    for films in views.values():
        assert len({(r.patient_id, r.findings, r.impression, r.gold) for r in films}) == 1


def test_sections_are_missing_at_their_share(many: list[Record]) -> None:
    studies = by_study(many).values()
    assert np.mean([r.findings is None for r in studies]) == pytest.approx(0.1, abs=0.04)
    assert np.mean([r.impression is None for r in studies]) == pytest.approx(0.2, abs=0.055)
    assert all(r.findings or r.impression for r in studies)


def test_images_are_eight_bit_of_the_asked_size(many: list[Record]) -> None:
    for record in many[:20]:
        film = pixels(record)
        assert film.shape == (SIZE, SIZE)
        assert film.dtype == np.uint8


def test_a_film_is_drawn_the_same_each_time_and_in_another_process(many: list[Record]) -> None:
    for record in many[:3]:
        first = pixels(record)
        assert (pixels(record) == first).all()
        assert (pickle.loads(pickle.dumps(record.image))() == first).all()


def test_no_slot_is_left_in_any_text(many: list[Record]) -> None:
    texts = [text for r in many for text in (r.findings, r.impression) if text]
    assert all(re.fullmatch(r"[A-Za-z0-9 ,._\n-]+", text) for text in texts)
    assert not any("None" in text for text in texts)


def test_vocabulary_is_moderate(many: list[Record]) -> None:
    words = {word for r in many for word in re.findall(r"[a-z]+", f"{r.findings} {r.impression}".lower())}
    assert 150 < len(words) < 350


def test_prevalence_can_be_scaled_and_set() -> None:
    def share(records: list[Record], label: str) -> float:
        rows = [r.gold[INDEX[label]] for r in by_study(records).values() if r.gold]
        return float(np.mean(np.isin(rows, (POSITIVE, UNCERTAIN))))

    whole: dict[str, Any] = {"missing_findings": 0.0, "missing_impression": 0.0}
    assert share(drawn({"train": 300}, prevalence=0.1, **whole), "Pleural Effusion") < 0.06
    often = drawn({"train": 300}, prevalence={"Fracture": 0.6}, **whole)
    assert share(often, "Fracture") == pytest.approx(0.6, abs=0.12)
    assert share(often, "Pleural Effusion") == pytest.approx(0.23, abs=0.1)


@pytest.mark.parametrize("prevalence", [{"Fracture": 0.4, "Pleural Other": 0.02, "Edema": 0.7}, 0.5])
def test_shares_are_as_asked_and_the_rest_as_usual(prevalence: Any) -> None:
    studies = 1200
    whole: dict[str, Any] = {"missing_findings": 0.0, "missing_impression": 0.0, "lateral_share": 0.0}
    gold = np.array([record.gold for record in drawn({"train": studies}, prevalence=prevalence, **whole)])
    for label, usual in PREVALENCE.items():
        asked = prevalence.get(label, usual) if isinstance(prevalence, dict) else prevalence * usual
        # a patient's studies are alike, so that they count for less than as many apart
        five_errors = 5 * np.sqrt(asked * (1 - asked) / studies)
        found = np.mean(np.isin(gold[:, INDEX[label]], (POSITIVE, UNCERTAIN)))
        assert found == pytest.approx(asked, abs=five_errors), label


def test_severity_and_length_reach_the_reports() -> None:
    def told(**options: Any) -> list[str]:
        return [r.findings or "" for r in drawn({"train": 80}, hedge_share=0.0, **options)]

    grave, mild = (" ".join(told(severity=pair)).lower() for pair in ([20.0, 1.0], [1.0, 20.0]))
    assert len(re.findall(r"\b(severe|large)\b", grave)) > 10 * len(re.findall(r"\b(severe|large)\b", mild))
    short, long = (np.mean([len(text.split()) for text in told(words=pair)]) for pair in ([1, 2], [60, 61]))
    assert short + 10 < long


def test_no_hedges_at_share_zero() -> None:
    assert not any(UNCERTAIN in (r.gold or ()) for r in drawn({"train": 100}, hedge_share=0.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"studies": {"dev": 1}}, "no such split: dev; splits are pretrain, train, val, test"),
        ({"studies": {"train": -1}}, "at least 0"),
        ({"seed": -1}, "at least 0"),
        ({"prevalence": {"Scoliosis": 0.1}}, "no prevalence can be set for Scoliosis"),
        ({"prevalence": 9.0}, "prevalence of Cardiomegaly must lie between 0 and 1"),
        ({"hedge_share": 0.5}, r"hedge_share must lie in \[0, 0.3192\] with severity \[1.2, 1.8\], got 0.5"),
        ({"severity": (5.0, 2.0)}, r"hedge_share must lie in \[0, 0.0476\] with severity \[5.0, 2.0\]"),
        ({"severity": (0.0, 2.0)}, "severity must be the two parameters of a Beta distribution"),
        ({"words": (9, 9)}, r"words must be \[low, high\] with 1 <= low < high, got \[9, 9\]"),
        ({"lateral_share": 1.5}, "lateral_share must lie in"),
        ({"missing_findings": 0.6, "missing_impression": 0.6}, "must not exceed 1"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(read(**{"seed": 0, "studies": {"train": 1}, **options}))
