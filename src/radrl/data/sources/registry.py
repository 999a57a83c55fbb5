"""The source that params.yaml names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from radrl.data.sources import csv, phantom
from radrl.data.sources.base import Source
from radrl.data.sources.chexpert_plus import source as chexpert_plus
from radrl.data.sources.iu_xray import source as iu_xray
from radrl.data.sources.mimic_cxr import source as mimic_cxr
from radrl.data.tables import SourceError

Opened = tuple[Source, Path | None]


def open_source(settings: Mapping[str, Any], *, seed: int) -> Opened:
    """Open a source.

    Args:
        settings: the section `ingest` of params.yaml.
        seed: of sources that draw.

    Returns:
        The source, and the folder that its films' paths may not leave (nothing for a source that draws).

    Raises:
        SourceError: its files are not as expected; the message names them and the section to mend.
        ValueError: for an unknown source.
    """
    name = settings["source"]
    if name not in SOURCES:
        raise ValueError(f"ingest.source {name!r} is unknown; valid: {', '.join(SOURCES)}")
    try:
        return SOURCES[name](settings[name], settings["image_size"], seed)
    except SourceError as error:
        raise SourceError(f"{error}\nMend ingest.{name} in params.yaml, or the file.") from None


def _phantom(own: Mapping[str, Any], image_size: int, seed: int) -> Opened:
    return Source(phantom.read(seed=seed, image_size=image_size, **own)), None


def _csv(own: Mapping[str, Any], image_size: int, seed: int) -> Opened:
    paths = _paths(own, "path", "image_root")
    return Source(csv.read(**{**own, **paths})), paths["image_root"]


def _iu_xray(own: Mapping[str, Any], image_size: int, seed: int) -> Opened:
    paths = _paths(own, "root")
    return iu_xray.read(**{**own, **paths}, image_size=image_size, seed=seed), paths["root"]


def _mimic_cxr(own: Mapping[str, Any], image_size: int, seed: int) -> Opened:
    paths = _paths(own, "root", "tables", "reports", "annotation", "gold")
    return mimic_cxr.read(**{**own, **paths}), paths["root"]


def _chexpert_plus(own: Mapping[str, Any], image_size: int, seed: int) -> Opened:
    paths = _paths(own, "path", "images", "annotation", "gold")
    return chexpert_plus.read(**{**own, **paths}), paths["images"]


def _paths(own: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: Path(own[key]) if own[key] is not None else None for key in keys}


SOURCES: dict[str, Callable[[Mapping[str, Any], int, int], Opened]] = {
    "phantom": _phantom,
    "csv": _csv,
    "iu_xray": _iu_xray,
    "mimic_cxr": _mimic_cxr,
    "chexpert_plus": _chexpert_plus,
}
