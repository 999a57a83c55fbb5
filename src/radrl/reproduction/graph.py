"""Which stages DVC has, what each of them waits for, and which are out of date."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from radrl.parts.choices import hint
from radrl.process.ending import end_with_parent
from radrl.process.programs import DVC, environment, with_mend
from radrl.provenance import dvc_lock
from radrl.provenance.code import CODE_FILE
from radrl.provenance.values import value
from radrl.storage import yaml_files

Graph = dict[str, set[str]]
"""By stage, the stages whose outputs it reads."""

CODE: Final = "code"
"""The stage that always runs: it digests what the others' code does."""

_ALWAYS: Final = ["always changed"]
"""What DVC says of it."""

_STAGE: Final = re.compile(r'"([^"]+)";')
_EDGE: Final = re.compile(r'"([^"]+)" -> "([^"]+)";')


class DvcError(RuntimeError):
    """DVC refused; the message holds what it said."""


def stages(root: Path, targets: Sequence[str] = ()) -> Graph:
    """The project's stages as DVC sees them.

    Args:
        root: the project's folder.
        targets: stages; with some, those and what they need.

    Returns:
        By stage, those that come before it.

    Raises:
        DvcError: when there is no such stage, or dvc.yaml is broken.
    """
    if not targets:
        return read_dot(said_by_dvc(root, "dag", "--dot"))
    found: Graph = {}
    for target in targets:
        try:
            found |= read_dot(said_by_dvc(root, "dag", "--dot", target))
        except DvcError as error:
            every = read_dot(said_by_dvc(root, "dag", "--dot"))
            if target in every:
                raise
            raise DvcError(f"{target!r} is no stage{hint(target, every, 'Stages')}") from error
    return found


def read_dot(drawing: str) -> Graph:
    """Stages and what they wait for.

    Args:
        drawing: what `dvc dag --dot` prints: a line a stage, then a line an arrow.

    Returns:
        By stage, those that come before it.

    Example:
        >>> print(read_dot(chr(10).join(['"a";', '"b";', '"a" -> "b";'])))
        {'a': set(), 'b': {'a'}}
    """
    lines = [line.strip() for line in drawing.splitlines()]
    graph: Graph = {found[1]: set() for line in lines if (found := _STAGE.fullmatch(line))}
    for line in lines:
        if found := _EDGE.fullmatch(line):
            graph[found[2]].add(found[1])
    return graph


def out_of_date(root: Path, graph: Mapping[str, Collection[str]]) -> set[str]:
    """The stages that have to be looked at: what changed, and all that comes after it.

    Args:
        root: the project's folder.
        graph: of `stages`.

    Returns:
        Names of stages; DVC may still find that one of them reads the same as before.

    Raises:
        DvcError: when DVC refuses, because dvc.yaml or dvc.lock is broken or another command holds its lock;
            or when a part that params.yaml names cannot be found.
    """
    if CODE in graph:
        digest_code(root)
    found = set(changed(said_by_dvc(root, "status", "--json"))) & set(graph)
    # of the digests that `code` writes each stage reads its own, which DVC has compared
    chosen = with_followers(graph, found - {CODE})
    return chosen | ({CODE} & set(graph) if chosen or CODE in found else set())


def would_run(root: Path, graph: Mapping[str, Collection[str]], untrue: Collection[str] = ()) -> set[str]:
    """As `out_of_date`, and no file of the project is changed.

    Args:
        root: the project's folder.
        graph: of `stages`.
        untrue: stages whose entries of dvc.lock do not count.

    Returns:
        Names of stages.

    Raises:
        DvcError: as `out_of_date`.
    """
    reasons = changed(said_by_dvc(root, "status", "--json"))
    found = {stage for stage, why in reasons.items() if any(map(_beside_digests, why))} | set(untrue)
    if CODE not in graph:
        return with_followers(graph, found & set(graph))
    text = printed_digests(root)
    fresh, entries = yaml_files.load(text), _entries(root)
    found |= {stage for stage, entry in entries.items() if _other_digest(entry, fresh)}
    chosen = with_followers(graph, (found & set(graph)) - {CODE})
    return chosen | ({CODE} if chosen or not _wrote(entries.get(CODE, {}), text) else set())


def _beside_digests(why: Any) -> bool:
    """Whether something DVC says has changed is more than the digests, which it reads as last written."""
    if not isinstance(why, Mapping):
        return bool(why not in _ALWAYS)
    return any(
        set(paths) - {str(CODE_FILE)} if isinstance(paths, Mapping) else True for paths in why.values()
    )


def _entries(root: Path) -> dict[str, Any]:
    """What dvc.lock says, by stage."""
    file = root / dvc_lock.LOCK_FILE
    read = yaml_files.load(file.read_text(encoding="utf-8")) if file.is_file() else None
    return dict((read or {}).get("stages", {}))


def _other_digest(entry: Mapping[str, Any], fresh: Mapping[str, Any]) -> bool:
    told = entry.get("params", {}).get(str(CODE_FILE), {})
    return any(value(fresh, key) != digest for key, digest in told.items())


def _wrote(entry: Mapping[str, Any], text: str) -> bool:
    """Whether the stage that writes the digests wrote this."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return any(out.get("md5") == digest for out in entry.get("outs", []))


def printed_digests(root: Path) -> str:
    """What `digest_code` would write.

    Raises:
        DvcError: with what the command said.
    """
    return _said([sys.executable, "-m", "radrl.commands", CODE, "--print"], root)


def digest_code(root: Path) -> None:
    """Write the digests of what each stage's code does, which DVC compares; see `radrl.commands.code`.

    Raises:
        DvcError: with what the command said.
    """
    _said([sys.executable, "-m", "radrl.commands", CODE], root)


def changed(status: str) -> dict[str, Any]:
    """What DVC says has changed.

    Args:
        status: what `dvc status --json` prints.

    Returns:
        By stage why, without stages that run always, whether or not anything has.

    Example:
        >>> changed('{"code": ["always changed"], "label": [{"changed deps": {"corpus": "modified"}}]}')
        {'label': [{'changed deps': {'corpus': 'modified'}}]}
    """
    return {stage: why for stage, why in json.loads(status or "{}").items() if why != _ALWAYS}


def with_followers(graph: Mapping[str, Collection[str]], changed: Collection[str]) -> set[str]:
    """Stages and all that comes after them.

    Args:
        graph: by stage, those before it.
        changed: some of its stages.

    Returns:
        Those and every stage that waits for one of them.

    Example:
        >>> sorted(with_followers({"a": [], "b": ["a"], "c": ["b"], "d": []}, {"b"}))
        ['b', 'c']
    """
    found = set(changed)
    while more := {stage for stage, before in graph.items() if stage not in found and found & set(before)}:
        found |= more
    return found


@cache
def cache_folder(root: Path) -> Path:
    """DVC's cache of a project, its own or one that it shares.

    Args:
        root: the project's folder.

    Raises:
        DvcError: when DVC's configuration is broken.
    """
    return root / said_by_dvc(root, "cache", "dir").strip()


def said_by_dvc(root: Path, *arguments: str) -> str:
    """What DVC prints for a command.

    Raises:
        DvcError: when it refuses.
    """
    return _said([*DVC, *arguments], root)


def _said(command: Sequence[str], root: Path) -> str:
    done = subprocess.run(
        command,
        cwd=root,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        preexec_fn=partial(end_with_parent, os.getpid()),
    )
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise DvcError(with_mend(said.removeprefix("ERROR: ").removeprefix("Error: ")))
    return done.stdout
