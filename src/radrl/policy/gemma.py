"""Gemma 3, and MedGemma, which is one.

A film is one square picture of fixed size and a fixed number of tokens, which see one another both ways. Most
layers of the language model see a window of tokens alone. So a forward pass of training reads each rollout
with its own prompt and films; rollouts are written from a shared prompt as long as prompt and report fit in
the window, within which the layers are all alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import torch
from PIL import Image
from transformers import Gemma3ForConditionalGeneration, PreTrainedModel, PreTrainedTokenizerBase
from transformers.image_utils import make_flat_list_of_images
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.gemma3.processing_gemma3 import Gemma3Processor

from radrl.policy.family import Family, Inputs, check_chat, end_by
from radrl.policy.qwen import LANGUAGE, distinct

TURN_END: Final = "<end_of_turn>"
"""What ends a report: Gemma's tokenizer calls another token, which ends a document, its end."""
MARKS: Final = ("boi_token", "eoi_token", "image_token")
"""What the tokenizer must say of a film's place."""


class GemmaFilmProcessor(Gemma3Processor):
    """transformers', which does not begin chat text a second time."""

    def __call__(self, images: Any = None, text: Any = None, **settings: Any) -> Any:
        """As transformers' has it; films may be given one after another, in the order of their marks."""
        texts = [text] if isinstance(text, str) else text
        if texts and texts[0].startswith(self.tokenizer.bos_token):
            settings["add_special_tokens"] = False
        if images is not None and texts:
            films = make_flat_list_of_images(images)
            ends = np.cumsum([own.count(self.boi_token) for own in texts])
            images = [list(own) for own in _parts(films, ends.tolist())]
        return super().__call__(images=images, text=text, **settings)


class GemmaFilms(Gemma3ImageProcessorPil):
    """transformers', which looks at equal films once: the rollouts of a film come with as many copies."""

    def __call__(self, images: Any, *own: Any, **settings: Any) -> Any:
        """As transformers' has it."""
        once, owners = distinct(make_flat_list_of_images(images))
        found = super().__call__(once, *own, **settings)
        for name in ("pixel_values", "num_crops"):
            each = found[name]
            found[name] = each[owners] if hasattr(each, "shape") else [each[i] for i in owners]
        return found

    def to_dict(self) -> dict[str, Any]:
        """transformers', under the name that every reader of a policy's folder knows."""
        return super().to_dict() | {"image_processor_type": "Gemma3ImageProcessor"}


def _parts(films: Sequence[Any], ends: Sequence[int]) -> list[Sequence[Any]]:
    """Films of each text; those that no mark asks for with the last, for transformers to refuse."""
    starts = [0, *ends[:-1]]
    return [films[start:end] for start, end in zip(starts, [*ends[:-1], len(films)], strict=True)]


class Gemma3(Family):
    """Gemma 3 with a vision encoder, as published for instructions."""

    model_type: ClassVar[str] = "gemma3"
    name: ClassVar[str] = "Gemma 3"
    vision: ClassVar[tuple[str, ...]] = ("model.vision_tower.", "model.multi_modal_projector.")
    parts: ClassVar[Mapping[str, str]] = {
        **LANGUAGE,
        "vision attention": "model.vision_tower.encoder.layers.*.self_attn.*",
        "vision MLP": "model.vision_tower.encoder.layers.*.mlp.*",
    }
    layer: ClassVar[str] = "Gemma3DecoderLayer"
    marks: ClassVar[tuple[str, ...]] = ("image_token_id", "boi_token_id", "eoi_token_id")
    kinds: ClassVar[str] = "token_type_ids"
    per_film: ClassVar[tuple[str, ...]] = ("pixel_values",)
    unfit_dtypes: ClassVar[Mapping[str, str]] = {
        "float16": "has activations that float16 does not hold: set it to bfloat16 or float32"
    }

    def model_class(self) -> type[PreTrainedModel]:
        """As `Family` has it."""
        return Gemma3ForConditionalGeneration

    def processor(
        self, folder: Path, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel
    ) -> GemmaFilmProcessor:
        """As `Family` has it."""
        _check_marks(tokenizer, folder)
        image_processor = GemmaFilms.from_pretrained(folder, local_files_only=True)
        _check_pictures(image_processor, model.config.vision_config.image_size, folder)
        tokenizer.padding_side = "left"
        tokenizer.eos_token = TURN_END
        made = GemmaFilmProcessor(
            image_processor,
            tokenizer,
            chat_template=tokenizer.chat_template,
            image_seq_length=model.config.mm_tokens_per_image,
        )
        check_chat(made, self.name, folder)
        end_by(model, [tokenizer.eos_token_id])
        return made

    def ready(self, model: PreTrainedModel) -> None:
        """As `Family` has it: films are a batch as they are."""

    def by_row(self, inputs: Inputs, config: Any) -> dict[str, list[torch.Tensor]]:
        """As `Family` has it."""
        films = (inputs["token_type_ids"] == 1).sum(dim=1) // config.mm_tokens_per_image  # (N,)
        return {"pixel_values": list(inputs["pixel_values"].split(films.tolist()))}

    def film_tokens(self, model: Any, processor: Any, pictures: Sequence[Image.Image]) -> list[torch.Tensor]:
        """As `Family` has it."""
        encoded = processor.image_processor(images=list(pictures), return_tensors="pt")
        pixels = encoded["pixel_values"].to(model.device, model.model.vision_tower.dtype)
        return list(model.model.get_image_features(pixels).pooler_output)  # (N, tokens, hidden)

    def next_positions(self, model: Any, mask: torch.Tensor) -> torch.Tensor:
        """As `Family` has it: padding is counted, as its forward does; rotary positions are relative."""
        return torch.full_like(mask[:, 0], mask.shape[1])

    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """As `Family` has it, shape (B, 1)."""
        return positions[:, None]

    def attention_arguments(self, text: Any, who: Any) -> dict[str, Any]:
        """As `Family` has it: where transformers takes a mask for each kind of layer."""
        return {"attention_mask": dict.fromkeys(text.layer_types, who)}

    def why_not_shared(self, text: Any, longest: int) -> str | None:
        """As `Family` has it."""
        if longest <= text.sliding_window:
            return None
        return (
            f"prompt and report may have {longest} tokens, and most layers see {text.sliding_window} alone; "
            "shorter prompts, fewer films of a study or a lower max_new_tokens would mend it"
        )

    def no_shared_forward(self) -> str | None:
        """As `Family` has it."""
        return (
            f"tokens of a film see one another both ways in {self.name}, and most of its layers have "
            "windows; a Qwen-VL would share them"
        )


def _check_marks(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Refuse a tokenizer that does not know the marks of films and turns."""
    absent = [name for name in MARKS if getattr(tokenizer, name, None) is None]
    if absent:
        raise ValueError(
            f"{folder}/tokenizer_config.json names no {absent[0]}: this is no tokenizer of a Gemma 3 that "
            "sees pictures; take the whole folder as its owners publish it"
        )
    if tokenizer.convert_tokens_to_ids(TURN_END) in (None, tokenizer.unk_token_id):
        raise ValueError(f"{folder}'s tokenizer does not know {TURN_END}, which ends a report of Gemma 3")


def _check_pictures(image_processor: Any, side: int, folder: Path) -> None:
    """Refuse pictures of another size or number than the model takes."""
    if image_processor.do_pan_and_scan:
        raise ValueError(
            f"{folder}/preprocessor_config.json asks for pan and scan, which makes several pictures of one; "
            "set do_pan_and_scan to false"
        )
    size = image_processor.size
    if (size["height"], size["width"]) != (side, side):
        raise ValueError(
            f"{folder}/preprocessor_config.json makes pictures of {size['height']} x {size['width']} pixels, "
            f"config.json's vision encoder takes {side} x {side}"
        )
