"""An image-only processor for Qwen2.5-VL and Qwen3-VL.

Transformers' own `Qwen2_5_VLProcessor` and `Qwen3VLProcessor` ask for a video processor, and that for
torchvision, which a machine without CUDA does not have. A film is one still image, so the two parts that
matter (image processor and tokenizer) are joined here; the tensors are the same as the original's for text
with images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import PreTrainedTokenizerBase
from transformers.image_utils import make_flat_list_of_images
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.processing_utils import ProcessorMixin

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
