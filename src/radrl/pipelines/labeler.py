"""The stage labeler: the compact CheXbert trained, the published one checked, how far labelers agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline
from rich.console import Console

from radrl.data import corpus as corpora
from radrl.labelers import build
from radrl.observations import OBSERVATIONS
from radrl.process.terminal import new_table, number

if TYPE_CHECKING:
    from radrl.labelers import LabelMatrix


TRAINING: Final = ("pretrain", "train")
UNSEEN: Final = ("val", "test")
KNOWN: Final = ("name", "rules", "compact", "chexbert")
"""Keys of the section `labeler`; any other is a labeler of one's own."""

FEW: Final = 20
"""Observations that fewer reports have are left out of the mean, which one report would move too far."""


def make_labelers(
    corpus: ds.Dataset,
    settings: dict[str, Any],
    seed: int,
    threads: int,
    step_report: Callable[[int, Mapping[str, float]], None],
) -> tuple[Callable[[Path], None], pd.DataFrame]:
    """Train the compact CheXbert on the rules' labels, and check the published one where it is given.

    Args:
        corpus: the films; reports of the splits `pretrain` and `train` are learned from, in both forms where
            a paper's cleaning made two.
        settings: the section `labeler`.
        seed: of weights and training texts.
        threads: of torch.
        step_report: told each logged step.

    Returns:
        What writes the labelers' folder, one folder a labeler that has a model; and the training curve, empty
        when there is no compact one.

    Raises:
        radrl.labelers.LabelerError: `labeler.chexbert` holds no published CheXbert.
    """
    writers: dict[str, Callable[[Path], None]] = {
        name: partial(_note, own) for name, own in settings.items() if name not in KNOWN
    }
    curve: list[dict[str, float]] = []
    if settings["chexbert"] is not None:
        writers["chexbert"] = _pointing(Path(settings["chexbert"]))
    if settings["compact"] is not None:
        import torch

        from radrl.labelers.chexbert import folder
        from radrl.process.devices import pin
        from radrl.training.compact_labeler.fitting import train

        pin(threads, torch.device("cpu"))  # seconds of work on a network this small
        teacher = build(settings, name="rules")
        texts = _texts(corpus, TRAINING)
        model, tokenizer, curve = train(texts, teacher, settings["compact"], seed=seed, report=step_report)
        writers["chexbert_compact"] = partial(folder.save, model, tokenizer)
    return partial(_write, writers), pd.DataFrame(curve or {"step": []})


def check_labelers(
    corpus: ds.Dataset, labeler_models: Path, settings: dict[str, Any], device: str = "cpu"
) -> dict[str, Any]:
    """Hold the labelers against what is known apart from the texts, and the compact one against the rules.

    Args:
        corpus: the films.
        labeler_models: of `make_labelers`.
        settings: the section `labeler`.
        device: where a CheXbert computes.

    Returns:
        The labeler's name, how many reports have known labels, and per observation the share of them in
        which the labeler's class is the known one (no shares where the source knows none). Under `compact`
        its agreement with the rules on reports it has not seen: see `agreement`.
    """
    frame = corpora.read(corpus, columns=["label_text", "gold"])
    known = frame[frame["gold"].notna()]
    summary: dict[str, Any] = {"labeler": settings["name"], "reports": len(frame), "known": len(known)}
    if len(known):
        labels = build(settings, labeler_models, device=device).label(known["label_text"].tolist())
        same = labels == np.stack(known["gold"].to_list())  # (N, 14)
        summary["agreement"] = {
            name: float(share) for name, share in zip(OBSERVATIONS, same.mean(0), strict=True)
        }
    if settings["compact"] is not None:
        seen = set(_texts(corpus, TRAINING))
        unseen = [text for text in _texts(corpus, UNSEEN) if text not in seen]
        rules = build(settings, name="rules").label(unseen)
        compact = build(settings, labeler_models, name="chexbert_compact", device=device).label(unseen)
        summary["compact"] = {"training_reports": len(seen), "unseen_reports": len(unseen)}
        summary["compact"] |= agreement(rules, compact)
        print_agreement(summary["compact"])
    return summary


def agreement(teacher: LabelMatrix, pupil: LabelMatrix) -> dict[str, Any]:
    """How far a labeler agrees with the one it learned from.

    Args:
        teacher: class indices of N reports, shape (N, 14).
        pupil: class indices of the same reports, shape (N, 14).

    Returns:
        The share of equal classes; F1 of being positive, and of being positive or uncertain, averaged over
        the observations that `FEW` or more reports have (nothing where there is none); and per observation
        both F1 with the number of reports that have it.
    """
    from radrl.evaluation.clinical_efficacy import clinical_efficacy

    if not len(teacher):
        return {"equal_classes": None, "macro_f1": None, "macro_f1_uncertain_pos": None, "observations": {}}
    rows = clinical_efficacy(teacher, pupil, labeler="pupil").per_label
    found: dict[str, Any] = {"equal_classes": float((teacher == pupil).mean())}
    observations: dict[str, dict[str, float]] = {name: {} for name in OBSERVATIONS}
    for uncertain, suffix in ((False, ""), (True, "_uncertain_pos")):
        read = [row for row in rows if row.uncertain_as_positive is uncertain]
        often = [row.f1 for row in read if row.support >= FEW]
        found[f"macro_f1{suffix}"] = float(np.mean(often)) if often else None
        for row in read:
            observations[row.observation] |= {f"f1{suffix}": row.f1, f"support{suffix}": row.support}
    return found | {"observations": observations}


def _texts(corpus: ds.Dataset, splits: Sequence[str]) -> list[str]:
    """The distinct reports of some splits, as labelers read them and as policies learn to write them."""
    frames = [corpora.read(corpus, split=split, columns=["label_text", "report"]) for split in splits]
    every = pd.concat(frames)
    return list(dict.fromkeys([*every["label_text"], *every["report"]]))


def _pointing(published: Path) -> Callable[[Path], None]:
    """A writer of a pointer to weights that load, with the digests of what was loaded."""
    from radrl.labelers.chexbert import folder
    from radrl.storage.pointers import pointing

    folder.load(published)
    weights = published if published.is_file() else published / folder.WEIGHTS
    files = [weights, *(weights.parent / name for name in (folder.VOCABULARY, folder.CONFIG))]
    return pointing(published, [file for file in files if file.is_file()])


def _note(settings: Any, folder: Path) -> None:
    """Let what a labeler of one's own is set to be part of the folder that those who label depend on."""
    (folder / "settings.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")


def _write(writers: Mapping[str, Callable[[Path], None]], target: Path) -> None:
    for name, write in writers.items():
        (target / name).mkdir()
        write(target / name)


READINGS: Final = ("", "_uncertain_pos")
"""Ends of the names of figures: positive alone, positive or uncertain."""


def print_agreement(compact: Mapping[str, Any]) -> None:
    """Print how far the compact CheXbert agrees with the rules.

    Args:
        compact: of `radrl.pipelines.labeler.check_labelers`, its entry `compact`.
    """
    table = new_table("compact CheXbert against the rules", "F1", "reports", "F1, or uncertain", "reports")
    for name, row in compact["observations"].items():
        cells = [number(row[f"{key}{reading}"]) for reading in READINGS for key in ("f1", "support")]
        table.add_row(name, *cells, style="" if row["support"] else "dim")
    means = [cell for reading in READINGS for cell in (number(compact[f"macro_f1{reading}"]), "")]
    table.add_row("mean where 20 or more have it", *means, style="bold")
    console = Console()
    console.print()
    console.print(table)
    console.print(
        f"{compact['unseen_reports']} reports it has not seen; learned from {compact['training_reports']}"
    )


def create_pipeline() -> Pipeline:
    """Corpus -> the labelers' models and their agreement report."""
    return pipeline(
        [
            node(
                make_labelers,
                ["corpus", "params:labeler", "params:seed", "params:threads", "step_report"],
                ["labeler_models", "labeler_history"],
                name="make_labelers",
            ),
            node(
                check_labelers,
                ["corpus", "labeler_models", "params:labeler", "params:device"],
                "labeler_report",
                name="check_labelers",
            ),
        ]
    )
