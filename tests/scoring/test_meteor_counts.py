"""METEOR for the comparison against its own program."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.evaluation.meteor import METEOR
from radrl.scoring import meteor_counts
from radrl.scoring.base import ScoringError
from radrl.scoring.meteor import MeteorProcess, meteor_missing
from radrl.scoring.meteor_counts import MeteorCounts

REFERENCES = [
    "The heart is enlarged. There is a small left pleural effusion.",
    "No acute cardiopulmonary abnormality.",
    "Lungs are clear. No pneumothorax.",
    "The heart size is normal.",
    "Patchy opacities seen in the lungs.",
]
HYPOTHESES = [
    "Heart is mildly enlarged. Small effusions at left.",
    "No acute disease of the chest.",
    "",
    "The heart size is normal.",
    "A patchy opacity is seen in left lung bases.",
]


@pytest.mark.skipif(meteor_missing() is not None, reason=str(meteor_missing()))
def test_sums_give_what_the_program_gives() -> None:
    found = MeteorCounts("whitespace").score(REFERENCES, HYPOTHESES)
    with MeteorProcess() as process:
        corpus, per_report = process.score(REFERENCES, HYPOTHESES)
    assert found.corpus[METEOR] == pytest.approx(corpus, abs=1e-9)
    assert found.per_report[METEOR] == pytest.approx(per_report, abs=1e-9)
    assert found.summed is not None
    weights = np.array([2, 0, 1, 0, 1.0])  # a resample: the first pair twice
    resample = [0, 0, 2, 4]
    with MeteorProcess() as process:
        corpus, _ = process.score([REFERENCES[i] for i in resample], [HYPOTHESES[i] for i in resample])
    assert found.summed.of_sums(weights @ found.summed.per_study)[METEOR] == pytest.approx(corpus, abs=1e-9)


def test_without_java_the_comparison_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor_counts, "meteor_missing", lambda: "no java on PATH")
    with pytest.raises(ScoringError, match="nlg_meteor cannot be had here: no java on PATH"):
        MeteorCounts("basic").score(["a"], ["b"])
