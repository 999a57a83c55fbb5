from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from radrl.evaluation.green import INSIGNIFICANT, MATCHED, SIGNIFICANT, prompt
from radrl.scoring import ScoringError
from radrl.scoring.green import METRICS, Green
from radrl.scoring.judge import Answer, AnswerCache, answer_through_cache, cache_key

REFERENCES = ["Heart normal.", "No effusion.", "Small effusion."]
HYPOTHESES = ["Heart normal.", "Effusion.", ""]


def answer(matched: int, *errors: int) -> str:
    significant = "\n".join(f"({k}) kind: {n}. x." for k, n in zip("abcdef", errors, strict=False)) or "None."
    return f"[{SIGNIFICANT}]:\n{significant}\n\n[{INSIGNIFICANT}]:\nNone.\n\n[{MATCHED}]:\n{matched}. x."


ANSWERS = (answer(2), answer(1, 2, 1), answer(0, 0, 1, 0, 0, 0, 3))


class FakeJudge:
    """Answers from a table, and remembers what it was asked."""

    name = "fake"

    def __init__(self, answers: Sequence[str | Answer], cache: AnswerCache | None = None) -> None:
        given = [one if isinstance(one, Answer) else Answer(one) for one in answers]
        pairs = zip(REFERENCES, HYPOTHESES, strict=True)
        self.table = {prompt(*pair): one for pair, one in zip(pairs, given, strict=True)}
        self.asked: list[str] = []
        self.cache, self.about = cache, {"judge": "fake", "model": "m"}

    def answer(self, prompts: Sequence[str]) -> list[Answer]:
        def ask(left, keep):
            self.asked += left
            return [(one, keep(one, self.table[one])) for one in left]

        def key(one):
            return cache_key({"prompt": one})

        return answer_through_cache(prompts, key=key, cache=self.cache, ask=ask, name="fake")


def test_scores_by_hand():
    scores = Green(FakeJudge(ANSWERS), missing="raise").score(REFERENCES, HYPOTHESES)
    # 2 / 2, 1 / (1 + 3), nothing matched
    np.testing.assert_array_equal(scores.per_report["green"], [1.0, 0.25, 0.0])
    np.testing.assert_array_equal(scores.per_report["green_missing_comparison"], [0, 0, 3])
    assert scores.corpus == pytest.approx(
        {
            "green": 1.25 / 3,
            "green_false_finding": 2 / 3,
            "green_missing_finding": 2 / 3,
            "green_wrong_location": 0,
            "green_wrong_severity": 0,
            "green_false_comparison": 0,
            "green_missing_comparison": 1,
            "green_matched": 1,
            "green_unscored": 0,
        }
    )
    assert scores.per_report.keys() == set(METRICS)
    assert all(name.startswith(Green.name) for name in scores.corpus)


def test_the_means_can_be_resampled():
    scores = Green(FakeJudge(ANSWERS), missing="raise").score(REFERENCES, HYPOTHESES)
    assert scores.summed.values() == pytest.approx({name: scores.corpus[name] for name in METRICS})
    drawn = scores.summed.of_sums(scores.summed.per_study[[0, 0, 1]].sum(axis=0))
    assert drawn["green"] == pytest.approx((1 + 1 + 0.25) / 3)


def test_pairs_that_read_the_same_are_asked_once():
    judge = FakeJudge(ANSWERS)
    scores = Green(judge, missing="raise").score(
        ["Heart  normal.", *REFERENCES], ["Heart normal.\n", *HYPOTHESES]
    )
    assert len(judge.asked) == 3
    assert scores.per_report["green"][0] == scores.per_report["green"][1] == 1.0


BROKEN = [
    (Answer(ANSWERS[1], "the answer is cut off (finish_reason 'length')"), "report 1 .*cut off"),
    (Answer("", "HTTP 500 (tried 3 times)"), r"report 1 .*HTTP 500 \(tried 3 times\)"),
    (ANSWERS[1].partition("[")[2], r"report 1 .*section \[Clinically Significant Errors\] is missing"),
    ("", r"report 1 .*is missing \(1 of 3 reports have none\)"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_a_broken_answer_raises_with_the_reports_number(broken, message):
    judge = FakeJudge([ANSWERS[0], broken, ANSWERS[2]])
    with pytest.raises(ScoringError, match=message):
        Green(judge, missing="raise").score(REFERENCES, HYPOTHESES)


@pytest.mark.parametrize("broken", [broken for broken, _ in BROKEN])
def test_a_broken_answer_is_left_out_of_the_means_where_that_is_allowed(broken):
    judge = FakeJudge([ANSWERS[0], broken, ANSWERS[2]])
    scores = Green(judge, missing="skip").score(REFERENCES, HYPOTHESES)
    assert scores.corpus["green_unscored"] == 1
    for name in METRICS:
        assert [math.isnan(value) for value in scores.per_report[name]] == [False, True, False]
    assert scores.corpus["green"] == 0.5  # (1 + 0) / 2
    assert scores.corpus["green_missing_finding"] == 0.5


def test_no_valid_answer_at_all_is_no_score():
    with pytest.raises(ScoringError, match=r"report 0 has no GREEN score: .* \(3 of 3 reports have none\)"):
        Green(FakeJudge([""] * 3), missing="skip").score(REFERENCES, HYPOTHESES)


def test_a_second_run_asks_only_for_what_failed(tmp_path):
    cut_off = Answer("[", "the answer is cut off")
    first = FakeJudge([ANSWERS[0], cut_off, ANSWERS[2]], AnswerCache(tmp_path / "a"))
    with pytest.raises(ScoringError, match="report 1 "):
        Green(first, missing="raise").score(REFERENCES, HYPOTHESES)
    second = FakeJudge(ANSWERS, AnswerCache(tmp_path / "a"))
    scores = Green(second, missing="raise").score(REFERENCES, HYPOTHESES)
    assert second.asked == [prompt(REFERENCES[1], HYPOTHESES[1])]
    assert scores.corpus["green"] == pytest.approx(1.25 / 3)


def test_the_record_names_judge_and_prompt_and_counts_reports_that_were_cut():
    judge = FakeJudge(ANSWERS)
    judge.table[prompt("Heart normal.", "clear " * 301)] = Answer(ANSWERS[0])
    scores = Green(judge, missing="raise").score(REFERENCES[:1], ["clear " * 301])
    assert scores.about["model"] == "m"
    assert scores.about["reports_cut_to_300_words"] == "1"
    assert len(scores.about["prompt_sha256"]) == 64


def test_unpaired_and_empty_references_and_unknown_settings_are_refused():
    green = Green(FakeJudge(ANSWERS), missing="raise")
    with pytest.raises(ValueError, match="3 references, 2 hypotheses"):
        green.score(REFERENCES, HYPOTHESES[:2])
    with pytest.raises(ValueError, match="reference 1 is empty"):
        green.score(["a", " \n"], ["a", "b"])
    with pytest.raises(ValueError, match="valid: raise, skip"):
        Green(FakeJudge(ANSWERS), missing="zero")
