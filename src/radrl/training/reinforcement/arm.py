"""The training of one arm, as each of its processes runs it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.credit.build import build as build_credit
from radrl.data import corpus as corpora
from radrl.data.prompts import of_split
from radrl.labelers import build as build_labeler
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.policy.writer import of_each
from radrl.process.devices import pin, place
from radrl.reports.prompts import places
from radrl.rewards.build import build as build_reward
from radrl.rewards.build import needing_more
from radrl.storage.workspaces import claim, fingerprint
from radrl.training import length
from radrl.training.callbacks import Report
from radrl.training.preflight import check_training, check_watched
from radrl.training.reinforcement import ArmSettings, samplers
from radrl.training.reinforcement.frozen_start import Where
from radrl.training.reinforcement.frozen_start import check as check_start
from radrl.training.reinforcement.grpo import optimise, prompt_dataset
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.watching.rollouts import RolloutWatch
from radrl.training.watching.watch import SPLIT, draw_sample
from radrl.training.watching.watch import build as build_watch

if TYPE_CHECKING:
    from transformers import TrainerCallback

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm's training: a `radrl.training.job.Job`.

    Args:
        settings: what it trains by.
        corpus: the films; the split `train` is read, and of `val` the films that are watched.
        sample_ids: of the films it sees, in order.
        start: folder of the policy it starts from.
        labeler_models: what the stage labeler wrote.
        workspace: checkpoints.
        vllm: the section `compute.vllm`, where vLLM draws the rollouts.
        frozen_start: where it lies while nothing asks it, as `compute.frozen_start`.
    """

    settings: ArmSettings
    corpus: ds.Dataset
    sample_ids: Sequence[str]
    start: Path
    labeler_models: Path
    workspace: Path
    vllm: Mapping[str, Any] = field(default_factory=dict)
    frozen_start: Where = "device"

    @property
    def device(self) -> str:
        """See `radrl.training.job.Job`."""
        return self.settings.device

    def prepare(self, processes: int) -> None:
        """See `radrl.training.job.Job`."""
        training, films = self.settings.training, len(self._texts)
        own, device = self.settings.arm.get("training", {}), place(self.device)
        check_training(training, own, films=films, policy=self.start, device=device, processes=processes)
        samplers.check(self.settings, self.vllm)
        check_start(self.frozen_start, training, self.device)
        check_watched(training["watch"], len(self._watched))
        about = self._tried_rewards()
        passes, steps = length.passes(training, films), length.steps(training, films)
        # an arm that does not see them all could do with fewer
        logger.info("%d updates of %d films: %.2f epochs", steps, films, passes)
        read = {"films": self._films.digest(), "watched": self._films_of(self._watched).digest()}
        if about:  # weights of rewards, which may change where they lie
            read["rewards"] = json.dumps(about, sort_keys=True)
        if places(self.settings.prompt):  # a prior may be of a film that the arm does not see
            read["prompts"] = json.dumps([self._prompts, self._asked(SPLIT, self._watched)])
        claim(self.workspace, fingerprint(asdict(self.settings) | read, self.start, self.labeler_models))

    def run(
        self, report: Report, observers: Sequence[TrainerCallback] = ()
    ) -> tuple[Policy, list[dict[str, float]]]:
        """See `radrl.training.job.Job`."""
        settings, device = self.settings, place(self.device)
        pin(settings.threads, device)
        texts, beginning = self._texts, folder.load(self.start)
        prompts = prompt_dataset(
            self._films,
            texts["report"].tolist(),
            texts["sample_id"].tolist(),
            self._prompts,
            label_texts=texts["label_text"].tolist(),
        )
        parts = self._parts(beginning, texts["report"].tolist())
        with (
            parts["reward"].opened(),
            samplers.opened(settings, self.start, self.vllm) as sampler,
        ):
            return optimise(
                beginning,
                prompts,
                **parts,
                sampler=sampler,
                settings=settings.training,
                seed=settings.seed,
                device=device,
                workspace=self.workspace,
                dtype=settings.dtype,
                frozen_start=self.frozen_start,
                report=report,
                observers=observers,
            )

    def _tried_rewards(self) -> dict[str, str]:
        """What rewards depend on beside settings; those that need weights or a process are tried on the way.

        Raises:
            radrl.rewards.base.RewardError: when one does not work, with the mend.
        """
        settings = self.settings
        own = needing_more(settings.arm["reward"])
        if not own:
            return {}
        name = settings.labeler["name"]
        reader = build_labeler(settings.labeler, self.labeler_models, name=name, device=self.device)
        references = self._texts["report"].tolist()
        with build_reward(own, reader, references=references, output=settings.form).opened() as about:
            for key, value in about.items():
                logger.info("reward %s: %s", key, value)
            return about

    @cached_property
    def _texts(self) -> pd.DataFrame:
        known = corpora.read(self.corpus, split="train", columns=["sample_id", "report", "label_text"])
        asked = pd.DataFrame({"sample_id": list(self.sample_ids)})
        return asked.merge(known, on="sample_id", validate="one_to_one")

    @cached_property
    def _films(self) -> corpora.Films:
        return self._films_of(self._texts)

    def _films_of(self, samples: pd.DataFrame) -> corpora.Films:
        return corpora.Films(self.corpus, sample_ids=samples["sample_id"].tolist())

    def _asked(self, split: str, samples: pd.DataFrame) -> str | list[str]:
        """The instructions of samples of a split; of none the template."""
        prompt = self.settings.prompt
        ids = samples["sample_id"].tolist()
        return of_split(self.corpus, split, prompt, sample_ids=ids) if ids else prompt

    @cached_property
    def _watched(self) -> pd.DataFrame:
        return draw_sample(self.corpus, self.settings.training["watch"], seed=self.settings.seed)

    def _parts(self, beginning: Policy, references: Sequence[str]) -> Mapping[str, Any]:
        """What the arm is trained with, as `optimise` takes it: reward, credit, oracle, what is watched."""
        settings, tokenizer = self.settings, beginning.processor.tokenizer
        # one object a labeler, so that credit and reward share what it has read
        reader = cache(
            lambda name: build_labeler(settings.labeler, self.labeler_models, name=name, device=self.device)
        )
        own, oracle = reader(settings.labeler["name"]), settings.arm.get("oracle", "none")
        shown = (settings.training["watch"] or {}).get("rollouts")
        look: dict[str, Any] = {"labeler": own, "form": settings.form}
        return {
            "reward": build_reward(
                settings.arm["reward"], own, references=list(references), output=settings.form
            ),
            "credit": build_credit(settings.arm.get("credit", "uniform"), tokenizer, reader),
            "oracle": None if oracle == "none" else Oracle(tokenizer, **oracle),
            "watch": build_watch(
                self._watched, settings.training, prompt=self._asked(SPLIT, self._watched), **look
            ),
            "rollouts": RolloutWatch(own, **shown, prompts=self._prompt_of()) if shown else None,
        }

    @cached_property
    def _prompts(self) -> str | list[str]:
        """The instructions of the films that it trains on."""
        return self._asked("train", self._texts)

    def _prompt_of(self) -> dict[str, str]:
        """What the policy is asked, by sample_id."""
        ids = self._texts["sample_id"].tolist()
        return dict(zip(ids, of_each(self._prompts, len(ids)), strict=True))
