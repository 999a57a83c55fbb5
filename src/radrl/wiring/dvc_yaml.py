"""What dvc.yaml says of radrl's stages beside its pipelines and catalog: where an arm starts, which subset.

A stage that runs for each arm is one pipeline here, not yet under an arm's name: where it reads the policy it
starts from and its subset is said by the arm's entry of params.yaml, which DVC fills in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml
from kedro.pipeline import Pipeline

from kedro_repro.dvc_yaml import PARAMS, DvcYaml, Files, Inline, Line
from radrl.pipelines.stages import LAST, PER_ARM, PER_SELECTION, wiring_of
from radrl.wiring.hooks import COMPUTE, OBSERVERS, STEP_REPORT
from radrl.wiring.selected import SELECTED

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
        return self._entry_of(name)["type"] not in ("MemoryDataset", "radrl.wiring.datasets.Workspace")

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
