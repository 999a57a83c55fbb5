import subprocess

import pytest

from radrl.scoring.meteor import MeteorProcess, meteor_missing

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
        corpus, scores = meteor.score(
            ["no acute process .", "clear lungs", "left |||\neffusion"],
            ["no acute process .", "", "left effusion"],
        )
    assert scores.tolist() == pytest.approx([1.0, 0.0, 1.0])
    assert 0 < corpus < 1
    assert [process.returncode for process in started] == [0]


@needs_java
def test_an_error_inside_the_block_ends_the_process(started):
    with pytest.raises(KeyError), MeteorProcess():
        raise KeyError
    assert started[0].returncode is not None


@needs_java
def test_what_java_says_is_passed_on(started):
    with (
        pytest.raises(RuntimeError, match=r"METEOR (?s:.*)OutOfMemoryError(?s:.*)larger heap"),
        MeteorProcess(heap="16m") as meteor,
    ):
        meteor.score(["a b"], ["a c"])
    assert started[0].returncode is not None


def test_missing_java_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert meteor_missing() == "no java on PATH"
