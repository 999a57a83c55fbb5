"""What decides a row of the comparison besides its films, and a digest of it.

A study over seeds writes the digest beside its row, and the comparison page tells the row where its own is
the same. Seed, device, threads and what only shares work out have no part in it: they move a row as another
seed does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, SerializeAsAny

from radrl.evaluation.clinical_efficacy import gold_labeler
from radrl.evaluation.meteor import METEOR
from radrl.params.data import Labeler
from radrl.params.evaluation import Ceilings, Eval
from radrl.params.policy import Generate, Policy, Prompts, Rollouts, Sft
from radrl.params.section_digest import digest_of, stated_values
from radrl.params.training import Arm, Selection, Training
from radrl.parts.section import Section
from radrl.readers import NETWORK, PROBE
from radrl.scoring.names import group_names
from radrl.training import length

_OF_ROLLOUTS: Final = ("ddsampling", "most_diverse")
_WITHOUT_LABELS: Final = ("full", "random")


class RowSections(Section):
    """The sections of params.yaml that rows are decided by."""

    prompts: Prompts
    labeler: SerializeAsAny[Labeler]
    policy: Policy
    sft: Sft
    rollouts: Rollouts
    selection: SerializeAsAny[Selection]
    training: Training
    arms: dict[str, Arm]
    generate: Generate
    eval: SerializeAsAny[Eval]
    ceilings: Ceilings


def row_digest(sections: RowSections, row: str, metric: str) -> str:
    """A digest of what decides a row of one metric, films and seed aside.

    Args:
        sections: of the study.
        row: an arm's name, one of `radrl.readers`, or any other for a row without a training.
        metric: of `compare.metrics`.

    Returns:
        For an arm, of its entry, training, start, films, prompts, reports and the metric's reader; for who
        reads labels off films, of `ceilings`, the start and that reader; for others, of that reader.
    """
    found = _scoring(sections, metric)
    if row in sections.arms:
        found |= _arm(sections, sections.arms[row])
    elif row == NETWORK:
        found |= _of(sections.ceilings.network, "ceilings.network")
    elif row.startswith(PROBE):
        found |= _of(sections.ceilings.probe, "ceilings.probe")
        found |= _start(sections, sections.ceilings.start if row == PROBE else "base")
    return digest_of(found)


def row_digests(values: Mapping[str, Any]) -> Callable[[str, str], str]:
    """`row_digest` of one set of parameters, by row and metric.

    Args:
        values: as params.yaml holds them, of `RowSections` at least.
    """
    sections = RowSections.model_validate({name: values[name] for name in RowSections.model_fields})
    return lambda row, metric: row_digest(sections, row, metric)


def _of(section: BaseModel | None, key: str, *without: str) -> dict[str, Any]:
    return {} if section is None else stated_values(section, f"{key}.", without=without)


def _scoring(sections: RowSections, metric: str) -> dict[str, Any]:
    """On which split, in which wording and by whom a metric is read."""
    scored = sections.eval
    family, reader = _reader(metric, tuple(scored.families), tuple(scored.labelers))
    left_as_it_is = scored.cleaning == "none" and scored.max_report_words is None
    found: dict[str, Any] = {"split": sections.generate.split, "cleaning": scored.cleaning}
    if not left_as_it_is:
        found |= {"labels_of": scored.labels_of, "words": scored.max_report_words}
    # whether METEOR is scored says nothing of the other metrics
    found |= _of(scored.parts().get(family), f"eval.{family}", "meteor")
    return found | (_labeler(sections, reader) if reader else {})


@cache
def _reader(metric: str, families: tuple[str, ...], labelers: tuple[str, ...]) -> tuple[str, str | None]:
    """The family that gives a metric, and of clinical efficacy the labeler."""
    (owner,) = group_names([metric], {"families": families, "labelers": labelers})
    read = {f"ce_{name}": own for own in labelers for name in (own, gold_labeler(own))}
    if owner in read:
        return "ce", read[owner]
    return ("nlg" if owner == METEOR else owner), None


def _labeler(sections: RowSections, name: str) -> dict[str, Any]:
    """A labeler's settings; the compact one learns from what the rules read."""
    labeler, key = sections.labeler, {"chexbert_compact": "compact"}.get(name, name)
    found: dict[str, Any] = {f"labeler.{name}": {}}
    if key in ("rules", "compact"):
        found |= _of(labeler.parts().get("rules"), "labeler.rules")
    own = {"labeler.chexbert": labeler.chexbert} if key == "chexbert" else {}
    return found | own | _of(labeler.parts().get(key), f"labeler.{key}")


def _start(sections: RowSections, start: str) -> dict[str, Any]:
    """How a policy that is started from was made, as far as it was made here."""
    policy = sections.policy
    made_elsewhere = ("tiny", "radiographs", "vision", "pretrain") if policy.path is not None else ()
    found = _of(policy, "policy", *made_elsewhere)
    if start == "sft":
        found |= _of(sections.sft, "sft", *_not_read(sections.sft))
        found["prompts.plain"] = sections.prompts.plain
    return found


def _arm(sections: RowSections, arm: Arm) -> dict[str, Any]:
    found = _start(sections, arm.start) | _of(sections.generate, "generate", "batch_size")
    found[f"prompts.{arm.output}"] = getattr(sections.prompts, arm.output)
    if arm.reward is None:
        return found
    settings = length.of_arm(sections.training.model_dump(), arm.training)
    training = type(sections.training).model_validate(settings)
    found |= _of(arm, "arm", "training") | _of(training, "training", *_not_read(training))
    found |= _selection(sections, arm.selection)
    for credit in arm.credit.parts().values():
        found |= _labeler(sections, credit.labeler) if hasattr(credit, "labeler") else {}
    if arm.reward.clinical or arm.selection not in _WITHOUT_LABELS:
        found |= {"labeler.name": sections.labeler.name} | _labeler(sections, sections.labeler.name)
    # rollouts are shown of a training whose looks decide, too, and decide nothing themselves
    return {key: own for key, own in found.items() if not key.startswith("training.watch.rollouts")}


def _selection(sections: RowSections, name: str) -> dict[str, Any]:
    """How an arm's films are chosen, which may be by what the cold start writes of them."""
    chosen = sections.selection.parts() | sections.selection.own.parts()
    found = _of(chosen.get(name), "selection")
    if name in _OF_ROLLOUTS:
        found |= _start(sections, "sft") | _of(sections.rollouts, "rollouts", "films_per_shard", "batch_size")
    return found


def _not_read(training: Training | Sft) -> set[str]:
    """Keys that change no training: looks that decide nothing, and adapters where there are none."""
    watch = training.watch if isinstance(training, Training) else None
    looks = set() if watch and watch.decides else {"watch"}
    return {"checkpoint_every"} | looks | ({"lora"} if training.tunes != "lora" else set())
