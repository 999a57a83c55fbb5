import gzip
import zipfile
from itertools import groupby
from pathlib import Path

import mimic_tree as tree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from radrl.data.quarantine import Refusal
from radrl.data.sources import mimic_cxr as mimic_cxr
from radrl.data.sources.mimic_cxr import MimicCxrSection
from radrl.data.study import VIEW_WORDS, Record
from radrl.data.tables import SourceError
from radrl.observations import OBSERVATIONS

ONE = tree.Study(10000032, 50414267, ("PA", "LATERAL"))
TWO = tree.Study(10000032, 53189527, ("AP",), "validate")
THREE = tree.Study(11000048, 50000003, ("LL", ""), "test")
STUDIES = (ONE, TWO, THREE)
METADATA, SPLIT = "mimic-cxr-2.0.0-metadata", "mimic-cxr-2.0.0-split"


@pytest.fixture
def root(tmp_path):
    """A complete tree, films, tables and reports in one folder."""
    tree.write_tables(tmp_path, STUDIES)
    tree.write_reports(tmp_path, STUDIES)
    tree.write_films(tmp_path, STUDIES)
    return tmp_path


def records(root, **options):
    source = mimic_cxr.read(root=root, **options)
    read = list(source.records)
    assert len(read) == source.films
    return read


def by_reason(read):
    return [(r.reason, r.key, r.study_id, r.detail) for r in read if isinstance(r, Refusal)]


def rewrite(path, change):
    """Change the bytes of a table, and write them back as they were packed."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(change(gzip.decompress(path.read_bytes())), mtime=0))
    else:
        path.write_bytes(change(path.read_bytes()))


def test_films_become_records_in_order_of_patient_and_study(root):
    read = records(root)
    assert [(r.patient_id, r.study_id, r.view, r.split) for r in read] == [
        *[("p10000032", "s50414267", view, "train") for view in expected_views(ONE)],
        ("p10000032", "s53189527", "frontal", "validate"),
        *[("p11000048", "s50000003", view, "test") for view in expected_views(THREE)],
    ]
    assert {(r.findings, r.impression, r.report) for r in read} == {
        ("The lungs are clear.", "No acute process.", None)
    }


def expected_views(study):
    named = dict(zip(study.names, study.views, strict=True))
    return [VIEW_WORDS.get(named[name].lower(), "unknown") for name in sorted(named)]


def test_first_record_in_full(root):
    name = min(ONE.names)
    row = 2 + ONE.names.index(name)
    view = {"PA": "frontal", "LATERAL": "lateral"}[ONE.views[ONE.names.index(name)]]
    assert records(root)[0] == Record(
        key=f"{METADATA}.csv.gz row {row}",
        study_id="s50414267",
        patient_id="p10000032",
        image=root / f"files/p10/p10000032/s50414267/{name}.jpg",
        view=view,
        split="train",
        findings="The lungs are clear.",
        impression="No acute process.",
        indication="___F with cough",
        taken=21800506213014,
    )


def test_each_path_is_a_film(root):
    assert all(record.image.is_file() for record in records(root))


def test_same_records_each_time_and_from_plain_tables(root):
    packed = records(root)
    for path in root.glob("*.csv.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    plain = records(root)
    assert [r.image for r in plain] == [r.image for r in packed] == [r.image for r in records(root)]
    assert plain[0].key.startswith(f"{METADATA}.csv row ")


def test_dicom_films(tmp_path):
    tree.write_tables(tmp_path, STUDIES)
    tree.write_reports(tmp_path, STUDIES)
    tree.write_films(tmp_path, STUDIES, suffix="dcm")
    assert {record.image.suffix for record in records(tmp_path, films="dcm")} == {".dcm"}
    with pytest.raises(SourceError, match=r"\.dcm films and no \.jpg; set films to dcm"):
        mimic_cxr.read(root=tmp_path)


def test_folders_apart(tmp_path):
    tree.write_films(tmp_path / "jpg", STUDIES)
    tree.write_tables(tmp_path / "jpg", STUDIES, kinds=(METADATA, SPLIT))
    tree.write_reports(tmp_path / "texts/mimic-cxr-reports", STUDIES)
    tree.write_tables(
        tmp_path / "texts", [*STUDIES, tree.Study(10000099, 59000000)], kinds=["cxr-study-list"]
    )
    read = records(tmp_path / "jpg", reports=tmp_path / "texts")
    assert [type(r) for r in read] == [Record] * 5 + [Refusal]
    (tmp_path / "jpg").rename(tmp_path / "films")
    moved = records(tmp_path / "films", tables=tmp_path / "films", reports=tmp_path / "texts")
    assert len(moved) == 6


@pytest.mark.parametrize("inside", [True, False])
def test_reports_in_the_zip_file(root, inside):
    unpacked = records(root)
    for path in root.glob("files/p*/p*/s*.txt"):
        path.unlink()
    path = tree.write_zip(root / "mimic-cxr-reports.zip", STUDIES)
    assert records(root, reports=root if inside else path) == unpacked


def test_reports_named_as_zip_that_is_none(root):
    path = root / "mimic-cxr-reports.zip"
    path.write_bytes(b"PK\3\4")
    with pytest.raises(SourceError, match=r"reports\.zip is no zip file, or damaged"):
        mimic_cxr.read(root=root, reports=path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "none")
    with pytest.raises(SourceError, match="holds no files/p10"):
        mimic_cxr.read(root=root, reports=path)


def test_damaged_and_missing_members_of_the_zip_file(root):
    path = tree.write_zip(
        root / "r.zip", [ONE, tree.Study(10000032, 53189527, report="FINDINGS: Quiet day.")]
    )
    data = path.read_bytes()
    start = data.index(b"s53189527.txt") + len(b"s53189527.txt")
    path.write_bytes(data[:start] + bytes([data[start] ^ 0xFF]) + data[start + 1 :])
    read = records(root, reports=path)
    assert [r.reason for r in read if isinstance(r, Refusal)] == [
        "malformed_report",
        "missing_report",
        "missing_report",
    ]


def test_no_reports_at_all(root):
    for path in root.glob("files/p*/p*/s*.txt"):
        path.unlink()
    with pytest.raises(SourceError, match=r"no report texts in .*mimic-cxr, not mimic-cxr-jpg.*set reports"):
        mimic_cxr.read(root=root)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root": "nowhere"}, r"files is no folder; set root"),
        ({"tables": "nowhere"}, r"nowhere is no folder; set tables"),
        ({"reports": "nowhere"}, r"no report texts in .*nowhere"),
        ({"gold": "nowhere"}, r"nowhere is no file"),
        ({"split": "r2gen", "annotation": "nowhere"}, r"annotation .*nowhere is no file"),
    ],
)
def test_folders_and_files_that_are_not_there(root, options, message):
    given = {name: root / value if name != "split" else value for name, value in options.items()}
    with pytest.raises(SourceError, match=message):
        mimic_cxr.read(**{"root": root, **given})


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (SPLIT, {}, r"no mimic-cxr-2\.1\.0-split\.csv\(\.gz\) or .* in .*, which split: official needs"),
        (METADATA, {"view_positions": ["PA"]}, r"metadata\.csv\(\.gz\) in .*, which view_positions needs"),
    ],
)
def test_tables_that_are_not_there(root, table, options, message):
    (root / f"{table}.csv.gz").unlink()
    with pytest.raises(SourceError, match=message):
        mimic_cxr.read(root=root, **options)


@pytest.mark.parametrize(
    ("table", "column"),
    [(METADATA, "ViewPosition"), (SPLIT, "split"), (METADATA, "dicom_id"), ("cxr-study-list", "study_id")],
)
def test_missing_columns_are_named(root, table, column):
    rewrite(root / f"{table}.csv.gz", lambda data: data.replace(column.encode(), b"other", 1))
    with pytest.raises(SourceError, match=rf"{table}\.csv\.gz has no column '{column}'; it has: .*other"):
        mimic_cxr.read(root=root)


@pytest.mark.parametrize("table", [METADATA, SPLIT, "cxr-study-list"])
def test_half_written_tables(root, table):
    path = root / f"{table}.csv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(SourceError, match=rf"{table}\.csv\.gz is no gzip file, or damaged"):
        mimic_cxr.read(root=root)


def test_newer_tables_come_first(root):
    (root / f"{SPLIT}.csv.gz").rename(root / "mimic-cxr-2.1.0-split.csv.gz")
    assert [r.split for r in records(root)] == ["train", "train", "validate", "test", "test"]


def test_without_metadata_views_are_unknown(root, caplog):
    (root / f"{METADATA}.csv.gz").unlink()
    assert {(r.view, r.key.split()[0]) for r in records(root)} == {("unknown", f"{SPLIT}.csv.gz")}
    assert "all views are unknown" in caplog.text


def test_the_record_list_will_do_where_no_split_is_stated(root):
    (root / f"{METADATA}.csv.gz").unlink()
    (root / f"{SPLIT}.csv.gz").unlink()
    read = records(root, split="drawn")
    assert [(r.split, r.view) for r in read] == [(None, "unknown")] * 5
    assert read[0].key.startswith("cxr-record-list.csv.gz row ")
    (root / "cxr-record-list.csv.gz").unlink()
    with pytest.raises(SourceError, match="no cxr-record-list"):
        mimic_cxr.read(root=root, split="drawn")


def test_drawn_splits_are_not_stated(root):
    assert {record.split for record in records(root, split="drawn")} == {None}


def test_view_positions(root):
    read = records(root, view_positions=["ap", "LL"])
    assert [r.study_id for r in read if isinstance(r, Record)] == ["s53189527", "s50000003"]
    assert {(reason, detail) for reason, _, _, detail in by_reason(read)} == {
        ("left_out_view", f"ViewPosition {word!r} is not in view_positions") for word in ("PA", "LATERAL", "")
    }
    assert sum(isinstance(r, Record) for r in records(root, view_positions=[""])) == 1


def test_view_positions_that_no_film_has(root):
    with pytest.raises(
        SourceError, match=r"ViewPosition 'PAA', .*there are: '', 'AP', 'LATERAL', 'LL', 'PA'"
    ):
        mimic_cxr.read(root=root, view_positions=["PA", "PAA"])


def test_reports_of_films_that_are_left_out_are_not_read(root):
    (root / f"{TWO.folder}.txt").write_bytes(b"\0")
    assert "malformed_report" in {reason for reason, *_ in by_reason(records(root))}
    assert {reason for reason, *_ in by_reason(records(root, view_positions=["PA"]))} == {"left_out_view"}


def test_film_in_one_table_alone(root):
    tree.write_tables(root, [ONE, TWO], kinds=[METADATA])
    read = records(root)
    assert [r.view for r in read] == [*expected_views(ONE), "frontal", "unknown", "unknown"]
    read = records(root, view_positions=["PA"])
    assert sum(reason == "malformed_row" for reason, *_ in by_reason(read)) == 2
    tree.write_tables(root, STUDIES, kinds=[METADATA])
    tree.write_tables(root, [ONE, TWO], kinds=[SPLIT])
    detail = "the split table has no row of this film, or an empty cell"
    assert [(r[0], r[2], r[3]) for r in by_reason(records(root))] == [
        ("unknown_split", "s50000003", detail)
    ] * 2


def test_splits_in_unknown_words_are_handed_on(root):
    rewrite(root / f"{SPLIT}.csv.gz", lambda data: data.replace(b"validate", b"dev set"))
    assert {record.split for record in records(root)} == {"train", "dev set", "test"}


@pytest.mark.parametrize(
    ("old", "new", "reason", "detail"),
    [
        (TWO.names[0], "", "missing_id", "column 'dicom_id' is empty"),
        (TWO.names[0], "../../secret", "malformed_row", "is not five groups of 8 hexadecimal digits"),
        (TWO.names[0], TWO.names[0].upper(), "malformed_row", "is not five groups"),
        ("53189527", "nan", "malformed_row", "study_id 'nan' is no number of 8 digits"),
        ("53189527,10000032", "53189527,10000032.0", "malformed_row", "subject_id '10000032.0' is no number"),
        ("53189527,10000032", "53189527,", "missing_id", "column 'subject_id' is empty"),
        (",validate", ",validate,x", "malformed_row", "5 fields where the header has 4"),
        ("validate", "vali\0date", "malformed_row", "NUL"),
    ],
)
def test_broken_rows_are_refused_by_number(root, old, new, reason, detail):
    (root / f"{METADATA}.csv.gz").unlink()
    rewrite(root / f"{SPLIT}.csv.gz", lambda data: data.replace(old.encode(), new.encode(), 1))
    read = records(root)
    refused, key, _, told = by_reason(read)[0]
    assert (refused, key) == (reason, f"{SPLIT}.csv.gz row 4")
    assert detail in told
    assert sum(isinstance(r, Record) for r in read) == 4
    assert by_reason(read)[1:] == [
        ("missing_image", "cxr-study-list.csv.gz row 3", "s53189527", "no table names a film of this study")
    ]


def test_tables_from_windows_with_a_byte_order_mark(root):
    usual = records(root)
    for path in root.glob("*.csv.gz"):
        rewrite(path, lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert records(root) == usual


def test_a_row_that_stands_twice(root):
    rewrite(root / f"{SPLIT}.csv.gz", lambda data: data + data.splitlines(keepends=True)[3])
    read = records(root)
    assert by_reason(read) == [
        (
            "duplicate_film",
            f"{SPLIT}.csv.gz row 7",
            "s53189527",
            f"dicom_id {TWO.names[0]} stands in an earlier row too; take one out",
        )
    ]
    assert sum(isinstance(r, Record) for r in read) == 5


def test_tables_that_contradict_each_other(root):
    rewrite(root / f"{SPLIT}.csv.gz", lambda data: data.replace(b"53189527", b"53189528"))
    assert by_reason(records(root)) == [
        (
            "duplicate_id",
            f"{METADATA}.csv.gz row 4",
            "s53189527",
            f"{SPLIT}.csv.gz row 4 gives this film to another study or patient than "
            f"{METADATA}.csv.gz row 4; mend one",
        )
    ]


def test_a_study_with_two_patients(root):
    studies = [ONE, tree.Study(10000999, ONE.study, ("PA", "LATERAL", "AP")), TWO]
    tree.write_tables(root, studies)
    read = records(root)
    # the other patient's first two films bear the names of ONE's, so rows contradict; the third is its own
    told = by_reason(read)
    assert [reason for reason, *_ in told] == ["duplicate_film"] * 4 + ["duplicate_id"] * 3
    assert told[-1][3] == f"{METADATA}.csv.gz row 2 gives this study to another patient; mend one"
    assert [r.study_id for r in read if isinstance(r, Record)] == ["s53189527"]


def test_a_study_with_two_patients_and_films_of_its_own(root):
    other = tree.Study(10000001, 50414268, ("PA",))
    tree.write_tables(root, [ONE, other])
    for path in root.glob("*.csv.gz"):
        rewrite(path, lambda data: data.replace(b"50414268", b"50414267"))
    read = records(root)
    assert [(r[0], r[1]) for r in by_reason(read)] == [("duplicate_id", f"{METADATA}.csv.gz row 4")]
    assert [r.patient_id for r in read if isinstance(r, Record)] == ["p10000032"] * 2


def test_study_without_report_file(root):
    (root / f"{ONE.folder}.txt").unlink()
    told = by_reason(records(root))
    assert [(reason, study, detail) for reason, _, study, detail in told] == [
        ("missing_report", "s50414267", "no s50414267.txt in the patient's folder of reports")
    ] * 2


def test_refusals_name_the_film_without_the_root(root):
    (root / f"{TWO.folder}.txt").unlink()
    (refusal,) = [r for r in records(root) if isinstance(r, Refusal)]
    assert refusal.image == f"{TWO.folder}/{TWO.names[0]}.jpg"
    assert str(root) not in str(refusal)


def test_report_without_films_is_told_by_the_study_list(root):
    extra = tree.Study(10000032, 59999999)
    tree.write_tables(root, [*STUDIES, extra], kinds=["cxr-study-list"])
    assert by_reason(records(root)) == [
        ("missing_image", "cxr-study-list.csv.gz row 5", "s59999999", "no table names a film of this study")
    ]
    rewrite(root / "cxr-study-list.csv.gz", lambda data: data + b"10000032,x,y\n1\n")
    assert [r[:2] for r in by_reason(records(root))][1:] == [
        ("malformed_row", "cxr-study-list.csv.gz row 6"),
        ("malformed_row", "cxr-study-list.csv.gz row 7"),
    ]


def test_films_that_are_not_on_disk_are_left_to_ingest(root):
    for film in root.glob("files/p*/p*/s*/*.jpg"):
        film.unlink()
    assert all(isinstance(record, Record) for record in records(root))


@pytest.mark.parametrize(
    ("content", "findings"),
    [
        (b"\xef\xbb\xbfFINDINGS: Clear.", "Clear."),
        (tree.REPORT.replace("\n", "\r\n").encode(), "The lungs are clear."),
        ("FINDINGS: Épanchement.".encode("latin-1"), "Épanchement."),
        ("FINDINGS: Épanchement.".encode(), "Épanchement."),
        (b"", None),
        (b"INDICATION: Cough.", None),
    ],
)
def test_report_files_as_they_come(root, content, findings):
    (root / f"{TWO.folder}.txt").write_bytes(content)
    (record,) = [r for r in records(root) if r.study_id == "s53189527"]
    assert record.findings == findings


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"FINDINGS: a\0b", "NUL byte"),
        ("FINDINGS: Clear.".encode("utf-16"), "UTF-16"),
        (b"x" * ((1 << 20) + 1), "longer than 1048576 bytes"),
    ],
)
def test_report_files_that_are_no_text(root, content, detail):
    (root / f"{TWO.folder}.txt").write_bytes(content)
    ((reason, _, _, told),) = by_reason(records(root))
    assert reason == "malformed_report"
    assert detail in told


def test_report_that_is_a_folder(root):
    path = root / f"{TWO.folder}.txt"
    path.unlink()
    path.mkdir()
    assert [(r[0], r[3]) for r in by_reason(records(root))] == [
        ("missing_report", "s53189527.txt is not a regular file")
    ]


def test_links_that_leave_the_folder_of_reports_are_refused(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "report.txt"
    outside.write_text("FINDINGS: Secret.")
    path = root / f"{TWO.folder}.txt"
    path.unlink()
    path.symlink_to(outside)
    assert [(r[0], r[2]) for r in by_reason(records(root))] == [("outside_root", "s53189527")]


def test_links_inside_the_folder_of_reports_are_followed(root):
    path = root / f"{TWO.folder}.txt"
    path.unlink()
    path.symlink_to(root / f"{ONE.folder}.txt")
    assert by_reason(records(root)) == []


def test_links_in_a_circle(root):
    path = root / f"{TWO.folder}.txt"
    path.unlink()
    path.symlink_to(path.name)
    assert [r[0] for r in by_reason(records(root))] == ["malformed_report"]


def test_a_linked_tree_is_followed_as_a_whole(root, tmp_path_factory):
    linked = tmp_path_factory.mktemp("linked")
    (linked / "files").symlink_to(root / "files")
    assert len(records(linked, tables=root)) == 5


def test_unheaded_findings_are_a_choice(root):
    (root / f"{TWO.folder}.txt").write_text("INDICATION: Cough.\n\nClear.\n\nIMPRESSION: Normal.")
    for choice, findings in ((True, "Clear."), (False, None)):
        (record,) = [r for r in records(root, unheaded_findings=choice) if r.study_id == "s53189527"]
        assert record.findings == findings


def gold_table(root, rows, opacity="Airspace Opacity"):
    names = sorted(opacity if name == "Lung Opacity" else name for name in OBSERVATIONS)
    return tree.write_table(root / "gold.csv", ["study_id", *names], rows(names))


def test_gold_labels_of_the_radiologist(root):
    values = {"Edema": "1.0", "Airspace Opacity": "-1.0", "Pneumothorax": "0.0"}
    path = gold_table(root, lambda names: [["53189527", *(values.get(name, "") for name in names)]])
    gold = {record.study_id: record.gold for record in records(root, gold=path)}
    expected = {"Edema": 1, "Lung Opacity": 3, "Pneumothorax": 2}
    assert gold == {
        "s50414267": None,
        "s53189527": tuple(expected.get(name, 0) for name in OBSERVATIONS),
        "s50000003": None,
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["53189527", *["2.0"] * 14], r"gold\.csv row 2: .* is '2.0'; valid"),
        (["nan", *[""] * 14], r"gold\.csv row 2: study_id 'nan'"),
        (["53189527"], r"gold\.csv row 2: 1 fields where the header has 15"),
    ],
)
def test_broken_gold_is_no_gold(root, row, message):
    path = gold_table(root, lambda names: [row])
    with pytest.raises(SourceError, match=message):
        mimic_cxr.read(root=root, gold=path)


def test_gold_of_other_studies(root):
    path = gold_table(root, lambda names: [["59999999", *[""] * 14]])
    with pytest.raises(SourceError, match=r"gold\.csv labels no study that the tables name"):
        mimic_cxr.read(root=root, gold=path)


def test_gold_that_contradicts_itself_or_lacks_a_column(root):
    rows = [["53189527", *[""] * 14], ["53189527", *["1.0"] * 14]]
    with pytest.raises(SourceError, match=r"gold\.csv row 3: study 53189527 has other labels"):
        mimic_cxr.read(root=root, gold=gold_table(root, lambda names: rows))
    with pytest.raises(SourceError, match=r"gold\.csv has no column 'Airspace Opacity'"):
        mimic_cxr.read(root=root, gold=gold_table(root, lambda names: [], opacity="Opacity"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"films": "png"}, "films 'png' is unknown; valid: jpg, dcm"),
        ({"split": "own"}, "split 'own' is unknown; valid: official, r2gen, drawn"),
        ({"text": "own"}, "text 'own' is unknown; valid: files, r2gen"),
    ],
)
def test_choices_are_checked(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        mimic_cxr.read(root=tmp_path, **options)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(1, 3), st.booleans(), st.booleans()),
        max_size=12,
        unique_by=lambda drawn: drawn[1],
    )
)
def test_every_film_of_any_tables_is_told_once_and_studies_stand_together(tmp_path_factory, drawn):
    root = tmp_path_factory.mktemp("tree")
    studies = [tree.Study(10000000 + p, 50000000 + s, ("PA",) * n) for p, s, n, _, _ in drawn]
    in_metadata = [study for study, row in zip(studies, drawn, strict=True) if row[3]]
    in_split = [study for study, row in zip(studies, drawn, strict=True) if row[4]]
    tree.write_tables(root, in_metadata, kinds=[METADATA])
    tree.write_tables(root, in_split, kinds=[SPLIT])
    tree.write_reports(root, [tree.Study(10000009, 59999999), *studies[::2]])
    read = records(root)
    films = {name for study in (*in_metadata, *in_split) for name in study.names}
    assert sorted(Path(r.image).stem for r in read) == sorted(films)
    assert len([*groupby(r.study_id for r in read)]) == len({r.study_id for r in read})
    kept = {name for study in in_split if study in studies[::2] for name in study.names}
    assert {r.image.stem for r in read if isinstance(r, Record)} == kept


SECTION = {
    "root": "data/01_raw/mimic-cxr-jpg",
    **dict.fromkeys(("tables", "reports", "annotation", "view_positions", "gold")),
    "films": "jpg",
    "split": "official",
    "text": "files",
    "unheaded_findings": True,
}


def test_the_section_has_the_keys_of_read(root):
    options = dict(MimicCxrSection(**{**SECTION, "root": str(root)}))
    assert len(records(**{**options, "root": root})) == 5


@pytest.mark.parametrize(
    "changed",
    [{"r2gen": {"min_words": 0}}, {"r2gen": {"least": 1}}, {"films": "png"}, {"view_positions": []}],
)
def test_the_section_refuses(changed):
    with pytest.raises(ValidationError):
        MimicCxrSection(**{**SECTION, **changed})
