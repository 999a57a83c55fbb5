"""Where tokens lie in the outputs that they decode to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radrl.algorithms.saliency import Spans
from radrl.credit.base import Rollouts

if TYPE_CHECKING:
    from radrl.policy.spans import ByteLevelSpans


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
