"""What is measured is divided as the plan multiplies it; a few layers stand for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from radrl.plan import calibration, hours, report, shapes

CPU = torch.device("cpu")
TINY = {
    "vocab_size": 300,
    "hidden": 32,
    "layers": 2,
    "heads": 4,
    "kv_heads": 2,
    "feed_forward": 48,
    "vision_hidden": 32,
    "vision_layers": 2,
    "vision_heads": 2,
    "vision_feed_forward": 48,
    "patch_size": 14,
    "merge_size": 2,
}
WEIGHTS = 32 * 32 + 2 * 32 * 16 + 16 + 16 + 32 + 32 * 32 + 3 * 32 * 48 + 2 * 32
"""Of a layer: queries, keys and values of two heads of 8, their biases, output, feed-forward, norms."""


def shape(layers: int = 2) -> Any:
    return shapes.shape_of_config("tiny", shapes.tiny({**TINY, "layers": layers}, 56)).config


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], list[int]]:
    """Lets every piece of work run once and take so many seconds; how often one was asked for."""

    def make(seconds: float) -> list[int]:
        asked: list[int] = []

        def timed(work: Callable[[], Any], *_: Any, **__: Any) -> float:
            work()
            asked.append(1)
            return seconds

        monkeypatch.setattr(calibration, "timed", timed)
        return asked

    return make


def test_a_forward_pass_is_two_operations_a_weight_and_token_and_learning_six(takes: Any) -> None:
    takes(0.5)
    tokens = 8 * 128
    assert calibration.forward(shape(), CPU) == 2 * 2 * WEIGHTS * tokens / 0.5
    assert calibration.training(shape(), CPU) == 6 * 2 * WEIGHTS * tokens / 0.5


def test_a_copy_reads_and_writes(takes: Any) -> None:
    takes(0.25)
    assert calibration.bandwidth(CPU) == 2 * 2**26 / 0.25


def test_of_many_layers_a_few_are_built_as_wide_and_the_random_state_is_left() -> None:
    before = torch.random.get_rng_state()
    model = calibration.shallow(shape(20), 4, CPU, torch.float32)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert calibration.weights(model) == 4 * WEIGHTS
    assert calibration.weights(calibration.shallow(shape(2), 4, CPU, torch.float32)) == 2 * WEIGHTS


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        # (1.8 s - 1.0 s) over the 4 layers more, each of which reads 4 bytes a weight at 10^6 a second
        (20, 1000 * (0.8 - 4 * 4 * WEIGHTS / 1e6) / 4),
        # 0.6 s over 2 layers, which read their weights and the head's
        (2, 1000 * (0.6 - 4 * (2 * WEIGHTS + 300 * 32) / 1e6) / 2),
    ],
)
def test_a_layers_milliseconds_are_beside_the_reading_of_weights(
    layers: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_token = {2: 0.6, 4: 1.0, 8: 1.8}
    monkeypatch.setattr(
        calibration, "_a_token", lambda model, *_: a_token[model.config.get_text_config().num_hidden_layers]
    )
    assert calibration.layer_ms(shape(layers), CPU, 1e6) == pytest.approx(expected)


def test_a_device_is_measured_by_every_key_that_the_plan_takes() -> None:
    found = calibration.calibrated(shape(), "cpu", 0.0)
    assert set(found) == {"forward", "training", "bandwidth", "layer_ms", "texts"}
    assert all(value > 0 for value in found.values())
    hours.read("cpu", found)


def test_a_published_shape_of_another_family_is_made_shallow() -> None:
    with torch.device("meta"):
        config = shapes.published("qwen3-vl-2b").config
        model = calibration.shallow(config, 4, torch.device("meta"), torch.bfloat16)
    assert len(model.model.language_model.layers) == 4
    assert config.get_text_config().num_hidden_layers == 28


def test_a_plan_takes_what_was_measured_but_for_what_was_asked(
    root: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr(calibration, "calibrated", lambda *_: {"forward": 7.0, "layer_ms": 0.5})
    threads = torch.get_num_threads()
    try:
        found = report.plan(
            root / "conf/recipes/phantom-laptop.yaml", changed={"layer_ms": 2.0}, calibrate=True
        )
    finally:
        torch.set_num_threads(threads)
    assert (found.card.forward, found.card.layer_ms) == (7.0, 2.0)
    assert found.card.source.startswith(
        "forward: measured on this machine by radrl plan --calibrate; the rest: "
    )
    assert report.as_json(found)["sources"]["cpu"] == found.card.source


def test_a_card_elsewhere_cannot_be_calibrated(root: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    recipe = root / "conf/recipes/deer-mimic_cxr.yaml"
    with pytest.raises(report.Unknown, match="leave --card out"):
        report.plan(recipe, card="h100", calibrate=True)
    if not torch.cuda.is_available():
        with pytest.raises(report.Unknown, match="--calibrate: device is cuda"):
            report.plan(recipe, memory=78.0, calibrate=True)
