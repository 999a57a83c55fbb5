"""How far a compact CheXbert agrees with the rules on real reports it has not seen.

Split by a hash of the report's number: 7 parts of 10 to learn from, 3 unseen. The settings were
found with 2 of the 7 parts held out; their number of texts is what ten minutes of one core allow.
"""

from __future__ import annotations

import csv
import hashlib
import os
from pathlib import Path
from typing import Any, Final

import pytest

from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.pipelines.labeler import agreement
from radrl.training.compact_labeler.fitting import train

REPORTS: Final = Path(os.environ.get("RADRL_SHARED", "")) / "data" / "openi" / "indiana_reports.csv"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("RADRL_SHARED") or not REPORTS.is_file(),
        reason="set RADRL_SHARED to a folder with data/openi",
    ),
    pytest.mark.usefixtures("one_thread"),
]

SETTINGS: Final[dict[str, Any]] = {
    "vocab_size": 3000,
    "hidden": 128,
    "layers": 3,
    "heads": 4,
    "feed_forward": 256,
    "max_tokens": 192,
    "recombined": 180000,
    "reworded": 150000,
    "longest": 6,
    "batch_size": 32,
    "learning_rate": 4.0e-3,
    "warmup_share": 0.1,
    "weight_decay": 0.01,
    "gradient_clip": 1.0,
}


def is_unseen(uid: str) -> bool:
    return int(hashlib.sha256(uid.encode()).hexdigest(), 16) % 10 < 3


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    with REPORTS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["findings"].strip() or row["impression"].strip()]
    texts = {row["uid"]: f"{row['findings']}\n\n{row['impression']}".strip() for row in rows}
    learned = list(dict.fromkeys(text for uid, text in texts.items() if not is_unseen(uid)))
    unseen = [
        t for t in dict.fromkeys(text for uid, text in texts.items() if is_unseen(uid)) if t not in learned
    ]
    teacher = RulesLabeler()
    model, tokenizer, _ = train(learned, teacher, SETTINGS, seed=0)
    return agreement(teacher.label(unseen), CheXbertLabeler(model, tokenizer).label(unseen))


def test_agreement_with_the_rules_on_unseen_reports(found: dict[str, Any]) -> None:
    """The aim is 0.97 in both readings; 0.973 and 0.987 were measured.

    The bounds leave room for another processor's rounding, which in the end is another draw of the weights:
    at 100,000 texts seeds 0 and 1 differed by 0.01 and 0.004.
    """
    assert found["macro_f1"] > 0.96
    assert found["macro_f1_uncertain_pos"] > 0.975
    assert found["equal_classes"] > 0.99
