"""R2Gen's annotation.json: its split, its texts, its copy of the films."""

import pytest

from radrl.data.quarantine import Refusal


def entry(uid, split="train", **fields):
    paths = [f"CXR{uid}_IM-0001/{n}.png" for n in (0, 1)]
    return {"id": f"CXR{uid}_IM-0001", "report": "Clear.", "image_path": paths, "split": split, **fields}


def test_r2gens_copy_alone_is_enough(tree):
    notes = tree.annotation(train=[entry(7)], val=[entry(3, "val")], test=[entry(5, "test")])
    for uid in (7, 3, 5):
        for n in (0, 1):
            tree.film(f"images/CXR{uid}_IM-0001/{n}.png")
    records = tree.read(annotation=notes, films="images", split="r2gen")
    assert [(r.study_id, r.split, r.image.name, r.view) for r in records] == [
        (f"CXR{uid}", split, f"{n}.png", "unknown")
        for uid, split in ((7, "train"), (3, "val"), (5, "test"))
        for n in (0, 1)
    ]
    assert {(r.findings, r.impression) for r in records} == {("Clear.", None)}


def test_r2gens_split_leaves_other_studies_out(tree):
    reports = tree.folder(
        x1=tree.report("CXR1", films=["CXR1_IM-0001-1001"]), x2=tree.report("CXR2"), x3=tree.report("CXR3")
    )
    notes = tree.annotation(train=[entry(3)], test=[entry(9, "test")])
    records = tree.drawn(reports=reports, annotation=notes, split="r2gen")
    assert [(r.study_id, r.split, r.findings) for r in tree.kept(records)] == [
        ("CXR3", "train", "Clear lungs.")
    ]
    assert tree.reasons(records) == [
        ("left_out_split", "CXR1"),
        ("left_out_split", "CXR2"),
        ("missing_report", "CXR9"),
    ]
    assert [r.split for r in tree.kept(tree.drawn(reports=reports, annotation=notes))] == [None] * 3


@pytest.mark.parametrize(
    ("lists", "split"),
    [
        ({" train ": [entry(1, "")]}, "train"),
        ({"   ": [entry(1, "val")]}, "val"),
        ({"": [entry(1, "validation")]}, "val"),
        ({"   ": [entry(1, " ")]}, None),
        ({"everything": [entry(1, None)]}, None),
        ({"train": [entry(1, "gnome")]}, None),
        ({"train": [entry(1, "test")]}, None),
    ],
)
def test_lists_and_splits_of_entries(tree, lists, split):
    tree.film("images/CXR1_IM-0001/0.png")
    records = tree.read(annotation=tree.annotation(**lists), films="images", split="r2gen")
    if split:
        assert {r.split for r in records} == {split}
    else:
        assert tree.reasons(records)[0] == ("unknown_split", "CXR1")
        assert tree.kept(records) == []  # never drawn, which could put it into another split than was meant


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("text", "malformed_row"),
        ({"report": "x"}, "missing_id"),
        (entry(1, id=" "), "missing_id"),
        (entry(1, image_path=[1]), "malformed_row"),
        (entry(1, report=["x"]), "malformed_row"),
    ],
)
def test_broken_entries_are_refused(tree, bad, reason):
    records = tree.drawn(
        annotation=tree.annotation(train=[bad, entry(2)]),
        labels=tree.labels(CXR2=["Edema"]),
        split="r2gen",
    )
    assert [r.reason for r in records if isinstance(r, Refusal)] == [reason]
    assert records[0].key == "annotation.json train entry 1"


def test_entries_of_one_study_agree_or_are_refused(tree):
    more = entry(1, id="CXR1_IM-0002", image_path=["CXR1_IM-0002/0.png"])
    notes = tree.annotation(train=[entry(1), more, entry(1, report="Other.")], test=[entry(1, "test")])
    for path in (*entry(1)["image_path"], "CXR1_IM-0002/0.png"):
        tree.film(f"images/{path}")
    records = tree.read(annotation=notes, films="images", split="r2gen")
    assert tree.reasons(records) == [("duplicate_id", "CXR1"), ("unknown_split", "CXR1")]
    assert [r.image.parent.name for r in tree.kept(records)] == ["CXR1_IM-0001"] * 2 + ["CXR1_IM-0002"]


@pytest.mark.parametrize("path", ["../../CXR1_IM-0001/0.png", "/etc/passwd"])
def test_paths_of_the_annotation_that_leave_the_root_are_refused(tree, path):
    tree.film("images/CXR2_IM-0001/0.png")
    notes = tree.annotation(train=[entry(1, image_path=[path]), entry(2)])
    run = tree.ingested(tree.read(annotation=notes, films="images", split="r2gen"))
    refused = {row["study_id"]: row["reason"] for row in run.quarantine.table().to_pylist()}
    assert refused["CXR1"] == "outside_root"
