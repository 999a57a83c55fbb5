import io
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from radrl.data.admission import CORPUS, corpus_schema, row_digest
from radrl.data.ingest import ingest
from radrl.data.prepare import Rules, prepare
from radrl.data.quarantine import REASONS, PatientInTwoSplits, Quarantine, Refusal, TooManyQuarantined
from radrl.data.study import SPLITS, Box, Record

SHARES = {"pretrain": 0.25, "train": 0.25, "val": 0.25, "test": 0.25}
OPTIONS = {
    "seed": 0,
    "target": "report",
    "image_size": 16,
    "image_fit": "pad",
    "split_shares": SHARES,
    "max_quarantined_share": 1.0,
}


@pytest.fixture(scope="session")
def make(noise_film):
    """Make a sound record; another number is another study of another patient with another film."""

    def record(number=0, **changes):
        fields = {
            "key": f"row {number}",
            "study_id": f"s{number}",
            "patient_id": f"p{number}",
            "image": noise_film(number),
            "report": "Lungs are clear.",
        }
        return Record(**{**fields, **changes})

    return record


def run(records, **options):
    ingestion = ingest(records, **{**OPTIONS, **options})
    return list(ingestion), ingestion


def only_refusal(records, **options):
    _, ingestion = run(records, **options)
    (row,) = ingestion.quarantine.table().to_pylist()
    return row


def test_a_row_holds_all_that_the_record_said(make):
    gold = (1,) + (0,) * 13
    record = make(3, view="lateral", split="Validate", findings=" Clear.\r\nNormal heart. ", gold=gold)
    (row,), ingestion = run([record], target="findings")
    assert row.pop("digest") == row_digest(row)
    (film,) = row.pop("images")
    with Image.open(io.BytesIO(film)) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "L", (16, 16))
    assert row == {
        "sample_id": "s3_1",
        "study_id": "s3",
        "patient_id": "p3",
        "split": "val",
        "views": ["lateral"],
        "findings": "Clear.\nNormal heart.",
        "impression": None,
        "report": "Clear.\nNormal heart.",
        "label_text": "Clear.\nNormal heart.",
        "gold": list(gold),
        "source_keys": ["row 3"],
    }
    assert (ingestion.read, ingestion.kept, len(ingestion.quarantine)) == (1, 1, 0)


def test_context_has_columns_where_it_is_asked_for(make):
    record = make(3, indication=" Cough.\r\n", age=61, taken=20240131)
    (plain,), _ = run([record])
    assert not {"indication", "age", "taken"} & plain.keys()
    (row,), ingestion = run([record], context=["indication", "age", "prior"])
    assert (row["indication"], row["age"], row["taken"]) == ("Cough.", 61, 20240131)
    assert row["digest"] == row_digest(row) != plain["digest"]
    assert ingestion.context == ("indication", "age", "prior")
    assert corpus_schema(["prior"]).names == [*CORPUS.names, "taken"]
    assert corpus_schema([]) == CORPUS
    (bare,), _ = run([make(4)], context=["age"])
    assert bare["age"] is None


def test_boxes_are_those_of_the_fitted_film(make):
    tall = np.random.default_rng(0).integers(0, 256, (64, 32), dtype=np.uint8)
    record = make(5, image=tall, boxes=(Box("Left effusion.", 0.0, 0.5, 0.5, 1.0),))
    (found,), _ = run([record], context=["boxes"])
    assert found["boxes"] == [
        {"sentence": "Left effusion.", "left": 0.25, "top": 0.5, "right": 0.5, "bottom": 1.0}
    ]
    assert pa.Table.from_pylist([found], corpus_schema(["boxes"])).to_pylist() == [found]
    (none,), _ = run([make(6)], context=["boxes"])
    assert none["boxes"] is None


def test_films_of_a_study_are_numbered(make):
    films = [make(n, study_id=s, patient_id="p") for n, s in enumerate(["a", "a_1", "a", "a_1"])]
    rows, _ = run(films)
    assert [row["sample_id"] for row in rows] == ["a_1", "a_1_1", "a_2", "a_1_2"]


def test_missing_ids_come_from_the_film_then_from_the_key(make, noise_film, tmp_path):
    Image.fromarray(noise_film(1)).save(tmp_path / "x.png")
    (path, pixels), _ = run(
        [
            make(study_id="", patient_id="", image=tmp_path / "x.png"),
            make(7, study_id="", patient_id=""),
        ],
        image_root=tmp_path,
    )
    assert (path["study_id"], path["patient_id"], path["sample_id"]) == ("x.png", "x.png", "x.png_1")
    assert (pixels["study_id"], pixels["patient_id"]) == ("row 7", "row 7")


def test_records_are_drawn_one_at_a_time(make):
    drawn = []

    def source():
        for number in range(3):
            drawn.append(number)
            yield make(number)

    rows = iter(ingest(source(), **OPTIONS))
    assert drawn == []
    next(rows)
    assert drawn == [0, 1]  # one ahead, which tells that the study has ended


def test_same_pixels_are_a_duplicate_whatever_the_report(make, noise_film):
    first = make()
    same = make(1, image=noise_film(0))
    assert only_refusal([first, same])["detail"] == "same pixels as row 0, with the same report"
    row = only_refusal([first, replace(same, report="Effusion.")])
    assert (row["reason"], row["study_id"]) == ("duplicate_film", "s1")
    assert row["detail"] == "same pixels as row 0, with another report"


def test_same_bytes_in_another_shape_are_another_film(make, noise_film):
    assert len(run([make(), make(1, image=noise_film(0).reshape(20, 24))])[0]) == 2


def test_same_report_of_another_film_is_kept(make):
    assert len(run([make(0), make(1)])[0]) == 2


@pytest.mark.parametrize(
    ("changes", "detail"),
    [({"patient_id": "q"}, "another patient"), ({"report": "Other."}, "another report")],
)
def test_study_id_with_two_meanings_is_refused(make, changes, detail):
    row = only_refusal([make(0, patient_id="p"), make(1, study_id="s0", **{"patient_id": "p", **changes})])
    assert row["reason"] == "duplicate_id"
    assert row["detail"] == f"row 0 has this study id with {detail}"


def test_unknown_split_is_refused_with_the_valid_ones(make):
    row = only_refusal([make(0), make(1, split="fold 1")])
    assert (row["reason"], row["detail"]) == (
        "unknown_split",
        "split 'fold 1'; valid: pretrain, train, val, test, away",
    )


def test_refused_record_claims_neither_pixels_nor_ids(make, noise_film):
    refused = make(0, split="holdout")
    rows, _ = run([refused, make(1, image=noise_film(0), study_id="s0", report="Other.")])
    assert [row["source_keys"] for row in rows] == [["row 1"]]


def test_patient_in_two_stated_splits_stops_the_pass(make):
    records = [make(0, patient_id="p", split="train"), make(1, patient_id="p", split="test")]
    with pytest.raises(PatientInTwoSplits, match=r"train \(row 0, stated\) and test \(row 1, stated\)"):
        run(records)


def test_patients_in_two_splits_are_counted_where_they_are_allowed(make):
    records = [make(0, patient_id="p", split="train"), make(1, patient_id="p", split="test"), make(2)]
    rows, ingestion = run(records, patients_in_two_splits="allow", split_shares={"train": 1.0})
    assert [row["split"] for row in rows] == ["train", "test", "train"]
    assert ingestion.patients_in_two_splits == 1


def test_views_that_are_not_asked_for_are_left_out_and_do_not_count_as_damage(make):
    records = [make(0, view="lateral"), make(1, view="frontal"), make(2)]
    rows, ingestion = run(records, views=["frontal"], max_quarantined_share=0.0)
    assert [row["views"] for row in rows] == [["frontal"]]
    assert ingestion.quarantine.counts() == {"left_out_view": 2}
    with pytest.raises(TooManyQuarantined, match="1 of 2 records"):
        run([*records, make(3, view="frontal", report="")], views=["frontal"], max_quarantined_share=0.4)


def test_a_report_is_cleaned_and_cut_after_its_words_were_counted(make):
    text = "1. Small left effusion (unchanged).\n2. No pneumothorax."
    (row,), _ = run([make(report=text)], cleaning="r2gen_mimic", max_report_words=5, min_report_words=6)
    assert row["report"] == "small left effusion unchanged ."


class TestStudies:
    """One row a study."""

    def test_films_of_a_study_become_one_row(self, make):
        films = [
            make(n, study_id=study, patient_id="p", view=view)
            for n, (study, view) in enumerate(
                [("a", "frontal"), ("a", "lateral"), ("b", "frontal"), ("", "unknown")]
            )
        ]
        rows, ingestion = run(films, sample="study")
        assert [(row["sample_id"], row["views"], len(row["images"]), row["source_keys"]) for row in rows] == [
            ("a", ["frontal", "lateral"], 2, ["row 0", "row 1"]),
            ("b", ["frontal"], 1, ["row 2"]),
            ("row 3", ["unknown"], 1, ["row 3"]),
        ]
        assert (ingestion.kept, ingestion.samples, ingestion.studies_kept) == (4, 3, 3)

    def test_a_study_keeps_the_films_that_are_sound(self, make):
        films = [make(n, study_id=s, patient_id="p") for n, s in enumerate("aab")]
        films[0], films[2] = replace(films[0], image=None), replace(films[2], image=None)
        (row,), ingestion = run(films, sample="study")
        assert row["source_keys"] == ["row 1"]
        assert (ingestion.studies_kept, ingestion.studies_quarantined) == (1, 1)

    def test_films_that_stand_apart_from_their_study_are_refused(self, make):
        films = [make(n, study_id=s, patient_id="p") for n, s in enumerate("abaa")]
        rows, ingestion = run(films, sample="study")
        assert [row["sample_id"] for row in rows] == ["a", "b"]
        refused = ingestion.quarantine.table().to_pylist()
        assert [(row["source_key"], row["reason"]) for row in refused] == [
            ("row 2", "scattered_study"),
            ("row 3", "scattered_study"),
        ]
        assert "other films of the study stand at row 0; sort the source by study" in refused[0]["detail"]
        assert len(run(films)[0]) == 4

    def test_a_study_with_two_reports_keeps_the_first(self, make):
        films = [make(0, study_id="a"), make(1, study_id="a", patient_id="p0", report="Other.")]
        (row,), ingestion = run(films, sample="study")
        assert row["source_keys"] == ["row 0"]
        assert ingestion.quarantine.counts() == {"duplicate_id": 1}


def test_too_many_refused_stops_the_pass_with_a_summary(make):
    ingestion = ingest([make(0), make(1, report="___")], **{**OPTIONS, "max_quarantined_share": 0.49})
    with pytest.raises(
        TooManyQuarantined, match=r"(?s)1 of 2 .*empty_report: 1.*row 1.*max_quarantined_share to 0\.5"
    ):
        list(ingestion)
    with pytest.raises(RuntimeError, match="read to its end"):
        _ = ingestion.quarantine
    assert len(run([make(0), make(1, report="___")], max_quarantined_share=0.5)[0]) == 1


def test_a_record_that_gets_lost_on_the_way_is_noticed(make, monkeypatch):
    monkeypatch.setattr(Quarantine, "add", lambda self, refusal: None)
    with pytest.raises(AssertionError, match="2 records, but 1 kept and 0 quarantined"):
        run([make(0), make(1, report=None)])


def test_nothing_read_or_nothing_kept_is_an_error(make):
    with pytest.raises(ValueError, match="gave no record"):
        run([])
    with pytest.raises(ValueError, match=r"(?s)nothing was kept of 1 .*empty_report"):
        run([make(report=None)])


def test_the_pass_is_made_once(make):
    ingestion = ingest([make()], **OPTIONS)
    with pytest.raises(RuntimeError, match="read to its end"):
        _ = ingestion.quarantine
    list(ingestion)
    with pytest.raises(RuntimeError, match="already begun"):
        list(ingestion)


@pytest.mark.parametrize(
    ("option", "value", "valid"),
    [
        ("target", "history", "findings_impression"),
        ("image_fit", "crop", "longest_side"),
        ("image_size", 0, "at least 16"),
        ("max_quarantined_share", 1.5, "between 0 and 1"),
        ("split_shares", {"train": 0.4}, "add up to 1"),
        ("sample", "film", "image, study"),
        ("views", ["frontal", "oblique"], "frontal, lateral, unknown"),
        ("cleaning", "r2gen", "r2gen_iu"),
        ("patients_in_two_splits", "ignore", "refuse, allow"),
    ],
)
def test_wrong_options_are_named(make, option, value, valid):
    with pytest.raises(ValueError, match=f"{option}.*{valid}"):
        run([make()], **{option: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"view": "front"}, "row 0: view 'front'"),
        ({"gold": (0, 1)}, "row 0: gold must be 14"),
        ({"gold": (4,) * 14}, "row 0: gold must be 14"),
        ({"image": Path("x.png")}, "row 0 .*needs image_root"),
    ],
)
def test_a_source_that_breaks_its_contract_is_an_error(make, changes, message):
    with pytest.raises(ValueError, match=message):
        run([make(**changes)])


@pytest.mark.parametrize(
    ("field", "reason"),
    [("report", "malformed_report"), ("patient_id", "missing_id"), ("study_id", "missing_id")],
)
def test_half_a_surrogate_pair_is_no_text(make, field, reason):
    row = only_refusal([make(), make(1, **{field: "Clear \ud800 lungs."})])
    assert (row["reason"], row["detail"].split()[0]) == (reason, field)


def test_a_report_of_removed_words_alone_is_none(make):
    assert only_refusal([make(), make(1, report="XXXX XXXX. ___")])["reason"] == "empty_report"


def test_report_of_another_target_is_hinted_at(make):
    row = only_refusal([make(), make(1, findings="Clear.")], target="findings")
    assert row["reason"] == "empty_report"
    assert "set target to report" in row["detail"]


def test_prepare_can_be_sent_to_another_process(make):
    rules = Rules("report", 16)
    work, record = pickle.loads(pickle.dumps((partial(prepare, rules=rules), make())))
    assert pickle.loads(pickle.dumps(work(record))) == prepare(make(), rules)


@pytest.fixture(scope="module")
def mixes(make):
    """Any mix of sound, broken and repeated records behind one that is sound."""
    films = st.one_of(
        st.integers(0, 9).map(lambda seed: np.random.default_rng(seed).integers(0, 256, (16, 16), np.uint8)),
        st.sampled_from([None, np.zeros((20, 20), np.uint8), np.zeros((2, 2), np.uint8), np.ones((20, 20))]),
    )
    fields = st.fixed_dictionaries(
        {
            "image": films,
            "report": st.sampled_from([None, "", "___", "Clear.", "Large left effusion."]),
            "study_id": st.sampled_from(["", "a", "b", "c"]),
            "patient_id": st.sampled_from(["", "x", "y", "z"]),
            "split": st.sampled_from([None, None, None, "fold 1"]),
        }
    )
    broken_rows = st.just(Refusal("row", "malformed_row", "3 fields where the header has 2"))
    records = st.one_of(fields.map(lambda changes: make(100, **changes)), broken_rows)
    return st.lists(records, max_size=12).map(
        lambda mix: [make(0), *(replace(record, key=f"row {n}") for n, record in enumerate(mix, 1))]
    )


class TestLaws:
    @given(st.data())
    def test_input_is_kept_plus_quarantined(self, mixes, data):
        mix = data.draw(mixes)
        rows, ingestion = run(mix)
        quarantined = ingestion.quarantine.table().to_pylist()
        keys = [key for row in rows for key in row["source_keys"]] + [
            row["source_key"] for row in quarantined
        ]
        assert sorted(keys) == sorted(record.key for record in mix)
        assert {row["reason"] for row in quarantined} <= set(REASONS)
        assert ingestion.read == ingestion.kept + len(ingestion.quarantine) == len(mix)
        assert len({row["sample_id"] for row in rows}) == len(rows)

    @given(st.data())
    def test_patient_and_study_stand_in_one_split(self, mixes, data):
        rows, _ = run(data.draw(mixes))
        for unit in ("patient_id", "study_id"):
            assert len({(row[unit], row["split"]) for row in rows}) == len({row[unit] for row in rows})
        assert {row["split"] for row in rows} <= set(SPLITS)

    @given(st.data())
    def test_same_input_gives_the_same_bytes(self, mixes, data):
        mix = data.draw(mixes)
        assert run(mix)[0] == run(mix)[0]

    @given(
        patients=st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True),
        added=st.sets(st.integers(0, 7)),
        seed=st.integers(0, 1000),
    )
    def test_split_stays_when_patients_are_added(self, make, patients, added, seed):
        everyone = [make(n, patient_id=patient) for n, patient in enumerate(patients)]
        fewer = [record for n, record in enumerate(everyone) if n not in added] or everyone
        splits = {row["patient_id"]: row["split"] for row in run(everyone, seed=seed)[0]}
        assert all(splits[row["patient_id"]] == row["split"] for row in run(fewer, seed=seed)[0])


def test_short_report_is_refused(make):
    row = only_refusal([make(0), make(1, report="See above.")], min_report_words=3)
    assert (row["reason"], row["detail"]) == ("short_report", "2 words; min_report_words is 3")
