"""What a stage was started with: its parameters and its code, which DVC writes down only when it ends.

DVC reads parameters before it decides to run a stage, and again for dvc.lock when the stage is done. What was
changed in between would stand there as what ran.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kedro_repro.code_digests import (
    CODE_FILE,
    Digests,
    digest_of,
    recorded_digests,
    split,
    stage_code,
    write_digests,
)
from kedro_repro.dvc_lock import locked
from kedro_repro.params_values import load_yaml, params_text, read_params, value
from kedro_repro.project import Project, load

AGAIN: Final = " again"
"""Behind the digest of a stage that is to run although dvc.lock, as DVC has read it, says that it has."""


class ChangedMeanwhile(RuntimeError):
    """Parameters or code are not what they were when the stage began; the message names them and the mend."""


@dataclass(frozen=True, slots=True)
class StageStart:
    """What was there when a stage's process began, before it imported its code or read a parameter.

    Args:
        project: whose stage it is.
        stage: its name as DVC has it, such as ``train@grpo``.
        params: the text of params.yaml.
        code: time, number and size of each file of its code; empty where that could not be told.
    """

    project: Project
    stage: str
    params: str
    code: Mapping[Path, tuple[int, int, int]]

    def start(self, keys: Sequence[str], other: Collection[str] = ()) -> RunningStage:
        """Note what the stage computes with, once it has read and imported all of it.

        Args:
            keys: of params.yaml, those that the stage computes with, dots between levels.
            other: those of them whose values, as they were read, are not those that were there when it began.

        Returns:
            What can be compared at the end.

        Raises:
            ChangedMeanwhile: when parameters were changed while the stage read them, or the code is not what
                DVC compared before it started the stage.
        """
        if other:
            raise ChangedMeanwhile(
                f"{self.stage} has read other values than params.yaml had as it began: {', '.join(other)}. "
                "Either they were changed just then: start again; or conf/local changes them, of which "
                "dvc.lock knows nothing: write them in params.yaml"
            )
        params = load_yaml(self.params)
        digest = _digest(self.project, self.stage, params)
        recorded = recorded_digest(self.project.root, self.stage)
        if recorded == digest + AGAIN:
            recorded = _once(self.project, self.stage, digest)
        if recorded != digest or self.code != _stamps(self.project, self.stage, params):
            raise ChangedMeanwhile(
                f"the code of {self.stage} is not what {CODE_FILE} says: it was changed after DVC looked, or "
                "the stage was started alone; run `dvc repro`, which looks again first"
            )
        return RunningStage(self.project, self.stage, params, keys, digest)


@dataclass(frozen=True, slots=True)
class RunningStage:
    """A stage that runs.

    Args:
        project: whose stage it is.
        stage: its name as DVC has it, such as ``train@grpo``.
        params: params.yaml as the stage began.
        keys: those of them that the stage computes with, dots between levels.
        digest: of its code as it began.
    """

    project: Project
    stage: str
    params: Mapping[str, Any]
    keys: Sequence[str]
    digest: str

    def require_unchanged(self) -> None:
        """Refuse to go on where DVC would record what did not run.

        Raises:
            ChangedMeanwhile: naming the keys that differ by now, or the stage whose code does.
        """
        root = self.project.root
        now = read_params(root)
        other = [key for key in self.keys if value(now, key) != value(self.params, key)]
        if other:
            raise ChangedMeanwhile(
                f"params.yaml was changed while {self.stage} ran: {', '.join(other)}. The stage computed "
                "with the values it began with, so its outputs are not recorded; put them back, or let it "
                "run again with the new ones: `dvc repro`"
            )
        if {recorded_digest(root, self.stage), _digest(self.project, self.stage, now)} != {self.digest}:
            raise ChangedMeanwhile(
                f"the code of {self.stage} was changed while it ran, so its outputs are not recorded; run it "
                f"again: `dvc repro` (`{self.project.code_command()} {self.stage}` lists the files)"
            )


def begin(root: Path, stage: str) -> StageStart:
    """Look at what is there before a stage reads or imports any of it.

    Args:
        root: the project's folder.
        stage: its name as DVC has it.
    """
    project, text = load(root), params_text(root)
    try:
        code = _stamps(project, stage, load_yaml(text))
    except Exception:  # params.yaml is checked, and what is wrong with it said, once it can be
        code = {}
    return StageStart(project, stage, text, code)


def recorded_digest(root: Path, stage: str) -> Any:
    """A stage's digest as the stage `code` wrote it; `MISSING` where there is none."""
    return value(recorded_digests(root), stage.replace("@", "."))


def _digest(project: Project, stage: str, params: Mapping[str, Any]) -> str:
    name, key = split(stage)
    return digest_of(project, name, params, key)


def again(digests: Digests, stages: Iterable[str]) -> Digests:
    """Digests under which a DVC that read dvc.lock before an entry was taken out runs the stage all the same.

    Args:
        digests: of every stage.
        stages: those whose entries were taken out, as DVC names them; some may be there no more.

    Returns:
        The digests with a mark behind those of these stages, which each takes away when it begins.
    """
    marked: Digests = {name: dict(own) if isinstance(own, dict) else own for name, own in digests.items()}
    for name, key in map(split, stages):
        own = marked.get(name)
        if isinstance(own, dict) and key in own:
            own[key] += AGAIN
        elif isinstance(own, str) and key is None:
            marked[name] = own + AGAIN
    return marked


def _once(project: Project, stage: str, digest: str) -> str:
    """Take the mark of `again` away; the digest."""
    with locked(project.root):  # another stage may begin just now
        digests, (name, key) = recorded_digests(project.root), split(stage)
        own = digests[name]
        digests[name] = own | {key: digest} if isinstance(own, dict) and key else digest
        write_digests(project, digests)
    return digest


def _stamps(project: Project, stage: str, params: Mapping[str, Any]) -> dict[Path, tuple[int, int, int]]:
    """What tells whether a file of a stage's code was written, even where it was put back."""
    name, key = split(stage)
    found = {file: file.stat() for file in stage_code(project, name, params, key).values()}
    return {file: (stat.st_mtime_ns, stat.st_ino, stat.st_size) for file, stat in found.items()}
