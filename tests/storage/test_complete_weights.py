"""Weights of each family that are not all there, or no numbers, are refused by file and name."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from damaged_weights import DAMAGES, damage, shard, tensor
from safetensors.torch import load_file, save_file

from radrl.policy import families, folder
from radrl.storage import complete_weights
from radrl.storage.complete_weights import INDEX, SINGLE, WeightsError, check_state, not_finite

ONE = "layers.1.mlp.down_proj.weight"
"""Of the language model, which every family publishes under another name."""


@pytest.fixture(params=["single", "sharded"])
def own(family_folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A policy of each family to damage."""
    target = tmp_path / "policy"
    shutil.copytree(family_folder, target)
    if request.param == "sharded":
        shard(target)
    return target


def whole(path: Path) -> None:
    folder.load(path)


def unloaded(path: Path) -> None:
    folder.check_weights(path)


@pytest.mark.parametrize("look", [whole, unloaded])
@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_named_by_file_and_tensor(own: Path, kind: str, look: Callable[[Path], None]) -> None:
    file, name = tensor(own, ONE)
    damage(file, name, kind)
    said = DAMAGES[kind][1].format(re.escape(name))
    # of several files the index says where a tensor should lie; one that nobody knows lies where it lies
    with pytest.raises(WeightsError, match=rf"^{own}: {file.name} {said}.*\. Copy the folder again"):
        look(own)


def test_whole_weights_load_as_they_are(
    own: Path, family_folder: Path, weights: Callable[[Any], Any], same: Callable[..., bool]
) -> None:
    loaded = folder.load(own)
    plain = families.family_of_folder(family_folder).model_class().from_pretrained(family_folder)
    assert same(weights(loaded), plain.state_dict())


def test_a_head_that_is_not_tied_is_missed_and_one_that_is_tied_is_not(family_folder: Path) -> None:
    tied = json.loads((family_folder / "config.json").read_text())["tie_word_embeddings"]
    assert ("lm_head.weight" in load_file(family_folder / SINGLE)) is not tied
    folder.load(family_folder)


def test_an_untied_head_that_lacks_is_named(family_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(family_folder, tmp_path / "own")
    config = json.loads((family_folder / "config.json").read_text())
    untied = {"tie_word_embeddings": False}
    text = {"text_config": config["text_config"] | untied}
    (tmp_path / "own/config.json").write_text(json.dumps(config | untied | text))
    held = load_file(tmp_path / "own" / SINGLE)
    held.pop("lm_head.weight", None)
    save_file(held, tmp_path / "own" / SINGLE, metadata={"format": "pt"})
    with pytest.raises(WeightsError, match=rf"{SINGLE} lacks (language_model\.)?lm_head\.weight\. "):
        folder.load(tmp_path / "own")


@pytest.fixture
def copy(policy_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(policy_folder, tmp_path / "policy")
    return tmp_path / "policy"


@pytest.mark.parametrize("look", [whole, unloaded])
def test_all_that_is_wrong_is_said_at_once(copy: Path, look: Callable[[Path], None]) -> None:
    held = load_file(copy / SINGLE)
    layers = sorted(name for name in held if name.startswith("model.layers.0."))
    for name in layers:
        del held[name]
    held |= {"b.extra": torch.zeros(1), "a.extra": torch.zeros(1)}
    save_file(held, copy / SINGLE, metadata={"format": "pt"})
    with pytest.raises(WeightsError) as refused:
        look(copy)
    lacks = f"{', '.join(layers[:3])} and {len(layers) - 3} more"
    assert f"{SINGLE} has a.extra, b.extra, unknown to the model; {SINGLE} lacks {lacks}. " in str(
        refused.value
    )


@pytest.mark.parametrize("look", [whole, unloaded])
def test_files_that_are_not_there_or_damaged_are_named(copy: Path, look: Callable[[Path], None]) -> None:
    shard(copy)
    second = copy / "model-00002-of-00002.safetensors"
    content = second.read_bytes()
    second.write_bytes(content[:-5])
    with pytest.raises(WeightsError, match=rf"{second.name} is cut short or damaged \(.+\)\. Copy"):
        look(copy)
    second.unlink()
    with pytest.raises(WeightsError, match=rf"{second.name} is not there, and {INDEX} has tensors of it"):
        look(copy)
    (copy / INDEX).write_text("{}")
    with pytest.raises(WeightsError, match=rf"{INDEX} is no index of shards"):
        look(copy)
    (copy / INDEX).unlink()
    with pytest.raises(WeightsError, match=f"has neither {SINGLE} nor {INDEX}"):
        look(copy)


def test_numbers_that_a_dtype_does_not_hold_are_told_from_damaged_ones(copy: Path) -> None:
    held = load_file(copy / SINGLE)
    held["model.norm.weight"][0] = 1e5  # float16 ends at 65 504
    save_file(held, copy / SINGLE, metadata={"format": "pt"})
    folder.load(copy)
    with pytest.raises(
        WeightsError, match=r"model\.norm\.weight are finite in the file and not in torch\.float16"
    ):
        folder.load(copy, dtype="float16")


def test_no_table_is_printed_beside_the_message(
    copy: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("transformers")
    monkeypatch.setattr(logger, "propagate", False)  # with CI set, it hands its records to the root too
    logger.addHandler(caplog.handler)
    try:
        damage(*tensor(copy, ONE), "gone")
        with pytest.raises(WeightsError):
            folder.load(copy)
        families.family_of_folder(copy).model_class().from_pretrained(copy)
    finally:
        logger.removeHandler(caplog.handler)
    assert caplog.text.count("LOAD REPORT") == 1  # of the last line's, which nobody keeps quiet


def test_names_alone_are_looked_at_where_numbers_are_known(copy: Path) -> None:
    file, name = tensor(copy, ONE)
    damage(file, name, "nan")
    folder.check_weights(copy, numbers=False)
    damage(file, name, "odd")
    with pytest.raises(WeightsError, match="of shape"):
        folder.check_weights(copy, numbers=False)


def test_numbers_of_every_kind_of_tensor() -> None:
    eighth = torch.tensor([1.0, torch.nan]).to(torch.float8_e4m3fn)
    found = {
        "fine": torch.tensor([-3e38, 3e38]),
        "counts": torch.tensor([1, 2]),
        "none": torch.zeros(0),
        "shapes": torch.empty(3, device="meta"),
        "nan": torch.tensor([[0.0, torch.nan]], dtype=torch.bfloat16),
        "inf": torch.tensor([torch.inf], dtype=torch.float16),
        "minus": torch.tensor([-torch.inf]),
        "eighth": eighth,
    }
    assert not_finite(found.items()) == ["nan", "inf", "minus", "eighth"]


def test_a_state_is_held_against_a_modules(tmp_path: Path) -> None:
    wanted = {"a": torch.empty(2, device="meta"), "b": torch.empty(3, 4, device="meta")}
    fine = {"a": torch.zeros(2), "b": torch.zeros(3, 4)}
    check_state(fine, wanted, Path("f"), mend="Mend.")
    for found, said in (
        ({"a": fine["a"]}, "f lacks b. Mend."),
        (fine | {"c": fine["a"]}, "f has unknown c. Mend."),
        (fine | {"a": fine["b"]}, "f has a of shape (3, 4), not (2,). Mend."),
        (fine | {"b": torch.full((3, 4), torch.nan)}, "f has NaN or infinity in b. Mend."),
    ):
        with pytest.raises(WeightsError) as refused:
            check_state(found, wanted, Path("f"), mend="Mend.")
        assert str(refused.value) == said


def test_a_model_in_memory_is_looked_at_but_for_what_it_makes_itself() -> None:
    model = torch.nn.BatchNorm1d(2)
    model.register_buffer("mask", torch.tensor([-torch.inf]), persistent=False)
    complete_weights.check_numbers(model, "it")
    model.running_var[0] = torch.nan
    with pytest.raises(WeightsError, match=r"^it has NaN or infinity in running_var\. Mend$"):
        complete_weights.check_numbers(model, "it", mend="Mend")
