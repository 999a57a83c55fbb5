from __future__ import annotations

import hashlib
import pickle
import re
from collections import defaultdict
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radrl.data.phantom.film import Drawing
from radrl.data.phantom.findings import PREVALENCE
from radrl.data.sources.phantom import read
from radrl.data.study import SPLITS, Film, Record
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
    records = drawn(dict(zip(SPLITS, (3, 5, 2, 4, 3), strict=True)))
    numbers = {split: len({r.study_id for r in records if r.split == split}) for split in SPLITS}
    assert numbers == {"pretrain": 3, "train": 5, "val": 2, "test": 4, "away": 3}
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


POOL: dict[str, Any] = {"near_copies": 0.25, "normal_share": 0.15, "lateral_share": 0.2}
OPTIONS: list[dict[str, Any]] = [POOL, POOL | {"words": (60, 100), "boilerplate": "more"}]


@pytest.fixture(scope="module", params=OPTIONS, ids=["usual", "more"])
def pool(request: pytest.FixtureRequest) -> list[Record]:
    return drawn({"train": 400}, **request.param)


def case_key(record: Record) -> tuple[Any, ...]:
    assert isinstance(record.image, Drawing)
    state = record.image.rng.bit_generator.state["state"]["state"]
    return record.view, record.image.case.anatomy.seed, state


def pairs(records: list[Record]) -> list[tuple[Record, Record]]:
    """Near copies, each with its original: both are drawn from one state of one generator."""
    known = {case_key(record): record for record in records if "-c" not in record.patient_id}
    return [(record, known[case_key(record)]) for record in records if "-c" in record.patient_id]


def test_neutral_pools_draw_what_was_drawn_before() -> None:
    said = {"near_copies": 0.0, "normal_share": 0.0, "boilerplate": "usual"}
    assert content(drawn({"train": 30}, **said), "train") == content(drawn({"train": 30}), "train")


def test_a_near_copy_has_the_findings_of_another_film_and_another_patient(pool: list[Record]) -> None:
    found = pairs(pool)
    assert len(found) > 50
    for copy, original in found:
        assert isinstance(copy.image, Drawing)
        assert isinstance(original.image, Drawing)
        assert copy.image.case == original.image.case
        assert copy.gold == original.gold
        assert copy.patient_id != original.patient_id
        assert copy.study_id > original.study_id


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0, 1).flatmap(lambda near: st.tuples(st.just(near), st.floats(0, 1 - near))),
    st.sampled_from(["usual", "more"]),
)
def test_any_pool_has_copies_of_earlier_studies_that_state_the_same(
    seed: int, shares: tuple[float, float], boilerplate: str
) -> None:
    near, normal = shares
    if near + normal > 1:  # by rounding
        normal = 0.0
    own: dict[str, Any] = {"near_copies": near, "normal_share": normal, "boilerplate": boilerplate}
    records = drawn({"train": 12}, seed=seed, lateral_share=0.0, **own)
    found = pairs(records)  # finds the original of each
    assert all(one.gold == other.gold and one.study_id > other.study_id for one, other in found)
    assert len({copy.patient_id for copy, _ in found}) == len(found)
    assert len({record.study_id for record in records}) == 12
    if normal == 1 - near and near < 1:
        originals = [record for record in records if "-c" not in record.patient_id]
        bare = [one for one in originals if isinstance(one.image, Drawing) and not one.image.case.findings]
        assert len(originals) - len(bare) <= 1  # the first study, which can be no copy, is drawn as ever


def test_a_near_copy_is_the_film_slightly_shifted_with_another_grain(pool: list[Record]) -> None:
    def likeness(one: Record, other: Record) -> float:
        return float(np.corrcoef(pixels(one).ravel(), pixels(other).ravel())[0, 1])

    found = pairs(pool)[:40]
    assert all((pixels(copy) != pixels(original)).any() for copy, original in found)
    assert min(likeness(*pair) for pair in found) > 0.9
    apart = [likeness(one[1], other[1]) for one, other in zip(found[1:], found, strict=False)]
    assert np.median([likeness(*pair) for pair in found]) > 0.97 > np.median(apart)


def test_reports_of_near_copies_are_the_same_or_lightly_reworded(pool: list[Record]) -> None:
    told = [(copy.findings, original.findings) for copy, original in pairs(pool) if copy.findings]
    same = [one == other for one, other in told]
    assert 0.3 < np.mean(same) < 0.85  # of half the reports some have no stock sentence to replace
    for one, other in told:
        assert other is not None
        kept = set(re.findall(r"[^.]+\.", one)) & set(re.findall(r"[^.]+\.", other))
        assert kept or one.count(".") <= 2


def test_near_copies_and_normal_films_come_at_their_share() -> None:
    studies = 1500
    own: dict[str, Any] = {"lateral_share": 0.0, "missing_findings": 0.0, "missing_impression": 0.0}
    plain, records = drawn({"train": studies}, **own), drawn({"train": studies}, **own | POOL | own)
    copied = np.array(["-c" in record.patient_id for record in records])
    error = np.sqrt(0.25 * 0.75 / studies)
    assert copied.mean() == pytest.approx(0.25, abs=5 * error)
    bare = [
        np.mean([not record.image.case.findings for record in of if isinstance(record.image, Drawing)])
        for of in (plain, records)
    ]
    # copies are of normal studies and of others alike, and those that are normal anyway come on top
    share = 0.15 / 0.75
    assert bare[1] == pytest.approx(share + (1 - share) * bare[0], abs=0.06)


def test_other_splits_have_neither_copies_nor_forced_normals() -> None:
    studies = {"pretrain": 12, "val": 12, "test": 12}
    own: dict[str, Any] = {"near_copies": 0.6, "normal_share": 0.4}
    plain, records = drawn(studies), drawn(studies | {"train": 3}, **own)
    for split in studies:
        assert content(records, split) == content(plain, split)


def test_a_pool_can_grow_and_nothing_else_changes() -> None:
    small, large = (content(drawn({"train": count}, **POOL), "train") for count in (20, 45))
    assert small == large[: len(small)]


def test_the_first_study_is_no_copy_even_where_all_are() -> None:
    records = drawn({"train": 6}, near_copies=1.0, lateral_share=0.0)
    assert ["-c" in record.patient_id for record in records] == [False, *[True] * 5]
    assert len({case_key(record) for record in records}) == 1


def test_the_other_stock_makes_long_reports_of_the_same_gold() -> None:
    own: dict[str, Any] = {"missing_findings": 0.0, "missing_impression": 0.0, "lateral_share": 0.0}
    usual, more = (
        by_study(drawn({"test": 150}, words=(80, 120), boilerplate=kind, **own)) for kind in ("usual", "more")
    )
    length = [[len((record.findings or "").split()) for record in of.values()] for of in (usual, more)]
    assert min(length[1]) >= 80
    assert np.median(length[0]) < np.median(length[1])
    for study, record in more.items():
        other = usual[study].gold
        assert record.gold is not None
        assert other is not None
        assert np.array_equal(record.gold[:-1], other[:-1])
        assert record.gold[-1] >= other[-1]  # no stock sentence of the longer store withholds No Finding


@pytest.mark.parametrize("own", [{"near_copies": 0.7, "normal_share": 0.4}, {"near_copies": -0.1}])
def test_shares_of_a_pool_that_cannot_be_are_refused(own: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="near_copies and normal_share must be shares of the training"):
        drawn({"train": 1}, **own)


def test_exposure_darkens_and_contrast_flattens_the_same_films() -> None:
    usual, dark, flat = (
        np.stack([pixels(record) for record in drawn({"test": 12}, noise=0.0, **own)]).astype(float)
        for own in ({}, {"exposure": 0.1}, {"contrast": 0.6})
    )
    assert (dark <= usual).all()
    assert dark.mean() < usual.mean() - 10
    assert flat.std() < 0.9 * usual.std()


def test_wording_changes_the_reports_alone() -> None:
    usual, short = (drawn({"test": 12}, wording=wording) for wording in ("usual", "telegraphic"))
    for one, other in zip(usual, short, strict=True):
        assert (one.key, one.gold) == (other.key, other.gold)
        assert (pixels(one) == pixels(other)).all()
    assert [one.findings for one in usual] != [one.findings for one in short]
