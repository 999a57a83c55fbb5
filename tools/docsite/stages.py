"""The stages of the pipeline, as dvc.yaml has them."""

from __future__ import annotations

import re
from typing import Any

import yaml

from docsite.made import ROOT, table

_FILLED = re.compile(r"\$\{([\w.]+)\}")


def stages() -> str:
    """A row a stage: what it does, whose outputs it reads, what it is run by."""
    found = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    writers = {_path(out): name for name, stage in found.items() for out in _body(stage).get("outs", [])}
    return table(
        ["stage", "what it does", "reads the outputs of"],
        [
            [_name(name, stage), _body(stage).get("desc", ""), _before(name, stage, writers)]
            for name, stage in found.items()
        ],
    )


def _body(stage: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = stage.get("do", stage)
    return body


def _name(name: str, stage: dict[str, Any]) -> str:
    over = stage.get("foreach", "")
    return f"`{name}`" + {"": "", "${arms}": ", once an arm"}.get(over, ", once a selection of one's own")


def _path(entry: Any) -> str:
    """A path without what is filled in an arm at a time; what params.yaml fills in stands there."""
    path = str(next(iter(entry)) if isinstance(entry, dict) else entry)
    return _FILLED.sub(lambda found: _param(found[1]) or found[0], path).split("${")[0].rstrip("/.")


def _param(key: str) -> str:
    value: Any = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for name in key.split("."):
        value = value.get(name, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, str) else ""


def _before(name: str, stage: dict[str, Any], writers: dict[str, str]) -> str:
    files = (entry for entry in _body(stage).get("params", []) if isinstance(entry, dict))
    paths = map(_path, [*_body(stage).get("deps", []), *files])
    read = [path for path in paths if path.startswith("data/")]
    names = {writer for out, writer in writers.items() for path in read if _same(path, out)}
    return ", ".join(f"`{writer}`" for writer in dict.fromkeys(writers.values()) if writer in names - {name})


def _same(read: str, written: str) -> bool:
    return read == written or read.startswith(f"{written}/") or written.startswith(f"{read}/")
