import os
from pathlib import Path

import pytest
from PIL import Image

from radrl.data.ingest import ingest
from radrl.data.sources import csv
from radrl.data.study import Record


def ingested(records, image_root, **options):
    ingestion = ingest(
        records,
        seed=0,
        target="report",
        image_size=64,
        image_fit="pad",
        split_shares={"train": 0.8, "test": 0.2},
        max_quarantined_share=1.0,
        image_root=image_root,
        **options,
    )
    return list(ingestion), ingestion


def truncated(noise_film, root, name):
    Image.fromarray(noise_film(5, 64, 64)).save(root / name)
    (root / name).write_bytes((root / name).read_bytes()[:-300])


BROKEN = {
    "no film named": ("", "Lungs clear.", "missing_image"),
    "no such film": ("none.png", "Lungs clear.", "missing_image"),
    "folder": ("folder.png", "Lungs clear.", "missing_image"),
    "dangling link": ("dangling.png", "Lungs clear.", "missing_image"),
    "url": ("https://example.org/film.png", "Lungs clear.", "missing_image"),
    "absolute path": ("/etc/hostname", "Lungs clear.", "outside_root"),
    "path upwards": ("../reports.csv", "Lungs clear.", "outside_root"),
    "link outwards": ("outwards.png", "Lungs clear.", "outside_root"),
    "zero bytes": ("empty.png", "Lungs clear.", "unreadable_image"),
    "text named png": ("text.png", "Lungs clear.", "unreadable_image"),
    "truncated png": ("cut.png", "Lungs clear.", "unreadable_image"),
    "truncated jpeg": ("cut.jpg", "Lungs clear.", "unreadable_image"),
    "tiff": ("film.tiff", "Lungs clear.", "unsupported_format"),
    "dicom": ("film.dcm", "Lungs clear.", "unreadable_image"),
    "one pixel": ("pixel.png", "Lungs clear.", "too_small"),
    "black film": ("black.png", "Lungs clear.", "blank_image"),
    "empty report": ("good.png", "", "empty_report"),
    "removed report": ("good.png", "___ ...", "empty_report"),
    "nan report": ("good.png", "nan", "empty_report"),
    "short report": ("good.png", "See.", "short_report"),
    "same film again": ("copy.png", "Lungs are clear.", "duplicate_film"),
    "too many fields": ("good.png,1", "Lungs clear.", "malformed_row"),
    "stray quote": ('"good".png', "Lungs clear.", "malformed_row"),
    "nul byte": ("good.png", "Cl\0ear.", "malformed_row"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, noise_film):
    folder = tmp_path_factory.mktemp("broken")
    root = folder / "films"
    (root / "folder.png").mkdir(parents=True)
    film = Image.fromarray(noise_film())
    for name in ("sound.png", "copy.png", "film.tiff"):
        film.save(root / name)
    Image.fromarray(noise_film(1)).save(root / "good.png")
    Image.new("L", (1, 1)).save(root / "pixel.png")
    Image.new("L", (99, 99)).save(root / "black.png")
    (root / "empty.png").touch()
    (root / "text.png").write_text("no film")
    (root / "film.dcm").write_bytes(b"\0" * 128 + b"DICM")
    (root / "dangling.png").symlink_to("none.png")
    (root / "outwards.png").symlink_to(folder / "reports.csv")
    truncated(noise_film, root, "cut.png")
    truncated(noise_film, root, "cut.jpg")
    return folder


def run_table(folder, rows):
    path = folder / "reports.csv"
    lines = ["image,report", "sound.png,Lungs are clear.", *(f"{film},{report}" for film, report in rows)]
    path.write_text("\n".join(lines))
    records = csv.read(path=path, image_root=folder / "films", columns={"image": "image", "report": "report"})
    return ingested(records, folder / "films", min_report_words=2)


@pytest.mark.parametrize("name", BROKEN)
def test_each_defect_ends_in_quarantine_with_its_reason(folder, name):
    film, report, reason = BROKEN[name]
    rows, ingestion = run_table(folder, [(film, report)])
    assert [row["study_id"] for row in rows] == ["sound.png"]
    (refused,) = ingestion.quarantine.table().to_pylist()
    assert (refused["reason"], refused["source_key"]) == (reason, "reports.csv row 3")
    assert refused["detail"]


def test_all_defects_at_once(folder):
    rows, ingestion = run_table(folder, [(film, report) for film, report, _ in BROKEN.values()])
    assert ingestion.read == len(BROKEN) + 1 == len(rows) + len(ingestion.quarantine)


@pytest.fixture(scope="module")
def shared():
    folder = Path(os.environ.get("RADRL_SHARED", "")) / "data"
    if not os.environ.get("RADRL_SHARED") or not folder.is_dir():
        pytest.skip("RADRL_SHARED names no folder with real films")
    return folder


class TestRealFilms:
    @pytest.mark.parametrize(
        ("column", "kept", "reason"), [("small", 176, "duplicate_film"), ("filename", 99, "missing_image")]
    )
    def test_covid_cxr(self, shared, column, kept, reason):
        root = shared / "covid_cxr/images"
        columns = {"image": column, "report": "clinical_notes", "patient": "patientid", "view": "view"}
        records = csv.read(path=shared / "covid_cxr/pairs.csv", image_root=root, columns=columns)
        rows, ingestion = ingested(records, root)
        assert (len(rows), ingestion.quarantine.counts()) == (kept, {reason: 177 - kept})
        assert {view for row in rows for view in row["views"]} <= {"frontal", "unknown"}

    @pytest.mark.parametrize(
        ("films", "kept", "counts"),
        [
            ("nih_sample/images", 12, {}),
            ("openi/images", 4, {}),
            ("loader_fixtures", 6, {}),
        ],
    )
    def test_odd_films(self, shared, films, kept, counts):
        root = shared / films
        paths = sorted(path for path in root.iterdir() if path.is_file())
        records = [Record(f"film {n}", "", "", path, report="Lungs clear.") for n, path in enumerate(paths)]
        rows, ingestion = ingested(records, root)
        assert (len(rows), ingestion.quarantine.counts()) == (kept, counts)
