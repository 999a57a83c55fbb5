"""Write dvc.yaml from what it has to agree with: the Kedro pipelines and the catalog.

A stage is a pipeline, or one for each namespace. It depends on the artifacts its pipeline reads, on the
parameters its nodes take, and on what its code does (the first stage writes a digest of it); its outs are
what its pipeline writes. Wiring (catalog, hooks, registry) is no dependency: it decides where things are, not
what they are.

What DVC takes a file for is said in the catalog: ``metadata: {dvc: metrics}``, or ``plots``, and options of
DVC's as ``metadata: {options: {cache: false}}``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from kedro_repro.code_digests import CODE_FILE
from kedro_repro.params_values import read_params, value
from kedro_repro.project import Project, ProjectError
from kedro_repro.whole_file import whole_file

if TYPE_CHECKING:
    from kedro.pipeline import Pipeline

PARAMS: Final = "params:"


class Files(NamedTuple):
    """What a stage reads and writes, in DVC's terms: ``${key}`` stands for the one of several it runs for.

    Args:
        reads: paths.
        writes: by path the catalog's entry.
        params: keys of params.yaml.
    """

    reads: set[str]
    writes: Mapping[str, Mapping[str, Any]]
    params: list[str]


class Inline(list[Any]):
    """A list that is written in one line."""


class Line(dict[str, Any]):
    """A mapping that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes names in one line and paths one a line."""


_Dumper.add_representer(
    Inline, lambda dumper, names: dumper.represent_sequence("tag:yaml.org,2002:seq", names, flow_style=True)
)
_Dumper.add_representer(
    Line, lambda dumper, pairs: dumper.represent_mapping("tag:yaml.org,2002:map", pairs, flow_style=True)
)


class DvcYaml:
    """A project's dvc.yaml; a subclass says what the registered pipelines and the catalog do not.

    Args:
        project: whose it is; its package is importable, and Kedro is configured for it.
    """

    def __init__(self, project: Project) -> None:
        self.project = project

    @property
    def header(self) -> str:
        """The comment that begins the file."""
        return (
            f"# Written by `{self.project.program} stages` from the Kedro pipelines and the catalog.\n"
            "# A stage runs again when what it reads, its parameters or what its code does has changed\n"
            f"# (`{self.project.code_command()} STAGE` lists the files that are its code).\n"
        )

    def document(self) -> dict[str, Any]:
        """All of dvc.yaml."""
        return {"stages": self.stages()}

    def stages(self) -> dict[str, Any]:
        """The stages by name, the one that digests code first."""
        return {"code": self._code()} | {name: self._stage(name) for name in self.project.stages}

    def text(self) -> str:
        """dvc.yaml as it should be written."""
        document = self.document()
        written = yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=200)
        described, begin, named = written.partition("artifacts:\n")
        described = re.sub(r"\n  (?=\w)", r"\n\n  ", described)  # a blank line before each stage
        return self.header + described + (f"\n{begin}{named}" if begin else "")

    def _code(self) -> dict[str, Any]:
        # always: what it reads are the project's modules and those of code that lies anywhere
        return {
            "desc": "what each stage's code does, as digests: always, first, in seconds",
            "cmd": self.project.code_command(),
            "always_changed": True,
            "outs": [str(CODE_FILE)],
        }

    def _stage(self, name: str) -> dict[str, Any]:
        said, files = self.project.stages[name], self.files(name)
        key = self.key(name)
        stage: dict[str, Any] = {"desc": said["desc"]} if "desc" in said else {}
        stage |= {
            "cmd": f"kedro run --pipelines={name}",
            "deps": sorted(files.reads | set(said.get("deps", []))),
            "params": Inline([*files.params, {str(CODE_FILE): [f"{name}.{key}" if key else name]}]),
        }
        if not stage["deps"]:
            del stage["deps"]
        kinds = {
            path: (entry.get("metadata") or {}).get("dvc", "outs") for path, entry in files.writes.items()
        }
        for kind in ("outs", "metrics", "plots"):
            if paths := sorted(path for path, of in kinds.items() if of == kind):
                stage[kind] = [_with_options(path, files.writes[path]) for path in paths]
        if not key:
            return stage
        stage["cmd"] += f" --namespaces={key}"
        return {"foreach": f"${{{said['foreach']}}}", "do": stage}

    def key(self, stage: str) -> str:
        """What stands in dvc.yaml for the one of several that a stage runs for; empty where it runs once."""
        if not (several := self.project.stages[stage].get("foreach")):
            return ""
        return "${key}" if isinstance(value(self._params, several), Mapping) else "${item}"

    def files(self, stage: str) -> Files:
        """What a stage reads and writes.

        Args:
            stage: its name.

        Raises:
            ProjectError: when the namespaces of a stage that runs for several do not read and write alike.
        """
        whole = self._registered[stage]
        if not (key := self.key(stage)):
            return self._files_of(whole)
        several = self.project.keys(self._params)[stage]
        found = {one: _in_place_of(one, key, self._files_of(_of_namespace(whole, one))) for one in several}
        first = next(iter(found.values()), Files(set(), {}, []))
        for one, files in found.items():
            if files != first:
                raise ProjectError(
                    f"the pipeline {stage} reads or writes something else under {one} than under "
                    f"{several[0]}: {_difference(first, files)}; give each a stage of its own, or the same "
                    "datasets under its name"
                )
        return first

    def _files_of(self, pipeline: Pipeline) -> Files:
        names = [name for name in pipeline.inputs() if not name.startswith(PARAMS) and name != "parameters"]
        reads = {str(entry["filepath"]) for name in names if (entry := self.entry(name))}
        writes = {
            str(entry["filepath"]): entry for name in pipeline.all_outputs() if (entry := self.entry(name))
        }
        params = sorted(name.removeprefix(PARAMS) for name in pipeline.inputs() if name.startswith(PARAMS))
        return Files(reads, writes, params)

    def entry(self, dataset: str) -> Mapping[str, Any] | None:
        """The catalog's entry of a dataset, patterns resolved; nothing of what lies in memory alone."""
        found: dict[str, Any] = self._resolver.resolve_pattern(dataset) or {}
        return found if "filepath" in found else None

    @cached_property
    def _params(self) -> Mapping[str, Any]:
        return read_params(self.project.root)

    @cached_property
    def _registered(self) -> Mapping[str, Pipeline]:
        from kedro.framework.project import pipelines

        return dict(pipelines)

    @cached_property
    def _resolver(self) -> Any:
        from kedro.framework.project import settings
        from kedro.io import CatalogConfigResolver

        loader = settings.CONFIG_LOADER_CLASS(
            conf_source=str(self.project.root / settings.CONF_SOURCE),
            **{"base_env": "base", "default_run_env": "local", **settings.CONFIG_LOADER_ARGS},
        )
        return CatalogConfigResolver(loader["catalog"])


def writer_for(project: Project) -> DvcYaml:
    """What writes a project's dvc.yaml: the class that its table names, or this one."""
    module, _, name = project.dvc_yaml.partition(":")
    made: DvcYaml = getattr(import_module(module), name)(project)
    return made


def write(project: Project, file: Path) -> None:
    """Write a project's dvc.yaml."""
    text = writer_for(project).text()
    with whole_file(file) as stream:
        stream.write(text.encode())


def changes(project: Project, file: Path) -> list[str]:
    """The lines in which a dvc.yaml differs from what would be written; none where it does not."""
    there = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    wanted = writer_for(project).text().splitlines()
    return [*difflib.unified_diff(there, wanted, "dvc.yaml", "wanted", lineterm="", n=0)]


def _metadata(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return entry.get("metadata") or {}


def _with_options(path: str, entry: Mapping[str, Any]) -> Any:
    options = _metadata(entry).get("options")
    return {path: options} if options else path


def _of_namespace(pipeline: Pipeline, name: str) -> Pipeline:
    return pipeline.filter(node_namespaces=[name])


def _in_place_of(one: str, key: str, files: Files) -> Files:
    """Files with a name replaced by what stands for it in dvc.yaml."""
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(one)}(?![A-Za-z0-9])")

    def put(text: str) -> str:
        return word.sub(lambda _: key, text)

    writes = {put(path): {**entry, "filepath": put(path)} for path, entry in files.writes.items()}
    return Files({put(path) for path in files.reads}, writes, sorted(map(put, files.params)))


def _difference(one: Files, other: Files) -> str:
    def names(files: Files) -> set[str]:
        return {*files.reads, *files.writes, *files.params}

    differing: Iterable[str] = sorted(names(one) ^ names(other))
    return ", ".join(differing) or "the catalog's entries"
