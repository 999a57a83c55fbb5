import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from radrl.scoring import ScoringError
from radrl.scoring.names import group_names
from radrl.scoring.radmatch import RadMatch

# Scores a pair by the numbers in its texts, keeps what it was asked, and fails where a text says so.
FAKE = {
    "radmatch/__init__.py": """
import json, os, socket
from pathlib import Path

def run_all(*, reports_gt_dir, reports_pred_dir, output_dir, llm_extractor, llm_judge, fewshot, workers,
            limit, client_factory):
    results = Path(output_dir) / "radmatch_results"
    failed = []
    for name in ("per_report_metrics", "matching"):
        (results / name).mkdir(parents=True, exist_ok=True)
    for file in sorted(Path(reports_pred_dir).glob("*.txt"))[:limit]:
        text = file.read_text()
        if text == "out":
            socket.create_connection(("192.0.2.1", 80), timeout=1)
        if not text.strip():
            failed.append({"series_uuid": file.stem, "reason": "report is empty"})
            continue
        hit, total = map(int, (Path(reports_gt_dir) / file.name).read_text().split("/"))
        counts = {f"{tier}_{name}": value for tier in ("triage", "actionable") for name, value in (
            ("hit_count", hit), ("gt_total", total), ("pred_hit_count", hit), ("pred_total", 2 * total))}
        scored = {"actionable_errors_total": int(text), "clinical_safety_summary": counts}
        (results / "per_report_metrics" / f"{file.stem}.json").write_text(json.dumps(scored))
        matching = {"validation_fallback": text == "3"}
        (results / "matching" / f"{file.stem}.json").write_text(json.dumps(matching))
    if failed:
        (results / "failed_reports.json").write_text(json.dumps(failed))
    (results / "asked").write_text(json.dumps([llm_judge, fewshot, workers, limit,
        os.environ["RADMATCH_LOCAL_BASE_URL"], os.environ["RADMATCH_LOCAL_API_KEY"]]))
""",
    "radmatch/llm_utils/__init__.py": "",
    "radmatch/llm_utils/llm_clients.py": "",
    "radmatch-0.2.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: radmatch\nVersion: 0.2.2\n",
}
SERVER = {"url": "http://127.0.0.1:9/v1", "model": "gemma", "allowed_hosts": ["127.0.0.1"]}


@pytest.fixture
def fake(fake_package):
    fake_package(FAKE)


def test_errors_are_means_and_shares_are_of_all_findings(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("KEY", "secret")
    scorer = RadMatch(
        python=None, missing="raise", folder=tmp_path, api_key_env="KEY", concurrency=3, **SERVER
    )
    scores = scorer.score(["1/2", "0/0", "2/2"], ["0", "1", "3"])
    assert scores.corpus == {
        "radmatch_actionable_errors": pytest.approx(4 / 3),
        "radmatch_triage_recall": 3 / 4,
        "radmatch_actionable_recall": 3 / 4,
        "radmatch_triage_precision": 3 / 8,
        "radmatch_actionable_precision": 3 / 8,
        "radmatch_unscored": 0,
        "radmatch_degraded": 1,
    }
    np.testing.assert_array_equal(scores.per_report["radmatch_actionable_errors"], [0, 1, 3])
    np.testing.assert_array_equal(scores.per_report["radmatch_triage_recall"], [0.5, np.nan, 1])
    assert scores.about["radmatch_version"] == "0.2.2"
    asked = json.loads((tmp_path / "radmatch_results" / "asked").read_text())
    assert asked == ["local:gemma", "chest-xr", 3, 3, "http://127.0.0.1:9/v1", "secret"]


def test_what_an_earlier_run_kept_is_not_scored_again_and_equal_pairs_are_one(fake, tmp_path):
    scorer = RadMatch(python=None, missing="raise", folder=tmp_path, **SERVER)
    scorer.score(["1/2", "0/1"], ["7", "8"])
    assert scorer.score(["1/1", "1/1"], ["0", "0"]).corpus["radmatch_actionable_errors"] == 0
    assert json.loads((tmp_path / "radmatch_results" / "asked").read_text())[3] == 1


def test_a_report_without_a_score_is_named_or_left_out(fake):
    with pytest.raises(
        ScoringError, match=r"report 1 has no RadMatch score: report is empty \(1 of 2 reports"
    ):
        RadMatch(python=None, missing="raise", **SERVER).score(["1/2", "1/2"], ["4", ""])
    scores = RadMatch(python=None, missing="skip", **SERVER).score(["1/2", "1/2"], ["4", ""])
    assert scores.corpus["radmatch_unscored"] == 1
    assert scores.corpus["radmatch_actionable_errors"] == 4
    assert np.isnan(scores.per_report["radmatch_actionable_errors"][1])
    with pytest.raises(ScoringError, match=r"1 of 1 reports have none"):
        RadMatch(python=None, missing="skip", **SERVER).score(["1/2"], [""])


def test_a_share_of_no_findings_is_missing_with_the_reason(fake):
    scores = RadMatch(python=None, missing="raise", **SERVER).score(["0/0"], ["0"])
    assert scores.skipped["radmatch_triage_recall"] == "no report has a finding of these tiers"
    assert "radmatch_triage_recall" not in scores.corpus


def test_the_worker_reaches_the_named_server_alone(fake):
    with pytest.raises(ScoringError, match=r"a worker has no network: socket\.getaddrinfo refused"):
        RadMatch(python=None, missing="raise", **SERVER).score(["1/2"], ["out"])


def test_a_host_that_is_not_allowed_is_refused_before_anything_is_sent():
    with pytest.raises(
        ScoringError, match=r"nothing was sent: host 'api\.example\.org' is not in allowed_hosts"
    ):
        RadMatch(python=None, missing="raise", **SERVER | {"url": "https://api.example.org/v1"})


def test_a_key_that_is_not_set_is_refused(monkeypatch):
    monkeypatch.delenv("KEY", raising=False)
    with pytest.raises(ScoringError, match=r"environment variable KEY \(api_key_env\) is not set"):
        RadMatch(python=None, missing="raise", api_key_env="KEY", **SERVER)


def test_a_metric_of_which_less_is_better_is_kept_out_of_the_table():
    settings = {"families": ["radmatch"], "labelers": ["rules"]}
    assert group_names(["radmatch_triage_recall"], settings) == {"radmatch": ["radmatch_triage_recall"]}
    with pytest.raises(ValueError, match="less is better"):
        group_names(["radmatch_actionable_errors"], settings)


PYTHON = os.environ.get("RADRL_RADMATCH_PYTHON")
needs_package = pytest.mark.skipif(
    PYTHON is None, reason="RADRL_RADMATCH_PYTHON names no interpreter; make scorers"
)


class Judge(BaseHTTPRequestHandler):
    """Every sentence is a finding, urgent where it has an effusion; equal sentences match, without errors."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = request["messages"][-1]["content"]
        answer = getattr(self, request["response_format"]["json_schema"]["name"])(asked)
        choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(answer)}}
        body = json.dumps(
            {"id": "1", "object": "chat.completion", "choices": [choice | {"finish_reason": "stop"}]}
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
        self.server.asked.append(request["model"])

    def log_message(self, *_):
        pass

    def findings_output(self, report):
        found = [sentence for sentence in TIERS if sentence in report]
        common = {"clinical_status": "abnormal", "comparison": None, "measurements": []}
        return {"findings": [common | {"text": one, "clinical_significance": TIERS[one]} for one in found]}

    def matching_output(self, asked):
        sides = json.loads(asked)
        ids = {
            side: {one["text"]: one["finding_id"] for one in sides[f"{side}_findings"]}
            for side in ("pred", "gt")
        }
        both = ids["pred"].keys() & ids["gt"].keys()
        pairs = [(ids["pred"][text], ids["gt"][text]) for text in sorted(both)]
        left = {
            f"unmatched_{side}": [own[text] for text in own if text not in both] for side, own in ids.items()
        }
        matches = [{"pred_id": pred, "gt_id": gt, "reasoning": ""} for pred, gt in pairs]
        return {"matches": matches} | left

    def attribute_errors_output(self, asked):
        return {"errors_per_match": [[] for _ in json.loads(asked)["pairs"]]}


TIERS = {
    "Large left effusion.": "urgent",
    "Right pneumothorax.": "critical",
    "Old granuloma.": "notable",
    "Normal heart.": "routine",
}


@pytest.fixture
def judge():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@needs_package
def test_the_package_asks_the_server_and_counts(judge, tmp_path, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://192.0.2.1:1")  # a proxy of the user's is not asked
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:1")
    settings = SERVER | {"url": f"http://127.0.0.1:{judge.server_address[1]}/v1"}
    scorer = RadMatch(python=PYTHON, missing="raise", folder=tmp_path, **settings)
    references = ["Large left effusion. Old granuloma. Normal heart.", "Right pneumothorax."]
    hypotheses = ["Large left effusion. Normal heart.", "Large left effusion. Old granuloma."]
    scores = scorer.score(references, hypotheses)
    # one granuloma missed; then one pneumothorax missed and two findings made up
    np.testing.assert_array_equal(scores.per_report["radmatch_actionable_errors"], [1, 3])
    assert scores.corpus["radmatch_triage_recall"] == 1 / 2
    assert scores.corpus["radmatch_actionable_recall"] == 1 / 3
    assert scores.corpus["radmatch_triage_precision"] == 1 / 2
    assert scores.corpus["radmatch_actionable_precision"] == 1 / 3
    assert scores.corpus["radmatch_degraded"] == scores.corpus["radmatch_unscored"] == 0
    assert set(judge.asked) == {"gemma"}
    asked = len(judge.asked)
    again = scorer.score(references[::-1], hypotheses[::-1])  # from what was kept
    np.testing.assert_array_equal(again.per_report["radmatch_actionable_errors"], [3, 1])
    assert len(judge.asked) == asked
