"""FactS as settings name it: rules or a judge for either part, or the references' labeler for verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from radrl.labelers.base import Labeler
from radrl.parts.find import find
from radrl.scoring.base import ScoringError
from radrl.scoring.facts.answers import FACTS_SCHEMA, RULINGS_SCHEMA
from radrl.scoring.facts.score import FactS
from radrl.scoring.judge.base import Judge
from radrl.scoring.judge.build import build as build_judge

_REQUIRED: Final[tuple[str, ...]] = ("extractor", "entailment", "uncertain_as_positive")


def build(settings: Mapping[str, Any], labeler: Labeler | None = None) -> FactS:
    """Build FactS.

    Args:
        settings: `extractor` and `entailment`, each ``rules`` or ``judge``, the latter also ``labeler``;
            `uncertain_as_positive`; `judge`, the settings of `radrl.scoring.judge.build.build` where a part
            needs it, to which an endpoint adds `structured`: whether requests carry the JSON schema, which
            older servers refuse (default true; answers are held to it either way); and what `FactS` takes.
        labeler: who reads the references, where `entailment` is ``labeler``.

    Returns:
        FactS; nothing is sent or loaded yet.

    Raises:
        radrl.parts.find.PartError: for an unknown part.
        ScoringError: for a missing setting, or when the judge refuses its settings.
    """
    own = dict(settings)
    if missing := [name for name in _REQUIRED if name not in own]:
        raise ScoringError(f"facts lacks {', '.join(missing)}")
    extractor, entailment, doubt = (own.pop(name) for name in _REQUIRED)
    judge = own.pop("judge", None)
    for key, part in (("extractor", extractor), ("entailment", entailment)):
        if part == "judge" and judge is None:
            raise ScoringError(f"facts.{key} is judge, but facts.judge is not set: say which judge")
    if entailment == "labeler" and labeler is None:
        raise ScoringError("facts.entailment is labeler, but none was handed over: give the references' own")
    asked = "judge" in (extractor, entailment)
    for_facts, for_rulings = _judges(judge) if asked else (None, None)
    return FactS(
        find("extractor", str(extractor)).make({}, judge=for_facts),
        find("entailment", str(entailment)).make(
            {"uncertain_as_positive": doubt}, judge=for_rulings, labeler=labeler
        ),
        **own,
    )


def _judges(settings: Mapping[str, Any]) -> tuple[Judge, Judge]:
    """The judge for facts and the one for rulings: a folder's model is loaded once for both."""
    own = dict(settings)
    if own.get("backend") != "endpoint":
        judge = build_judge(own)
        return judge, judge
    structured = own.pop("structured", True)
    schemas = (FACTS_SCHEMA, RULINGS_SCHEMA) if structured else (None, None)
    for_facts, for_rulings = (build_judge(own, structured=schema) for schema in schemas)
    return for_facts, for_rulings
