"""A real Qwen2.5-VL small enough for a laptop: 1.3 M parameters, a tokenizer trained on the corpus.

It has every part of the 3 B model (window attention in the vision tower, patch merger, grouped-query
attention, multimodal rotary positions, chat template), so whatever runs on it runs on the real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from radrl.policy import qwen
from radrl.policy.folder import Policy
from radrl.policy.qwen import IMAGE_TOKEN, VIDEO_TOKEN, FilmProcessor

PAD, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VISION_START, VISION_END = "<|vision_start|>", "<|vision_end|>"
SPECIAL_TOKENS = (PAD, TURN_START, TURN_END, VISION_START, VISION_END, IMAGE_TOKEN, VIDEO_TOKEN)

# Qwen2.5-VL's template without its default system turn, which would only cost a small model tokens.
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer with Qwen's special tokens.

    Args:
        texts: report texts and prompts it will have to spell; any other text is spelt in bytes.
        vocab_size: entries, special tokens and the 256 bytes included.

    Returns:
        A tokenizer with Qwen's pad, turn and vision tokens and a chat template.
    """
    bpe = Tokenizer(models.BPE())
    bpe.normalizer = normalizers.NFC()
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=TURN_END,
        extra_special_tokens=list(SPECIAL_TOKENS[1:]),
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def build(
    tokenizer: PreTrainedTokenizerFast, *, image_size: int, shape: Mapping[str, Any], seed: int
) -> Policy:
    """Build an untrained policy.

    Args:
        tokenizer: from `train_tokenizer`.
        image_size: side of the square films in pixels, a multiple of patch_size * merge_size.
        shape: hidden, layers, heads, kv_heads, feed_forward (language model); vision_hidden,
            vision_layers, vision_heads, vision_feed_forward, patch_size, merge_size (vision tower).
        seed: of the initial weights.

    Returns:
        The policy, float32, in evaluation mode.

    Raises:
        ValueError: when films of `image_size` cannot be cut into whole tokens.
    """
    cell = shape["patch_size"] * shape["merge_size"]
    if image_size % cell:
        raise ValueError(
            f"policy: films of {image_size} pixels do not divide into tokens of {cell}; "
            "set ingest.image_size to a multiple of policy.tiny.patch_size * policy.tiny.merge_size"
        )
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(_config(tokenizer, image_size, shape))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    image_processor = Qwen2VLImageProcessorPil(
        patch_size=shape["patch_size"],
        merge_size=shape["merge_size"],
        size={"shortest_edge": image_size**2, "longest_edge": image_size**2},
    )
    qwen.enable(model)
    return Policy(model.eval(), FilmProcessor(image_processor, tokenizer))


def _config(
    tokenizer: PreTrainedTokenizerFast, image_size: int, shape: Mapping[str, Any]
) -> Qwen2_5_VLConfig:
    ids = dict(zip(SPECIAL_TOKENS, tokenizer.convert_tokens_to_ids(list(SPECIAL_TOKENS)), strict=True))
    half_head = shape["hidden"] // shape["heads"] // 2
    temporal = half_head // 4
    spatial = (half_head - temporal) // 2
    return Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": shape["hidden"],
            "intermediate_size": shape["feed_forward"],
            "num_hidden_layers": shape["layers"],
            "num_attention_heads": shape["heads"],
            "num_key_value_heads": shape["kv_heads"],
            "max_position_embeddings": 1024,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [half_head - 2 * spatial, spatial, spatial],
            },
            "eos_token_id": ids[TURN_END],
            "pad_token_id": ids[PAD],
            "bos_token_id": ids[PAD],
            "tie_word_embeddings": True,
        },
        vision_config={
            "depth": shape["vision_layers"],
            "hidden_size": shape["vision_hidden"],
            "intermediate_size": shape["vision_feed_forward"],
            "num_heads": shape["vision_heads"],
            "patch_size": shape["patch_size"],
            "spatial_merge_size": shape["merge_size"],
            "out_hidden_size": shape["hidden"],
            "window_size": image_size,
            "fullatt_block_indexes": [shape["vision_layers"] - 1],
        },
        image_token_id=ids[IMAGE_TOKEN],
        video_token_id=ids[VIDEO_TOKEN],
        vision_start_token_id=ids[VISION_START],
        vision_end_token_id=ids[VISION_END],
        tie_word_embeddings=True,
    )
