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

from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS
from radrl.params.schema import validate
from radrl.wiring import policy_models, served


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


@pytest.fixture(scope="module")
def server(model: Path, root: Path) -> Iterator[str]:
    """`mlflow models serve` on loopback."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    options = ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(model), *options]
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "DO_NOT_TRACK": "true"}
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
