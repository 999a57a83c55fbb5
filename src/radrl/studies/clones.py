"""Clones of the project, one for each experiment of a study: its code, the experiment's parameters.

A clone holds the last commit. It shares DVC's cache with the project, so that what one experiment made, and
what the project made, is restored in the others; the checkpoints of a training lie in it, so that a killed
study goes on where it was.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kedro_repro.code_digests import CODE_FILE
from kedro_repro.programs import DVC, with_mend, without_git
from kedro_repro.stage_graph import changed, digest_code

MATTERS: Final = ("src", "conf/base", "dvc.yaml", "pyproject.toml", "data/06_models/radrl-tiny")
"""Tracked paths that decide an experiment's numbers, apart from params.yaml, which the study writes."""

LINKED: Final = ("data/01_raw", "conf/local")
"""Folders that git ignores and experiments read."""

PARAMS: Final = "params.yaml"

_HEADER: Final = "# Written by `radrl study`; the next start writes it anew.\n"


class CloneError(RuntimeError):
    """Git or DVC refused; the message holds what it said."""


def uncommitted(root: Path) -> list[str]:
    """Files under `MATTERS` that differ from the last commit, which is all a clone would hold.

    Args:
        root: the project's folder.

    Returns:
        Paths from there, new and deleted files too.

    Raises:
        CloneError: when the folder is no git repository.
    """
    listed = _git(
        root, "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--", *MATTERS
    )
    staged = _git(root, "diff", "-z", "--cached", "--name-only", "--", *MATTERS)
    return sorted({path for path in (listed + staged).split("\0") if path})


def prepare(root: Path, clone: Path, params: dict[str, Any], changed: Sequence[str] = ()) -> None:
    """Make a clone, or bring one that is there up to the project's last commit; its data stays.

    Args:
        root: the project's folder.
        clone: the clone's.
        params: the experiment's whole parameters.
        changed: files that are taken as they stand in the project, from `uncommitted`.

    Raises:
        CloneError: when git or DVC fails.
    """
    if not (clone / ".git").is_dir():
        _clone(root, clone)
    _update(root, clone)
    for path in changed:
        _copy(root / path, clone / path)
    _link(root, clone, params)
    # written only when it changes: DVC looks at times before it looks at contents
    text = _HEADER + yaml.safe_dump(params, sort_keys=False, allow_unicode=True, width=110)
    if not (clone / PARAMS).is_file() or (clone / PARAMS).read_text(encoding="utf-8") != text:
        (clone / PARAMS).write_text(text, encoding="utf-8")


def out_of_date(root: Path, clone: Path, params: dict[str, Any], stage: str) -> list[str] | None:
    """The stages that DVC would run in a clone on the way to a stage, without changing it.

    Args:
        root: the project's folder.
        clone: the clone's.
        params: the experiment's whole parameters.
        stage: the one that the experiment runs up to.

    Returns:
        Their names; nothing when the clone is not there, or is of another commit or of other parameters.
    """
    if not (clone / PARAMS).is_file():
        return None
    if yaml.safe_load((clone / PARAMS).read_text(encoding="utf-8")) != params:
        return None
    if _git(clone, "rev-parse", "HEAD") != _git(root, "rev-parse", "HEAD"):
        return None
    if (clone / CODE_FILE).is_file():
        digest_code(clone)
    return list(changed(_dvc(clone, "status", "--json", "--with-deps", stage)))


def commit(root: Path) -> str:
    """The project's last commit, in full.

    Args:
        root: the project's folder.
    """
    return _git(root, "rev-parse", "HEAD").strip()


def _clone(root: Path, clone: Path) -> None:
    half = clone.with_name(f".{clone.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    half.parent.mkdir(parents=True, exist_ok=True)
    _git(root, "clone", "--quiet", "--no-checkout", str(root), str(half))
    _git(half, "checkout", "--quiet", "--detach")
    own = root / ".dvc" / "config.local"  # remotes, and how files are linked out of the cache
    if own.is_file():
        shutil.copy(own, half / ".dvc" / "config.local")
    _dvc(half, "config", "--local", "cache.dir", str(_cache(root)))
    half.rename(clone)


def _update(root: Path, clone: Path) -> None:
    """Check out the project's last commit; the clone's dvc.lock, which says what ran there, stays."""
    lock = clone / "dvc.lock"
    kept = lock.read_bytes() if lock.is_file() else None
    for folder in LINKED:  # git would check out through the link
        if (clone / folder).is_symlink():
            (clone / folder).unlink()
    _git(clone, "fetch", "--quiet", str(root), "HEAD")
    _git(clone, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
    _git(clone, "clean", "--quiet", "--force", "-d", "--", "src", "conf/base")
    if kept is not None:
        lock.write_bytes(kept)


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    else:
        target.unlink(missing_ok=True)


def _link(root: Path, clone: Path, params: dict[str, Any]) -> None:
    """Link what git ignores: raw data, the machine's own settings, folders of weights that params name."""
    for folder in LINKED:
        # whole: DVC walks a folder that is a link, but follows no link within one
        if any(entry.name != ".gitkeep" for entry in _entries(root / folder)):
            shutil.rmtree(clone / folder, ignore_errors=True)
            (clone / folder).symlink_to((root / folder).resolve())
    for path in (Path(text) for text in _texts(params) if _names_ignored(root, text)):
        here = Path()
        for part in path.parts:  # the first folder that the clone lacks is linked whole
            here /= part
            if not (clone / here).exists():
                (clone / here).symlink_to((root / here).resolve())
                break


def _names_ignored(root: Path, text: str) -> bool:
    """Whether a value of params.yaml is a path from the project's folder."""
    if "\n" in text or len(text) > 255 or not text or Path(text).is_absolute() or ".." in Path(text).parts:
        return False
    return (root / text).exists()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _cache(root: Path) -> Path:
    return (root / _dvc(root, "cache", "dir").strip()).resolve()


def _git(folder: Path, *arguments: str) -> str:
    return _said(["git", "-C", str(folder), *arguments])


def _dvc(folder: Path, *arguments: str) -> str:
    return _said([*DVC, *arguments], cwd=folder)


def _said(command: list[str], cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, env=without_git(os.environ), check=False
        )
    except FileNotFoundError:
        raise CloneError(
            f"{command[0]} is not installed; a study runs in clones of the git repository"
        ) from None
    if done.returncode:
        said = with_mend(done.stderr.strip() or done.stdout.strip())
        raise CloneError(f"`{' '.join(command)}` failed:\n{said}")
    return done.stdout
