"""Rewards as a weighted sum of named parts, each with its own weight, phases and way with missing scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from radrl.algorithms.total_reward import two_phase
from radrl.parts.section import Section, Share
from radrl.reports.output import report_of

Missing = Literal["raise", "skip"]
Weight = Annotated[float, Field(ge=0)]


class InTheSum(Section):
    """How a part enters the sum.

    Its weight; the share of the steps at which that begins to count, and what counts until then; and whether
    a report that the part has no score for stops the run or goes without the part.
    """

    weight: Weight
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"


class RewardError(ValueError):
    """A part gave no usable number for a report; the message names the film, never what the report says."""


class Reward(Protocol):
    """Scores reports in one way.

    An attribute `waits`, true, says that it waits for another process, that a pair's score hangs on no other
    pair and that it tells nothing besides: the trainer asks it in a thread, for each rollout as soon as that
    has ended. A method ``opened()`` gives a block in which it can be asked at little cost: what it needs is
    there, started and has been tried, or is refused with the mend; the block's value is what the scores
    depend on beside the settings, such as digests of weights.

    Attributes:
        name: what its curve is called.
        clinical: whether it judges findings, so that 0 means that nothing was right (OraPO's zero-reward
            rate) and references come as labelers read them; false of wording and form.
        reads: the report alone, or the whole output with the reasoning before it.
        told: further numbers of the last call, by name, for the curve.
    """

    name: str
    clinical: bool
    reads: Literal["report", "output"]
    told: Mapping[str, float]

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """Score reports.

        Args:
            reports: N generated reports, or outputs where `reads` says so.
            references: their N reference reports.
            sample_ids: N ids, for messages; rollouts of one film share one.

        Returns:
            N numbers; what is not finite is a missing score.
        """
        ...


@dataclass(frozen=True)
class Part:
    """A reward as it enters the sum.

    Args:
        reward: scores reports.
        weight: its share in the sum.
        phase_switch: share of the steps at which `weight` begins to count.
        first_weight: what counts until then.
        missing: what becomes of a report without a finite score: ``raise``, or ``skip``, which leaves it
            without this part (see `radrl.algorithms.total_reward`). It is never scored 0.
    """

    reward: Reward
    weight: float
    phase_switch: float = 0.0
    first_weight: float = 0.0
    missing: Missing = "raise"

    @property
    def name(self) -> str:
        """What its curve is called."""
        return self.reward.name

    @property
    def waits(self) -> bool:
        """Whether it is asked in a thread (`Reward`)."""
        return bool(getattr(self.reward, "waits", False))

    @property
    def has_phases(self) -> bool:
        """Whether its weight changes while a policy trains."""
        return self.phase_switch > 0 and self.first_weight != self.weight

    def weight_at(self, share: float) -> float:
        """Its weight when this share of the steps is done.

        Args:
            share: in [0, 1]; step t of T (from 0) has t / T.
        """
        switch = self.phase_switch
        return float(two_phase(share, phase_switch=switch, first=self.first_weight, second=self.weight))


class RewardSum:
    """The parts of an arm's reward; the trainer logs them apart and optimises their weighted sum.

    Args:
        parts: at least one.
        output: what the policy writes, one of `radrl.reports.output.FORMS`.
    """

    def __init__(self, parts: Sequence[Part], *, output: str = "plain") -> None:
        self.parts, self.output = list(parts), output

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        """A block in which what the parts need beside their settings is there, and has been tried.

        Yields:
            What scores depend on beside settings, such as digests of weights, after the name of the part.

        Raises:
            RewardError: when something is not there, or does not work, with the mend.
        """
        with ExitStack() as blocks:
            about: dict[str, str] = {}
            for part in self.parts:
                if opened := getattr(part.reward, "opened", None):
                    own = blocks.enter_context(opened())
                    about |= {f"{part.name}.{name}": value for name, value in own.items()}
            yield about

    def weights(self, share: float) -> list[float]:
        """The weight of each part when this share of the steps is done.

        Args:
            share: in [0, 1]; step t of T (from 0) has t / T.
        """
        return [part.weight_at(share) for part in self.parts]

    def score_part(
        self,
        part: Part,
        outputs: Sequence[str],
        references: Sequence[str],
        sample_ids: Sequence[str],
        *,
        label_texts: Sequence[str] | None = None,
    ) -> list[float]:
        """Score what a policy wrote with one part.

        Args:
            part: one of `parts`.
            outputs: N texts as the policy wrote them.
            references: N reference reports.
            sample_ids: N ids, for the message.
            label_texts: the references before a paper's cleaning, which clinical parts read in their place;
                nothing where they are the same.

        Returns:
            N numbers, finite but for the NaN of a missing score where the part may skip.

        Raises:
            RewardError: naming the part and the first film it has no finite number for, where it may not
                skip. A broken score is never counted as 0, which would teach the policy that the report was
                bad.
        """
        whole = part.reward.reads == "output"
        texts = outputs if whole else [report_of(output, self.output) for output in outputs]
        truth = label_texts if part.reward.clinical and label_texts is not None else references
        scores = [float(score) for score in part.reward(texts, truth, sample_ids)]
        if len(scores) != len(outputs):
            raise RewardError(f"reward {part.name} gave {len(scores)} scores for {len(outputs)} reports")
        for score, sample_id in zip(scores, sample_ids, strict=True):
            if part.missing == "raise" and not math.isfinite(score):
                raise RewardError(
                    f"reward {part.name} is {score} for film {sample_id}; mend it, or set the part's missing "
                    "to skip, which leaves such a report without this part"
                )
        return [score if math.isfinite(score) else math.nan for score in scores]
