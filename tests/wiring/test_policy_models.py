"""A trained policy is a model to MLflow: it loads without code of its own, and its server lives on."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import mlflow
import pandas as pd
import pytest
from mlflow import MlflowClient, pyfunc
from omegaconf import OmegaConf
from PIL import Image
from servers import PATIENCE, free_port

from kedro_repro.dvc_digests import by_sha256
from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS
from radrl.params.schema import validate
from radrl.process import importing
from radrl.wiring import policy_models, served
from radrl.wiring.tracker import Tracker


@pytest.fixture(scope="module")
def model(smoke: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = [OmegaConf.load(root / name) for name in ("params.yaml", "conf/smoke/parameters.yml")]
    params: Any = OmegaConf.to_container(OmegaConf.merge(*own))
    target = tmp_path_factory.mktemp("model")
    return policy_models.save(smoke / "06_models/arms/grpo", validate(params), "grpo", target)


@pytest.fixture(scope="module")
def pictures(smoke: Path) -> list[bytes]:
    films = corpora.Films(corpora.opened(smoke / "02_intermediate/corpus"), "test")
    return [films[number : number + 1][0][0] for number in range(3)]


def asked(pictures: list[Any]) -> pd.DataFrame:
    encoded = [base64.b64encode(p).decode() if isinstance(p, bytes) else p for p in pictures]
    return pd.DataFrame({served.IMAGE: encoded})


def test_the_model_writes_what_the_stage_wrote(model: Path, pictures: list[bytes], smoke: Path) -> None:
    found = pyfunc.load_model(str(model)).predict(asked(pictures))
    written = pd.read_parquet(smoke / "07_model_output/reports/grpo.parquet")["report"]
    assert found["report"].tolist() == written.tolist()[:3]
    assert list(found.columns) == ["report", *OBSERVATIONS]


def test_the_model_holds_no_code_and_no_pickle(model: Path) -> None:
    endings = {file.suffix for file in model.rglob("*") if file.is_file()}
    assert endings <= {"", ".json", ".yaml", ".txt", ".safetensors", ".jinja"}
    assert "loader_module: radrl.wiring.served" in (model / "MLmodel").read_text()


def test_the_model_can_be_registered(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store := f"sqlite:///{tmp_path}/record.db")
    client = MlflowClient(store)
    experiment = client.create_experiment("radrl", artifact_location=(tmp_path / "files").as_uri())
    run = client.create_run(experiment).info.run_id
    made = policy_models.log(client, model, experiment=experiment, run=run, arm="grpo")
    version = mlflow.register_model(f"models:/{made}", "grpo")
    assert client.get_model_version("grpo", version.version).status == "READY"
    assert client.get_logged_model(made).tags["arm"] == "grpo"


def test_models_carry_the_scores_of_their_evaluation_and_of_which_films(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An arm's reports lead from its scores to its policy; a model of other weights has none of them."""

    def save(policy: Path, params: Any, arm: str, target: Path) -> Path:
        (target / "MLmodel").write_text(arm)
        return target

    monkeypatch.setattr(policy_models, "save", save)
    conf = {"tracking_uri": "sqlite:///record.db", "experiment": "radrl", "artifacts": "files"}
    tracker = Tracker(conf | {"model_megabytes": 1}, tmp_path)
    (tmp_path / "corpus").write_text("films")

    def run(stage: str, arm: str, read: str, wrote: str, **values: float) -> None:
        tracker.enter(stage, arm)
        tracker.parameters({"params:generate": {"split": "val"}} if stage == "generate" else {})
        for name in filter(None, (read, "corpus" if stage == "generate" else "")):
            file = tmp_path / name if name == "corpus" else tmp_path / f"{arm}.{name}"
            tracker.dataset(name if name == "corpus" else f"{arm}.{name}", file, "read")
        of = tracker.scored("reports")
        assert (of is not None) == (stage == "eval" and arm != "untracked")
        if wrote:
            tracker.dataset(f"{arm}.{wrote}", tmp_path / f"{arm}.{wrote}", "written")
        tracker.metrics(values, of=of)

    for arm, score in {"sft": 0.5, "deer": 0.75}.items():
        (tmp_path / f"{arm}.policy").mkdir()
        (tmp_path / f"{arm}.policy/weights").write_text(arm)
        (tmp_path / f"{arm}.reports").write_text(f"reports of {arm}")
        run("train", arm, "", "policy")
        tracker.policy(tmp_path / f"{arm}.policy", None, arm, {"reward": "ce_f1"})  # type: ignore[arg-type]
        run("generate", arm, "policy", "reports")
        run("eval", arm, "reports", "", ce_rules_micro14_f1=score)
    (tmp_path / "deer.policy/weights").write_text("trained again, and not asked yet")
    run("train", "deer", "", "policy")
    tracker.policy(tmp_path / "deer.policy", None, "deer")  # type: ignore[arg-type]
    (tmp_path / "untracked.reports").write_text("of a run without a record")
    run("eval", "untracked", "reports", "", ce_rules_micro14_f1=0.1)
    tracker.leave("FINISHED")

    client = MlflowClient(f"sqlite:///{tmp_path}/record.db")
    experiment = client.get_experiment_by_name("radrl").experiment_id
    corpus = by_sha256(tmp_path / "corpus").short
    films = {"dataset_name": "corpus.val", "dataset_digest": corpus}
    found = client.search_logged_models(
        [experiment], order_by=[{"field_name": "metrics.ce_rules/micro14_f1", "ascending": False, **films}]
    )
    told = [[(one.key, one.value, one.dataset_name, one.dataset_digest) for one in model.metrics or ()]
            for model in found]  # fmt: skip
    assert [model.name for model in found] == ["deer", "sft", "deer"]
    assert told == [[("ce_rules/micro14_f1", score, "corpus.val", corpus)] for score in (0.75, 0.5)] + [[]]
    assert found[0].params == {"reward": "ce_f1"}
    only = client.search_logged_models([experiment], "metrics.`ce_rules/micro14_f1` > 0.6", datasets=[films])
    assert [model.model_id for model in only] == [found[0].model_id]
    (scored,) = client.search_runs([experiment], "tags.stage = 'eval' AND tags.arm = 'deer'")
    assert {one.dataset.name for one in scored.inputs.dataset_inputs} == {"deer.reports", "corpus.val"}
    assert scored.data.metrics["ce_rules/micro14_f1"] == 0.75


@pytest.fixture(scope="module")
def server(model: Path, root: Path) -> Iterator[str]:
    """`mlflow models serve` on loopback."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    options = ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(model), *options]
    environment = os.environ | {
        "PYTHONPATH": importing.first(root / "src", os.environ),
        "DO_NOT_TRACK": "true",
    }
    log = model.parent / "server.log"
    with log.open("wb") as stream:
        started = subprocess.Popen(
            words, stdout=stream, stderr=stream, env=environment, start_new_session=True
        )
        try:
            wait(f"{address}/ping", started, log)
            yield address
        finally:
            os.killpg(started.pid, 15)
            started.wait()


def wait(address: str, started: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert started.poll() is None, log.read_text()
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise AssertionError(f"no server after {PATIENCE} s: {log.read_text()}")


def post(server: str, rows: list[Any]) -> tuple[int, str]:
    split = {"columns": [served.IMAGE], "data": asked(rows).to_numpy().tolist()}
    body = json.dumps({"dataframe_split": split}).encode()
    request = Request(f"{server}/invocations", body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def bomb() -> bytes:
    """A few kilobytes that would be 900 million pixels."""
    buffer = io.BytesIO()
    Image.new("1", (30_000, 30_000)).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_server_answers_and_outlives_what_is_no_film(server: str, pictures: list[bytes]) -> None:
    status, first = post(server, pictures[:1])
    assert status == 200
    assert json.loads(first)["predictions"][0].keys() == {"report", *OBSERVATIONS}
    refused = {
        "neither PNG nor JPEG nor DICOM": [b"no film at all"],
        "row 2: the file is truncated": [pictures[0], pictures[1][:200]],
        "is no base64": ["%%%"],
        "send the file in base64": [7],
        "pixels; at most": [bomb()],
        "more than 128 MiB": ["A" * (served.MOST_BYTES * 4 // 3 + 4)],
        "films in one request": [pictures[0]] * (served.MOST_ROWS + 1),
    }
    for said, rows in refused.items():
        status, told = post(server, rows)
        assert (status, said in told) == (400, True), told[-500:]
    assert post(server, pictures[:1]) == (200, first)
