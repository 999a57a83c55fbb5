"""ReXrank's file of studies: what an entry must hold, and which films of a study a policy sees.

The file is one JSON object, an entry a study under the study's key. Of an entry are read ``image_path`` (all
films, below the folder of films, with or without a slash before it), ``key_image_path`` (the frontal one, for
models of one film), ``frontal_lateral`` (the views, in any source's words) and, for prompts with places,
``context``. All else, such as the reference's sections, goes with the entry as it stands. NaN stands for what
is absent, as in the files that ReXrank publishes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from radrl.data.images import locate
from radrl.data.quarantine import Refused
from radrl.data.study import VIEW_WORDS, view_word
from radrl.storage import json_files

_SHOWN: Final = 10
"""Problems that a message lists."""

_CONTEXT: Final = {
    "age": re.compile(r"\bAge:\s*([^.]*?)(?:\.0)?\."),
    "indication": re.compile(r"\bIndication:\s*(.*?)\s*(?:Comparison:.*)?$", re.DOTALL),
}
_NOTHING: Final = ("", "nan", "None", "None.")
Entry = Mapping[str, Any]

PREDICTION: Final = "model_prediction"
"""The key under which ReXrank reads a report."""


class FormError(ValueError):
    """A file that is not in ReXrank's form; the message names file, study and the mend."""


@dataclass(frozen=True, slots=True)
class Study:
    """One study.

    Args:
        key: of its entry.
        images: its films below the folder of films, in the file's order, at least one.
        views: of each, ``"frontal"``, ``"lateral"`` or ``"unknown"``.
        film: the one of them that a policy of one film sees.
        entry: all that the file has of it.
    """

    key: str
    images: tuple[str, ...]
    views: tuple[str, ...]
    film: str
    entry: Entry


def read(path: Path) -> list[Study]:
    """Read and check a file of studies.

    Args:
        path: the JSON file.

    Returns:
        The studies in the file's order, at least one.

    Raises:
        FormError: it is no JSON, or no such object; or studies are malformed, each named by its key.
    """
    problems: list[str] = []
    studies = []
    for key, entry in entries(path).items():
        try:
            studies.append(_study(key, entry))
        except FormError as error:
            problems.append(f"study {key!r}: {error}")
    if problems:
        raise FormError(
            listed(
                f"{path.name}: {len(problems):,} studies cannot be read; mend them, or take them out:",
                problems,
            )
        )
    return studies


def entries(path: Path) -> dict[str, Any]:
    """The entries of a file, unchecked, by the studies' keys.

    Args:
        path: the JSON file.

    Returns:
        At least one, in the file's order.

    Raises:
        FormError: it is no JSON object, is empty, or has two entries of one key.
    """
    found = json_files.read(path, FormError, mend="a study has one entry of valid JSON: mend or fetch it")
    if not isinstance(found, dict):
        raise FormError(
            f"{path.name} holds {_kind(found)}, not an object with an entry a study: "
            "give a file in ReXrank's form"
        )
    if not found:
        raise FormError(f"{path.name} has no study; give a file in ReXrank's form")
    return found


def films(study: Study, *, whole: bool, views: Collection[str]) -> tuple[str, ...]:
    """What of a study a policy sees.

    Args:
        study: the study.
        whole: whether the policy sees studies, and not single films.
        views: the views that it was trained with.

    Returns:
        The films of these views in the file's order, or the study's own choice for models of one film, which
        stands also for a study that has none of these views.
    """
    seen = [image for image, view in zip(study.images, study.views, strict=True) if view in views]
    return tuple(seen) if whole and seen else (study.film,)


def located(chosen: Mapping[str, Sequence[str]], folder: Path) -> dict[str, tuple[Path, ...]]:
    """The files of films.

    Args:
        chosen: films by study.
        folder: of the films, which none may leave.

    Returns:
        Files that are there, by study.

    Raises:
        FormError: listing the studies of which one is not there.
    """
    found, missing = {}, []
    for key, names in chosen.items():
        try:
            found[key] = tuple(locate(folder / name.lstrip("/"), folder) for name in names)
        except Refused as refused:
            missing.append(f"study {key!r}: {', '.join(names)}: {refused.detail}")
    if missing:
        some = f"films of {len(missing):,} of the {len(chosen):,} studies are not there:"
        raise FormError(
            listed(some, missing) + f"\nMend: is {folder} the folder that image paths start from?"
        )
    return found


def context(entry: Entry) -> dict[str, str | None]:
    """What an entry tells of its study for a prompt.

    Args:
        entry: of a study.

    Returns:
        By place of a prompt (`radrl.reports.prompts.PLACES`) the age, which may be a range, and the
        indication; a prior is in no entry.

    Example:
        >>> context({"context": "Age:60-70.Gender:F.Indication: Dyspnea.Comparison: None."})
        {'age': '60-70', 'indication': 'Dyspnea.'}
    """
    text = entry.get("context")
    found = {name: form.search(text) if isinstance(text, str) else None for name, form in _CONTEXT.items()}
    return {name: None if part is None or part[1] in _NOTHING else part[1] for name, part in found.items()}


def listed(title: str, problems: Sequence[str]) -> str:
    """A message of a title and the first of several problems, a line each."""
    more = [f"and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
    return "\n".join([title, *(f"  {line}" for line in [*problems[:_SHOWN], *more])])


def absent(value: Any) -> bool:
    """Whether a value stands for nothing: null, NaN, or blank."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _study(key: str, entry: Any) -> Study:
    if not isinstance(entry, dict):
        raise FormError(f"its entry is {_kind(entry)}, not an object")
    if "question" in entry:
        raise FormError("it has a question: this is ReXrank's task of answers, not of reports")
    images = entry.get("image_path")
    if not isinstance(images, list) or not images:
        raise FormError(f"'image_path' is {_kind(images)}; give a list of at least one film")
    _require_paths("image_path", images)
    views = _views(entry.get("frontal_lateral"), len(images))
    film = entry.get("key_image_path")
    if absent(film):
        film = images[views.index("frontal") if "frontal" in views else 0]
    _require_paths("key_image_path", [film])
    return Study(key, tuple(images), views, str(film), entry)


def _require_paths(name: str, paths: Iterable[Any]) -> None:
    for path in paths:
        if not isinstance(path, str) or absent(path):
            raise FormError(f"{name!r} has {path!r}, which is no path")


def _views(words: Any, images: int) -> tuple[str, ...]:
    """The view of each film; unknown where the entry does not tell, or in a word that is none."""
    if absent(words):
        return ("unknown",) * images
    if not isinstance(words, list) or len(words) != images:
        raise FormError(f"'frontal_lateral' is no list of {images} views, one a film of 'image_path'")
    return tuple(VIEW_WORDS.get(view_word(str(word)), "unknown") for word in words)


def _kind(value: Any) -> str:
    if value is None:
        return "absent or null"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "text" if isinstance(value, str) else repr(value)
