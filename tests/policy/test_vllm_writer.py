"""vLLM as an engine: what is said to its worker, and, where an interpreter has it, what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recorded_vllm import RecordedVllm
from scipy.stats import chisquare
from vllm_interpreter import PYTHON, needs_vllm

from radrl.pipelines.generate import write_reports
from radrl.pipelines.rollouts import sample_rollouts
from radrl.policy import folder, tiny, vllm_writer
from radrl.policy.encoding import decode_films, encode_prompts
from radrl.policy.hf_writer import HfWriter
from radrl.policy.vllm_writer import VllmWriter
from radrl.policy.writer import Vllm
from radrl.process.devices import DeviceError
from radrl.process.isolated.talk import WorkerError

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "data/06_models/radrl-tiny"
IMAGE_SIZE = 56
ASK = "Write the findings of this chest X-ray."
ON_CPU = {"dtype": "float32", "device": "cpu", "threads": 1}


class TestRequests:
    """What a worker is asked; one that writes it down stands in vLLM's place."""

    @pytest.fixture
    def worker(self, policy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedVllm:
        return RecordedVllm(policy_folder, tmp_path, monkeypatch)

    @pytest.fixture
    def writer(self, worker: RecordedVllm, policy_folder: Path) -> Iterator[VllmWriter]:
        with closing(VllmWriter(policy_folder, **ON_CPU)) as opened:
            yield opened

    def test_samples_are_drawn_with_seeds_of_their_own_place(
        self, writer: VllmWriter, worker: RecordedVllm, films: Any
    ) -> None:
        shown = [(film,) for film in films(3)]
        how = {"max_new_tokens": 5, "samples": 2, "temperature": 0.7, "top_p": 0.9, "seed": 4}
        written = writer.write(shown, ASK, **how, first=10)
        writer.write(shown[1:], ASK, **how, first=11)
        _, whole, part = worker.asked()
        assert whole["sampling"] == {
            "n": 2, "temperature": 0.7, "top_p": 0.9, "max_tokens": 5,
            "stop_token_ids": folder.ends(writer.policy),
        }  # fmt: skip
        assert part["seeds"] == whole["seeds"][1:]
        assert len(set(whole["seeds"])) == 3
        assert [[one.tokens for one in own] for own in written] == [[2, 2]] * 3
        assert all(one.ended for own in written for one in own)

    def test_greedily_it_is_asked_once(self, writer: VllmWriter, worker: RecordedVllm, films: Any) -> None:
        (own,) = writer.write([tuple(films(2))], ASK, max_new_tokens=5, samples=3, top_p=0.5)
        sampling = worker.asked()[1]["sampling"]
        assert (sampling["n"], sampling["top_p"], sampling["temperature"]) == (1, 1.0, 0.0)
        assert own == [own[0]] * 3

    def test_prompts_have_one_mark_a_film_and_marks_are_never_written(
        self, writer: VllmWriter, worker: RecordedVllm, films: Any
    ) -> None:
        writer.write([tuple(films(2)), tuple(films(1))], ASK, max_new_tokens=5)
        request = worker.asked()[1]
        config = writer.policy.model.config
        assert [own.count(config.image_token_id) for own in request["prompts"]] == [2, 1]
        assert [len(own) for own in request["films"]] == [2, 1]
        assert {
            config.image_token_id, config.video_token_id,
            config.vision_start_token_id, config.vision_end_token_id,
        } == set(request["never"])  # fmt: skip

    def test_closed_it_leaves_no_process(self, writer: VllmWriter) -> None:
        process = writer._talk._process
        writer.close()
        assert process.poll() is not None


class TestRefusals:
    def test_an_interpreter_that_is_not_there(self, policy_folder: Path) -> None:
        with pytest.raises(
            WorkerError, match=r"vllm: no interpreter at .*`make engines`.*compute\.vllm\.python"
        ):
            VllmWriter(policy_folder, **ON_CPU, compute=Vllm(python="absent/bin/python"))

    @pytest.mark.skipif(torch.cuda.is_available(), reason="this interpreter may have vLLM")
    def test_an_interpreter_without_vllm(self, policy_folder: Path, tmp_path: Path) -> None:
        import venv

        venv.create(tmp_path / "bare", with_pip=False)
        bare = Vllm(python=str(tmp_path / "bare/bin/python"))
        with pytest.raises(WorkerError, match=r"finds no package `vllm` in .*`make engines`"):
            VllmWriter(policy_folder, **ON_CPU, compute=bare)

    def test_a_device_that_vllm_does_not_know(
        self, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vllm_writer, "place", lambda _: torch.device("mps"))
        with pytest.raises(DeviceError, match="device is mps; vLLM computes on cpu and cuda"):
            VllmWriter(policy_folder, **ON_CPU | {"device": "mps"})

    def test_a_folder_that_is_no_policy(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no policy at"):
            VllmWriter(tmp_path / "gone", **ON_CPU)


def test_a_gpu_is_shown_as_torch_numbers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert vllm_writer._variables(torch.device("cuda", 3), 1, 1)["CUDA_VISIBLE_DEVICES"] == "3"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert vllm_writer._variables(torch.device("cuda", 1), 1, 1)["CUDA_VISIBLE_DEVICES"] == "6"


def test_seeds_leave_room_for_the_numbers_of_reports() -> None:
    seeds = {vllm_writer.seed_of(seed, place) for seed in range(3) for place in range(100)}
    assert len(seeds) == 300
    assert max(seeds) < 2**62


def real(path: Path) -> VllmWriter:
    return VllmWriter(path, **ON_CPU, compute=Vllm(python=PYTHON))


@pytest.fixture(scope="module")
def shipped() -> Iterator[VllmWriter]:
    with closing(real(SHIPPED)) as opened:
        yield opened


@pytest.fixture(scope="module")
def hf(one_thread: None) -> HfWriter:
    return HfWriter(folder.load(SHIPPED))


@pytest.fixture(scope="module")
def shown(films: Any) -> list[tuple[bytes, ...]]:
    own, larger = films(10, size=112), films(2, seed=1, size=150)
    return [*((film,) for film in own), tuple(own[:2]), tuple(larger)]


@needs_vllm
class TestShippedPolicy:
    """radrl-tiny by both engines, on films as large as its own and on larger ones."""

    def test_greedy_reports_are_the_same(self, shipped: VllmWriter, hf: HfWriter, shown: Any) -> None:
        written = shipped.write(shown, ASK, max_new_tokens=100)
        assert written == hf.write(shown, ASK, max_new_tokens=100)
        assert sum(one.tokens for (one,) in written) > 300

    def test_a_report_that_is_cut_off_is_told(self, shipped: VllmWriter, hf: HfWriter, shown: Any) -> None:
        cut = shipped.write(shown[:2], ASK, max_new_tokens=7)
        assert cut == hf.write(shown[:2], ASK, max_new_tokens=7)
        assert [(one.tokens, one.ended) for (one,) in cut] == [(7, False)] * 2

    def test_samples_do_not_depend_on_the_batch(self, shipped: VllmWriter, shown: Any) -> None:
        how = {"max_new_tokens": 20, "samples": 3, "temperature": 1.0, "top_p": 0.9, "seed": 7}
        whole = shipped.write(shown, ASK, **how)
        parts = [shipped.write(shown[i : i + 5], ASK, **how, first=i) for i in range(0, len(shown), 5)]
        assert whole == [own for part in parts for own in part]
        assert whole != shipped.write(shown, ASK, **how | {"seed": 8})

    @pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (1.0, 0.9), (0.7, 1.0)])
    def test_samples_are_of_the_policys_distribution(
        self, shipped: VllmWriter, hf: HfWriter, shown: Any, temperature: float, top_p: float
    ) -> None:
        """Chi-square of the first and second token; wrong at most 1 time in 1,000 a test, seeds are fixed."""
        how = {"max_new_tokens": 2, "samples": 2000, "temperature": temperature, "top_p": top_p, "seed": 0}
        (reports,) = shipped.tokens(shown[:1], ASK, **how)
        firsts = np.array([ids[0] for ids, _ in reports])
        check(firsts, probabilities(hf, shown[0], [], temperature, top_p))
        usual = int(np.bincount(firsts).argmax())
        seconds = np.array([ids[1] for ids, _ in reports if ids[0] == usual])
        check(seconds, probabilities(hf, shown[0], [usual], temperature, top_p))


def probabilities(
    hf: HfWriter, films: tuple[bytes, ...], before: list[int], temperature: float, top_p: float
) -> np.ndarray:
    """Of each token behind some others, as transformers' logits and a nucleus have them, shape (V,)."""
    policy = hf.policy
    inputs = dict(encode_prompts(policy.processor, [decode_films(films)], [ASK]))
    for token in before:
        for name, value in (("input_ids", token), ("attention_mask", 1), ("mm_token_type_ids", 0)):
            inputs[name] = torch.cat([inputs[name], torch.tensor([[value]])], dim=1)
    with torch.no_grad():
        scores = policy.model(**inputs).logits[0, -1].double() / temperature
    scores[policy.model.generation_config.suppress_tokens] = -torch.inf
    own = scores.softmax(-1)
    order = own.argsort(descending=True)
    beyond = own[order].cumsum(0) - own[order] >= top_p  # the nucleus is full before them
    own[order[beyond]] = 0.0
    return (own / own.sum()).numpy()


def check(tokens: np.ndarray, expected: np.ndarray) -> None:
    counts = np.bincount(tokens, minlength=len(expected))
    assert counts[expected == 0].sum() == 0
    usual = expected * len(tokens) >= 5
    seen = [*counts[usual], counts[~usual].sum()]
    wanted = [*(expected[usual] * len(tokens)), expected[~usual].sum() * len(tokens)]
    if wanted[-1] < 5:  # too rare to tell: with the likeliest
        seen[0] += seen.pop()
        wanted[0] += wanted.pop()
    assert len(seen) > 1
    assert chisquare(seen, np.array(wanted) * (sum(seen) / sum(wanted))).pvalue > 1e-3


@pytest.fixture(scope="module")
def saved(one_thread: None, shape: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained policy whose heads have 32 numbers, the fewest that vLLM's attention on CPUs takes."""
    target = tmp_path_factory.mktemp("saved")
    tokenizer = tiny.train_tokenizer([ASK], shape["vocab_size"])
    wide = shape | {"hidden": 64, "heads": 2, "kv_heads": 1}
    policy = tiny.build(tokenizer, image_size=IMAGE_SIZE, shape=wide, seed=0)
    policy.processor.save_pretrained(target / "checkpoint")  # as a trainer does before the policy is saved
    folder.save(policy, target)
    return target


@needs_vllm
class TestSmallPolicy:
    """Checkpoints that a test saved, and the nodes that write with them."""

    def test_greedy_reports_are_the_same(self, saved: Path, films: Any) -> None:
        shown = [(film,) for film in films(6)]
        with closing(real(saved)) as writer:
            written = writer.write(shown, ASK, max_new_tokens=12)
        assert written == HfWriter(folder.load(saved)).write(shown, ASK, max_new_tokens=12)

    def test_marks_of_films_are_never_written(
        self, saved: Path, films: Any, marks_first: Any, tmp_path: Path
    ) -> None:
        policy = folder.load(saved)
        marks = marks_first(policy)
        folder.save(policy, tmp_path)
        shown = [(film,) for film in films(2)]
        with closing(real(tmp_path)) as writer:
            assert not marks & tokens(writer, shown, samples=8, temperature=1.0)
            assert not marks & tokens(writer, shown, samples=1, temperature=0.0)
            writer.policy.model.generation_config.suppress_tokens = []
            assert marks & tokens(
                writer, shown, samples=1, temperature=0.0
            )  # or the above would show nothing

    def test_reports_are_generated(self, small: dict[str, Any], make_corpus: Any, saved: Path) -> None:
        given = {"corpus": make_corpus(["test"], studies=5), "policy": saved, "threads": 1, "seed": 0}
        given |= {"dtype": "float32", "prompts": small["prompts"], "device": "cpu"}
        by = {
            engine: write_reports(
                **given, settings=small["generate"] | {"engine": engine}, compute={"vllm": {"python": PYTHON}}
            )
            for engine in ("hf", "vllm")
        }
        assert by["vllm"].equals(by["hf"])

    def test_rollouts_that_were_stopped_go_on(
        self, small: dict[str, Any], make_corpus: Any, saved: Path, tmp_path: Path
    ) -> None:
        given = {"corpus": make_corpus(["train"], studies=7), "start": saved, "threads": 1, "seed": 0}
        given |= {"dtype": "float32", "prompt": small["prompts"]["plain"], "device": "cpu"}
        given |= {"settings": small["rollouts"] | {"engine": "vllm"}, "compute": {"vllm": {"python": PYTHON}}}
        unbroken = [
            row for shard in sample_rollouts(**given, workspace=tmp_path / "a") for row in shard.to_pylist()
        ]
        stopped = sample_rollouts(**given, workspace=tmp_path / "b")
        next(stopped)
        stopped.close()
        assert (tmp_path / "b/shard-00000.parquet").is_file()
        went_on = [
            row for shard in sample_rollouts(**given, workspace=tmp_path / "b") for row in shard.to_pylist()
        ]
        assert went_on == unbroken
        assert [(row["sample_id"], row["rollout"]) for row in unbroken] == [
            (f"train{i}_1", k) for i in range(7) for k in range(2)
        ]


def tokens(writer: VllmWriter, films: Any, **how: Any) -> set[int]:
    reports = writer.tokens(films, ASK, max_new_tokens=8, **how)
    return {token for own in reports for ids, _ in own for token in ids}
