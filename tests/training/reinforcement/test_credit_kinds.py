"""Weights by TF-IDF and by gradients, worked out by hand from the policy's own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from small_arms import GRADIENT, WEIGHING
from tokenizers import AddedToken, Tokenizer, models
from transformers import PreTrainedTokenizerFast

from radrl.credit.base import Rollouts
from radrl.credit.build import build
from radrl.credit.gradient import Gradient
from radrl.credit.tf_idf import TfIdf
from radrl.credit.uniform import Uniform
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.parts.find import PartError
from radrl.policy import tiny
from radrl.policy.spans import ByteLevelSpans

OWN = ("th", "e he", "art", "is", "bi", "<report>", "</report>", "<think>", "</think>")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Letters, and pieces that no pre-tokeniser would cut so."""
    built = tiny.train_tokenizer(["a"], 270)
    built.add_tokens([AddedToken(piece, normalized=False) for piece in OWN])
    return built


@pytest.fixture(scope="module")
def spans(tokenizer: PreTrainedTokenizerFast) -> ByteLevelSpans:
    return ByteLevelSpans(tokenizer)


def wrote(
    tokenizer: PreTrainedTokenizerFast, *outputs: str, group: int = 1, reference: str = "big", **more: Any
) -> Rollouts:
    """Outputs whose tokens are parted by "|"; a blank is byte-level BPE's "Ġ"."""
    ids = [
        tokenizer.convert_tokens_to_ids([x if x in OWN else x.replace(" ", "Ġ") for x in output.split("|")])
        for output in outputs
    ]
    ended = [[*own, tokenizer.eos_token_id] for own in ids]
    films = [f"s{i // group}" for i in range(len(outputs))]
    texts = [output.replace("|", "") for output in outputs]
    return Rollouts(ended, texts, [reference] * len(outputs), films, group, **more)


def rounded(values: Sequence[np.ndarray]) -> list[list[float]]:
    return [row.round(6).tolist() for row in values]


def test_tf_idf_by_hand(tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans) -> None:
    """Two films of two rollouts. "b" is once in one of two: 1 + 4 * 1/2 * ln 2; what both say weighs 1."""
    rollouts = wrote(tokenizer, "a|b", "a|c|c", "a|a", "a|b|b|a", group=2)
    found = TfIdf(spans, alpha=4.0, tf="relative", idf="plain").weigh(rollouts)
    half, third = 4 / 2 * log(2), 4 * 2 / 3 * log(2)
    wanted = [[1, 1 + half, 1], [1, *[1 + third] * 2, 1], [1, 1, 1], [1, 1 + half, 1 + half, 1, 1]]
    assert rounded(found.values) == [pytest.approx(row, abs=1e-6) for row in wanted]


def test_tf_idf_counts_the_reports_tokens_alone(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans
) -> None:
    """b in the reasoning is no term, nor are tags and stripped blanks: L = 2 and 1, b in one of two."""
    one = "<think>|b|</think>|<report>| |b|a| |</report>"
    other = "<think>|b|b|</think>|<report>|a|</report>"
    rollouts = wrote(tokenizer, one, other, group=2, form="think_report")
    found = TfIdf(spans, alpha=4.0, tf="relative", idf="plain").weigh(rollouts)
    first = [1.0] * 10
    first[5] = 1 + 4 / 2 * log(2)
    assert rounded(found.values) == [pytest.approx(first, abs=1e-6), [1.0] * 8]


def test_rollouts_without_a_report_weigh_1(tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans) -> None:
    rollouts = wrote(tokenizer, "a|b", "b", group=2, form="think_report")
    found = TfIdf(spans, alpha=4.0, tf="raw", idf="sklearn").weigh(rollouts)
    assert rounded(found.values) == [[1.0] * 3, [1.0] * 2]


def test_gradient_by_hand(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans, energy: CheXbertLabeler
) -> None:
    """The labeler reads x (2.4), heart (5), is (2), big (1); a token takes the most of what it touches.

    Reference "big big": energy 2, Cardiomegaly 1/2 * 2 = 1 is no more than blank's 1, Edema 3/2 * 2 = 3 is:
    s = 3 |E|, and beta 1/2 makes the weights 1 + 1.5 |E|.
    """
    rollouts = wrote(tokenizer, "x|e he|art| |is| |bi|g", reference="big big")
    rollouts = replace(rollouts, outputs=["xe heart is big"])
    found = Gradient(spans, energy, **WEIGHING).weigh(rollouts)
    x, e, heart, of_is, big = 2.4, 0.5, 5.0, 2.0, 1.0
    norms = [x, max(e, heart), heart, 0, of_is, 0, big, big]
    assert rounded(found.values) == [pytest.approx([*(1 + 1.5 * n for n in norms), 1.0])]
    assert found.spans[0].tolist()[:3] == [[0, 1], [1, 5], [5, 8]]


def test_gradient_is_laid_on_the_report_alone(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans, energy: CheXbertLabeler
) -> None:
    """Reference "is": energy 4, both findings positive, s = (1 + 3) |E|; the reasoning has the same words."""
    output = "<think>|is|</think>|<report>| |is| |bi|g|</report>"
    rollouts = wrote(tokenizer, output, reference="is", form="think_report")
    found = Gradient(spans, energy, **WEIGHING).weigh(rollouts)
    assert rounded(found.values) == [[1, 1, 1, 1, 1, 5.0, 1, 3.0, 3.0, 1, 1]]


def test_saliencies_may_be_normalised(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans, energy: CheXbertLabeler
) -> None:
    rollouts = wrote(tokenizer, "is| |bi|g", reference="is")
    found = Gradient(spans, energy, **WEIGHING | {"normalise": "max"}).weigh(rollouts)
    assert rounded(found.values) == [[1.5, 1.0, 1.25, 1.25, 1.0]]


def test_reference_without_a_positive_label_gives_1(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans, energy: CheXbertLabeler
) -> None:
    rollouts = wrote(tokenizer, "is| |bi|g", reference="a")
    assert rounded(Gradient(spans, energy, **WEIGHING).weigh(rollouts).values) == [[1.0] * 5]


@pytest.mark.parametrize("positive", [True, False])
def test_reports_are_read_once_for_gradient_and_reward(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans, energy: CheXbertLabeler, positive: bool
) -> None:
    """Three texts and a reference: four pass through the model, and the reward's calls add none."""
    reference = "is" if positive else "a"
    rollouts = wrote(tokenizer, "is", "bi|g", "is", "x", group=4, reference=reference)
    Gradient(spans, energy, **WEIGHING).weigh(rollouts)
    model: Any = energy.model
    read = list(model.read)
    assert sum(read) == 4
    labels = energy.label(rollouts.reports)
    energy.label(rollouts.references)
    assert model.read == read
    fresh = CheXbertLabeler(energy.model, energy.tokenizer)
    assert fresh.label(rollouts.reports).tolist() == labels.tolist()


def test_cut_group_is_refused(tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans) -> None:
    credit = TfIdf(spans, alpha=4.0, tf="relative", idf="plain")
    whole = wrote(tokenizer, "a", "a", "b", "b", group=2)
    credit.weigh(whole)
    said = r"film s0 has only some of its own .* let training\.prompts_per_step be a multiple"
    with pytest.raises(ValueError, match=said):
        credit.weigh(replace(whole, sample_ids=["s0", "s1", "s1", "s0"]))
    with pytest.raises(ValueError, match=r"compares the 4 rollouts of a film, but film s0"):
        credit.weigh(wrote(tokenizer, "a", "a", "a", group=4))


def test_output_that_its_tokens_do_not_decode_to_is_refused(
    tokenizer: PreTrainedTokenizerFast, spans: ByteLevelSpans
) -> None:
    rollouts = replace(wrote(tokenizer, "a| "), outputs=["a"])
    with pytest.raises(ValueError, match="an output on film s0 is not what its tokens decode to"):
        TfIdf(spans, alpha=4.0, tf="relative", idf="plain").weigh(rollouts)


def test_credit_is_built_by_name(tokenizer: PreTrainedTokenizerFast, energy: CheXbertLabeler) -> None:
    def labeler(name: str) -> Any:
        return {"chexbert_compact": energy, "rules": RulesLabeler()}[name]

    rule = {"alpha": 2.0, "tf": "raw", "idf": "smooth"}
    assert isinstance(build("uniform", tokenizer, labeler), Uniform)
    found = build({"tf_idf": rule, "gradient": None}, tokenizer, labeler)
    assert isinstance(found, TfIdf)
    assert (found.alpha, found.tf, found.idf) == (2.0, "raw", "smooth")
    built = build(GRADIENT, tokenizer, labeler)
    assert isinstance(built, Gradient)
    assert built.labeler is energy
    with pytest.raises(ValueError, match=r"credit\.gradient\.labeler is rules, which has no gradients"):
        build({"gradient": WEIGHING | {"labeler": "rules"}}, tokenizer, labeler)
    for wrong in ({}, {"tf_idf": rule, "gradient": WEIGHING}):
        with pytest.raises(ValueError, match="give one of uniform, tf_idf, gradient"):
            build(wrong, tokenizer, labeler)
    with pytest.raises(PartError, match="no credit 'unifrm'; did you mean 'uniform'"):
        build("unifrm", tokenizer, labeler)


def test_tokenizer_without_bytes_is_refused(energy: CheXbertLabeler) -> None:
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    with pytest.raises(ValueError, match="needs byte-level BPE"):
        build({"tf_idf": {"alpha": 1.0, "tf": "raw", "idf": "plain"}}, words, lambda _: energy)
