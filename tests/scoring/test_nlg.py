import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge, my_lcs

from radrl.scoring.meteor import MeteorProcess, meteor_missing
from radrl.scoring.ngrams import sentence_bleu2
from radrl.scoring.nlg import Nlg, NlgByParts, basic, common_words, nlg_scores, whitespace

REFERENCES = ["no acute process .", "the lungs are clear . no effusion .", "small right effusion ."]
HYPOTHESES = ["no acute change .", "the lungs are clear . small effusion .", "right effusion ."]
WORDS = ("no", "small", "right", "left", "effusion", "edema", ".", ",")
REPORT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def test_sentence_bleu2_by_hand():
    # unigrams 3 of 4, bigrams 1 of 3 ("no acute"), same length: sqrt(3/4 * 1/3) = 1/2
    assert sentence_bleu2(REFERENCES[0], HYPOTHESES[0]) == pytest.approx(0.5)
    # unigrams 3 of 3, bigrams 2 of 2, one word short: exp(1 - 4/3)
    assert sentence_bleu2(REFERENCES[2], HYPOTHESES[2]) == pytest.approx(math.exp(-1 / 3))
    assert sentence_bleu2("a b c", "") == 0.0
    assert sentence_bleu2("a b c", "c b a") < 1e-7


@given(REPORT.filter(bool), REPORT)
def test_sentence_bleu2_is_pycocoevalcaps_bleu2_of_the_one_pair(reference, hypothesis):
    _, scores = Bleu(4).compute_score({0: [reference]}, {0: [hypothesis]}, verbose=0)
    assert sentence_bleu2(reference, hypothesis) == pytest.approx(scores[1][0], rel=1e-12, abs=1e-15)


def test_sentence_bleu2_needs_a_reference():
    with pytest.raises(ValueError, match="reference report is empty"):
        sentence_bleu2(" ", "a b")


def test_corpus_bleu_by_hand():
    scores = nlg_scores(REFERENCES, HYPOTHESES, meteor=False)
    # matched 3 + 7 + 3 of 4 + 8 + 3 unigrams, lengths 15 against 16
    assert scores.corpus["nlg_bleu1"] == pytest.approx(13 / 15 * math.exp(1 - 16 / 15))


def test_rouge_l_by_hand():
    scores = nlg_scores(REFERENCES, HYPOTHESES, meteor=False)
    # third pair: common subsequence 3, precision 1, recall 3/4, beta 1.2
    expected = (1 + 1.44) * 0.75 / (0.75 + 1.44)
    assert scores.per_report["nlg_rougel"][2] == pytest.approx(expected)
    assert scores.corpus["nlg_rougel"] == pytest.approx(scores.per_report["nlg_rougel"].mean())


def test_summed_metrics_are_the_corpus_figures():
    scores = nlg_scores(REFERENCES, HYPOTHESES, meteor=False)
    assert scores.summed.values() == pytest.approx(scores.corpus, rel=1e-12)


def test_a_resample_equals_scoring_the_drawn_reports_anew():
    drawn = [0, 0, 2]
    scores = nlg_scores(REFERENCES, HYPOTHESES, meteor=False)
    sums = np.bincount(drawn, minlength=3) @ scores.summed.per_study
    anew = nlg_scores([REFERENCES[i] for i in drawn], [HYPOTHESES[i] for i in drawn], meteor=False)
    for name in ("nlg_bleu1", "nlg_bleu4", "nlg_rougel"):  # CIDEr's idf stays that of the whole corpus
        assert scores.summed.of_sums(sums)[name] == pytest.approx(anew.corpus[name])


def test_nothing_is_printed(capfd):
    nlg_scores(REFERENCES, HYPOTHESES, meteor=False)
    assert capfd.readouterr().out == ""


def test_an_empty_hypothesis_scores_0_and_an_empty_reference_is_named():
    scores = nlg_scores(REFERENCES, ["", *HYPOTHESES[1:]], meteor=False)
    for name, values in scores.per_report.items():
        assert values[0] == pytest.approx(0, abs=1e-12), name
    with pytest.raises(ValueError, match="reference 1 is empty"):
        nlg_scores(["a", " \n"], ["a", "b"])


def test_unpaired_reports_and_unknown_preparations_are_refused():
    with pytest.raises(ValueError, match="3 references, 2 hypotheses"):
        nlg_scores(REFERENCES, HYPOTHESES[:2])
    with pytest.raises(ValueError, match="valid: whitespace, basic"):
        nlg_scores(REFERENCES, HYPOTHESES, preparation="r2gen")


def test_preparations():
    assert whitespace(" No  effusion,\nS/P ") == "No effusion, S/P"
    assert basic("No effusion,\nS/P surgery.") == "no effusion , s / p surgery ."
    apart = nlg_scores(["No edema."] * 2, ["no edema ."] * 2, meteor=False)
    assert apart.corpus["nlg_bleu1"] < 1e-3
    same = nlg_scores(["No edema."] * 2, ["no edema ."] * 2, preparation="basic", meteor=False)
    assert same.corpus["nlg_bleu1"] == pytest.approx(1)


GAPPED = st.lists(st.sampled_from((*WORDS, "", "", "\n")), max_size=12).map(" ".join)


@given(GAPPED.filter(str.split), GAPPED)
def test_untouched_texts_score_what_pycocoevalcap_says_of_them(reference, hypothesis):
    found = nlg_scores([reference], [hypothesis], preparation="pycocoevalcap", meteor=False).corpus
    truth, said = {0: [reference]}, {0: [hypothesis]}
    assert found["nlg_rougel"] == pytest.approx(Rouge().compute_score(truth, said)[0], rel=1e-12)
    bleu, _ = Bleu(4).compute_score(truth, said, verbose=0)
    assert [found[f"nlg_bleu{n}"] for n in (1, 2, 3, 4)] == pytest.approx(bleu, rel=1e-12, abs=1e-15)


def test_between_two_blanks_stands_a_word_for_rouge_l_alone():
    gap, none = ["seen  before .", "clear ."], ["seen before .", "clear ."]
    found = nlg_scores(gap, none, preparation="pycocoevalcap", meteor=False)
    # "seen", "", "before", ".": common 3 of 4, precision 1, beta 1.2
    assert found.per_report["nlg_rougel"][0] == pytest.approx((1 + 1.44) * 0.75 / (0.75 + 1.44))
    closed = nlg_scores(gap, none, meteor=False)
    assert closed.per_report["nlg_rougel"][0] == 1
    others = closed.corpus.keys() - {"nlg_rougel"}
    assert {name: found.corpus[name] for name in others} == {name: closed.corpus[name] for name in others}
    with pytest.raises(ValueError, match="reference 1 is empty"):
        nlg_scores([gap[0], "  "], none, preparation="pycocoevalcap", meteor=False)


@pytest.mark.skipif(bool(meteor_missing()), reason="METEOR needs java")
def test_untouched_texts_do_not_break_meteors_lines():
    broken, whole = [text.replace(" ", " \n", 1) for text in REFERENCES], REFERENCES
    found = nlg_scores(broken, HYPOTHESES, preparation="pycocoevalcap").corpus["nlg_meteor"]
    assert found == nlg_scores(whole, HYPOTHESES).corpus["nlg_meteor"]


def test_what_is_skipped_is_named_and_has_no_number(monkeypatch):
    monkeypatch.setenv("PATH", "")
    scores = nlg_scores(REFERENCES[:1], HYPOTHESES[:1])
    assert scores.skipped == {
        "nlg_cider": "skipped (one report has no document frequencies)",
        "nlg_meteor": "skipped (no java on PATH)",
    }
    assert not scores.skipped.keys() & (scores.corpus.keys() | scores.per_report.keys())


def test_cider_that_is_not_asked_for_is_said_and_changes_no_other_figure():
    asked, not_asked = (
        nlg_scores(REFERENCES, HYPOTHESES, meteor=False, cider=each) for each in (True, False)
    )
    assert not_asked.skipped["nlg_cider"] == "skipped (not asked for)"
    for each, other in ((asked.corpus, not_asked.corpus), (asked.per_report, not_asked.per_report)):
        assert {*each} - {*other} == {"nlg_cider"}
        assert all(np.array_equal(each[name], values) for name, values in other.items())


def test_sums_of_stored_values_are_those_of_scoring_anew_to_the_last_bit():
    references, first = _drawn(700)  # more than are remembered at once
    rows = {"first": first, "second": first[::-1], "constant": ["no effusion ."] * len(references)}
    scorer = Nlg(preparation="basic", meteor=False)
    scores = {row: scorer.score(references, texts) for row, texts in rows.items()}
    stored = {
        row: (texts, {name: scores[row].per_report[name] for name in ("nlg_rougel", "nlg_cider")})
        for row, texts in rows.items()
    }
    found = scorer.sums_of_stored(references, stored)
    assert [*found] == [*rows]
    for row, summed in found.items():
        assert summed.per_study.tolist() == scores[row].summed.per_study.tolist()
        assert summed.values() == scores[row].summed.values()
    alone = scorer.sums_of_stored(references, {"first": (first, {})})
    assert [*alone["first"].values()] == ["nlg_bleu1", "nlg_bleu2", "nlg_bleu3", "nlg_bleu4"]
    with pytest.raises(ValueError, match="700 references, 1 hypotheses"):
        scorer.sums_of_stored(references, {"short": (first[:1], {})})


def test_agrees_with_the_vectors_to_6_digits():
    path = Path(os.environ.get("RADRL_SHARED", "")) / "vectors" / "nlg_metrics.json"
    if "RADRL_SHARED" not in os.environ or not path.is_file():
        pytest.skip("no nlg_metrics.json under RADRL_SHARED")
    expected = json.loads(path.read_text())["a"]
    pairs = expected["per_sample"]
    scores = nlg_scores([pair["ref"] for pair in pairs], [pair["hyp"] for pair in pairs])
    names = {f"BLEU_{n}": f"nlg_bleu{n}" for n in (1, 2, 3, 4)}
    names |= {"ROUGE_L": "nlg_rougel", "CIDEr": "nlg_cider"}
    if not meteor_missing():
        names["METEOR_1_5"] = "nlg_meteor"
    for key, name in names.items():
        assert scores.corpus[name] == pytest.approx(expected["corpus"][key], abs=1e-6), name
    for i, pair in enumerate(pairs):
        own = {name: values[i] for name, values in scores.per_report.items()}
        assert [own[f"nlg_bleu{n}"] for n in (1, 2, 3, 4)] == pytest.approx(pair["bleu"], abs=1e-6)
        assert own["nlg_rougel"] == pytest.approx(pair["rouge_l_coco_beta1.2"], abs=1e-6)
        if "nlg_meteor" in own:
            assert own["nlg_meteor"] == pytest.approx(pair["meteor_1_5_java_norm"], abs=1e-6)


def _drawn(n):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(0, 14))) for _ in range(2 * n)]
    return [text or "no effusion" for text in texts[:n]], texts[n:]


def test_parts_are_the_whole_and_both_are_pycocoevalcaps_to_the_last_bit():
    references, hypotheses = _drawn(1200)  # more than are held at once
    whole = nlg_scores(references, hypotheses, meteor=False)
    truth, found = ({i: [text] for i, text in enumerate(texts)} for texts in (references, hypotheses))
    bleu, each_bleu = Bleu(4).compute_score(truth, found, verbose=0)
    expected = {f"nlg_bleu{n}": (bleu[n - 1], each_bleu[n - 1]) for n in (1, 2, 3, 4)}
    expected |= {"nlg_rougel": Rouge().compute_score(truth, found)}
    expected |= {"nlg_cider": Cider().compute_score(truth, found)}
    assert whole.corpus == pytest.approx({name: one for name, (one, _) in expected.items()}, rel=1e-12)
    for name, (_, each) in expected.items():
        assert whole.per_report[name].tolist() == np.asarray(each).tolist(), name
    with NlgByParts("whitespace", meteor=False) as course:
        parts = [slice(0, 7), slice(7, 700), slice(700, 1200)]
        for part in parts:
            course.learn(references[part], hypotheses[part])
        course.ready()
        scores = [course.score(references[part], hypotheses[part]) for part in parts]
        assert course.corpus().corpus == whole.corpus
    for name, values in whole.per_report.items():
        assert np.concatenate([one.per_report[name] for one in scores]).tolist() == values.tolist()


@pytest.mark.skipif(meteor_missing() is not None, reason=f"METEOR: {meteor_missing()}")
def test_meteor_of_parts_is_that_of_the_whole():
    references, hypotheses = _drawn(30)
    hypotheses[3], hypotheses[20] = references[3], references[20]  # whose one chunk does not count
    with MeteorProcess() as meteor:
        lines = meteor._answers(references, hypotheses)
        meteor._write(" ||| ".join(["EVAL", *lines]))
        *each, expected = (float(meteor._read()) for _ in range(31))
        parts = [meteor.score_part(references[a:b], hypotheses[a:b]) for a, b in ((0, 4), (4, 30))]
        assert meteor.corpus(parts[0][0] + parts[1][0]) == expected
        assert np.concatenate([own for _, own in parts]).tolist() == each


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.lists(st.sampled_from(WORDS), max_size=12))
def test_common_words_are_pycocoevalcaps_longest_subsequence(first, second):
    assert common_words(first, second) == my_lcs(first, second)
