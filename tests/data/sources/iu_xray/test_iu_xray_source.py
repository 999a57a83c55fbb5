"""The source as a whole: settings, missing files, order."""

import os

import pytest

from radrl.data.sources import iu_xray as iu_xray
from radrl.data.sources.iu_xray import IuXraySection
from radrl.data.tables import SourceError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name reports, or annotation"),
        ({"reports": "r", "split": "r2gen", "images": "phantom"}, "split r2gen needs annotation"),
        ({"reports": "r"}, "images files needs films"),
        ({"reports": "r", "images": "drawn"}, "images 'drawn' is unknown; valid: files, phantom"),
        ({"reports": "r", "images": "phantom", "xxxx": "mask"}, "xxxx 'mask' is unknown; valid: keep, drop"),
        (
            {"reports": "r", "films": "f", "split": "official"},
            "split 'official' is unknown; valid: r2gen, drawn",
        ),
    ],
)
def test_settings_that_cannot_be(tree, options, message):
    with pytest.raises(ValueError, match=message):
        tree.read(**options)


def test_missing_and_wrong_files_are_named_before_anything_is_read(tree):
    tree.folder(x1=tree.report("CXR1"))
    tree.write("empty/readme.txt", "x")
    tree.write("table.csv", "uid,text\n1,x\n")
    tree.write("bad.json", "{")
    tree.write("list.json", "[1]")
    tree.write("untagged.csv", "uid,findings,impression\n1,x,y\n")
    archive = tree.archive({"1.xml": tree.report("CXR1") * 50})
    (tree.root / archive).write_bytes((tree.root / archive).read_bytes()[:-40])
    tree.archive({"readme.txt": "x"}, "none.tgz")
    phantom = {"reports": "ecgen-radiology", "images": "phantom"}
    for options, message in [
        ({"reports": "gone.csv", "images": "phantom"}, r"gone\.csv does not exist, which reports names"),
        ({"reports": "../x.csv", "images": "phantom"}, r"reports '\.\./x\.csv' leads out of root"),
        ({"reports": "empty", "images": "phantom"}, "empty holds no reports"),
        ({"reports": "none.tgz", "images": "phantom"}, "none.tgz holds no reports"),
        ({"reports": archive, "images": "phantom"}, "is no tar archive, or damaged"),
        (
            {"reports": "table.csv", "images": "phantom"},
            "no column 'findings', 'impression'; it has: uid, text",
        ),
        (
            {"reports": "untagged.csv", "images": "phantom"},
            "needs labels, or reports with the indexers' tags",
        ),
        ({**phantom, "projections": "table.csv"}, "no column 'filename', 'projection'"),
        ({**phantom, "labels": "table.csv"}, "no column 'filename', 'Atelectasis'"),
        ({**phantom, "annotation": "bad.json"}, r"bad\.json is no JSON: .*; expected"),
        ({**phantom, "annotation": "list.json"}, "is not R2Gen's annotation.json"),
        ({"reports": "ecgen-radiology", "films": "empty"}, "holds no film of this dataset"),
        ({"reports": "ecgen-radiology", "films": "table.csv"}, "is no folder"),
    ]:
        with pytest.raises(SourceError, match=message):
            iu_xray.read(root=tree.root, **{"reports": None, **options})
    with pytest.raises(SourceError, match=r"nowhere is no folder"):
        iu_xray.read(root=tree.root / "nowhere", reports="x", images="phantom")


def test_annotation_alone_has_no_tags_to_draw(tree):
    with pytest.raises(ValueError, match="annotation has none"):
        tree.drawn(annotation=tree.annotation(train=[{"id": "CXR1_IM-0001", "report": "Clear."}]))


def test_the_same_folder_gives_the_same_records_in_the_same_order(tree):
    reports = tree.folder(**{f"x{n}": tree.report(f"CXR{n}", tags=["Edema"]) for n in (10, 2, 33)})
    runs = [tree.drawn(reports=reports) for _ in range(2)]
    assert runs[0] == runs[1]
    assert [r.study_id for r in runs[0]] == ["CXR2", "CXR10", "CXR33"]


def test_the_section_of_params_has_the_arguments_of_read():
    section = {
        "root": "data/01_raw/iu_xray", "reports": "ecgen-radiology", "projections": None, "films": "png",
        "annotation": None, "labels": None, "split": "drawn", "images": "files", "noise": 0.03,
        "xxxx": "keep",
    }  # fmt: skip
    given = IuXraySection(**section).model_dump()
    arguments = set(iu_xray.read.__kwdefaults__ or {}) | {"root", "reports"}
    assert set(given) == arguments - {"seed", "image_size"}


def test_no_key_names_an_absolute_path(tree):
    tree.film("films/1_IM-0001-1001.png")
    records = tree.read(reports=tree.folder(x1=tree.report("CXR1")), films="films")
    assert not any(str(tree.root) in r.key or r.key.startswith(os.sep) for r in records)
