"""A trained arm writes on films outside the study what it wrote on them within it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from omegaconf import OmegaConf
from PIL import Image

from radrl.commands.main import cli
from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS
from radrl.reporting import FilmError, film_as_seen, find_arm, samples, trained


@pytest.fixture(scope="module")
def project(smoke: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the smoke run's models, and its films of the split that is scored as files."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(root / "dvc.yaml", folder)
    (folder / "conf/recipes").mkdir(parents=True)
    own = [OmegaConf.load(root / name) for name in ("params.yaml", "conf/smoke/parameters.yml")]
    OmegaConf.save(OmegaConf.merge(*own), folder / "params.yaml")
    (folder / "data").mkdir()
    shutil.copytree(smoke / "06_models", folder / "data/06_models")
    films = corpora.Films(corpora.opened(smoke / "02_intermediate/corpus"), "test")
    (folder / "films").mkdir()
    for number in range(6):
        [png] = films[number : number + 1][0]
        (folder / f"films/{number}.png").write_bytes(png)
    return folder


@pytest.fixture
def radrl(project: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(project)

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, ["report", *words])

    return run


def test_an_arm_writes_what_its_stage_wrote(radrl: Any, smoke: Path) -> None:
    done = radrl("films", "--arm", "grpo", "-o", "out.jsonl", "--force", "--classes", "words")
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    written = pd.read_parquet(smoke / "07_model_output/reports/grpo.parquet")["report"]
    assert [row["report"] for row in rows] == written.tolist()[:6]
    assert [row["image"] for row in rows] == [f"films/{number}.png" for number in range(6)]
    assert set(rows[0]) == {"image", "report", "ended", *OBSERVATIONS}


def test_the_terminal_has_the_report_its_labels_and_that_it_is_research(radrl: Any) -> None:
    done = radrl("films/0.png", "--arm", "sft")
    assert done.exit_code == 0, done.output
    assert "not a medical device" in done.stderr
    assert "drawn films" in done.stderr
    assert done.stdout.startswith("films/0.png\n")
    assert "positive: " in done.stdout


def test_pieces_with_weights_are_the_report(radrl: Any) -> None:
    done = radrl("films", "--arm", "grpo", "--weights", "-o", "weighed.jsonl", "--force")
    assert done.exit_code == 0, done.output
    for row in map(json.loads, Path("weighed.jsonl").read_text().splitlines()):
        assert "".join(piece["text"] for piece in row["weights"]) == row["report"]
        assert all(1 <= piece["weight"] <= 2 for piece in row["weights"])  # 1 + beta x share of the maximum
    assert "heaviest: " in radrl("films/1.png", "--arm", "grpo", "--weights").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("films/0.png", "--arm", "gpro"), "did you mean 'grpo'"),
        (("dvc.yaml", "--arm", "grpo"), "dvc.yaml: neither PNG nor JPEG nor DICOM"),
        (("data/06_models/arms/grpo", "--arm", "grpo"), "no film in this folder"),
        (("films/0.png", "--arm", "grpo", "-o", "films/0.png"), "ends in none of"),
        (("black.png", "--arm", "grpo"), "black.png: all greys lie between"),
        (("bomb.png", "--arm", "grpo"), "bomb.png: 30000 x 30000 pixels; at most"),
    ],
)
def test_a_mistake_names_what_is_wrong(radrl: Any, words: tuple[str, ...], said: str) -> None:
    Image.fromarray(np.zeros((64, 64), np.uint8)).save("black.png")
    Image.new("1", (30_000, 30_000)).save("bomb.png")
    done = radrl(*words)
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_an_arm_that_has_not_trained_says_what_trains_it(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "fresh")
    shutil.rmtree(tmp_path / "fresh/data/06_models/arms/deer")
    assert "deer" not in trained(tmp_path / "fresh")
    with pytest.raises(FileNotFoundError, match=r"radrl repro train@deer"):
        find_arm(tmp_path / "fresh", "deer")


def test_one_bad_film_ends_it_before_anything_is_written(radrl: Any) -> None:
    Path("some").mkdir(exist_ok=True)
    shutil.copy("films/0.png", "some/a.png")
    Path("some/b.png").write_bytes(Path("films/1.png").read_bytes()[:200])
    done = radrl("some", "--arm", "grpo", "-o", "some.csv")
    assert done.exit_code == 1
    assert "some/b.png: the file is truncated" in done.output
    assert not Path("some.csv").exists()


def test_a_study_is_a_folder_where_params_say_so(tmp_path: Path) -> None:
    for name in ("s1/a.png", "s1/b.JPG", "s1/notes.txt", "s2/c.dcm"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    alone = [tmp_path / "x.png", tmp_path / "y.png"]
    given = [*alone, tmp_path / "s1", tmp_path / "s2"]
    assert [len(sample.paths) for sample in samples(given, "study")] == [2, 2, 1]
    assert [len(sample.paths) for sample in samples(given, "image")] == [1, 1, 1, 1, 1]
    (tmp_path / "none").mkdir()
    with pytest.raises(FilmError, match="no film"):
        samples([tmp_path / "none"], "study")


def test_a_film_is_shown_as_ingest_fits_it(project: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (200, 90), dtype=np.uint8)).save(tmp_path / "tall.jpg")
    asked = find_arm(project, "grpo").asked
    (tmp_path / "seen.png").write_bytes(film_as_seen(tmp_path / "tall.jpg", asked))
    assert Image.open(tmp_path / "seen.png").size == (asked.image_size, asked.image_size)
