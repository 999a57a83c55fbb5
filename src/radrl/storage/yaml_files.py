"""Reads YAML by libyaml where PyYAML was built with it, which takes a tenth of the time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from radrl.storage import refused

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST: Final = 100  # levels; some thousand end the process, for libyaml's reader has no end of its own
_MOST: Final = 1_000_000  # values once every alias is written out, as whoever copies them does


class NoYaml(ValueError):
    """A file is no YAML; the message names it, the line and the mend."""

    @classmethod
    def from_pyyaml(cls, path: Path, error: yaml.YAMLError) -> NoYaml:
        """What to raise for an error of PyYAML's.

        Args:
            path: the file.
            error: what was wrong with it.
        """
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
        if mark and "\t" in "".join(lines[mark.line : mark.line + 1]):
            return cls(f"{where}: a tab stands there, and YAML takes none: indent with blanks")
        return cls(f"{where}: no valid YAML, {problem}; mend the line or the one before it")


def load(text: str) -> Any:
    """What a YAML text says, as `yaml.safe_load` reads it.

    Args:
        text: of a file.

    Raises:
        yaml.YAMLError: when it is no YAML, or none that can be held.
    """
    try:
        _require_bounded(text)
        return yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError:
        raise
    except Exception as error:  # PyYAML raises whatever a value leads it to: `!!int x`, the date 2020-13-45
        said = "a number of more digits than can be read" if "digits" in str(error) else str(error)
        raise yaml.YAMLError(f"a value that cannot be read ({said or type(error).__name__})") from None


def _require_bounded(text: str) -> None:
    """Refuse what is nested without end, and aliases of aliases that say more than memory holds."""
    sizes: dict[str, int] = {}  # of what each anchor names
    open_ones: list[tuple[str | None, int]] = [(None, 0)]  # anchor and size so far, innermost last
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            open_ones.append((event.anchor, 1))
            if len(open_ones) > _DEEPEST:
                raise _at(event, "brackets in brackets without end")
            continue
        anchor, size = None, 1
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_ones.pop()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in dict(open_ones):
                raise _at(event, "an alias of what it stands in")
            size = sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.ScalarEvent):
            anchor = event.anchor
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        outer, before = open_ones[-1]
        open_ones[-1] = outer, before + size
        if before + size > _MOST:
            raise _at(event, f"aliases that stand for more than {_MOST:,} values")


def _at(event: yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]


def read(path: Path, refuse: Callable[[str], Exception] = NoYaml) -> Any:
    """What a YAML file says.

    Args:
        path: the file.
        refuse: makes what is raised of the message.

    Raises:
        NoYaml: or what `refuse` makes in its place: there is no such file, or no YAML in it.
    """
    said = text(path, refuse)
    try:
        return load(said)
    except yaml.YAMLError as error:
        raise refuse(str(NoYaml.from_pyyaml(path, error))) from None


def text(path: Path, refuse: Callable[[str], Exception] = NoYaml) -> str:
    """The text of a YAML file.

    Args:
        path: the file.
        refuse: makes what is raised of the message.

    Raises:
        NoYaml: or what `refuse` makes in its place: there is no such file, or it holds no text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise refuse(f"{path} holds bytes that are no UTF-8; save it as UTF-8") from None
    except OSError as error:
        own = refused.mend(error) or "name a file that is there"
        raise refuse(f"{path} cannot be read: {error.strerror or error}; {own}") from error
