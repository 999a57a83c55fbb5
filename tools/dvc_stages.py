"""Write dvc.yaml from what it has to agree with: the Kedro pipelines, the catalog and the import graph.

    python tools/dvc_stages.py            write dvc.yaml
    python tools/dvc_stages.py --check    say what differs and exit 1 (a test does this)

A stage depends on the artifacts its pipeline reads, on every first-party module its nodes import (directly
or through others) with the data files that lie beside it (templates, word lists), and on the parameters its
nodes take; its outs are what its pipeline writes. Wiring (catalog, parameters.yml, hooks, registry) is no
dependency: it decides where things are, not what they are.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import grimp
import yaml
from kedro.pipeline import Pipeline

from radrl.pipeline_registry import ONCE, PER_ARM, PER_SELECTION

ROOT = Path(__file__).resolve().parents[1]
DVC_FILE = ROOT / "dvc.yaml"
HEADER = "# Written by `make stages` from pipelines, catalog and import graph; a test holds it to them.\n"

DESCRIPTIONS = {
    "ingest": "source -> corpus and quarantine",
    "labeler": "how far the labeler agrees with what is known apart from the texts",
    "label": "reference reports -> 14 labels",
    "policy": "the base policy: built and pretrained here, or local weights",
    "sft": "cold start",
    "rollouts": "K samples a training film",
    "ddsampling": "diversity of rollouts, ranks, the subset drawn by them",
    "selection": "the subsets that need no policy",
    "own_selection": "a subset by a selection of one's own",
    "ceilings": "labels read off the films, by a network and by probes of frozen towers",
    "analyses": "rollouts looked at: tokens masked, rewards compared, weights drawn",
    "train": "one arm's reinforcement learning",
    "generate": "one arm's reports on the split that is scored",
    "eval": "one arm's scores",
    "compare": "the table of arms, as CSV, figures and one HTML page",
}
# What a stage reads that no dataset stands for: the user's own files, the policy that is shipped.
RAW = {"ingest": ["data/01_raw"], "policy": ["data/06_models/radrl-tiny"]}
# Scripts that a module runs by their path, which no import shows.
SCRIPTS = {"radrl.scoring.isolated": "src/radrl/scoring/workers"}


def stages() -> dict[str, Any]:
    """dvc.yaml as a mapping."""
    catalog = _catalog()
    # no cache: it keeps what a module imported before the imported module was there
    graph = grimp.build_graph("radrl", cache_dir=None)
    described: dict[str, Any] = {}
    for name in ONCE:
        described[name] = _stage(name, _pipeline(name), catalog, graph)
    own = _pipeline(PER_SELECTION, "{own}")
    described[PER_SELECTION] = _foreach("selection.own", _stage(PER_SELECTION, own, catalog, graph))
    for name in PER_ARM:
        described[name] = _foreach("arms", _stage(name, _pipeline(name), catalog, graph))
    described["compare"] = _stage("compare", _pipeline("compare", ["{arm}"]), catalog, graph)
    # a params.yaml without selections of one's own need not say so
    return {"vars": [{"selection": {"own": {}}}], "stages": described}


def _foreach(key: str, stage: dict[str, Any]) -> dict[str, Any]:
    stage["cmd"] += " --namespaces=${key}"
    return {"foreach": f"${{{key}}}", "do": stage}


def text() -> str:
    """dvc.yaml as it should be written."""
    # block style throughout: DVC cannot parse ${} in a flow list
    return HEADER + yaml.safe_dump(stages(), sort_keys=False, default_flow_style=False, width=200)


def sources(name: str, graph: grimp.ImportGraph) -> list[str]:
    """Files of a stage's modules, of the first-party modules they import, and of the data beside them."""
    package = f"radrl.pipelines.{name}"
    found = graph.find_upstream_modules(package, as_package=True) | graph.find_descendants(package)
    files = {Path("src", *module.split(".")).with_suffix(".py") for module in found}
    files |= {
        script.relative_to(ROOT)
        for module, folder in SCRIPTS.items()
        if module in found
        for script in (ROOT / folder).glob("*.py")
    }
    files = {file for file in files if (ROOT / file).is_file()}
    return sorted(str(file) for file in files | {data for file in files for data in _data_beside(file)})


def _data_beside(module: Path) -> list[Path]:
    """What a module may open without importing it: the files of its package that are no Python."""
    beside = (ROOT / module).parent.iterdir()
    return [f.relative_to(ROOT) for f in beside if f.is_file() and f.suffix not in (".py", ".pyc", ".typed")]


def _stage(
    name: str, pipeline: Pipeline, catalog: dict[str, Any], graph: grimp.ImportGraph
) -> dict[str, Any]:
    inputs = sorted(i for i in pipeline.inputs() if not i.startswith("params:"))
    reads = {_path(i, catalog) for i in inputs if _kept(i, catalog)}
    if name not in PER_ARM:  # its own section says where it starts
        reads = {path.replace("${item.", f"${{{name}.") for path in reads}
    made = sorted("subset_${key}" if o == "subset" else o for o in pipeline.all_outputs())
    writes = {_path(o, catalog): _entry(o, catalog) for o in made if _kept(o, catalog)}
    kinds = {path: (entry.get("metadata") or {}).get("dvc", "outs") for path, entry in writes.items()}
    stage = {
        "desc": DESCRIPTIONS[name],
        "cmd": f"kedro run --pipelines={name}",
        "deps": sorted(reads | set(RAW.get(name, []))) + sources(name, graph),
        "params": sorted(_param(p) for p in pipeline.inputs() if p.startswith("params:")),
    }
    for kind in ("outs", "metrics", "plots"):
        paths = sorted(path for path, of in kinds.items() if of == kind)
        if paths:
            stage[kind] = [_plot(path, writes[path]) for path in paths] if kind == "plots" else paths
    return stage


def _plot(path: str, entry: dict[str, Any]) -> Any:
    options = entry["metadata"].get("plot")
    return {path: options} if options else path


def _param(name: str) -> str:
    key = name.removeprefix("params:")
    return {"arm": "arms.${key}", "own_selection": "selection.own.${key}"}.get(key, key)


def _kept(name: str, catalog: dict[str, Any]) -> bool:
    kind = _entry(name, catalog)["type"] if name != "step_report" else "MemoryDataset"
    return kind not in ("MemoryDataset", "radrl.wiring.datasets.Workspace")


def _path(name: str, catalog: dict[str, Any]) -> str:
    """Where a dataset lies, in DVC's terms: an arm's own path, or the folder that holds all arms'."""
    path = _entry(name, catalog)["filepath"]
    if "." in name and name.startswith("{arm}"):
        path = str(Path(path[: path.index("{arm}")] + "x").parent)
    return path.replace("{arm}", "${key}")


def _entry(name: str, catalog: dict[str, Any]) -> dict[str, Any]:
    """The catalog's entry of a dataset, whether it is named, an arm's or a pattern's."""
    if name == "start":  # base_policy or sft_policy, as the arm says
        return {**catalog["base_policy"], "filepath": _of_start(catalog)}
    if name == "subset" or name.startswith("subset_"):
        chosen = name.removeprefix("subset_") if name != "subset" else "${item.selection}"
        entry = catalog["subset_{selection}"]
        return {**entry, "filepath": entry["filepath"].replace("{selection}", chosen)}
    entry = catalog.get(name) or catalog.get(f"{{arm}}.{name}")
    if entry is None:
        raise KeyError(f"conf/base/catalog.yml knows no dataset {name!r}")
    return entry


def _of_start(catalog: dict[str, Any]) -> str:
    paths = {start: catalog[f"{start}_policy"]["filepath"] for start in ("base", "sft")}
    templates = {path.replace(start, "${item.start}") for start, path in paths.items()}
    if len(templates) != 1:
        raise ValueError(f"base_policy and sft_policy must lie side by side, not at {paths}")
    return templates.pop()


def _catalog() -> dict[str, Any]:
    raw = (ROOT / "conf/base/catalog.yml").read_text().replace("${globals:data}", "data")
    catalog: dict[str, Any] = yaml.safe_load(raw)
    return catalog


def _pipeline(name: str, *args: object) -> Pipeline:
    pipeline: Pipeline = import_module(f"radrl.pipelines.{name}.pipeline").create_pipeline(*args)
    return pipeline


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="compare only; exit 1 when dvc.yaml would change"
    )
    wanted, there = text(), DVC_FILE.read_text() if DVC_FILE.is_file() else ""
    if not parser.parse_args().check:
        DVC_FILE.write_text(wanted)
        return 0
    if wanted == there:
        return 0
    changes = difflib.unified_diff(
        there.splitlines(), wanted.splitlines(), "dvc.yaml", "wanted", lineterm="", n=0
    )
    print("dvc.yaml has drifted; run `make stages`.", *changes, sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
