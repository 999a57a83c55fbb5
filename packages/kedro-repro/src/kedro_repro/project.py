"""What a project says of itself: the table `tool.kedro-repro` of its pyproject.toml, or a class named there.

The table is enough where a stage is a pipeline, or one for each namespace. What takes code to say, such as
which modules a parameter stands for, is said by a subclass of `Project`, which the table names by its import
path: ``project = "my_package.stages:MyProject"``.
"""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, NamedTuple

from kedro_repro.imported_modules import folders
from kedro_repro.params_values import MISSING, value

Params = Mapping[str, Any]

_TABLE: Final = "kedro-repro"
_KEYS: Final = frozenset(
    {
        "project",
        "around",
        "run-command",
        "dvc-yaml",
        "program",
        "module",
        "packages",
        "stages",
        "code",
        "fork-server",
        "group-variable",
        "mlflow",
        "kept",
    }
)


class ProjectError(ValueError):
    """What a project says of itself cannot be; the message names file, key and the mend."""


class NamedCode(NamedTuple):
    """Code that a parameter names.

    Args:
        module: the full name of the module that holds it.
        said: what of the parameter decides how it is called; a part of the stage's digest.
    """

    module: str
    said: str


class Project:
    """A Kedro project that DVC reproduces.

    Args:
        root: its folder.
        document: its pyproject.toml, read.

    Attributes:
        package: the project's own, empty where pyproject.toml names none.
        source: the folder that holds it.
        program: what people type and dvc.yaml calls, such as ``kedro repro``.
        around: import path of the class that says what is done before and after stages run.
        kept: what a failed stage leaves behind, for the message.
        mlflow: where runs are recorded in MLflow; nothing where they are not.
        run_command: what runs them, behind the program's name.
        dvc_yaml: import path of the class that writes dvc.yaml.
        module: what Python runs for it (`python -m`), in a quicker way than Kedro's own command.
        packages: names at the top whose modules count as code, the project's own and what it says beside.
        run_by_path: by module the package whose modules it runs by their path, which no import shows.
        left_out: modules that are read as tables and are no code.
        lazy_packages: by package the module whose names it hands on once they are asked for.
        group_variable: the environment's variable with the name of what stages are started for.
        fork_server: what is imported once for all stages: ``prepare``, ``modules`` and ``attributes``.
    """

    def __init__(self, root: Path, document: Mapping[str, Any]) -> None:
        tool = document.get("tool", {})
        own: dict[str, Any] = tool.get(_TABLE, {})
        if unknown := own.keys() - _KEYS:
            raise ProjectError(
                f"{root / 'pyproject.toml'}: [tool.{_TABLE}] knows no {', '.join(sorted(unknown))}; it takes "
                f"{', '.join(sorted(_KEYS))}"
            )
        kedro = tool.get("kedro", {})
        code = own.get("code", {})
        self.root = root
        self.package = str(kedro.get("package_name", ""))
        self.source = root / kedro.get("source_dir", "src")
        self.program = str(own.get("program", "kedro repro"))
        self.dvc_yaml = str(own.get("dvc-yaml", "kedro_repro.dvc_yaml:DvcYaml"))
        self.around = str(own.get("around", "kedro_repro.reproduce:Around"))
        self.kept = str(own.get("kept", "finished stages are kept"))
        self.mlflow: Mapping[str, Any] | None = own.get("mlflow")
        self.run_command = str(own.get("run-command", "run"))
        self.module = str(own.get("module", "kedro_repro"))
        self.packages = {*filter(None, [self.package]), *own.get("packages", ())}
        self.run_by_path: Mapping[str, str] = code.get("run-by-path", {})
        self.left_out: Collection[str] = code.get("left-out", ())
        self.lazy_packages: Mapping[str, str] = code.get("lazy-packages", {})
        self.group_variable = str(own.get("group-variable", "KEDRO_REPRO_GROUP"))
        self.fork_server: Mapping[str, Any] = own.get("fork-server", {})
        self.stages: Mapping[str, Mapping[str, Any]] = own.get("stages") or {
            name: {} for name in self._found()
        }

    def _found(self) -> Iterator[str]:
        """The pipelines that Kedro's own `find_pipelines` would find, none of them imported."""
        folder = self.source.joinpath(*self.package.split("."), "pipelines")
        if self.package and folder.is_dir():
            yield from sorted(module.name for module in iter_modules([str(folder)]))

    def keys(self, params: Params) -> dict[str, list[str]]:
        """The names for which each stage runs that runs for several, such as the arms of a comparison.

        Args:
            params: params.yaml.
        """
        found = {}
        for stage, said in self.stages.items():
            if key := said.get("foreach"):
                each = value(params, key)
                found[stage] = [str(name) for name in (() if each is MISSING else each or ())]
        return found

    def once(self) -> list[str]:
        """The stages that run once."""
        return [stage for stage, said in self.stages.items() if not said.get("foreach")]

    def code_modules(self, stage: str) -> list[str]:
        """The modules that a stage's code starts from: its pipeline's package, and what its entry names.

        Raises:
            ProjectError: when pyproject.toml names no package.
        """
        if not self.package:
            raise ProjectError(f"{self.root / 'pyproject.toml'} names no package: [tool.kedro] package_name")
        return [
            *self.modules_of(f"{self.package}.pipelines.{stage}"),
            *self.stages.get(stage, {}).get("code", ()),
        ]

    def modules_of(self, package: str) -> list[str]:
        """A package of the project and the modules in its folder."""
        return [package, *(f"{package}.{module.name}" for module in iter_modules(folders(package)))]

    def named_code(self, stage: str, params: Params, key: str | None = None) -> list[NamedCode]:
        """The code that parameters name for a stage, none of it imported; each once, in a fixed order.

        Args:
            stage: its name.
            params: params.yaml.
            key: the one of several that the stage runs for.

        Returns:
            By default what the values of the entry's ``named`` keys say, as import paths.
        """
        paths = [value(params, said.replace("{key}", key or "")) for said in self._named(stage)]
        return sorted({NamedCode(_module(path), path) for path in paths if isinstance(path, str) and path})

    def _named(self, stage: str) -> Iterable[str]:
        named: list[str] = list(self.stages.get(stage, {}).get("named", ()))
        return named

    def values(self, text: str) -> Params:
        """What a text of params.yaml says as Kedro hands it to nodes.

        Args:
            text: of the file; by default read by OmegaConf, for which ``1e-5`` is a number.
        """
        from omegaconf import OmegaConf

        read: Any = OmegaConf.to_container(OmegaConf.create(text))
        return dict(read)

    def asked_by_name(self) -> Iterable[str]:
        """Modules that code of others may be handed by name, where it imports a lazy package."""
        return ()

    def may_fork(self, params: Params) -> bool:
        """Whether stages may be forked off a process that has imported what they need.

        By default where the table has a section ``fork-server``. A process that has touched an accelerator
        must not be forked, and commands that are not Kedro's do not end with a server that is killed.

        Args:
            params: params.yaml.
        """
        return bool(self.fork_server)

    def code_command(self) -> str:
        """What dvc.yaml calls first of all."""
        return f"{self.program} code"

    def code_program(self, *options: str) -> list[str]:
        """The same, by this Python."""
        return [sys.executable, "-m", self.module, *shlex.split(self.code_command())[-1:], *options]


def load(root: Path, *, with_class: bool = True) -> Project:
    """What a project says of itself.

    Args:
        root: its folder; one without pyproject.toml has stages of DVC's alone.
        with_class: import the class that the table names; without it the table alone is read.

    Raises:
        ProjectError: naming what is wrong with the table.
    """
    file = root / "pyproject.toml"
    return _load(root, file.read_text(encoding="utf-8") if file.is_file() else "", with_class)


@cache
def _load(root: Path, text: str, with_class: bool) -> Project:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(f"{root / 'pyproject.toml'} is no valid TOML: {error}") from None
    path = document.get("tool", {}).get(_TABLE, {}).get("project")
    if not path or not with_class:
        return Project(root, document)
    module, _, name = str(path).partition(":")
    try:
        made: Project = getattr(import_module(module), name)(root, document)
    except (ImportError, AttributeError) as error:
        raise ProjectError(
            f"{root / 'pyproject.toml'}: [tool.{_TABLE}] names {path!r}, which cannot be imported ({error}); "
            "write module:Class, importable where the project's own package is"
        ) from error
    return made


def _module(path: str) -> str:
    """The module of an import path, ``package.module:Name`` or ``package.module.Name``."""
    module, colon, _ = path.partition(":")
    return module if colon else path.rpartition(".")[0]
