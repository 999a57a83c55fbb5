"""An image-only processor for Qwen2.5-VL.

Transformers' own `Qwen2_5_VLProcessor` asks for a video processor, and that for torchvision, which a
machine without CUDA does not have. A film is one still image, so the two parts that matter (image
processor and tokenizer) are joined here; the tensors are the same as the original's for text with images.
"""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedTokenizerBase
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.processing_utils import ProcessorMixin

IMAGE_TOKEN = "<|image_pad|>"
VIDEO_TOKEN = "<|video_pad|>"


class FilmProcessor(ProcessorMixin):
    """Turns chat text with films into the tensors of Qwen2.5-VL.

    Called with `text` and `images`, it returns input_ids (B, T), attention_mask (B, T),
    mm_token_type_ids (B, T), pixel_values (patches, channels * temporal * patch * patch) and
    image_grid_thw (images, 3). Padding is on the left, as generation needs.

    Args:
        image_processor: cuts films into patches; its `merge_size` says how many patches make a token.
        tokenizer: has `<|image_pad|>` and a chat template.
        chat_template: overrides the tokenizer's template.
    """

    return_mm_token_type_ids = True

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

    def replace_image_token(self, image_inputs: dict[str, Any], image_idx: int, **_: Any) -> str:
        """One placeholder a merged patch: what the vision tower will put in their place."""
        patches = int(image_inputs["image_grid_thw"][image_idx].prod())
        return IMAGE_TOKEN * (patches // self.image_processor.merge_size**2)
