"""The schema of an arm's `credit` and what it says of a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.params.messages import ParamsError
from radrl.params.schema import Params, validate

RULE = {"alpha": 4.0, "tf": "relative", "idf": "plain"}
GRADIENT = {
    "beta": 1.0,
    "normalise": "none",
    "uncertain_as_positive": False,
    "no_finding": True,
    "uncertain": False,
    "labeler": "chexbert_compact",
}


def checked(root: Path, credit: Any) -> Params:
    """params.yaml with another credit for the arm grpo."""
    values: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    values["arms"]["grpo"]["credit"] = credit
    return validate(values)


@pytest.mark.parametrize("credit", ["uniform", {"tf_idf": RULE}, {"gradient": GRADIENT}])
def test_credit_is_written_as_it_was_read(root: Path, credit: Any) -> None:
    written = checked(root, credit).model_dump(exclude_unset=True)
    assert written["arms"]["grpo"]["credit"] == credit


KINDS = "give uniform, or one of tf_idf and gradient with its settings"
WRONG = [
    ("unifrm", f"arms.grpo.credit: 'unifrm' is no credit; {KINDS}"),
    ({}, f"arms.grpo.credit: {KINDS}"),
    (None, f"arms.grpo.credit: None is no credit; {KINDS}"),
    ({"tf_idf": None}, f"arms.grpo.credit: {KINDS}"),
    ({"tf_idf": RULE, "gradient": GRADIENT}, f"arms.grpo.credit: {KINDS}"),
    ({"tfidf": RULE}, "arms.grpo.credit.tfidf: no such key; did you mean 'tf_idf'?"),
    ({"tf_idf": RULE | {"alfa": 1}}, "arms.grpo.credit.tf_idf.alfa: no such key; did you mean 'alpha'?"),
    ({"tf_idf": {"alpha": 1.0, "tf": "raw"}}, "arms.grpo.credit.tf_idf.idf: is missing"),
    ({"tf_idf": RULE | {"tf": "log"}}, "credit.tf_idf.tf: Input should be 'relative' or 'raw' (it is 'log')"),
    ({"tf_idf": RULE | {"alpha": -1}}, "credit.tf_idf.alpha: Input should be greater than or equal to 0"),
    ({"tf_idf": RULE | {"alpha": float("inf")}}, "credit.tf_idf.alpha: Input should be a finite number"),
    (
        {"gradient": GRADIENT | {"labeler": "rules"}},
        "arms.grpo.credit.gradient.labeler: rules have no gradients; set it to chexbert_compact or chexbert",
    ),
    (
        {"gradient": GRADIENT | {"labeler": "compact"}},
        "credit.gradient.labeler: Input should be 'chexbert' or 'chexbert_compact' (it is 'compact')",
    ),
]


@pytest.mark.parametrize(("credit", "message"), WRONG)
def test_wrong_credit_is_refused_with_its_key_and_the_mend(root: Path, credit: Any, message: str) -> None:
    with pytest.raises(ParamsError) as caught:
        checked(root, credit)
    assert message in str(caught.value)
