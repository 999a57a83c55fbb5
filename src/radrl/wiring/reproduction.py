"""What radrl says to `kedro_repro` of itself, beside its table in pyproject.toml.

Which parts params.yaml names for a stage: their code is the stage's, that of the others is not. And what
dvc.yaml says of stages beside their pipelines and the catalog: a stage that runs for each arm is one pipeline
here, not yet under an arm's name; where it reads the policy it starts from and its subset is said by the
arm's entry of params.yaml, which DVC fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from kedro_repro.dvc_yaml import PARAMS, DvcYaml, Files, Inline, Line
from kedro_repro.params_values import PARAMS_FILE
from kedro_repro.project import NamedCode, Project
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import Part, find
from radrl.parts.kinds import KINDS
from radrl.pipelines.stages import (
    COMPUTE,
    LAST,
    OBSERVERS,
    PER_ARM,
    PER_SELECTION,
    SELECTED,
    STEP_REPORT,
    wiring_of,
)

if TYPE_CHECKING:
    from kedro.pipeline import Pipeline

Params = Mapping[str, Any]


def named_parts(stage: str, params: Params, key: str | None = None) -> list[Part]:
    """The parts that a stage works with, none of them imported.

    Args:
        stage: its name.
        params: params.yaml.
        key: the arm, or the selection of one's own, of a stage that runs for each.

    Returns:
        The parts, each once, in an order that does not hang on that of the keys.

    Raises:
        radrl.parts.find.PartError: when a part cannot be found.
    """
    parts = _NAMED[stage](params, key or "") if stage in _NAMED else iter(())
    found = {(part.kind.name, part.path): part for part in parts}
    return [found[key] for key in sorted(found)]


def _part(kind: str, name: str, section: Any, params: Params, at: str) -> Iterator[Part]:
    """A part and those that its settings name: a setting called after a kind holds the name of a part."""
    yield find(kind, name, section, key=f"{at}.{name}")
    settings = section if isinstance(section, Mapping) else {}
    for word in KINDS.keys() & settings.keys():
        named = settings[word]
        if word == "labeler":
            yield from _labeler(params, named)
        elif isinstance(named, str):
            yield find(word, named)
        elif isinstance(named, Mapping) and word == "judge":
            yield find(word, named["backend"])


def _labeler(params: Params, name: str | None = None) -> Iterator[Part]:
    own = params["labeler"]
    name = name or own["name"]
    return _part("labeler", name, own.get(name), params, "labeler")


def _parts(kind: str, sections: Any, params: Params, at: str) -> Iterator[Part]:
    """Parts by name with their settings, or one name alone, as `credit: uniform`."""
    named = {sections: None} if isinstance(sections, str) else sections or {}
    for name, section in named.items():
        if section is not None or isinstance(sections, str):
            yield from _part(kind, name, section, params, at)


def _source(params: Params, _: str) -> Iterator[Part]:
    own = params["ingest"]
    for name in dict.fromkeys([own["source"], (own.get("away") or own)["source"]]):
        yield from _part("source", name, own.get(name), params, "ingest")


def _taught(params: Params, _: str) -> Iterator[Part]:
    """The labeler that is held against what is known; the compact one and the rules that it learns from."""
    compact = ("rules", "chexbert_compact") if params["labeler"].get("compact") else ()
    for name in (params["labeler"]["name"], *compact):
        yield from _labeler(params, name)


def _train(params: Params, arm: str) -> Iterator[Part]:
    entry = params["arms"][arm]
    if entry.get("reward"):
        yield from _labeler(params)
        yield from _parts("reward", entry["reward"], params, f"arms.{arm}.reward")
        yield from _parts("credit", entry.get("credit", "uniform"), params, f"arms.{arm}.credit")


def _eval(params: Params, _: str) -> Iterator[Part]:
    own = params["eval"]
    for name in own["labelers"]:
        yield from _labeler(params, name)
    for family in own["families"]:
        yield from _part("metric", family, own.get(family), params, "eval")


def _analyses(params: Params, _: str) -> Iterator[Part]:
    yield from _labeler(params)
    for name in params["eval"]["labelers"]:
        yield from _labeler(params, name)
    yield from _parts("credit", params["analyses"]["credit"], params, "analyses.credit")


def _own_selection(params: Params, name: str) -> Iterator[Part]:
    return _part("selection", name, params["selection"]["own"][name], params, "selection.own")


_NAMED: Final[dict[str, Callable[[Params, str], Iterator[Part]]]] = {
    "ingest": _source,
    "labeler": _taught,
    "label": lambda params, _: _labeler(params),
    "ddsampling": lambda params, _: _labeler(params),
    "analyses": _analyses,
    "own_selection": _own_selection,
    "train": _train,
    "eval": _eval,
    "compare": _eval,
}
"""By stage; the others work with no part, or import theirs themselves."""


class RadrlProject(Project):
    """Parts are named in params.yaml, by a short name or an import path."""

    def named_code(self, stage: str, params: Mapping[str, Any], key: str | None = None) -> list[NamedCode]:
        """The modules of the parts that a stage works with.

        Raises:
            radrl.parts.find.PartError: when a part cannot be found.
        """
        return [
            NamedCode(part.module, f"{part.kind.name} {part.path} {part.kind.arguments} {part.kind.method}")
            for part in named_parts(stage, params, key)
        ]

    def asked_by_name(self) -> Iterable[str]:
        """The modules of all built-in parts: `radrl.rewards.get` and its like take any of their names."""
        return [path.partition(":")[0] for own in BUILTIN.values() for path in own.values()]

    def may_fork(self, params: Mapping[str, Any]) -> bool:
        """A process that has touched an accelerator must not be forked."""
        return params.get("device") == "cpu"

    def values(self, text: str) -> Mapping[str, Any]:
        """params.yaml as `radrl.settings` hands it to Kedro: paths below the user's home in full."""
        from radrl.params.file import values

        return values(text, self.root / PARAMS_FILE)


SHIPPED: Final = "conf/recipes/phantom-laptop.yaml"
_BROUGHT: Final = (STEP_REPORT, OBSERVERS, COMPUTE, SELECTED)
"""Datasets that hooks bring."""
_READ_BY: Final = ("labeler.name", "labeler.rules")
"""What labels are read by; trained labelers and settings of one's own are in the labelers' folder."""


class RadrlDvcYaml(DvcYaml):
    """radrl's dvc.yaml."""

    @property
    def header(self) -> str:
        """The comment that begins the file."""
        return """\
# The pipeline. Written by `make stages` from the Kedro pipelines and the catalog; a test holds it to them.
# STAGE@ARM runs once for each entry of `arms` in params.yaml. A stage runs again when what it reads, its
# parameters or what its code does has changed (`radrl code STAGE` lists the files that are its code).
"""

    def document(self) -> dict[str, Any]:
        """All of dvc.yaml; a params.yaml without selections of one's own need not say so."""
        return {
            "vars": [{"selection": {"own": {}}}],
            "stages": self.stages(),
            "artifacts": dict(self._policies()),
        }

    def key(self, stage: str) -> str:
        """Arms and selections are mappings, whatever params.yaml says."""
        return "${key}" if stage in (*PER_ARM, PER_SELECTION) else ""

    def files(self, stage: str) -> Files:
        """What a stage reads and writes."""
        pipeline = self._pipeline(stage)
        inputs = sorted(name for name in pipeline.inputs() if not name.startswith(PARAMS))
        reads = {self._path(name) for name in inputs if self._kept(name)}
        if stage not in PER_ARM:  # its own section says where it starts
            reads = {path.replace("${item.", f"${{{stage}.") for path in reads}
        made = sorted("subset_${key}" if name == "subset" else name for name in pipeline.all_outputs())
        writes = {self._path(name): self._entry_of(name) for name in made if self._kept(name)}
        params = sorted(
            key for name in pipeline.inputs() if name.startswith(PARAMS) for key in _keys(name, stage)
        )
        return Files(reads, writes, params)

    def _policies(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The shipped arms' policies by names, for `dvc artifacts get` and model registries."""
        path = str(self._catalog["{arm}.policy"]["filepath"])
        shipped = yaml.safe_load((self.project.root / SHIPPED).read_text(encoding="utf-8"))
        for arm in shipped["arms"]:
            yield (
                f"policy-{arm.replace('_', '-')}",  # DVC takes no underscore
                Line(
                    path=path.replace("{arm}", arm),
                    type="model",
                    desc="a shipped arm; research only",
                    labels=Inline(["policy"]),
                ),
            )

    def _kept(self, name: str) -> bool:
        if name in _BROUGHT:
            return False
        return self._entry_of(name)["type"] not in ("MemoryDataset", "radrl.datasets.Workspace")

    def _path(self, name: str) -> str:
        """Where a dataset lies, in DVC's terms: an arm's own path, or the folder that holds all arms'."""
        path = str(self._entry_of(name)["filepath"])
        if "." in name and name.startswith("{arm}"):
            path = str(Path(path[: path.index("{arm}")] + "x").parent)
        return path.replace("{arm}", "${key}")

    def _entry_of(self, name: str) -> Mapping[str, Any]:
        """The catalog's entry of a dataset, whether it is named, an arm's or a pattern's."""
        catalog = self._catalog
        if name == "start":  # base_policy or sft_policy, as the arm says
            return {**catalog["base_policy"], "filepath": self._of_start()}
        if name == "subset" or name.startswith("subset_"):
            chosen = name.removeprefix("subset_") if name != "subset" else "${item.selection}"
            entry = catalog["subset_{selection}"]
            return {**entry, "filepath": entry["filepath"].replace("{selection}", chosen)}
        found: Mapping[str, Any] | None = catalog.get(name) or catalog.get(f"{{arm}}.{name}")
        if found is None:
            raise KeyError(f"conf/base/catalog.yml knows no dataset {name!r}")
        return found

    def _of_start(self) -> str:
        paths = {start: self._catalog[f"{start}_policy"]["filepath"] for start in ("base", "sft")}
        templates = {path.replace(start, "${item.start}") for start, path in paths.items()}
        if len(templates) != 1:
            raise ValueError(f"base_policy and sft_policy must lie side by side, not at {paths}")
        return str(templates.pop())

    @cached_property
    def _catalog(self) -> dict[str, Any]:
        text = (self.project.root / "conf/base/catalog.yml").read_text(encoding="utf-8")
        catalog: dict[str, Any] = yaml.safe_load(text.replace("${globals:data}", "data"))
        return catalog

    def _pipeline(self, name: str) -> Pipeline:
        arguments = {LAST: [["{arm}"]], PER_SELECTION: ["{own}"]}.get(name, [])
        made: Pipeline = import_module(wiring_of(name)).create_pipeline(*arguments)
        return made


def _keys(name: str, stage: str) -> tuple[str, ...]:
    """The keys of params.yaml behind a node's parameter."""
    key = name.removeprefix(PARAMS)
    if key == "labeler" and stage != "labeler":
        return _READ_BY
    return ({"arm": "arms.${key}", "own_selection": "selection.own.${key}"}.get(key, key),)
