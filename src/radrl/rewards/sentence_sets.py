"""How near the sentences of a report lie to its reference's in an encoder's space, as a reward.

The idea is that of SDR (Gulluk, Van Puyvelde, Van Criekinge and Gevaert 2026, arXiv:2606.00440): each report
is cut into sentences, a frozen sentence encoder embeds them, and a distance between the two sets, which knows
no order, is a continuous reward for GRPO. **Which distances and settings are that paper's is not known
here**: its abstract alone could be read. The distances are the textbook's, of
`radrl.algorithms.set_distances`; the defaults and the cut into sentences are this project's, the encoder is
yours.

With `unit: report` a whole report is one vector, and the reward is the cosine of the two, as CXRMate-2
(arXiv:2604.18967) has one with CXR-BERT.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import AfterValidator, model_validator

from radrl.algorithms.f_measure import FloatArray
from radrl.algorithms.set_distances import FARTHEST, Distance, Ground, set_distance
from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.process.devices import check, place
from radrl.rewards.base import RewardError
from radrl.storage import json_files
from radrl.storage.digests import sha256

Unit = Literal["sentence", "report"]
Pooling = Literal["mean", "cls"]
_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_POOLINGS: Final[dict[str, Pooling]] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "mean": "mean",
    "cls": "cls",
}
"""As sentence-transformers writes them: a flag a mode or, in newer releases, the name of the mode."""
_STEPS: Final = ("Transformer", "Pooling", "Normalize")


class SentenceSetsSection(Section):
    """The encoder's folder, what is embedded, and how a distance becomes a reward."""

    encoder: LocalPath
    unit: Unit = "sentence"
    distance: Distance = "chamfer"
    ground: Ground = "cosine"
    width: PositiveFloat = 1.0
    scale: PositiveFloat | None = None
    pooling: Pooling | None = None
    batch_size: PositiveInt = 32
    device: Annotated[str, AfterValidator(check)] = "cpu"

    @model_validator(mode="after")
    def _fits(self) -> SentenceSetsSection:
        if self.distance == "energy" and self.ground == "cosine":
            raise ValueError("energy with the cosine compares means alone; set ground to euclidean")
        if self.distance != "mmd" and "width" in self.model_fields_set:
            raise ValueError(f"width is of the kernel of mmd, and distance is {self.distance}; leave it out")
        return self


class SentenceSets:
    """1 - distance of the two sets of embeddings; with a `scale`, exp(-distance / scale), in (0, 1].

    A report without a sentence earns what the farthest set would (`set_distances.FARTHEST`); a reference
    without one gives no score. Weights are safetensors, and no code of the folder runs.

    Args:
        encoder: a folder as sentence-transformers writes it, or a plain encoder of transformers.
        unit: what is embedded, each ``sentence`` or the whole ``report``.
        distance: of `radrl.algorithms.set_distances`.
        ground: between two embeddings.
        width: of the kernel of ``mmd``.
        scale: of the exponential; nothing for 1 - distance.
        pooling: how tokens become one vector; nothing for what the folder says, or else their mean.
        batch_size: texts computed at a time; part of a number's last digits.
        device: where it computes.

    Raises:
        RewardError: when the folder is no such encoder.
    """

    Section = SentenceSetsSection
    name, clinical = "sentence_sets", False
    reads: Literal["report", "output"] = "report"

    def __init__(
        self,
        name: str = "sentence_sets",
        *,
        encoder: str | Path,
        unit: Unit = "sentence",
        distance: Distance = "chamfer",
        ground: Ground = "cosine",
        width: float = 1.0,
        scale: float | None = None,
        pooling: Pooling | None = None,
        batch_size: int = 32,
        device: str = "cpu",
    ) -> None:
        self.name, self._unit, self._scale = name, unit, scale
        self._how: dict[str, Any] = {"distance": distance, "ground": ground, "width": width}
        self._farthest = FARTHEST[distance]
        try:
            self._encoder = Encoder(Path(encoder), pooling=pooling, batch_size=batch_size, device=device)
        except RewardError as error:
            raise RewardError(f"reward {name}: {error}") from error
        self.told: Mapping[str, float] = {}

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        """See `radrl.rewards.base.Reward`; the encoder is loaded by then."""
        try:
            self._encoder.embed(["No pleural effusion."])
        except ValueError as error:
            raise RewardError(f"reward {self.name}: {error}") from error
        yield self._encoder.about

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`; `told` has the mean number of sentences of a report."""
        cut = [self._cut(text) for text in (*reports, *references)]
        known = list(dict.fromkeys(text for own in cut for text in own))
        rows = {text: row for row, text in enumerate(known)}
        vectors = self._encoder.embed(known)
        sets = [vectors[[rows[text] for text in own]] for own in cut]
        found, truth = sets[: len(reports)], sets[len(reports) :]
        self.told = {"sentences": sum(map(len, found)) / len(found)} if found else {}
        return [self._worth(*pair) for pair in zip(found, truth, strict=True)]

    def _cut(self, text: str) -> list[str]:
        whole = " ".join(text.split())
        if self._unit == "report":
            return [whole] if whole else []
        return sentences(text)

    def _worth(self, found: FloatArray, truth: FloatArray) -> float:
        if not len(truth):
            return math.nan
        distance = set_distance(found, truth, **self._how) if len(found) else self._farthest
        return 1.0 - distance if self._scale is None else math.exp(-distance / self._scale)


def sentences(text: str) -> list[str]:
    r"""A report's sentences as they stand: behind . ! ? or ; and a blank, and at the end of a line.

    Example:
        >>> sentences("Heart is normal. A 1.5 cm nodule;\nno effusion.")
        ['Heart is normal.', 'A 1.5 cm nodule;', 'no effusion.']
    """
    parts = (" ".join(part.split()) for part in _END.split(text))
    return [part for part in parts if any(map(str.isalnum, part))]


@dataclass(frozen=True)
class Layout:
    """What a folder says of its encoder.

    Args:
        transformer: folder of the weights and the tokenizer.
        pooling: how tokens become one vector; nothing where it does not say.
        longest: tokens that are read; nothing for as many as the model has places for.
    """

    transformer: Path
    pooling: Pooling | None = None
    longest: int | None = None


def layout(folder: Path) -> Layout:
    """Read how a folder's encoder is put together.

    Args:
        folder: with sentence-transformers' modules.json, or of an encoder itself.

    Raises:
        RewardError: when it is none, or has a step that is not known here.
    """
    modules = folder / "modules.json"
    if not modules.is_file():
        if not (folder / "config.json").is_file():
            raise RewardError(f"no encoder in {folder}: it has neither modules.json nor config.json")
        return Layout(folder)
    steps = {str(one["type"]).rpartition(".")[2]: folder / str(one["path"]) for one in _json(modules)}
    if unknown := [step for step in steps if step not in _STEPS]:
        raise RewardError(
            f"{modules} has a step {unknown[0]}; known are {', '.join(_STEPS)}. Take another encoder"
        )
    named = _named_poolings(steps["Pooling"] / "config.json") if "Pooling" in steps else []
    if any(mode not in _POOLINGS for mode in named) or named[1:]:
        raise RewardError(
            f"{folder} pools by {', '.join(named)}; known are {', '.join(_POOLINGS)}, one of them"
        )
    settings = steps["Transformer"] / "sentence_bert_config.json"
    told = _json(settings) if settings.is_file() else {}
    return Layout(steps["Transformer"], _POOLINGS[named[0]] if named else None, told.get("max_seq_length"))


def _named_poolings(file: Path) -> list[str]:
    """The modes that a pooling step's file names, at least one."""
    own = _json(file)
    listed = own.get("pooling_mode", [])
    named = [listed] if isinstance(listed, str) else [str(mode) for mode in listed]
    named += [mode for mode, on in own.items() if mode.startswith("pooling_mode_") and on is True]
    if not named:
        raise RewardError(f"{file} does not say how tokens become one vector: no pooling_mode is set in it")
    return named


class Encoder:
    """Unit vectors of texts, by a frozen encoder in a local folder.

    Args:
        folder: of `layout`.
        pooling: in place of the folder's.
        batch_size: texts at a time.
        device: where it computes.

    Raises:
        RewardError: as `layout`.
    """

    def __init__(self, folder: Path, *, pooling: Pooling | None, batch_size: int, device: str) -> None:
        self.folder, self._layout = folder, layout(folder)
        self._pooling = pooling or self._layout.pooling or "mean"
        self._batch_size, self._device = batch_size, device

    @cached_property
    def about(self) -> dict[str, str]:
        """The digest of its files."""
        return {"encoder_sha256": sha256(self.folder), "pooling": self._pooling}

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors of N texts, float64, shape (N, D); of none, shape (0, 1)."""
        import torch

        if not texts:
            return np.zeros((0, 1))
        tokenizer, model = self._tokenizer, self._model
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), self._batch_size):
                read = tokenizer(
                    list(texts[start : start + self._batch_size]),
                    padding=True,
                    truncation=True,
                    max_length=self._longest,
                    return_tensors="pt",
                ).to(model.device)
                states = model(**read).last_hidden_state.double()  # (B, T, D)
                mask = read["attention_mask"][..., None]  # (B, T, 1)
                mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
                found.append((states[:, 0] if self._pooling == "cls" else mean).cpu().numpy())
        vectors = np.concatenate(found)
        unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    @property
    def _longest(self) -> int | None:
        # RoBERTa and MPNet count their places from 2
        places = getattr(self._model.config, "max_position_embeddings", 2) - 2
        known = (self._layout.longest, self._tokenizer.model_max_length, places)
        return min((int(own) for own in known if own), default=None)

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(
            self._layout.transformer, local_files_only=True, trust_remote_code=False
        )

    @cached_property
    def _model(self) -> Any:
        import transformers

        from radrl.storage import complete_weights

        folder = self._layout.transformer
        (named, *_) = _json(folder / "config.json").get("architectures") or ["AutoModel"]
        kind = getattr(transformers, named, None)
        if kind is None:
            raise RewardError(
                f"{folder} is of the class {named}, which transformers has not; its code is not run"
            )
        model = complete_weights.load(kind, folder, device=place(self._device))
        return model.base_model.eval()  # without the head of what it was trained by


def _json(file: Path) -> Any:
    return json_files.read(file, RewardError, mend="copy the folder again")
