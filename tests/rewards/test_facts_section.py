"""Which settings of FactS go together."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from radrl.rewards.facts import FactsSection

OWN = {"uncertain_as_positive": False, "beta": 1.5, "xi": 1e-8, "both_empty": 1.0}
JUDGE = {
    "backend": "endpoint",
    "url": "http://LocalHost:8000/v1",
    "model": "some",
    "allowed_hosts": ["LOCALHOST"],
    "concurrency": 1,
    "retries": 0,
    "timeout": 1.0,
    "max_tokens": 10,
    "temperature": 0.0,
    "seed": 0,
}


def section(extractor: str, entailment: str, judge: Any) -> FactsSection:
    return FactsSection.model_validate(
        OWN | {"extractor": extractor, "entailment": entailment, "judge": judge}
    )


@pytest.mark.parametrize(
    ("extractor", "entailment", "judge"),
    [
        ("rules", "rules", None),
        ("rules", "labeler", None),
        ("judge", "rules", JUDGE),
        ("rules", "judge", JUDGE),
        ("judge", "judge", JUDGE),
    ],
)
def test_what_goes_together(extractor: str, entailment: str, judge: Any) -> None:
    found = section(extractor, entailment, judge)
    assert (found.judge is None) == (judge is None)
    assert found.judge is None or found.judge.structured  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("extractor", "entailment", "judge", "said"),
    [
        ("judge", "rules", None, "extractor is judge, but there is no section judge"),
        ("rules", "judge", None, "entailment is judge, but there is no section judge"),
        ("rules", "rules", JUDGE, "judge is set, but extractor is rules and entailment rules"),
        ("rules", "labeler", JUDGE, "judge is set, but extractor is rules and entailment labeler"),
        ("judge", "labeler", JUDGE, "labeler"),
        ("rules", "judge", JUDGE | {"allowed_hosts": ["local"]}, "lacks 'localhost'"),
        ("rules", "judge", JUDGE | {"url": "http://[::1/v1"}, "url is no address"),
    ],
)
def test_what_does_not(extractor: str, entailment: str, judge: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        section(extractor, entailment, judge)
