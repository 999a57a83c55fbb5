"""Random checkpoints of each family's shape, some thousand weights each, laid out as their owners publish."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from radrl.policy import tiny

SIDE = 56
"""Pixels of a film: 4 tokens in every family."""
HIDDEN = 32

GEMMA_MARKS = {
    "bos_token": "<bos>",
    "eos_token": "<eos>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "boi_token": "<start_of_image>",
    "eoi_token": "<end_of_image>",
    "image_token": "<image_soft_token>",
}
GEMMA_CHAT = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] | trim }}{% else %}"
    "{% for item in message['content'] %}"
    "{% if item['type'] == 'image' %}{{ '<start_of_image>' }}"
    "{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}"
    "{% endfor %}{% endif %}{{ '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)


def gemma_tokenizer(texts: Sequence[str]) -> Tokenizer:
    """BPE over characters with a space written as a sign of its own, and bytes for what it has not seen."""
    marks = [*GEMMA_MARKS.values(), "<start_of_turn>", "<end_of_turn>"]
    marks.sort(key=["<pad>", "<eos>", "<bos>", "<unk>"].__contains__, reverse=True)
    plain = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    plain.normalizer = normalizers.Replace(" ", "▁")
    plain.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=150, special_tokens=marks))
    whole = json.loads(plain.to_str())
    vocab = dict(whole["model"]["vocab"])
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    merges = [tuple(pair) for pair in whole["model"]["merges"]]
    made = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens(marks)
    made.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", vocab["<bos>"])]
    )
    return made


def qwen2_5_vl(folder: Path, texts: Sequence[str]) -> None:
    """As its 7 B, whose head is no embedding."""
    tokenizer = _qwen_tokenizer(folder, texts)
    text = _text(tokenizer) | {
        "max_position_embeddings": 1024,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
    }
    vision = {
        "depth": 2,
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_heads": 2,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "out_hidden_size": HIDDEN,
        "window_size": 28,
        "fullatt_block_indexes": [1],
    }
    marks = _qwen_marks(tokenizer)
    config = Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks)
    _write(folder, Qwen2_5_VLForConditionalGeneration(config), tokenizer)
    _write_json(
        folder / "preprocessor_config.json",
        {
            "image_processor_type": "Qwen2VLImageProcessor",
            "processor_class": "Qwen2_5_VLProcessor",
            "min_pixels": SIDE**2,
            "max_pixels": SIDE**2,
            "patch_size": 14,
            "temporal_patch_size": 2,
            "merge_size": 2,
        },
    )


def qwen3_vl(folder: Path, texts: Sequence[str]) -> None:
    """With DeepStack's features of its first vision layer, at the first layer of the language model."""
    tokenizer = _qwen_tokenizer(folder, texts)
    text = _text(tokenizer) | {
        "head_dim": 16,
        "max_position_embeddings": 1024,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e4,
            "mrope_section": [2, 3, 3],
            "mrope_interleaved": True,
        },
    }
    vision = {
        "depth": 2,
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_heads": 2,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "out_hidden_size": HIDDEN,
        "num_position_embeddings": 16,
        "deepstack_visual_indexes": [0],
    }
    config = Qwen3VLConfig(
        text_config=text, vision_config=vision, tie_word_embeddings=True, **_qwen_marks(tokenizer)
    )
    _write(folder, Qwen3VLForConditionalGeneration(config), tokenizer)
    _write_json(
        folder / "preprocessor_config.json",
        {
            "image_processor_type": "Qwen2VLImageProcessorFast",
            "processor_class": "Qwen3VLProcessor",
            "size": {"shortest_edge": SIDE**2, "longest_edge": SIDE**2},
            "patch_size": 14,
            "temporal_patch_size": 2,
            "merge_size": 2,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
        },
    )


def gemma3(folder: Path, texts: Sequence[str]) -> None:
    """With a layer of each kind and a window of 48 tokens."""
    backend = gemma_tokenizer(texts)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, **{name: mark for name, mark in GEMMA_MARKS.items() if "i_t" not in name}
    )
    ids = {name: backend.token_to_id(mark) for name, mark in GEMMA_MARKS.items()}
    text = _text(tokenizer) | {
        "head_dim": 16,
        "query_pre_attn_scalar": 16,
        "sliding_window": 48,
        "layer_types": ["sliding_attention", "full_attention"],
        "bos_token_id": ids["bos_token"],
    }
    vision = {
        "model_type": "siglip_vision_model",
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": SIDE,
        "patch_size": 14,
        "vision_use_head": False,
    }
    config = Gemma3Config(
        text_config=text,
        vision_config=vision,
        mm_tokens_per_image=4,
        boi_token_index=ids["boi_token"],
        eoi_token_index=ids["eoi_token"],
        image_token_index=ids["image_token"],
        tie_word_embeddings=True,
    )
    _write(folder, Gemma3ForConditionalGeneration(config), tokenizer)
    weights = load_file(folder / "model.safetensors")
    published = {
        name.replace("vision_tower.", "vision_tower.vision_model."): own for name, own in weights.items()
    }
    save_file(published, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(
        folder / "generation_config.json",
        {"eos_token_id": ids["eos_token"], "pad_token_id": ids["pad_token"], "do_sample": True, "top_k": 64},
    )
    (folder / "tokenizer.json").write_text(backend.to_str())
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "GemmaTokenizerFast",
            "processor_class": "Gemma3Processor",
            "add_bos_token": True,
            "add_eos_token": False,
            "chat_template": GEMMA_CHAT,
            "clean_up_tokenization_spaces": False,
            "padding_side": "left",
            **GEMMA_MARKS,
            "extra_special_tokens": {name: GEMMA_MARKS[name] for name in GEMMA_MARKS if "i_t" in name}
            | {"image_token": GEMMA_MARKS["image_token"]},
        },
    )
    _write_json(
        folder / "preprocessor_config.json",
        {
            "image_processor_type": "Gemma3ImageProcessor",
            "processor_class": "Gemma3Processor",
            "size": {"height": SIDE, "width": SIDE},
            "do_pan_and_scan": None,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
        },
    )


FAMILIES: dict[str, Callable[[Path, Sequence[str]], None]] = {
    own.__name__: own for own in (qwen2_5_vl, qwen3_vl, gemma3)
}
"""Makers of a folder, by model_type."""


def make(family: str, folder: Path, texts: Sequence[str]) -> Path:
    """A new folder with a policy of a family, whose tokenizer has seen some texts."""
    folder.mkdir()
    FAMILIES[family](folder, texts)
    return folder


def _text(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """What every language model is told."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }


def _qwen_tokenizer(folder: Path, texts: Sequence[str]) -> PreTrainedTokenizerFast:
    tokenizer = tiny.train_tokenizer(texts, 320)
    tokenizer.save_pretrained(folder)
    return tokenizer


def _qwen_marks(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    marks = {
        "image_token_id": tiny.IMAGE_TOKEN,
        "video_token_id": tiny.VIDEO_TOKEN,
        "vision_start_token_id": tiny.VISION_START,
        "vision_end_token_id": tiny.VISION_END,
    }
    return {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in marks.items()}


def _write(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Weights that are larger than a start's, so that what is drawn from them differs."""
    drawn = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.copy_(torch.randn(weight.shape, generator=drawn) * 0.15)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1))
