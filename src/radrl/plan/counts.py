"""How many tokens there are: of films, of prompts, of a training.

Films are fitted by the stage ingest and once more by the policy's image processor, which brings each side to
a multiple of patch * merge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from radrl.training import batches, length


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a stage computes, over all its processes.

    Args:
        patches: of films that the vision tower looks at without learning.
        patches_learned: those a gradient is taken on.
        read: tokens that the language model reads, prompts and films among them.
        learned: tokens a gradient is taken on, their reading not counted in `read`.
        written: tokens that are generated.
        steps: tokens that one batch after another writes, which wait for one another, of one process.
        batches: how many such batches one process writes.
        reports: texts that a labeler reads.
    """

    patches: int = 0
    patches_learned: int = 0
    read: int = 0
    learned: int = 0
    written: int = 0
    steps: int = 0
    batches: int = 0
    reports: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of the corpus as the policy is given it.

    Args:
        pictures: films of it.
        patches: of all of them.
        prompt: tokens, those of the films included.
        report: tokens of a report, its end included; about.
    """

    pictures: int
    patches: int
    prompt: int
    report: int


def patches(side: int, *, patch: int, merge: int, least: int = 0, most: int | None = None) -> int:
    """Patches of a square film after the policy's image processor.

    A side becomes the nearest multiple of patch * merge; where the area is out of bounds the film is scaled
    to them first (transformers' `smart_resize`).

    Args:
        side: pixels, `ingest.image_size`; with image_fit `longest_side` other films are smaller.
        patch: pixels.
        merge: patches of a side that become one token.
        least: pixels of a film at least.
        most: pixels of a film at most.

    Example:
        >>> patches(448, patch=14, merge=2)
        1024
    """
    cell = patch * merge
    fitted = max(cell, round(side / cell) * cell)
    if most is not None and fitted**2 > most:
        fitted = max(cell, math.floor(math.sqrt(most) / cell) * cell)
    elif fitted**2 < least:
        fitted = math.ceil(math.sqrt(least) / cell) * cell
    return (fitted // patch) ** 2


def groups(start: int, size: int, rollouts: int) -> int:
    """Films whose rollouts lie among `size` rollouts from the one numbered `start`.

    Example:
        >>> groups(0, 16, 8), groups(6, 4, 8)
        (2, 2)
    """
    return (start + size - 1) // rollouts - start // rollouts + 1


def of_step(settings: Mapping[str, Any], processes: int) -> tuple[int, int]:
    """Films that a process reads for a step: once each in generation, once a part in every forward pass.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        processes: that share the step.

    Returns:
        Films of the first process in generation; of all its parts together.
    """
    parts = batches.of_rollouts(settings, processes)
    rollouts = settings["rollouts"]
    own = groups(0, parts.size * parts.number, rollouts)
    return own, sum(groups(i * parts.size, parts.size, rollouts) for i in range(parts.number))


def training(
    settings: Mapping[str, Any],
    sample: Sample,
    films: int,
    *,
    processes: int,
    start: bool,
    watched: int = 0,
    equal_groups: float = 0.0,
) -> Tokens:
    """What an arm's training computes.

    Rollouts are written from prompts that are read once a film; the frozen start and the update read a film
    once a part. TRL asks for the policy's own log-probabilities apart where a batch serves several updates.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        sample: as the arm's prompt makes it.
        films: of the arm's subset.
        processes: that share a step.
        start: whether a frozen start is asked.
        watched: validation films of a look.
        equal_groups: share of groups whose rewards are equal, of those that are redrawn.
    """
    rounds, updates = length.batches(settings, films), length.steps(settings, films)
    own, in_parts = of_step(settings, processes)
    sequences = settings["prompts_per_step"] * settings["rollouts"]
    forward = processes * in_parts * sample.prompt + sequences * sample.report
    seen = processes * in_parts * sample.patches
    asked = int(start) + int(settings["iterations"] > 1)
    drawing = Tokens(
        patches=processes * own * sample.patches,
        read=processes * own * sample.prompt,
        written=sequences * sample.report,
        steps=settings["max_new_tokens"],
        batches=1,
        reports=sequences,
    )
    reading = Tokens(patches=asked * seen, read=asked * forward)
    learning = Tokens(patches_learned=seen, learned=forward)
    total = times(drawing + reading, rounds) + times(learning, updates)
    total += redrawing(settings, sample, rounds, equal_groups)
    return total + times(looking(sample, watched, settings), looks(settings, updates))


def redrawing(settings: Mapping[str, Any], sample: Sample, rounds: int, equal: float) -> Tokens:
    """What is drawn beyond a training's steps in place of groups of equal rewards, in expectation.

    A batch's attempt draws as many films as groups are still equal, and each of these teaches with a chance
    of 1 - `equal`, whichever its film: P equal^a films in attempt a, which takes place where one is left.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        sample: as the arm's prompt makes it.
        rounds: batches of the training.
        equal: share of groups whose rewards are equal.

    Example:
        >>> own = {"dynamic_sampling": {"mode": "redraw", "at_most": 2}, "prompts_per_step": 8, "rollouts": 4}
        >>> redrawing(own | {"max_new_tokens": 60}, Sample(1, 4, 20, 50), rounds=10, equal=0.5).reports
        240
    """
    own = settings.get("dynamic_sampling")
    if not own or own["mode"] != "redraw":
        return Tokens()
    prompts, attempts = settings["prompts_per_step"], range(1, own["at_most"] + 1)
    films = round(rounds * sum(prompts * equal**attempt for attempt in attempts))
    waits_for = round(rounds * sum(1 - (1 - equal**attempt) ** prompts for attempt in attempts))
    rollouts = films * settings["rollouts"]
    return Tokens(
        patches=films * sample.patches,
        read=films * sample.prompt,
        written=rollouts * sample.report,
        steps=waits_for * settings["max_new_tokens"],
        batches=waits_for,
        reports=rollouts,
    )


def looks(settings: Mapping[str, Any], updates: int) -> int:
    """How often watched films are looked at: before the first update, every so many, after the last."""
    watch = settings["watch"]
    if not watch or not watch["every"]:
        return 0
    return 1 + -(-updates // int(watch["every"]))


def looking(sample: Sample, films: int, settings: Mapping[str, Any]) -> Tokens:
    """One look: greedy reports on the watched films, in two batches (docs/training.md)."""
    return writing(
        sample, films, samples=1, batch=math.ceil(films / 2) or 1, longest=settings["max_new_tokens"]
    )


def writing(
    sample: Sample, films: int, *, samples: int, batch: int, longest: int, rows: int | None = None
) -> Tokens:
    """What one process computes that writes reports on films.

    Args:
        sample: as the prompt makes it.
        films: how many.
        samples: reports of each.
        batch: films at once.
        longest: tokens that the longest report of a batch is taken to have.
        rows: reports that are written at once, the next taking the place of one that ends, as vLLM does; by
            default all of a batch, which ends with its longest.
    """
    number = math.ceil(films / batch)
    waiting = waits(min(batch, films) * samples, rows, report=sample.report, longest=longest)
    return Tokens(
        patches=films * sample.patches,
        read=films * sample.prompt,
        written=films * samples * sample.report,
        steps=number * waiting,
        batches=number,
        reports=films * samples,
    )


def waits(reports: int, rows: int | None, *, report: int, longest: int) -> int:
    """Tokens of a batch that wait for one another.

    Args:
        reports: of the batch.
        rows: that are written at once; all of them by default.
        report: tokens of one, about.
        longest: tokens of the longest.

    Example:
        >>> waits(80, None, report=100, longest=150), waits(80, 20, report=100, longest=150)
        (150, 450)
    """
    rounds = 1.0 if rows is None or rows >= reports else reports / rows
    return math.ceil((rounds - 1) * report) + longest


def supervised(settings: Mapping[str, Any], sample: Sample, films: int) -> Tokens:
    """What a supervised training computes: every film with its report, once an epoch.

    Args:
        settings: the keys of `radrl.params.policy.Supervised`.
        sample: as the prompt makes it.
        films: of the training split.
    """
    examples = settings["epochs"] * films
    return Tokens(
        patches_learned=examples * sample.patches, learned=examples * (sample.prompt + sample.report)
    )


def times(tokens: Tokens, factor: int) -> Tokens:
    """A multiple of what is computed.

    Example:
        >>> times(Tokens(read=3), 2).read
        6
    """
    return Tokens(*(factor * getattr(tokens, name) for name in tokens.__slots__))
