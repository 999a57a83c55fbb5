"""Who reads the 14 observations out of a report: the form of every labeler, and labelers by name.

Lives here: whatever gives a report 14 classes: rules, and CheXbert in its published and its compact size.
What scores a pair of reports is a scorer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.parts.find import find, ingredients
from radrl.process.devices import place

LabelMatrix = npt.NDArray[np.int8]
"""Labels of N reports, shape (N, 14), class indices in the order of `radrl.observations`."""

_WORD: Final = re.compile(r"\b(?!(?:nan|nat|na|n|a|none|null)\b)[^\W\d_]", re.IGNORECASE)
"""Where a word begins that is none of those that pandas and databases write for a missing value."""
_CLASSES = (BLANK, POSITIVE, NEGATIVE, UNCERTAIN)
RULES: Final[Mapping[str, Any]] = {"alternatives": "uncertain", "other_findings": True}
"""The rules' settings: CheXpert's reading."""
LABELER: Final[dict[str, Any]] = {"rules": dict(RULES)}
"""The section `labeler` where no params.yaml says otherwise."""


class LabelerError(ValueError):
    """A labeler cannot be had as asked for; the message names what is wrong and the mend."""


class Labeler(Protocol):
    """Reads the 14 CheXpert observations out of report texts.

    Attributes:
        name: goes into every metric's name (``"rules"``, ``"chexbert"``, ``"chexbert_compact"``).
    """

    name: str

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """Label reports.

        Args:
            reports: N report texts; an empty text has every observation blank.

        Returns:
            Class indices, shape (N, 14), dtype int8.
        """
        ...


def says_nothing(text: str) -> bool:
    """Whether a text is no report: empty, marks and digits alone, or a table's word for a missing one.

    Such words are nan, NaT, NA, N/A, none and null, in either case. What people write for it ("missing", "not
    available", "no report") counts as a report, since a report could say so of something else.

    Args:
        text: a report or a sentence.

    Example:
        >>> [says_nothing(text) for text in ("", "nan", "N/A", "123", "Clear.")]
        [True, True, True, True, False]
    """
    return _WORD.search(text) is None


def check_texts(reports: Sequence[str]) -> None:
    """Refuse what is no text.

    Args:
        reports: what is to be labelled.

    Raises:
        TypeError: a report is no string; the message names its number.
    """
    for number, report in enumerate(reports):
        if not isinstance(report, str):
            raise TypeError(
                f"report {number} is {type(report).__name__}, not text: leave missing reports out"
            )


class Adapted:
    """A labeler under the name that params.yaml gives it.

    Args:
        label: from N reports to class indices, shape (N, 14).
        name: goes into every metric's name.
    """

    def __init__(self, label: Callable[[Sequence[str]], Any], name: str) -> None:
        self.name, self._label = name, label

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.Labeler`.

        Raises:
            LabelerError: when it gives anything but class indices of that shape.
        """
        check_texts(reports)
        found, shape = np.asarray(self._label(reports)), (len(reports), len(OBSERVATIONS))
        if found.shape != shape or not np.isin(found, _CLASSES).all():
            raise LabelerError(
                f"the labeler {self.name} gave {found.dtype} of shape {found.shape} for {len(reports)} "
                f"reports; give class indices (radrl.observations) of shape {shape}"
            )
        return found.astype(np.int8)


def build(
    settings: Mapping[str, Any],
    models: Path | None = None,
    *,
    name: str | None = None,
    device: str = "cpu",
    threads: int | None = None,
    remembers: bool = True,
) -> Labeler:
    """Build a labeler.

    Args:
        settings: the section `labeler` of params.yaml.
        models: what the stage `labeler` wrote; the rules need none.
        name: which labeler; by default `labeler.name`.
        device: where one that asks for it computes, as params.yaml's `device`.
        threads: of torch, for one that computes with it; nothing leaves them as they are.
        remembers: whether a CheXbert may keep labels from call to call, which hang on the call by rounding.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
        LabelerError: when the labeler's model is not there.
        radrl.process.devices.DeviceError: when the device is not there.
        FileNotFoundError: when a file of a model that is pointed at is gone.
        ValueError: when one has changed since the stage `labeler` saw it.
    """
    name = name or settings["name"]
    given = settings.get(name)
    own = given if isinstance(given, Mapping) else {}  # `chexbert` is a path, which is in `models` by now
    part = find("labeler", name, own)
    if part.is_function:
        return Adapted(partial(part.object, **part.settings(own)), name)
    # the rules need neither torch nor a device that is there
    placed = {"device": _placed(device, threads)} if "device" in ingredients(part.object) else {}
    made: Labeler = part.make(own, models=models, name=name, remembers=remembers, **placed)
    return made if part.origin == "built-in" else Adapted(made.label, name)


def _placed(device: str, threads: int | None) -> str:
    where = place(device)
    if threads is not None:
        from radrl.process.devices import pin

        pin(threads, where)
    return str(where)


def needs_model(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a labeler reads with a model.

    Args:
        name: of the labeler.
        settings: the section `labeler` of params.yaml.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
    """
    return "models" in ingredients(find("labeler", name, settings.get(name)).object)


def load(
    name: str, settings: Mapping[str, Any], *, model: Path | None = None, device: str = "cpu"
) -> Labeler:
    """Load a labeler.

    Args:
        name: of the labeler.
        settings: the section `labeler` of params.yaml.
        model: of one that needs it, its weights or their folder, or a folder with one named as the labeler.
        device: where the model runs, as params.yaml's `device`.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
        radrl.labelers.LabelerError, FileNotFoundError, ValueError: when its model cannot be had.
        radrl.process.devices.DeviceError: when the device is not there.
    """
    if model is None or not needs_model(name, settings):
        return build(settings, name=name)
    if (model / name).is_dir():
        return build(settings, model, name=name, device=device)
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    return CheXbertLabeler.from_folder(model, name=name, device=place(device))


def one(given: str | Labeler) -> Labeler:
    """The labeler that is handed over, or the one of this name with the settings of `LABELER`.

    Args:
        given: a labeler, or the name of one that needs no model.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a name that is none.
        LabelerError: for one that reads with a model.
    """
    if not isinstance(given, str):
        return given
    find("labeler", given, key="labeler")
    if needs_model(given, LABELER):
        raise LabelerError(
            f"labeler {given!r} reads with a model: give radrl.load_labeler({given!r}, model=...)"
        )
    return load(given, LABELER)
