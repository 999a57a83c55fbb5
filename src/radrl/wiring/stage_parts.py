"""Which parts params.yaml names for a stage: their code is the stage's, that of the others is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from radrl.parts.find import Part, find
from radrl.parts.kinds import KINDS

Params = Mapping[str, Any]


def named_parts(stage: str, params: Params, key: str | None = None) -> list[Part]:
    """The parts that a stage works with, none of them imported.

    Args:
        stage: its name.
        params: params.yaml.
        key: the arm, or the selection of one's own, of a stage that runs for each.

    Returns:
        The parts, each once, in an order that does not hang on that of the keys.

    Raises:
        radrl.parts.find.PartError: when a part cannot be found.
    """
    parts = _NAMED[stage](params, key or "") if stage in _NAMED else iter(())
    found = {(part.kind.name, part.path): part for part in parts}
    return [found[key] for key in sorted(found)]


def _part(kind: str, name: str, section: Any, params: Params, at: str) -> Iterator[Part]:
    """A part and those that its settings name: a setting called after a kind holds the name of a part."""
    yield find(kind, name, section, key=f"{at}.{name}")
    settings = section if isinstance(section, Mapping) else {}
    for word in KINDS.keys() & settings.keys():
        named = settings[word]
        if word == "labeler":
            yield from _labeler(params, named)
        elif isinstance(named, str):
            yield find(word, named)
        elif isinstance(named, Mapping) and word == "judge":
            yield find(word, named["backend"])


def _labeler(params: Params, name: str | None = None) -> Iterator[Part]:
    own = params["labeler"]
    name = name or own["name"]
    return _part("labeler", name, own.get(name), params, "labeler")


def _parts(kind: str, sections: Any, params: Params, at: str) -> Iterator[Part]:
    """Parts by name with their settings, or one name alone, as `credit: uniform`."""
    named = {sections: None} if isinstance(sections, str) else sections or {}
    for name, section in named.items():
        if section is not None or isinstance(sections, str):
            yield from _part(kind, name, section, params, at)


def _source(params: Params, _: str) -> Iterator[Part]:
    name = params["ingest"]["source"]
    yield from _part("source", name, params["ingest"].get(name), params, "ingest")


def _taught(params: Params, _: str) -> Iterator[Part]:
    """The labeler that is held against what is known; the compact one and the rules that it learns from."""
    compact = ("rules", "chexbert_compact") if params["labeler"].get("compact") else ()
    for name in (params["labeler"]["name"], *compact):
        yield from _labeler(params, name)


def _train(params: Params, arm: str) -> Iterator[Part]:
    entry = params["arms"][arm]
    if entry.get("reward"):
        yield from _labeler(params)
        yield from _parts("reward", entry["reward"], params, f"arms.{arm}.reward")
        yield from _parts("credit", entry.get("credit", "uniform"), params, f"arms.{arm}.credit")


def _eval(params: Params, _: str) -> Iterator[Part]:
    own = params["eval"]
    for name in own["labelers"]:
        yield from _labeler(params, name)
    for family in own["families"]:
        yield from _part("metric", family, own.get(family), params, "eval")


def _analyses(params: Params, _: str) -> Iterator[Part]:
    yield from _labeler(params)
    for name in params["eval"]["labelers"]:
        yield from _labeler(params, name)
    yield from _parts("credit", params["analyses"]["credit"], params, "analyses.credit")


def _own_selection(params: Params, name: str) -> Iterator[Part]:
    return _part("selection", name, params["selection"]["own"][name], params, "selection.own")


_NAMED: Final[dict[str, Callable[[Params, str], Iterator[Part]]]] = {
    "ingest": _source,
    "labeler": _taught,
    "label": lambda params, _: _labeler(params),
    "ddsampling": lambda params, _: _labeler(params),
    "analyses": _analyses,
    "own_selection": _own_selection,
    "train": _train,
    "eval": _eval,
    "compare": _eval,
}
"""By stage; the others work with no part, or import theirs themselves."""
