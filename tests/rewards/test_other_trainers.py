"""Rewards as TRL, verl and EasyR1 call them; and two steps of TRL's own trainer with them."""

from __future__ import annotations

import inspect
import io
import math
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

import radrl
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import find
from radrl.rewards.base import InTheSum, RewardError
from radrl.rewards.other_trainers import DEFAULTS

ROOT = Path(__file__).parents[2]
TRUTH = "There is a small left pleural effusion."
OUTPUTS = ["Small left pleural effusion.", "The lungs are clear.", ""]
TRUTHS = [TRUTH] * 3


def rewards_of_recipes() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in [ROOT / "params.yaml", *(ROOT / "conf/recipes").glob("*.yaml")]:
        arms = yaml.safe_load(file.read_text()).get("arms") or {}
        for arm in arms.values():
            yield from ((arm.get("reward") or {}) if isinstance(arm, dict) else {}).items()


def test_defaults_are_what_rows_ship_with() -> None:
    shipped: dict[str, list[dict[str, Any]]] = {}
    for name, own in rewards_of_recipes():
        bare = {key: value for key, value in (own or {}).items() if key not in InTheSum.model_fields}
        shipped.setdefault(name, []).append(bare)
    for name, defaults in DEFAULTS.items():
        assert defaults in shipped[name], name


WITH_WEIGHTS = {"radgraph", "radeval", "green", "sentence_sets"}
"""Which test_other_processes.py and test_sentence_sets.py ask for."""


@pytest.mark.parametrize("name", [name for name in BUILTIN["reward"] if name not in WITH_WEIGHTS])
def test_every_reward_can_be_had_by_its_name(name: str) -> None:
    reward = radrl.rewards.get(name, references=[TRUTH, "The heart is large."])
    assert reward.__name__ == name
    scores = reward(None, OUTPUTS, reference=TRUTHS)
    assert len(scores) == 3
    assert all(isinstance(score, float) and math.isfinite(score) for score in scores)
    optional = {
        field for field, own in find("reward", name).section.model_fields.items() if not own.is_required()
    }
    assert {*find("reward", name).section.model_fields} <= {
        *DEFAULTS.get(name, {}),
        *InTheSum.model_fields,
    } | optional


def test_names_are_the_parts() -> None:
    assert radrl.rewards.names()[: len(BUILTIN["reward"])] == [*BUILTIN["reward"]]


def test_scores_are_those_of_the_reward_whatever_form_completions_have() -> None:
    reward = radrl.rewards.get("ce_f1")
    texts = reward(None, OUTPUTS, reference=TRUTHS)
    # found; nothing said of the effusion; nothing said
    assert texts == [1.0, 0.0, 0.0]
    messages = [[{"role": "assistant", "content": text}] for text in OUTPUTS]
    assert reward(None, messages, reference=TRUTHS) == texts
    pieces = [[{"role": "assistant", "content": [{"type": "text", "text": text}]}] for text in OUTPUTS]
    assert reward(None, pieces, reference=TRUTHS) == texts
    assert radrl.rewards.get("ce_f1", column="solution")(None, OUTPUTS, solution=TRUTHS) == texts


def test_reward_reads_the_report_of_a_think_report() -> None:
    output = f"<think>The lungs are clear.</think><report>{TRUTH}</report>"
    reward = radrl.rewards.get("ce_f1", output="think_report")
    assert reward(None, [output, TRUTH], reference=[TRUTH] * 2) == [1.0, 0.0]
    assert radrl.rewards.get("format", output="think_report")(None, [output], reference=[TRUTH]) == [1.0]


def test_settings_reach_the_reward_and_numbers_the_log() -> None:
    told: dict[str, float] = {}
    reward = radrl.rewards.get("mccs", margin=0.0)
    (score,) = reward(None, [""], reference=["Clear."], log_metric=told.__setitem__, trainer_state=object())
    assert (score, told) == (0.0, {"rewards/mccs/both_blank_share": 1.0})


def test_weighted_findings_take_a_table_of_weights_and_the_dial(tmp_path: Path) -> None:
    sick, normal = "Right pneumothorax. Granuloma.", "The lungs are clear."
    told: dict[str, float] = {}
    reward = radrl.rewards.get("weighted_findings")  # urgent 1, expected 0.05
    missed, false = reward(None, [normal, sick], reference=[sick, normal], log_metric=told.__setitem__)
    assert missed == false == pytest.approx(1 - 1.05 / 2.05)
    assert told == {
        "rewards/weighted_findings/missed_cost": pytest.approx(1.05 / 2),
        "rewards/weighted_findings/false_cost": pytest.approx(1.05 / 2),
        "rewards/weighted_findings/inexact_cost": 0.0,
    }
    # beta 2: 1.6 for what is missed, 0.4 for what is false; the table as a mapping, and as a file
    mine = {"granuloma": "actionable", "pneumothorax": 0.5}
    (tmp_path / "mine.csv").write_text("concept,weight\ngranuloma,actionable\npneumothorax,0.5\n")
    for weights in (mine, str(tmp_path / "mine.csv")):
        reward = radrl.rewards.get("weighted_findings", beta=2.0, weights=weights)
        assert reward(None, [normal, sick], reference=[sick, normal]) == [
            pytest.approx(1 - 1.6 / 2.6),
            pytest.approx(1 - 0.4 / 1.4),
        ]
    messages = [[{"role": "assistant", "content": sick}]]
    assert reward(None, messages, reference=[sick]) == [1.0]


def test_a_report_without_a_score_stops_or_is_skipped() -> None:
    with pytest.raises(RewardError, match=r"bleu2 is nan for film \(completion 1\)"):
        radrl.rewards.get("bleu2")(None, ["Clear.", "Clear."], reference=["Clear.", ""])
    with pytest.raises(RewardError, match="bleu2 is nan for film s1"):
        radrl.rewards.get("bleu2")(None, ["Clear."] * 2, reference=["Clear.", ""], sample_id=["s0", "s1"])
    skipping = radrl.rewards.get("bleu2", missing="skip")
    scores = skipping(None, ["All clear.", "Clear."], reference=["All clear.", ""])
    assert scores[0] == pytest.approx(1.0)
    assert math.isnan(scores[1])


def test_a_reward_of_ones_own_goes_the_same_way() -> None:
    reward = radrl.rewards.get("short", part=f"{__name__}:brevity", words=2)
    assert reward(None, ["one two three four", "one"], reference=["", ""]) == [0.5, 1.0]
    with pytest.raises(ValueError, match="reward short has no setting 'word'; did you mean 'words'"):
        radrl.rewards.get("short", part=f"{__name__}:brevity", word=2)


def brevity(reports: list[str], references: list[str], *, words: int = 40) -> list[float]:
    """Whether a report keeps to a number of words."""
    return [min(1.0, words / max(1, len(report.split()))) for report in reports]


def test_verl_asks_for_one_completion_and_gets_the_weighted_sum() -> None:
    rewards = [radrl.rewards.get("ce_f1"), radrl.rewards.get("bleu2")]
    compute_score = radrl.rewards.for_verl(*rewards, weights=[1.0, 0.25])
    bleu = rewards[1](None, [OUTPUTS[0]], reference=[TRUTH])[0]
    asked = {
        "data_source": "d",
        "solution_str": OUTPUTS[0],
        "ground_truth": TRUTH,
        "extra_info": {"index": 3},
    }
    assert 0 < bleu < 1
    assert compute_score(**asked) == pytest.approx(1.0 + 0.25 * bleu)
    assert compute_score("d", OUTPUTS[0], TRUTH) == pytest.approx(1.0 + 0.25 * bleu)
    assert [*inspect.signature(compute_score).parameters][:4] == [*asked]  # verl calls by name


def test_easyr1_asks_for_a_batch_and_gets_every_reward_and_the_sum() -> None:
    compute_score = radrl.rewards.for_easyr1(radrl.rewards.get("ce_f1", column="truth"), weights=[0.5])
    batch = [{"response": text, "response_length": 9, "ground_truth": TRUTH} for text in OUTPUTS]
    assert compute_score(batch) == [
        {"ce_f1": 1.0, "overall": 0.5},
        {"ce_f1": 0.0, "overall": 0.0},
        {"ce_f1": 0.0, "overall": 0.0},
    ]
    with pytest.raises(TypeError, match="reward_inputs is one completion; let EasyR1's reward_type be batch"):
        compute_score(batch[0])  # type: ignore[arg-type]


GET = radrl.rewards.get
MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: GET("mcs"), ValueError, "name: no reward 'mcs'; did you mean 'mccs'"),
    (lambda: GET("mccs", margn=0.1), ValueError, "mccs has no setting 'margn'; did you mean 'margin'"),
    (lambda: GET("mccs", margin=2.0), ValueError, "reward mccs: margin is 2.0: Input should be less than 1"),
    (lambda: GET("mccs", weight=1.0), ValueError, "mccs has no setting 'weight'"),
    (lambda: GET("bleu2", phase_switch=0.5), ValueError, "bleu2 has no setting 'phase_switch'"),
    (lambda: GET("nlg"), ValueError, r"reward nlg counts in the references .* give references=\[...\]"),
    (lambda: GET("nlg", references="Clear."), TypeError, "references is one text"),
    (lambda: GET("ce_f1", output="think"), ValueError, "output is 'think'.*plain, think_report"),
    (lambda: GET("ce_f1", missing="zero"), ValueError, "missing is 'zero'; give 'raise' or 'skip'"),  # type: ignore[arg-type]
    (lambda: GET("ce_f1", labeler="ruls"), ValueError, "labeler: no labeler 'ruls'; did you mean 'rules'"),
    (
        lambda: GET("ce_f1", labeler="chexbert"),
        ValueError,
        r"give radrl.load_labeler\('chexbert', model=...\)",
    ),
    (lambda: GET("ce_f1")(None, "a", reference=["b"]), TypeError, "completions is one text"),
    (lambda: GET("ce_f1")(None, [3], reference=["b"]), TypeError, r"completions\[0\] is neither a text nor"),  # type: ignore[list-item]
    (
        lambda: GET("ce_f1")(None, ["a"], refrence=["b"], trainer_state=1),
        ValueError,
        r"column 'reference', which there is not; did you mean 'refrence'\? Columns: refrence; get\('ce_f1'",
    ),
    (
        lambda: GET("ce_f1")(None, ["a"], reference=["b", "c"]),
        ValueError,
        "completions has 1, reference has 2",
    ),
    (lambda: GET("ce_f1")(None, ["a"], reference="b"), TypeError, "reference is one text"),
    (lambda: radrl.rewards.for_verl(), ValueError, "give a reward"),
    (lambda: GET("weighted_findings", beta=0.0), ValueError, "beta is 0.0: Input should be greater than 0"),
    (lambda: GET("weighted_findings", weights={"granulom": 1.0}), RewardError, "did you mean 'granuloma'"),
    (lambda: GET("weighted_findings", weights={"granuloma": -1.0}), ValueError, "greater than or equal to 0"),
    (lambda: radrl.rewards.for_verl("mccs"), TypeError, "'mccs' is no reward"),  # type: ignore[arg-type]
    (lambda: radrl.rewards.for_verl(GET("ce_f1"), weights=[]), ValueError, "rewards has 1, weights has 0"),
    (lambda: radrl.rewards.for_easyr1(GET("bleu2", missing="skip")), ValueError, "bleu2 may skip reports"),
]


@pytest.mark.parametrize(("call", "kind", "said"), MISTAKES, ids=[said for _, _, said in MISTAKES])
def test_a_mistake_is_named_with_what_would_be_right(
    call: Callable[[], Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_rewards_go_to_other_processes() -> None:
    compute_score = radrl.rewards.for_verl(radrl.rewards.get("bleu2"))
    assert pickle.loads(pickle.dumps(compute_score))("d", TRUTH, TRUTH) == pytest.approx(1.0)
    weighed = radrl.rewards.get("weighted_findings", beta=2.0, weights={"pleural_effusion": 0.25})
    there = pickle.loads(pickle.dumps(radrl.rewards.for_verl(weighed)))
    # missed 1.6 times 0.25, beside the rest
    assert there("d", "The lungs are clear.", TRUTH) == pytest.approx(1 - 0.4 / 1.4)


def report_words(reports: list[str], references: list[str]) -> list[float]:
    """How long a report is, in characters."""
    assert references[0] == references[1] != references[2] == references[3]  # two rollouts of a film
    return [float(len(report)) for report in reports]


def test_a_stock_grpo_trainer_takes_two_steps_with_them(
    policy_folder: Path, films: Callable[..., list[bytes]], texts: Callable[[int], list[str]], tmp_path: Path
) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    policy = radrl.load_policy(policy_folder)
    before = {name: weight.detach().clone() for name, weight in policy.model.named_parameters()}
    rows = [
        {
            "prompt": [{"role": "user", "content": "Write."}],
            "image": Image.open(io.BytesIO(film)),
            "truth": truth,
        }
        for film, truth in zip(films(4), texts(4), strict=True)
    ]
    rewards = [
        radrl.rewards.get("ce_f1", column="truth"),
        radrl.rewards.get("mccs", column="truth"),
        radrl.rewards.get("weighted_findings", column="truth", beta=1.5, weights={"granuloma": 0.0}),
        radrl.rewards.get("report_words", column="truth", part=f"{__name__}:report_words"),
    ]
    settings = GRPOConfig(
        output_dir=str(tmp_path), save_strategy="no", report_to="none", use_cpu=True, bf16=False, seed=0,
        max_steps=2, per_device_train_batch_size=4, num_generations=2, max_completion_length=4,
        learning_rate=1e-2, logging_steps=1, disable_tqdm=True, reward_weights=[1.0, 0.5, 0.2, 0.1],
    )  # fmt: skip
    trainer = GRPOTrainer(
        policy.model,
        reward_funcs=rewards,
        args=settings,
        train_dataset=Dataset.from_list(rows),
        processing_class=policy.processor,
    )
    trainer.train()
    steps = [step for step in trainer.state.log_history if "reward" in step]
    assert len(steps) == 2
    assert [step["rewards/report_words/mean"] > 0 for step in steps] == [True, True]
    assert all("rewards/mccs/both_blank_share" in step for step in steps)
    assert all("rewards/weighted_findings/missed_cost" in step for step in steps)
    for step in steps:
        parts = [step[f"rewards/{one.__name__}/mean"] for one in rewards]
        assert step["reward"] == pytest.approx(
            parts[0] + 0.5 * parts[1] + 0.2 * parts[2] + 0.1 * parts[3], abs=1e-5
        )
    assert any((weight != before[name]).any() for name, weight in policy.model.named_parameters())
