"""What a family of vision-language models has of its own.

A family is one architecture of transformers, by the `model_type` of its config.json. It says how films and
prompts become tensors, where its vision encoder lies, and what a group's rollouts can share: their prompt
while they are written, their prompt in the forward pass of training, or neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import torch
from PIL import Image
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.processing_utils import ProcessorMixin

Inputs = Mapping[str, torch.Tensor]
"""The tensors of a family's processor."""


class Family(ABC):
    """One architecture.

    Class attributes:
        model_type: as config.json has it.
        name: as its owners call it.
        vision: beginnings of the paths of what `tunes: vision` trains: the encoder and the projector.
        parts: globs over the paths of its linear layers, by the name of the part.
        layer: transformers' name of the class of the language model's layers.
        marks: keys of its config.json with the tokens that stand for a film or at its ends. They are never
            written: no film would stand behind them.
        kinds: the input that is 1 where a token stands for a part of a film, shape (B, T).
        per_film: inputs whose rows are patches or films, not prompts.
        unfit_dtypes: why it does not compute in some of `radrl.policy.folder.DTYPES`.
    """

    model_type: ClassVar[str]
    name: ClassVar[str]
    vision: ClassVar[tuple[str, ...]]
    parts: ClassVar[Mapping[str, str]]
    layer: ClassVar[str]
    marks: ClassVar[tuple[str, ...]]
    kinds: ClassVar[str]
    per_film: ClassVar[tuple[str, ...]]
    unfit_dtypes: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def model_class(self) -> type[PreTrainedModel]:
        """The class of its models."""

    @abstractmethod
    def processor(
        self, folder: Path, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel
    ) -> ProcessorMixin:
        """What turns chat text with films into tensors.

        Args:
            folder: of the policy.
            tokenizer: its own.
            model: its own; may be told which tokens end a report.

        Raises:
            ValueError: when the folder asks for what the family cannot do here.
        """

    @abstractmethod
    def ready(self, model: PreTrainedModel) -> None:
        """Let a model compute as fast as it can here, in place; what it computes stays the same."""

    @abstractmethod
    def by_row(self, inputs: Inputs, config: Any) -> dict[str, list[torch.Tensor]]:
        """The inputs `per_film`, of each of N rows.

        Args:
            inputs: `kinds`, shape (N, T), and the inputs `per_film`.
            config: the model's.

        Returns:
            N tensors by the name of the input, empty where a row has no film.
        """

    @abstractmethod
    def film_tokens(self, model: Any, processor: Any, pictures: Sequence[Image.Image]) -> list[torch.Tensor]:
        """What the vision encoder and the projector make of N films: N tensors (tokens, hidden)."""

    @abstractmethod
    def next_positions(self, model: Any, mask: torch.Tensor) -> torch.Tensor:
        """The position behind each of P prompts that the model has just read.

        Args:
            model: without wrappers.
            mask: which tokens are no padding, left-padded, shape (P, L).

        Returns:
            Shape (P,).
        """

    @abstractmethod
    def position_ids(self, positions: torch.Tensor) -> torch.Tensor:
        """What the model is told of one token a row at positions (B,)."""

    @abstractmethod
    def attention_arguments(self, text: Any, who: Any) -> dict[str, Any]:
        """Arguments of the model's forward by which its layers learn who sees whom.

        Args:
            text: the language model's configuration.
            who: what an attention function of ours takes in place of a mask.
        """

    def why_not_shared(self, text: Any, longest: int) -> str | None:
        """Why rollouts that long cannot be written from a prompt that is held once; nothing where they can.

        Args:
            text: the language model's configuration.
            longest: tokens of prompt and report.

        Raises:
            ValueError: when they cannot be written at all.
        """
        return None

    def no_shared_forward(self) -> str | None:
        """Why a group's prompt cannot be read once in a forward pass of training; nothing where it can."""
        return None

    def check_dtype(self, dtype: str) -> None:
        """Refuse a precision that the family does not compute in.

        Raises:
            ValueError: naming the dtype, the reason and the mend.
        """
        if why := self.unfit_dtypes.get(dtype):
            raise ValueError(f"policy.dtype is {dtype}; {self.name} {why}")


THINK: Final = "<think>"
"""By which a reasoning model's turn begins."""


def check_chat(processor: Any, name: str, folder: Path) -> None:
    """Refuse a folder by whose chat template no report can be asked for.

    Args:
        processor: the policy's.
        name: of its family.
        folder: of the policy, for the message.

    Raises:
        ValueError: without a template, or when the policy's turn begins with its reasoning.
    """
    if not processor.chat_template:
        raise ValueError(
            f"{folder} has no chat template, so there is no form to ask {name} in: take weights that were "
            "tuned for instructions (-Instruct, -it), or add the template to tokenizer_config.json"
        )
    turn = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "."}]}]
    asked = processor.apply_chat_template([turn], add_generation_prompt=True, tokenize=False)[0]
    if asked.rstrip().endswith(THINK):
        raise ValueError(
            f"{folder} is {name} whose turns begin with {THINK}: their reasoning would be read as a report; "
            "take the -Instruct weights. Reasoning that an arm asks for is the arm's `output: think_report`"
        )


def never_write(model: Any, tokens: Iterable[int]) -> None:
    """Let a model's `generate` never choose some tokens.

    Args:
        model: its generation settings are changed.
        tokens: their ids.
    """
    known = model.generation_config.suppress_tokens or []
    model.generation_config.suppress_tokens = sorted({*known, *tokens})


def end_by(model: Any, tokens: Iterable[int]) -> None:
    """Let some more tokens end what a model's `generate` writes.

    Args:
        model: its generation settings are changed.
        tokens: their ids.
    """
    known = model.generation_config.eos_token_id
    ends = known if isinstance(known, list) else [] if known is None else [known]
    model.generation_config.eos_token_id = sorted({*ends, *tokens})
