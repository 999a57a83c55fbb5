"""The credit that an arm's `credit` in params.yaml names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from radrl.credit.base import Credit, Rollouts, TokenWeights, places_of
from radrl.labelers import Labeler
from radrl.parts.find import Part, find, ingredients, names

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from radrl.policy.spans import ByteLevelSpans


class FunctionMetric:
    """The weights that a function gives the tokens of rollouts.

    Args:
        part: the function.
        settings: its own.
        spans: of the policy's tokenizer.
        labelers: gives a labeler by its name, for a function that asks for it.
    """

    def __init__(
        self,
        part: Part,
        settings: Mapping[str, Any],
        spans: ByteLevelSpans,
        labelers: Callable[[str], Labeler],
    ) -> None:
        self._part, self._spans, self._labelers = part, spans, labelers
        self._settings = part.settings(settings)

    def weigh(self, rollouts: Rollouts) -> TokenWeights:
        """See `radrl.credit.base.Credit`.

        Raises:
            ValueError: when it gives another number of weights than there are tokens.
        """
        places = places_of(self._spans, rollouts)
        given = {"rollouts": rollouts, "spans": places, "labelers": self._labelers}
        wanted = {name: given[name] for name in ingredients(self._part.object) if name in given}
        found = self._part.object(**wanted, **self._settings)
        values = [np.asarray(own, np.float64) for own in found]
        if [own.shape for own in values] != [(len(ids),) for ids in rollouts.ids]:
            raise ValueError(
                f"{self._part.path} does not give every token of every rollout a weight; give an array of "
                "shape (T,) a rollout, T its number of tokens"
            )
        return TokenWeights(values, places)


def build(
    settings: str | Mapping[str, Mapping[str, Any] | None],
    tokenizer: PreTrainedTokenizerBase,
    labelers: Callable[[str], Labeler],
) -> Credit:
    """Build a credit.

    Args:
        settings: an arm's `credit` in params.yaml: the name of a credit with its settings, or the name alone
            of one without.
        tokenizer: the policy's.
        labelers: gives a labeler by its name; the one that the rewards ask must be the same object, or its
            forward pass is done twice.

    Returns:
        The credit.

    Raises:
        radrl.parts.find.PartError: for a credit that cannot be had.
        ValueError: for several or none, a labeler without gradients, or a tokenizer whose tokens have no
            bytes.
    """
    given: Mapping[str, Any] = {settings: {}} if isinstance(settings, str) else settings
    chosen = {name: own for name, own in given.items() if own is not None}
    if len(chosen) != 1:
        valid = ", ".join(names("credit"))
        raise ValueError(f"credit is {', '.join(chosen) or 'empty'}; give one of {valid}")
    [(name, own)] = chosen.items()
    part = find("credit", name, own)
    if part.is_function:
        from radrl.policy.spans import ByteLevelSpans

        return FunctionMetric(part, own, ByteLevelSpans(tokenizer), labelers)
    credit: Credit = part.make(own, tokenizer=tokenizer, labelers=labelers)
    return credit
