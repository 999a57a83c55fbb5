"""Labels of a CheXbert: the argmax of each head, whatever else is asked beside a report or was before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertTokenizer

from radrl.labelers.chexbert.labeler import CheXbertLabeler, classes
from radrl.labelers.chexbert.model import CheXbert, Encoded, by_length, pad


class Counting(CheXbert):
    """Notes the shape of every batch it reads."""

    shapes: list[tuple[int, ...]]

    @classmethod
    def of(cls, model: CheXbert) -> Counting:
        model.__class__ = cls
        counting: Counting = model  # type: ignore[assignment]
        counting.shapes = []
        return counting

    def forward(self, input_ids: Any, attention_mask: Any, inputs_embeds: Any = None) -> list[torch.Tensor]:
        self.shapes.append(tuple(attention_mask.shape))
        return super().forward(input_ids, attention_mask, inputs_embeds)


@pytest.fixture
def counting(model: CheXbert) -> Counting:
    return Counting.of(model)


def one_by_one(model: CheXbert, tokenizer: BertTokenizer, reports: Sequence[str]) -> list[list[int]]:
    rows = []
    for report in reports:
        ids = torch.tensor([tokenizer(report)["input_ids"]])
        with torch.no_grad():
            rows.append([int(head.argmax()) for head in model(ids, torch.ones_like(ids))])
    return rows


def test_labels_are_the_argmax_of_each_head_one_by_one(
    labeler: CheXbertLabeler, model: CheXbert, tokenizer: BertTokenizer, reports: list[str]
) -> None:
    labels = labeler.label(reports)
    assert labels.dtype == np.int8
    assert labels.tolist() == one_by_one(model, tokenizer, reports)
    assert len(np.unique(labels, axis=0)) > 5
    assert set(labels[:, :13].ravel()) == {0, 1, 2, 3}
    assert set(labels[:, 13]) <= {0, 1}


@pytest.mark.parametrize("tokens", [1, 40, 10_000])
def test_batches_do_not_change_labels(
    model: CheXbert,
    tokenizer: BertTokenizer,
    reports: list[str],
    tokens: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("radrl.labelers.chexbert.labeler.CPU_BATCH", tokens)
    labeler = CheXbertLabeler(model, tokenizer)
    alone = [labeler.label([report])[0].tolist() for report in reversed(reports)]
    fresh = CheXbertLabeler(model, tokenizer)
    assert fresh.label(reports).tolist() == alone[::-1]


def test_first_of_equal_classes_is_taken(model: CheXbert, tokenizer: BertTokenizer) -> None:
    for head in model.linear_heads:
        torch.nn.init.zeros_(head.weight)
        torch.nn.init.zeros_(head.bias)
    assert not CheXbertLabeler(model, tokenizer).label(["the heart", "no effusion"]).any()


def test_report_without_a_token_is_blank_and_not_read(counting: Counting, tokenizer: BertTokenizer) -> None:
    for head in counting.linear_heads:
        torch.nn.init.constant_(head.bias[1], 100.0)
    labels = CheXbertLabeler(counting, tokenizer).label(["", " \n", "\u200b", "the heart"])
    assert labels.tolist() == [[0] * 14] * 3 + [[1] * 14]
    assert counting.shapes == [(1, 4)]


def test_no_reports_give_no_rows(labeler: CheXbertLabeler) -> None:
    assert labeler.label([]).shape == (0, 14)
    assert labeler.label([]).dtype == np.int8


@pytest.mark.parametrize("report", [None, 3, float("nan"), b"text"])
def test_report_that_is_no_text_is_named(labeler: CheXbertLabeler, report: Any) -> None:
    with pytest.raises(TypeError, match=f"report 1 is {type(report).__name__}, not text: leave missing"):
        labeler.label(["the heart", report])


def test_each_text_is_read_once(counting: Counting, tokenizer: BertTokenizer) -> None:
    labeler = CheXbertLabeler(counting, tokenizer)
    first = labeler.label(["the heart", "no effusion", "the heart"])
    assert sum(size for size, _ in counting.shapes) == 2
    again = labeler.label(["no effusion", "the heart", "lung clear"])
    assert sum(size for size, _ in counting.shapes) == 3
    assert again[:2].tolist() == first[[1, 0]].tolist()


def test_least_recently_asked_text_is_forgotten(counting: Counting, tokenizer: BertTokenizer) -> None:
    labeler = CheXbertLabeler(counting, tokenizer, cache_size=2)
    for text in ("the heart", "no effusion", "the heart", "lung clear"):
        labeler.label([text])
    assert len(counting.shapes) == 3
    labeler.label(["the heart", "lung clear"])
    assert len(counting.shapes) == 3
    labeler.label(["no effusion"])
    assert len(counting.shapes) == 4


def test_more_texts_than_are_remembered_are_all_labelled(
    model: CheXbert, tokenizer: BertTokenizer, reports: list[str]
) -> None:
    wanted = CheXbertLabeler(model, tokenizer).label(reports)
    for size in (0, 3):
        labeler = CheXbertLabeler(model, tokenizer, cache_size=size)
        assert labeler.label(reports).tolist() == wanted.tolist()
        assert labeler.label(reports).tolist() == wanted.tolist()


def test_changing_a_result_changes_no_later_one(labeler: CheXbertLabeler) -> None:
    wanted = labeler.label(["the heart"]).tolist()
    labeler.label(["the heart"])[:] = 9
    assert labeler.label(["the heart"]).tolist() == wanted


def test_a_trainers_autocast_does_not_reach_the_labels(model: CheXbert, tokenizer: BertTokenizer) -> None:
    dtypes = []
    model.linear_heads[0].register_forward_hook(lambda *seen: dtypes.append(seen[2].dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        CheXbertLabeler(model, tokenizer).label(["the heart"])
    assert dtypes == [torch.float32]


def test_model_in_training_mode_is_read_without_dropout(
    make_model: Callable[..., CheXbert], tokenizer: BertTokenizer, reports: list[str]
) -> None:
    trained = CheXbertLabeler(make_model().train(), tokenizer).label(reports)
    assert trained.tolist() == CheXbertLabeler(make_model(), tokenizer).label(reports).tolist()


def test_long_report_is_cut_to_the_models_positions(
    make_model: Callable[..., CheXbert], tokenizer: BertTokenizer
) -> None:
    labeler = CheXbertLabeler(make_model(max_position_embeddings=8), tokenizer)
    kept, beyond = "the heart is enlarged no effusion", " lung clear" * 400
    assert [len(report.ids) for report in labeler.encode([kept, kept + beyond])] == [8, 8]
    labels = labeler.label([kept, kept + beyond])
    assert labels[0].tolist() == labels[1].tolist()


def test_broken_weights_raise(model: CheXbert, tokenizer: BertTokenizer) -> None:
    torch.nn.init.constant_(model.linear_heads[5].bias, torch.inf)
    with pytest.raises(ValueError, match="logits are not finite"):
        CheXbertLabeler(model, tokenizer).label(["the heart"])


def test_from_folder_labels_as_the_model(saved: Path, labeler: CheXbertLabeler, reports: list[str]) -> None:
    loaded = CheXbertLabeler.from_folder(saved, name="chexbert_compact")
    assert loaded.name == "chexbert_compact"
    assert loaded.device == torch.device("cpu")
    assert loaded.label(reports).tolist() == labeler.label(reports).tolist()
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_labels_on_a_gpu_are_those_of_the_cpu(
    saved: Path, labeler: CheXbertLabeler, reports: list[str]
) -> None:
    on_gpu = CheXbertLabeler.from_folder(saved, device="cuda")
    assert on_gpu.label(reports).tolist() == labeler.label(reports).tolist()


def test_a_cache_of_less_than_nothing_is_refused(model: CheXbert, tokenizer: BertTokenizer) -> None:
    with pytest.raises(ValueError, match="cache_size -1"):
        CheXbertLabeler(model, tokenizer, cache_size=-1)


def test_batches_hold_each_report_once_within_their_tokens() -> None:
    lengths = [3, 9, 2, 30, 4, 9, 8]
    batches = list(by_length(lengths, 18))
    assert batches == [[3], [1, 5], [6, 4], [0, 2]]  # 30 alone, 2 x 9, 2 x 8, 2 x 3
    assert all(len(batch) * max(lengths[i] for i in batch) <= 18 for batch in batches[1:])


def test_padding_is_masked() -> None:
    ids, mask = pad([Encoded([7, 8], []), Encoded([7, 5, 8], [(0, 1)])], 0, torch.device("cpu"))
    assert ids.tolist() == [[7, 8, 0], [7, 5, 8]]
    assert mask.tolist() == [[1, 1, 0], [1, 1, 1]]


def test_classes_keep_the_order_of_the_heads() -> None:
    heads = [torch.eye(4)[[i % 4]] for i in range(13)] + [torch.tensor([[0.0, 1.0]])]
    assert classes(heads).tolist() == [[i % 4 for i in range(13)] + [1]]
