"""What each stage of a run costs and where it ran, noted where it ran and told beside the comparison page.

CPU seconds are `kedro_repro.cpu_seconds`'. Of where a stage last ran here there is a file a stage: commit,
machine, releases and minutes of the clock. Neither is an output of DVC, and no stage reads them: they differ
from run to run, and a stage that is restored from the cache keeps what was noted when it ran here. A training
that was killed has its last part alone.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline.node import Node

from kedro_repro import cpu_seconds
from kedro_repro.code_digests import split, stages
from kedro_repro.cpu_seconds import minutes
from kedro_repro.project import load
from kedro_repro.tracking.git_identity import identity
from kedro_repro.tracking.machine import hardware
from radrl.pages.page import environment
from radrl.pages.tables import spans
from radrl.pipelines.stages import LAST
from radrl.storage import json_files
from radrl.storage.whole_files import whole_file
from radrl.wiring.hooks import PAGE, stage_of

ORIGINS: Final = Path("08_reporting/origins")
"""Where the notes of where stages ran lie, from the folder of all data."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a stage ran.

    Args:
        commit: of the code, "+" behind it where tracked files had changed; empty outside git.
        machine: processor, cores, memory and, where torch computed on one, the accelerator.
        releases: of Python and of the packages that decide numbers, by name.
        minutes: of the clock; nothing of a stage that is running.
    """

    commit: str
    machine: str
    releases: Mapping[str, str] = field(default_factory=dict)
    minutes: float | None = None


def note_origin(folder: Path, stage: str, origin: Origin) -> None:
    """Write down where a stage ran.

    Args:
        folder: of all stages.
        stage: its name as DVC has it, such as ``train@grpo``.
        origin: with its minutes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / f"{stage}.json") as stream:
        stream.write(json.dumps(asdict(origin), indent=2).encode())


def read_origins(folder: Path) -> dict[str, Origin]:
    """What is known of all stages.

    Args:
        folder: of all stages.

    Returns:
        By stage, in the order of names.
    """
    return {file.stem: _noted_origin(file) for file in sorted(folder.glob("*.json"))}


def _noted_origin(file: Path) -> Origin:
    mend = "remove it: it is written anew when the stage runs"
    match json_files.read(file, mend=mend):
        case {
            "commit": str(),
            "machine": str(),
            "releases": dict(),
            "minutes": int() | float() | None,
        } as commit_in_words:
            return Origin(**{name: commit_in_words[name] for name in Origin.__slots__})
    raise json_files.NoJson(f"{file} does not say where a stage ran; {mend}")


RELEASES: Final = ("radrl", "torch", "transformers", "trl", "numpy")
"""Packages whose release can change numbers."""

_DIGITS: Final = 10


def here(root: Path) -> Origin:
    """Where this process runs.

    Args:
        root: the project, whose commit is told; DVC's lock, which a run writes itself, is no change.
    """
    return Origin(_commit(root), _machine(hardware()), _releases())


def _commit(root: Path) -> str:
    try:
        known = identity(root)
    except FileNotFoundError:  # no git on PATH
        return ""
    commit = known["git.commit"][:_DIGITS]
    return f"{commit}+" if commit and known["git.dirty"] == "true" else commit


def _machine(known: dict[str, str]) -> str:
    cores = known["hardware.cores"]
    parts = [
        known["hardware.processor"],
        f"{cores} core{'' if cores == '1' else 's'}",
        known["hardware.memory"],
        known["hardware.accelerator"],
    ]
    return ", ".join(part for part in parts if part)


def _releases() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in RELEASES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


UNKNOWN: Final = "not recorded"

FACTS, TRAINING = "run", "run-training"
"""Elements of the page that the notes take the place of."""

_FACTS: Final = """\
{% for what, said in facts.items() %}
<div class="made"><dt>{{ what }}</dt><dd>{{ said }}</dd></div>
{% endfor %}"""

_TRAINING: Final = """\
<div class="scroll" tabindex="0" role="region" aria-label="What training took on this machine"><table>
<thead><tr><th scope="col">Arm</th><th scope="col">Minutes</th><th scope="col">CPU minutes</th>\
<th scope="col">Commit</th></tr></thead>
<tbody>
{% for cells in rows %}
<tr><th scope="row">{{ cells[0] }}</th>{% for cell in cells[1:] %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>"""


def slots(
    arms: Mapping[str, Any], cpu_seconds: Mapping[str, float], origins: Mapping[str, Origin]
) -> dict[str, str]:
    """What takes the place of the page's elements.

    Args:
        arms: the section `arms`.
        cpu_seconds: by stage before the comparison, as far as it was noted.
        origins: by stage likewise, and that of the comparison itself.

    Returns:
        HTML by the element's id, of `radrl.pages.run_notes.write`.
    """
    trained = [arm for arm, own in arms.items() if own.get("reward")]
    return {
        FACTS: _render(_FACTS, facts=facts(trained, cpu_seconds, origins)),
        TRAINING: _render(_TRAINING, rows=rows(trained, cpu_seconds, origins)),
    }


def facts(
    trained: Sequence[str], cpu_seconds: Mapping[str, float], origins: Mapping[str, Origin]
) -> dict[str, str]:
    """The lines of the header.

    Args:
        trained: names of the arms that train.
        cpu_seconds: by stage before the comparison.
        origins: by stage.

    Returns:
        By what they are, in words.
    """
    here = origins.get(LAST)
    known = [origins.get(f"train@{arm}") for arm in trained]
    took = [origin.minutes for origin in known if origin and origin.minutes is not None]
    told = {
        "Commit": commit_in_words(here.commit) if here else UNKNOWN,
        "Releases": ", ".join(f"{name} {own}" for name, own in here.releases.items()) if here else UNKNOWN,
        "Machine": here.machine if here else UNKNOWN,
        "CPU minutes of the stages before this page, when each last ran here": cost(cpu_seconds),
    }
    if trained:
        told |= {
            "Arms trained at": listed(commit_in_words(origin.commit) if origin else "" for origin in known),
            "Arms trained on": listed(origin.machine if origin else "" for origin in known),
            "Wall time of an arm’s training": f"{spans(took, '.1f')} minutes" if took else UNKNOWN,
        }
    return told


def rows(
    trained: Sequence[str], cpu_seconds: Mapping[str, float], origins: Mapping[str, Origin]
) -> list[list[str]]:
    """What each training took here: arm, minutes, CPU minutes and commit.

    Args:
        trained: names of the arms that train.
        cpu_seconds: by stage before the comparison.
        origins: by stage.
    """
    found = []
    for arm in trained:
        origin, cpu = origins.get(f"train@{arm}"), cpu_seconds.get(f"train@{arm}")
        clock = origin.minutes if origin else None
        numbers = [clock, None if cpu is None else cpu / 60]
        commit = commit_in_words(origin.commit) if origin else UNKNOWN
        found.append([arm, *(UNKNOWN if own is None else f"{own:.1f}" for own in numbers), commit])
    return found


def cost(cpu_seconds: Mapping[str, float]) -> str:
    """CPU minutes in all and by group of stages, the most first.

    Example:
        >>> cost({"label": 30.0, "train@deer": 60.0, "train@grpo": 90.0})
        '3.0: train 2.5, label 0.5'
    """
    groups = minutes(cpu_seconds)
    parts = ", ".join(f"{stage} {own:.1f}" for stage, own in groups.items())
    return f"{sum(groups.values()):.1f}: {parts}" if groups else UNKNOWN


def commit_in_words(commit: str) -> str:
    """A commit in words.

    Args:
        commit: of `radrl.wiring.run_costs.Origin`.

    Example:
        >>> said("7fc27e5886+"), said("")
        ('7fc27e5886 with changes', 'not recorded')
    """
    return f"{commit.removesuffix('+')} with changes" if commit.endswith("+") else commit or UNKNOWN


def listed(values: Iterable[str]) -> str:
    """Each value once, in order; what is empty as `UNKNOWN`.

    Example:
        >>> listed(["a", "a", ""])
        'a; not recorded'
    """
    return "; ".join(dict.fromkeys(value or UNKNOWN for value in values))


def _render(template: str, **values: Any) -> str:
    return environment().from_string(template).render(**values)


class CpuHooks:
    """Gives each stage what the process used from its first node to that of the next stage.

    The process' start, of which all stages of a `kedro run` have need, is the first one's; of the clock's
    minutes it is not, for a process may have waited.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._minutes: dict[str, float] = {}
        self._stage, self._since, self._began = "", 0.0, 0.0

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Find the folder of this environment's data, and keep the parameters, unchecked as yet."""
        self._params = context.params
        data = Path(context.config_loader["globals"]["data"])
        self._root = Path(context.project_path)
        self._folder = self._root / data / cpu_seconds.FOLDER
        self._origins = self._root / data / ORIGINS

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Keep where the environment has the page."""
        self._page = Path(catalog[PAGE]._filepath)

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Close the account of the stage before, where this node is another one's."""
        stage = f"{stage_of(node)}@{node.namespace}" if node.namespace else stage_of(node)
        if node.outputs and stage != self._stage:  # a node that only prints belongs to what ran before it
            self._close()
            self._stage, self._began = stage, time.monotonic()

    @hook_impl(tryfirst=True)  # the record keeps a copy of the page with its notes put in
    def after_dataset_saved(self, dataset_name: str) -> None:
        """Write all accounts so far, and what they say beside the page where it is one that was saved.

        Notes of arms that params.yaml no longer lists stay where they lie, and are not told.
        """
        if dataset_name != PAGE:
            return
        from radrl.pages import run_notes

        self._write()
        there = {*stages(load(self._root), self._params)}
        cpu, ran = cpu_seconds.read(self._folder), read_origins(self._origins)
        known = {name: own for name, own in ran.items() if _told(name, there)} | {LAST: here(self._root)}
        spent = {name: own for name, own in cpu.items() if _told(name, there)}
        run_notes.write(self._page, slots(self._params["arms"], spent, known))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the last account, and write all of them."""
        self._write()

    def _write(self) -> None:
        self._close()
        origin = here(self._root)
        for stage, seconds in self._seconds.items():
            cpu_seconds.note(self._folder, stage, {cpu_seconds.OWN: seconds})
            note_origin(self._origins, stage, replace(origin, minutes=round(self._minutes[stage], 2)))

    def _close(self) -> None:
        if self._stage:
            cpu, clock = cpu_seconds.used(), time.monotonic()
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + cpu - self._since
            past = (clock - self._began) / 60
            self._minutes[self._stage] = self._minutes.get(self._stage, 0.0) + past
            self._since, self._began = cpu, clock


def _told(stage: str, there: Collection[str]) -> bool:
    """Whether the comparison is told of a stage: not of itself, and of an arm's while there is the arm."""
    return stage != LAST and (stage in there or not split(stage)[1])
