"""Weights of tokens for other trainers: DiTPO's rule and gradient by one call (DEER, eq. 7 to 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from radrl.algorithms.f_measure import FloatArray
from radrl.credit.base import Credit, Rollouts
from radrl.credit.build import build
from radrl.labelers.base import Labeler
from radrl.parts.checked import checked
from radrl.parts.choices import hint
from radrl.parts.find import find
from radrl.parts.find import names as part_names
from radrl.reports.lists import require_equal, texts
from radrl.reports.output import FORMS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "tf_idf": {"alpha": 4.0, "tf": "relative", "idf": "plain"},
    "gradient": {
        "beta": 1.0,
        "normalise": "max",
        "uncertain_as_positive": False,
        "no_finding": True,
        "uncertain": False,
    },
}
"""Settings that `get` need not be told: those of the shipped study; a test holds them to params.yaml."""


class TokenCredit:
    """Weighs the tokens of completions.

    Args:
        name: of the credit.
        credit: weighs rollouts.
        tokenizer: the policy's.
        output: form of what it writes, one of `radrl.reports.output.FORMS`.
    """

    def __init__(self, name: str, credit: Credit, tokenizer: PreTrainedTokenizerBase, output: str) -> None:
        self.__name__ = name
        self._credit, self._tokenizer, self._output = credit, tokenizer, output

    def __call__(
        self,
        completion_ids: Iterable[Sequence[int]],
        *,
        group: int,
        references: Iterable[str] | None = None,
    ) -> list[FloatArray]:
        """Weigh tokens.

        Args:
            completion_ids: tokens of B completions as they were written, without padding; the G of a prompt
                side by side.
            group: G.
            references: B reference reports, for ``gradient``.

        Returns:
            B arrays of weights, shape (T_i,). A completion's advantage times these is what its tokens carry.

        Raises:
            ValueError: when B is no multiple of G, lists differ in length, references are wanted, or what the
                tokens decode to cannot be laid out token by token.
        """
        ids = [[int(token) for token in own] for own in completion_ids]
        if group < 1 or len(ids) % group:
            raise ValueError(f"group is {group}, but completion_ids has {len(ids)}: give whole groups")
        if references is None and self.__name__ == "gradient":
            raise ValueError("credit gradient reads references: give references=[...], one a completion")
        truths = [""] * len(ids) if references is None else texts("references", references)
        require_equal({"completion_ids": len(ids), "references": len(truths)})
        outputs = self._tokenizer.batch_decode(ids, skip_special_tokens=True)
        prompts = [f"(prompt {place // group})" for place in range(len(ids))]
        found = self._credit.weigh(Rollouts(ids, outputs, truths, prompts, group, self._output))
        return [np.ones(len(own)) for own in ids] if found is None else list(found.values)


def names() -> list[str]:
    """The credits that `get` knows: radrl's, then those of installed packages.

    Example:
        >>> import radrl
        >>> radrl.credit.names()[:3]
        ['uniform', 'tf_idf', 'gradient']
    """
    return part_names("credit")


def get(
    name: str,
    tokenizer: Any,
    *,
    labeler: Labeler | None = None,
    output: str = "plain",
    **settings: Any,
) -> TokenCredit:
    """Weights of tokens by a credit's name.

    Args:
        name: ``uniform``, ``tf_idf``, ``gradient``, or what one of your own goes by, whose import path is the
            setting `part`.
        tokenizer: the policy's, byte-level, or a processor that holds it.
        labeler: of ``gradient``, the CheXbert whose gradients are taken: what `radrl.load_labeler` gave.
        output: ``plain``, or ``think_report``, where the report stands in a block <report> (MRG-R1).
        **settings: the credit's own; `DEFAULTS` has those that may be left out.

    Returns:
        The credit; called with completions' tokens it gives an array of weights each.

    Raises:
        ValueError: when there is no such credit or form, a setting is missing or wrong, the labeler is
            missing or has no gradients, or the tokenizer's tokens have no bytes.

    Example:
        >>> import radrl
        >>> tokenizer = radrl.load_policy("data/06_models/radrl-tiny").processor.tokenizer
        >>> ids = tokenizer(["No effusion.", "Small effusion."])["input_ids"]
        >>> credit = radrl.credit.get("tf_idf", tokenizer)
        >>> [weights.round(2).tolist() for weights in credit(ids, group=2)]
        [[1.92, 1.0, 1.0], [1.69, 1.69, 1.0, 1.0]]
    """
    if output not in FORMS:
        raise ValueError(f"output is {output!r}{hint(output, FORMS, 'Valid')}")
    part = find("credit", name, settings, key="name")
    named = (
        {"labeler": labeler.name} if labeler is not None and "labeler" in part.section.model_fields else {}
    )
    if "labeler" in part.section.model_fields and labeler is None:
        raise ValueError(f"credit {name} reads with a labeler: give labeler=radrl.load_labeler(...)")
    own = checked(part, settings, defaults={**DEFAULTS.get(name, {}), **named}, without=("labeler",))
    bare = getattr(tokenizer, "tokenizer", tokenizer)
    return TokenCredit(name, build({name: own}, bare, _only(labeler)), bare, output)


def _only(labeler: Labeler | None) -> Callable[[str], Labeler]:
    def by_name(name: str) -> Labeler:
        if labeler is None:
            raise ValueError(
                f"the credit asks for the labeler {name!r}: give labeler=radrl.load_labeler(...)"
            )
        return labeler

    return by_name
