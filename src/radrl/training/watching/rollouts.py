"""Rollouts to look at while a policy trains: the best and the worst groups of an update, a row a rollout.

Nothing is drawn or scored for it: the rows are of the rollouts that the update was made from. Groups are
ranked by their mean reward, which shows what the reward pays for and where the policy fails. The group with
the widest spread moves the weights most, but may lie anywhere; each rollout's reward is there to be seen.

    update       after which the row was noted
    group        best 1, best 2, ... worst 1, ...
    sample_id    of the film
    rollout      its number in the group, from 0
    reward       the weighted sum, as the update had it; empty where no part has a score
    rewards/NAME a part before its weight; empty where it has no score
    prompt       what the policy was asked, its places filled in
    output       what the policy wrote
    reference    the film's report, as labelers read it
    right, hedged, missed, wrong
                 findings by verdict (`radrl.evaluation.label_agreement`), joined by `JOINT`

They lie in the workspace as lines of JSON, each look a whole file. What a checkpoint does not know of, a
training that goes on from it has not done: such rows are dropped at its start, and come again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from accelerate.utils import gather_object
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from radrl.evaluation.label_agreement import VERDICTS, finding_verdicts
from radrl.reports.output import report_of
from radrl.storage.whole_files import whole_file
from radrl.training.callbacks import SUMMARY

if TYPE_CHECKING:
    from radrl.algorithms.f_measure import FloatArray
    from radrl.labelers import Labeler

Row = dict[str, Any]

ROWS: Final = "watched_rollouts.jsonl"
"""In the workspace."""
JOINT: Final = ", "
"""Between findings of a verdict; no observation has it in its name."""
PART: Final = "rewards/"

_FIRST: Final = ("update", "group", "sample_id", "rollout", "reward")
_LAST: Final = ("prompt", "output", "reference", *VERDICTS)


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The groups that an update was made from.

    Args:
        sample_ids: of P films.
        references: their reports, as labelers read them, P.
        outputs: what was written, P times G.
        scores: of the parts of the reward, shape (P, G, parts); NaN is missing.
        totals: the whole reward, shape (P, G); NaN is none.
    """

    sample_ids: Sequence[str]
    references: Sequence[str]
    outputs: Sequence[Sequence[str]]
    scores: FloatArray
    totals: FloatArray


def last_drawn(trainer: Any) -> Drawn:
    """What a trainer has drawn last, of all its processes; each of them has to ask.

    Args:
        trainer: a `radrl.training.reinforcement.trainer.ReportGRPOTrainer` that has drawn.
    """
    own, size = trainer.written, trainer.num_generations
    outputs = gather_object(list(own.outputs))
    return Drawn(
        gather_object(list(own.sample_ids))[::size],
        gather_object(list(own.references))[::size],
        [outputs[start : start + size] for start in range(0, len(outputs), size)],
        trainer.part_scores.reshape(-1, size, len(trainer.reward.parts)),
        trainer._totals(trainer.part_scores),
    )


def extremes(totals: FloatArray, each: int) -> dict[str, int]:
    """The best and the worst groups by mean reward.

    Args:
        totals: shape (P, G); NaN is a rollout without a reward.
        each: how many of either.

    Returns:
        The number of a group by its rank, the best first, then the worst from the bottom up; none is both,
        so that there are fewer worst ones where P is below 2 * each. A group without any reward is worse than
        all others; of equal groups the first is the better one.

    Example:
        >>> extremes(np.array([[0.5, 0.5], [0.0, 0.1], [1.0, 0.0], [1.0, 0.6]]), 1)
        {'best 1': 3, 'worst 1': 1}
    """
    scored = [group[~np.isnan(group)] for group in totals]
    means = [group.mean() if group.size else -np.inf for group in scored]
    order = sorted(range(len(means)), key=lambda number: -means[number])
    worst = order[each:][::-1][:each]
    return {
        f"{kind} {rank}": number
        for kind, numbers in (("best", order[:each]), ("worst", worst))
        for rank, number in enumerate(numbers, start=1)
    }


def rows_of_update(
    update: int, drawn: Drawn, watch: RolloutWatch, *, parts: Sequence[str], form: str
) -> list[Row]:
    """The rows of an update's best and worst groups.

    Args:
        update: its number.
        drawn: what it was made from.
        watch: how many of either, who reads the reports and their references, and what was asked.
        parts: names of the parts of the reward.
        form: one of `radrl.reports.output.FORMS`.

    Returns:
        A row a rollout, with what the module's head says.
    """
    shown = extremes(drawn.totals, watch.groups)
    texts = [
        text
        for number in shown.values()
        for text in (drawn.references[number], *(report_of(own, form) for own in drawn.outputs[number]))
    ]
    labels = iter(watch.labeler.label(texts).tolist())
    rows = []
    for rank, number in shown.items():
        truth = next(labels)
        for rollout, output in enumerate(drawn.outputs[number]):
            verdicts = finding_verdicts(truth, next(labels))
            scores = zip(parts, drawn.scores[number, rollout], strict=True)
            rows.append(
                {
                    "update": update,
                    "group": rank,
                    "sample_id": drawn.sample_ids[number],
                    "rollout": rollout,
                    "reward": _number(drawn.totals[number, rollout]),
                    **{f"{PART}{name}": _number(score) for name, score in scores},
                    "prompt": watch.prompts[drawn.sample_ids[number]],
                    "output": output,
                    "reference": drawn.references[number],
                    **{
                        kind: JOINT.join(n for n, own in verdicts.items() if own == kind) for kind in VERDICTS
                    },
                }
            )
    return rows


def read_rows(workspace: Path) -> list[Row]:
    """The rows that a training has noted so far; none where it notes none.

    Args:
        workspace: of the arm.
    """
    file = workspace / ROWS
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.is_file() else []


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows as a table with the columns of the module's head, in that order; parts by name.

    Args:
        rows: of `read_rows`.
    """
    given = list(rows)
    parts = sorted({name for row in given for name in row if name.startswith(PART)})
    frame = pd.DataFrame(given, columns=[*_FIRST, *parts, *_LAST])
    kinds = dict.fromkeys(("update", "rollout"), "int64") | dict.fromkeys(("reward", *parts), "float64")
    return frame.astype(dict.fromkeys(("group", "sample_id", *_LAST), "string") | kinds)


@dataclass(frozen=True, slots=True)
class RolloutWatch:
    """What is noted, and who reads it.

    Args:
        labeler: reads the reports.
        every: updates from one look to the next.
        groups: how many of the best, and of the worst.
        prompts: what the policy is asked, by sample_id, of every film that the arm trains on.
    """

    labeler: Labeler
    every: int
    groups: int
    prompts: Mapping[str, str]


class WatchingRollouts(TrainerCallback):
    """Notes rollouts after the first update, every so many, and after the last.

    It has to come after what may end a training (`radrl.training.watching.early_stopping`), so that it knows
    the last update.

    Args:
        watch: what is noted.
        trainer: a `radrl.training.reinforcement.trainer.ReportGRPOTrainer`.
    """

    def __init__(self, watch: RolloutWatch, trainer: Any) -> None:
        self.watch, self.trainer = watch, trainer

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Called by the trainer before the first step of a run, also of a resumed one."""
        if state.is_world_process_zero:
            known = read_rows(Path(args.output_dir))
            _write(Path(args.output_dir), [row for row in known if row["update"] <= state.global_step])

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step, before it saves."""
        update = state.global_step
        last = update == state.max_steps or control.should_training_stop
        if logs is None or SUMMARY in logs or not (update == 1 or update % self.watch.every == 0 or last):
            return
        drawn = last_drawn(self.trainer)  # by every process, for each has a share
        if state.is_world_process_zero:
            reward = self.trainer.reward
            names = [part.name for part in reward.parts]
            found = rows_of_update(update, drawn, self.watch, parts=names, form=reward.output)
            _write(Path(args.output_dir), [*read_rows(Path(args.output_dir)), *found])


def _write(workspace: Path, rows: Iterable[Row]) -> None:
    workspace.mkdir(parents=True, exist_ok=True)
    with whole_file(workspace / ROWS) as stream:
        stream.writelines(json.dumps(row).encode() + b"\n" for row in rows)


def _number(value: float) -> float | None:
    """A number as JSON has it."""
    return None if np.isnan(value) else float(value)
