"""Training of the compact CheXbert, at a size that takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from radrl.labelers.chexbert import folder
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import INDEX
from radrl.training.compact_labeler.fitting import (
    Muon,
    _layer_matrices,
    _optimizers,
    _rate,
    build,
    train,
)

pytestmark = pytest.mark.usefixtures("one_thread")

SETTINGS: dict[str, Any] = {
    "vocab_size": 200,
    "hidden": 32,
    "layers": 3,
    "heads": 4,
    "feed_forward": 64,
    "max_tokens": 48,
    "recombined": 6000,
    "reworded": 0,
    "longest": 3,
    "batch_size": 16,
    "learning_rate": 4.0e-3,
    "warmup_share": 0.1,
    "weight_decay": 0.01,
    "gradient_clip": 1.0,
}
FINDINGS = ("pleural effusion", "pneumothorax", "edema", "consolidation", "atelectasis", "cardiomegaly")
REPORTS = [f"There is {found}. No {other}." for found in FINDINGS for other in FINDINGS if found != other]


@pytest.fixture(scope="module")
def trained() -> tuple[Any, Any, list[dict[str, float]]]:
    return train(REPORTS, RulesLabeler(), SETTINGS, seed=0)


def test_it_reads_combinations_it_has_not_seen_as_the_rules_do(trained: tuple[Any, ...]) -> None:
    model, tokenizer, _ = trained
    new = [
        f"No {a}. There is {b}. No {c}." for a in FINDINGS for b in FINDINGS for c in FINDINGS if a < b < c
    ]
    columns = [INDEX[name] for name in ("Pleural Effusion", "Pneumothorax", "Edema", "Consolidation")]
    read, known = CheXbertLabeler(model, tokenizer).label(new), RulesLabeler().label(new)
    assert (read[:, columns] == known[:, columns]).mean() > 0.9


def test_both_losses_fall(trained: tuple[Any, ...]) -> None:
    curve = trained[2]
    for loss in ("loss", "sentence_loss"):
        assert np.mean([row[loss] for row in curve[-3:]]) < 0.5 * curve[0][loss]
    assert curve[-1]["step"] == -(-(SETTINGS["recombined"] + len(REPORTS)) // SETTINGS["batch_size"])


def test_same_seed_same_bytes(tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]) -> None:
    brief = SETTINGS | {"recombined": 60, "reworded": 40}
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        model, tokenizer, _ = train(REPORTS, RulesLabeler(), brief, seed=seed)
        (tmp_path / name).mkdir()
        folder.save(model, tokenizer, tmp_path / name)
    one, two, other = (contents(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two
    assert one[folder.WEIGHTS] != other[folder.WEIGHTS]


def test_saved_and_loaded_it_reads_the_same(trained: tuple[Any, ...], tmp_path: Path) -> None:
    model, tokenizer, _ = trained
    folder.save(model, tokenizer, tmp_path)
    again = CheXbertLabeler.from_folder(tmp_path)
    np.testing.assert_array_equal(again.label(REPORTS), CheXbertLabeler(model, tokenizer).label(REPORTS))


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(ValueError, match="hold no sentence"):
        train(["", "  "], RulesLabeler(), SETTINGS, seed=0)


def test_rate_rises_then_falls_to_nothing() -> None:
    rates = [_rate(step, 100, 0.1) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[10] == max(rates) == 1.0
    assert rates[99] == pytest.approx(1 / 90)


def test_muon_moves_the_matrices_of_layers_and_adamw_the_rest(trained: tuple[Any, ...]) -> None:
    model = build(trained[1], SETTINGS)
    weights = list(model.parameters())
    adam, muon = _optimizers(weights, _layer_matrices(model), SETTINGS)
    assert isinstance(muon, Muon)
    moved = [{id(w) for group in each.param_groups for w in group["params"]} for each in (adam, muon)]
    assert moved[0] | moved[1] == {id(weight) for weight in weights}
    assert not moved[0] & moved[1]
    assert len(moved[1]) == 6 * SETTINGS["layers"]  # query, key, value, output, and two of the feed-forward
    (only,) = _optimizers(weights, [], SETTINGS)
    assert len({id(w) for group in only.param_groups for w in group["params"]}) == len(weights)


def test_positions_start_as_sines(trained: tuple[Any, ...]) -> None:
    model = build(trained[1], SETTINGS)
    positions = model.bert.embeddings.position_embeddings.weight
    assert positions[0, :4].tolist() == pytest.approx([0, 0.1, 0, 0.1])  # sin 0, cos 0, scaled
    assert positions[1, 0].item() == pytest.approx(0.1 * np.sin(1))
    assert torch.isfinite(positions).all()
