"""What rollouts say, the same in all ways, and how generation is held to it.

An untrained policy never ends a report, and lengths are what a step's cost follows. So rollouts are written
down beforehand: reports of the drawn corpus, repeated or cut to its own spread of lengths around the asked
median. Generation really runs, token by token, and draws from what the model computes; a logits processor,
handed to `generate` as any caller may, then leaves of each row's distribution the token that stands in its
script. Rows so end where their scripts end, and whoever lets finished rows leave gains by it what it would.

A row is known by its first token, which no other row of the step has: whatever becomes of the order of rows,
or of those that have ended, needs no further word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from statistics import median
from typing import Any, Final
from unittest.mock import patch

import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedTokenizerBase,
    Qwen2_5_VLForConditionalGeneration,
)

FIRST_MARKER: Final = 300
"""Of the tokens that tell rows apart: behind the special ones and the bytes, in any vocabulary."""


def write(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, tokens: int, rows: int, steps: int
) -> list[list[list[int]]]:
    """The scripts of some steps.

    Args:
        tokenizer: the policy's.
        texts: reports of a corpus.
        tokens: median length that is wanted, the end included.
        rows: rollouts of a step.
        steps: how many.

    Returns:
        Token ids by step and row; the first tells the row, the last ends it.

    Raises:
        ValueError: when there are more rows than tokens to tell them apart.
    """
    if FIRST_MARKER + rows > len(tokenizer):
        raise ValueError(f"{rows} rows a step need {FIRST_MARKER + rows} tokens; there are {len(tokenizer)}")
    reports = [tokenizer(text)["input_ids"] for text in texts]
    usual = median(len(report) for report in reports)
    scripts = []
    for number in range(rows * steps):
        report = reports[number % len(reports)]
        length = max(3, round(len(report) * tokens / usual)) - 2
        body = (report * (length // len(report) + 1))[:length]
        scripts.append([FIRST_MARKER + number % rows, *body, tokenizer.eos_token_id])
    return [scripts[start : start + rows] for start in range(0, len(scripts), rows)]


@dataclass
class Play:
    """The scripts as a trainer goes through them.

    Args:
        scripts: by step and row.
        padding: what a row is told behind its end.
    """

    scripts: Sequence[Sequence[Sequence[int]]]
    padding: int
    steps: int = 0
    begun: int = 0
    table: torch.Tensor = field(init=False)

    def next_step(self) -> None:
        """Go on to the next step's rows; each `generate` within it takes as many as it has."""
        own = self.scripts[self.steps % len(self.scripts)]
        self.table = torch.full((len(own), max(map(len, own)) + 1), self.padding)
        for row, script in zip(self.table, own, strict=True):
            row[: len(script)] = torch.tensor(script)
        self.steps, self.begun = self.steps + 1, 0

    @contextmanager
    def directing(self) -> Iterator[None]:
        """A block in which every Qwen2.5-VL generates what stands in the scripts."""
        plain = Qwen2_5_VLForConditionalGeneration.generate

        @wraps(plain)
        def generate(model: Any, *args: Any, logits_processor: Any = (), **settings: Any) -> Any:
            processors = LogitsProcessorList([*(logits_processor or ()), Prompter(self)])
            return plain(model, *args, logits_processor=processors, **settings)

        with patch.object(Qwen2_5_VLForConditionalGeneration, "generate", generate):
            yield


class Prompter(LogitsProcessor):
    """Leaves each row the next token of its script alone.

    Args:
        play: whose rows one call of `generate` takes.
    """

    def __init__(self, play: Play) -> None:
        self.play = play
        self.prompt: int | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self.prompt is None:
            self.prompt = input_ids.shape[1]
        table = self.play.table = self.play.table.to(scores.device)
        written = input_ids.shape[1] - self.prompt
        if written:
            rows = input_ids[:, self.prompt] - FIRST_MARKER
        else:
            rows = torch.arange(self.play.begun, self.play.begun + len(scores), device=scores.device)
            self.play.begun += len(scores)
        said = table[rows, min(written, table.shape[1] - 1)]
        return torch.full_like(scores, -torch.inf).scatter(1, said[:, None], 0.0)
