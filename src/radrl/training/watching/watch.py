"""A validation sample whose reports are written and read again while a policy trains.

The reward is what training pushes up, so it cannot say whether reports got better. Here the same films are
answered greedily every few steps, and what is logged includes what rewards are hacked with: repetition, one
report for all films, the normal report, more findings than the references have.

    watch/ce_{labeler}_{sample14,macro14,micro14}_f1   as in `radrl.evaluation.label_agreement`
    watch/ce_{labeler}_mccs                            as in `radrl.evaluation.clinical_efficacy`, at margin 0
    watch/ce_{labeler}_f1/{observation}                of those that a reference is positive in
    watch/findings_per_report, .._per_reference        positive observations, No Finding left out
    watch/like_normal_share, .._of_references          labelled as a constant normal report is
    watch/nothing_asserted_share                       no observation positive, not even No Finding
    watch/most_common_share, watch/distinct_reports    of identical texts
    watch/repetition                                   share of a report's 4-grams that it has had already
    watch/mean_length, watch/unended_share             in tokens; cut off at `training.max_new_tokens`
    watch/form_share                                   of faultless think/report outputs, where asked for

Under ``output: think_report`` everything is read from the report inside its tags, but length and end.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from radrl.algorithms.f_measure import Labels, positives
from radrl.algorithms.mccs import mccs
from radrl.data import corpus as corpora
from radrl.evaluation.baselines import NORMAL_REPORT
from radrl.evaluation.label_agreement import label_agreement, label_rows, metric_name
from radrl.labelers import Labeler
from radrl.labelers.cached import CachedLabeler
from radrl.observations import NO_FINDING
from radrl.policy import fixed_shapes
from radrl.policy.encoding import Films
from radrl.policy.folder import Policy
from radrl.policy.hf_writer import HfWriter
from radrl.policy.shared_prefill import bare
from radrl.policy.writer import Prompt, Written, of_part
from radrl.process.devices import undisturbed
from radrl.reports.output import parse, report_of
from radrl.training.callbacks import SUMMARY, Report, numbers

logger = logging.getLogger(__name__)

PREFIX: Final = "watch/"
SPLIT: Final = "val"
"""Training films would not show what is learnt by heart, test films are for the end."""
GRAM: Final = 4
"""Words of the runs whose repetition is counted: what BLEU-4 compares, and longer than set phrases."""


def draw_sample(corpus: ds.Dataset, settings: Mapping[str, int] | None, *, seed: int) -> pd.DataFrame:
    """The films that `training.watch` asks for: of the split `val`, the same ones for every arm of a study.

    Args:
        corpus: the shards.
        settings: the keys of `radrl.params.training.Watch`.
        seed: of the draw.

    Returns:
        sample_id, images and label_text, sorted by sample_id: all of the split where it has fewer than asked
        for, no row where it has none or the watch is switched off.
    """
    wanted = settings["films"] if settings and settings["every"] else 0
    in_split = pc.field("split") == SPLIT
    ids = sorted(corpus.to_table(columns=["sample_id"], filter=in_split).column("sample_id").to_pylist())
    if wanted and not ids:
        logger.warning("the corpus has no film in split %s: training is not watched (training.watch)", SPLIT)
    drawn = np.random.default_rng(seed).permutation(len(ids))[:wanted]
    chosen = pc.field("sample_id").isin(pa.array([ids[i] for i in drawn], pa.string()))
    found = corpus.to_table(columns=["sample_id", "label_text"], filter=in_split & chosen)
    frame: pd.DataFrame = found.to_pandas().sort_values("sample_id", ignore_index=True)
    return frame.assign(images=list(corpora.Films(corpus, sample_ids=frame["sample_id"].tolist())))


class Watch:
    """What a policy writes on N films, in numbers.

    Args:
        films: the films of N samples as PNG bytes.
        references: their reference reports, as labelers read them.
        prompt: the instruction, or N of them.
        labeler: reads both.
        form: one of `radrl.reports.output.FORMS`.
        every: steps from one look to the next.
        max_new_tokens: of a report.
        batch_size: samples at once.
    """

    def __init__(
        self,
        films: Sequence[Films],
        references: Sequence[str],
        *,
        prompt: Prompt,
        labeler: Labeler,
        form: str,
        every: int,
        max_new_tokens: int,
        batch_size: int,
    ) -> None:
        if not films or len(films) != len(references):
            raise ValueError(f"{len(films)} films, {len(references)} references; give N of each, at least 1")
        self.films, self.references = list(films), list(references)
        self.prompt, self.form, self.every = prompt, form, every
        self.max_new_tokens, self.batch_size = max_new_tokens, batch_size
        self.labeler = CachedLabeler(labeler)  # references come each time, and reports come again

    def column(self, metric: str) -> str:
        """The name in a history of a metric that `training.watch.metric` names.

        Args:
            metric: without its labeler, such as ``sample14_f1``.
        """
        return f"{PREFIX}ce_{self.labeler.name}_{metric}"

    def measure(self, policy: Policy) -> dict[str, float]:
        """Let a policy write on the films, and read what it wrote.

        Args:
            policy: left as it is, as are torch's generators.

        Returns:
            The numbers in the module's head, by name.
        """
        with _undisturbed(policy.model):
            written = self._write(policy)
        # an update wants the memory; steps are kept of what lies below adapters
        fixed_shapes.forget(bare(policy.model))
        return {f"{PREFIX}{name}": value for name, value in self.read(written).items()}

    def read(self, written: Sequence[Written]) -> dict[str, float]:
        """The numbers of N outputs, by name without `PREFIX`."""
        reports = [report_of(one.text, self.form) for one in written]
        numbers = _clinical(self.labeler, self.references, reports) | _wording(reports)
        numbers["mean_length"] = float(np.mean([one.tokens for one in written]))
        numbers["unended_share"] = float(np.mean([not one.ended for one in written]))
        if self.form == "think_report":
            numbers["form_share"] = float(np.mean([not parse(one.text).faults for one in written]))
        return numbers

    def _write(self, policy: Policy) -> list[Written]:
        writer, written = HfWriter(policy), list[Written]()
        for start in range(0, len(self.films), self.batch_size):
            part = slice(start, start + self.batch_size)
            prompt = of_part(self.prompt, part)
            batch = writer.write(self.films[part], prompt, max_new_tokens=self.max_new_tokens)
            written += [one for (one,) in batch]
        return written


class Watching(TrainerCallback):
    """Looks before the first step, every so many steps and after the last; puts it into the step's row.

    It has to come before the callbacks that report rows. The row it fills is in the trainer's state, hence in
    every checkpoint: a resumed run has the looks of the unbroken one.

    Args:
        watch: what is looked at.
        processor: the policy's.
        report: told the look before the first step, which has no row of the trainer's.
    """

    def __init__(self, watch: Watch, processor: Any, report: Report) -> None:
        self.watch, self.processor, self.report = watch, processor, report

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Called by the trainer before the first step of a run, also of a resumed one."""
        if state.global_step or state.log_history:
            return
        row = self._measure(model)
        state.log_history.append(row | {"step": 0})
        if state.is_world_process_zero:
            self.report(0, numbers(row))

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step, before it saves."""
        step = state.global_step
        if logs is None or SUMMARY in logs or not (step % self.watch.every == 0 or step == state.max_steps):
            return
        row = self._measure(model)
        logs.update(row)
        state.log_history[-1].update(row)

    def _measure(self, model: Any) -> dict[str, float]:
        # by every process, all films: under sharding, the weights come together only if all go along
        return self.watch.measure(Policy(model, self.processor))


def build(
    sample: pd.DataFrame, settings: Mapping[str, Any], *, prompt: Prompt, labeler: Labeler, form: str
) -> Watch | None:
    """The watch over a sample.

    Args:
        sample: of `draw_sample`.
        settings: the keys of `radrl.params.training.Training`.
        prompt: the arm's instruction, or one a sample.
        labeler: the arm's.
        form: the arm's `output`.

    Returns:
        The watch; nothing for a sample without rows.
    """
    if sample.empty:
        return None
    return Watch(
        sample["images"].tolist(),
        sample["label_text"].tolist(),
        prompt=prompt,
        labeler=labeler,
        form=form,
        every=settings["watch"]["every"],
        max_new_tokens=settings["max_new_tokens"],
        # as many sequences at once as a step's rollouts, which fit
        batch_size=settings["prompts_per_step"] * settings["rollouts"],
    )


def repetition(report: str) -> float | None:
    """Share of a report's 4-grams of words that stand in it before; nothing where it has under 4 words.

    Example:
        >>> repetition("no no no no no no")
        0.6666666666666667
    """
    words = report.lower().split()
    grams = [tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else None


def _clinical(labeler: Labeler, references: Sequence[str], reports: Sequence[str]) -> dict[str, float]:
    truth, found = labeler.label(references), labeler.label(reports)
    scores = label_agreement(truth, found, labeler=labeler.name).values()
    names = [metric_name(labeler.name, averaging, 14, "f1") for averaging in ("sample", "macro", "micro")]
    numbers = {name: float(scores[name]) for name in names}
    numbers[f"ce_{labeler.name}_mccs"] = float(mccs(truth, found).mean())
    numbers |= {
        f"ce_{labeler.name}_f1/{row.observation}": row.f1
        for row in label_rows(truth, found)
        if not row.uncertain_as_positive and row.support
    }
    normal = labeler.label([NORMAL_REPORT])
    return numbers | {
        "findings_per_report": _findings(found),
        "findings_per_reference": _findings(truth),
        "like_normal_share": _like(found, normal),
        "like_normal_share_of_references": _like(truth, normal),
        "nothing_asserted_share": float((~positives(found).any(axis=1)).mean()),
    }


def _findings(labels: Labels) -> float:
    """Positive observations a report, No Finding left out."""
    return float(np.delete(positives(labels), NO_FINDING, axis=1).sum(axis=1).mean())


def _like(labels: Labels, normal: Labels) -> float:
    return float((positives(labels) == positives(normal)).all(axis=1).mean())


def _wording(reports: Sequence[str]) -> dict[str, float]:
    counts = Counter(reports)
    numbers = {
        "most_common_share": max(counts.values()) / len(reports),
        "distinct_reports": float(len(counts)),
    }
    repeated = [share for share in map(repetition, reports) if share is not None]
    return numbers | ({"repetition": float(np.mean(repeated))} if repeated else {})


@contextmanager
def _undisturbed(model: torch.nn.Module) -> Iterator[None]:
    """A block after which the modes of all modules and torch's generators are as before."""
    training = [module for module in model.modules() if module.training]
    with undisturbed(next(model.parameters()).device):
        model.eval()
        try:
            yield
        finally:
            for module in training:
                module.training = True
