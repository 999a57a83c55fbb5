"""Write dvc.yaml from what it has to agree with: the Kedro pipelines and the catalog.

    python tools/dvc_stages.py            write dvc.yaml
    python tools/dvc_stages.py --check    say what differs and exit 1 (a test does this)

A stage depends on the artifacts its pipeline reads, on the parameters its nodes take, and on what its code
does (`radrl code`, the first stage, writes a digest of it); its outs are what its pipeline writes. Wiring
(catalog, parameters.yml, hooks, registry) is no dependency: it decides where things are, not what they are.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from kedro.pipeline import Pipeline

from radrl.pipelines.stages import LAST, ONCE, PER_ARM, PER_SELECTION
from radrl.provenance.code import CODE_FILE
from radrl.wiring.hooks import COMPUTE, OBSERVERS, STEP_REPORT
from radrl.wiring.selected import SELECTED

ROOT = Path(__file__).resolve().parents[1]
DVC_FILE = ROOT / "dvc.yaml"
SHIPPED = ROOT / "conf/recipes/phantom-laptop.yaml"
HEADER = """\
# The pipeline. Written by `make stages` from the Kedro pipelines and the catalog; a test holds it to them.
# STAGE@ARM runs once for each entry of `arms` in params.yaml. A stage runs again when what it reads, its
# parameters or what its code does has changed (`radrl code STAGE` lists the files that are its code).
"""

DESCRIPTIONS = {
    "code": "what each stage's code does, as digests: always, first, in seconds",
    "ingest": "source -> corpus and quarantine",
    "labeler": "how far the labeler agrees with what is known apart from the texts",
    "label": "reference reports -> 14 labels",
    "policy": "the base policy: built and pretrained here, or local weights",
    "sft": "cold start",
    "rollouts": "K samples a training film",
    "ddsampling": "diversity of rollouts, ranks, the subset drawn by them and the most diverse",
    "selection": "the subsets that need no policy",
    "own_selection": "a subset by a selection of one's own",
    "ceilings": "labels read off the films, by a network and by probes of frozen towers",
    "analyses": "rollouts looked at: tokens masked, rewards compared, weights drawn",
    "train": "one arm's reinforcement learning",
    "generate": "one arm's reports on the split that is scored",
    "eval": "one arm's scores",
    "compare": "the table of arms, as CSV, figures and one HTML page",
}
BROUGHT = (STEP_REPORT, OBSERVERS, COMPUTE, SELECTED)  # by the hooks
# What labels are read by; labelers that are trained, and settings of one's own, are in the labelers' folder.
READ_BY = ("labeler.name", "labeler.rules")
# What a stage reads that no dataset stands for: the user's own files, the policy that is shipped.
RAW = {"ingest": ["data/01_raw"], "policy": ["data/06_models/radrl-tiny"]}


class _Inline(list[Any]):
    """A list that is written in one line."""


class _Line(dict[str, Any]):
    """A mapping that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes names in one line and paths one a line."""


_Dumper.add_representer(
    _Inline, lambda dumper, names: dumper.represent_sequence("tag:yaml.org,2002:seq", names, flow_style=True)
)
_Dumper.add_representer(
    _Line, lambda dumper, pairs: dumper.represent_mapping("tag:yaml.org,2002:map", pairs, flow_style=True)
)


def stages() -> dict[str, Any]:
    """dvc.yaml as a mapping."""
    catalog = _catalog()
    described: dict[str, Any] = {"code": _code()}
    for name in ONCE:
        described[name] = _stage(name, _pipeline(name), catalog)
    own = _stage(PER_SELECTION, _pipeline(PER_SELECTION, "{own}"), catalog)
    described[PER_SELECTION] = _foreach("selection.own", own)
    for name in PER_ARM:
        described[name] = _foreach("arms", _stage(name, _pipeline(name), catalog))
    described[LAST] = _stage(LAST, _pipeline(LAST, ["{arm}"]), catalog)
    # a params.yaml without selections of one's own need not say so
    return {
        "vars": [{"selection": {"own": {}}}],
        "stages": described,
        "artifacts": dict(_policies()),
    }


def _policies() -> Iterator[tuple[str, dict[str, Any]]]:
    """The shipped arms' policies under names of their own, for `dvc artifacts get` and model registries."""
    path = str(_catalog()["{arm}.policy"]["filepath"])
    for arm in yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))["arms"]:
        yield (
            f"policy-{arm.replace('_', '-')}",  # DVC takes no underscore
            _Line(
                path=path.replace("{arm}", arm),
                type="model",
                desc="a shipped arm; research only",
                labels=_Inline(["policy"]),
            ),
        )


def _foreach(key: str, stage: dict[str, Any]) -> dict[str, Any]:
    stage["cmd"] += " --namespaces=${key}"
    return {"foreach": f"${{{key}}}", "do": stage}


def _code() -> dict[str, Any]:
    # always: what it reads are the project's modules and those of parts that lie anywhere
    return {
        "desc": DESCRIPTIONS["code"],
        "cmd": "radrl code",
        "always_changed": True,
        "outs": [str(CODE_FILE)],
    }


def text() -> str:
    """dvc.yaml as it should be written."""
    written = yaml.dump(stages(), Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=200)
    described, begin, named = written.partition("artifacts:\n")
    described = re.sub(r"\n  (?=\w)", r"\n\n  ", described)  # a blank line before each stage
    return f"{HEADER}{described}\n{begin}{named}"


def _stage(name: str, pipeline: Pipeline, catalog: dict[str, Any]) -> dict[str, Any]:
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
        "deps": sorted(reads | set(RAW.get(name, []))),
        "params": _Inline(
            [
                *sorted(key for p in pipeline.inputs() if p.startswith("params:") for key in _keys(p, name)),
                {str(CODE_FILE): [f"{name}.${{key}}" if name in (*PER_ARM, PER_SELECTION) else name]},
            ]
        ),
    }
    for kind in ("outs", "metrics", "plots"):
        paths = sorted(path for path, of in kinds.items() if of == kind)
        if paths:
            stage[kind] = [_with_options(path, writes[path]) for path in paths]
    return stage


def _with_options(path: str, entry: dict[str, Any]) -> Any:
    options = (entry.get("metadata") or {}).get("options")
    return {path: options} if options else path


def _keys(name: str, stage: str) -> tuple[str, ...]:
    """The keys of params.yaml behind a node's parameter."""
    key = name.removeprefix("params:")
    if key == "labeler" and stage != "labeler":
        return READ_BY
    return ({"arm": "arms.${key}", "own_selection": "selection.own.${key}"}.get(key, key),)


def _kept(name: str, catalog: dict[str, Any]) -> bool:
    if name in BROUGHT:
        return False
    return _entry(name, catalog)["type"] not in ("MemoryDataset", "radrl.wiring.datasets.Workspace")


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
