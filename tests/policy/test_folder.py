"""Policies on disk: what is written is what is read, and what cannot be trusted is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from radrl.policy import folder
from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.storage.pointers import POINTER, PointerError

Logits = Callable[[Policy], torch.Tensor]


@pytest.fixture
def logits(films: Callable[..., list[bytes]], prompt: str) -> Logits:
    def run(policy: Policy) -> torch.Tensor:
        pictures = [[decode_film(film)] for film in films(2)]
        with torch.no_grad():
            found: torch.Tensor = policy.model(
                **encode_prompts(policy.processor, pictures, [prompt, "Write."])
            ).logits
        return found

    return run


@pytest.fixture
def copy(policy_folder: Path, tmp_path: Path) -> Path:
    """A policy folder to damage."""
    target = tmp_path / "policy"
    shutil.copytree(policy_folder, target)
    return target


def test_saved_and_loaded_policy_answers_the_same(policy: Policy, logits: Logits, tmp_path: Path) -> None:
    with torch.no_grad():
        policy.model.model.visual.patch_embed.proj.weight.mul_(1.5)
    before = logits(policy)
    folder.save(policy, tmp_path)
    loaded = folder.load(tmp_path)
    assert torch.equal(logits(loaded), before)
    assert not loaded.model.training


def test_what_is_saved_after_a_trainers_checkpoint_names_no_class_of_ours(
    policy: Policy, tmp_path: Path
) -> None:
    policy.processor.save_pretrained(tmp_path / "checkpoint")
    (tmp_path / "policy").mkdir()
    folder.save(policy, tmp_path / "policy")
    named = (tmp_path / "checkpoint/tokenizer_config.json").read_text()
    assert "FilmProcessor" in named  # or the rest would show nothing
    texts = [file.read_text() for file in (tmp_path / "policy").glob("*.json")]
    assert len(texts) >= 4
    assert not any("FilmProcessor" in text for text in texts)


def test_dtype_is_the_asked_one(policy_folder: Path) -> None:
    assert folder.load(policy_folder, dtype="bfloat16").model.dtype == torch.bfloat16


def test_missing_folder_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"no policy at .*gone: run the stage that writes it, or set policy.path"
    ):
        folder.load(tmp_path / "gone")


@pytest.mark.parametrize("part", ["config.json", "tokenizer_config.json", "preprocessor_config.json"])
def test_missing_part_is_named(copy: Path, part: str) -> None:
    (copy / part).unlink()
    with pytest.raises(FileNotFoundError, match=f"no complete Qwen2.5-VL folder: {part} is missing"):
        folder.load(copy)


def test_other_kind_of_model_is_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"model_type": "llava"}))
    with pytest.raises(ValueError, match="model_type 'llava'; radrl trains 'qwen2_5_vl'"):
        folder.load(copy)


def test_pickled_weights_are_refused(copy: Path) -> None:
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"no \*.safetensors: other weight files can run code"):
        folder.load(copy)


def test_code_that_came_with_a_folder_is_not_run(copy: Path, tmp_path: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    auto = {"AutoConfig": "evil.Config", "AutoModelForImageTextToText": "evil.Model"}
    (copy / "config.json").write_text(json.dumps(config | {"auto_map": auto}))
    tokenizer = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(
        json.dumps(tokenizer | {"auto_map": {"AutoTokenizer": [None, "evil.Tokenizer"]}})
    )
    (copy / "evil.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: ...\nclass Tokenizer: ...\n"
    )
    folder.load(copy)
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def pointer(copy: Path, tmp_path: Path) -> Path:
    made = tmp_path / "base"
    made.mkdir()
    folder.write_pointer(copy, made)
    return made


def test_pointer_leads_to_the_weights_and_copies_none(
    pointer: Path, copy: Path, policy: Policy, logits: Logits
) -> None:
    assert [file.name for file in pointer.iterdir()] == [POINTER]
    assert torch.equal(logits(folder.load(pointer)), logits(policy))
    digests = json.loads((pointer / POINTER).read_text())["sha256"]
    assert set(digests) == {file.name for file in copy.iterdir()}


def test_pointer_to_changed_weights_is_refused(pointer: Path, copy: Path) -> None:
    file = copy / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"model.safetensors has changed since the stage policy saw it"):
        folder.load(pointer)


def test_pointer_to_a_lost_file_is_refused(pointer: Path, copy: Path) -> None:
    (copy / "tokenizer.json").unlink()
    with pytest.raises(PointerError, match=r"tokenizer.json is gone; .*pointer.json points at it"):
        folder.load(pointer)


def test_pointer_to_an_incomplete_folder_is_not_made(copy: Path, tmp_path: Path) -> None:
    (copy / "preprocessor_config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"preprocessor_config\.json is missing"):
        folder.write_pointer(copy, tmp_path)


@pytest.fixture
def published(policy_folder: Path, policy: Policy, tmp_path: Path) -> Path:
    """The tests' policy laid out file by file as Qwen2.5-VL-3B-Instruct was published in January 2025."""
    target = tmp_path / "Qwen2.5-VL"
    target.mkdir()
    write = {
        "config.json": _published_config(json.loads((policy_folder / "config.json").read_text())),
        "generation_config.json": {
            "do_sample": True,
            "eos_token_id": [
                policy.processor.tokenizer.eos_token_id,
                policy.processor.tokenizer.pad_token_id,
            ],
            "pad_token_id": policy.processor.tokenizer.pad_token_id,
            "repetition_penalty": 1.05,
            "temperature": 1e-06,
        },
        "preprocessor_config.json": {
            "min_pixels": 56 * 56,
            "max_pixels": 56 * 56,
            "patch_size": 14,
            "temporal_patch_size": 2,
            "merge_size": 2,
            "image_mean": [0.48145466, 0.4578275, 0.40821073],
            "image_std": [0.26862954, 0.26130258, 0.27577711],
            "image_processor_type": "Qwen2VLImageProcessor",
            "processor_class": "Qwen2_5_VLProcessor",
        },
        **_published_tokenizer(policy),
    }
    for name, content in write.items():
        (target / name).write_text(content if isinstance(content, str) else json.dumps(content))
    shutil.copy(policy_folder / "model.safetensors", target)
    return target


def _published_config(config: dict[str, Any]) -> dict[str, Any]:
    """The flat layout: the language model's keys at the top, rope_scaling for rope_parameters."""
    text, vision = config["text_config"], config["vision_config"]
    rope = text.pop("rope_parameters")
    dropped = {"layer_types", "model_type", "dtype", "transformers_version", "vocab_size"}
    return {
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        **{key: value for key, value in text.items() if key not in dropped},
        "vocab_size": text["vocab_size"],
        "model_type": "qwen2_5_vl",
        "rope_theta": rope["rope_theta"],
        "rope_scaling": {"type": "mrope", "mrope_section": rope["mrope_section"]},
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.41.2",
        "use_sliding_window": False,
        **{key: config[key] for key in ("image_token_id", "video_token_id", "vision_start_token_id")},
        "vision_end_token_id": config.get("vision_end_token_id"),
        "vision_config": {key: value for key, value in vision.items() if key not in ("dtype", "model_type")},
    }


def _published_tokenizer(policy: Policy) -> dict[str, Any]:
    """vocab.json and merges.txt, with the special tokens in tokenizer_config.json."""
    backend: Tokenizer = policy.processor.tokenizer.backend_tokenizer
    whole = json.loads(backend.to_str())
    added = {
        str(token["id"]): {key: token[key] for key in token if key != "id"} for token in whole["added_tokens"]
    }
    special = {token["content"] for token in whole["added_tokens"]}
    return {
        "vocab.json": whole["model"]["vocab"],  # Qwen's special tokens come after its words, ours before them
        "merges.txt": "#version: 0.2\n" + "".join(f"{' '.join(pair)}\n" for pair in whole["model"]["merges"]),
        "tokenizer_config.json": {
            "added_tokens_decoder": added,
            "additional_special_tokens": sorted(special),
            "bos_token": None,
            "chat_template": policy.processor.tokenizer.chat_template,
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|im_end|>",
            "model_max_length": 131072,
            "pad_token": "<|endoftext|>",
            "tokenizer_class": "Qwen2Tokenizer",
            "unk_token": None,
        },
    }


def test_weights_are_written_under_the_published_names(policy_folder: Path) -> None:
    names = {name.split(".")[0] for name in load_file(policy_folder / "model.safetensors")}
    assert names <= {"visual", "model", "lm_head"}
    assert "visual" in names


def test_published_layout_loads_and_answers_as_ours(published: Path, policy: Policy, logits: Logits) -> None:
    loaded = folder.load(published)
    text = "There is a small left pleural effusion.\nNo pneumothorax."
    assert loaded.processor.tokenizer(text)["input_ids"] == policy.processor.tokenizer(text)["input_ids"]
    assert torch.equal(logits(loaded), logits(policy))


def test_a_model_card_may_be_reworded(copy: Path, tmp_path: Path, logits: Logits) -> None:
    (copy / "README.md").write_text("A card.")
    made = tmp_path / "made"
    made.mkdir()
    folder.write_pointer(copy, made)
    (copy / "README.md").write_text("A better card.")
    assert torch.equal(logits(folder.load(made)), logits(folder.load(copy)))
