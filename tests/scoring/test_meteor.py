from __future__ import annotations

import os
import subprocess
import tempfile

import numpy as np
import pytest

from radrl.evaluation.meteor import METEOR
from radrl.scoring import ScoringError, nlg
from radrl.scoring.meteor import MeteorProcess, Texts, meteor_missing
from radrl.scoring.nlg import MeteorCounts

needs_java = pytest.mark.skipif(meteor_missing() is not None, reason=f"METEOR: {meteor_missing()}")


@pytest.fixture
def started(monkeypatch):
    """Every process that the test starts."""
    processes = []
    popen = subprocess.Popen

    def recording(*arguments, **options):
        processes.append(popen(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr("radrl.scoring.meteor.subprocess.Popen", recording)
    return processes


@needs_java
def test_scores_in_order_whatever_the_text_holds_and_ends(started):
    with MeteorProcess() as meteor:
        counts, scores = meteor.score_part(
            ["no acute process .", "clear lungs", "left |||\neffusion"],
            ["no acute process .", "", "left effusion"],
        )
        corpus = meteor.corpus(counts)
    assert scores.tolist() == pytest.approx([1.0, 0.0, 1.0])
    assert 0 < corpus < 1
    assert [process.returncode for process in started] == [0]


@needs_java
def test_an_error_inside_the_block_ends_the_process(started):
    with pytest.raises(KeyError), MeteorProcess():
        raise KeyError
    assert started[0].returncode is not None


@needs_java
def test_what_java_says_is_passed_on(started, monkeypatch):
    monkeypatch.setattr("radrl.scoring.meteor.HEAP", "16m")
    with (
        pytest.raises(RuntimeError, match=r"METEOR (?s:.*)OutOfMemoryError(?s:.*)its memory: HEAP"),
        MeteorProcess() as meteor,
    ):
        meteor.counts(["a b"], ["a c"])
    assert started[0].returncode is not None


def test_missing_java_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert meteor_missing() == "no java on PATH"


ODD = [
    ("No x-ray change, S/P surgery; 1.5 cm.\nDoesn't   look |||enlarged (left?).", "no change on x ray"),
    ("heart , lungs . no effusion , pneumothorax .", "no effusion and lungs"),
    ("there is a considerable increase in the size of the heart", "the heart has grown a lot , in size"),
    ("Small to moderate pleural effusions are present e.g. on the left", "modest effusion at the left side"),
    ("the patient 's lungs are well - inflated", "patient lungs well inflated"),
]


def _project(folder, monkeypatch):
    for name in ("dvc.yaml", "params.yaml"):
        (folder / name).touch()
    monkeypatch.chdir(folder)


@needs_java
def test_phrases_of_references_stay_in_their_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    with MeteorProcess(references=["clear lungs"]) as meteor:
        assert meteor.score_part(["clear lungs"], ["clear lungs"])[1] > 0
        assert list((tmp_path / "temporary").rglob("*.gz"))
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


@needs_java
def test_the_paraphrases_of_the_references_give_what_all_of_them_give(tmp_path, monkeypatch):
    _project(tmp_path, monkeypatch)
    references, hypotheses = zip(*ODD, strict=True)
    known = Texts()
    known.add(references)
    with MeteorProcess() as meteor:
        whole = meteor.counts(references, hypotheses)
    with MeteorProcess(references=known.all()) as meteor:
        assert meteor.counts(references, hypotheses).tolist() == whole.tolist()
    assert whole[:, 16:20].any(), "no paraphrase was matched, so nothing was tried"
    (table,) = (tmp_path / "build" / "meteor").iterdir()
    written = table.stat().st_mtime_ns
    with MeteorProcess(references=known.all()) as meteor:
        assert meteor.counts(references, hypotheses).tolist() == whole.tolist()
    assert table.stat().st_mtime_ns == written


@needs_java
def test_no_reference_is_left_where_a_scoring_is_killed(tmp_path, monkeypatch):
    _project(tmp_path, monkeypatch)
    left = tmp_path / "build" / "meteor" / "of a scoring that was killed long ago"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    written, run = [], subprocess.run

    def killed(command, **how):
        result = run(command, **how)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        written.extend(path.name for path in files if b"clear lungs" in path.read_bytes())
        return result

    monkeypatch.setattr(subprocess, "run", killed)
    with MeteorProcess(references=["clear lungs"]) as meteor:
        assert meteor.score_part(["clear lungs"], ["clear lungs"])[1] > 0
    assert written == []
    assert not left.exists()


def test_a_table_is_cut_to_few_references_in_ascii_alone(monkeypatch):
    few, foreign, many = Texts(), Texts(), Texts()
    few.add(["b c", "a\nb", "b c"])
    foreign.add(["1 ° c", "a"])
    monkeypatch.setattr("radrl.scoring.meteor.MOST", 2)
    many.add(["a", "b", "c"])
    many.add(["d"])
    assert [few.all(), foreign.all(), many.all()] == [["a b", "b c"], [], []]


@needs_java
def test_where_no_table_can_be_kept_all_paraphrases_are_read(tmp_path, monkeypatch):
    _project(tmp_path, monkeypatch)
    (tmp_path / "build").touch()
    with MeteorProcess(references=["clear lungs"]) as meteor:
        assert meteor.score_part(["clear lungs"], ["clear lungs"])[1] > 0


REFERENCES = [
    "The heart is enlarged. There is a small left pleural effusion.",
    "No acute cardiopulmonary abnormality.",
    "Lungs are clear. No pneumothorax.",
    "The heart size is normal.",
    "Patchy opacities seen in the lungs.",
]
HYPOTHESES = [
    "Heart is mildly enlarged. Small effusions at left.",
    "No acute disease of the chest.",
    "",
    "The heart size is normal.",
    "A patchy opacity is seen in left lung bases.",
]


@pytest.mark.skipif(meteor_missing() is not None, reason=str(meteor_missing()))
def test_sums_give_what_the_program_gives() -> None:
    found = MeteorCounts("whitespace").score(REFERENCES, HYPOTHESES)
    with MeteorProcess() as process:
        counts, per_report = process.score_part(REFERENCES, HYPOTHESES)
        corpus = process.corpus(counts)
    assert found.corpus[METEOR] == pytest.approx(corpus, abs=1e-9)
    assert found.per_report[METEOR] == pytest.approx(per_report, abs=1e-9)
    assert found.summed is not None
    weights = np.array([2, 0, 1, 0, 1.0])  # a resample: the first pair twice
    resample = [0, 0, 2, 4]
    with MeteorProcess() as process:
        counts, _ = process.score_part(*([side[i] for i in resample] for side in (REFERENCES, HYPOTHESES)))
        corpus = process.corpus(counts)
    assert found.summed.of_sums(weights @ found.summed.per_study)[METEOR] == pytest.approx(corpus, abs=1e-9)


def test_without_java_the_comparison_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nlg, "meteor_missing", lambda: "no java on PATH")
    with pytest.raises(ScoringError, match="nlg_meteor cannot be had here: no java on PATH"):
        MeteorCounts("basic").score(["a"], ["b"])
