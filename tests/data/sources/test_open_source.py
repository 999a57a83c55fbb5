"""The source that params.yaml names."""

import pytest

from radrl.data.sources import open_source
from radrl.data.study import Record
from radrl.data.tables import SourceError
from radrl.parts.find import PartError

CSV = {"path": "nowhere.csv", "image_root": ".", "columns": {"image": "i", "report": "r"}, "views": {}}


def test_a_missing_table_names_the_file_and_the_section_to_mend():
    with pytest.raises(SourceError, match=r"nowhere\.csv is no file\nMend ingest\.csv in params\.yaml"):
        open_source({"source": "csv", "image_size": 64, "csv": CSV}, seed=0)


def test_an_unknown_source_names_the_valid_ones():
    with pytest.raises(PartError, match=r"ingest\.dicom: no source 'dicom'\. There are phantom, csv"):
        open_source({"source": "dicom"}, seed=0)


PHANTOM = {"studies": {"train": 6, "test": 5}, "lateral_share": 0.0}
HOME = {"source": "phantom", "image_size": 32, "phantom": PHANTOM}


def opened(**away):
    section = {"source": "phantom", "split": "test", "set": {}} | away
    return list(open_source(HOME | {"away": section}, seed=4).records)


def texts(records):
    return [(one.key, one.study_id, one.patient_id, one.split, one.findings, one.gold) for one in records]


def test_another_hospitals_films_follow_those_of_home_which_stay_as_they_are():
    home = list(open_source(HOME, seed=4).records)
    both = opened(set={"wording": "telegraphic", "noise": 0.1})
    assert texts(both[:11]) == texts(home)
    assert [(one.image() == other.image()).all() for one, other in zip(home, both, strict=False)] == [
        True
    ] * 11
    left, away = both[11:17], both[17:]
    assert [(one.reason, one.detail) for one in left] == [
        ("left_out_split", "train; ingest.away.split asks for test")
    ] * 6
    assert {one.split for one in away} == {"away"}
    # home's five test studies once more, under names of their own
    assert [one.study_id for one in away] == [f"away-{one.study_id}" for one in home[6:]]
    assert [one.patient_id for one in away] == [f"away-{one.patient_id}" for one in home[6:]]
    assert [one.gold for one in away] == [one.gold for one in home[6:]]
    assert all(one.findings != other.findings for one, other in zip(away, home[6:], strict=True))


def test_without_a_split_all_of_the_other_source_is_another_hospitals():
    assert [one.split for one in opened(split=None)[11:]] == ["away"] * 11
    assert [one.split for one in opened(set={"studies": {"val": 3}}, split="val")[11:]] == ["away"] * 3


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text("i,r\na.png,The heart is large.\nb.png,\n")
    return CSV | {"path": str(tmp_path / "t.csv"), "image_root": str(tmp_path)}


def test_two_sources_keep_their_folders_and_refusals_are_named_as_away(table, tmp_path):
    here = {"source": "csv", "image_size": 32, "csv": table | {"image_root": str(tmp_path / "home")}}
    away = {"source": "csv", "split": None, "set": {"image_root": str(tmp_path)}}
    source = open_source(here | {"away": away}, seed=0)
    assert (source.root, source.away_root) == (tmp_path / "home", tmp_path)
    found = list(source.records)
    assert [one.key.startswith("away ") for one in found] == [False] * 2 + [True] * 2
    assert [isinstance(one, Record) for one in found[:2]] == [isinstance(one, Record) for one in found[2:]]


def test_a_source_without_splits_is_refused_where_one_is_asked_for(table):
    away = {"source": "csv", "split": "test", "set": {}}
    source = open_source({"source": "csv", "image_size": 32, "csv": table, "away": away}, seed=0)
    with pytest.raises(
        SourceError, match=r"states no split, and ingest\.away\.split is test; null takes all"
    ):
        list(source.records)


def test_films_of_patients_do_not_stand_beside_drawn_ones(table):
    away = {"source": "csv", "split": None, "set": {}}
    with pytest.raises(SourceError, match="one has drawn films, the other patients'"):
        open_source(HOME | {"csv": table, "away": away}, seed=0)
