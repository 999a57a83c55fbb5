"""The controlled pairs are controlled, and every metric moves as it must: docs/metrics.md shows how far"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import metric_scenarios
import pandas as pd
import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.parts.builtin import BUILTIN
from radrl.scoring import Scorer, means_of
from radrl.scoring.build import build
from radrl.scoring.rules.errors import GreenRules

ROOT = Path(__file__).parents[1]
PAIRS = pd.read_csv(ROOT / "docs" / "metric_checks.csv")
OVERLAP = ("nlg_bleu1", "nlg_bleu2", "nlg_bleu3", "nlg_bleu4", "nlg_rougel", "nlg_cider")
LABELS = ("ce_rules_sample14_f1", "ce_rules_sample14_f1_uncertain_pos")
GRAPH = ("radgraph_rules_simple", "radgraph_rules_partial", "radgraph_rules_complete")

SIDES = {"left", "right"}
SIDED = r"\b(left|right)(?! atrium| ventricle)"
SEVERITIES = {
    "trace", "tiny", "minimal", "small", "mild", "mildly", "moderate", "moderately", "large", "marked",
    "markedly", "severe", "severely",
}  # fmt: skip
DENIALS = {"no", "not", "without"}

NOTHING = "scoliosis withholds No Finding: the reference has no positive label, and its F1 is 0 / 0, so 0"
# Pairs in which a change leaves the labels' F1 as it is, and why; in all others it must fall.
SAME_F1 = {
    "flipped_negation": {
        16: "a shift of the mediastinum is none of the 14 observations",
        20: "another opacity is still there",
        25: NOTHING,
    },
    "dropped_finding": {
        5: "other devices are still there",
        6: "a tortuous aorta is none of the 14 observations",
        10: "a calcified granuloma is none of the 14 observations",
        15: "a raised hemidiaphragm is none of the 14 observations",
        20: "another opacity is still there",
        25: NOTHING,
    },
    "added_finding": {
        7: "a hiatal hernia is none of the 14 observations",
        25: NOTHING,
        28: "a device was there before",
    },
}
# Paraphrases that the rule labeler reads otherwise, by reading of uncertain.
MISREAD = {
    4: "'likely' asserts where the reference's 'probably' hedges",
    7: "'prosthetic joint' is no phrase of its lexicon",
    9: "'fluid in the left pleural space': the side stands between the words of its phrase",
    16: "'the lung is collapsed' is no phrase of its lexicon",
    19: "'vessels slightly engorged' is no phrase of its lexicon",
    22: "'tracheostomy' without 'tube' is no device",
}
PARAPHRASE_FALLS = {LABELS[0]: {4, 7, 9, 16, 22}, LABELS[1]: {7, 9, 16, 19, 22}}
# GREEN's category of each change; a flip is a missing finding where it denies, a false one where it asserts.
CATEGORY = {
    "wrong_side": "wrong_location",
    "wrong_severity": "wrong_severity",
    "dropped_finding": "missing_finding",
    "added_finding": "false_finding",
    "flipped_negation": None,
}
# Wrong sides that a set of words cannot show, because the other side stands elsewhere in the report.
UNSEEN_SIDES = {
    "radgraph_rules_simple": {7, 11, 16, 23},
    "radgraph_rules_partial": {23},
    "radgraph_rules_complete": set(),
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("metric_checks", ROOT / "tools" / "metric_checks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scorers(tool: ModuleType) -> list[Scorer]:
    """Without METEOR, which needs Java and a while; `tools/metric_checks.py --check` has it."""
    settings = {"nlg": tool.NLG | {"meteor": False}}
    return build(tool.families(), settings, [RulesLabeler()])


@pytest.fixture(scope="module")
def scores(tool: ModuleType, scorers: list[Scorer]) -> pd.DataFrame:
    return tool.per_pair(tool.read_pairs(), scorers)


def of(change: str) -> pd.DataFrame:
    return PAIRS[PAIRS["change"] == change]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def sentences(text: str) -> list[str]:
    """Sentences and headings in their order."""
    return re.split(r"(?<=\.)\s+|(?<=[A-Z]:)\s+", text)


def changed(row: pd.Series) -> tuple[list[str], list[str]]:
    """The one stretch of words that differs, before and after."""
    before, after = words(row["reference"]), words(row["hypothesis"])
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return before[start : len(before) - end], after[start : len(after) - end]


def test_thirty_references_with_all_seven_changes_and_nothing_twice(tool: ModuleType) -> None:
    assert Counter(PAIRS["change"]) == dict.fromkeys(tool.CHANGES, 30)
    assert list(PAIRS["pair"]) == [pair for pair in range(1, 31) for _ in tool.CHANGES]
    assert PAIRS["reference"].nunique() == 30
    assert (PAIRS.groupby("pair")["reference"].nunique() == 1).all()
    assert pd.concat([PAIRS["hypothesis"], PAIRS["reference"].drop_duplicates()]).is_unique
    assert PAIRS["what"].str.len().between(4, 50).all()


def test_every_reference_has_a_side_a_severity_and_a_denial() -> None:
    for reference in PAIRS["reference"].unique():
        for needed in (SIDES, SEVERITIES, DENIALS):
            assert needed & set(words(reference)), reference


def test_a_flipped_negation_touches_one_statement_and_half_of_them_deny() -> None:
    rows = of("flipped_negation")
    assert Counter(what.split(":")[0] for what in rows["what"]) == {"denied": 15, "asserted": 15}
    for _, row in rows.iterrows():
        before, after = changed(row)
        assert len(before) <= 4, row["what"]
        assert len(after) <= 4, row["what"]
        more = sum(word in DENIALS for word in after) - sum(word in DENIALS for word in before)
        # one pair denies the second of a list anew when it asserts the first
        assert more == 1 if row["what"].startswith("denied") else more in (-1, 0), row["what"]


def test_a_wrong_side_is_one_word() -> None:
    for _, row in of("wrong_side").iterrows():
        before, after = changed(row)
        assert {*before, *after} == SIDES, row["what"]
        assert len(before) == len(after) == 1, row["what"]


def test_a_wrong_severity_is_one_word() -> None:
    for _, row in of("wrong_severity").iterrows():
        before, after = changed(row)
        assert len(before) == len(after) == 1, row["what"]
        assert {*before, *after} <= SEVERITIES, row["what"]


def test_a_dropped_finding_only_takes_and_an_added_one_only_gives() -> None:
    for _, row in of("dropped_finding").iterrows():
        before, after = changed(row)
        assert after == [], row["what"]
        assert len(before) >= 2, row["what"]
    for _, row in of("added_finding").iterrows():
        before, after = changed(row)
        assert before == [], row["what"]
        assert len(sentences(row["hypothesis"])) == len(sentences(row["reference"])) + 1


def test_a_reordering_permutes_sentences_within_their_section() -> None:
    for _, row in of("reordering").iterrows():
        before, after = sentences(row["reference"]), sentences(row["hypothesis"])
        assert sorted(before) == sorted(after), row["pair"]
        for heading in (place for place, part in enumerate(before) if part.endswith(":")):
            assert after[heading] == before[heading], row["pair"]
            assert sorted(after[:heading]) == sorted(before[:heading]), row["pair"]


def test_a_paraphrase_shares_no_sentence_and_keeps_sides_and_sections() -> None:
    for _, row in of("paraphrase").iterrows():
        before, after = sentences(row["reference"]), sentences(row["hypothesis"])
        headings = [part for part in before if part.endswith(":")]
        assert [part for part in after if part.endswith(":")] == headings
        assert set(before) & set(after) == set(headings), row["pair"]
        sides = [Counter(re.findall(SIDED, row[text].lower())) for text in ("reference", "hypothesis")]
        assert sides[0] == sides[1], row["pair"]


def test_committed_files_are_up_to_date(
    tool: ModuleType, scores: pd.DataFrame, scorers: list[Scorer]
) -> None:
    pooled = tool.pooled(tool.read_pairs(), [RulesLabeler()])
    assert tool.differences(scores, pooled, tool.per_scenario(scorers)) == []


class LongerIsBetter:
    """A metric as another branch may register it."""

    name = "longer"

    def score(self, references, hypotheses):
        return means_of({"longer": [len(text) for text in hypotheses]})


def test_a_new_built_in_metric_has_its_lines_by_itself(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "longer", lambda: LongerIsBetter(), raising=False)
    monkeypatch.setitem(BUILTIN["metric"], "longer", f"{__name__}:longer")
    assert tool.families() == ["ce", "nlg", "radgraph_rules", "green_rules", "weighted_findings", "longer"]
    scored = tool.per_scenario(build(["longer"], {}, []))
    assert "| `longer` |" in metric_scenarios.shown(scored)


def test_meteor_loses_less_for_a_flipped_negation_than_for_a_paraphrase(tool: ModuleType) -> None:
    kept = pd.read_csv(tool.DOCS / tool.SCORES)
    flipped, said = (mean_loss(tool, kept, "nlg_meteor", to) for to in ("flipped_negation", "paraphrase"))
    assert 0 < flipped < said


def mean_loss(tool: ModuleType, scores: pd.DataFrame, metric: str, change: str) -> float:
    return float(tool.loss(scores, metric, change).mean())


def falls(tool: ModuleType, scores: pd.DataFrame, metric: str, change: str) -> set[int]:
    """The pairs in which a metric is below its value on identical texts; nowhere may it be above."""
    lost = tool.loss(scores, metric, change)
    assert not (lost < 0).any(), metric
    return set(lost.index[lost > 0])


@pytest.mark.parametrize("metric", [*LABELS, *GRAPH, "green_rules"])
def test_the_order_of_sentences_is_nothing_to_labels_graphs_and_errors(
    tool: ModuleType, scores: pd.DataFrame, metric: str
) -> None:
    assert not tool.moved(scores, metric, "reordering").any()


@pytest.mark.parametrize("metric", LABELS)
@pytest.mark.parametrize("change", SAME_F1)
def test_labels_see_what_changes_one_of_the_14(
    tool: ModuleType, scores: pd.DataFrame, metric: str, change: str
) -> None:
    assert falls(tool, scores, metric, change) == set(range(1, 31)) - SAME_F1[change].keys()


@pytest.mark.parametrize("change", ["wrong_side", "wrong_severity", "reordering"])
def test_labels_know_neither_side_nor_severity_nor_order(change: str) -> None:
    label = RulesLabeler().label
    rows = of(change)
    assert (label(rows["reference"].tolist()) == label(rows["hypothesis"].tolist())).all()


@pytest.mark.parametrize("metric", LABELS)
def test_labels_keep_a_paraphrase_but_for_the_misread_ones(
    tool: ModuleType, scores: pd.DataFrame, metric: str
) -> None:
    assert PARAPHRASE_FALLS[metric] <= MISREAD.keys()
    assert falls(tool, scores, metric, "paraphrase") == PARAPHRASE_FALLS[metric]


@pytest.mark.parametrize("metric", [*OVERLAP, *GRAPH])
def test_words_lose_less_for_a_flipped_negation_than_for_a_paraphrase(
    tool: ModuleType, scores: pd.DataFrame, metric: str
) -> None:
    assert (
        0
        < mean_loss(tool, scores, metric, "flipped_negation")
        < mean_loss(tool, scores, metric, "paraphrase")
    )


@pytest.mark.parametrize("metric", [*LABELS, "green_rules"])
def test_labels_and_errors_lose_more_for_a_flipped_negation_than_for_a_paraphrase(
    tool: ModuleType, scores: pd.DataFrame, metric: str
) -> None:
    assert mean_loss(tool, scores, metric, "flipped_negation") > mean_loss(tool, scores, metric, "paraphrase")


def test_a_paraphrase_lowers_bleu4_everywhere(tool: ModuleType, scores: pd.DataFrame) -> None:
    assert len(falls(tool, scores, "nlg_bleu4", "paraphrase")) == 30


def test_no_overlap_with_longer_phrases_ranks_a_wrong_report_below_a_paraphrase(
    tool: ModuleType, scores: pd.DataFrame
) -> None:
    assert [tool.below_paraphrase(scores, metric) for metric in ("nlg_bleu4", "nlg_rougel")] == [0, 0]
    assert tool.below_paraphrase(scores, "green_rules") > tool.below_paraphrase(scores, LABELS[0]) > 0


def test_single_words_have_no_order(tool: ModuleType, scores: pd.DataFrame) -> None:
    assert not tool.moved(scores, "nlg_bleu1", "reordering").any()


@pytest.mark.parametrize("change", CATEGORY)
@pytest.mark.parametrize("metric", GRAPH)
def test_graphs_see_every_error(tool: ModuleType, scores: pd.DataFrame, metric: str, change: str) -> None:
    unseen = UNSEEN_SIDES[metric] if change == "wrong_side" else set()
    assert falls(tool, scores, metric, change) == set(range(1, 31)) - unseen


@pytest.mark.parametrize("change", CATEGORY)
def test_every_error_lowers_green_rules_and_is_the_one_error_of_its_kind(
    tool: ModuleType, scores: pd.DataFrame, change: str
) -> None:
    assert len(falls(tool, scores, "green_rules", change)) == 30
    rows = of(change)
    found = GreenRules().score(rows["reference"].tolist(), rows["hypothesis"].tolist()).per_report
    for row, what in enumerate(rows["what"]):
        flip = "missing_finding" if what.startswith("denied") else "false_finding"
        errors = {name: found[f"green_rules_{name}"][row] for name in tool.ERRORS}
        assert errors == dict.fromkeys(tool.ERRORS, 0) | {CATEGORY[change] or flip: 1}, what
