"""`radrl serve` finds the model that is meant; tests/bench/test_serving_load.py looks at its answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import urlopen

import browser
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from mlflow import MlflowClient
from servers import free_port

from kedro_repro.dvc_digests import by_sha256
from radrl.commands import servers
from radrl.commands.main import cli
from radrl.data.writing import whole_table
from radrl.pages.page import environment
from radrl.process import importing
from radrl.wiring.policy_models import Scored
from radrl.wiring.tracker import Tracker
from radrl.wiring.ui_server import ARMS, address

if TYPE_CHECKING:
    from playwright.sync_api import Browser


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

    monkeypatch.setattr(servers, "started", start)
    return found


def models(folder: Path) -> list[str]:
    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.create_experiment("radrl", artifact_location=(folder / "mlartifacts").as_uri())
    return [str(client.create_logged_model(experiment, name).model_id) for name in ("deer", "deer", "grpo")]


def test_an_arm_is_its_newest_model_and_an_address_itself(radrl: Any, started: Any, tmp_path: Path) -> None:
    _, newest, _ = models(tmp_path)
    for given, found in {
        "deer": f"models:/{newest}",
        "models:/chest-reports/1": "models:/chest-reports/1",
        "conf": str(tmp_path / "conf"),  # any folder: MLflow says what it is
    }.items():
        done = radrl("serve", given, "--port", "1024")
        assert done.exit_code == 0, done.output
        words, variables = started.pop()
        assert variables[servers.MODEL] == found
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


WATCHED = "watch/ce_rules_sample14_f1"
TOLD = ("reward", "kl", "entropy", "completions/mean_length", "completions/clipped_ratio", WATCHED)
HEADLINE = ("ce_rules_sample14_f1", "ce_rules_macro14_f1", "ce_rules_micro14_f1", "nlg_bleu4")
HOSTILE = (
    "<script>window.ran = window.top.ran = 1</script>",
    '<img src=x onerror="window.ran = window.top.ran = 1">',
    "[a film](javascript:window.ran=1)",
    "=cmd|' /C calc'!A0",
)
"""Reports that would run something where their texts are taken for more than texts."""
F1 = {"sft": 0.55, "grpo": 0.60, "deer": 0.65}


def recorded(project: Path) -> Path:
    """A project whose record has three arms."""
    (project / "conf/recipes").mkdir(parents=True)
    (project / "conf/base").mkdir()
    (project / "dvc.yaml").touch()
    conf = {"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "radrl"}
    (project / "conf/base/mlflow.yml").write_text("".join(f"{key}: {value}\n" for key, value in conf.items()))
    tracker = Tracker(conf | {"headline": HEADLINE, "watched": WATCHED, "study": "three arms"}, project)
    (project / "corpus").write_text("films")
    for arm, f1 in F1.items():
        tracker.enter("train", arm, {"seed": "0", "reward": "ce_f1 + bleu2"})
        for step in (1, 2):
            tracker.metrics(dict.fromkeys(TOLD, f1 * step / 2), step, section="training")
        of = modelled(tracker, project, arm)
        tracker.enter("eval", arm, {"seed": "0", "reward": "ce_f1 + bleu2", "credit": "gradient"})
        tracker.dataset(of.dataset, project / "corpus", "scored")
        tracker.metrics({"ce_rules_sample14_f1": f1, "nlg_bleu4": f1 / 2}, of=of)
        tracker.metrics({f"headline/{name}": f1 for name in HEADLINE})
        (project / "per_label.csv").write_text(arm)
        tracker.artifact(project / "per_label.csv")
    keep_hostile(tracker, project)
    tracker.leave("FINISHED")
    return project


def keep_hostile(tracker: Tracker, folder: Path) -> None:
    """Hostile texts in all that the record keeps of reports: a table, the page, a card, a CSV."""
    tracker.enter("generate", "hostile")
    reports = pd.DataFrame({"report": pd.array(HOSTILE, dtype="string"), "number": range(len(HOSTILE))})
    tracker.table("reports", reports)
    page = environment().from_string(
        "<html><body>{% for one in all %}<p>{{ one }}</p>{% endfor %}</body></html>"
    )
    (folder / "page.html").write_text(page.render(all=HOSTILE))
    (folder / "card.md").write_text("\n\n".join(HOSTILE))  # cards hold no report (test_compare); were it so
    with whole_table(folder / "reports.csv", "csv", pa.schema([("report", pa.string())])) as table:
        table.write([{"report": text} for text in HOSTILE])
    for name in ("page.html", "card.md", "reports.csv"):
        tracker.artifact(folder / name)


def modelled(tracker: Tracker, project: Path, arm: str) -> Scored:
    """A model of the arm, in the run that is open."""
    client = tracker._client
    made = client.create_logged_model(tracker._experiment(), arm, tracker._run, params={"reward": "ce_f1"})
    client.finalize_logged_model(made.model_id, "READY")
    return Scored(made.model_id, "corpus.test", by_sha256(project / "corpus").short, "{}")


class Shown(NamedTuple):
    address: str
    said: list[str]


@pytest.fixture(scope="module")
def project(
    once: Callable[[str, Callable[[Path], object]], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A copy, as of a moved clone; what its files say tells them from those of the first place."""
    there = tmp_path_factory.mktemp("moved") / "clone"
    shutil.copytree(once("ui", recorded), there)
    for file in (there / "mlartifacts").rglob("per_label.csv"):
        file.write_text(f"{file.read_text()} of the copy")
    return there


def require_clean(one: browser.Visit) -> None:
    """No error but MLflow's own two: of its frames, and of a user, whom a server without passwords lacks."""
    assert one.abroad == []
    assert {*one.refused} <= {"/ajax-api/2.0/mlflow/users/current"}
    own = ("Failed to load resource", "ResizeObserver loop")
    assert [error for error in one.errors if not any(word in error for word in own)] == []


@pytest.fixture(scope="module")
def ui(project: Path, root: Path) -> Iterator[Shown]:
    """The command as one types it."""
    port = free_port()
    program = "from radrl.commands.main import main; main()"
    environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    started = subprocess.Popen(
        [sys.executable, "-c", program, "ui", "--port", str(port), "--no-open"],
        cwd=project,
        env=environment | {"PYTHONPATH": importing.first(root / "src", os.environ), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout
    try:
        said = [started.stdout.readline().split()[1] for _ in range(3)]
        browser.wait(f"http://127.0.0.1:{port}/health")
        yield Shown(f"http://127.0.0.1:{port}", said)
    finally:
        started.terminate()
        assert started.wait(timeout=60) == 0
        with pytest.raises(OSError, match=r"refused|timed out"):
            browser.wait(f"http://127.0.0.1:{port}/health", seconds=2)


def test_the_arms_stand_side_by_side_sorted(ui: Shown, chromium: Browser) -> None:
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(ui.said[0])
        one.page.get_by_text("eval deer").first.wait_for(timeout=90_000)
        text = one.page.inner_text("body")
        assert [text.index(f"eval {arm}") for arm in ("deer", "grpo", "sft")] == sorted(
            text.index(f"eval {arm}") for arm in F1
        )
        assert "train deer" not in text
        for column in ("headline/ce_rules_sample14_f1", "seed", "credit", "gradient", "ce_f1 + bleu2"):
            assert column in text
        require_clean(one)


def test_the_menu_is_that_of_trainings(ui: Shown, chromium: Browser) -> None:
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(ui.said[0])
        one.page.get_by_text("eval deer").first.wait_for(timeout=90_000)
        assert one.page.get_by_text("Model registry").count() == 1
        assert one.page.get_by_text("Playground").count() == 0


def test_the_plain_address_of_the_experiment_opens_on_its_runs(
    ui: Shown, project: Path, chromium: Browser
) -> None:
    found = MlflowClient(f"sqlite:///{project / 'mlflow.db'}").get_experiment_by_name("radrl")
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(f"{ui.address}/#/experiments/{found.experiment_id}")
        one.page.get_by_text("three arms").first.wait_for(timeout=90_000)
        assert f"/experiments/{found.experiment_id}/runs" in one.page.url
        require_clean(one)


def test_a_menu_that_somebody_chose_stays(ui: Shown, chromium: Browser) -> None:
    with browser.visit(chromium, width=1800) as one:
        one.page.add_init_script("localStorage.setItem('mlflow.workflowType_v1', '\"genai\"')")
        one.page.goto(f"{ui.address}/#/experiments")
        one.page.get_by_text("Prompts").first.wait_for(timeout=90_000)


def test_the_names_of_metrics_have_room(ui: Shown, chromium: Browser) -> None:
    beyond = (
        "node => { const words = document.createRange();"
        " words.selectNodeContents(node.querySelector('[role=columnheader]'));"
        " return words.getBoundingClientRect().right - node.getBoundingClientRect().right }"
    )
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(ui.said[0])
        one.page.get_by_text("eval deer").first.wait_for(timeout=90_000)
        for metric in HEADLINE[:3]:
            head = one.page.locator(f"[col-id='metrics.`headline/{metric}`'][role=columnheader]")
            assert head.evaluate(beyond) <= 0


def test_a_moved_clone_shows_its_files(ui: Shown, project: Path) -> None:
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("radrl").experiment_id
    (run,) = client.search_runs([experiment], "tags.stage = 'eval' AND tags.arm = 'deer'")
    with urlopen(f"{ui.address}/get-artifact?path=per_label.csv&run_uuid={run.info.run_id}") as answer:
        assert answer.read() == b"deer of the copy"


def test_the_curves_of_all_trainings_are_one_chart(ui: Shown, chromium: Browser) -> None:
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(ui.said[1])
        # of a chart the lines, whose names the page does not show where they need more than two rows
        chart = one.page.locator(".js-plotly-plot").filter(has=one.page.locator(".scatterlayer")).first
        chart.wait_for(state="attached", timeout=90_000)
        lines = chart.evaluate("node => node.data.map(line => line.name + ' ' + line.metricKey)")
        assert {line.split()[1] for line in lines} == {*F1}
        require_clean(one)


def test_charts_begin_with_what_tells_most_and_names_are_whole(ui: Shown, chromium: Browser) -> None:
    first = ["reward", WATCHED, "kl", "completions/mean_length"]
    with browser.visit(chromium, width=1366, height=1400) as one:
        one.page.goto(ui.said[1])
        one.page.get_by_text("training/entropy").first.wait_for(timeout=90_000)
        shown = one.page.evaluate(
            "() => [...document.querySelectorAll('*')].filter(node => !node.children.length"
            " && node.textContent.startsWith('training/') && getComputedStyle(node).fontWeight >= 600)"
            ".map(({textContent, parentElement: box}) => [textContent, box.scrollWidth - box.clientWidth])"
        )
        assert [name for name, _ in shown][:4] == [f"training/{name}" for name in first]
        assert [beyond for _, beyond in shown][:4] == [0] * 4


def test_policies_stand_side_by_side_with_their_scores(ui: Shown, chromium: Browser) -> None:
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(ui.said[2])
        one.page.get_by_text("corpus.test").first.wait_for(timeout=90_000)
        text = one.page.inner_text("body")
        for said in ("ce_rules/sample14_f1", *F1, *(str(f1) for f1 in F1.values())):
            assert said in text
        assert "Ask questions about your experiments" not in text  # the assistant would have a quarter of it
        require_clean(one)


def until(look: Callable[[], str], wanted: str) -> str:
    """What is seen once it has what is waited for."""
    end = time.monotonic() + 90
    while wanted not in (seen := look()):
        assert time.monotonic() < end, seen
        time.sleep(0.3)
    return seen


@pytest.mark.parametrize("file", ["reports.json", "page.html", "card.md", "reports.csv"])
def test_reports_with_markup_are_shown_and_run_nothing(
    ui: Shown, project: Path, chromium: Browser, file: str
) -> None:
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("radrl").experiment_id
    (run,) = client.search_runs([experiment], "tags.arm = 'hostile'")
    with browser.visit(chromium, width=1800) as one:
        one.page.goto(f"{ui.address}/#/experiments/{experiment}/runs/{run.info.run_id}/artifacts/{file}")
        wanted = "window.ran = window.top.ran = 1"
        said = until(lambda: " ".join(frame.inner_text("body") for frame in one.page.frames), wanted)
        one.page.wait_for_timeout(500)
        for frame in one.page.frames:
            assert frame.evaluate("[window.ran, document.querySelectorAll('img[src=x]').length]") == [None, 0]
            assert frame.locator("a[href^='javascript:']").count() == 0
        if file == "reports.csv":
            assert f"'{HOSTILE[3]}" in said  # a spreadsheet, to which it may be saved, would run it
        assert one.abroad == []


def test_addresses_and_mends_are_said(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shutil.copytree(project, tmp_path / "moved"))
    Path("mlflow.db").unlink()
    done = CliRunner().invoke(cli, ["ui", "--no-open"])
    assert done.exit_code == 1
    assert "no runs yet" in done.output
    assert "Mend: radrl repro" in done.output
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://record.example")
    assert "https://record.example" in CliRunner().invoke(cli, ["ui"]).output


def test_every_experiment_has_the_view_that_the_address_names(project: Path) -> None:
    found = MlflowClient(f"sqlite:///{project / 'mlflow.db'}").get_experiment_by_name("radrl")
    assert f"mlflow.sharedViewState.{ARMS}" in found.tags
    assert f"viewStateShareKey={ARMS}&compareRunsMode=TABLE" in address(found.experiment_id)
