"""The credit that an arm's `credit` in params.yaml names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from radrl.credit.adapted import OfFunction
from radrl.credit.base import Credit
from radrl.labelers.base import Labeler
from radrl.parts.find import find, names

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
    if part.asked:
        from radrl.policy.spans import ByteLevelSpans

        return OfFunction(part, own, ByteLevelSpans(tokenizer), labelers)
    credit: Credit = part.make(own, tokenizer=tokenizer, labelers=labelers)
    return credit
