"""The policies of the bench, and the films and reports it draws for them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from datasets import Dataset
from PIL import Image
from transformers import AutoTokenizer, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.processing_utils import ProcessorMixin

from radrl.labelers.rules.labeler import rules
from radrl.policy import folder, tiny
from radrl.policy.encoding import encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.processor import FilmProcessor
from radrl.rewards.base import RewardSum
from radrl.rewards.build import build as build_reward
from radrl.training.reinforcement.grpo import prompt_dataset

STUDIES: Final = 800
"""Drawn for their reports; the first of them give the films."""
CARRIED: Final = Path(__file__).with_name("carried")
"""Where a bundle has its films and reports."""
WINDOW: Final = 112
"""Pixels that the laptop's vision tower looks at together, as Qwen2.5-VL's."""


def records(size: int, most: int = STUDIES) -> list[Any]:
    """The first studies with findings, with films of a size; fewer than `most` where findings are missing.

    They are drawn, for which scipy is needed, or read where a bundle carries them (`carry`).
    """
    carried = CARRIED / f"{size}.npz"
    if carried.is_file():
        return read_carried(carried)[:most]
    from radrl.data.sources import phantom

    drawn = phantom.read(seed=0, studies={"train": STUDIES}, image_size=size, lateral_share=0)
    return [own for own in islice(drawn, most) if own.findings]


class Carried(NamedTuple):
    """A study of a bundle: its report, its key and its film, where it has one."""

    findings: str
    key: str
    film: np.ndarray | None

    def image(self) -> np.ndarray:
        """The film.

        Raises:
            LookupError: when the bundle carries none of it.
        """
        if self.film is None:
            raise LookupError(f"the bundle carries no film of {self.key}; make it with more (--films)")
        return self.film


def carry(file: Path, size: int, films: int) -> None:
    """Write the drawn studies of a size, every report and the first films, for where they cannot be drawn."""
    drawn = records(size)
    pictures = np.stack([own.image() for own in drawn[:films]])
    texts = {name: np.array([getattr(own, name) for own in drawn]) for name in ("findings", "key")}
    np.savez(file, films=pictures, **texts)


def read_carried(file: Path) -> list[Carried]:
    """What `carry` has written."""
    with np.load(file) as own:
        films, findings, keys = own["films"], own["findings"].tolist(), own["key"].tolist()
    pictures = [*films, *[None] * (len(keys) - len(films))]
    return [Carried(*one) for one in zip(findings, keys, pictures, strict=True)]


def laptop(params: Mapping[str, Any], texts: Sequence[str]) -> Policy:
    """The policy of params.yaml, untrained, made for its own films: larger ones have more windows."""
    shape = params["policy"]["tiny"]
    tokenizer = tiny.train_tokenizer([params["prompts"]["plain"], *texts], shape["vocab_size"])
    return tiny.build(tokenizer, image_size=WINDOW, shape=shape, seed=0)


def save(policy: Policy, start: Path) -> None:
    """Write a policy where the trainers' processes find it."""
    start.mkdir()
    folder.save(policy, start)


class EveryRow(FilmProcessor):  # type: ignore[misc]
    """transformers' own: cuts a film into patches for each of the rows it is asked for."""

    _process_images = ProcessorMixin._process_images


def load(start: Path, size: int, processor: type[FilmProcessor] = FilmProcessor) -> Policy:
    """A saved policy as transformers loads it, for films of a size; what radrl adds, its trainer adds."""
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(start, dtype=torch.float32)
    return Policy(model.eval(), reads(start, size, processor))


def reads(start: Path, size: int, processor: type[FilmProcessor] = FilmProcessor) -> FilmProcessor:
    """The processor of a saved policy, for films of a size; no weights are read."""
    image_processor = Qwen2VLImageProcessorPil.from_pretrained(start)
    image_processor.size = {"shortest_edge": size**2, "longest_edge": size**2}
    return processor(image_processor, AutoTokenizer.from_pretrained(start))


def films(own: Sequence[Any]) -> list[tuple[bytes]]:
    """The films of studies as PNG."""
    return [(_png(each.image()),) for each in own]


def prompts(own: Sequence[Any], prompt: str) -> Dataset:
    """Films to write on."""
    return prompt_dataset(
        films(own),
        [each.findings for each in own],
        [each.key for each in own],
        prompt,
    )


def prompt_tokens(processor: FilmProcessor, own: Dataset) -> int:
    """How long prompts are with their films: of one size they are all as long."""
    row = own[0]
    return int(
        encode_prompts(processor, [row["images"]], [row["prompt"][0]["content"]])["input_ids"].shape[1]
    )


def _png(film: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(film).save(stream, format="PNG")
    return stream.getvalue()


def reward(params: Mapping[str, Any], references: Sequence[str]) -> RewardSum:
    """DEER's, as the study's arm of plain GRPO has it, but for its phases: TRL's weights do not change."""
    labeler = rules(**params["labeler"]["rules"])
    parts = params["arms"]["grpo"]["reward"]
    constant = {name: {**own, "phase_switch": 0.0} for name, own in parts.items()}
    return build_reward(constant, labeler, references=references)


REAL: Final[dict[str, Any]] = {
    "text": {
        "hidden_size": 2048,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "vocab_size": 151936,
        "max_position_embeddings": 128_000,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
    },
    "vision": {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 2048,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
    },
}
"""config.json of Qwen2.5-VL-3B-Instruct, as far as shapes go."""


def twin(layers: int) -> dict[str, Any]:
    """The real shape with a few narrow layers: as many heads, windows and positions, for a CPU."""
    text = {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": layers,
        "vocab_size": 2048,
        "rope_parameters": {**REAL["text"]["rope_parameters"], "mrope_section": [2, 1, 1]},
    }
    vision = {
        "depth": layers,
        "hidden_size": 128,
        "intermediate_size": 256,
        "out_hidden_size": 128,
        "fullatt_block_indexes": [layers - 1],
    }
    return {"text": REAL["text"] | text, "vision": REAL["vision"] | vision}


def real(shape: Mapping[str, Any], texts: Sequence[str], *, device: str, dtype: str) -> Policy:
    """A Qwen2.5-VL of a shape with random weights; what its tokenizer has no word for is never said.

    Args:
        shape: text and vision, as `REAL`.
        texts: its tokenizer is trained on.
        device: where its weights are drawn.
        dtype: of them.
    """
    words = min(shape["text"]["vocab_size"], 1500)
    tokenizer = tiny.train_tokenizer(texts, words)
    ids = dict(
        zip(tiny.SPECIAL_TOKENS, tokenizer.convert_tokens_to_ids(list(tiny.SPECIAL_TOKENS)), strict=True)
    )
    end, pad = ids[tiny.TURN_END], ids[tiny.PAD]
    config = Qwen2_5_VLConfig(
        text_config={
            **shape["text"],
            "eos_token_id": end,
            "pad_token_id": pad,
            "bos_token_id": pad,
            "tie_word_embeddings": True,
        },
        vision_config=dict(shape["vision"]),
        image_token_id=ids[tiny.IMAGE_TOKEN],
        video_token_id=ids[tiny.VIDEO_TOKEN],
        vision_start_token_id=ids[tiny.VISION_START],
        vision_end_token_id=ids[tiny.VISION_END],
        tie_word_embeddings=True,
        dtype=dtype,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = Qwen2_5_VLForConditionalGeneration._from_config(config, dtype=folder.DTYPES[dtype])
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = end, pad
    seen = shape["vision"]
    image_processor = Qwen2VLImageProcessorPil(
        patch_size=seen["patch_size"], merge_size=seen["spatial_merge_size"]
    )
    return Policy(model.eval(), FilmProcessor(image_processor, tokenizer))
