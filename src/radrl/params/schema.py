"""params.yaml as a whole: its sections, what must hold between them, and how a file is checked.

Sections that nothing else reads stand here: `compute`, how machines share out the work (speed, not results,
so no parameter to DVC), and `analyses`, what is asked of the rollouts beside the study of arms.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator

from radrl.algorithms.ddsampling import StandardDeviation
from radrl.algorithms.masking import Unit
from radrl.params.data import Ingest, Labeler
from radrl.params.evaluation import Ceilings, Compare, Eval
from radrl.params.losses import require_fit
from radrl.params.messages import ParamsError, render
from radrl.params.parts import Parts
from radrl.params.policy import Generate, Policy, Prompts, Rollouts, Sft
from radrl.params.training import CREDITS, Arm, Selection, Training
from radrl.parts.choices import near
from radrl.parts.section import LocalPath, PositiveInt, Section, Share
from radrl.policy.writer import Vllm
from radrl.process.devices import check
from radrl.reports.prompts import places
from radrl.scoring.names import group_names, require_scored
from radrl.storage import yaml_files
from radrl.training import length


class Compute(Section):
    """How trainings (stages sft and train), work on a corpus (label, rollouts, and so on) and vLLM are run.

    Args:
        processes: that share each step; 1 is the stage's own.
        config: accelerate's, for `accelerate launch`; null takes cpu2.yaml or ddp.yaml of conf/accelerate by
            `device`.
        command: starts the processes in place of accelerate's launcher: a template in which {processes},
            {python}, {worker} and {job} are replaced.
        engine: who labels, draws, writes and scores shard by shard: ``local`` is this machine's processes,
            ``ray`` Ray Data's actors.
        workers: that share the shards, each with models of its own; 1 of local is the stage itself.
        frozen_start: where the policy that a KL term and the oracle compare with lies while nothing asks it.
        vllm: how vLLM is run, where it writes.
    """

    processes: PositiveInt = 1
    config: LocalPath | None = None
    command: str | None = None
    engine: Literal["local", "ray"] = "local"
    workers: PositiveInt = 1
    frozen_start: Literal["device", "host"] = "device"
    vllm: Vllm = Vllm()


class Weights(Parts):
    """The credits whose weights are looked at; null leaves one out."""

    kind: ClassVar = "credit"
    keys: ClassVar = CREDITS
    always: ClassVar = dict.fromkeys(CREDITS, True)


class Masking(Section):
    """The heaviest tokens masked, the labels read again (DEER, table 6)."""

    films: PositiveInt
    share: Annotated[float, Field(gt=0, le=1)]
    replacement: str
    unit: Unit


class RewardDiversity(Section):
    """How much the rewards of a film's rollouts differ (DEER, table 7)."""

    films: PositiveInt
    std: StandardDeviation


class F1(Section):
    """How a report's own F1 is taken, as `reward.ce_f1` of an arm."""

    uncertain_as_positive: bool
    both_empty: Share


class Analyses(Section):
    """What is asked of the rollouts."""

    credit: SerializeAsAny[Weights]
    f1: F1
    masking: Masking
    reward_diversity: RewardDiversity
    examples: Annotated[int, Field(ge=0)]


class Params(Section):
    """params.yaml as a whole."""

    seed: Annotated[int, Field(ge=0)]
    threads: PositiveInt
    device: Annotated[str, AfterValidator(check)]
    compute: Annotated[Compute, BeforeValidator(lambda given: given or {})] = Compute()
    prompts: Prompts
    ingest: SerializeAsAny[Ingest]
    labeler: SerializeAsAny[Labeler]
    policy: Policy
    sft: Sft
    rollouts: Rollouts
    selection: SerializeAsAny[Selection]
    training: Training
    arms: Annotated[dict[str, Arm], Field(min_length=1)]
    generate: Generate
    eval: SerializeAsAny[Eval]
    compare: Compare
    ceilings: Ceilings
    analyses: Analyses

    @model_validator(mode="after")
    def _consistent(self) -> Params:
        if self.compare.reference not in self.arms:
            raise ValueError(
                f"compare.reference {self.compare.reference!r} is no arm"
                f"{near(self.compare.reference, self.arms)} Arms: {', '.join(self.arms)}"
            )
        if taken := self.compare.systems.keys() & self.arms.keys():
            raise ValueError(f"compare.systems.{min(taken)}: an arm is called so; give the row another name")
        self.labeler.require(self.labeler.name, "labeler.name")
        for reader in self.eval.labelers:
            self.labeler.require(reader, "eval.labelers")
        for name, arm in self.arms.items():
            if not name.isidentifier():
                raise ValueError(f"arms.{name}: an arm's name is letters, digits and underscores")
            self._require_selection(arm.selection, f"arms.{name}.selection")
            for credit, own in arm.credit.parts().items():
                if isinstance(asked := getattr(own, "labeler", None), str):
                    self.labeler.require(asked, f"arms.{name}.credit.{credit}.labeler")
            if arm.training and arm.reward is None:
                raise ValueError(f"arms.{name}.training is set but the arm has no reward: it would not train")
            try:
                training = Training.model_validate(length.of_arm(self.training.model_dump(), arm.training))
            except ValidationError as error:
                raise ValueError(render(error, Training, f"arms.{name}.training")) from None
            credit = next(iter(arm.credit.parts()), "uniform")
            require_fit(training.loss, credit=credit, key=f"arms.{name}.training.loss")
            parts = arm.reward.parts() if arm.reward else {}
            if "reward_sum" in arm.training and training.reward_sum == "normalised" and len(parts) < 2:
                raise ValueError(
                    f"arms.{name}.training.reward_sum is normalised, but the reward has one part, so that "
                    "there is nothing to sum; leave it out"
                )
            if training.dynamic_sampling is not None and arm.oracle is not None:
                raise ValueError(
                    f"arms.{name} has an oracle, which teaches by the very groups that dynamic_sampling "
                    "redraws or drops: those that failed. Set the arm's oracle to none, or its "
                    "training.dynamic_sampling to null"
                )
        return self

    def _require_selection(self, name: str, key: str) -> None:
        known = self.selection.names()
        if name in self.selection.keys and name not in known:
            raise ValueError(
                f"{key} is {name}, but selection.{name} is null, so there is no such subset; give "
                f"selection.{name} its settings, or the arm one of {', '.join(known)}"
            )
        if name not in known:
            raise ValueError(
                f"{key}: {name!r} is no selection{near(name, known)} Selections: {', '.join(known)}; one of "
                "your own stands in selection.own"
            )

    @model_validator(mode="after")
    def _context_of_prompts(self) -> Params:
        """What a policy is asked with is in the corpus; the form of no arm may ask for anything."""
        built = ["think_report"] if self.policy.path is None else []
        for form in dict.fromkeys(["plain", *(arm.output for arm in self.arms.values()), *built]):
            for place in places(getattr(self.prompts, form)):
                if place.name not in self.ingest.context:
                    raise ValueError(
                        f"prompts.{form} has the place {{{place.name}}}, but the corpus has no such column; "
                        f"name {place.name} in ingest.context"
                    )
        return self

    @model_validator(mode="after")
    def _frozen_weights_fit(self) -> Params:
        """What trains is float32, whatever the dtype of what does not."""
        for key, bf16 in self._trainings().items():
            if self.policy.dtype == "float16":
                raise ValueError("policy.dtype float16 is for policies that do not train; take bfloat16")
            if self.policy.dtype == "bfloat16" and not bf16:
                raise ValueError(
                    f"{key} is false, but policy.dtype is bfloat16: what trains is float32, and the two meet "
                    f"under autocast alone; set {key} to true, or policy.dtype to float32"
                )
        return self

    def _trainings(self) -> dict[str, bool]:
        """Whether each training computes under autocast, by the name of its key."""
        found = {}
        if self.policy.path is None and self.policy.pretrain is not None:
            found["policy.pretrain.bf16"] = self.policy.pretrain.bf16
        if any(arm.start == "sft" for arm in self.arms.values()):
            found["sft.bf16"] = self.sft.bf16
        for name, arm in self.arms.items():
            if arm.reward is not None:
                own = f"arms.{name}." if "bf16" in arm.training else ""
                found[f"{own}training.bf16"] = arm.training.get("bf16", self.training.bf16)
        return found

    @model_validator(mode="after")
    def _known_metrics(self) -> Params:
        """A metric that nobody gives would be found out after the training of every arm."""
        scored = {"families": self.eval.families, "labelers": self.eval.labelers}
        group_names(self.compare.metrics, scored)
        require_scored(self.eval.headline, scored)
        return self

    @model_validator(mode="after")
    def _ceilings_fit(self) -> Params:
        for name, part in self.ceilings.learned().items():
            if self.generate.split in part.splits:
                raise ValueError(
                    f"ceilings.{name}.splits holds {self.generate.split}, whose films are scored "
                    "(generate.split); learn from other ones"
                )
        if self.ceilings.network is not None and self.ingest.image_fit == "longest_side":
            raise ValueError(
                "ceilings.network needs films of one size, and ingest.image_fit is longest_side; "
                "set that to pad or stretch, or ceilings.network to null"
            )
        return self

    @model_validator(mode="after")
    def _enough_phantoms(self) -> Params:
        """What counts of studies say before any is drawn; the stages know what is left of them."""
        phantom = self.ingest.parts().get("phantom")
        if phantom is None or self.ingest.source != "phantom":
            return self
        studies = phantom.studies.get("train", 0)
        balanced = self.selection.parts().get("balanced")
        if balanced is not None and balanced.studies > studies:
            raise ValueError(
                f"selection.balanced.studies is {balanced.studies}, but ingest.phantom.studies.train is "
                f"{studies}; lower the one or raise the other"
            )
        for name, arm in self.arms.items():
            films = most_films(self, arm.selection) or 0
            step = arm.training.get("prompts_per_step", self.training.prompts_per_step)
            if arm.reward is not None and step > films:
                own = f"arms.{name}." if "prompts_per_step" in arm.training else ""
                raise ValueError(
                    f"{own}training.prompts_per_step is {step}, but the subset {arm.selection} of arm {name} "
                    f"has at most {films} films; lower it or choose a larger subset"
                )
        return self


def validate(values: dict[str, Any], *, source: str = "params.yaml") -> Params:
    """Check a whole set of parameters.

    Args:
        values: as read from YAML.
        source: the file to name in the message.

    Returns:
        The typed parameters.

    Raises:
        ParamsError: listing every wrong key with what would be right.
    """
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        raise ParamsError(f"{source} is not valid:\n{render(error, Params)}") from None


def read(path: Path) -> Params:
    """Read and check a params file.

    Raises:
        ParamsError: when the file is no YAML mapping or the schema refuses it.
    """
    values = yaml_files.read(path, ParamsError)
    if not isinstance(values, dict):
        raise ParamsError(
            f"{path} holds no mapping of parameters; give a file such as conf/recipes/phantom-quick.yaml"
        )
    return validate(values, source=path.name)


def most_films(params: Params, selection: str) -> int | None:
    """The most films that a selection can have.

    Args:
        params: whose films are drawn; of others nobody knows before they are read.
        selection: what an arm's `selection` names; one of one's own has at most all films.

    Returns:
        Their number; nothing where the films are not drawn.
    """
    taken = _taken(params, selection)
    if taken is None:
        return None
    share, studies = taken
    of_a_study = 2 if params.ingest.sample == "image" and _lateral_share(params) else 1
    return of_a_study * math.ceil(share * studies)


def expected_films(params: Params, selection: str) -> int | None:
    """About how many films a selection has: none in quarantine, lateral films as often as their share says.

    Args:
        params: as `most_films` takes them.
        selection: a built-in one.

    Returns:
        Their number; nothing where the films are not drawn, or the selection is one of one's own.
    """
    taken = _taken(params, selection)
    if taken is None or selection in params.selection.own.parts():
        return None
    share, studies = taken
    of_a_study = 1.0 + (_lateral_share(params) if params.ingest.sample == "image" else 0.0)
    return max(1, round(share * of_a_study * studies))


def _taken(params: Params, selection: str) -> tuple[float, int] | None:
    """The share that a selection takes and the studies that it is of; nothing where these are not drawn."""
    phantom = params.ingest.parts().get("phantom")
    if phantom is None or params.ingest.source != "phantom":
        return None
    selections = params.selection.parts()
    if selection == "balanced":
        return 1.0, int(selections[selection].studies)
    return getattr(selections.get(selection), "share", 1.0), int(phantom.studies.get("train", 0))


def _lateral_share(params: Params) -> float:
    share: float = params.ingest.parts()["phantom"].lateral_share
    return share
