"""Rewards of other processes: their numbers, one worker for all of them, and what is refused beforehand."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import radrl
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.rewards.base import Part, RewardError, RewardSum
from radrl.rewards.build import Adapted, build, needing_more
from radrl.rewards.green import Green
from radrl.rewards.radeval import METRICS, RadEval, RadEvalRewardSection
from radrl.rewards.radgraph import RadGraph
from radrl.scoring import isolated
from radrl.scoring import radgraph as metric
from radrl.scoring.radeval import NEEDS

_TESTS = Path(__file__).parents[1] / "scoring"


def _module(file: str) -> ModuleType:
    """A module of the scorers' tests."""
    spec = importlib.util.spec_from_file_location(f"scorers_{file.replace('/', '_')}", _TESTS / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


_RADGRAPH, _RADEVAL, _SERVER = map(_module, ("test_radgraph", "test_radeval", "judge/conftest"))
_GREEN = _module("test_green")
folder, models, serve = _RADGRAPH.folder, _RADEVAL.models, _SERVER.serve
Worth = Callable[..., list[float]]


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Likenesses of `radgraph` and `radeval` on the workers' path; the file that lists texts, and starts."""
    note = "import os\nopen(os.environ['FAKE_LOG'] + '.starts', 'a').write('{}\\n')\n"
    figures = _RADEVAL.FAKE["radeval/metrics/_registry.py"]
    trial = figures.replace(
        "values = [float(hyp) for", "values = [1.0 if hyp[:2] == 'Th' else float(hyp) for", 1
    )
    registry = {"radeval/metrics/_registry.py": trial}
    for name, text in (_RADGRAPH.FAKE | _RADEVAL.FAKE | registry).items():
        file = tmp_path / "fake" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        package, _, module = name.partition("/")
        file.write_text(note.format(package) * (module == "__init__.py") + text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    (tmp_path / "log").touch()
    return tmp_path / "log"


def starts(log: Path) -> list[str]:
    """Which worker's package was imported, each time."""
    return log.with_name("log.starts").read_text().split()


def opened(*rewards: Any) -> Any:
    return RewardSum([Part(reward, 1.0) for reward in rewards]).opened()


def test_radgraph_by_hand_and_its_dial(fakes: Path, folder: Path, worth: Worth) -> None:
    less = ("small left effusion", "left effusion")
    # in the likeness every word is an entity that modifies the next: 2 of 3 are found, precision 1
    assert worth(RadGraph(python=None, model=folder, level="simple"), less, ("a", "")) == [
        pytest.approx(2 * 2 / (2 + 3)),
        0.0,
    ]
    recall = worth(RadGraph(python=None, model=folder, level="simple", beta=2.0), less)
    assert recall == [pytest.approx(5 * (2 / 3) / (4 + 2 / 3))]
    scores = metric.RadGraph(python=None, model=folder).score(
        *map(list, zip(less, ("a b", "b"), strict=True))
    )
    for level in ("simple", "partial", "complete"):
        found = worth(RadGraph(python=None, model=folder, level=level), less, ("a b", "b"))  # type: ignore[arg-type]
        assert found == scores.per_report[f"radgraph_{level}"].tolist()


def test_one_worker_of_a_package_serves_all_rewards_and_ends_with_the_block(
    fakes: Path, folder: Path
) -> None:
    rewards = [RadGraph(python=None, model=folder), RadGraph(python=None, model=folder, level="complete")]
    figures = [RadEval(name, python=None, metric="rouge", models=None) for name in ("one", "other")]
    with isolated.kept(), isolated.kept():
        for _ in range(2):
            for reward in rewards:
                reward(["a b"], ["b"], ["film"])
            for figure in figures:
                figure(["0.5"], ["b"], ["film"])
        kept = [one.talk._process for one in isolated._KEEPING.workers.values()]
        assert len(kept) == 2
        assert [process.poll() for process in kept] == [None, None]
    assert sorted(starts(fakes)) == ["radeval", "radgraph"]
    assert None not in [process.poll() for process in kept]
    assert isolated._KEEPING.workers == {}


def test_a_film_s_reference_is_annotated_once_and_not_all_texts_are_kept(
    fakes: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("radrl.rewards.radgraph.REMEMBERED", 2)
    reward = RadGraph(python=None, model=folder)
    with isolated.kept():
        reward(["c", "d"], ["b", "b"], ["film", "film"])  # b, c and d are read, c and d stay
        reward(["d"], ["b"], ["film"])
    assert fakes.read_text().split() == ["b", "c", "d", "b"]


def test_what_is_tried_before_training_says_what_scores_depend_on(fakes: Path, folder: Path) -> None:
    with opened(RadGraph(python=None, model=folder)) as about:
        assert about["radgraph.radgraph_version"] == "0.1.18"
        assert len(about["radgraph.radgraph_model_sha256"]) == 64
    assert needing_more({"ce_f1": {}, "radgraph": {}, "green": {}, "length": None}) == {
        "radgraph": {},
        "green": {},
    }


def test_missing_weights_interpreter_and_package_are_refused_with_the_mend(
    folder: Path, tmp_path: Path, fakes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        RewardError, match=r"reward radgraph: radgraph: no interpreter at (.|\n)*make scorers"
    ):
        RadGraph(python=tmp_path / "python", model=folder)
    with pytest.raises(RewardError, match="reward mine: radeval: ratescore need weights, and `models` is"):
        RadEval("mine", python=None, metric="ratescore", models=None)
    with pytest.raises(RewardError, match=r"not in .*: Angelakeke/RaTE-NER-Deberta \(for ratescore\)"):
        RadEval("mine", python=None, metric="ratescore", models=tmp_path)
    monkeypatch.setenv("FAKE_REFUSES", "1")
    with (
        pytest.raises(RewardError, match=r"reward radgraph: .*cannot load"),
        opened(RadGraph(python=None, model=folder)),
    ):
        pass
    monkeypatch.setenv("PYTHONPATH", "")
    for reward in (
        RadGraph(python=None, model=folder),
        RadEval("mine", python=None, metric="rouge", figure="rougel", models=None),
    ):
        with pytest.raises(RewardError, match=r"finds no package(.|\n)*make scorers"), opened(reward):
            pass
    (folder / "weights.th").unlink()
    with pytest.raises(RewardError, match=r"weights\.th missing"):
        RadGraph(python=None, model=folder)


def test_a_worker_that_dies_ends_the_reward_with_its_last_words(fakes: Path, folder: Path) -> None:
    reward = RadGraph(python=None, model=folder)
    with isolated.kept():
        assert reward(["a"], ["a"], ["film"]) == [1.0]
        (one,) = isolated._KEEPING.workers.values()
        one.talk._process.kill()
        with pytest.raises(RewardError, match="film7 and on: radgraph: the worker was killed by signal 9"):
            reward(["b"], ["c"], ["film7"])
        with pytest.raises(RewardError, match="has ended, and is asked for more"):
            reward(["b"], ["c"], ["film7"])
    with isolated.kept():  # another block, another worker
        assert reward(["a c"], ["a"], ["film"]) != [1.0]


@pytest.fixture
def rouge(fakes: Path) -> RadEval:
    """Its figures are what the reports say."""
    return RadEval("mine", python=None, metric="rouge", models=None)


def test_a_figure_of_radeval_for_each_report(rouge: RadEval, worth: Worth) -> None:
    found = worth(rouge, ("b", "0.25"), ("b", " "), (" ", "0.5"), ("b", "nan"), ("b", "0.75"))
    assert found[:2] == [0.25, 0.0]  # a report without a word is not handed over
    assert [math.isnan(score) for score in found] == [False, False, True, True, False]
    assert found[4] == 0.75
    assert worth(rouge, ("b", "")) == [0.0]
    below = RadEval("mine", python=None, metric="rouge", models=None, blank=-1.0)
    assert worth(below, ("b", "")) == [-1.0]


def test_a_missing_score_is_never_0(rouge: RadEval) -> None:
    for missing in ("raise", "skip"):
        reward = RewardSum([part := Part(rouge, 1.0, missing=missing)])  # type: ignore[arg-type]
        asked = (part, ["0.5", "inf"], ["b", "b"], ["film1", "film2"])
        if missing == "skip":
            assert np.isnan(reward.score_part(*asked)).tolist() == [False, True]
        else:
            with pytest.raises(RewardError, match="reward mine is inf for film film2"):
                reward.score_part(*asked)


def test_a_metric_with_several_figures_needs_one_by_name(models: Path, fakes: Path) -> None:
    reward = RadEval("mine", python=None, metric="rouge", figure="rouge2", models=None)
    with pytest.raises(RewardError, match="figure is 'rouge2'; did you mean 'rougel'"):
        reward(["0.5"], ["b"], ["film"])


def test_what_no_arm_may_learn_from_is_no_reward() -> None:
    assert set(METRICS) < set(NEEDS)
    for metric_name, told in (
        ("crimson", "judges what was trained, and no reward is made of it"),
        ("radcliq", "no metric that a report can earn by; did you mean .* There are: ratescore"),
        ("ratescor", "did you mean 'ratescore'"),
    ):
        given = {"python": None, "models": None, "metric": metric_name}
        with pytest.raises(ValidationError, match=told):
            RadEvalRewardSection.model_validate(given)
        with pytest.raises(RewardError, match=told):
            RadEval(**given)  # type: ignore[arg-type]


def test_an_arm_may_have_several_of_radeval(fakes: Path) -> None:
    own = {"python": None, "models": None, "metric": "rouge", "weight": 0.5}
    path = {"part": "radrl.rewards.radeval:RadEval"}
    reward = build({"radeval": own, "rouge_l": own | path | {"figure": "rougel"}}, RulesLabeler())
    assert [(part.name, part.waits, part.missing) for part in reward.parts] == [
        ("radeval", True, "raise"),
        ("rouge_l", True, "raise"),
    ]
    assert isinstance(reward.parts[1].reward, Adapted)
    assert [*needing_more({"rouge_l": own | path})] == ["rouge_l"]
    with reward.opened() as about:
        assert about["rouge_l.radeval_version"] == "2.2.1"


def judge(url: str) -> dict[str, Any]:
    return {
        "backend": "endpoint",
        "url": url,
        "model": "m",
        "allowed_hosts": ["127.0.0.1"],
        "concurrency": 2,
        "retries": 0,
        "timeout": 10.0,
        "max_tokens": 64,
        "temperature": 0.0,
        "seed": 0,
    }


def test_green_by_a_judge_and_what_it_cannot_read(serve: Any, worth: Worth) -> None:
    pairs = list(zip(_GREEN.REFERENCES, _GREEN.HYPOTHESES, strict=True))

    def answer(prompt: str, before: int) -> Any:
        known = [
            own for pair, own in zip(pairs, _GREEN.ANSWERS, strict=True) if _GREEN.prompt(*pair) == prompt
        ]
        return _SERVER.completion(known[0] if known else "I cannot say.")

    settings = judge(serve(answer).url)
    reward = Green("skip", judge=settings)
    assert worth(reward, *pairs) == [1.0, 0.25, 0.0]
    unread, unstated, right = worth(reward, ("Heart normal.", "Mass."), (" ", "Mass."), pairs[0])
    assert math.isnan(unread)
    assert math.isnan(unstated)
    assert right == 1.0
    with pytest.raises(
        RewardError, match=r"no score for film film1: in the judge's answer .*missing to skip"
    ):
        worth(Green(judge=settings), pairs[0], ("Heart normal.", "Mass."))
    assert reward.waits is True
    with opened(reward) as about:
        assert about["green.model"] == "m"


def test_a_judge_that_does_not_answer_is_refused_before_training(serve: Any) -> None:
    settings = judge(serve(lambda *_: _SERVER.Reply(status=500)).url)
    with pytest.raises(RewardError, match="reward green: "), opened(Green(judge=settings)):
        pass
    with pytest.raises(RewardError, match=r"reward green: .*allowed_hosts"):
        Green(judge=settings | {"allowed_hosts": ["localhost"]})


def test_another_trainer_keeps_the_worker_between_its_calls(fakes: Path, folder: Path) -> None:
    reward = radrl.rewards.get("radgraph", python=None, model=str(folder), level="simple")
    for _ in range(3):
        assert reward(None, ["a b"], reference=["a"]) == [pytest.approx(2 / 3)]
    assert starts(fakes) == ["radgraph"]
    reward.close()
    assert isolated._KEEPING.workers == {}


PYTHON = os.environ.get("RADRL_RADGRAPH_PYTHON")


@pytest.mark.skipif(PYTHON is None, reason="RADRL_RADGRAPH_PYTHON names no interpreter")
@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_package_itself_is_kept_and_gives_the_metrics_figures(tmp_path: Path, batch_size: int) -> None:
    assert PYTHON is not None
    own = tmp_path / "radgraph-xl"
    subprocess.run([PYTHON, _TESTS / "tiny_radgraph.py", own], check=True, capture_output=True)
    texts = _RADGRAPH.TEXTS
    reward = RadGraph(python=PYTHON, model=own, level="complete", batch_size=batch_size)
    found: list[float] = []
    with opened(reward):
        begun = time.monotonic()
        for row in range(1, len(texts)):
            found += reward([texts[row]], [texts[0]], ["film"])
        assert time.monotonic() - begun < 60  # it is not loaded for each
    truth = [texts[0]] * len(found)
    scores = metric.RadGraph(python=PYTHON, model=own).score(truth, texts[1:])
    np.testing.assert_allclose(found, scores.per_report["radgraph_complete"], rtol=1e-12)
    assert 0 < max(found) <= 1


RADEVAL_PYTHON = os.environ.get("RADRL_RADEVAL_PYTHON")


@pytest.mark.skipif(RADEVAL_PYTHON is None, reason="RADRL_RADEVAL_PYTHON names no interpreter")
def test_bertscore_of_the_package_itself_by_the_pair(tmp_path: Path) -> None:
    assert RADEVAL_PYTHON is not None
    name = "distilbert-base-uncased"
    subprocess.run(
        [RADEVAL_PYTHON, "-c", _RADEVAL.DISTILBERT, tmp_path / name], check=True, capture_output=True
    )
    reward = RadEval("bertscore", python=RADEVAL_PYTHON, metric="bertscore", models=tmp_path)
    with opened(reward) as about:
        same, other, blank = reward(
            ["clear lungs .", "no effusion .", ""], ["clear lungs ."] * 3, ["film"] * 3
        )
    assert same == pytest.approx(1, abs=1e-5)
    assert other < 1
    assert blank == 0.0
    assert f"bertscore.radeval_sha256_{name}" in about
    assert json.dumps(about)
