import json
import math

import pytest

from radrl.rexrank.form import FormError, read
from radrl.rexrank.predictions import fill, unfinished_path

ABOUT = {"input": "1", "policy": "2"}


@pytest.fixture
def studies(tmp_path):
    entries = {}
    for number in range(5):
        (tmp_path / f"{number}.png").touch()
        entries[f"s{number}"] = {"image_path": [f"{number}.png"], "section_findings": math.nan, "age": 77.0}
    (tmp_path / "in.json").write_text(json.dumps(entries))
    return read(tmp_path / "in.json")


class Writer:
    """Writes the film's name, and is killed before a film."""

    def __init__(self, dies_at=None):
        self.seen, self.dies_at = [], dies_at

    def __call__(self, films):
        if self.dies_at in [film.stem for film in films]:
            raise KeyboardInterrupt
        self.seen += [film.stem for film in films]
        return [f"Report of {film.stem}." for film in films]


def test_every_entry_gets_its_report_and_keeps_the_rest(studies, tmp_path):
    writer, counts = Writer(), []
    output = tmp_path / "out.json"
    assert fill(studies, tmp_path, writer, output, about=ABOUT, at_once=2, done=counts.append) == 0
    found = json.loads(output.read_text())
    assert list(found) == ["s0", "s1", "s2", "s3", "s4"]
    assert found["s3"]["model_prediction"] == "Report of 3."
    assert found["s3"]["age"] == 77.0
    assert math.isnan(found["s3"]["section_findings"])
    assert counts == [0, 2, 2, 1]
    assert not unfinished_path(output).exists()


def test_a_killed_run_goes_on_where_it_was(studies, tmp_path):
    output, whole = tmp_path / "out.json", tmp_path / "whole.json"
    fill(studies, tmp_path, Writer(), whole, about=ABOUT, at_once=2)
    with pytest.raises(KeyboardInterrupt):
        fill(studies, tmp_path, Writer(dies_at="2"), output, about=ABOUT, at_once=2)
    assert not output.exists()
    second = Writer()
    assert fill(studies, tmp_path, second, output, about=ABOUT, at_once=2) == 2
    assert second.seen == ["2", "3", "4"]
    assert output.read_bytes() == whole.read_bytes()


def test_a_line_cut_short_is_written_anew(studies, tmp_path):
    output = tmp_path / "out.json"
    with pytest.raises(KeyboardInterrupt):
        fill(studies, tmp_path, Writer(dies_at="2"), output, about=ABOUT, at_once=1)
    kept = unfinished_path(output)
    kept.write_bytes(kept.read_bytes()[:-5])
    second = Writer()
    assert fill(studies, tmp_path, second, output, about=ABOUT, at_once=1) == 1
    assert second.seen == ["1", "2", "3", "4"]
    assert json.loads(output.read_text())["s1"]["model_prediction"] == "Report of 1."


def test_reports_of_another_policy_are_not_taken_over(studies, tmp_path):
    output = tmp_path / "out.json"
    with pytest.raises(KeyboardInterrupt):
        fill(studies, tmp_path, Writer(dies_at="2"), output, about=ABOUT, at_once=1)
    with pytest.raises(
        FormError, match=r"out\.json\.unfinished has reports of another input, arm or setting"
    ):
        fill(studies, tmp_path, Writer(), output, about=ABOUT | {"policy": "3"}, at_once=1)


def test_two_processes_do_not_write_one_output(studies, tmp_path):
    output = tmp_path / "out.json"

    def second(films):
        with pytest.raises(FormError, match=r"another process writes .*out\.json\.unfinished"):
            fill(studies, tmp_path, Writer(), output, about=ABOUT, at_once=5)
        return ["" for _ in films]

    fill(studies, tmp_path, second, output, about=ABOUT, at_once=5)
    assert json.loads(output.read_text())["s0"]["model_prediction"] == ""


def test_a_film_that_cannot_be_read_names_its_study(studies, tmp_path):
    def write(films):
        if any(film.stem == "3" for film in films):
            raise ValueError("3.png is no image")
        return ["" for _ in films]

    with pytest.raises(FormError, match=r"^study 's3': 3\.png is no image$"):
        fill(studies, tmp_path, write, tmp_path / "out.json", about=ABOUT, at_once=5)
