"""What is asked of one film and its report by themselves, and what becomes of them.

The costly half of ingest (decoding), apart from what needs memory of other records (`radrl.data.admission`),
so that it can be mapped over processes: it takes and gives picklable values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from radrl.data import images
from radrl.data.quarantine import Reason, Refusal, Refused
from radrl.data.study import AWAY, SPLITS, VIEWS, Draw, Film, Record, canonical_split
from radrl.observations import OBSERVATIONS, UNCERTAIN
from radrl.parts.choices import require_one_of
from radrl.reports.cleaning import LABELS_OF, PROTOCOLS, LabelsOf, Protocol, clean
from radrl.reports.sections import TARGETS, Target, compose, word_count


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of one record.

    Args:
        target: which text the policy learns to write (`radrl.reports.sections.compose`).
        image_size: side of the corpus' films in pixels.
        image_fit: how films are brought to it (`radrl.data.images.fit`).
        image_root: the folder that no film's path may leave; needed for sources that give paths.
        away_root: the same of the films of the split `away`, where a source of their own gives them.
        min_report_words: reports with fewer words are refused.
        views: views that are kept; the others are left out by choice.
        cleaning: what is done to the target's text (`radrl.reports.cleaning.clean`).
        max_report_words: cut the cleaned text here; nothing keeps it whole.
        labels_of: what labelers read: `original`, the target's text before it was cleaned and cut, or
            `cleaned`, the target.

    Raises:
        ValueError: an argument is out of its range; the message names it and what is valid.
    """

    target: Target
    image_size: int
    image_fit: images.Fit = "pad"
    image_root: Path | None = None
    away_root: Path | None = None
    min_report_words: int = 1
    views: Sequence[str] = VIEWS
    cleaning: Protocol = "none"
    max_report_words: int | None = None
    labels_of: LabelsOf = "original"

    def __post_init__(self) -> None:
        require_one_of("target", self.target, TARGETS)
        require_one_of("image_fit", self.image_fit, images.FITS)
        require_one_of("cleaning", self.cleaning, PROTOCOLS)
        require_one_of("labels_of", self.labels_of, LABELS_OF)
        for view in self.views:
            require_one_of("views", view, VIEWS)
        if self.image_size < images.MIN_SIDE:
            raise ValueError(f"image_size must be at least {images.MIN_SIDE}, got {self.image_size}")

    def root_of(self, record: Record) -> Path | None:
        """The folder that a record's film may not leave."""
        return self.away_root if self.away_root and record.split == AWAY else self.image_root


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record that is sound by itself.

    Args:
        record: as the source gave it, without its pixels; its boxes are those of the fitted film.
        image_name: path as the source gives it, or nothing for pixels.
        study_id: the source's, else the film's path, else the record's key.
        split: one of `radrl.data.study.SPLITS`, or nothing when the source states none.
        report: the target text.
        label_text: what labelers read of it.
        png: the fitted film.
        pixels: SHA-256 of the decoded film before fitting.
    """

    record: Record
    image_name: str | None
    study_id: str
    split: str | None
    report: str
    label_text: str
    png: bytes
    pixels: bytes


def prepare(record: Record | Refusal, rules: Rules) -> Prepared | Refusal:
    """Check and convert one record by itself.

    Args:
        record: one record, or what the source already had to refuse, which is passed on.
        rules: what is asked of it.

    Returns:
        The prepared record, or its refusal with the reason.

    Raises:
        ValueError: the source breaks its contract: a view or gold labels that cannot be, or a path where
            there is no `image_root`.
    """
    if isinstance(record, Refusal):
        return record
    _check_contract(record, rules)
    if broken := _not_text(record):
        return broken
    name = _given(record.image, rules.root_of(record))
    try:
        _check_view(record, rules)
        split, (report, label_text) = _split(record), _report(record, rules)
        film = _film(record, rules)
    except Refused as refused:
        return Refusal(record.key, refused.reason, refused.detail, record.study_id, name)
    return Prepared(
        record=_kept(record, film.shape, rules.image_fit),
        image_name=name,
        study_id=record.study_id or name or record.key,
        split=split,
        report=report,
        label_text=label_text,
        png=images.encode_png(images.fit(film, size=rules.image_size, how=rules.image_fit)),
        pixels=hashlib.sha256(repr(film.shape).encode() + film.tobytes()).digest(),
    )


def _check_contract(record: Record, rules: Rules) -> None:
    if record.view not in VIEWS:
        raise ValueError(f"{record.key}: view {record.view!r}; valid: {', '.join(VIEWS)}")
    if isinstance(record.image, Path) and rules.root_of(record) is None:
        raise ValueError(f"{record.key} gives its film as a path, so ingest needs image_root")
    gold = record.gold
    if gold is not None and (len(gold) != len(OBSERVATIONS) or not set(gold) <= set(range(UNCERTAIN + 1))):
        valid = f"{len(OBSERVATIONS)} class indices 0 to {UNCERTAIN}"
        raise ValueError(f"{record.key}: gold must be {valid}, got {gold}")


def _not_text(record: Record) -> Refusal | None:
    """Half of a surrogate pair, which JSON can hold and no file can."""
    for name in ("study_id", "patient_id", "findings", "impression", "report", "indication"):
        try:
            (getattr(record, name) or "").encode()
        except UnicodeEncodeError:
            reason: Reason = "missing_id" if name.endswith("_id") else "malformed_report"
            return Refusal(record.key, reason, f"{name} holds half of a surrogate pair, which is no text")
    return None


def _check_view(record: Record, rules: Rules) -> None:
    if record.view not in rules.views:
        raise Refused("left_out_view", f"{record.view}; ingest.views asks for {', '.join(rules.views)}")


def _given(image: Path | Film | Draw | None, root: Path | None) -> str | None:
    if not isinstance(image, Path):
        return None
    return str(image.relative_to(root)) if root and image.is_relative_to(root) else str(image)


def _split(record: Record) -> str | None:
    if record.split is None:
        return None
    if (split := canonical_split(record.split)) is None:
        raise Refused("unknown_split", f"split {record.split!r}; valid: {', '.join(SPLITS)}")
    return split


def _report(record: Record, rules: Rules) -> tuple[str, str]:
    """The target text, and what labelers read of it."""
    text = compose(rules.target, findings=record.findings, impression=record.impression, report=record.report)
    words = word_count(text)
    if words == 0:
        other = record.report and rules.target != "report"
        hint = "; the source has a whole report: set target to report" if other else ""
        raise Refused("empty_report", f"no words for target {rules.target}{hint}")
    if words < rules.min_report_words:
        raise Refused("short_report", f"{words} words; min_report_words is {rules.min_report_words}")
    cleaned = clean(text, rules.cleaning, rules.max_report_words)
    if word_count(cleaned) == 0:
        raise Refused("empty_report", f"no words are left by the cleaning {rules.cleaning}")
    return cleaned, text if rules.labels_of == "original" else cleaned


def _film(record: Record, rules: Rules) -> Film:
    if record.image is None:
        raise Refused("missing_image", "the source names no film")
    if isinstance(record.image, np.ndarray):
        return images.check(record.image)
    if not isinstance(record.image, Path):
        return images.check(record.image())
    root = rules.root_of(record)
    assert root is not None  # _check_contract
    return images.decode(images.locate(record.image, root))


def _kept(record: Record, shape: tuple[int, ...], how: images.Fit) -> Record:
    drawn = not isinstance(record.image, Path)
    boxes = record.boxes and tuple(images.fit_box(box, shape, how) for box in record.boxes)
    return replace(record, image=None if drawn else record.image, boxes=boxes)
