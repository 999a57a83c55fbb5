"""Scores reports with the package `radmatch`, in an interpreter that has it.

Request: ``references`` and ``hypotheses``; ``host`` and ``port`` of the judge's server; ``model``, its name
there; ``examples``, the bundle of worked examples; ``concurrency``; ``folder``, where RadMatch keeps its
answers, or null.
Answers: by number of the pair, RadMatch's counts of it and whether they are ``degraded``, or why there is no
score under ``failure``. The address itself and the key stand in the environment, where RadMatch reads them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from channel import Channel, Request, allow_server, require, serve  # type: ignore[import-not-found]  # by path

FAILURES = ("failed_reports.json", "failed_reports_matching.json", "failed_reports_scoring.json")
"""What RadMatch says of reports that it leaves out, by stage."""


def score(request: Request, channel: Channel) -> None:
    """Answer with the counts of every pair."""
    require("radmatch")
    allow_server(request["host"], request["port"])
    radmatch = import_module("radmatch")
    channel.about({"radmatch_version": version("radmatch")})
    pairs = list(zip(request["references"], request["hypotheses"], strict=True))
    names = [_name(*pair) for pair in pairs]
    with tempfile.TemporaryDirectory() as made:
        texts, kept = Path(made), Path(request["folder"] or made)
        for name, (reference, hypothesis) in zip(names, pairs, strict=True):
            _write(texts / "references" / f"{name}.txt", reference)
            _write(texts / "hypotheses" / f"{name}.txt", hypothesis)
        results = kept / "radmatch_results"
        for failures in FAILURES:  # of an earlier run; those that fail again are written again
            (results / failures).unlink(missing_ok=True)
        radmatch.run_all(
            reports_gt_dir=texts / "references",
            reports_pred_dir=texts / "hypotheses",
            output_dir=kept,
            llm_extractor=f"local:{request['model']}",
            llm_judge=f"local:{request['model']}",
            fewshot=request["examples"],
            workers=request["concurrency"],
            limit=len(set(names)),  # what else lies in a folder that is kept is not scored
            client_factory=_counted(channel),
        )
        reasons = _reasons(results)
        for number, name in enumerate(names):
            channel.answer(number, _outcome(results, name, reasons))


def _name(reference: str, hypothesis: str) -> str:
    """What a pair's files are called: the same pair finds its answers again, whichever run asks."""
    return hashlib.sha256(json.dumps([reference, hypothesis]).encode()).hexdigest()[:32]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _counted(channel: Channel) -> Callable[..., Any]:
    """Clients as RadMatch builds them, whose every answer is a sign of life."""
    clients = import_module("radmatch.llm_utils.llm_clients")
    lock, answers = threading.Lock(), 0

    def build(model: str, reasoning: str) -> Any:
        client = clients.build_client(model=model, reasoning=reasoning)
        complete = client.complete

        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal answers
            answer = complete(*arguments, **named)
            with lock:
                answers += 1
                channel.alive(f"{answers} answers")
            return answer

        client.complete = counted
        return client

    return build


def _reasons(results: Path) -> dict[str, str]:
    """By name of a pair, why a stage left it out."""
    files = [results / name for name in FAILURES]
    told = [one for file in files if file.is_file() for one in json.loads(file.read_text(encoding="utf-8"))]
    return {one["series_uuid"]: str(one["reason"]) for one in told}


def _outcome(results: Path, name: str, reasons: Mapping[str, str]) -> dict[str, Any]:
    found = results / "per_report_metrics" / f"{name}.json"
    if name in reasons or not found.is_file():
        return {"failure": reasons.get(name, "RadMatch left it out and does not say why")}
    scored = json.loads(found.read_text(encoding="utf-8"))
    matching = json.loads((results / "matching" / f"{name}.json").read_text(encoding="utf-8"))
    return {
        "errors": scored["actionable_errors_total"],
        "degraded": bool(matching.get("validation_fallback")),
        **scored["clinical_safety_summary"],
    }


if __name__ == "__main__":
    serve(score)
