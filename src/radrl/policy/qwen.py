"""Qwen2.5-VL, and Qwen3-VL where it differs.

Both take a film as patches with a grid and place its tokens by time, height and width (M-RoPE), so a token
behind a film stands at a lower position than its index. Qwen3-VL adds features of the vision encoder to the
first layers of the language model, at the film's tokens (DeepStack); a token that is written has none. Its
layers are all of one kind, so its forward takes no mask for each kind of them: `Prompts` and `Row` travel as
a keyword that it hands to every layer.

Transformers' own `Qwen2_5_VLProcessor` and `Qwen3VLProcessor` ask for a video processor, and that for
torchvision, which a machine without CUDA does not have. A film is one still image, so `FilmProcessor` joins
the two parts that matter (image processor and tokenizer); the tensors are the same as the original's for text
with images.

Qwen2.5-VL's tower attends within windows, or within films, laid end to end. Under torch's attention
transformers asks for each in turn, in Python. Asked as flash attention is, with the whole and where its
chunks end, `attend_in_chunks` puts those of equal length into one batch; a chunk's result is its own in
either case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import torch
from PIL import Image
from transformers import (
    AttentionInterface,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLForConditionalGeneration,
)
from transformers.image_utils import make_flat_list_of_images
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.processing_utils import ProcessorMixin

from radrl.policy.family import Family, Inputs, check_chat

CHUNKS: Final = "flash_like_chunks"
"""Of `attend_in_chunks` among transformers' attention functions; to those with "flash" in it it is told where
chunks end."""


def attend_in_chunks(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    cu_seq_lens_q: torch.Tensor,
    scaling: float,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention within each of C chunks, by torch's.

    Args:
        module: the layer.
        query: of all chunks, end to end, shape (1, heads, N, D).
        key: the same.
        value: the same.
        attention_mask: none.
        cu_seq_lens_q: where chunks begin and end, shape (C + 1,).
        scaling: of the scores.
        dropout: share of the weights that is dropped.

    Returns:
        Shape (1, N, heads, D), and nothing, for weights are not kept.
    """
    ends = cu_seq_lens_q.tolist()
    lengths = [end - start for start, end in pairwise(ends)]
    tokens = [states[0].transpose(0, 1) for states in (query, key, value)]  # (N, heads, D)
    settings = {"attention_mask": None, "scaling": scaling, "dropout": dropout, "is_causal": False}

    def alike(states: list[torch.Tensor], length: int) -> torch.Tensor:
        batch = [
            own.unflatten(0, (-1, length)).transpose(1, 2) for own in states
        ]  # (chunks, heads, length, D)
        return sdpa_attention_forward(module, *batch, **settings)[0].flatten(0, 1)

    kinds = sorted(set(lengths))
    if len(kinds) == 1:
        return alike(tokens, kinds[0])[None], None
    of_token = torch.tensor(lengths, device=query.device).repeat_interleave(
        torch.tensor(lengths, device=query.device)
    )
    places = [(of_token == length).nonzero()[:, 0] for length in kinds]
    found = [
        alike([own.index_select(0, at) for own in tokens], length)
        for at, length in zip(places, kinds, strict=True)
    ]
    back = torch.cat(places).argsort()
    return torch.cat(found).index_select(0, back)[None], None


AttentionInterface.register(CHUNKS, attend_in_chunks)


def enable(model: Any) -> None:
    """Let equal chunks of a tower attend together; one whose attention is not torch's is left as it is.

    Args:
        model: a Qwen2.5-VL without wrappers.
    """
    tower = model.model.visual.config
    if tower._attn_implementation == "sdpa":
        tower._attn_implementation = CHUNKS


IMAGE_TOKEN = "<|image_pad|>"
VIDEO_TOKEN = "<|video_pad|>"


class FilmProcessor(ProcessorMixin):
    """Turns chat text with films into the tensors of a Qwen-VL.

    Called with `text` and `images`, it returns input_ids (B, T), attention_mask (B, T),
    mm_token_type_ids (B, T), pixel_values (patches, channels * temporal * patch * patch) and
    image_grid_thw (images, 3). Padding is on the left, as generation needs.

    Args:
        image_processor: cuts films into patches; its `merge_size` says how many patches make a token.
        tokenizer: has `<|image_pad|>` and a chat template.
        chat_template: overrides the tokenizer's template.
    """

    def __init__(
        self,
        image_processor: Qwen2VLImageProcessorPil,
        tokenizer: PreTrainedTokenizerBase,
        chat_template: str | None = None,
    ) -> None:
        tokenizer.padding_side = "left"
        self.image_token = IMAGE_TOKEN
        self.image_token_id = tokenizer.convert_tokens_to_ids(IMAGE_TOKEN)
        self.video_token = VIDEO_TOKEN
        self.video_token_id = tokenizer.convert_tokens_to_ids(VIDEO_TOKEN)
        super().__init__(image_processor, tokenizer, chat_template=chat_template or tokenizer.chat_template)

    def __call__(self, images: Any = None, text: Any = None, **settings: Any) -> Any:
        """As transformers' has it, always with token types: Qwen-VL tells films from words by them."""
        return super().__call__(images=images, text=text, **{"return_mm_token_type_ids": True} | settings)

    def _process_images(self, images: Any, **settings: Any) -> tuple[Any, list[str]]:
        """transformers', for each distinct film once: the rollouts of a film come with as many copies."""
        once, owners = distinct(make_flat_list_of_images(images))
        found, placeholders = super()._process_images(once, **settings)
        patches = np.asarray(found["image_grid_thw"]).prod(axis=-1)  # (distinct films,)
        ends = patches.cumsum()
        pieces = [found["pixel_values"][end - count : end] for end, count in zip(ends, patches, strict=True)]
        join = torch.cat if torch.is_tensor(found["pixel_values"]) else np.concatenate
        found["pixel_values"] = join([pieces[i] for i in owners])
        found["image_grid_thw"] = found["image_grid_thw"][owners]
        return found, [placeholders[i] for i in owners]

    def replace_image_token(self, image_inputs: dict[str, Any], image_idx: int, **_: Any) -> str:
        """One placeholder a merged patch: what the vision tower will put in their place."""
        patches = int(image_inputs["image_grid_thw"][image_idx].prod())
        return IMAGE_TOKEN * (patches // self.image_processor.merge_size**2)


def distinct(films: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Each of N films that differ, and which of them each film is."""
    first: dict[Any, int] = {}
    owners = [first.setdefault(_content(film), len(first)) for film in films]
    return [films[owners.index(i)] for i in range(len(first))], owners


def _content(film: Any) -> Any:
    """What two pictures are the same by; anything else is the same as itself alone."""
    return (film.mode, film.size, film.tobytes()) if isinstance(film, Image.Image) else id(film)


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
        enable(model)

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

    def attention_arguments(self, text: Any, who: Any) -> dict[str, Any]:
        """As `Family` has it: where transformers takes a mask for each kind of layer."""
        return {"attention_mask": dict.fromkeys(text.layer_types, who)}

    def why_not_shared(self, text: Any, longest: int) -> str | None:
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

    def attention_arguments(self, text: Any, who: Any) -> dict[str, Any]:
        """As `Family` has it."""
        return {"shared": who}

    def why_not_shared(self, text: Any, longest: int) -> str | None:
        """As `Family` has it: its layers have no windows."""
        return None
