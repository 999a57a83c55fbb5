import json
import math
from pathlib import Path

import pytest

from radrl.rexrank.form import FormError, read
from radrl.rexrank.predictions import fill, unfinished_path

ABOUT = {"input": "1", "policy": "2"}


@pytest.fixture
def studies(tmp_path):
    entries = {
        f"s{number}": {"image_path": [f"{number}.png"], "section_findings": math.nan, "age": 77.0}
        for number in range(5)
    }
    (tmp_path / "in.json").write_text(json.dumps(entries))
    return read(tmp_path / "in.json")


@pytest.fixture
def run(studies, tmp_path):
    def run(writer, output, *, about=ABOUT, at_once=2, **how):
        films = {study.key: [Path(study.film)] for study in studies}
        return fill(studies, films, writer, tmp_path / output, about=about, at_once=at_once, **how)

    return run


class Writer:
    """Writes the film's name and its place, and is killed before a film."""

    def __init__(self, dies_at=None):
        self.seen, self.dies_at = [], dies_at

    def picture(self, film):
        if film.stem == self.dies_at:
            raise KeyboardInterrupt
        return film.stem.encode()

    def write(self, studies, pictures, first):
        assert [f"{study.key[1:]}" for study in studies] == [name.decode() for (name,) in pictures]
        names = [name.decode() for (name,) in pictures]
        self.seen += names
        return [f"Report {place} of {name}." for place, name in enumerate(names, start=first)]


def test_every_entry_gets_its_report_and_keeps_the_rest(run, tmp_path):
    counts = []
    assert run(Writer(), "out.json", done=counts.append) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert list(found) == ["s0", "s1", "s2", "s3", "s4"]
    assert found["s3"]["model_prediction"] == "Report 3 of 3."
    assert found["s3"]["age"] == 77.0
    assert math.isnan(found["s3"]["section_findings"])
    assert counts == [0, 2, 2, 1]
    assert not unfinished_path(tmp_path / "out.json").exists()


def test_a_killed_run_goes_on_where_it_was(run, tmp_path):
    run(Writer(), "whole.json")
    with pytest.raises(KeyboardInterrupt):
        run(Writer(dies_at="2"), "out.json")
    assert not (tmp_path / "out.json").exists()
    second = Writer()
    assert run(second, "out.json") == 2
    assert second.seen == ["2", "3", "4"]
    assert (tmp_path / "out.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_a_line_cut_short_is_written_anew(run, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Writer(dies_at="2"), "out.json", at_once=1)
    kept = unfinished_path(tmp_path / "out.json")
    kept.write_bytes(kept.read_bytes()[:-5])
    second = Writer()
    assert run(second, "out.json", at_once=1) == 1
    assert second.seen == ["1", "2", "3", "4"]
    assert json.loads((tmp_path / "out.json").read_text())["s1"]["model_prediction"] == "Report 1 of 1."


def test_reports_of_another_policy_are_not_taken_over(run):
    with pytest.raises(KeyboardInterrupt):
        run(Writer(dies_at="2"), "out.json")
    with pytest.raises(
        FormError, match=r"out\.json\.unfinished has reports of another input, arm or setting"
    ):
        run(Writer(), "out.json", about=ABOUT | {"policy": "3"})


def test_two_processes_do_not_write_one_output(run):
    class Second(Writer):
        def write(self, studies, pictures, first):
            with pytest.raises(FormError, match=r"another process writes .*out\.json\.unfinished"):
                run(Writer(), "out.json")
            return super().write(studies, pictures, first)

    assert run(Second(), "out.json") == 0


def test_a_film_that_cannot_be_read_names_its_study(run):
    class Blind(Writer):
        def picture(self, film):
            if film.stem == "3":
                raise ValueError(f"{film}: the file is empty")
            return super().picture(film)

    with pytest.raises(FormError, match=r"^study 's3': 3\.png: the file is empty$"):
        run(Blind(), "out.json")
    assert run(Writer(), "out.json") == 2  # mended, it goes on
