"""Credit: how a report's advantage is spread over its tokens (DiTPO, DEER eq. 6).

A credit weighs the tokens of what a policy wrote before any reward is asked, so that a labeler whose
gradients it takes has labelled the reports by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from radrl.algorithms.advantages import token_advantages
from radrl.algorithms.f_measure import FloatArray
from radrl.algorithms.saliency import Spans
from radrl.reports.output import parse, report_of

if TYPE_CHECKING:
    from radrl.policy.spans import ByteLevelSpans

QUANTILES: Final = (0.1, 0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True, eq=False)
class Rollouts:
    """What a policy wrote on some films, the G rollouts of a film side by side.

    Args:
        ids: of B rollouts, each its tokens as written, without padding.
        outputs: the B texts they decode to, special tokens left out.
        references: B reference reports, as labelers read them.
        sample_ids: B ids, named when something is wrong.
        group: G.
        form: one of `radrl.reports.output.FORMS`.
    """

    ids: Sequence[Sequence[int]]
    outputs: Sequence[str]
    references: Sequence[str]
    sample_ids: Sequence[str]
    group: int
    form: str = "plain"

    @property
    def reports(self) -> list[str]:
        """What rewards read of each output, to the letter."""
        return [report_of(output, self.form) for output in self.outputs]

    @property
    def report_starts(self) -> list[int]:
        """Where that begins in its output, in characters."""
        if self.form == "think_report":
            return [parse(output).report_start for output in self.outputs]
        return [output.index(report) for output, report in zip(self.outputs, self.reports, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class TokenWeights:
    """Weights of the tokens of B rollouts.

    Args:
        values: of each rollout, shape (T_i,), at least 1, and 1 at special tokens.
        spans: places of its tokens in its output, in characters, shape (T_i, 2), empty at special tokens.
            With the output itself they say which words weigh how much (DEER, figure 3).
    """

    values: Sequence[FloatArray]
    spans: Sequence[Spans]

    def of_text(self) -> list[float]:
        """The weights of all tokens that stand for text, in one list."""
        pairs = zip(self.values, self.spans, strict=True)
        return [w for values, spans in pairs for w in values[spans[:, 0] < spans[:, 1]].tolist()]


class Credit(Protocol):
    """Weighs the tokens of rollouts."""

    def weigh(self, rollouts: Rollouts) -> TokenWeights | None:
        """Weigh tokens.

        Args:
            rollouts: B outputs, before they are scored.

        Returns:
            Their weights; nothing where every token weighs 1.

        Raises:
            ValueError: when the rollouts cannot be weighed; the message says why and names the mend.
        """
        ...


def by_token(advantages: npt.ArrayLike, weights: TokenWeights | None, width: int) -> FloatArray:
    """Spread advantages over tokens: DEER, eq. 6.

    Args:
        advantages: of B rollouts, shape (B,).
        weights: of their tokens; nothing where every token weighs 1.
        width: T, the tokens of the longest rollout or more.

    Returns:
        A_i w_i^t, shape (B, T); padding has the report's own advantage and is left to the loss's mask.

    Raises:
        ValueError: when the numbers of rollouts differ or an advantage is not finite.
    """
    report = np.asarray(advantages, np.float64)
    padded = np.ones((len(report) if weights is None else len(weights.values), width))
    for row, values in zip(padded, () if weights is None else weights.values, strict=False):
        row[: len(values)] = values
    return token_advantages(report, padded)


def weight_numbers(weights: Sequence[float]) -> dict[str, float]:
    """What a step's record keeps of the weights of tokens that stand for text.

    Args:
        weights: of all these tokens.

    Returns:
        Mean, greatest, share above 1 and `QUANTILES` by name; nothing where no token stands for text.
    """
    if not len(weights):
        return {}
    array = np.asarray(weights, np.float64)
    numbers = {"mean": array.mean(), "max": array.max(), "share_above_1": (array > 1).mean()}
    quantiles = zip(QUANTILES, np.quantile(array, QUANTILES), strict=True)
    numbers |= {f"p{round(100 * share)}": value for share, value in quantiles}
    return {f"credit/weight_{name}": float(value) for name, value in numbers.items()}


def places_of(spans: ByteLevelSpans, rollouts: Rollouts) -> list[Spans]:
    """Where tokens lie in the outputs, which must be what they decode to.

    Args:
        spans: of the policy's tokenizer.
        rollouts: B outputs.

    Returns:
        Start and end of each token in its output, in characters, shapes (T_i, 2).

    Raises:
        ValueError: naming the film whose output is not what its tokens decode to.
    """
    places: list[Spans] = []
    for ids, output, sample_id in zip(rollouts.ids, rollouts.outputs, rollouts.sample_ids, strict=True):
        found = spans.locate(ids)
        if found.text != output:
            raise ValueError(
                f"an output on film {sample_id} is not what its tokens decode to, so credit cannot be laid "
                "on them: the tokenizer's response template or its clean-up changes the text; switch it off"
            )
        places.append(found.spans)
    return places
