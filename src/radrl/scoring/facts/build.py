"""FactS as settings name it: rules or a judge for either part, or the references' labeler for verdicts.

What a judge must answer stands here as JSON schemas, and answers are read strictly by them. An answer that is
half, of another shape, about another label or about a fact that was not given is refused. What it leaves open
is never filled in, since that would be a verdict nobody gave. Messages quote no value of an answer, because
it may quote the report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from radrl.labelers import Labeler
from radrl.observations import OBSERVATIONS
from radrl.parts.find import find
from radrl.scoring import ScoringError
from radrl.scoring.facts import FactS, Facts, Ruling, Rulings, Verdict
from radrl.scoring.judge import Judge, build_judge
from radrl.storage import json_files

_FENCED: Final = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
"""JSON alone in a Markdown block, which models without structured output like to write."""
_KEY_LENGTH: Final = 60

_Model = TypeVar("_Model", bound=BaseModel)
_REQUIRED: Final[tuple[str, ...]] = ("extractor", "entailment", "uncertain_as_positive")


class AnswerError(ValueError):
    """An answer is not what was asked for; the message says what is wrong and quotes no value."""


class _Strict(BaseModel):  # no docstring here and below: it would become part of the schema
    model_config = ConfigDict(extra="forbid", strict=True)


class _Facts(_Strict):
    facts: list[str]


class _Ruling(_Strict):
    facts: list[int]
    verdict: Literal["supported", "contradicted", "silent"]


_LABELS: Final[dict[str, Any]] = {
    name.lower().replace(" ", "_"): (_Ruling, Field(alias=name)) for name in OBSERVATIONS
}
_Rulings = create_model("_Rulings", __base__=_Strict, **_LABELS)

FACTS_SCHEMA: Final[Mapping[str, Any]] = _Facts.model_json_schema()
"""``{"facts": ["no pleural effusion", ...]}``."""
RULINGS_SCHEMA: Final[Mapping[str, Any]] = _Rulings.model_json_schema()
"""``{"Edema": {"facts": [2], "verdict": "supported"}, ...}`` for all 14, facts numbered from 1."""


def read_facts(answer: str) -> Facts:
    """Read an extractor's answer.

    Args:
        answer: JSON as `FACTS_SCHEMA` has it.

    Returns:
        The facts, each once.

    Raises:
        AnswerError: for anything else, or a blank fact.
    """
    facts = [fact.strip() for fact in _read(answer, _Facts).facts]
    if not all(facts):
        raise AnswerError(f"facts.{facts.index('')} is blank")
    return tuple(dict.fromkeys(facts))


def read_rulings(answer: str, facts: int) -> Rulings:
    """Read an entailment's answer.

    Args:
        answer: JSON as `RULINGS_SCHEMA` has it.
        facts: how many there were to rule on.

    Returns:
        14 rulings, facts numbered from 0.

    Raises:
        AnswerError: for anything else, for a verdict that names no fact although it is not silent, or for a
            fact that is not there.
    """
    read = _read(answer, _Rulings)
    given = (getattr(read, field) for field in type(read).model_fields)
    return tuple(_ruling(name, one, facts) for name, one in zip(OBSERVATIONS, given, strict=True))


def _ruling(name: str, given: _Ruling, facts: int) -> Ruling:
    verdict = Verdict[given.verdict.upper()]
    if wrong := [number for number in given.facts if not 1 <= number <= facts]:
        raise AnswerError(f"{name} rests on fact {wrong[0]} of {facts}")
    if verdict == Verdict.SILENT:
        return Ruling(verdict)
    if not given.facts:
        raise AnswerError(f"{name} is {given.verdict} by no fact")
    return Ruling(verdict, tuple(sorted({number - 1 for number in given.facts})))


def _read(answer: str, model: type[_Model]) -> _Model:
    text = answer.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    try:
        given = json_files.parsed(text)
    except json_files.NoJson as error:
        raise AnswerError(f"it is no JSON ({error}, of {len(text)} characters)") from None
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part)[:_KEY_LENGTH] for part in first["loc"]) or "the whole"
        raise AnswerError(f"{place}: {first['msg']} ({error.error_count()} such faults)") from None


def build(settings: Mapping[str, Any], labeler: Labeler | None = None) -> FactS:
    """Build FactS.

    Args:
        settings: `extractor` and `entailment`, each ``rules`` or ``judge``, the latter also ``labeler``;
            `uncertain_as_positive`; `judge`, the settings of `radrl.scoring.judge.build_judge` where a part
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
