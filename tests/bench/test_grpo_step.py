"""The three ways take the same steps; what rollouts say, what operations are counted, what the page tells."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import grpo_step
import pytest
import torch
import yaml
from grpo_steps import count, measure, page, policies, scripts, ways
from grpo_steps.count import Language, Operations, Step, Tower
from grpo_steps.measure import Cell, Job
from grpo_steps.results import Results

TOWER = Tower(hidden=2, layers=3, full=1, feed_forward=5, values=7, patch=1, window=4, merge=2, out=3)
LANGUAGE = Language(hidden=4, layers=2, feed_forward=6, vocabulary=10, known=2)


def test_operations_of_a_film_by_hand() -> None:
    # 6 x 6 patches in windows of 4 x 4, 4 x 2, 2 x 4 and 2 x 2: 16^2 + 8^2 + 8^2 + 4^2 = 400 pairs
    a_patch = 7 * 2 + 3 * (4 * 2 * 2 + 3 * 2 * 5)
    merged = 9 * (8 * 8 + 8 * 3)
    pairs = 2 * 400 + 36 * 36
    assert count.of_film(TOWER, 6) == 2 * (36 * a_patch + merged + pairs * 2 * 2)


def test_operations_of_tokens_by_hand() -> None:
    # queries and outputs 4 x 4, keys and values 4 x 2, the feed-forward layers 3 of 4 x 6
    a_token = 2 * 4 * 4 + 2 * 4 * 2 + 3 * 4 * 6
    assert count.of_tokens(LANGUAGE, tokens=5, pairs=15, predicted=3) == 2 * (
        2 * (5 * a_token + 15 * 2 * 4) + 3 * 4 * 10
    )


def test_operations_of_each_way_by_hand() -> None:
    step = Step(size=6, prompt=12, lengths=[3, 5, 2, 4], group=2, at_once=2)
    film = count.of_film(TOWER, 6)

    def said(tokens: int, pairs: int, predicted: int) -> int:
        return count.of_tokens(LANGUAGE, tokens, pairs, predicted)

    stock = count.of_way("stock", TOWER, LANGUAGE, step)
    assert stock.forward == 4 * film + said(4 * 17, 4 * (17 * 18 // 2), 14)  # padded to the longest
    assert stock.rollout == 4 * film + said(4 * 16, 4 * (16 * 17 // 2), 4 * 5)  # until the longest ends
    shared = count.of_way("shared", TOWER, LANGUAGE, step)
    pairs = 2 * (11 * 12 // 2) + 14 * 11 + 6 + 15 + 3 + 10
    assert shared.forward == shared.rollout == 2 * film + said(2 * 11 + 14, pairs, 14)
    own = count.of_way("film", TOWER, LANGUAGE, step)
    assert (stock.forward - own.forward, stock.rollout - own.rollout) == (2 * film, 2 * film)


def test_a_film_in_two_parts_counts_in_both() -> None:
    step = Step(size=6, prompt=12, lengths=[3, 3, 3, 3], group=4, at_once=2)
    ours = count.of_way("shared", TOWER, LANGUAGE, step)
    assert ours.forward - ours.rollout == count.of_film(TOWER, 6) + count.of_tokens(
        LANGUAGE, 11, 11 * 12 // 2, 0
    )


def test_the_real_shape_has_the_parameters_of_the_3b() -> None:
    with torch.device("meta"):
        policy = policies.real(policies.REAL, ["No effusion."], device="meta", dtype="bfloat16")
    assert sum(weight.numel() for weight in policy.model.parameters()) == 3_754_622_976
    tower, language = count.shapes(policy.model.config)
    assert (tower.values, tower.full, tower.out) == (3 * 2 * 14 * 14, 4, 2048)
    assert language.known == 2 * 128


@pytest.fixture(scope="module")
def params(root: Path) -> dict[str, Any]:
    own: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    own["policy"]["tiny"] |= {"hidden": 64, "layers": 2, "feed_forward": 96, "vision_layers": 2}
    own["training"] |= {"rollouts_at_once": 8, "warmup_share": 0.0}
    return own


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [record.findings for record in policies.records(112, 200)]


@pytest.fixture(scope="module")
def small(params: Mapping[str, Any], texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Job:
    start = tmp_path_factory.mktemp("bench") / "start"
    policies.save(policies.laptop(params, texts), start)
    return grpo_step.job(grpo_step.Bench(params, films=2), Cell(112, 4, 10), start, texts, steps=2)


def test_scripts_keep_the_spread_of_the_corpus_around_the_median(small: Job, texts: list[str]) -> None:
    tokenizer = policies.load(small.start, 112).processor.tokenizer
    drawn = scripts.write(tokenizer, texts, tokens=40, rows=20, steps=8)
    assert [len(step) for step in drawn] == [20] * 8
    lengths = [len(script) for step in drawn for script in step]
    usual = [len(tokenizer(text)["input_ids"]) for text in texts]
    assert median(lengths) == pytest.approx(40, abs=3)
    assert max(lengths) / median(lengths) == pytest.approx(max(usual) / median(usual), rel=0.15)
    for step in drawn:
        assert len({script[0] for script in step}) == len(step)
        assert all(script[-1] == tokenizer.eos_token_id not in script[:-1] for script in step)


def test_more_rows_than_words_are_refused(small: Job, texts: list[str]) -> None:
    tokenizer = policies.load(small.start, 112).processor.tokenizer
    with pytest.raises(ValueError, match="rows a step need"):
        scripts.write(tokenizer, texts, tokens=40, rows=len(tokenizer), steps=1)


@pytest.fixture(scope="module")
def steps(small: Job) -> dict[str, dict[str, Any]]:
    return {way: measure.in_a_process(way, small) for way in ways.WAYS}


def check_alike(one: list[dict[str, float]], other: list[dict[str, float]]) -> None:
    """Equal curves; TRL's float32 leaves a group of equal rewards some rounding, over 1e-4, to learn from."""
    for own, its in zip(one, other, strict=True):
        assert {**own, "loss": 0.0} == pytest.approx({**its, "loss": 0.0}, rel=1e-3, abs=1e-6)
        assert own["loss"] == pytest.approx(its["loss"], abs=5e-4)


def test_all_ways_take_the_same_steps(steps: Mapping[str, Mapping[str, Any]]) -> None:
    stock = steps["stock"]["curve"]
    assert len(stock) == 2
    assert min(stock[-1]["grad_norm"], stock[-1]["kl"]) > 1e-5  # the second is of a policy that has moved
    check_alike(steps["film"]["curve"], stock)
    check_alike(steps["shared"]["curve"], stock)


def test_every_way_generates_its_scripts(small: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = ways.Timed._generate_single_turn
    for way in ways.WAYS:
        said: list[list[int]] = []

        def heard(self: Any, *args: Any, said: list[list[int]] = said, **kwargs: Any) -> Any:
            found = generate(self, *args, **kwargs)
            said.extend(found[0])
            return found

        monkeypatch.setattr(ways.Timed, "_generate_single_turn", heard)
        measure.train(way, small)
        assert said == [script for step in small.scripts for script in step], way


def test_the_film_alone_goes_through_the_tower_once(small: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    tower = policies.Qwen2_5_VLForConditionalGeneration
    seen: dict[str, list[int]] = {}
    for way in ways.WAYS:
        films = seen.setdefault(way, [])
        load = policies.load

        def watched(*args: Any, load: Callable[..., Any] = load, films: list[int] = films) -> Any:
            policy = load(*args)
            assert isinstance(policy.model, tower)
            plain = policy.model.model.visual.forward

            def forward(hidden_states: torch.Tensor, grid_thw: torch.Tensor, **settings: Any) -> Any:
                films.append(len(grid_thw))
                return plain(hidden_states, grid_thw=grid_thw, **settings)

            policy.model.model.visual.forward = forward
            return policy

        with monkeypatch.context() as context:
            context.setattr(policies, "load", watched)
            measure.train(way, small)
    # two steps: generation sees 8 rollouts of 2 films, the update a part of 8
    assert seen == {"stock": [8, 8] * 2, "film": [2, 2] * 2, "shared": [2, 2] * 2}


def found_of(values: Mapping[str, float]) -> dict[Any, Any]:
    """One cell in two rounds, where a way's every part takes as long."""
    return {
        (112, 8, 40, way, turn): {
            "seconds": [dict.fromkeys(ways.PARTS, value) | {"step": 5 * value}],
            "memory": value * 2**20,
        }
        for way, value in values.items()
        for turn in range(2)
    }


def test_the_page_says_ratios_bounds_and_targets() -> None:
    found = found_of({"stock": 1.0, "film": 0.75, "shared": 0.5})
    operations = {"stock": Operations(400, 800), "film": Operations(1, 1), "shared": Operations(100, 100)}
    text = page.page(found, {Cell(112, 8, 40): operations}, "about")
    assert "| 112 | 8 | 40 | 2.00 (2.00 to 2.00) |" in text
    assert "| 112 | 8 | 40 | 1.50 (1.50 to 1.50) |" in text
    # of 5 s: rollout 1 / 4, log-probabilities and update 2 / 8, reward 1, the rest 1 / 8
    assert "| 112 | 8 | 40 | 4.0 (50%) | 8.0 (25%) | 3.1 (65%) |" in text
    assert "| 112 | 40 | update | 2.0 | 2.00 | 8.0 | met |" in text
    assert "| 112 | 40 | step | 1.6 | 2.00 | 3.1 | met |" in text
    slow = page.page(found_of({"stock": 1.0, "shared": 0.8}), {Cell(112, 8, 40): operations}, "about")
    assert "| 112 | 40 | update | 2.0 | 1.25 | 8.0 | missed |" in slow


def test_the_share_of_a_cards_peak() -> None:
    found = found_of({"stock": 1.0})
    assert page.share_of_peak(found, Cell(112, 8, 40), "stock", 10, peak=4.0) == pytest.approx(0.5)


def test_results_go_on_after_a_kill_and_refuse_others(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    Results(file, {"steps": 3}, resume=False).add((112, 8, 40, "stock", 0), {"memory": 1})
    assert Results(file, {"steps": 3}, resume=True).found[112, 8, 40, "stock", 0]["memory"] == 1
    with pytest.raises(ValueError, match="go on without --resume"):
        Results(file, {"steps": 2}, resume=True)
    assert Results(file, {"steps": 2}, resume=False).found == {}


def bench(root: Path, *given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "bench/grpo_step.py"), *given]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_real_shape_is_refused_without_a_gpu(root: Path) -> None:
    ended = bench(root, "--policy", "3b")
    assert ended.returncode == 2
    assert ended.stderr.startswith("--policy 3b needs a GPU that torch sees")


def test_the_twin_of_the_real_shape_takes_the_same_steps_in_all_ways(root: Path, tmp_path: Path) -> None:
    kept, written = tmp_path / "kept.jsonl", tmp_path / "page.md"
    cell = ["--sizes", "112", "--tokens", "8", "--rounds", "1", "--steps", "2"]
    command = ["--policy", "3b", "--cpu-twin", *cell, "--results", str(kept), "--write", str(written)]
    ended = bench(root, *command)
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in kept.read_text().splitlines()[1:]]
    assert [row["key"][3] for row in rows] == list(ways.WAYS)
    for row in rows[1:]:
        check_alike(row["curve"], rows[0]["curve"])
    first = written.read_text()
    again = bench(root, *command, "--resume")
    assert again.returncode == 0, again.stderr
    assert kept.read_text().count("\n") == 4  # nothing was measured anew
    tables = [re.sub(r"Made by .*", "", text) for text in (first, written.read_text())]
    assert tables[0] == tables[1]
