"""Parts of a reward that wait for another process, asked while the policy still writes.

A step's rollouts end one after another. Each is asked for as soon as it has ended, in a thread for each such
part, which waits on a pipe or a socket; so a slow reward costs a step what exceeds the writing of the others.
Which rollouts a request holds follows from what was written and not from how long anything took: a training
that is resumed asks the same, and gets the same numbers. Rollouts of another engine come all at once, so
there the parts are asked at the same time as one another and no earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from radrl.rewards.base import Part, RewardSum

Rows = Sequence[Mapping[str, Any]]
"""Of the data set: `reference`, `label_text` and `sample_id` of each rollout."""


class RewardRequests:
    """What the parts that wait have been asked of a process' rollouts, and their scores.

    Args:
        reward: whose parts they are.
    """

    def __init__(self, reward: RewardSum) -> None:
        self._reward = reward
        self._threads = {
            part.name: (part, ThreadPoolExecutor(1, thread_name_prefix=f"reward-{part.name}"))
            for part in reward.parts
            if part.waits
        }
        self._asked: dict[int, str] = {}
        self._pending: dict[str, list[tuple[list[int], Future[list[float]]]]] = {}
        self._rows: Rows = ()

    @property
    def any(self) -> bool:
        """Whether a part is asked in a thread."""
        return bool(self._threads)

    def begin(self, rows: Rows) -> None:
        """Turn to other rollouts.

        Args:
            rows: of the data set, one a rollout.
        """
        self._rows, self._asked = rows, {}
        self._pending = {name: [] for name in self._threads}

    def ask(self, outputs: Mapping[int, str]) -> None:
        """Ask for some rollouts, and do not wait.

        Args:
            outputs: what was written, by the rollout's place among the rows.
        """
        if not outputs or not self.any:
            return
        self._asked |= outputs
        places = list(outputs)
        texts = {
            key: [self._rows[place][key] for place in places]
            for key in ("reference", "label_text", "sample_id")
        }
        for name, (part, thread) in self._threads.items():
            found = thread.submit(
                self._reward.score_part,
                part,
                [outputs[place] for place in places],
                texts["reference"],
                texts["sample_id"],
                label_texts=texts["label_text"],
            )
            self._pending[name].append((places, found))

    def finish(self, outputs: Sequence[str]) -> None:
        """Ask for all rollouts that have not been asked for, such as those that never ended.

        Args:
            outputs: what was written, of every row.
        """
        left = {place: text for place, text in enumerate(outputs) if self._asked.get(place) != text}
        self.ask(left)

    def scores(self, part: Part) -> list[float]:
        """Wait for a part's scores, in the order of the rows.

        Args:
            part: one that waits.

        Raises:
            Exception: the part's own, of the first request that failed.
        """
        found = [0.0] * len(self._rows)
        for places, request in self._pending[part.name]:
            for place, score in zip(places, request.result(), strict=True):
                found[place] = score
        return found

    def close(self) -> None:
        """Ask for nothing more; a thread that waits ends with whom it waits for."""
        for _, thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def watching(
        self, model: Any, ends: Sequence[int], text_of: Callable[[list[int]], str]
    ) -> Iterator[None]:
        """A block in which what a model's `generate` has written to its end is asked for at once.

        Args:
            model: without adapters or wrappers around it.
            ends: tokens that end a rollout.
            text_of: a rollout's text, from its tokens.
        """
        if not self.any:
            yield
            return
        before = model.generate
        watch = StoppingCriteriaList([_Ends(ends, lambda ids: self.ask(_texts(ids, text_of)))])
        model.generate = partial(before, stopping_criteria=watch)
        try:
            yield
        finally:
            model.generate = before


def _texts(ids: Mapping[int, list[int]], text_of: Callable[[list[int]], str]) -> dict[int, str]:
    return {place: text_of(own) for place, own in ids.items()}


class _Ends(StoppingCriteria):  # type: ignore[misc]
    """Stops nothing, and tells which rows have just ended.

    `radrl.policy.decoding` lets rows leave the batch once they have ended, in their order, and perhaps later
    than at once: the rows that had not ended are those that it was shown last, in the same order.

    Args:
        ends: tokens that end a row.
        told: of the rows that end with the last token, their tokens from the first written one on.
    """

    def __init__(self, ends: Sequence[int], told: Callable[[dict[int, list[int]]], None]) -> None:
        self._ends, self._told = list(ends), told
        self._going: list[int] = []
        self._start: int | None = None

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        if self._start is None:
            self._start, self._going = input_ids.shape[1] - 1, list(range(len(input_ids)))
        written = input_ids[:, self._start :]
        at_end = torch.isin(written, torch.tensor(self._ends, device=written.device))
        going = (~at_end[:, :-1].any(dim=1)).nonzero()[:, 0].tolist()
        ended = at_end[going, -1].tolist()
        rows = zip(self._going, going, ended, strict=True)
        if any(ended):
            self._told({place: written[row].tolist() for place, row, end in rows if end})
            self._going = [place for place, end in zip(self._going, ended, strict=True) if not end]
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)
