"""RadGraph's three rewards: how far two entity and relation graphs of a report agree.

Delbrouck et al. 2022 (Improving the Factual Correctness of Radiology Report Generation with Semantic
Rewards, Findings of EMNLP, section 3): each reward is an F1 over two sets of facts, which are

- ``simple`` (RG_E): (tokens, label) of every entity;
- ``partial`` (RG_ER): (tokens, label, whether it has an outgoing relation) of every entity;
- ``complete`` (RG_ER-bar): (tokens, label, relation, target's tokens) of every relation, and
  (tokens, label) of every entity without an outgoing relation.

As in the package `radgraph`: these are sets, so a repeated fact counts once; a relation's target counts
by its tokens and not by its label; a graph without entities has rewards 0, even against another.

The package up to 0.1.18 compares tokens as they are spelled, but those of related entities in ``complete``
in lower case; since a fix of 2026 all are compared in lower case. State which with every figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Graph = Mapping[str, Any]
"""RadGraph's annotation of one report; ``entities`` maps an id to ``tokens``, ``label`` and ``relations``,
the last a list of [relation, id of the target]."""

Fact = tuple[Any, ...]


class RadGraphRewards(NamedTuple):
    """The three rewards of a pair of graphs, each in [0, 1]."""

    simple: float
    partial: float
    complete: float


def radgraph_rewards(
    hypothesis: Graph, reference: Graph, *, lower_case: bool = True, beta: float = 1.0
) -> RadGraphRewards:
    """Compare two graphs.

    Args:
        hypothesis: graph of the generated report.
        reference: graph of the reference report.
        lower_case: whether tokens are compared in lower case throughout, as the package does since its fix of
            2026; if not, as in 0.1.18.
        beta: above 1 recall counts for more than precision (F-beta), below 1 less; the paper has 1.

    Returns:
        The rewards; all 0 where either graph has no entity.

    Raises:
        ValueError: an entity lacks a key or a relation's target does not exist; the message names the entity.

    Example:
        >>> absent = {"1": {"tokens": "edema", "label": "Observation::definitely absent", "relations": []}}
        >>> radgraph_rewards({"entities": absent}, {"entities": absent})
        RadGraphRewards(simple=1.0, partial=1.0, complete=1.0)
    """
    found = _facts(hypothesis, lower_case)
    truth = _facts(reference, lower_case)
    return RadGraphRewards(*(_f_beta(mine, theirs, beta) for mine, theirs in zip(found, truth, strict=True)))


def _f_beta(found: set[Fact], truth: set[Fact], beta: float) -> float:
    """F-beta of two sets; 0 where they share nothing, empty sets included."""
    shared, recalls = len(found & truth), beta**2
    return (1 + recalls) * shared / (len(found) + recalls * len(truth)) if shared else 0.0


def _facts(graph: Graph, lower_case: bool) -> tuple[set[Fact], set[Fact], set[Fact]]:
    """The facts that the three rewards compare."""
    try:
        entities = {
            key: (entity["tokens"], entity["label"], entity["relations"])
            for key, entity in graph["entities"].items()
        }
    except KeyError as error:
        raise ValueError(f"no {error} in a graph; give RadGraph's annotation of one report") from None
    if lower_case:
        entities = {key: (words.lower(), *rest) for key, (words, *rest) in entities.items()}
    simple: set[Fact] = {(words, label) for words, label, _ in entities.values()}
    partial: set[Fact] = {(words, label, bool(relations)) for words, label, relations in entities.values()}
    return simple, partial, set(_relation_facts(entities))


def _relation_facts(entities: Mapping[str, tuple[Any, ...]]) -> Iterator[Fact]:
    for key, (words, label, relations) in entities.items():
        if not relations:
            yield words, label
        for relation, target in relations:
            if target not in entities:
                raise ValueError(f"entity {key!r} has {relation} to {target!r}, which does not exist")
            # 0.1.18 lower-cases these, and these alone
            yield words.lower(), label, relation, entities[target][0].lower()
