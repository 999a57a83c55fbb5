"""Reads YAML by libyaml where PyYAML was built with it, which takes a tenth of the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class NoYaml(ValueError):
    """A file is no YAML; the message names it, the line and the mend."""

    @classmethod
    def of(cls, path: Path, error: yaml.YAMLError) -> NoYaml:
        """What to raise for an error of PyYAML's.

        Args:
            path: the file.
            error: what was wrong with it.
        """
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error)
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if mark and "\t" in "".join(lines[mark.line : mark.line + 1]):
            return cls(f"{where}: a tab stands there, and YAML takes none: indent with blanks")
        return cls(f"{where}: no valid YAML, {problem}; mend the line or the one before it")


def load(text: str) -> Any:
    """What a YAML text says, as `yaml.safe_load` reads it.

    Args:
        text: of a file.

    Raises:
        yaml.YAMLError: when it is no YAML.
    """
    return yaml.load(text, Loader=_LOADER)


def read(path: Path) -> Any:
    """What a YAML file says.

    Args:
        path: the file.

    Raises:
        NoYaml: when it is none.
    """
    try:
        return load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise NoYaml.of(path, error) from None
