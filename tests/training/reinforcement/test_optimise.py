"""What the trainer is made of, and what becomes of it, with a trainer that only pretends."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_arms import MIXING, TRAINING
from transformers import PrinterCallback, ProgressCallback

from radrl.training.callbacks import StepReport
from radrl.training.reinforcement import grpo
from radrl.training.watching.early_stopping import EarlyStopping, Finite
from radrl.training.watching.watch import Watching

LOOKS = {"every": 2, "films": 3, "metric": "sample14_f1", "patience": None, "keep": "last"}
REWARD: Any = SimpleNamespace(weights=lambda share: [0.5, 2.0] if share == 0 else [9.0, 9.0])
WATCH: Any = SimpleNamespace(column=lambda metric: f"watch/{metric}")
POLICY: Any = SimpleNamespace(model=SimpleNamespace(name_or_path="start"), processor="processor")


class Trainer:
    """Notes what it is made of, and its callbacks."""

    requests: Any = SimpleNamespace(close=lambda: None)

    def __init__(self, **given: Any) -> None:
        self.given, self.model = given, "model"
        self.args = SimpleNamespace(disable_tqdm=False)
        self.changed: list[tuple[str, Any]] = []

    def remove_callback(self, kind: Any) -> None:
        self.changed.append(("without", kind))

    def add_callback(self, one: Any) -> None:
        self.changed.append(("with", one))


Told = dict[str, Any]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What is done on the way, by name."""
    found: Told = {"checked": []}
    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Trainer)
    monkeypatch.setattr(grpo.tuning, "freeze", lambda *given: found.update(frozen=given))
    monkeypatch.setattr(grpo.tuning, "check_masters", lambda model: found["checked"].append(model))
    monkeypatch.setattr(grpo, "check_weights", lambda *given, **how: found.update(weights=(given, how)))

    def trained(trainer: Any, policy: Any, **how: Any) -> str:
        found.update(trainer=trainer, policy=policy, how=how)
        return "trained"

    monkeypatch.setattr(grpo, "trained", trained)
    return found


def optimise(workspace: Path, *, prompts: int = 4, observers: Any = (), **more: Any) -> Any:
    settings = TRAINING | {"watch": LOOKS} | more.pop("settings", {})
    return grpo.optimise(
        POLICY,
        ["film"] * prompts,  # type: ignore[arg-type]
        reward=REWARD,
        credit="credit",  # type: ignore[arg-type]
        settings=settings,
        seed=5,
        workspace=workspace,
        observers=observers,
        **more,
    )


def test_trainer_has_the_parts_it_is_handed(told: Told, tmp_path: Path) -> None:
    found = optimise(tmp_path, oracle="oracle", sampler="sampler", dtype="bfloat16", report=print)
    assert found == "trained"
    given = told["trainer"].given
    assert (given["reward"], given["credit"]) == (REWARD, "credit")
    assert (given["oracle"], given["sampler"], given["advantage"]) == ("oracle", "sampler", "trl")
    assert (given["model"], given["processing_class"], given["peft_config"]) == (
        POLICY.model,
        "processor",
        None,
    )
    assert given["train_dataset"] == ["film"] * 4
    assert told["frozen"] == (POLICY.model, "full", "bfloat16")
    assert told["checked"] == ["model"]
    step, finite = given["callbacks"]
    assert isinstance(step, StepReport)
    assert step.report is print
    assert isinstance(finite, Finite)
    assert told["how"] == {"tunes": "full", "workspace": tmp_path, "keep_best": False}
    assert told["policy"] is POLICY


def test_arguments_are_those_of_the_settings(told: Told, tmp_path: Path) -> None:
    optimise(tmp_path, dtype="bfloat16", settings={"adam_betas": [0.8, 0.95], "warmup_share": 0.25})
    args = told["trainer"].given["args"]
    assert args.output_dir == str(tmp_path)
    assert args.model_init_kwargs == {"dtype": "bfloat16", "device_map": None}
    assert args.reward_weights == [0.5, 2.0]  # of the first step
    assert (args.seed, args.data_seed, args.max_steps) == (5, 5, 4)
    assert (args.adam_beta1, args.adam_beta2, args.warmup_steps) == (0.8, 0.95, 0.25)
    assert (args.learning_rate, args.weight_decay, args.max_grad_norm) == (1e-2, 0.0, 1.0)
    assert (args.save_steps, args.save_total_limit, args.logging_steps) == (2, 2, 1)
    assert args.logging_nan_inf_filter is False
    assert args.disable_dropout is True
    assert args.use_cpu is True


def test_steps_are_counted_where_epochs_are_given(told: Told, tmp_path: Path) -> None:
    optimise(tmp_path, prompts=6, settings={"steps": None, "epochs": 2})
    assert told["trainer"].given["args"].max_steps == 6  # 2 x 6 films, 2 a step


@pytest.mark.parametrize(
    ("importance", "correction", "mode", "cap"),
    [
        (None, False, None, None),
        ({"mode": "sequence_mask", "cap": 3.5}, True, "sequence_mask", 3.5),
    ],
)
def test_correction_for_another_engine_is_as_asked(
    told: Told, tmp_path: Path, importance: Any, correction: bool, mode: Any, cap: Any
) -> None:
    optimise(tmp_path, settings={"importance": importance})
    args = told["trainer"].given["args"]
    assert args.vllm_importance_sampling_correction is correction
    if correction:
        assert (args.vllm_importance_sampling_mode, args.vllm_importance_sampling_clip_max) == (mode, cap)
        assert args.vllm_importance_sampling_clip_min is None


@pytest.mark.parametrize(
    ("own", "stops", "keeps"),
    [
        ({}, False, False),
        ({"patience": 6}, True, False),
        ({"keep": "best"}, True, True),
        ({"patience": 6, "keep": "best"}, True, True),
    ],
)
def test_looks_come_before_what_decides_by_them_and_before_reports(
    told: Told, tmp_path: Path, own: dict[str, Any], stops: bool, keeps: bool
) -> None:
    optimise(tmp_path, watch=WATCH, settings={"watch": LOOKS | own})
    callbacks = told["trainer"].given["callbacks"]
    kinds = [Watching, *([EarlyStopping] if stops else []), StepReport, Finite]
    assert [type(one) for one in callbacks] == kinds
    looks = callbacks[0]
    assert (looks.watch, looks.processor, looks.report) == (WATCH, "processor", grpo.silent)
    if stops:
        stopping = callbacks[1]
        assert (stopping.column, stopping.patience) == ("watch/sample14_f1", own.get("patience"))
        assert stopping.keep_best is keeps
    assert told["how"]["keep_best"] is keeps


def test_nothing_is_kept_for_looks_that_nobody_takes(told: Told, tmp_path: Path) -> None:
    optimise(tmp_path, settings={"watch": LOOKS | {"keep": "best"}})
    assert told["how"]["keep_best"] is False


@pytest.mark.parametrize(
    ("settings", "oracle", "read"),
    [
        ({"kl": 0.05}, None, True),
        ({"kl": 0.0}, None, False),
        ({"kl": 0.0}, MIXING, True),
        ({"kl": 0.05, "tunes": "lora"}, None, False),  # whose base is the frozen start
    ],
)
def test_frozen_start_that_is_read_again_is_looked_at(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, oracle: Any, read: bool
) -> None:
    monkeypatch.setattr(grpo.tuning, "lora_config", lambda *given: given)
    optimise(tmp_path, oracle=oracle, settings=settings | {"lora": {"rank": 2}})
    assert told.get("weights") == (((Path("start"),), {"numbers": False}) if read else None)
    adapters = ({"rank": 2}, POLICY.model) if "tunes" in settings else None
    assert told["trainer"].given["peft_config"] == adapters
    assert told["trainer"].given["args"].disable_dropout is (adapters is None)


@pytest.mark.parametrize("bars", [True, False])
def test_bar_of_an_observer_takes_the_place_of_the_trainers(bars: bool) -> None:
    trainer: Any = Trainer()
    trainer.args.disable_tqdm = not bars
    bar, other = ProgressCallback(), PrinterCallback()
    grpo._let_observe(trainer, [bar, other])
    mine = [("without", ProgressCallback), ("with", bar)] if bars else []
    assert trainer.changed == [*mine, ("with", other)]


def test_device_is_where_it_trains(tmp_path: Path) -> None:
    arguments = grpo._arguments(TRAINING, REWARD, 5, tmp_path, torch.device("cpu"))
    assert (arguments.device.type, arguments.model_init_kwargs["dtype"]) == ("cpu", "float32")
