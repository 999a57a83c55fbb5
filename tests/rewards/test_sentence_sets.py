"""Distances of sentence sets as a reward, with an encoder of random weights that the test makes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast

from radrl.rewards.base import Part, RewardError, RewardSum
from radrl.rewards.sentence_sets import Encoder, SentenceSets, SentenceSetsSection, sentences

WORDS = ["no", "heart", "is", "normal", "left", "right", "effusion", "edema", "small", "a", "the", ".", ";"]
TRUTH = "Heart is normal. Small left effusion."
Worth = Callable[..., list[float]]


def write(folder: Path, kind: type = BertModel) -> Path:
    folder.mkdir(parents=True)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=34,
        initializer_range=0.5,
    )
    kind(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("plain") / "encoder")


FLAGS: dict[str, Any] = {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": False}
"""How the encoder of `layered` pools, as releases before 5.4 write it."""


def layered(encoder: Path, folder: Path, *, pooling: dict[str, Any] = FLAGS, step: str = "Normalize") -> Path:
    """The same encoder as sentence-transformers lays it out."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Last": step}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    for file in encoder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"embedding_dimension": 16, **pooling}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 5}))
    return folder


def test_sentences_as_they_stand() -> None:
    text = "Heart is normal. A 1.5 cm nodule;\nno effusion!  -- \n\nLines: two"
    assert sentences(text) == ["Heart is normal.", "A 1.5 cm nodule;", "no effusion!", "Lines: two"]
    assert sentences(" \n. ") == []


def test_mean_of_tokens_by_hand(encoder: Path) -> None:
    (vector,) = Encoder(encoder, pooling=None, batch_size=2, device="cpu").embed(["small effusion"])
    tokenizer, model = BertTokenizerFast.from_pretrained(encoder), BertModel.from_pretrained(encoder)
    read = tokenizer("small effusion", return_tensors="pt")
    with torch.inference_mode():
        mean = model.eval()(**read).last_hidden_state[0].double().mean(0).numpy()
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), rtol=1e-6)


def test_padding_has_no_part_in_it(encoder: Path) -> None:
    own = Encoder(encoder, pooling=None, batch_size=8, device="cpu")
    together = own.embed(["edema", "the heart is normal", "left left left"])
    np.testing.assert_allclose(together[0], own.embed(["edema"])[0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0)


def test_reward_by_hand(encoder: Path, worth: Worth) -> None:
    told = "Small left effusion."
    a, b = Encoder(encoder, pooling=None, batch_size=8, device="cpu").embed(["Heart is normal.", told])
    # of chamfer: the report's one sentence is there; of the reference's two one has it as its nearest
    away = 1 - float(a @ b)
    found = worth(SentenceSets(encoder=encoder), (TRUTH, told))
    assert found == [pytest.approx(1 - (0 + away / 2) / 2, abs=1e-6)]
    scaled = worth(SentenceSets(encoder=encoder, scale=0.5), (TRUTH, told))
    assert scaled == [pytest.approx(math.exp(-away / 4 / 0.5), abs=1e-6)]


def test_whole_reports_are_compared_by_the_cosine(encoder: Path, worth: Worth) -> None:
    a, b = Encoder(encoder, pooling=None, batch_size=8, device="cpu").embed([TRUTH, "No edema."])
    reward = SentenceSets(encoder=encoder, unit="report")
    assert worth(reward, (TRUTH, "No\n edema.")) == [pytest.approx(float(a @ b), abs=1e-6)]


@pytest.mark.parametrize("distance", ["chamfer", "hausdorff", "assignment", "energy", "mmd"])
def test_laws(encoder: Path, worth: Worth, distance: str) -> None:
    reward = SentenceSets(encoder=encoder, distance=distance, ground="euclidean")  # type: ignore[arg-type]
    turned = "Small left effusion. Heart is normal."
    same, moved, other, blank, both = worth(
        reward, (TRUTH, TRUTH), (TRUTH, turned), (TRUTH, "No edema."), (TRUTH, " \n"), ("", TRUTH)
    )
    assert (same, moved) == (pytest.approx(1, abs=1e-6), pytest.approx(1, abs=1e-6))
    assert blank < other < same
    assert math.isnan(both)
    assert reward.told == {"sentences": (2 + 2 + 1 + 0 + 2) / 5}
    assert list(reward([], [], [])) == []


@pytest.mark.parametrize("pooling", [FLAGS, {"pooling_mode": "cls"}, {"pooling_mode": ["cls"]}])
def test_the_folders_own_pooling_and_length(encoder: Path, tmp_path: Path, pooling: dict[str, Any]) -> None:
    own = Encoder(layered(encoder, tmp_path, pooling=pooling), pooling=None, batch_size=8, device="cpu")
    plain = Encoder(encoder, pooling="cls", batch_size=8, device="cpu")
    long = "the heart is normal small left effusion"
    # five tokens, two of them marks
    np.testing.assert_allclose(own.embed([long]), plain.embed(["the heart is"]), atol=1e-6)


def test_the_head_of_a_masked_language_model_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "masked", BertForMaskedLM)
    assert Encoder(folder, pooling=None, batch_size=8, device="cpu").embed(["edema"]).shape == (1, 16)


def test_what_is_no_encoder_is_refused(encoder: Path, tmp_path: Path) -> None:
    def refused(folder: Path, told: str) -> None:
        with pytest.raises(RewardError, match=told):
            SentenceSets("mine", encoder=folder)

    refused(tmp_path, "reward mine: no encoder in .*neither modules.json nor config.json")
    (tmp_path / "dense").mkdir()
    refused(layered(encoder, tmp_path / "dense", step="Dense"), "has a step Dense; known are Transformer")
    (tmp_path / "max").mkdir()
    flag = "pooling_mode_weightedmean"
    refused(layered(encoder, tmp_path / "max", pooling={flag: True}), f"pools by {flag}")
    for name, pooling, told in (
        ("last", {"pooling_mode": "lasttoken"}, "pools by lasttoken"),
        ("two", {"pooling_mode": ["cls", "mean"]}, "pools by cls, mean"),
        ("none", {"pooling_mode_cls_token": False}, "no pooling_mode is set"),
    ):
        (tmp_path / name).mkdir()
        refused(layered(encoder, tmp_path / name, pooling=pooling), told)


def test_weights_are_tried_before_training_begins(tmp_path: Path) -> None:
    folder = write(tmp_path / "encoder")
    reward = SentenceSets("mine", encoder=folder)
    with RewardSum([Part(reward, 1.0)]).opened() as about:
        assert about["mine.pooling"] == "mean"
        assert len(about["mine.encoder_sha256"]) == 64
    (folder / "model.safetensors").unlink()
    with (
        pytest.raises(RewardError, match=r"reward mine: .*has neither model\.safetensors nor"),
        RewardSum([Part(SentenceSets("mine", encoder=folder), 1.0)]).opened(),
    ):
        pass


def test_code_of_the_folder_is_not_run(tmp_path: Path) -> None:
    folder = write(tmp_path / "encoder")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["CXRBertModel"]}))
    with (
        pytest.raises(RewardError, match="class CXRBertModel, which transformers has not; its code is not"),
        RewardSum([Part(SentenceSets(encoder=folder), 1.0)]).opened(),
    ):
        pass


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong, told in (
        ({"distance": "energy"}, "set ground to euclidean"),
        ({"width": 2.0}, "width is of the kernel of mmd, and distance is chamfer"),
        ({"distance": "frechet"}, "'chamfer', 'hausdorff'"),
        ({"device": "abacus"}, "abacus"),
    ):
        with pytest.raises(ValidationError, match=told):
            SentenceSetsSection.model_validate({"encoder": "x", **wrong})
