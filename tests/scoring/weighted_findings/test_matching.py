"""Two reports' findings compared: values by hand, and what must hold of any findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.scoring.weighted_findings import Finding, matching
from radrl.scoring.weighted_findings.entities import SIGNS, entities
from radrl.scoring.weighted_findings.matching import Comparison, compare
from radrl.scoring.weighted_findings.tables import UNKNOWN, Context, concepts, default

F = Finding
LEFT, RIGHT, BOTH = frozenset({"left"}), frozenset({"right"}), frozenset({"left", "right"})
EFFUSION = F("pleural_effusion", sides=LEFT, severity=1)
NORMAL = F("pneumothorax", present=False)


def of(reference: Sequence[Finding], hypothesis: Sequence[Finding], **kwargs: Any) -> Comparison:
    return compare(reference, hypothesis, default(), **kwargs)


def score(reference: Sequence[Finding], hypothesis: Sequence[Finding], **kwargs: Any) -> float:
    return of(reference, hypothesis, **kwargs).score


# reference, hypothesis, cost C and total W, with urgent 1, actionable 0.5, not actionable 0.2, expected 0.05
BY_HAND = [
    ([NORMAL], [NORMAL], 0.0, 0.0),
    # missed, false; what the hypothesis denies is missed once
    ([EFFUSION], [NORMAL], 0.5, 0.5),
    ([EFFUSION], [F("pleural_effusion", present=False)], 0.5, 0.5),
    ([NORMAL], [F("pneumothorax")], 1.0, 1.0),
    ([NORMAL], [F("tension_pneumothorax")], 2.0, 2.0),
    ([NORMAL], [F("granuloma")], 0.05, 0.05),
    # a hedge half; what has resolved is not there
    ([NORMAL], [F("pneumothorax", certainty="hedged")], 0.5, 0.5),
    ([F("pneumothorax", change="resolved")], [NORMAL], 0.0, 0.0),
    # side 0.75 of 0.5; one that does not say it a quarter of that
    ([EFFUSION], [replace(EFFUSION, sides=RIGHT)], 0.375, 1.0),
    ([EFFUSION], [replace(EFFUSION, sides=frozenset())], 0.09375, 1.0),
    # severity 0.6 over three steps: small for moderate a third; small for large, which is urgent, two thirds
    ([EFFUSION], [replace(EFFUSION, severity=2)], 0.1, 1.0),
    ([EFFUSION], [replace(EFFUSION, severity=3)], 0.4, 1.5),
    # region 0.3
    (
        [F("pneumonia", regions=frozenset({"upper_lobe"}))],
        [F("pneumonia", regions=frozenset({"base"}))],
        0.15,
        1.0,
    ),
    (
        [F("pneumonia", regions=frozenset({"lower_lobe"}))],
        [F("pneumonia", regions=frozenset({"base"}))],
        0.0,
        1.0,
    ),
    # size 0.4: 8 and 16 mm are as wrong as can be
    ([F("nodule", size_mm=8)], [F("nodule", size_mm=16)], 0.2, 1.0),
    ([F("nodule", size_mm=8)], [F("nodule", size_mm=9)], 0.0, 1.0),
    # change 0.4: worse for better all of it, unchanged for better half, unchanged for nothing none
    ([replace(EFFUSION, change="increased")], [replace(EFFUSION, change="decreased")], 0.2, 1.0),
    ([replace(EFFUSION, change="unchanged")], [replace(EFFUSION, change="decreased")], 0.1, 1.0),
    ([replace(EFFUSION, change="unchanged")], [EFFUSION], 0.0, 1.0),
    # certainty 0.2 of the heavier of 0.5 and 0.25
    ([EFFUSION], [replace(EFFUSION, certainty="hedged")], 0.1, 0.75),
    # tip 0.75 of the heavier: a tube in a bronchus is urgent
    (
        [F("endotracheal_tube", tip="right_main_bronchus")],
        [F("endotracheal_tube", tip="carina", tip_mm=40)],
        0.75,
        1.2,
    ),
    # likeness 0.8 of consolidation and pneumonia: 0.2 of both weights
    ([F("consolidation")], [F("pneumonia")], 0.2, 1.0),
    # no kin: missed and false
    ([F("rib_fracture")], [F("pneumonia")], 1.0, 1.0),
    # both sides: each 0.75 of the weight, so that both cost 1.5 of one
    ([replace(EFFUSION, sides=BOTH)], [NORMAL], 0.75, 0.75),
    ([replace(EFFUSION, sides=BOTH)], [EFFUSION], 0.375, 1.25),
    # two statements of it, or one of both sides, or of none where the other has both
    ([replace(EFFUSION, sides=BOTH)], [EFFUSION, replace(EFFUSION, sides=RIGHT)], 0.0, 1.5),
    ([replace(EFFUSION, sides=BOTH)], [replace(EFFUSION, sides=frozenset())], 0.0, 1.5),
    # opacity and pneumonia at one place are one finding of two names
    ([F("lung_opacity", sides=LEFT), F("pneumonia", sides=LEFT)], [F("pneumonia", sides=LEFT)], 0.0, 1.0),
    # and what the wider one says of severity is said of both: moderate for mild is a third of 0.6
    (
        [F("consolidation", severity=2), F("pneumonia")],
        [F("consolidation", severity=1), F("pneumonia")],
        0.1,
        1.0,
    ),
    ([F("lung_opacity", sides=LEFT), F("pneumonia", sides=RIGHT)], [F("pneumonia", sides=RIGHT)], 0.5, 1.5),
]


@pytest.mark.parametrize(("reference", "hypothesis", "cost", "total"), BY_HAND)
def test_score_by_hand(
    reference: list[Finding], hypothesis: list[Finding], cost: float, total: float
) -> None:
    found = of(reference, hypothesis)
    assert found.missed + found.false + found.inexact == pytest.approx(cost)
    assert found.total == pytest.approx(total)
    assert found.score == pytest.approx(1 - cost / (1 + total))


def test_beta_weighs_misses_against_inventions_by_hand() -> None:
    # beta 2: a miss 2 * 4 / 5 = 1.6, an invention 2 / 5 = 0.4 times its weight
    assert of([EFFUSION], [NORMAL], beta=2.0).missed == pytest.approx(0.8)
    assert of([NORMAL], [EFFUSION], beta=2.0).false == pytest.approx(0.2)
    assert score([EFFUSION], [EFFUSION], beta=2.0) == 1.0


def test_age_and_indication_move_weights() -> None:
    calcified, normal = F("aortic_calcification"), [NORMAL]
    assert of([calcified], normal, context=Context(age=85)).missed == 0.05
    assert of([calcified], normal, context=Context(age=25)).missed == 0.5
    assert of([calcified], normal).missed == 0.2
    infant = Context(age=1)
    assert of([F("old_rib_fracture")], normal, context=infant).missed == 1.0
    asked = Context(indication="picc placement, position of the line?")
    assert of([F("picc")], normal, context=asked).missed == 0.5
    assert of([F("picc")], normal).missed == 0.2
    fall = Context(indication="pain after a fall")
    assert of([F("vertebral_fracture")], normal, context=fall).missed == 1.0


def test_silence_is_no_normal_report() -> None:
    assert score([NORMAL], []) == 0.0
    assert score([EFFUSION], []) == 0.0
    assert score([], []) == 1.0
    assert score([], [NORMAL]) == 1.0
    assert of([EFFUSION], []).matches[-1].kind == "silent"


def test_a_wider_name_weighs_what_it_weighs_more_than_the_narrower_one() -> None:
    # an opacity that is perhaps a pneumonia: 0.5 together, of which the opacity alone leaves 0.25 missed
    reference = [F("lung_opacity"), F("pneumonia", certainty="hedged")]
    assert [one.weight for one in entities(reference, default(), UNKNOWN)] == [0.25, 0.25]
    found = of(reference, [F("lung_opacity")])
    assert (found.missed, found.inexact, found.total) == (0.25, 0.0, 1.0)


@pytest.mark.parametrize(
    ("concepts", "weights"),
    [
        # each takes from one other: opacity from consolidation, consolidation from pneumonia
        (["lung_opacity", "consolidation", "pneumonia"], [0.0, 0.0, 0.5]),
        # a sign beside what it is a sign of, and beside a kind of that
        (["blunted_costophrenic_angle", "pleural_effusion"], [0.0, 0.5]),
        (["vascular_congestion", "interstitial_edema"], [0.0, 0.5]),
        (["support_device", "picc"], [0.0, 0.2]),
        (["lung_opacity", "granuloma"], [0.5, 0.05]),
    ],
)
def test_names_of_one_finding_weigh_what_the_heaviest_does(concepts: list[str], weights: list[float]) -> None:
    found = {one.concept: one.weight for one in entities(map(F, concepts), default(), UNKNOWN)}
    assert [found[one] for one in concepts] == pytest.approx(weights)


def test_another_name_says_part_of_a_wider_one() -> None:
    # an opacity that is likely a pneumonia, 0.25 each; "pneumonia" says half of "opacity", their likeness
    left = {"sides": LEFT}
    reference = [F("lung_opacity", **left), F("pneumonia", certainty="hedged", **left)]
    found = of(reference, [F("pneumonia", **left)])
    assert found.missed == pytest.approx(0.25 * (1 - 0.5))
    (missed,) = (one for one in found.matches if one.kind == "missed")
    assert [(one.what, one.cost) for one in missed.faults] == [("said by another name in part", missed.cost)]
    assert found.inexact == pytest.approx(0.2 * 0.5)  # certain for hedged
    back = of([F("pneumonia", **left)], reference)
    assert back.false == pytest.approx(found.missed)
    # not what is on the other side, nor what is no name of it
    assert of(reference, [F("pneumonia", sides=RIGHT)]).missed == 0.25
    assert of(reference, [F("rib_fracture", **left)]).missed == 0.5


def test_a_wider_name_without_a_place_is_where_the_narrower_one_is() -> None:
    said = [F("lung_opacity"), F("atelectasis", certainty="hedged", sides=RIGHT, regions=frozenset({"base"}))]
    opacity, _ = sorted(entities(said, default(), UNKNOWN), key=lambda one: one.concept != "lung_opacity")
    assert (opacity.side, opacity.finding.regions) == ("right", {"base"})


def test_one_finding_takes_weight_from_one_other_alone() -> None:
    # the pneumonia of no side is the opacity of one side, not those of both
    said = [F("lung_opacity", sides=BOTH), F("pneumonia")]
    assert sum(one.weight for one in entities(said, default(), UNKNOWN)) == pytest.approx(0.375 + 0.5)


def test_wrong_reports_are_told_apart_by_how_wrong_they_are() -> None:
    reference = [F("pneumothorax", sides=LEFT), EFFUSION]
    scores = [
        score(reference, said)
        for said in (
            [F("granuloma")],
            [F("granuloma"), F("rib_fracture")],
            [F("granuloma"), F("rib_fracture"), F("free_air")],
        )
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    assert min(scores) > 0


def test_pairs_are_those_that_cost_least_together() -> None:
    # each alone would take the consolidation; together the second must leave it to the first
    reference = [F("consolidation", sides=LEFT), F("atelectasis", sides=LEFT)]
    found = of(reference, [F("pneumonia", sides=LEFT), F("consolidation", sides=LEFT)])
    assert {one.kind for one in found.matches} <= {"matched", "missed"}


# half of them kin, which are where the laws are in danger
KIN = ["lung_opacity", "airspace_opacity", "consolidation", "pneumonia", "atelectasis", "pleural_effusion"]
SIGN = ["blunted_costophrenic_angle", "vascular_congestion", "pulmonary_edema", "interstitial_edema"]
concept = st.sampled_from(sorted(concepts())) | st.sampled_from(KIN + SIGN)
region = st.sampled_from(["upper_lobe", "lower_lobe", "base", "hilum", "lung", "costophrenic_angle", "rib"])
finding = st.builds(
    Finding,
    concept,
    st.booleans(),
    st.sampled_from(["certain", "certain", "hedged"]),
    st.sampled_from([frozenset(), LEFT, RIGHT, BOTH]),
    st.frozensets(region, max_size=2),
    st.none() | st.integers(0, 3),
    st.none() | st.sampled_from([3.0, 8.0, 20.0]),
    st.none() | st.sampled_from(["new", "increased", "decreased", "unchanged", "resolved"]),
    st.none() | st.sampled_from(["carina", "right_main_bronchus", "stomach"]),
    st.none() | st.sampled_from([10.0, 50.0]),
)
# a report of everything once, as the reader gives it
report = st.lists(finding, max_size=7, unique_by=lambda one: (one.concept, one.sides, one.regions))


@given(report, report)
def test_bounded_and_finite(reference: list[Finding], hypothesis: list[Finding]) -> None:
    found = of(reference, hypothesis)
    assert 0 <= found.score <= 1
    assert found.missed + found.false + found.inexact <= found.total + 1e-9


@given(report)
def test_identical_reports_score_1(findings: list[Finding]) -> None:
    found = of(findings, findings)
    assert found.score == 1
    assert all(one.kind == "matched" and not one.faults for one in found.matches)


@given(report, report)
def test_symmetric_where_neither_is_silent(reference: list[Finding], hypothesis: list[Finding]) -> None:
    there, back = (
        of([NORMAL, *reference], [NORMAL, *hypothesis]),
        of([NORMAL, *hypothesis], [NORMAL, *reference]),
    )
    assert there.score == pytest.approx(back.score)
    assert there.total == pytest.approx(back.total)  # which of two matchings that cost the same is open


@given(report, report, st.data())
def test_order_does_not_matter(reference: list[Finding], hypothesis: list[Finding], data: Any) -> None:
    mixed = data.draw(st.permutations(hypothesis))
    assert score(reference, mixed) == score(reference, hypothesis)
    assert score(data.draw(st.permutations(reference)), hypothesis) == score(reference, hypothesis)


def unlike(one: Finding, others: Sequence[Finding]) -> bool:
    """Whether a finding has nothing to do with others: it is like none, and none is a sign of it."""
    like, lines = default().like[one.concept], default().lines
    signs = {lines[other.concept][0] for other in others if other.concept in SIGNS}
    kin = one.concept in SIGNS and any(
        lines[one.concept][0] in (o.concept, *lines[o.concept]) for o in others
    )
    named = {one.concept, *lines[one.concept]}
    return not kin and signs.isdisjoint(named) and all(other.concept not in like for other in others)


@given(report, report, finding)
def test_a_false_finding_more_never_raises(
    reference: list[Finding], hypothesis: list[Finding], more: Finding
) -> None:
    if not hypothesis or not unlike(more, [*reference, *hypothesis]):
        return
    assert score(reference, [*hypothesis, more]) <= score(reference, hypothesis) + 1e-12


@given(report, report, finding)
def test_a_finding_missed_more_never_raises(
    reference: list[Finding], hypothesis: list[Finding], more: Finding
) -> None:
    if not hypothesis or not unlike(more, hypothesis) or not unlike(more, reference):
        return
    assert score([*reference, more], hypothesis) <= score(reference, hypothesis) + 1e-12


@given(report, report, finding, finding)
def test_a_heavier_false_finding_never_costs_less(
    reference: list[Finding], hypothesis: list[Finding], one: Finding, other: Finding
) -> None:
    if not all(unlike(new, [*reference, *hypothesis]) for new in (one, other)):
        return
    light, heavy = sorted(
        ([F(new.concept)] for new in (one, other)), key=lambda new: default().weight(new[0], UNKNOWN)
    )
    assert score(reference, [NORMAL, *hypothesis, *heavy]) <= score(reference, [NORMAL, *hypothesis, *light])


@given(report, report, finding)
def test_a_denial_costs_and_earns_nothing_of_its_own(
    reference: list[Finding], hypothesis: list[Finding], more: Finding
) -> None:
    if hypothesis:
        assert score(reference, [*hypothesis, replace(more, present=False)]) == score(reference, hypothesis)


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 4)), st.floats(0.01, 2), max_size=9))
def test_the_matching_is_the_best_of_all(gains: dict[tuple[int, int], float]) -> None:
    """Against all ways of giving each row a column, or none."""
    chosen = matching._best(gains)
    assert len({i for i, _ in chosen}) == len({k for _, k in chosen}) == len(chosen)
    rows = sorted({i for i, _ in gains})
    columns = sorted({k for _, k in gains})
    ways = permutations([*columns, *([-1] * len(rows))], len(rows))
    best = max(
        (sum(gains.get((i, k), 0.0) for i, k in zip(rows, way, strict=True)) for way in ways), default=None
    )
    if best is not None:
        assert sum(gains[pair] for pair in chosen) == pytest.approx(best)


def test_many_findings_that_hang_together_are_matched_as_few_are() -> None:
    gains = {(i, k): 1.0 + (i == k) for i in range(8) for k in range(8)}
    assert matching._best(gains) == [(i, i) for i in range(8)]
