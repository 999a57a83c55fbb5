"""R2Gen's split of MIMIC-CXR, rebuilt from a recipe's files: its numbers, and what differs from the file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from radrl.data.sources.mimic_cxr import MimicCxrSection, mimic_cxr
from radrl.data.sources.mimic_cxr.r2gen_split import SAMPLES, Comparison, Difference, numbers
from radrl.data.tables import SourceError
from radrl.doctor import Check
from radrl.params.schema import Params
from radrl.storage.whole_files import whole_file

_NAME = "R2Gen's split"


def r2gen_split(params: Params, annotation: Path | None, differences: Path | None) -> Check:
    """Read tables and reports, count R2Gen's samples, and hold them against its annotation.json.

    Args:
        params: of a recipe with the source `mimic_cxr`; all its films are read, whatever split it asks for.
        annotation: the file, or nothing to count alone.
        differences: where to write the studies that differ: a CSV file of numbers, without a word of text.

    Returns:
        The numbers, `without` where they are not R2Gen's.
    """
    own = params.ingest.parts().get("mimic_cxr")
    if params.ingest.source != "mimic_cxr" or not isinstance(own, MimicCxrSection):
        return Check(_NAME, f"ingest.source is {params.ingest.source}", "lacking", "", "name another recipe")
    settings = dict(own) | {"split": "r2gen", "text": "r2gen", "view_positions": None, "gold": None}
    try:
        if annotation is None:
            return _counted(settings)
        return _compared(settings, annotation, differences)
    except SourceError as error:
        return Check(_NAME, str(error), "lacking", "the stage ingest", "mend ingest.mimic_cxr")


def _counted(settings: Mapping[str, Any]) -> Check:
    comparison = Comparison(mimic_cxr(**{**settings, "annotation": None}).records, ())
    for _ in comparison.differences():
        pass
    return _told(comparison.samples_rebuilt, "")


def _compared(settings: Mapping[str, Any], annotation: Path, differences: Path | None) -> Check:
    comparison = Comparison(
        mimic_cxr(**{**settings, "annotation": None}).records,
        mimic_cxr(**{**settings, "annotation": str(annotation)}).records,
    )
    differing = 0
    with ExitStack() as stack:
        rows = None
        if differences is not None:
            stream = io.TextIOWrapper(stack.enter_context(whole_file(differences)), "utf-8", newline="")
            stack.callback(stream.detach)
            rows = csv.DictWriter(stream, [each.name for each in fields(Difference)], lineterminator="\n")
            rows.writeheader()
        for difference in comparison.differences():
            differing += 1
            if rows:
                rows.writerow(asdict(difference))
    said = f"; {annotation.name} has {numbers(comparison.samples_file)}, and {differing:,} studies differ"
    return _told(comparison.samples_rebuilt, said + (f" ({differences})" if differences else ""))


def _told(samples: Counter[str], said: str) -> Check:
    if samples == SAMPLES:
        return Check(_NAME, f"{numbers(samples)}, R2Gen's numbers{said}")
    return Check(
        _NAME,
        f"{numbers(samples)} samples, where R2Gen has {numbers(SAMPLES)}{said}",
        "without",
        "figures on other samples than R2Gen's",
        "whole tables and reports; other rules in ingest.mimic_cxr.r2gen; or annotation.json in "
        "ingest.mimic_cxr.annotation",
    )
