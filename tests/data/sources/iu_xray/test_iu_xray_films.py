"""Film files of every layout, and the projections."""


def test_every_film_and_every_study_comes_out_once(tree):
    reports = tree.folder(
        x1=tree.report("CXR1", films=["CXR1_IM-0001-1001", "CXR1_IM-0001-2001"]),
        x2=tree.report("CXR2"),
    )
    views = tree.projections(
        "1,1_IM-0001-1001.dcm.png,Frontal",
        "1,1_IM-0001-1001.dcm.png,Frontal",
        "1,9_IM-0001-1001.dcm.png,Frontal",
        "9,9_IM-0009-1001.dcm.png,Frontal",
        "x,1_IM-0001-5001.dcm.png,Frontal",
        "1,scan.png,Frontal",
        "1,1_IM-0001-3001.dcm.png",
    )
    for name in ("1_IM-0001-1001.dcm.png", "1_IM-0001-7001.dcm.png", "8_IM-0008-1001.dcm.png", "scan.png"):
        tree.film(f"films/{name}")
    tree.film("films/again/CXR1_IM-0001-1001.png")
    tree.write("films/index.html", "x")
    tree.film("films/.hidden.png")
    records = tree.read(reports=reports, projections=views, films="films")
    films = {r.image and r.image.name: r.view for r in tree.kept(records)}
    assert films == {
        "1_IM-0001-1001.dcm.png": "frontal",
        "CXR1_IM-0001-2001": "unknown",  # named by the report, not there
        "1_IM-0001-7001.dcm.png": "unknown",  # there, named by nobody
        None: "unknown",  # CXR2
    }
    assert sorted(tree.reasons(records)) == [
        ("duplicate_film", "CXR1"),  # two rows of one film
        ("duplicate_film", "CXR1"),  # two files of one film
        ("malformed_row", ""),  # a row with two fields
        ("malformed_row", ""),  # scan.png in the table
        ("malformed_row", "CXR1"),  # uid of 1, film of 9
        ("missing_id", ""),
        ("missing_report", ""),  # scan.png in the folder
        ("missing_report", "CXR8"),
        ("missing_report", "CXR9"),
    ]


def test_dicom_folders_are_found(tree):
    tree.film("dcm/1/1_IM-0001-3001.dcm")
    (record,) = tree.read(reports=tree.folder(x1=tree.report("CXR1")), films="dcm")
    assert record.image == tree.root / "dcm/1/1_IM-0001-3001.dcm"


def test_film_links_out_of_the_root_are_left_to_ingest_which_refuses_them(tree, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "x.png"
    outside.write_bytes(b"x")
    tree.film("films/2_IM-0002-1001.png")
    (tree.root / "films/1_IM-0001-1001.png").symlink_to(outside)
    source = tree.read(reports=tree.folder(x1=tree.report("CXR1"), x2=tree.report("CXR2")), films="films")
    run = tree.ingested(source)
    assert "outside_root" in run.quarantine.counts()


def test_unknown_views_are_told_once(tree, caplog):
    reports = tree.folder(x1=tree.report("CXR1"))
    views = tree.projections(*(f"1,1_IM-0001-{n}001.dcm.png,Slanted" for n in (1, 2)))
    tree.film("films/1_IM-0001-1001.dcm.png")
    assert {r.view for r in tree.read(reports=reports, projections=views, films="films")} == {"unknown"}
    assert len(caplog.records) == 1
