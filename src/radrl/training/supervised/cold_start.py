"""The cold start, as each of its processes runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.data.prompts import of_split
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.process.devices import pin, place
from radrl.storage.workspaces import claim, fingerprint
from radrl.training.callbacks import Report
from radrl.training.preflight import check_adapters, check_supervised
from radrl.training.supervised.fine_tuning import Examples, fine_tune

if TYPE_CHECKING:
    from transformers import TrainerCallback


@dataclass(frozen=True, eq=False)
class ColdStart:
    """A cold start: a `radrl.training.job.Job`.

    Args:
        settings: the section `sft`.
        dtype: of the weights that do not train.
        prompt: the instruction, which may have places (`radrl.reports.prompts`).
        seed: of shuffling.
        threads: of torch.
        device: where the policy trains.
        corpus: the films; the split `train` is read.
        base: the base policy's folder.
        workspace: checkpoints.
    """

    settings: dict[str, Any]
    dtype: str
    prompt: str
    seed: int
    threads: int
    device: str
    corpus: ds.Dataset
    base: Path
    workspace: Path

    def prepare(self, processes: int) -> None:
        """See `radrl.training.job.Job`."""
        check_supervised(self.settings, "sft", device=place(self.device), processes=processes)
        if self.settings["tunes"] == "lora":
            check_adapters(self.base, self.settings["lora"], "sft.lora", processes)
        names = ("settings", "dtype", "prompt", "seed", "threads", "device")
        work = {name: getattr(self, name) for name in names} | {"films": self._films.digest()}
        claim(self.workspace, fingerprint(work, self.base))

    def run(
        self, report: Report, observers: Sequence[TrainerCallback] = ()
    ) -> tuple[Policy, list[dict[str, float]]]:
        """See `radrl.training.job.Job`; nobody looks on."""
        device = place(self.device)
        pin(self.threads, device)
        reports = corpora.read(self.corpus, split="train", columns=["report"])["report"].tolist()
        return fine_tune(
            folder.load(self.base),
            Examples.asking(of_split(self.corpus, "train", self.prompt), self._films, reports),
            settings=self.settings,
            seed=self.seed,
            device=device,
            workspace=self.workspace,
            tunes=self.settings["tunes"],
            dtype=self.dtype,
            report=report,
        )

    @cached_property
    def _films(self) -> corpora.Films:
        return corpora.Films(self.corpus, "train")
