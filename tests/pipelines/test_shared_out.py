"""Stages shared out to two workers, of this machine or Ray's, give what one process gives."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest
from dying_writers import open_dying

from radrl.data import corpus as corpora
from radrl.datasets import ParquetShards
from radrl.labelers import parallel
from radrl.pipelines.ddsampling import label_rollouts
from radrl.pipelines.eval import score_reports
from radrl.pipelines.generate import write_reports
from radrl.pipelines.label import label_reports
from radrl.pipelines.rollouts import sample_rollouts
from radrl.policy.sampling import Sampling, sample_shards
from radrl.scoring import build

Compute = dict[str, Any]
STUDIES = 11


@pytest.fixture(
    scope="module",
    params=[
        "local",
        pytest.param(
            "ray",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("ray") is None,
                reason="Ray is absent: pip install -c constraints.txt '.[ray]'",
            ),
        ),
    ],
)
def two(request: pytest.FixtureRequest) -> Iterator[Compute]:
    """Two workers; Ray runs for all tests of this file."""
    compute = {"engine": request.param, "workers": 2}
    if request.param == "local":
        yield compute
        return
    import ray

    from radrl.mapping import on_ray

    with on_ray._running(ray, workers=2, gpus=0):
        yield compute


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "OF_FILES", 3)
    monkeypatch.setattr(parallel, "OF_TEXTS", 3)
    monkeypatch.setattr(build, "PAIRS", 2)


@pytest.fixture
def corpus(make_corpus: Callable[..., ds.Dataset], tmp_path: Path) -> ds.Dataset:
    """A corpus in two files."""
    table = make_corpus(["train", "test"], studies=STUDIES).to_table()
    folder = tmp_path / "corpus"
    folder.mkdir()
    corpora.write(table.slice(0, 7), folder / "part-00000.arrow")
    corpora.write(table.slice(7), folder / "part-00001.arrow")
    return corpora.opened(folder)


@pytest.fixture
def drawn(
    small: dict[str, Any], corpus: ds.Dataset, policy_folder: Path, tmp_path: Path
) -> Callable[..., Any]:
    """What the stage rollouts leaves, by its bytes."""

    def run(name: str, compute: Compute | None) -> ds.Dataset:
        saved = ParquetShards(str(tmp_path / name))
        saved.save(
            sample_rollouts(
                corpus=corpus,
                start=policy_folder,
                settings=small["rollouts"],
                dtype="float32",
                prompt=small["prompts"]["plain"],
                seed=0,
                threads=1,
                device="cpu",
                workspace=tmp_path / f".{name}",
                compute=compute,
            )
        )
        assert not (tmp_path / f".{name}").exists()
        return saved.load()

    return run


def test_rollouts_and_their_labels(
    two: Compute,
    drawn: Callable[..., Any],
    small: dict[str, Any],
    models: Path,
    contents: Callable[[Path], dict[str, bytes]],
    tmp_path: Path,
) -> None:
    one, other = drawn("one", None), drawn("other", two)
    assert contents(tmp_path / "other") == contents(tmp_path / "one")
    settings = small["labeler"] | {"name": "chexbert_compact"}
    films, labels = label_rollouts(one, models, settings, threads=1)
    again, read = label_rollouts(other, models, settings, threads=1, compute=two)
    assert again == films == [f"train{i}_1" for i in range(STUDIES)]
    assert np.array_equal(read, labels)
    assert labels.any()


@pytest.mark.parametrize("name", ["rules", "chexbert_compact"])
def test_labels_of_references(
    two: Compute, corpus: ds.Dataset, small: dict[str, Any], models: Path, name: str
) -> None:
    settings = small["labeler"] | {"name": name}
    one = label_reports(corpus, models, settings, threads=1)
    assert len(one) == 2 * STUDIES
    assert label_reports(corpus, models, settings, threads=1, compute=two).equals(one)


def test_a_killed_worker_leaves_no_rollout_out_and_none_twice(
    two: Compute, corpus: ds.Dataset, policy_folder: Path, small: dict[str, Any], prompt: str, tmp_path: Path
) -> None:
    settings = small["rollouts"]
    ids = [f"train{i}_1" for i in range(STUDIES)]
    rows = {}
    for name, fatal, compute in (("unbroken", (), None), ("killed", (3, 8), two)):
        (tmp_path / name).mkdir()
        signs = tmp_path / f"signs-{name}"
        signs.mkdir()
        for first in fatal:  # a shard's first batch, and a shard's second
            (signs / str(first)).touch()
        sampling = Sampling(ids, corpora.Films(corpus, "train"), prompt, settings, 0, tmp_path / name)
        shards = sample_shards(sampling, partial(open_dying, policy_folder, signs), compute)
        rows[name] = [row for shard in shards for row in shard.to_pylist()]
        assert not list(signs.iterdir())  # every worker that was to die has died
    assert rows["killed"] == rows["unbroken"]
    assert [(row["sample_id"], row["rollout"]) for row in rows["killed"]] == [
        (i, k) for i in ids for k in (0, 1)
    ]


def test_rollouts_stopped_and_taken_up_by_other_workers(
    two: Compute, corpus: ds.Dataset, policy_folder: Path, small: dict[str, Any], prompt: str, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    sampling = Sampling(
        [f"train{i}_1" for i in range(STUDIES)],
        corpora.Films(corpus, "train"),
        prompt,
        small["rollouts"],
        0,
        tmp_path / "work",
    )
    opening = partial(open_dying, policy_folder, tmp_path)
    stopped = sample_shards(sampling, opening, two)
    first = next(stopped).to_pylist()
    stopped.close()
    assert sampling.file(0).is_file()
    rest = [shard.to_pylist() for shard in sample_shards(sampling, opening)]
    assert rest[0] == first
    assert [len(shard) for shard in rest] == [6, 6, 6, 4]


def test_reports_of_an_arm(
    two: Compute, corpus: ds.Dataset, policy_folder: Path, small: dict[str, Any]
) -> None:
    settings = small["generate"] | {"temperature": 1.0}
    given = (corpus, policy_folder, settings, "float32", small["prompts"], 0, 1, "cpu")
    one = write_reports(*given)
    told: dict[str, float] = {}
    assert write_reports(*given, step_report=lambda _, found: told.update(found), compute=two).equals(one)
    assert told["generate/seconds_per_image"] > 0


def test_scores(two: Compute, small: dict[str, Any], models: Path, texts: Callable[[int], list[str]]) -> None:
    said = texts(STUDIES)
    ids = [str(i) for i in range(STUDIES)]
    reports = pd.DataFrame({"sample_id": ids, "study_id": ids, "patient_id": ids, "reference": said})
    reports = reports.assign(reference_label_text=said, report=[*said[3:], "", "Clear.", said[0]])
    settings = small["eval"] | {"nlg": {"preparation": "basic", "meteor": False}}
    one = score_reports(reports, models, settings, small["labeler"], threads=1)
    other = score_reports(reports, models, settings, small["labeler"], threads=1, compute=two)
    assert other[0] == one[0]
    assert one[0]["radgraph_rules_simple"] > 0
    pd.testing.assert_frame_equal(other[1], one[1], check_exact=True)
    pd.testing.assert_frame_equal(other[2], one[2], check_exact=True)
