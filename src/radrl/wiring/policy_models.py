"""What MLflow has of an arm: its policy as a model, and in its run what the comparison made of its outputs.

The model is what `mlflow models serve` starts and a registry takes.
The model names `radrl.wiring.served`, which the installed radrl has; it holds weights, tokenizer and how the
policy is asked. Nothing in it is pickled.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from radrl.data import images
from radrl.observations import OBSERVATIONS
from radrl.params.schema import Params
from radrl.reporting import arm_prompt
from radrl.reports.prompts import places
from radrl.storage import pointers

if TYPE_CHECKING:
    import pandas as pd
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from mlflow.models import ModelSignature


MODEL_TYPE: Final = "chest X-ray report writer"

POLICY: Final = "policy.digest"
"""Tag of a model with the digest of the arm's policy as its runs have it."""

CORPUS: Final = "corpus"
"""The films, as the catalog and the inputs of runs name them."""

SPLIT: Final = "generate.split"
"""The parameter that says of which of them the reports are."""


class Scored(NamedTuple):
    """A model and the films that its scores are of.

    Args:
        model: its id.
        dataset: name of the films: the corpus and the split.
        digest: of the corpus: the same films for every arm with the same.
        source: where it lies, as JSON.
    """

    model: str
    dataset: str
    digest: str
    source: str


def megabytes(policy: Path) -> float:
    """How much a policy's folder holds, in MB of 10^6 bytes; what a pointer points at is counted."""
    folder = pointers.resolve(policy, stage="train")
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) / 1e6


def save(policy: Path, params: Params, arm: str, target: Path) -> Path:
    """Write a trained policy as an MLflow model.

    Args:
        policy: the arm's folder.
        params: the whole of params.yaml.
        arm: its name.
        target: a folder that is there and empty.

    Returns:
        The model's folder below it.
    """
    from mlflow import pyfunc

    from radrl.wiring import served

    data = target / "data"
    shutil.copytree(pointers.resolve(policy, stage="train"), data / served.POLICY)
    how = asdict(arm_prompt(params, arm)) | {"engine": "hf"}  # vLLM wants an interpreter of its own
    written = {served.ASKED: how, served.LABELER: params.labeler.model_dump(include={"rules"})}
    for name, value in written.items():
        (data / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    pyfunc.save_model(
        target / "model",
        loader_module=served.__name__,
        data_path=str(data),
        signature=_signature(how["prompt"]),
        input_example=_example(params, how["prompt"]),
        pip_requirements=["radrl"],
    )
    return target / "model"


def log(
    client: MlflowClient,
    model: Path,
    *,
    experiment: str,
    run: str,
    arm: str,
    digest: str = "",
    recipe: Mapping[str, str] | None = None,
) -> str:
    """Log a model beside the run that trained it.

    Args:
        client: of the record.
        model: of `save`.
        experiment: id of the experiment.
        run: id of the run.
        arm: names the model.
        digest: of the policy, by which `scored` finds the model.
        recipe: what makes the arm, by name; the model's parameters.

    Returns:
        The model's id: `models:/ID` is its address.
    """
    from mlflow.entities import LoggedModelStatus

    tags = {"arm": arm, "use": "research only, not a medical device"} | ({POLICY: digest} if digest else {})
    made = client.create_logged_model(
        experiment, arm, source_run_id=run, tags=tags, params=dict(recipe or {}), model_type=MODEL_TYPE
    )
    client.log_model_artifacts(made.model_id, str(model))
    client.finalize_logged_model(made.model_id, LoggedModelStatus.READY)
    return str(made.model_id)


def scored(client: MlflowClient, experiment: str, arm: str, reports: str) -> Scored | None:
    """The model whose reports were scored, and the films they are on.

    Args:
        client: of the record.
        experiment: its id.
        arm: its name.
        reports: digest of its reports.

    Returns:
        Nothing where the record has no run that wrote them, or no model of the policy that run had: it was
        written elsewhere, or while tracking was off.
    """
    run = wrote(client, experiment, arm, reports)
    read = {entry.dataset.name: entry.dataset for entry in run.inputs.dataset_inputs} if run else {}
    if not run or not {CORPUS, f"{arm}.policy"} <= read.keys():
        return None
    policy, corpus, split = read[f"{arm}.policy"], read[CORPUS], run.data.params.get(SPLIT, "")
    where = f"tags.`arm` = '{arm}' AND tags.`{POLICY}` = '{policy.digest}'"
    found = client.search_logged_models([experiment], where, max_results=1)  # the newest first
    name = f"{CORPUS}.{split}" if split else CORPUS
    source = json.dumps(json.loads(corpus.source) | {"split": split})
    return Scored(str(found[0].model_id), name, corpus.digest, source) if found else None


def _signature(prompt: str) -> ModelSignature:
    """A film, and texts for the places of the prompt; null or no column where they are not known."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    from radrl.wiring.served import IMAGE

    outputs = [ColSpec("string", name) for name in ("report", *OBSERVATIONS)]
    inputs = [ColSpec("string", name, required=False) for name in _places(prompt)]
    return ModelSignature(Schema([ColSpec("string", IMAGE), *inputs]), Schema(outputs))


def _places(prompt: str) -> list[str]:
    return list(dict.fromkeys(place.name for place in places(prompt)))


def _example(params: Params, prompt: str) -> pd.DataFrame:
    """A request: a grey ramp, which is no film of anybody, and nothing known of it."""
    import numpy as np
    import pandas as pd

    from radrl.wiring.served import IMAGE

    size = params.ingest.image_size
    ramp = np.tile(np.linspace(0, 255, size).astype(np.uint8), (size, 1))
    film = base64.b64encode(images.encode_png(ramp)).decode()
    # MLflow compares column names with a range, which pandas 3.0.0 refuses for those that are text to it
    names = [IMAGE, *_places(prompt)]
    return pd.DataFrame([[film, *[""] * (len(names) - 1)]], columns=pd.Index(names, dtype=object))


FOLDER: Final = "comparison"
"""Where what was made of several arms lies among a run's files."""


def keep(client: MlflowClient, experiment: str, read: Mapping[str, str], kind: str, path: Path) -> None:
    """Copy a file into the runs whose outputs it was made of; an arm whose run is not in the record has none.

    Args:
        client: of the record.
        experiment: its id.
        read: digest by name in the catalog, of what it was made of.
        kind: those of `read` that count, by what follows the arm in their names.
        path: the file, or a folder with one an arm, called after it.
    """
    for name, digest in read.items():
        arm, _, own = name.rpartition(".")
        if arm and own == kind and (run := wrote(client, experiment, arm, digest)):
            for file in sorted(path.glob(f"{arm}.*")) if path.is_dir() else [path]:
                client.log_artifact(run.info.run_id, str(file), FOLDER)


def wrote(client: MlflowClient, experiment: str, arm: str, digest: str) -> Run | None:
    """The newest run of an arm that wrote this: others of its name may be of other settings or films.

    Args:
        client: of the record.
        experiment: its id.
        arm: its name.
        digest: of an output.
    """
    where = f"tags.arm = '{arm}' AND dataset.digest = '{digest}' AND dataset.context = 'written'"
    newest = ["attributes.start_time DESC"]
    found = client.search_runs([experiment], where, order_by=newest)
    return next((run for run in found if _written(run, digest)), None)


def _written(run: Run, digest: str) -> bool:
    """Whether it is this that was written: MLflow takes digest and context of any two of a run's inputs."""
    return any(
        entry.dataset.digest == digest and any(tag.value == "written" for tag in entry.tags)
        for entry in run.inputs.dataset_inputs
    )
