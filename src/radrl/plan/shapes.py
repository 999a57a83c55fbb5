"""Policies without weights: configurations, local or published, and how many weights a model of them has.

Weights are counted in a model on torch's device `meta`, which has shapes and no numbers; which of them train,
and on which layers adapters lie, the functions say that the trainings use.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from radrl.plan.memory import Sizes, Weights, sizes_of
from radrl.storage import json_files

if TYPE_CHECKING:
    import torch

_ROPE: Final = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
_SEEN: Final = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "num_heads": 16,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "window_size": 112,
    "fullatt_block_indexes": [7, 15, 23, 31],
}
PUBLISHED: Final[dict[str, dict[str, Any]]] = {
    "qwen2.5-vl-3b": {
        "model_type": "qwen2_5_vl",
        "tie_word_embeddings": True,
        "text_config": {
            "hidden_size": 2048,
            "intermediate_size": 11008,
            "num_hidden_layers": 36,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "vocab_size": 151936,
            "rope_parameters": _ROPE,
        },
        "vision_config": {**_SEEN, "out_hidden_size": 2048},
    },
    "qwen2.5-vl-7b": {
        "model_type": "qwen2_5_vl",
        "tie_word_embeddings": False,
        "text_config": {
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "num_hidden_layers": 28,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
            "vocab_size": 152064,
            "rope_parameters": _ROPE,
        },
        "vision_config": {**_SEEN, "out_hidden_size": 3584},
    },
    "qwen3-vl-2b": {
        "model_type": "qwen3_vl",
        "tie_word_embeddings": True,
        "text_config": {
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "vocab_size": 151936,
        },
        "vision_config": {
            "depth": 24,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_heads": 16,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "out_hidden_size": 2048,
            "deepstack_visual_indexes": [5, 11, 17],
        },
    },
}
"""Shapes in the config.json that Qwen publishes with each; the rest of those files changes no size."""
NAMED: Final = {
    "Qwen2.5-VL-3B-Instruct": "qwen2.5-vl-3b",
    "Qwen2.5-VL-7B-Instruct": "qwen2.5-vl-7b",
    "HuatuoGPT-Vision-7B-Qwen2.5VL": "qwen2.5-vl-7b",
    "Qwen3-VL-2B-Instruct": "qwen3-vl-2b",
    "deer-mimic_cxr": "qwen2.5-vl-3b",
    "drawn_start": "radrl-tiny",
}
"""The shape that a folder of a recipe has by its name, where it is not on this machine."""
TINY: Final = "radrl-tiny"
"""The shape of the laptop policy, as a recipe's `policy.tiny` or the shipped one has it."""
TEMPLATE_TOKENS: Final = 30
"""About, of Qwen's chat template with its system turn; counted where the policy's tokenizer is there."""
LETTERS: Final = 4.5
"""Of a token of English, about."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A policy's configuration.

    Args:
        name: for people.
        config: of transformers.
        folder: where its tokenizer is; nothing for a shape alone.
    """

    name: str
    config: Any
    folder: Path | None = None

    @property
    def sizes(self) -> Sizes:
        """What memory and time follow from."""
        return sizes_of(self.config)


def tiny(shape: Mapping[str, int], side: int) -> dict[str, Any]:
    """The laptop policy's configuration, as far as sizes go.

    Args:
        shape: `policy.tiny`.
        side: of its films in pixels.
    """
    half = shape["hidden"] // shape["heads"] // 2
    spatial = (half - half // 4) // 2
    rope = {
        "rope_type": "default",
        "rope_theta": 1e4,
        "mrope_section": [half - 2 * spatial, spatial, spatial],
    }
    return {
        "model_type": "qwen2_5_vl",
        "tie_word_embeddings": True,
        "text_config": {
            "vocab_size": shape["vocab_size"],
            "hidden_size": shape["hidden"],
            "intermediate_size": shape["feed_forward"],
            "num_hidden_layers": shape["layers"],
            "num_attention_heads": shape["heads"],
            "num_key_value_heads": shape["kv_heads"],
            "rope_parameters": rope,
            "bos_token_id": 0,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        "vision_config": {
            "depth": shape["vision_layers"],
            "hidden_size": shape["vision_hidden"],
            "intermediate_size": shape["vision_feed_forward"],
            "num_heads": shape["vision_heads"],
            "patch_size": shape["patch_size"],
            "spatial_merge_size": shape["merge_size"],
            "out_hidden_size": shape["hidden"],
            "window_size": side,
            "fullatt_block_indexes": [shape["vision_layers"] - 1],
        },
    }


def shape_of_config(name: str, values: Mapping[str, Any], folder: Path | None = None) -> Shape:
    """A shape from the keys of a config.json.

    Raises:
        ValueError: when it is of another kind of model.
    """
    from transformers import Qwen2_5_VLConfig, Qwen3VLConfig

    kinds = {"qwen2_5_vl": Qwen2_5_VLConfig, "qwen3_vl": Qwen3VLConfig}
    kind = values.get("model_type")
    if kind not in kinds:
        raise ValueError(f"{name}: model_type {kind!r} is none of {', '.join(kinds)}")
    tied = values.get("tie_word_embeddings", False)
    # a published file has the language model's keys beside the others
    text = {**values.get("text_config", {}), "tie_word_embeddings": tied}
    own = {key: value for key, value in values.items() if key != "model_type"}
    return Shape(name, kinds[kind](**{**own, "text_config": text}), folder)


def of_folder(folder: Path) -> Shape:
    """The shape of a policy on this machine; its configuration alone is read."""
    from transformers import AutoConfig

    from radrl.storage import pointers

    where = pointers.target(folder)
    return Shape(folder.name, AutoConfig.from_pretrained(where, local_files_only=True), where)


def published(name: str) -> Shape:
    """A shape of the table.

    Raises:
        ValueError: when there is none of the name, with those there are.
    """
    if name not in PUBLISHED:
        raise ValueError(f"{name!r} is no shape; there are {', '.join(PUBLISHED)}")
    return shape_of_config(name, PUBLISHED[name])


def model(shape: Shape) -> Any:
    """A model without numbers."""
    import torch
    from transformers import AutoModelForImageTextToText

    with torch.device("meta"):
        return AutoModelForImageTextToText.from_config(shape.config)


@dataclass(frozen=True, slots=True)
class Counted:
    """A policy's weights as one training has them.

    Args:
        weights: how many.
        adapted: in the tower and in the language model: width of the inputs of all adapted products of all
            layers, and their number.
    """

    weights: Weights
    adapted: Mapping[str, tuple[int, int]]


def count(model: Any, tunes: str | None, lora: Mapping[str, Any] | None = None) -> Counted:
    """Count a model's weights.

    Args:
        model: on the device `meta`.
        tunes: what trains, as `radrl.training.tuning.freeze` takes it; nothing for a policy that only writes.
        lora: rank and targets, for ``"lora"``.

    Raises:
        ValueError: when a target of adapters hits no layer.
    """
    from radrl.policy import families
    from radrl.training import tuning

    tower = families.family_of_model(model).vision
    if tunes is not None:
        tuning.freeze(model, tunes)
    numbers, layers = Counter[str](), Counter[str]()
    for name, weight in model.named_parameters():
        numbers["vision" if name.startswith(tower) else "language"] += weight.numel()
        layers[_layer(name)] += weight.numel()
        numbers["trained"] += weight.numel() if tunes is not None and weight.requires_grad else 0
    embedding = model.get_input_embeddings().weight
    trained_embedding = embedding.numel() if tunes is not None and embedding.requires_grad else 0
    adapters, adapted = _adapters(model, lora) if tunes == "lora" and lora else (0, {})
    largest = max(number for name, number in layers.items() if name)
    language = sum(number for name, number in layers.items() if name.startswith("model.language_model."))
    return Counted(
        Weights(
            numbers["vision"],
            numbers["language"],
            embedding.numel(),
            largest,
            language,
            adapters or numbers["trained"],
            trained_embedding,
            adapters,
        ),
        adapted,
    )


def _layer(name: str) -> str:
    """The path of the layer that a weight is in; empty for weights outside the stacks."""
    parts = name.split(".")
    at = next((i for i, part in enumerate(parts) if part.isdecimal()), None)
    return "" if at is None else ".".join(parts[: at + 1])


def _adapters(model: torch.nn.Module, lora: Mapping[str, Any]) -> tuple[int, dict[str, tuple[int, int]]]:
    """Weights of adapters, rank * (inputs + outputs) a layer, and what `Counted.adapted` says of them."""
    from radrl.policy import families
    from radrl.training import adapters

    tower = families.family_of_model(model).vision
    modules = dict(model.named_modules())
    total = 0
    adapted = {"vision": (0, 0), "language": (0, 0)}
    for name in adapters.chosen(adapters.linear_layers(model), lora["targets"]):
        inputs, outputs = modules[name].in_features, modules[name].out_features
        total += int(lora["rank"]) * (inputs + outputs)
        part = "vision" if name.startswith(tower) else "language"
        width, number = adapted[part]
        adapted[part] = (width + inputs, number + 1)
    return total, adapted


def pixels(shape: Shape) -> tuple[int, int | None]:
    """The least and the most pixels of a film, as the policy's image processor has them."""
    file = shape.folder and shape.folder / "preprocessor_config.json"
    if not file or not file.is_file():
        return 0, None
    said = json_files.read(file)
    try:
        size = said.get("size") or {}
        least = said.get("min_pixels") or size.get("shortest_edge") or 0
        most = said.get("max_pixels") or size.get("longest_edge")
        return int(least), None if most is None else int(most)
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise json_files.NoJson(f"{file} holds no sizes of an image processor; fetch it again") from None


def prompt_tokens(shape: Shape, prompt: str, pictures: int, image_tokens: int) -> int:
    """Tokens of a request for a report.

    Args:
        shape: whose tokenizer counts, where it is there; else about.
        prompt: the instruction.
        pictures: films of a sample.
        image_tokens: of each film.
    """
    if shape.folder is None or not (shape.folder / "tokenizer_config.json").is_file():
        words = math.ceil(len(prompt) / LETTERS)
        return TEMPLATE_TOKENS + words + pictures * (image_tokens + 2)
    from transformers import AutoTokenizer

    from radrl.policy.encoding import chat

    tokenizer = AutoTokenizer.from_pretrained(shape.folder, local_files_only=True, trust_remote_code=False)
    text = tokenizer.apply_chat_template(chat(prompt, pictures), add_generation_prompt=True, tokenize=False)
    return len(tokenizer(text)["input_ids"]) + pictures * (image_tokens - 1)


def compact_weights(compact: Any) -> int:
    """Weights of the compact CheXbert, about: embedding, attention and feed-forward products.

    Args:
        compact: the section `labeler.compact`.
    """
    layer = 4 * compact.hidden**2 + 2 * compact.hidden * compact.feed_forward
    return int((compact.vocab_size + compact.max_tokens) * compact.hidden + compact.layers * layer)
