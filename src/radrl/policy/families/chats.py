"""What published chat templates and generation settings must and must not say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

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
