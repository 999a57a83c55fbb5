"""params.yaml as a whole: its sections, what must hold between them, and how a file is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator

from radrl.params.analyses import Analyses
from radrl.params.base import ParamsError
from radrl.params.compute import Compute
from radrl.params.data import Ingest
from radrl.params.evaluation import Ceilings, Compare, Eval
from radrl.params.films import most
from radrl.params.labeler import Labeler
from radrl.params.losses import require_fit
from radrl.params.messages import render
from radrl.params.policy import Generate, Policy, Prompts, Rollouts, Sft
from radrl.params.training import Arm, Selection, Training
from radrl.parts.choices import near
from radrl.parts.section import PositiveInt, Section
from radrl.process.devices import check
from radrl.scoring.names import group_names, require_scored
from radrl.storage import yaml_files
from radrl.training import length


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
        require_scored(self.eval.headline, scored, key="eval.headline")
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
            films = most(self, arm.selection) or 0
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
