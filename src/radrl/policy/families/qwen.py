"""Qwen2.5-VL, and Qwen3-VL where it differs.

Both take a film as patches with a grid and place its tokens by time, height and width (M-RoPE), so a token
behind a film stands at a lower position than its index. Qwen3-VL adds features of the vision encoder to the
first layers of the language model, at the film's tokens (DeepStack); a token that is written has none. Its
layers are all of one kind, so its forward takes no mask for each kind of them: `Prompts` and `Row` travel as
a keyword that it hands to every layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import torch
from PIL import Image
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from radrl.policy import vision_chunks
from radrl.policy.families.base import Family, Inputs, check_chat
from radrl.policy.processor import FilmProcessor

LANGUAGE: Final = {
    "language attention": "model.language_model.layers.*.self_attn.*",
    "language MLP": "model.language_model.layers.*.mlp.*",
}
"""The language model's linear layers, whose paths the families have in common."""


def by_row(
    kinds: torch.Tensor, pixel_values: torch.Tensor, image_grid_thw: torch.Tensor, config: Any
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The patches and the grids of each of N rows.

    Args:
        kinds: 1 where a token stands for a part of a film (mm_token_type_ids), shape (N, T).
        pixel_values: patches of all films, in the order of rows, shape (patches, values).
        image_grid_thw: of each film its patches along time, height and width, shape (films, 3).
        config: the model's.

    Returns:
        N of each, (patches of a row, values) and (films of a row, 3).
    """
    patches = (kinds == 1).sum(dim=1) * config.vision_config.spatial_merge_size**2  # (N,)
    films = torch.bincount(
        torch.searchsorted(patches.cumsum(0), image_grid_thw.prod(dim=-1).cumsum(0)), minlength=len(kinds)
    )
    return list(pixel_values.split(patches.tolist())), list(image_grid_thw.split(films.tolist()))


class Qwen25VL(Family):
    """Qwen2.5-VL, and what is built on it: HuatuoGPT-Vision-7B-Qwen2.5VL."""

    model_type: ClassVar[str] = "qwen2_5_vl"
    name: ClassVar[str] = "Qwen2.5-VL"
    vision: ClassVar[tuple[str, ...]] = ("model.visual.",)
    parts: ClassVar[Mapping[str, str]] = {
        **LANGUAGE,
        "vision attention": "model.visual.blocks.*.attn.*",
        "vision MLP": "model.visual.blocks.*.mlp.*",
        "projector": "model.visual.merger.*",
    }
    layer: ClassVar[str] = "Qwen2_5_VLDecoderLayer"
    marks: ClassVar[tuple[str, ...]] = (
        "image_token_id",
        "video_token_id",
        "vision_start_token_id",
        "vision_end_token_id",
    )
    kinds: ClassVar[str] = "mm_token_type_ids"
    per_film: ClassVar[tuple[str, ...]] = ("pixel_values", "image_grid_thw")

    def model_class(self) -> type[PreTrainedModel]:
        """As `Family` has it."""
        return Qwen2_5_VLForConditionalGeneration

    def processor(
        self, folder: Path, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel
    ) -> FilmProcessor:
        """As `Family` has it."""
        image_processor = Qwen2VLImageProcessorPil.from_pretrained(folder, local_files_only=True)
        return FilmProcessor(image_processor, tokenizer)

    def ready(self, model: PreTrainedModel) -> None:
        """As `Family` has it."""
        vision_chunks.enable(model)

    def by_row(self, inputs: Inputs, config: Any) -> dict[str, list[torch.Tensor]]:
        """As `Family` has it."""
        pixels, grids = by_row(
            inputs["mm_token_type_ids"], inputs["pixel_values"], inputs["image_grid_thw"], config
        )
        return {"pixel_values": pixels, "image_grid_thw": grids}

    def film_tokens(self, model: Any, processor: Any, pictures: Sequence[Image.Image]) -> list[torch.Tensor]:
        """As `Family` has it."""
        image_processor, tower = processor.image_processor, model.model.visual
        encoded = image_processor(images=list(pictures), return_tensors="pt")
        grids = encoded["image_grid_thw"]  # (N, 3)
        pixels = encoded["pixel_values"].to(tower.device)
        tokens = tower(pixels, grid_thw=grids.to(tower.device)).pooler_output  # (all tokens, hidden)
        return list(tokens.split((grids.prod(dim=1) // image_processor.merge_size**2).tolist()))

    def next_positions(self, model: Any, mask: torch.Tensor) -> torch.Tensor:
        """As `Family` has it: positions after the films are less than indices."""
        return mask.sum(dim=1) + model.model.rope_deltas.to(mask.device)[:, 0]

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """As `Family` has it: time, height and width are one for text, shape (3, B, 1)."""
        return positions.expand(3, -1)[:, :, None]

    def told(self, text: Any, who: Any) -> dict[str, Any]:
        """As `Family` has it: where transformers takes a mask for each kind of layer."""
        return {"attention_mask": dict.fromkeys(text.layer_types, who)}

    def apart(self, text: Any, longest: int) -> str | None:
        """As `Family` has it."""
        if text.sliding_window is not None and longest > text.sliding_window:
            raise ValueError(
                f"prompt and report may have {longest} tokens, the policy's sliding_window is "
                f"{text.sliding_window}: set max_new_tokens lower, or its use_sliding_window to false"
            )
        return None


class Qwen3VL(Qwen25VL):
    """Qwen3-VL, its dense sizes as published for instructions."""

    model_type: ClassVar[str] = "qwen3_vl"
    name: ClassVar[str] = "Qwen3-VL"
    parts: ClassVar[Mapping[str, str]] = {
        **Qwen25VL.parts,
        "projector": "model.visual.*merger*.linear_fc*",  # DeepStack's mergers among them
    }
    layer: ClassVar[str] = "Qwen3VLTextDecoderLayer"

    def model_class(self) -> type[PreTrainedModel]:
        """As `Family` has it."""
        return Qwen3VLForConditionalGeneration

    def processor(
        self, folder: Path, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel
    ) -> FilmProcessor:
        """As `Family` has it; a model whose turn begins with reasoning is refused."""
        made = super().processor(folder, tokenizer, model)
        check_chat(made, self.name, folder)
        return made

    def told(self, text: Any, who: Any) -> dict[str, Any]:
        """As `Family` has it."""
        return {"shared": who}

    def apart(self, text: Any, longest: int) -> str | None:
        """As `Family` has it: its layers have no windows."""
        return None
