"""The stage generate: one arm's reports on the split that is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora
from radrl.data.prompts import of_split

if TYPE_CHECKING:
    from radrl.policy.writing import Batch


def write_reports(
    corpus: ds.Dataset,
    policy: Path,
    settings: dict[str, Any],
    dtype: str,
    prompts: dict[str, str],
    seed: int,
    threads: int,
    device: str,
    arm: dict[str, Any] | None = None,
    step_report: Callable[[int, Mapping[str, float]], None] | None = None,
    compute: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Let a policy write a report on every film of the split that is scored, and tell how long it took.

    Args:
        corpus: the films.
        policy: the arm's policy folder.
        settings: the section `generate`.
        dtype: of the weights.
        prompts: the instruction for each form of output.
        seed: of the draws when temperature is above 0.
        threads: of torch.
        device: where the policy computes.
        arm: its entry under `arms`, which says what of an output is the report; without one all of it.
        step_report: told the seconds a film (`radrl.policy.writing.numbers`).
        compute: the workers that write, and how an engine in a process of its own is run; nothing for this
            process and its defaults.

    Returns:
        sample_id, study_id, patient_id, gold, reference, reference_label_text and report, one row a sample;
        gold is the study's 14 class indices where they are known apart from the text, reference_label_text
        what labelers read of the reference. Where an output is more than its report, the
        whole of it stands in a further column, output.
    """
    from radrl.policy.engines import open_writer
    from radrl.policy.writing import Writing, written

    form = (arm or {}).get("output", "plain")
    split = settings["split"]
    writing = Writing(corpora.Films(corpus, split), of_split(corpus, split, prompts[form]), settings, seed)
    opening = partial(
        open_writer, settings["engine"], policy, dtype=dtype, device=device, threads=threads, compute=compute
    )
    references = _references(corpus, split)
    batches = list(written(writing, opening, compute, device=device))
    _tell_speed(batches, settings["batch_size"], step_report)
    return _table(references, [text for batch in batches for text in batch.texts], form)


def _references(corpus: ds.Dataset, split: str) -> pd.DataFrame:
    columns = ["sample_id", "study_id", "patient_id", "gold", "report", "label_text"]
    frame = corpora.read(corpus, split=split, columns=columns)[columns]
    return frame.rename(columns={"report": "reference", "label_text": "reference_label_text"})


def _tell_speed(
    batches: Sequence[Batch],
    batch_size: int,
    step_report: Callable[[int, Mapping[str, float]], None] | None,
) -> None:
    """Tell the terminal and the record how long a film took."""
    from rich.console import Console

    from radrl.policy.writing import numbers, speed_line

    found = numbers([batch.measured for batch in batches])
    Console().print(speed_line(found, device=batches[0].device, batch_size=batch_size))
    if step_report is not None:
        step_report(0, found)


def _table(references: pd.DataFrame, outputs: Sequence[str], form: str) -> pd.DataFrame:
    """References beside what was written on their films."""
    from radrl.reports.output import report_of

    table = references.assign(report=[report_of(output, form) for output in outputs])
    return table if form == "plain" else table.assign(output=outputs)


def create_pipeline() -> Pipeline:
    """An arm's policy, films -> its reports."""
    return pipeline(
        [
            node(
                write_reports,
                {
                    "corpus": "corpus",
                    "policy": "policy",
                    "settings": "params:generate",
                    "dtype": "params:policy.dtype",
                    "prompts": "params:prompts",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "arm": "params:arm",
                    "step_report": "step_report",
                    "compute": "compute",
                },
                "reports",
                name="write_reports",
            )
        ]
    )
