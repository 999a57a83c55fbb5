"""Which films are reported on, and what a policy is shown of them: what ingest would put into the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from radrl.data import images
from radrl.data.quarantine import REASONS, Refused
from radrl.reporting.arms import Asked

ENDINGS = (".png", ".jpg", ".jpeg", ".dcm", ".dicom")
"""Of a folder's files these are films; a file that is named itself may have any name."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one report is on.

    Args:
        name: for a person: the film's path, or the folder's.
        paths: of its films, one or more.
    """

    name: str
    paths: tuple[Path, ...]


class FilmError(ValueError):
    """A film that cannot be shown to a policy; the message names the file, the reason and the mend."""


def samples(paths: Sequence[Path], sample: str) -> list[Sample]:
    """What is reported on.

    Args:
        paths: films, and folders of films.
        sample: `image`: a report a film; `study`: one a folder, and one on all films named by themselves.

    Returns:
        The samples in the order given, a folder's films by name.

    Raises:
        FilmError: for a folder without a film.
    """
    if sample == "image":
        films = [film for path in paths for film in _films(path)]
        return [Sample(str(film), (film,)) for film in films]
    folders = [Sample(str(path), tuple(_films(path))) for path in paths if path.is_dir()]
    alone = tuple(path for path in paths if not path.is_dir())
    return [*([Sample(", ".join(map(str, alone)), alone)] if alone else []), *folders]


def _films(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())
    if not found:
        raise FilmError(f"{path}: no film in this folder; films end in {', '.join(ENDINGS)}")
    return found


def shown(path: Path, asked: Asked, *, name: str | None = None) -> bytes:
    """A film as the policy sees it.

    Args:
        path: PNG, JPEG or DICOM.
        asked: says size and fit.
        name: of the film in messages; by default its path.

    Returns:
        The PNG that ingest would put into the corpus.

    Raises:
        FilmError: when ingest would refuse it.
    """
    try:
        film = images.decode(path)
        return images.encode_png(images.fit(film, size=asked.image_size, how=asked.image_fit))  # type: ignore[arg-type]
    except Refused as refused:
        raise FilmError(
            f"{name or path}: {refused.detail} ({REASONS[refused.reason]}); mend it, or leave it out"
        ) from None


def batches(given: Sequence[Sample], size: int) -> Iterator[Sequence[Sample]]:
    """The samples, several at once.

    Args:
        given: all of them.
        size: of a batch.
    """
    for start in range(0, len(given), size):
        yield given[start : start + size]
