"""A test double of vLLM's worker: it writes down what it is asked, and answers without an engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from radrl.policy import folder, vllm_writer

_SCRIPT = """
import json, os
from channel import serve
def work(request, channel):
    if "open" in request:
        channel.about({"vllm": "none", "torch": "none", "device": request["open"]["device"]})
    if "load" in request:
        with open(request["load"]["file"], "rb") as held:
            request["load"]["bytes"] = len(held.read())
    request["alone"] = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE")}
    with open(LOG, "a") as log:
        log.write(json.dumps(request) + "\\n")
    for number in range(len(request.get("prompts", ()))):
        if "logprobs" in request["sampling"]:
            channel.answer(number, [[[7, END], True, [-0.5, -0.25]]])
        else:
            channel.answer(number, [[[number, k, END], True] for k in range(request["sampling"]["n"])])
serve(work)
"""


class RecordedVllm:
    """Stands in vLLM's place for every writer that a test opens.

    Args:
        policy: folder of the policy, whose end of a report it answers with.
        work: an existing folder.
        monkeypatch: of the test.
    """

    def __init__(self, policy: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._log, script = work / "requests.jsonl", work / "records.py"
        end = folder.ends(folder.outline(policy))[0]
        script.write_text(_SCRIPT.replace("LOG", repr(str(self._log))).replace("END", str(end)))
        monkeypatch.setattr(vllm_writer, "SCRIPT", script)

    def asked(self) -> list[dict[str, Any]]:
        """All requests so far; of weights to load also how many bytes, with each what a launcher has said."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]
