"""The watched validation films: what is read of their reports, and that looking changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pytest
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from small_arms import Letters

from radrl.credit.uniform import Uniform
from radrl.evaluation.baselines import NORMAL_REPORT
from radrl.observations import INDEX, OBSERVATIONS, POSITIVE
from radrl.policy import decoding, fixed_shapes, folder
from radrl.policy.folder import Policy
from radrl.policy.writer import Written
from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise, prompt_dataset
from radrl.training.watching.history_rows import NotFinite
from radrl.training.watching.watch import PREFIX, Watch, build, draw_sample, repetition

SIGNS = {"has edema": "Edema", "has effusion": "Pleural Effusion", "lungs are clear": "No Finding"}
CLEAR = "lungs are clear"
WATCH = {"every": 10, "films": 4}


class Signs:
    """Reads three phrases, and remembers what it was shown."""

    name = "signs"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def label(self, reports: Sequence[str]) -> Any:
        self.seen += reports
        labels = np.zeros((len(reports), len(OBSERVATIONS)), np.int8)
        for row, report in zip(labels, reports, strict=True):
            for phrase, observation in SIGNS.items():
                if phrase in report:
                    row[INDEX[observation]] = POSITIVE
        return labels


def watching(references: Sequence[str], films: Sequence[Any] = (), **settings: Any) -> Watch:
    plain: dict[str, Any] = {
        "prompt": "Write.", "labeler": Signs(), "form": "plain",
        "every": 2, "max_new_tokens": 5, "batch_size": 4,
    }  # fmt: skip
    return Watch(films or [(b"",)] * len(references), references, **plain | settings)


def ended(*texts: str) -> list[Written]:
    return [Written(text, len(text.split()), True) for text in texts]


class TestReading:
    REFERENCES = ("has edema", "has effusion", CLEAR, "has edema and has effusion")

    def test_numbers_by_hand(self) -> None:
        looping = "has edema has edema has edema has edema"
        written = [*ended(CLEAR, CLEAR, CLEAR), Written(looping, 9, False)]
        assert watching(self.REFERENCES).read(written) == pytest.approx(
            {
                # by report 0, 0, 1 and 2 / (2 + 0 + 1)
                "ce_signs_sample14_f1": (1 + 2 / 3) / 4,
                # Edema 2/3, Pleural Effusion 0, No Finding 2 / (2 + 2), 11 others 0
                "ce_signs_macro14_f1": (2 / 3 + 1 / 2) / 14,
                "ce_signs_micro14_f1": 4 / (4 + 2 + 3),
                # normal reports are blank without No Finding: 0; (1, 0) and (1, 1) are 45 degrees apart
                "ce_signs_mccs": 2**-0.5 / 4,
                "ce_signs_f1/Edema": 2 / 3,
                "ce_signs_f1/Pleural Effusion": 0,
                "ce_signs_f1/No Finding": 1 / 2,
                "findings_per_report": 1 / 4,
                "findings_per_reference": 4 / 4,
                "like_normal_share": 3 / 4,
                "like_normal_share_of_references": 1 / 4,
                "nothing_asserted_share": 0,
                "most_common_share": 3 / 4,
                "distinct_reports": 2,
                "repetition": 3 / 5,  # of one report alone: the others have no four words
                "mean_length": (3 + 3 + 3 + 9) / 4,
                "unended_share": 1 / 4,
            }
        )

    def test_report_that_says_nothing_is_no_normal_report(self) -> None:
        read = watching([CLEAR, CLEAR]).read(ended("no no no no", ""))
        assert (read["nothing_asserted_share"], read["like_normal_share"]) == (1, 0)

    def test_reports_too_short_to_repeat_leave_no_number(self) -> None:
        assert "repetition" not in watching([CLEAR]).read(ended(CLEAR))

    def test_all_labels_and_the_normal_report_are_the_trivial_rows(self) -> None:
        every = watching(self.REFERENCES).read(ended(*[" ".join(SIGNS)] * 4))
        assert every["findings_per_report"] == 2 > every["findings_per_reference"]
        normal = watching(self.REFERENCES).read(ended(*[f"The {NORMAL_REPORT}"] * 4))
        assert (normal["like_normal_share"], normal["most_common_share"]) == (1, 1)

    def test_of_reasoning_and_report_the_report_is_read(self) -> None:
        watch = watching(["has edema", CLEAR], form="think_report")
        well, broken = f"<think>has edema</think><report>{CLEAR}</report>", "has edema"
        read = watch.read(ended(well, broken))
        assert (read["form_share"], read["nothing_asserted_share"]) == (0.5, 0.5)
        assert (read["findings_per_report"], read["like_normal_share"]) == (0, 0.5)

    def test_references_are_read_once(self) -> None:
        labeler = Signs()
        watch = watching(["has edema"], labeler=labeler)
        watch.read(ended(CLEAR))
        watch.read(ended(CLEAR))
        assert labeler.seen == ["has edema", CLEAR, NORMAL_REPORT]

    @pytest.mark.parametrize(
        ("report", "share"),
        [
            ("a b c", None),
            ("a b c d", 0),
            ("a b c d e f g", 0),
            ("No no NO no no", 1 / 2),
            ("a b c d a b c d", 1 / 5),
        ],
    )
    def test_repetition(self, report: str, share: float | None) -> None:
        assert repetition(report) == (None if share is None else pytest.approx(share))

    def test_films_without_references_are_refused(self) -> None:
        with pytest.raises(ValueError, match="1 films, 2 references"):
            watching(["a", "b"], [(b"",)])


class TestSample:
    @pytest.fixture
    def corpus(self, make_corpus: Callable[..., ds.Dataset]) -> ds.Dataset:
        return make_corpus(["train", "val"], studies=9)

    def test_it_is_of_the_validation_split_and_follows_the_seed(self, corpus: ds.Dataset) -> None:
        def drawn(seed: int) -> list[str]:
            ids: list[str] = draw_sample(corpus, WATCH, seed=seed)["sample_id"].tolist()
            return ids

        assert len(set(drawn(0))) == 4
        assert all(name.startswith("val") for name in drawn(0))
        assert drawn(0) == sorted(drawn(0)) == drawn(0)
        assert len({tuple(drawn(seed)) for seed in range(9)}) > 1

    def test_small_split_is_taken_whole(self, corpus: ds.Dataset) -> None:
        assert len(draw_sample(corpus, {"every": 1, "films": 50}, seed=0)) == 9

    @pytest.mark.parametrize("settings", [None, {"every": 0, "films": 4}])
    def test_switched_off(self, corpus: ds.Dataset, settings: Any) -> None:
        sample = draw_sample(corpus, settings, seed=0)
        assert sample.empty
        assert build(sample, {"watch": settings}, prompt="", labeler=Signs(), form="plain") is None

    def test_split_without_films_is_told(
        self, make_corpus: Callable[..., ds.Dataset], caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            assert draw_sample(make_corpus(["train"]), WATCH, seed=0).empty
        assert "no film in split val: training is not watched" in caplog.text

    def test_as_many_sequences_at_once_as_a_step_has(self, corpus: ds.Dataset) -> None:
        settings = {"watch": WATCH, "max_new_tokens": 7, "prompts_per_step": 3, "rollouts": 2}
        sample = draw_sample(corpus, WATCH, seed=0)
        watch = build(sample, settings, prompt="Ask.", labeler=Signs(), form="plain")
        assert watch
        assert (watch.batch_size, watch.max_new_tokens, watch.every, watch.prompt) == (6, 7, 10, "Ask.")
        assert watch.references == sample["label_text"].tolist()


Run = Callable[..., tuple[Policy, list[dict[str, float]]]]


class TestTraining:
    @pytest.fixture
    def prompts(self, films: Callable[..., list[bytes]], texts: Any, prompt: str) -> Dataset:
        return prompt_dataset([(film,) for film in films(6)], texts(6), list("abcdef"), prompt)

    @pytest.fixture
    def watch(self, films: Callable[..., list[bytes]], texts: Any, prompt: str) -> Callable[..., Watch]:
        shown = [(film,) for film in films(3, seed=9)]
        return lambda **settings: watching(texts(3), shown, **{"batch_size": 2, "prompt": prompt} | settings)

    @pytest.fixture
    def run(self, policy_folder: Path, prompts: Dataset, small: dict[str, Any], tmp_path: Path) -> Run:
        brief = {"rollouts": 4, "learning_rate": 1e-2, "warmup_share": 0.0, "max_new_tokens": 6}

        def train(
            watch: Watch | None = None, *, workspace: str, report: Any = grpo.silent, **settings: Any
        ) -> tuple[Policy, list[dict[str, float]]]:
            return optimise(
                folder.load(policy_folder),
                prompts,
                reward=RewardSum([Part(Letters(), 1.0)]),
                credit=Uniform(),
                settings=small["training"] | brief | settings,
                seed=3,
                workspace=tmp_path / workspace,
                report=report,
                watch=watch,
            )

        return train

    @pytest.mark.parametrize("tunes", ["full", "lora"])
    def test_looking_changes_no_weight_and_no_other_number(
        self, run: Run, watch: Any, weights: Any, same: Any, tunes: str
    ) -> None:
        targets = [f"model.language_model.layers.*.self_attn.{one}_proj" for one in "qv"]
        lora = {"rank": 4, "alpha": 8, "dropout": 0.3, "targets": targets}  # dropout is drawn
        blind, curve = run(workspace="blind", tunes=tunes, lora=lora)
        seeing, watched = run(watch(every=1), workspace="seeing", tunes=tunes, lora=lora)
        assert same(weights(seeing), weights(blind))
        plain = [{k: v for k, v in row.items() if not k.startswith(PREFIX)} for row in watched]
        assert plain == [{"step": 0}, *curve]

    def test_looks_at_first_every_so_often_and_at_last(self, run: Run, watch: Any) -> None:
        told: dict[int, Any] = {}
        _, curve = run(watch(every=3), workspace="w", report=lambda step, row: told.setdefault(step, {**row}))
        looks = [
            row["step"] for row in curve if f"{PREFIX}repetition" in row or f"{PREFIX}mean_length" in row
        ]
        assert looks == [0, 3, 4]
        assert [row["step"] for row in curve] == [0, 1, 2, 3, 4]
        for row in curve:
            own = {k: v for k, v in row.items() if k.startswith(PREFIX)}
            assert own == {k: v for k, v in told[row["step"]].items() if k.startswith(PREFIX)}
        assert len(told) == 5

    def test_killed_and_resumed_has_the_looks_of_the_unbroken_run(
        self, run: Run, watch: Any, weights: Any, same: Any, killed_after: Any
    ) -> None:
        unbroken, curve = run(watch(), workspace="unbroken")
        with killed_after(grpo, step=2):
            run(watch(), workspace="killed")
        resumed, resumed_curve = run(watch(), workspace="killed")
        assert same(weights(resumed), weights(unbroken))
        assert resumed_curve == curve

    @pytest.mark.parametrize("spoilt", [float("nan"), float("inf")])
    def test_number_that_is_none_stops_before_weights_are_written(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoilt: float
    ) -> None:
        compute = grpo.ReportGRPOTrainer._compute_loss

        def spoil(trainer: Any, *args: Any) -> torch.Tensor:
            return compute(trainer, *args) * (spoilt if trainer.state.global_step == 1 else 1)

        monkeypatch.setattr(grpo.ReportGRPOTrainer, "_compute_loss", spoil)
        told: list[int] = []
        with pytest.raises(
            NotFinite, match=r"(loss|grad_norm) is (nan|inf) at step 2: the weights are spoilt"
        ):
            run(workspace="w", checkpoint_every=1, report=lambda step, _: told.append(step))
        assert [path.name for path in (tmp_path / "w").glob("checkpoint-*")] == ["checkpoint-1"]
        assert told == [1, 2]

    def test_policy_is_left_as_it_was(self, policy: Policy, watch: Any) -> None:
        policy.model.train()
        policy.model.lm_head.eval()
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        first = watch().measure(policy)
        assert bool((torch.rand(3) == expected).all())
        assert policy.model.training
        assert not policy.model.lm_head.training
        assert watch(batch_size=3).measure(policy) == first

    @pytest.mark.parametrize("adapted", [False, True])
    def test_the_memory_of_its_steps_is_given_back(
        self, policy: Policy, watch: Any, adapted: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept: list[int] = []
        monkeypatch.setattr(decoding, "fixes", lambda device: True)
        monkeypatch.setattr(fixed_shapes, "_failed", [])
        forget = fixed_shapes.forget
        monkeypatch.setattr(
            fixed_shapes, "forget", lambda model: (kept.append(len(fixed_shapes._steps)), forget(model))
        )
        model = (
            get_peft_model(policy.model, LoraConfig(target_modules=["q_proj"])) if adapted else policy.model
        )
        watch().measure(replace(policy, model=model))
        assert (kept, len(fixed_shapes._steps)) == ([1], 0)
