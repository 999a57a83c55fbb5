"""What an arm's training is made of: its films, its parts, and the workspace that is its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from small_arms import MIXING, TRAINING

from radrl.credit.uniform import Uniform
from radrl.rewards.base import RewardError
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import ArmSettings
from radrl.training.reinforcement import arm as module
from radrl.training.reinforcement.arm import Arm
from radrl.training.reinforcement.oracle import Oracle

REWARD = {"ce_f1": {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}}
LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
WATCH = {"every": 2, "films": 3, "metric": "ce_f1", "patience": None, "keep": "last"}
SEEN = ["train2_1", "train0_1", "train3_1"]

Make = Callable[..., Arm]


@pytest.fixture
def make(make_corpus: Callable[..., ds.Dataset], policy_folder: Path, tmp_path: Path) -> Make:
    """An arm of three films; keys of its training, and whatever else of it, are the test's."""
    (tmp_path / "models").mkdir()

    def build(
        own: dict[str, Any] | None = None, corpus: Any = None, sample_ids: Any = SEEN, **training: Any
    ) -> Arm:
        settings = ArmSettings(
            arm={"reward": REWARD, "training": training} | (own or {}),
            training=TRAINING | {"watch": WATCH} | training,
            labeler=LABELER,
            dtype="bfloat16",
            prompt="Write.",
            seed=3,
            threads=1,
            device="cpu",
        )
        films = corpus or make_corpus(("train", "val"))
        return Arm(settings, films, sample_ids, policy_folder, tmp_path / "models", tmp_path / "work")

    return build


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the optimiser is handed, by name."""
    found: dict[str, Any] = {}

    def optimise(policy: Any, prompts: Any, **more: Any) -> str:
        found.update(more, policy=policy, prompts=prompts)
        return "trained"

    monkeypatch.setattr(module, "optimise", optimise)
    return found


def test_films_come_in_the_order_in_which_they_were_selected(
    make: Make, handed: dict[str, Any], texts: Callable[[int], list[str]], make_corpus: Callable[..., Any]
) -> None:
    read = [f"read {i}" for i in range(8)]
    arm = make(corpus=make_corpus(("train", "val"), label_text=read))
    assert arm.run("report", ["observer"]) == "trained"  # type: ignore[arg-type, list-item, comparison-overlap]
    rows = handed["prompts"][:]
    assert rows["sample_id"] == SEEN
    assert rows["reference"] == [texts(4)[i] for i in (2, 0, 3)]
    assert rows["label_text"] == ["read 2", "read 0", "read 3"]
    assert rows["prompt"][0][0]["content"] == "Write."
    assert len(rows["images"]) == 3


def test_training_is_by_the_arms_settings(make: Make, handed: dict[str, Any]) -> None:
    arm = make(kl=0.5)
    arm.run("report", ["observer"])  # type: ignore[arg-type, list-item]
    assert handed["settings"] == arm.settings.training
    assert handed["settings"]["kl"] == 0.5
    assert (handed["seed"], handed["dtype"], str(handed["device"])) == (3, "bfloat16", "cpu")
    assert (handed["report"], handed["observers"]) == ("report", ["observer"])
    assert handed["workspace"] == arm.workspace
    assert handed["sampler"] is None  # engine: hf
    assert handed["policy"].model.name_or_path == str(arm.start)


def test_parts_of_an_arm_that_names_a_reward_alone(make: Make, handed: dict[str, Any]) -> None:
    make().run("report")  # type: ignore[arg-type]
    assert [part.name for part in handed["reward"].parts] == ["ce_f1"]
    assert isinstance(handed["credit"], Uniform)
    assert handed["oracle"] is None
    assert handed["watch"] is not None


def test_oracle_is_the_arms_and_watches_only_where_asked(make: Make, handed: dict[str, Any]) -> None:
    make({"oracle": MIXING}, watch={**WATCH, "every": 0}).run("report")  # type: ignore[arg-type]
    oracle = handed["oracle"]
    assert isinstance(oracle, Oracle)
    assert {name: getattr(oracle, name) for name in MIXING} == MIXING
    assert handed["watch"] is None


def test_reward_and_watch_ask_one_labeler(
    make: Make, handed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    build = module.build_labeler

    def counted(*args: Any, **more: Any) -> Any:
        made.append((args, more))
        return build(*args, **more)

    monkeypatch.setattr(module, "build_labeler", counted)
    arm = make()
    arm.run("report")  # type: ignore[arg-type]
    assert made == [((LABELER, arm.labeler_models), {"name": "rules", "device": "cpu"})]


def test_workspace_is_kept_for_the_same_work_alone(
    make: Make, make_corpus: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    arm = make(prompts_per_step=2, steps=3)
    with caplog.at_level("INFO", logger=module.__name__):
        arm.prepare(1)
    assert "3 updates of 3 films: 2.00 epochs" in caplog.text  # 3 x 2 prompts over 3 films
    kept = arm.workspace / "checkpoint"

    def stays(again: Arm) -> bool:
        kept.touch()
        again.prepare(1)
        return kept.exists()

    same = {"prompts_per_step": 2, "steps": 3}
    assert stays(make(**same))
    assert not stays(make(**same, kl=0.5))
    assert stays(make(**same, kl=0.5))
    assert not stays(make(**same))
    reports = ["Clear."] * 8
    assert not stays(make(corpus=make_corpus(("train", "val"), report=reports), **same))
    assert not stays(make(**same))
    watched = ["as it was"] * 4 + ["another"] * 4
    assert not stays(make(corpus=make_corpus(("train", "val"), label_text=watched), **same))


def test_what_cannot_train_is_refused_before_a_workspace_is_claimed(make: Make) -> None:
    for arm in (
        make(prompts_per_step=4),  # of 3 films
        make(corpus=None, watch={**WATCH, "every": 0, "patience": 2}),
    ):
        with pytest.raises(SettingsError):
            arm.prepare(1)
        assert not arm.workspace.exists()


def test_film_that_is_selected_twice_or_is_no_training_film(make: Make) -> None:
    with pytest.raises(Exception, match="Merge keys are not unique"):
        make(sample_ids=["train0_1", "train0_1"]).prepare(1)
    with pytest.raises(SettingsError):
        make(sample_ids=["val0_1", "val1_1"]).prepare(1)


def test_rewards_are_built_for_the_arms_form_and_its_own_reports(
    make: Make, handed: dict[str, Any], texts: Callable[[int], list[str]]
) -> None:
    nlg = {"nlg": {"weight": 1.0, "preparation": "basic", "bleu": 4}}
    make({"reward": nlg, "output": "think_report"}).run("report")  # type: ignore[arg-type]
    (part,) = handed["reward"].parts
    output = f"<think>Hm.</think><report>{texts(1)[0]}</report>"
    (inside,) = handed["reward"].score_part(part, [output], texts(1), ["a"])
    assert inside > 0.7  # the tags and the reasoning are no words of the report
    for count in (0, 1):  # CIDEr counts in the references of the films that are seen
        with pytest.raises(ValueError, match=f"there are {count}"):
            make({"reward": nlg}, sample_ids=SEEN[:count]).run("report")  # type: ignore[arg-type]


class Tried:
    """A reward that says what it depends on, and may not work."""

    clinical, about, wrong = True, {"sha256": "1"}, False

    def __call__(self, reports: Any, references: Any, sample_ids: Any) -> list[float]:
        return [0.0] * len(reports)

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        if self.wrong:
            raise RewardError("reward mine: finds no package; `make scorers`")
        yield self.about


def test_a_reward_that_needs_weights_is_tried_first_and_its_digest_is_of_the_work(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = {"reward": {"mine": {"part": f"{__name__}:Tried", "weight": 1.0}}}
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Tried.__module__])
    arm = make(own)
    monkeypatch.setattr(Tried, "wrong", True)
    with pytest.raises(RewardError, match="make scorers"):
        arm.prepare(1)
    monkeypatch.setattr(Tried, "wrong", False)
    assert not arm.workspace.exists()
    with caplog.at_level("INFO", logger=module.__name__):
        arm.prepare(1)
    assert "reward mine.sha256: 1" in caplog.text
    (kept := arm.workspace / "checkpoint").touch()
    make(own).prepare(1)
    assert kept.exists()
    monkeypatch.setattr(Tried, "about", {"sha256": "2"})
    make(own).prepare(1)
    assert not kept.exists()
