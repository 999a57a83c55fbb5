"""Reports from XML folders, archives and the CSV copy."""

import pytest

from radrl.data.study import Record

ROW = "1,Cardiomegaly/mild,Cardiomegaly,PA,cough,,Heart is large.,Mild cardiomegaly."


def test_an_xml_report_becomes_records_with_its_two_sections(tree):
    reports = tree.folder(x1=tree.report("CXR1", films=["CXR1_1_IM-0001-3001", "CXR1_1_IM-0001-4001"]))
    views = tree.projections("1,1_IM-0001-4001.dcm.png,Frontal", "1,1_IM-0001-3001.dcm.png,Lateral")
    for number in (3001, 4001):
        tree.film(f"png/CXR1_1_IM-0001-{number}.png")
    records = tree.read(reports=reports, projections=views, films="png")
    assert records == [
        Record(
            key=f"ecgen-radiology/1.xml film CXR1_1_IM-0001-{number}.png",
            study_id="CXR1",
            patient_id="CXR1",
            image=tree.root / f"png/CXR1_1_IM-0001-{number}.png",
            view=view,
            findings="Clear lungs.",
            impression="Normal chest.",
            indication="Cough",
        )
        for number, view in ((4001, "frontal"), (3001, "lateral"))
    ]


def test_folder_archive_and_csv_give_the_same(tree):
    texts = {1: "First.", 2: "Second.", 10: "Tenth."}
    contents = {n: tree.report(f"CXR{n}", findings=text, tags=("Edema",)) for n, text in texts.items()}
    folder = tree.folder(**{f"x{n}": content for n, content in contents.items()})
    archive = tree.archive({f"ecgen-radiology/{n}.xml": content for n, content in contents.items()})
    table = tree.csv(*(f"{n},Edema,Edema,PA,,,{text},Normal chest." for n, text in texts.items()))
    found = [
        [(r.study_id, r.findings, r.impression, r.view, r.image) for r in tree.drawn(reports=name)]
        for name in (folder, archive, table)
    ]
    assert [study for study, *_ in found[0]] == ["CXR1", "CXR2", "CXR10"]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<eCitation><uId id='CXR1'/>", "malformed_report"),
        ("", "malformed_report"),
        ("\0\0", "malformed_report"),
        ("<?xml version='1.0' encoding='gnome'?><a/>", "malformed_report"),
        ("<eCitation/>", "missing_id"),
        ("<eCitation><uId id='nobody'/></eCitation>", "missing_id"),
        ("<eCitation><uId id='CXR1'/>" + " " * (1 << 20) + "</eCitation>", "malformed_report"),
    ],
)
def test_a_report_that_cannot_be_read_is_refused_alone(tree, content, reason):
    folder = tree.folder(x1=content, x2=tree.report("CXR2"))
    archive = tree.archive({"1.xml": content, "2.xml": tree.report("CXR2")})
    for name in (folder, archive):
        first, second = tree.drawn(reports=name)
        assert (first.reason, first.key.rsplit("/")[-1]) == (reason, "1.xml")
        assert second.study_id == "CXR2"


def test_missing_and_divided_sections(tree):
    twice = tree.report("CXR2").replace(
        "<Abstract>", '<Abstract><AbstractText Label="Findings ">Also.</AbstractText>'
    )
    bare = "<eCitation><uId id='CXR3'/><MeSH><major>normal</major></MeSH></eCitation>"
    reports = tree.folder(x1=tree.report("CXR1", findings="", impression=" "), x2=twice, x3=bare)
    texts = [(r.findings, r.impression) for r in tree.drawn(reports=reports)]
    assert texts == [(None, None), ("Also.\nClear lungs.", "Normal chest."), (None, None)]


def test_a_second_report_of_a_study_is_refused(tree):
    reports = tree.folder(x1=tree.report("CXR1"), x2=tree.report("CXR1", findings="Other."))
    first, second = tree.drawn(reports=reports)
    assert (first.study_id, second.reason, second.study_id) == ("CXR1", "duplicate_id", "CXR1")
    assert "ecgen-radiology/1.xml" in second.detail


def test_what_lies_beside_the_reports_is_no_report(tree):
    reports = tree.folder(x1=tree.report("CXR1"))
    tree.write("ecgen-radiology/._1.xml", b"\0\5\x16\7")
    tree.write("ecgen-radiology/README.txt", "x")
    assert len(tree.drawn(reports=reports)) == 1


def test_report_links_may_not_leave_the_root(tree, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "1.xml"
    outside.write_text(tree.report("CXR1"))
    folder = tree.root / "reports"
    folder.mkdir()
    (folder / "1.xml").symlink_to(outside)
    (folder / "2.xml").symlink_to(folder / "gone.xml")
    assert [r.reason for r in tree.drawn(reports="reports")] == ["outside_root", "missing_report"]


def test_rows_of_the_csv_that_cannot_be_read(tree):
    reports = tree.csv(ROW, "2,normal", "none,normal,normal,PA,,,x,y", "3,No Indexing,No Indexing,PA,,,x,y")
    records = tree.drawn(reports=reports)
    assert tree.reasons(records) == [("malformed_row", ""), ("missing_id", ""), ("missing_image", "CXR3")]
    assert records[0].key == "indiana_reports.csv row 2 film drawn"
