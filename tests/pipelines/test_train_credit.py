"""Arms with DiTPO's credits as stages, with a CheXbert of some thousand weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from small_arms import GRADIENT, RULE, train_inputs, train_stage

from radrl.labelers import LabelerError


@pytest.fixture
def train(
    small: dict[str, Any],
    make_corpus: Callable[..., ds.Dataset],
    policy_folder: Path,
    models: Path,
    silent: Any,
    tmp_path: Path,
) -> Callable[..., Any]:
    def run(credit: Any, **changed: Any) -> Any:
        corpus = make_corpus(["train", "test"], studies=12)
        arguments = train_inputs(small, corpus, policy_folder, tmp_path, credit=credit)
        arguments |= {"labeler_models": models, "training": small["training"] | {"steps": 2}}
        return train_stage(**arguments | changed, step_report=silent)

    return run


@pytest.mark.parametrize("credit", [RULE, GRADIENT], ids=["tf_idf", "gradient"])
def test_weights_are_in_the_arms_curve(train: Callable[..., Any], credit: Any) -> None:
    _, curve = train(credit)
    assert (curve["credit/weight_max"] > 1).any()
    assert (curve["credit/weight_mean"] >= 1).all()


@pytest.mark.parametrize("reader", ["chexbert_compact", "rules"])
def test_reward_and_credit_share_what_they_ask(
    train: Callable[..., Any], small: dict[str, Any], monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    loaded: list[Path] = []
    original = CheXbertLabeler.from_folder

    def noting(folder: Path, **more: Any) -> CheXbertLabeler:
        loaded.append(folder)
        return original(folder, **more)

    monkeypatch.setattr(CheXbertLabeler, "from_folder", noting)
    train(GRADIENT, labeler=small["labeler"] | {"name": reader})
    assert len(loaded) == 1


def test_labeler_without_a_model_is_named(train: Callable[..., Any]) -> None:
    wants = {"gradient": GRADIENT["gradient"] | {"labeler": "chexbert"}}
    with pytest.raises(LabelerError, match=r"no model of chexbert: set labeler\.chexbert and run the stage"):
        train(wants)
