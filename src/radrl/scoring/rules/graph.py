"""A report's entities and relations in RadGraph's schema, by rules, and RadGraph's rewards over them.

The schema is RadGraph's (Jain et al. 2021, arXiv:2106.14463; labels as RadGraph-XL writes them): anatomy and
observations, the latter definitely present, definitely absent or uncertain, joined by ``modify``,
``located_at`` and ``suggestive_of``. The graph is not RadGraph's: it has what `radrl.scoring.rules.sentence`
reads of findings, organs and their attributes, so a word outside its vocabulary is no entity.

Unlike RadGraph's own output:

- every entity is one token; measurements are none;
- text is in lower case, and sections that are not about the film are left out, so the indices count the
  tokens of ``text``;
- words keep their endings, as in RadGraph ("effusions" is not "effusion").
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from radrl.evaluation.radgraph_rewards import RadGraphRewards, radgraph_rewards
from radrl.labelers.rules.text import sentences
from radrl.observations import NEGATIVE, POSITIVE, UNCERTAIN
from radrl.parts.section import Nothing
from radrl.scoring import Scores, means_of, require_pairs
from radrl.scoring.by_parts import ScoringByParts, SumsByParts
from radrl.scoring.rules import vocabulary as known
from radrl.scoring.rules.sentence import CACHED_SENTENCES, Sentence, parse
from radrl.scoring.rules.vocabulary import Attribute, Mention, Role

ANATOMY: Final = "Anatomy::definitely present"
OBSERVATION: Final[dict[int, str]] = {
    POSITIVE: "Observation::definitely present",
    NEGATIVE: "Observation::definitely absent",
    UNCERTAIN: "Observation::uncertain",
}
MODIFY: Final = "modify"
LOCATED_AT: Final = "located_at"
SUGGESTIVE_OF: Final = "suggestive_of"

_PREDICATE_REACH: Final = 3
"""Tokens between an organ and what is said of it ("is [mildly] tortuous")."""
_WHERE: Final = (Role.SIDE, Role.PLACE)
_OPPOSITE: Final = {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}

_Entity = tuple[int, str, str, tuple[tuple[str, int], ...]]
"""Token, word, label and relations to tokens of the same sentence."""


def graph_of(report: str) -> dict[str, Any]:
    """The graph of a report.

    Args:
        report: raw text, with or without headings.

    Returns:
        RadGraph's annotation of one report: ``text``, tokens parted by blanks, and ``entities``, by id from
        "1" in the order of the text, with ``tokens``, ``label``, ``start_ix``, ``end_ix`` (inclusive) and
        ``relations``, [relation, id] pairs.
    """
    text: list[str] = []
    entities: dict[str, dict[str, Any]] = {}
    for sentence in sentences(report):
        found = _entities(sentence)
        ids = {token: str(len(entities) + i) for i, (token, *_) in enumerate(found, start=1)}
        for token, word, label, relations in found:
            entities[ids[token]] = {
                "tokens": word,
                "label": label,
                "start_ix": len(text) + token,
                "end_ix": len(text) + token,
                "relations": [[relation, ids[target]] for relation, target in relations],
            }
        text.extend((*parse(sentence).pieces, "."))
    return {"text": " ".join(text), "entities": entities}


class RadGraphRules:
    """Scores reports by RadGraph's rewards over graphs drawn by rules.

    Args:
        beta: above 1 recall counts for more than precision; the metric has 1.
        cache_size: reports whose graphs are remembered; 0 for none.
    """

    Section = Nothing
    name = "radgraph_rules"
    by_pair = True

    def __init__(self, *, beta: float = 1.0, cache_size: int = 4_096) -> None:
        self._beta = beta
        self._graph_of = lru_cache(maxsize=cache_size)(graph_of)

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; a text without any entity scores 0.

        Returns:
            ``radgraph_rules_simple``, ``radgraph_rules_partial`` and ``radgraph_rules_complete``.
        """
        require_pairs(references, hypotheses)
        rewards = [
            radgraph_rewards(self._graph_of(hypothesis), self._graph_of(reference), beta=self._beta)
            for reference, hypothesis in zip(references, hypotheses, strict=True)
        ]
        values = {
            f"{self.name}_{level}": [getattr(reward, level) for reward in rewards]
            for level in RadGraphRewards._fields
        }
        return means_of(values)

    def in_parts(self) -> ScoringByParts:
        """See `radrl.scoring.by_parts.InParts`."""
        return SumsByParts(self)


@lru_cache(maxsize=CACHED_SENTENCES)
def _entities(sentence: str) -> tuple[_Entity, ...]:
    """The entities of one sentence, tokens counted among all its pieces."""
    parsed = parse(sentence)
    return tuple(_Drawing(parsed).entities())


class _Drawing:
    """The graph of one sentence while it is drawn, over the labeler's tokens."""

    def __init__(self, parsed: Sentence) -> None:
        self._at = parsed.at
        self._words = [parsed.pieces[i] for i in parsed.at]
        self._labels: dict[int, str] = {}
        self._relations: dict[int, dict[tuple[str, int], None]] = {}
        everything = (*parsed.mentions, *parsed.organs)
        self._named = {k for mention in everything for k in range(mention.start, mention.end)}
        heads = [self._draw(mention) for mention in parsed.mentions]
        for organ in parsed.organs:
            self._draw(organ)
            for mention, head in zip(parsed.mentions, heads, strict=True):
                if self._is_subject(organ, mention):
                    self._relate(head, LOCATED_AT, self._place_head(self._content(organ.start, organ.end)))
        for i, j in parsed.links:
            self._relate(heads[i], SUGGESTIVE_OF, heads[j])

    def entities(self) -> Iterator[_Entity]:
        """What was drawn, in the order of the sentence."""
        for token in sorted(self._labels):
            relations = [(relation, self._at[target]) for relation, target in self._relations.get(token, ())]
            yield self._at[token], self._words[token], self._labels[token], tuple(relations)

    def _draw(self, mention: Mention) -> int | None:
        """Draw a mention with its attributes; gives the token of its observation."""
        anatomy, observed = self._parts(mention)
        base = self._draw_place(anatomy)
        label = OBSERVATION[self._said_by_words(mention)]
        head = self._head(observed)
        for token in observed:
            self._put(token, label)
            if token != head:
                self._relate(token, MODIFY, head)
        self._relate(head, LOCATED_AT, base)
        outside = [one for one in mention.attributes if one.start not in self._named]
        self._draw_places([one for one in outside if one.role in _WHERE], head, base)
        for attribute in outside:
            if attribute.role not in _WHERE:
                self._draw_quality(attribute, label, head, base)
        return head

    def _parts(self, mention: Mention) -> tuple[list[int], list[int]]:
        """Tokens of a mention that name anatomy, and those that name what is observed there."""
        phrase = self._content(mention.start, mention.end)
        if mention.look:
            return phrase, self._content(*mention.look)
        if not mention.name:
            return phrase, []
        sides = {k for one in mention.attributes if one.role in _WHERE for k in range(one.start, one.end)}
        anatomy = [k for k in phrase if self._words[k] in known.ANATOMY or k in sides]
        if len(anatomy) == len(phrase):
            anatomy = anatomy[:-1]
        return anatomy, [k for k in phrase if k not in anatomy]

    def _content(self, start: int, end: int) -> list[int]:
        return [k for k in range(start, end) if self._words[k] not in known.FUNCTION_WORDS]

    def _head(self, observed: list[int]) -> int | None:
        """The noun of an observation: its last word, or the last before "of" ("loss of volume")."""
        if not observed:
            return None
        for before, after in itertools.pairwise(observed):
            if "of" in self._words[before:after]:
                return before
        return observed[-1]

    def _said_by_words(self, mention: Mention) -> int:
        """The class of a mention's words: "normal" is present where the abnormality is absent."""
        if mention.look and "not" in self._words[slice(*mention.look)]:
            return NEGATIVE
        return _OPPOSITE.get(mention.said, mention.said) if mention.normal else mention.said

    def _is_subject(self, organ: Mention, mention: Mention) -> bool:
        """Whether a finding is said of an organ ("the aorta is tortuous")."""
        between = self._words[organ.end : mention.start]
        return 0 < len(between) <= _PREDICATE_REACH and between[0] in known.COPULAS

    def _draw_place(self, tokens: list[int]) -> int | None:
        """Draw anatomy whose words modify one head; gives the head."""
        head = self._place_head(tokens)
        for token in tokens:
            self._put(token, ANATOMY)
            if token != head:
                self._relate(token, MODIFY, head)
        return head

    def _place_head(self, tokens: list[int]) -> int | None:
        """The noun of a place: its last word that names more than a shape."""
        heads = [k for k in tokens if self._words[k] not in known.SHAPES] or tokens
        return heads[-1] if heads else None

    def _draw_places(self, places: list[Attribute], head: int | None, base: int | None) -> None:
        """Draw the sides and places of a mention, one head for tokens that stand together."""
        placed = {k for one in places for k in range(one.start, one.end)}
        only_sides = {k for one in places if one.role is Role.SIDE for k in range(one.start, one.end)}
        only_sides -= {k for one in places if one.role is Role.PLACE for k in range(one.start, one.end)}
        for run in self._runs(placed):
            if base is not None and only_sides.issuperset(run):
                for token in run:
                    self._put(token, ANATOMY)
                    self._relate(token, MODIFY, base)
            else:
                self._relate(head, LOCATED_AT, self._draw_place(run))

    def _runs(self, placed: set[int]) -> Iterator[list[int]]:
        """Neighbouring tokens of places, the anatomy beside them included ("lower lung zone")."""
        run: list[int] = []
        for k, word in enumerate(self._words):
            if k in placed or (word in known.ANATOMY and k not in self._named):
                run.append(k)
                continue
            if placed.intersection(run):
                yield self._drawable(run)
            run = []
        if placed.intersection(run):
            yield self._drawable(run)

    def _drawable(self, run: list[int]) -> list[int]:
        return [k for k in run if self._words[k] not in known.FUNCTION_WORDS]

    def _draw_quality(self, attribute: Attribute, label: str, head: int | None, base: int | None) -> None:
        """Draw a severity, a change or a description."""
        for token in self._content(attribute.start, attribute.end):
            self._put(token, OBSERVATION[NEGATIVE] if attribute.denied else label)
            if head is None:
                self._relate(token, LOCATED_AT, base)
            else:
                self._relate(token, MODIFY, head)

    def _put(self, token: int, label: str) -> None:
        self._labels.setdefault(token, label)

    def _relate(self, source: int | None, relation: str, target: int | None) -> None:
        if source is not None and target is not None and source != target:
            self._relations.setdefault(source, {})[relation, target] = None
