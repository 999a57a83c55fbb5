"""Films drawn from what indexers noted."""

ROW = "1,Cardiomegaly/mild,Cardiomegaly,PA,cough,,Heart is large.,Mild cardiomegaly."


def test_phantoms_follow_projections_tags_and_labels(tree):
    reports = tree.folder(x1=tree.report("CXR1", tags=["Cardiomegaly/severe"], films=["CXR1_IM-0001-9001"]))
    views = tree.projections("1,1_IM-0001-1001.dcm.png,Frontal", "1,1_IM-0001-2001.dcm.png,Lateral")
    records = tree.drawn(
        reports=reports, projections=views, labels=tree.labels(CXR1=["Edema"]), image_size=64
    )
    frontal, lateral = tree.kept(records)
    assert (frontal.view, lateral.view) == ("frontal", "lateral")
    assert (frontal.image.tags, frontal.image.columns) == (("Cardiomegaly/severe",), frozenset({"Edema"}))
    assert frontal.image().shape == (64, 64)
    assert frontal.gold is None
    assert tree.reasons(records) == [("left_out_view", "CXR1")]  # the film whose view nobody tells


def test_a_study_is_drawn_alike_whatever_stands_around_it(tree):
    alone = tree.drawn(reports=tree.csv(ROW))
    among = tree.drawn(reports=tree.csv("5,normal,normal,PA,,,x,y", ROW))
    assert (alone[0].image() == among[1].image()).all()
    assert (alone[0].image() != tree.drawn(reports=tree.csv(ROW), seed=1)[0].image()).any()


def test_two_frontal_films_of_a_study_differ(tree):
    views = tree.projections("1,1_IM-0001-1001.dcm.png,Frontal", "1,1_IM-0001-2001.dcm.png,Frontal")
    run = tree.ingested(tree.drawn(reports=tree.csv(ROW), projections=views))
    assert (run.kept, len(run.quarantine)) == (2, 0)


def test_unindexed_studies_are_refused_not_drawn_healthy(tree):
    reports = tree.folder(x1=tree.report("CXR1", tags=["No Indexing"]), x2=tree.report("CXR2", tags=[]))
    assert tree.reasons(tree.drawn(reports=reports)) == [("missing_image", "CXR1"), ("missing_image", "CXR2")]
    labels = tree.labels(CXR2=["normal"])
    assert tree.reasons(tree.drawn(reports=reports, labels=labels)) == [("missing_image", "CXR1")]


def test_rows_of_the_labels_that_cannot_be_used(tree):
    labels = tree.labels(CXR1=["Edema"], CXR2=[])
    path = tree.root / labels
    text = path.read_text()
    path.write_text(
        text + text.splitlines()[1] + "\nnobody" + ",0" * 15 + "\nCXR3" + ",2" * 15 + "\nCXR4,1\n"
    )
    records = tree.drawn(reports=tree.csv(ROW), labels=labels)
    assert tree.reasons(records) == [
        ("duplicate_id", "CXR1"),
        ("missing_id", ""),
        ("malformed_row", "CXR3"),
        ("malformed_row", ""),
    ]
    assert tree.kept(records)[0].image.columns == {"Edema"}


def test_tags_that_no_table_knows_are_told_once(tree, caplog):
    tree.drawn(reports=tree.csv(*(f"{n},Gnomes/lung,Gnomes,PA,,,x,y" for n in (1, 2))))
    assert [r.args[1] for r in caplog.records] == ["gnomes"]
