"""Nodes of the stage generate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pipelines.generate.speed import Stopwatch, told

if TYPE_CHECKING:
    from radrl.policy.encoding import Films
    from radrl.policy.writers.base import Writer


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
        step_report: told the seconds a film (`radrl.pipelines.generate.speed`).
        compute: how an engine in a process of its own is run; nothing for its defaults.

    Returns:
        sample_id, study_id, patient_id, gold, reference, reference_label_text and report, one row a sample;
        gold is the study's 14 class indices where they are known apart from the text, reference_label_text
        what labelers read of the reference. Where an output is more than its report, the
        whole of it stands in a further column, output.
    """
    from rich.console import Console

    from radrl.policy.writers.build import open_writer
    from radrl.reports.output import report_of

    frame = corpora.read(
        corpus,
        split=settings["split"],
        columns=["sample_id", "study_id", "patient_id", "gold", "report", "label_text"],
    )
    films = corpora.Films(corpus, settings["split"])
    form = (arm or {}).get("output", "plain")
    watch = Stopwatch()
    opened = open_writer(
        settings["engine"], policy, dtype=dtype, device=device, threads=threads, compute=compute
    )
    with closing(opened) as writer:
        outputs = _written(writer, films, prompts[form], settings, seed, watch)
    numbers = watch.numbers()
    Console().print(told(numbers, device=writer.device, batch_size=settings["batch_size"]))
    if step_report is not None:
        step_report(0, numbers)
    table = frame[["sample_id", "study_id", "patient_id", "gold"]].copy()
    table = table.assign(
        reference=frame["report"],
        reference_label_text=frame["label_text"],
        report=[report_of(output, form) for output in outputs],
    )
    return table if form == "plain" else table.assign(output=outputs)


def _written(
    writer: Writer,
    films: Sequence[Films],
    prompt: str,
    settings: Mapping[str, Any],
    seed: int,
    watch: Stopwatch,
) -> list[str]:
    """What a policy writes on the films of each sample."""
    from tqdm import tqdm

    outputs: list[str] = []
    for start in tqdm(range(0, len(films), settings["batch_size"]), desc="generate", unit=" batches"):
        chosen = films[start : start + settings["batch_size"]]
        with watch.batch(sum(map(len, chosen))):
            drawn = writer.write(
                chosen,
                prompt,
                max_new_tokens=settings["max_new_tokens"],
                temperature=settings["temperature"],
                top_p=settings["top_p"],
                seed=seed,
                first=start,
            )
        outputs += [output.text for (output,) in drawn]
    return outputs
