"""What a stage was started with: its parameters and its code, which DVC writes down only when it ends.

DVC reads parameters before it decides to run a stage, and again for dvc.lock when the stage is done. What was
changed in between would stand there as what ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from radrl.provenance.code import CODE_FILE, digest_of, split
from radrl.storage import yaml_files

PARAMS_FILE = Path("params.yaml")
MISSING = object()


class ChangedMeanwhile(RuntimeError):
    """Parameters or code are not what they were when the stage began; the message names them and the mend."""


@dataclass(frozen=True, slots=True)
class Started:
    """A stage that runs.

    Args:
        root: the project's folder.
        stage: its name as DVC has it, such as ``train@grpo``.
        params: params.yaml as the stage began.
        keys: those of them that the stage computes with, dots between levels.
        digest: of its code as it began.
    """

    root: Path
    stage: str
    params: Mapping[str, Any]
    keys: Sequence[str]
    digest: str

    def require_unchanged(self) -> None:
        """Refuse to go on where DVC would record what did not run.

        Raises:
            ChangedMeanwhile: naming the keys that differ by now, or the stage whose code does.
        """
        now = read_params(self.root)
        other = [key for key in self.keys if value(now, key) != value(self.params, key)]
        if other:
            raise ChangedMeanwhile(
                f"params.yaml was changed while {self.stage} ran: {', '.join(other)}. The stage computed "
                "with the values it began with, so its outputs are not recorded; put them back, or let it "
                "run again with the new ones: `dvc repro`"
            )
        if {recorded_digest(self.root, self.stage), _digest(self.root, self.stage, now)} != {self.digest}:
            raise ChangedMeanwhile(
                f"the code of {self.stage} was changed while it ran, so its outputs are not recorded; run it "
                f"again: `dvc repro` (`radrl code {self.stage}` lists the files)"
            )


def start(root: Path, stage: str, params: Mapping[str, Any], keys: Sequence[str]) -> Started:
    """Note what a stage begins with.

    Args:
        root: the project's folder.
        stage: its name as DVC has it.
        params: params.yaml as it was before anything was read from it.
        keys: those that the stage computes with, dots between levels.

    Returns:
        What can be compared at the end.

    Raises:
        ChangedMeanwhile: when the code is not what DVC compared before it started the stage.
    """
    digest = _digest(root, stage, params)
    if recorded_digest(root, stage) != digest:
        raise ChangedMeanwhile(
            f"the code of {stage} is not what {CODE_FILE} says: it was changed after DVC looked, or the "
            "stage was started alone; run `dvc repro`, which looks again first"
        )
    return Started(root, stage, params, keys, digest)


def read_params(root: Path) -> dict[str, Any]:
    """params.yaml as it stands."""
    read: dict[str, Any] = yaml_files.read(root / PARAMS_FILE)
    return read


def value(params: Mapping[str, Any], key: str) -> Any:
    """What stands under a key with dots between levels; `MISSING` where there is no such key.

    Example:
        >>> value({"policy": {"dtype": "float32"}}, "policy.dtype")
        'float32'
    """
    found: Any = params
    for part in key.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return MISSING
        found = found[part]
    return found


def recorded_digest(root: Path, stage: str) -> Any:
    """A stage's digest as the stage `code` wrote it; `MISSING` where there is none."""
    file = root / CODE_FILE
    digests = yaml_files.read(file) if file.is_file() else {}
    return value(digests, stage.replace("@", "."))


def _digest(root: Path, stage: str, params: Mapping[str, Any]) -> str:
    name, key = split(stage)
    return digest_of(name, params, key)
