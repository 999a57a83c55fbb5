"""Rollouts that another engine draws: how weights and requests get there, and what their ratios do."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from PIL import Image
from recorded_vllm import RecordedVllm
from small_arms import MIXING, TRAINING, Thirds
from vllm_interpreter import PYTHON, needs_vllm

from radrl.credit.uniform import Uniform
from radrl.policy import folder, vllm_writer
from radrl.policy.encoding import decode_films, encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.hf_writer import HfWriter
from radrl.policy.vllm_writer import VllmWriter
from radrl.policy.writer import Drawn, Vllm
from radrl.process.devices import DeviceError
from radrl.process.isolated.talk import WorkerError
from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement import ArmSettings, grpo, samplers
from radrl.training.reinforcement.grpo import optimise, prompt_dataset
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.samplers import Pictures, Sampler, VllmSampler

SHIPPED = Path(__file__).parents[3] / "data/06_models/radrl-tiny"
ON_CPU = {"dtype": "float32", "device": "cpu", "threads": 1}
ASK = "Write the findings of this chest X-ray."
SETTINGS = TRAINING | {"learning_rate": 1e-3}
Run = Callable[..., tuple[Policy, list[dict[str, float]]]]


def alone(index: int = 0) -> Any:
    """An accelerator as a sampler knows it, of one process that never waits."""
    return SimpleNamespace(
        is_main_process=index == 0, process_index=index, wait_for_everyone=lambda: None, num_processes=1
    )


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, tmp_path: Path) -> Run:
    def train(
        sampler: Sampler | None = None, *, workspace: str = "work", oracle: Any = None, **settings: Any
    ) -> tuple[Policy, list[dict[str, float]]]:
        policy = folder.load(policy_folder)
        return optimise(
            policy,
            prompts,
            reward=RewardSum([Part(Thirds(), 1.0)]),
            credit=Uniform(),
            oracle=Oracle(policy.processor.tokenizer, **oracle) if oracle else None,
            sampler=sampler,
            settings=SETTINGS | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


def log_probabilities(policy: Policy, films: Pictures, ids: Sequence[int], asked: str) -> torch.Tensor:
    """Logits of the tokens of a text under a policy, shape (T, V), by a pass over the whole."""
    inputs = dict(encode_prompts(policy.processor, [films], [asked]))
    for name, value in (("input_ids", torch.tensor([list(ids)])), ("attention_mask", None)):
        more = torch.ones(1, len(ids), dtype=torch.long) if value is None else value
        inputs[name] = torch.cat([inputs[name], more], dim=1)
    kinds = inputs["mm_token_type_ids"]
    inputs["mm_token_type_ids"] = torch.cat([kinds, kinds.new_zeros(1, len(ids))], dim=1)
    with torch.no_grad():
        logits: torch.Tensor = policy.model(**inputs).logits[0, -len(ids) - 1 : -1].double()
    return logits


def of(logits: torch.Tensor, ids: Sequence[int]) -> list[float]:
    """Log-probabilities of tokens, by logits of shape (T, V)."""
    return logits.log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0].tolist()


class Double:
    """A test double of an engine: draws what another run drew, with log-probabilities by transformers.

    Args:
        drawn: of each step its rollouts.
        processor: the policy's.
        stale: a policy whose log-probabilities it gives back, whatever the weights that train.
    """

    def __init__(self, drawn: list[Any], processor: Any, stale: Any = None) -> None:
        self.drawn, self.processor, self.stale = drawn, processor, stale

    def draw(
        self,
        model: Any,
        films: Sequence[Pictures],
        prompts: Sequence[str],
        *,
        accelerator: Any,
        step: int,
        attempt: int = 0,
    ) -> list[Drawn]:
        policy = Policy(self.stale or model, self.processor)
        return [
            Drawn(ids, of(log_probabilities(policy, own, ids, asked), ids))
            for own, ids, asked in zip(films, self.drawn[step], prompts, strict=True)
        ]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[list[list[int]]]:
    """Of each step the rollouts that the trainer's own loop draws."""
    seen: list[list[list[int]]] = []

    class Noting(grpo.ReportGRPOTrainer):
        def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
            found = super()._generate_single_turn(*args, **kwargs)
            seen.append(found[0])
            return found

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    return seen


@pytest.mark.parametrize("oracle", [None, MIXING], ids=["grpo", "oracle"])
@pytest.mark.parametrize("mode", ["token_truncate", "sequence_mask"])
def test_an_equal_engine_has_ratios_of_1_and_makes_the_same_update(
    run: Run, drawn: list[Any], policy_folder: Path, mode: str, oracle: Any
) -> None:
    expected, curve = run(oracle=oracle, workspace="own")
    processor = folder.load(policy_folder).processor
    double = Double(list(drawn), processor)
    again, other = run(double, oracle=oracle, workspace="other", importance={"mode": mode, "cap": 3.0})
    for row, same in zip(curve, other, strict=True):
        assert same["sampling/ratio_mean"] == pytest.approx(1, abs=1e-5)
        assert same["sampling/ratio_max"] == pytest.approx(1, abs=1e-4)
        assert same["sampling/capped_share"] == 0
        assert same["sampling/importance_sampling_ratio/mean"] == pytest.approx(1, abs=1e-5)
        assert {name: same[name] for name in row if "loss" in name or "reward" in name} == pytest.approx(
            {name: row[name] for name in row if "loss" in name or "reward" in name}, abs=1e-5
        )
        assert "sampling/ratio_mean" not in row
    assert_same_weights(again, expected, atol=2e-5)


def assert_same_weights(found: Policy, expected: Policy, *, atol: float) -> None:
    other = expected.model.state_dict()
    for name, weight in found.model.state_dict().items():
        torch.testing.assert_close(weight, other[name], rtol=0, atol=atol, msg=name)


def test_a_stale_engine_shows_and_is_capped(run: Run, drawn: list[Any], policy_folder: Path) -> None:
    """It says what the weights that training started from would, which is right in the first step alone."""
    expected, _ = run(learning_rate=1e-2, workspace="own")
    start = folder.load(policy_folder)
    cap = {"importance": {"mode": "token_truncate", "cap": 1.01}, "learning_rate": 1e-2}
    double = Double(list(drawn), start.processor, start.model)
    trained, curve = run(double, workspace="stale", **cap)
    assert curve[0]["sampling/ratio_max"] == pytest.approx(1, abs=1e-4)
    for row in curve[1:]:
        assert row["sampling/ratio_max"] > 1.01
        assert row["sampling/capped_share"] > 0
        assert row["sampling/importance_sampling_ratio/max"] == pytest.approx(1.01)
        assert row["sampling/importance_sampling_ratio/min"] < 1
    with pytest.raises(AssertionError):
        assert_same_weights(trained, expected, atol=1e-4)


def test_without_a_correction_the_engines_word_does_not_count(
    run: Run, drawn: list[Any], policy_folder: Path
) -> None:
    expected, _ = run(workspace="own")
    start = folder.load(policy_folder)
    double = Double(list(drawn), start.processor, start.model)
    again, curve = run(double, workspace="other", importance=None)
    assert_same_weights(again, expected, atol=0)
    assert not any(name.startswith("sampling/") for name in curve[0])


class TestRequests:
    """What an engine is asked; a test double of vLLM's worker writes it down."""

    @pytest.fixture
    def worker(self, policy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedVllm:
        return RecordedVllm(policy_folder, tmp_path, monkeypatch)

    def test_weights_are_handed_over_before_each_draw_and_go(
        self, worker: RecordedVllm, policy_folder: Path, films: Any, tmp_path: Path
    ) -> None:
        policy, shown = folder.load(policy_folder), [decode_films([film]) for film in films(2)]
        with closing(VllmWriter(policy_folder, **ON_CPU, draws=True)) as writer:
            sampler = VllmSampler(writer, SETTINGS, seed=3)
            found = sampler.draw(policy.model, shown, [ASK] * len(shown), accelerator=alone(), step=5)
            sampler.draw(policy.model, shown[:1], [ASK], accelerator=alone(), step=6)
        opened, load, draw, again, other = worker.asked()
        assert opened["open"]["logprobs_mode"] == "processed_logprobs"
        for handed in (load, again):
            last = handed["load"]["weights"][-1]
            end, page = last[3] + 4 * np.prod(last[2]), mmap.ALLOCATIONGRANULARITY
            assert handed["load"]["bytes"] == -(-end // page) * page
        assert draw["sampling"] == {
            "n": 1, "temperature": 1.0, "top_p": 1.0, "max_tokens": 6, "logprobs": 0,
            "stop_token_ids": folder.ends(policy),
        }  # fmt: skip
        assert set(draw["never"]) == set(policy.model.generation_config.suppress_tokens)
        assert draw["seeds"][0] not in (draw["seeds"][1], other["seeds"][0])
        assert [one.log_probabilities for one in found] == [[-0.5, -0.25]] * 2

    def test_further_films_of_a_step_are_drawn_with_the_weights_that_are_there(
        self, worker: RecordedVllm, policy_folder: Path, films: Any, tmp_path: Path
    ) -> None:
        policy, shown = folder.load(policy_folder), [decode_films([film]) for film in films(2)]
        with closing(VllmWriter(policy_folder, **ON_CPU, draws=True)) as writer:
            sampler = VllmSampler(writer, SETTINGS, seed=3)
            for attempt in (0, 1, 2, 1):
                sampler.draw(
                    policy.model, shown, [ASK] * len(shown), accelerator=alone(), step=5, attempt=attempt
                )
        requests = worker.asked()
        assert ["load" in own for own in requests] == [False, True, False, False, False, False]
        drawn = [tuple(own["seeds"]) for own in requests if "seeds" in own]
        assert drawn[1] == drawn[3]  # they follow from seed, step, attempt and place alone
        assert len({seed for seeds in drawn for seed in seeds}) == 6

    def test_two_processes_ask_for_what_one_would(
        self, worker: RecordedVllm, policy_folder: Path, films: Any, tmp_path: Path
    ) -> None:
        policy, shown = folder.load(policy_folder), [decode_films([film]) for film in films(4)]
        with closing(VllmWriter(policy_folder, **ON_CPU, draws=True)) as writer:
            sampler = VllmSampler(writer, SETTINGS, seed=3)
            sampler.draw(policy.model, shown[2:], [ASK] * len(shown[2:]), accelerator=alone(1), step=5)
            sampler.draw(policy.model, shown, [ASK] * len(shown), accelerator=alone(0), step=5)
        requests = [own for own in worker.asked() if "seeds" in own]
        second, whole = requests
        for name in ("seeds", "films", "prompts"):
            assert second[name] == whole[name][2:]

    def test_films_arrive_as_they_are(
        self, worker: RecordedVllm, policy_folder: Path, films: Any, tmp_path: Path
    ) -> None:
        import io
        from base64 import b64decode

        policy, (film,) = folder.load(policy_folder), films(1)
        with closing(VllmWriter(policy_folder, **ON_CPU, draws=True)) as writer:
            sampler = VllmSampler(writer, SETTINGS, seed=3)
            sampler.draw(policy.model, [decode_films([film])], [ASK], accelerator=alone(), step=0)
        sent = Image.open(io.BytesIO(b64decode(worker.asked()[2]["films"][0][0])))
        np.testing.assert_array_equal(np.asarray(sent), np.asarray(decode_films([film])[0]))

    def test_a_launchers_variables_are_not_for_the_engine(
        self, worker: RecordedVllm, policy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("RANK", "1")
        with samplers.opened(settings("vllm"), policy_folder, {}):
            assert worker.asked()[0]["alone"] == {"RANK": "0", "WORLD_SIZE": "1"}


def settings(engine: str, device: str = "cpu") -> ArmSettings:
    return ArmSettings({}, SETTINGS | {"engine": engine}, {}, "float32", ASK, 3, 1, device)


class TestRefusals:
    def test_hf_needs_nothing(self, tmp_path: Path) -> None:
        with samplers.opened(settings("hf"), tmp_path, {"python": "absent"}) as sampler:
            assert sampler is None

    def test_an_interpreter_that_is_not_there(self) -> None:
        with pytest.raises(WorkerError, match=r"no interpreter at .*`make engines`.*compute\.vllm\.python"):
            samplers.check(settings("vllm"), {"python": "absent/bin/python"})

    def test_a_device_that_vllm_does_not_know(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vllm_writer, "place", lambda _: torch.device("mps"))
        with pytest.raises(DeviceError, match="vLLM computes on cpu and cuda"):
            samplers.check(settings("vllm", "mps"), {})


@pytest.fixture(scope="module")
def shipped() -> Iterator[VllmWriter]:
    with closing(VllmWriter(SHIPPED, **ON_CPU, compute=Vllm(python=PYTHON), draws=True)) as opened:
        yield opened


@pytest.fixture
def changed(one_thread: None) -> HfWriter:
    """The shipped policy after an update that reaches every weight."""
    policy = folder.load(SHIPPED)
    noise = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in policy.model.parameters():
            weight += 0.1 * weight.std(correction=0) * torch.randn(weight.shape, generator=noise)
    return HfWriter(policy)


@needs_vllm
class TestShippedPolicy:
    def test_after_an_update_it_writes_what_the_updated_policy_writes(
        self, shipped: VllmWriter, changed: HfWriter, films: Any, tmp_path: Path
    ) -> None:
        shown = [(film,) for film in films(6, size=112)]
        start = HfWriter(folder.load(SHIPPED))
        for writer in (start, changed, start):
            VllmSampler(shipped, SETTINGS, seed=0)._hand_over(writer.policy.model)
            assert shipped.write(shown, ASK, max_new_tokens=60) == writer.write(shown, ASK, max_new_tokens=60)
        assert start.write(shown, ASK, max_new_tokens=60) != changed.write(shown, ASK, max_new_tokens=60)

    def test_an_update_of_the_tower_alone_arrives(
        self, shipped: VllmWriter, films: Any, tmp_path: Path
    ) -> None:
        """Films that were seen with the old tower are not remembered."""
        shown, writer = [(film,) for film in films(4, size=112)], HfWriter(folder.load(SHIPPED))
        before = shipped.write(shown, ASK, max_new_tokens=40)
        with torch.no_grad():
            for weight in writer.policy.model.model.visual.parameters():
                weight.mul_(1.5)
        VllmSampler(shipped, SETTINGS, seed=0)._hand_over(writer.policy.model)
        after = shipped.write(shown, ASK, max_new_tokens=40)
        assert after == writer.write(shown, ASK, max_new_tokens=40)
        assert after != before

    @pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.7, 1.0), (1.0, 0.8)])
    def test_log_probabilities_are_of_the_distribution_that_was_drawn_from(
        self,
        shipped: VllmWriter,
        changed: HfWriter,
        films: Any,
        tmp_path: Path,
        temperature: float,
        top_p: float,
    ) -> None:
        policy, shown = changed.policy, [decode_films([film]) for film in films(3, size=112)]
        how = SETTINGS | {"max_new_tokens": 24, "temperature": temperature, "top_p": top_p}
        sampler = VllmSampler(shipped, how, seed=1)
        for own, one in zip(
            shown,
            sampler.draw(policy.model, shown, [ASK] * len(shown), accelerator=alone(), step=2),
            strict=True,
        ):
            logits = log_probabilities(policy, own, one.ids, ASK) / temperature
            logits[:, policy.model.generation_config.suppress_tokens] = -torch.inf
            logits = nucleus(logits, top_p)
            assert one.log_probabilities == pytest.approx(of(logits, one.ids), abs=1e-4)

    def test_draws_follow_from_the_step_and_the_place(
        self, shipped: VllmWriter, changed: HfWriter, films: Any, tmp_path: Path
    ) -> None:
        shown = [decode_films([film]) for film in films(1, size=112) for _ in range(6)]
        sampler = VllmSampler(shipped, SETTINGS, seed=1)
        whole = sampler.draw(changed.policy.model, shown, [ASK] * len(shown), accelerator=alone(), step=2)
        assert whole == sampler.draw(
            changed.policy.model, shown, [ASK] * len(shown), accelerator=alone(), step=2
        )
        assert whole[3:] == sampler.draw(
            changed.policy.model, shown[3:], [ASK] * len(shown[3:]), accelerator=alone(1), step=2
        )
        assert whole != sampler.draw(
            changed.policy.model, shown, [ASK] * len(shown), accelerator=alone(), step=3
        )
        assert len({tuple(one.ids) for one in whole}) > 1


def nucleus(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Logits without what is beyond a nucleus, shape (T, V)."""
    own = logits.softmax(-1)
    ordered, order = own.sort(descending=True)
    beyond = torch.zeros_like(own, dtype=torch.bool).scatter(1, order, ordered.cumsum(1) - ordered >= top_p)
    return logits.masked_fill(beyond, -torch.inf)


@needs_vllm
def test_a_training_killed_and_resumed_is_as_never_stopped(
    films: Any, texts: Any, tmp_path: Path, killed_after: Callable[..., Any]
) -> None:
    def train(workspace: str) -> tuple[Policy, list[dict[str, float]]]:
        with closing(VllmWriter(SHIPPED, **ON_CPU, compute=Vllm(python=PYTHON), draws=True)) as writer:
            return optimise(
                folder.load(SHIPPED),
                prompt_dataset(
                    [(film,) for film in films(6, size=112)], texts(6), [f"film{i}" for i in range(6)], ASK
                ),
                reward=RewardSum([Part(Thirds(), 1.0)]),
                credit=Uniform(),
                sampler=VllmSampler(writer, SETTINGS, seed=3),
                settings=SETTINGS | {"checkpoint_every": 1},
                seed=3,
                workspace=tmp_path / workspace,
            )

    unbroken, curve = train("unbroken")
    assert all(row["sampling/ratio_mean"] == pytest.approx(1, abs=1e-3) for row in curve)
    with killed_after(grpo, step=2):
        train("killed")
    resumed, again = train("killed")
    told = ("reward", "loss", "kl", "grad_norm", "sampling/ratio_max")
    assert [{name: row[name] for name in told} for row in again] == [
        {name: row[name] for name in told} for row in curve
    ]
    assert_same_weights(resumed, unbroken, atol=0)
