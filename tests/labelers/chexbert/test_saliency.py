"""Saliencies against central finite differences, and in the place where each report and token was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import BertTokenizer

from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.chexbert.model import CheXbert
from radrl.labelers.chexbert.saliency import gradients, token_saliency
from radrl.observations import INDEX, NO_FINDING

BoolMatrix = npt.NDArray[np.bool_]


@pytest.fixture
def exact(make_model: Callable[..., CheXbert], tokenizer: BertTokenizer) -> CheXbertLabeler:
    return CheXbertLabeler(make_model().double(), tokenizer)


def choose(*rows: tuple[str, ...]) -> BoolMatrix:
    chosen = np.zeros((len(rows), 14), dtype=bool)
    for row, names in zip(chosen, rows, strict=True):
        row[[INDEX[name] for name in names]] = True
    return chosen


def some(count: int) -> BoolMatrix:
    return np.random.default_rng(0).random((count, 14)) < 0.3


def target(
    model: CheXbert, ids: list[int], embeddings: torch.Tensor, chosen: BoolMatrix, uncertain: bool
) -> float:
    """S of eq. 9, one report alone."""
    with torch.no_grad():
        heads = model(None, torch.ones(1, len(ids)), inputs_embeds=embeddings[None])
    total = sum(heads[i][0, 1].item() for i in range(14) if chosen[i])
    return total + (sum(heads[i][0, 3].item() for i in range(13) if chosen[i]) if uncertain else 0.0)


def by_differences(labeler: CheXbertLabeler, report: str, chosen: BoolMatrix, uncertain: bool) -> list[float]:
    """Norms of the gradient by central differences over every number of every token's embedding."""
    step = 1e-5
    ids = labeler.encode([report])[0].ids
    embeddings = labeler.model.bert.embeddings.word_embeddings.weight.detach()[ids]  # (L, hidden)
    slopes = torch.zeros_like(embeddings)
    for at in np.ndindex(*embeddings.shape):
        moved = [embeddings.clone(), embeddings.clone()]
        moved[0][at] += step
        moved[1][at] -= step
        up, down = (target(labeler.model, ids, those, chosen, uncertain) for those in moved)
        slopes[at] = (up - down) / (2 * step)
    norms: list[float] = slopes.norm(dim=1)[1:-1].tolist()
    return norms


@pytest.mark.parametrize("uncertain", [False, True])
@pytest.mark.parametrize(
    "names", [("Cardiomegaly",), ("No Finding",), ("Pleural Effusion", "Edema", "No Finding")]
)
def test_saliency_is_the_gradients_norm(
    exact: CheXbertLabeler, names: tuple[str, ...], uncertain: bool
) -> None:
    report, chosen = "The heart is enlarged.\n Small pleural effusions", choose(names)
    wanted = by_differences(exact, report, chosen[0], uncertain)
    # another report beside it, longer, so that this one is padded
    beside = np.vstack([chosen, some(1)])
    found = token_saliency(exact, [report, report * 2], beside, uncertain=uncertain)
    np.testing.assert_allclose(found.reports[0].values, wanted, rtol=1e-6, atol=1e-9)
    assert min(wanted) > 1e-4


def test_uncertain_adds_nothing_to_no_finding(exact: CheXbertLabeler) -> None:
    chosen = choose(("No Finding",))
    assert chosen[0, NO_FINDING]
    plain, with_uncertain = (
        token_saliency(exact, ["the heart"], chosen, uncertain=uncertain).reports[0].values
        for uncertain in (False, True)
    )
    assert plain.tolist() == with_uncertain.tolist()


@pytest.mark.parametrize("tokens", [1, 50, 10_000])
def test_padding_and_neighbours_change_no_value(
    labeler: CheXbertLabeler, reports: list[str], tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("radrl.labelers.chexbert.saliency.BATCH", tokens)
    chosen = some(len(reports))
    found = token_saliency(labeler, reports, chosen)
    for i, report in enumerate(reports):
        alone = token_saliency(labeler, [report], chosen[[i]])
        np.testing.assert_allclose(found.reports[i].values, alone.reports[0].values, rtol=1e-4, atol=1e-6)
        assert found.reports[i].spans.tolist() == alone.reports[0].spans.tolist()


def test_in_double_precision_padding_changes_nothing_beyond_1e_9(
    exact: CheXbertLabeler, reports: list[str]
) -> None:
    chosen = some(len(reports))
    found = token_saliency(exact, reports, chosen)
    for i, report in enumerate(reports):
        alone = token_saliency(exact, [report], chosen[[i]]).reports[0].values
        np.testing.assert_allclose(found.reports[i].values, alone, rtol=0, atol=1e-9)


def test_report_without_a_chosen_observation_has_zeros(labeler: CheXbertLabeler) -> None:
    found = token_saliency(labeler, ["the heart", "the heart"], choose((), ("Edema",)))
    assert found.reports[0].values.tolist() == [0.0, 0.0]
    assert (found.reports[1].values > 0).all()
    assert found.reports[0].spans.tolist() == found.reports[1].spans.tolist() == [[0, 3], [4, 9]]


def test_empty_report_has_no_tokens(labeler: CheXbertLabeler) -> None:
    found = token_saliency(labeler, ["", " \n"], choose(("Edema",), ("Edema",)))
    assert [report.spans.shape for report in found.reports] == [(0, 2)] * 2
    assert [report.values.shape for report in found.reports] == [(0,)] * 2
    assert not found.labels.any()


def test_no_reports_give_nothing(labeler: CheXbertLabeler) -> None:
    found = token_saliency(labeler, [], choose())
    assert found.reports == []
    assert found.labels.shape == (0, 14)


def test_spans_point_into_the_text_as_given(labeler: CheXbertLabeler) -> None:
    report = "\n The  HEART\tis\x0ccafé ___ XX."
    [found] = token_saliency(labeler, [report], choose(("Edema",))).reports
    cut = [report[start:end] for start, end in found.spans]
    assert cut == ["The", "HEART", "is", "café", "_", "_", "_", "X", "X", "."]
    assert len(found.values) == len(cut)


def test_what_was_cut_has_no_token(labeler: CheXbertLabeler) -> None:
    [found] = token_saliency(labeler, ["heart " * 700], choose(("Edema",))).reports
    assert len(found.values) == 510
    assert found.spans[-1].tolist() == [509 * 6, 509 * 6 + 5]


def test_labels_are_those_of_the_labeler_and_remembered(
    make_model: Callable[..., CheXbert], tokenizer: BertTokenizer, reports: list[str]
) -> None:
    chosen = some(len(reports))
    chosen[::5] = False
    labeler = CheXbertLabeler(make_model(), tokenizer)
    found = token_saliency(labeler, reports, chosen)
    assert found.labels.dtype == np.int8
    assert found.labels.tolist() == CheXbertLabeler(make_model(), tokenizer).label(reports).tolist()

    labeler.model.register_forward_hook(lambda *_: pytest.fail("read a second time"))
    assert labeler.label(reports).tolist() == found.labels.tolist()


def test_same_text_and_choice_are_read_once(
    make_model: Callable[..., CheXbert], tokenizer: BertTokenizer
) -> None:
    model, sizes = make_model(), []
    model.register_forward_pre_hook(lambda _, seen: sizes.append(len(seen[1])))
    labeler = CheXbertLabeler(model, tokenizer)
    edema, none = ("Edema",), ()
    found = token_saliency(labeler, ["the heart"] * 4, choose(edema, ("Fracture",), edema, none))
    assert sum(sizes) == 2
    assert found.reports[0].values.tolist() == found.reports[2].values.tolist()
    assert found.reports[0].values.tolist() != found.reports[1].values.tolist()


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_gradients_flow_where_a_trainer_turned_them_off(
    labeler: CheXbertLabeler, off: Callable[[], torch.no_grad]
) -> None:
    wanted = token_saliency(labeler, ["the heart"], choose(("Edema",))).reports[0].values
    with off():
        found = token_saliency(labeler, ["the heart"], choose(("Edema",))).reports[0].values
    assert found.tolist() == wanted.tolist()


def test_no_weight_gets_a_gradient(labeler: CheXbertLabeler) -> None:
    token_saliency(labeler, ["the heart"], choose(("Edema",)))
    assert all(parameter.grad is None for parameter in labeler.model.parameters())


def test_gradients_of_a_batch_are_those_of_its_reports(exact: CheXbertLabeler) -> None:
    ids = torch.tensor([[40, 3, 17, 41], [40, 9, 2, 41]])
    embeddings = exact.model.bert.embeddings.word_embeddings(ids).detach()
    chosen = torch.from_numpy(some(2))
    labels, both = gradients(exact.model, embeddings, torch.ones_like(ids), chosen)
    assert labels.shape == (2, 14)
    for i in range(2):
        _, alone = gradients(exact.model, embeddings[[i]], torch.ones(1, 4), chosen[[i]])
        torch.testing.assert_close(both[i], alone[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("chosen", [np.zeros((2, 14), bool), np.zeros((1, 13), bool), np.zeros((1, 14))])
def test_choice_of_another_shape_is_refused(labeler: CheXbertLabeler, chosen: BoolMatrix) -> None:
    with pytest.raises(ValueError, match=r"chosen is .*, not bool \(1, 14\): one row a report"):
        token_saliency(labeler, ["the heart"], chosen)


def test_report_that_is_no_text_is_named(labeler: CheXbertLabeler) -> None:
    with pytest.raises(TypeError, match="report 0 is NoneType"):
        token_saliency(labeler, [None], choose(("Edema",)))  # type: ignore[list-item]
