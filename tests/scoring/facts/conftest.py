"""The server on this machine that the judge's tests talk to, and what it answers here."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from radrl.observations import OBSERVATIONS

_FILE = Path(__file__).parents[1] / "judge" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("judge_server", _FILE)
_SERVER = importlib.util.module_from_spec(_SPEC)
sys.modules["judge_server"] = _SERVER  # its dataclass looks itself up there
_SPEC.loader.exec_module(_SERVER)
serve, reply, says = _SERVER.serve, _SERVER.reply, _SERVER.says


def facts_answer(*facts):
    return json.dumps({"facts": list(facts)})


def rulings_answer(**said):
    """Silent on all labels but those named, ``Pleural_Effusion=("supported", 1)`` and so on."""
    rulings = {name: {"facts": [], "verdict": "silent"} for name in OBSERVATIONS}
    for label, (verdict, *facts) in said.items():
        rulings[label.replace("_", " ")] = {"facts": facts, "verdict": verdict}
    return json.dumps(rulings)


def obliging(prompt):
    """A judge of few words: a sentence is a fact, and effusion is all it knows."""
    if "Report (a JSON string)" in prompt:
        report = json.loads(prompt.rstrip().rpartition("\n")[2])
        return facts_answer(*filter(None, (part.strip() for part in report.lower().split("."))))
    facts = [json.loads(text) for text in re.findall(r"^\d+\. (\".*\")$", prompt, re.MULTILINE)]
    for number, fact in enumerate(facts, 1):
        if "effusion" in fact:
            verdict = "contradicted" if fact.startswith("no ") else "supported"
            return rulings_answer(Pleural_Effusion=(verdict, number))
    return rulings_answer()


@pytest.fixture(name="facts_answer")
def _facts_answer():
    return facts_answer


@pytest.fixture(name="rulings_answer")
def _rulings_answer():
    return rulings_answer


@pytest.fixture(name="obliging")
def _obliging():
    return obliging
