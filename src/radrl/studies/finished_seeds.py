"""Finished experiments in a zip file, so that the seeds of one study may run on several machines.

It holds what a study's page is made of, tables of numbers: no report, no film, no weights, and the labels of
drawn studies alone. A difference between arms of two runs is also asked of single reports, which it lacks, so
that what they say is worked out before (`radrl.studies.claims.across_runs`): the runs of a seed go together.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from radrl.data.archives import DamagedMember, ZipMembers
from radrl.data.sources import is_drawn
from radrl.data.tables import SourceError
from radrl.params.messages import ParamsError
from radrl.params.schema import validate
from radrl.params.section_digest import stated_values
from radrl.storage import json_files
from radrl.storage.json_files import NoJson
from radrl.storage.whole_files import replacing, whole_file
from radrl.studies.claims.across_runs import KEPT
from radrl.studies.curves import HISTORIES, LABELS
from radrl.studies.execution import GIVES, PAIRS, Experiment

ABOUT: Final = "about.json"
"""Of each experiment: its commit and its parameters."""

_DATE: Final = (1980, 1, 1, 0, 0, 0)  # so that equal tables are equal bytes
_WITHOUT_RESULT: Final = ("compute.", "training.watch.rollouts")
"""Keys by which no number of a page changes: how work is shared, and rollouts to look at."""
_MOST: Final = 1 << 26  # bytes of a table


class PackError(ValueError):
    """A file of finished seeds does not fit; the message names it, the experiment and the mend."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An experiment that ran elsewhere.

    Args:
        experiment: with the folder of its tables in place of a clone.
        commit: whose code ran.
        file: that holds it.
    """

    experiment: Experiment
    commit: str
    file: Path


def pack(given: Sequence[Experiment], commit: str, path: Path, errors: pd.DataFrame | None = None) -> None:
    """Write what experiments gave.

    Args:
        given: experiments that have run.
        commit: whose code ran.
        path: the zip file, replaced when it exists.
        errors: of `radrl.studies.claims.across_runs.errors`, where a study asks what runs differ by.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for one in given:
            about = json.dumps({"commit": commit, "params": one.params}, indent=1)
            _put(file, f"{one.clone.name}/{ABOUT}", about.encode())
            for table in _tables(one):
                _put(file, f"{one.clone.name}/{table.as_posix()}", (one.clone / table).read_bytes())
            if errors is not None:
                own = errors[(errors["run"] == one.run) & (errors["seed"] == one.seed)]
                _put(file, f"{one.clone.name}/{KEPT}", own.to_csv(index=False).encode())


def unpack(given: Sequence[Experiment], path: Path, folder: Path) -> list[Finished]:
    """The experiments that a file holds, their tables laid out in a folder.

    Args:
        given: those that the study plans.
        path: the zip file.
        folder: takes a folder of tables for each.

    Returns:
        Those of `given` that it holds.

    Raises:
        PackError: it holds none of them, is damaged, or one ran with other parameters.
    """
    try:
        members = ZipMembers(path)
        found = [_laid_out(one, members, path, folder) for one in given if _held(one, members)]
    except SourceError as error:
        raise PackError(str(error)) from error
    except (DamagedMember, NoJson) as error:
        raise PackError(f"{path}: {error}; pack its seeds again") from error
    if not found:
        named = ", ".join(sorted({name.split("/")[0] for name in members.names})) or "nothing"
        raise PackError(f"{path} holds {named}, and none of the study's: {_names(given)}")
    return found


def require_once(found: Sequence[Finished]) -> None:
    """Refuse files of which two hold the same run and seed.

    Args:
        found: what the files hold.

    Raises:
        PackError: naming both.
    """
    files: dict[str, Path] = {}
    for one in found:
        first = files.setdefault(one.experiment.title, one.file)
        if first is not one.file:
            raise PackError(f"{first} and {one.file} both hold {one.experiment.title}; give one of them")


def require_whole_seeds(planned: Sequence[Experiment], found: Collection[Finished]) -> None:
    """Refuse files that hold one run of a seed and not the others, for a study that asks what runs differ by.

    Args:
        planned: the study's experiments.
        found: those that files hold.

    Raises:
        PackError: naming the seed, or a file without what it needs.
    """
    files = {one.experiment.title: one.file for one in found}
    for one in found:
        if not (one.experiment.clone / KEPT).is_file():
            raise PackError(f"{one.file} lacks {KEPT}, which a newer release writes: run its seeds here")
        other = next(
            (own for own in planned if own.seed == one.experiment.seed and files.get(own.title) != one.file),
            None,
        )
        if other is not None:
            raise PackError(
                f"{one.file} holds {one.experiment.title}, and not {other.title}: the study asks what "
                "runs of a seed differ by, so that they run on one machine"
            )


def by_commit(given: Collection[Finished]) -> dict[str, list[str]]:
    """The titles of experiments by the commit whose code ran."""
    found: dict[str, list[str]] = {}
    for one in given:
        found.setdefault(one.commit, []).append(one.experiment.title)
    return found


def _names(given: Sequence[Experiment]) -> str:
    return ", ".join(one.clone.name for one in given)


def _held(one: Experiment, members: ZipMembers) -> bool:
    return f"{one.clone.name}/{ABOUT}" in members.names


def _laid_out(one: Experiment, members: ZipMembers, path: Path, folder: Path) -> Finished:
    name = one.clone.name
    about = _about(members, name)
    if keys := _differing(_stated(about["params"], f"{path}: {one.title}"), _stated(one.params, one.title)):
        raise PackError(
            f"{path}: {one.title} ran with other parameters ({', '.join(keys[:4])}); take a file of this "
            "study as it is now, or run that seed here"
        )
    with replacing(folder / name) as target:
        for table in _listed(members, name):
            (target / table).parent.mkdir(parents=True, exist_ok=True)
            (target / table).write_bytes(_whole(members, f"{name}/{table.as_posix()}"))
    return Finished(replace(one, clone=folder / name), about["commit"], path)


def _about(members: ZipMembers, name: str) -> dict[str, Any]:
    about = json_files.parsed(_whole(members, f"{name}/{ABOUT}"))
    if not isinstance(about, dict) or not isinstance(about.get("params"), dict) or "commit" not in about:
        raise NoJson(f"{name}/{ABOUT} does not say commit and params")
    return about


def _whole(members: ZipMembers, member: str) -> bytes:
    """A member, which may not be larger than a table of numbers is."""
    content = members.read(member, _MOST + 1)
    if len(content) > _MOST:
        raise DamagedMember(f"{member} has more than {_MOST >> 20} MiB")
    return content


def _listed(members: ZipMembers, name: str) -> Iterator[Path]:
    """The tables of an experiment, no other path, whatever the file's members are called."""
    for member in members.names:
        table = Path(member).relative_to(name) if member.startswith(f"{name}/") else Path()
        if ".." not in table.parts and table.suffix in {".csv", ".parquet"}:
            yield table


def _stated(params: Mapping[str, Any], source: str) -> dict[str, Any]:
    """What results depend on, by dotted key; a new key at what was so before it is none."""
    try:
        stated = stated_values(validate(dict(params), source=source))
    except ParamsError as error:
        raise PackError(f"{error}\nThese are not of this release's parameters; run that seed here") from error
    return {key: value for key, value in stated.items() if not key.startswith(_WITHOUT_RESULT)}


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys under which two mappings differ, in the order of their names."""
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


def _tables(one: Experiment) -> Iterator[Path]:
    """What of an experiment's outputs its page reads."""
    histories = sorted((one.clone / HISTORIES).glob("*.csv"))
    labels = [LABELS] if is_drawn(one.params["ingest"]) else []  # of single studies; those of patients stay
    wanted = [*GIVES[one.stage], PAIRS, *labels, *(file.relative_to(one.clone) for file in histories)]
    yield from (table for table in wanted if (one.clone / table).is_file())


def _put(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    file.writestr(entry, content)
