"""`radrl serve` finds the model that is meant; tests/bench/test_serving_load.py looks at its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mlflow import MlflowClient

from radrl.commands import serve


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sequence[str], dict[str, str]]]:
    """The servers that would be started, in a project whose record has two models of an arm."""
    for folder in ("conf/recipes", "conf/base"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "dvc.yaml").touch()
    conf = "tracking_uri: sqlite:///mlflow.db\nartifacts: mlartifacts\nexperiment: radrl\n"
    (tmp_path / "conf/base/mlflow.yml").write_text(conf)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "off")
    found: list[tuple[Sequence[str], dict[str, str]]] = []

    @contextmanager
    def start(root: Path, module: str, words: Sequence[str], variables: dict[str, str]) -> Iterator[Any]:
        assert module == "uvicorn"
        found.append((words, variables))
        yield SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(serve, "started", start)
    return found


def models(folder: Path) -> list[str]:
    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.create_experiment("radrl", artifact_location=(folder / "mlartifacts").as_uri())
    return [str(client.create_logged_model(experiment, name).model_id) for name in ("deer", "deer", "grpo")]


def test_an_arm_is_its_newest_model_and_an_address_itself(radrl: Any, started: Any, tmp_path: Path) -> None:
    _, newest, _ = models(tmp_path)
    for given, address in {
        "deer": f"models:/{newest}",
        "models:/chest-reports/1": "models:/chest-reports/1",
        "conf": str(tmp_path / "conf"),  # any folder: MLflow says what it is
    }.items():
        done = radrl("serve", given, "--port", "1024")
        assert done.exit_code == 0, done.output
        words, variables = started.pop()
        assert variables[serve.MODEL] == address
        assert variables["MLFLOW_TRACKING_URI"] == f"sqlite:///{tmp_path / 'mlflow.db'}"
        assert words[words.index("--host") + 1] == "127.0.0.1"
        assert "not a medical device" in done.stderr


def test_mistakes_name_the_mend(
    radrl: Any, started: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no runs yet" in radrl("serve", "deer").output
    models(tmp_path)
    said = " ".join(radrl("serve", "sft").output.split())
    assert "no model of an arm 'sft'; it has deer, grpo. Mend: radrl repro train@sft" in said
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://record.example")
    assert "the model's address from the page Models" in " ".join(radrl("serve", "deer").output.split())
    assert started == []
