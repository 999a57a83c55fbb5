"""What each stage asks the policy: every film's own prompt, in which no text of another split stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from small_arms import train_inputs, train_stage

from radrl.pipelines.generate import write_reports
from radrl.pipelines.policy import make_base_policy
from radrl.pipelines.rollouts import sample_rollouts
from radrl.pipelines.sft import cold_start
from radrl.policy import folder
from radrl.policy.encoding import decode_film
from radrl.policy.hf_writer import HfWriter, write
from radrl.training.supervised.fine_tuning import Examples, fine_tune

SPLITS = ("pretrain", "train", "val", "test")
TEMPLATE = "For {indication|no reason}: {prior:9|no film before}"
STUDIES = 4


@pytest.fixture
def corpus(make_corpus: Callable[..., ds.Dataset]) -> ds.Dataset:
    """Two patients with two studies each, who stand in every split, the source having them so."""
    told = [f"Effusion {number} of {split}." for split in SPLITS for number in range(STUDIES)]
    return make_corpus(
        SPLITS,
        studies=STUDIES,
        report=told,
        patient_id=["a", "a", "b", "b"] * len(SPLITS),
        taken=[1, 2, 2, 1] * len(SPLITS),
        indication=["Cough.", None, None, "Fever."] * len(SPLITS),
    )


@pytest.fixture
def inputs(small: dict[str, Any], corpus: ds.Dataset, tmp_path: Path) -> dict[str, Any]:
    small["prompts"] = {"plain": TEMPLATE, "think_report": f"Think. {TEMPLATE}"}
    return {
        "corpus": corpus,
        "dtype": "float32",
        "seed": 0,
        "threads": 1,
        "device": "cpu",
        "workspace": tmp_path / "work",
    }


def expected(split: str) -> list[str]:
    """By hand: studies 1 and 2 are their patients' second ones."""
    return [
        "For Cough.: no film before",
        f"For no reason: Effusion 0 of {split}.",
        f"For no reason: Effusion 3 of {split}.",
        "For Fever.: no film before",
    ]


def test_rollouts_are_drawn_on_each_films_own_prompt(
    inputs: dict[str, Any], small: dict[str, Any], policy_folder: Path, rendered: list[str]
) -> None:
    list(sample_rollouts(start=policy_folder, settings=small["rollouts"], prompt=TEMPLATE, **inputs))
    assert rendered == expected("train")


@pytest.mark.parametrize("output", ["plain", "think_report"])
def test_reports_are_written_on_each_films_own_prompt(
    inputs: dict[str, Any], small: dict[str, Any], policy_folder: Path, rendered: list[str], output: str
) -> None:
    del inputs["workspace"]
    more = {"settings": small["generate"], "prompts": small["prompts"], "arm": {"output": output}}
    write_reports(policy=policy_folder, **more, **inputs)
    assert rendered == [("Think. " if output == "think_report" else "") + one for one in expected("test")]


def test_the_cold_start_learns_behind_each_films_own_prompt(
    inputs: dict[str, Any], small: dict[str, Any], policy_folder: Path, rendered: list[str], silent: Any
) -> None:
    cold_start(base=policy_folder, settings=small["sft"], prompt=TEMPLATE, step_report=silent, **inputs)
    assert set(rendered) == set(expected("train"))


def test_the_laptop_policy_is_pretrained_on_each_films_own_prompt(
    inputs: dict[str, Any], small: dict[str, Any], rendered: list[str], silent: Any
) -> None:
    own = {"settings": small["policy"], "source": "phantom", "image_size": small["ingest"]["image_size"]}
    own["settings"].pop("dtype")
    dtype = inputs.pop("dtype")
    make_base_policy(**own | {"settings": own["settings"] | {"dtype": dtype}}, prompts=small["prompts"],
                     step_report=silent, **inputs)  # fmt: skip
    assert {one.removeprefix("Think. ") for one in rendered} == set(expected("pretrain"))


def test_an_arm_trains_on_each_films_own_prompt_and_is_watched_on_that_of_val(
    inputs: dict[str, Any], small: dict[str, Any], corpus: ds.Dataset, policy_folder: Path, tmp_path: Path,
    rendered: list[str], silent: Any,
) -> None:  # fmt: skip
    small["training"]["watch"] = small["training"]["watch"] | {"every": 2, "films": 3}
    own = train_inputs(small, corpus, policy_folder, tmp_path, studies=(2, 1))
    train_stage(**own, step_report=silent)
    of_train, of_val = expected("train"), expected("val")
    trained, watched = set(rendered) & set(of_train[1:3]), [one for one in rendered if "of val" in one]
    assert trained == set(of_train[1:3])
    assert watched
    assert set(watched) <= set(of_val)
    assert not any("of test" in one or "of pretrain" in one for one in rendered)


def test_a_changed_prior_is_other_work(
    inputs: dict[str, Any], small: dict[str, Any], corpus: ds.Dataset, make_corpus: Any, policy_folder: Path,
    tmp_path: Path, silent: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of a film that the arm itself does not see: its checkpoints are of the old prompt."""
    from radrl.training.reinforcement import arm as module

    prints: list[str] = []
    monkeypatch.setattr(module, "claim", lambda folder, found: prints.append(found))
    changed = corpus.to_table().to_pylist()
    for row in changed:
        if row["sample_id"] == "train0_1":
            row["report"] = "Another."
    import pyarrow as pa

    other = ds.dataset(pa.Table.from_pylist(changed, schema=corpus.schema))
    for films in (corpus, corpus, other):
        own = train_inputs(small, films, policy_folder, tmp_path, studies=(2, 1))
        train_stage(**own, step_report=silent)
    assert prints[0] == prints[1] != prints[2]


PRIORS = ("There is a small left pleural effusion.", "There is a large left pleural effusion.")
CHANGES = ("The effusion has grown.", "The effusion has decreased.")
QUICK: Mapping[str, Any] = {
    "epochs": 120, "batch_size": 2, "examples_at_once": 2, "learning_rate": 5e-3, "optimizer": "adamw",
    "warmup_share": 0.0, "weight_decay": 0.0, "gradient_clip": 1.0, "bf16": False, "max_tokens": 48,
    "checkpoint_every": 1000,
}  # fmt: skip


def test_a_policy_learns_what_only_the_prior_tells(
    policy_folder: Path, films: Callable[..., list[bytes]], tmp_path: Path
) -> None:
    """One film, two priors: the report that it learns to write follows from the prior alone."""
    [film] = films(1)
    asks = [f"Before: {prior} Write the findings." for prior in PRIORS]
    policy, _ = fine_tune(
        folder.load(policy_folder),
        Examples([(film,)] * 2, asks, CHANGES),
        settings=QUICK,
        seed=0,
        workspace=tmp_path,
        tunes="full",
    )
    written = HfWriter(policy).write([(film,)] * 2, asks, max_new_tokens=48)
    assert [one.text for (one,) in written] == list(CHANGES)
    assert [one.text for (one,) in HfWriter(policy).write([(film,)] * 2, asks[::-1], max_new_tokens=48)] == [
        *reversed(CHANGES)
    ]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_prompts_of_other_lengths_are_answered_as_each_alone(
    family_folder: Path, films: Callable[..., list[bytes]], temperature: float
) -> None:
    policy = folder.load(family_folder)
    shown = [[decode_film(film)] for film in films(3)]
    asks = ["Write.", "Before: no effusion, no pneumothorax, no edema. Write the findings.", "Before. Write."]
    how: dict[str, Any] = {"max_new_tokens": 8, "temperature": temperature, "samples": 1 + (temperature > 0)}
    together = write(policy, shown, asks, seed=3, **how)
    alone = [
        write(policy, [own], ask, seed=3, first=i, **how)[0]
        for i, (own, ask) in enumerate(zip(shown, asks, strict=True))
    ]
    assert together == alone


def test_as_many_prompts_as_samples(policy_folder: Path, films: Callable[..., list[bytes]]) -> None:
    with pytest.raises(ValueError, match="2 prompts for 1 samples; give one for all, or one each"):
        HfWriter(folder.load(policy_folder)).write([(films(1)[0],)], ["a", "b"], max_new_tokens=2)
