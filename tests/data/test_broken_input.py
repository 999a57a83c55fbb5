"""Broken input from end to end: a table and films on disk, through the csv source and ingest.

Each case lays files into a folder and says what must become of the row that is in question. None may end in
an error that is not ours, wait for ever, or lose a row.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dicom_films
import numpy as np
import pytest
from PIL import Image
from pydicom.data import get_testdata_file
from time_limits import limited

from radrl.data.ingest import ingest
from radrl.data.sources import csv
from radrl.data.tables import SourceError

SECONDS = 60
HEADER = b"image,report,patient,study\n"
SOUND = b"sound.png,Lungs are clear.,p0,s0\n"


@pytest.fixture(scope="module")
def noise(noise_film):
    """Films by seed; none equals another."""
    return lambda seed=1: Image.fromarray(noise_film(seed, 64, 64))


@pytest.fixture
def folder(tmp_path, noise):
    (tmp_path / "films").mkdir()
    noise(0).save(tmp_path / "films/sound.png")
    return tmp_path


def run(folder, table=None, **rules):
    """The corpus and the quarantine of a folder; counts are checked here, for every case."""
    table = table or folder / "reports.csv"
    roles = {role: role for role in ("image", "report", "patient", "study")}
    with limited(SECONDS):
        records = csv.read(path=table, image_root=folder / "films", columns=roles)
        passed = ingest(
            records,
            seed=0,
            target="report",
            image_size=64,
            image_root=folder / "films",
            split_shares={"train": 0.5, "test": 0.5},
            max_quarantined_share=1.0,
            **rules,
        )
        rows = list(passed)
    assert passed.read == len(rows) + len(passed.quarantine)
    return rows, passed.quarantine.table().to_pylist()


# Films -----------------------------------------------------------------------------------------------------


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, data: bytes, *, extra: bytes = b"") -> bytes:
    header = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def changed(content: bytes, place: int, new: bytes) -> bytes:
    return content[:place] + new + content[place + len(new) :]


def of_size(jpeg: bytes, height: int, width: int = 64) -> bytes:
    return changed(jpeg, jpeg.index(b"\xff\xc0") + 5, struct.pack(">2H", height, width))


def with_orientation(image: Image.Image, value: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = value
    return saved(image, "JPEG", exif=exif)


def dicom(image: Image.Image, **tags: object) -> bytes:
    return dicom_films.dicom(np.asarray(image).astype(np.uint16), bits=12, **tags)


def bundled(name: str) -> bytes:
    return Path(get_testdata_file(name, download=False)).read_bytes()


TEXT = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"\0" * 30_000_000))

RANDOM = np.random.default_rng(0).bytes(64 * 65)
# one entry: the orientation as text
WORDS = b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<3HI4sI", 1, 0x0112, 2, 4, b"up\0\0", 0)

FILMS: dict[str, tuple[Callable[[Image.Image], bytes], str | None, str]] = {
    # name: content made from a sound film, reason or None where it is kept, words of the detail
    "zero bytes": (lambda film: b"", "unreadable_image", "empty"),
    "text": (lambda film: b"no film at all", "unreadable_image", "neither PNG nor JPEG nor DICOM"),
    "one pixel": (lambda film: saved(film.crop((0, 0, 1, 1))), "too_small", "1 x 1"),
    "narrow": (lambda film: saved(film.crop((0, 0, 15, 64))), "too_small", "15 x 64"),
    "black": (lambda film: saved(Image.new("L", (64, 64))), "blank_image", "between 0 and 0"),
    "bomb": (lambda film: png(60_000, 60_000, zlib.compress(b"")), "too_large", "60000 x 60000"),
    "bomb of text": (lambda film: png(64, 64, b"", extra=TEXT), "unreadable_image", "damaged"),
    "png signature": (lambda film: b"\x89PNG\r\n\x1a\n", "unreadable_image", "damaged"),
    "png cut": (lambda film: saved(film)[:-300], "unreadable_image", "damaged"),
    "png without end": (lambda film: saved(film)[:-12], "unreadable_image", "damaged"),
    "png checksum": (lambda film: changed(saved(film), 2000, b"\0\0"), "unreadable_image", "damaged"),
    "png header checksum": (lambda film: changed(saved(film), 29, b"\0"), "unreadable_image", "damaged"),
    "png chunk too long": (lambda film: changed(saved(film), 33, b"\xff" * 4), "unreadable_image", "damaged"),
    "png chunk too short": (lambda film: changed(saved(film), 33, bytes(4)), "unreadable_image", "damaged"),
    "png zlib cut": (
        lambda film: png(64, 64, zlib.compress(RANDOM)[:2000]),
        "unreadable_image",
        "damaged",
    ),
    "png zlib is none": (lambda film: png(64, 64, b"no zlib at all"), "unreadable_image", "damaged"),
    "png animated": (
        lambda film: saved(film, save_all=True, append_images=[film.rotate(90)]),
        "unsupported_format",
        "2 frames",
    ),
    "gif": (lambda film: saved(film, "GIF"), "unsupported_format", "GIF"),
    "gif animated": (
        lambda film: saved(film, "GIF", save_all=True, append_images=[film.rotate(90)]),
        "unsupported_format",
        "GIF",
    ),
    "bmp": (lambda film: saved(film, "BMP"), "unsupported_format", "BMP"),
    "tiff": (lambda film: saved(film, "TIFF"), "unsupported_format", "TIFF"),
    "webp": (lambda film: saved(film, "WEBP"), "unsupported_format", "WebP"),
    "jpeg 2000": (lambda film: saved(film, "JPEG2000"), "unsupported_format", "JPEG 2000"),
    "pdf": (lambda film: saved(film, "PDF"), "unsupported_format", "PDF"),
    "gzip": (lambda film: gzip.compress(saved(film)), "unsupported_format", "unpack it"),
    "jpeg cut": (lambda film: saved(film, "JPEG")[:-500], "unreadable_image", "damaged"),
    "jpeg head": (lambda film: saved(film, "JPEG")[:20], "unreadable_image", "damaged"),
    "jpeg of no height": (lambda film: of_size(saved(film, "JPEG"), 0), "unreadable_image", "damaged"),
    "jpeg bomb": (lambda film: of_size(saved(film, "JPEG"), 65_000, 65_000), "too_large", "65000 x 65000"),
    "dicom cut": (lambda film: dicom(film)[:-3000], "unreadable_image", "damaged"),
    "dicom head": (lambda film: dicom(film)[:140], "unreadable_image", "DICOM"),
    "dicom without pixels": (lambda film: dicom(film, PixelData=b""), "unreadable_image", "no pixels"),
    "dicom photometric": (
        lambda film: dicom(film, PhotometricInterpretation="HSV"),
        "unsupported_format",
        "none of MONOCHROME1",
    ),
    "dicom frames": (lambda film: dicom(film, NumberOfFrames=2), "unsupported_format", "2 frames"),
    "dicom bomb": (lambda film: dicom(film, Rows=65_000, Columns=65_000), "too_large", "65000"),
    "dicom without preamble": (lambda film: dicom(film)[132:], "unsupported_format", "preamble"),
    "dicom without meta": (lambda film: bundled("rtstruct.dcm"), "unsupported_format", "meta information"),
    "dicom without decoder": (lambda film: bundled("JPEG-lossy.dcm"), "no_decoder", "12 bits"),
    # sound, however odd
    "grey": (saved, None, ""),
    "alpha": (lambda film: saved(film.convert("LA")), None, ""),
    "colour with alpha": (lambda film: saved(film.convert("RGBA")), None, ""),
    "palette": (lambda film: saved(film.convert("P")), None, ""),
    "palette with transparency": (lambda film: saved(film.convert("P"), transparency=0), None, ""),
    "one bit": (lambda film: saved(film.convert("1")), None, ""),
    "sixteen bits": (lambda film: saved(Image.fromarray(np.asarray(film).astype(np.uint16) * 16)), None, ""),
    "cmyk jpeg": (lambda film: saved(film.convert("CMYK"), "JPEG"), None, ""),
    "progressive jpeg": (lambda film: saved(film, "JPEG", progressive=True), None, ""),
    "jpeg in a png's name": (lambda film: saved(film, "JPEG"), None, ""),
    "jpeg with garbage behind": (lambda film: saved(film, "JPEG") + b"\0garbage" * 99, None, ""),
    "png with garbage behind": (lambda film: saved(film) + b"\0garbage" * 99, None, ""),
    "orientation 9": (lambda film: with_orientation(film, 9), None, ""),
    "orientation in words": (lambda film: saved(film, "JPEG", exif=WORDS), None, ""),
    # libjpeg fills what is missing with grey and does not tell; JPEG has no checksums
    "jpeg of false height": (lambda film: of_size(saved(film, "JPEG"), 100), None, ""),
    "exif cut": (lambda film: saved(film, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x05"), None, ""),
    "dicom": (dicom, None, ""),
}


@pytest.mark.parametrize("name", FILMS)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_films(folder, noise, name):
    make, reason, detail = FILMS[name]
    (folder / "films/film.png").write_bytes(make(noise()))
    (folder / "reports.csv").write_bytes(HEADER + b"film.png,Heart is normal.,p1,s1\n" + SOUND)
    rows, refused = run(folder)
    assert [row["study_id"] for row in rows] == (["s0"] if reason else ["s1", "s0"])
    assert [(each["reason"], each["source_key"]) for each in refused] == (
        [(reason, "reports.csv row 2")] if reason else []
    )
    if reason:
        assert detail in refused[0]["detail"]
        assert str(folder) not in refused[0]["detail"]


# Paths -----------------------------------------------------------------------------------------------------


def write(path: Path) -> None:
    path.write_bytes(b"x")


def circle(path: Path) -> None:
    path.symlink_to("other")
    path.with_name("other").symlink_to(path.name)


def unreadable(path: Path) -> None:
    path.touch()
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")


def composed(path: Path) -> None:
    write(path.with_name("\u00e9.png"))
    if path.exists():
        pytest.skip("this file system does not tell the two names apart")


def fifo(path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes")
    os.mkfifo(path)


PATHS: dict[str, tuple[str, Callable[[Path], None] | None, str, str]] = {
    # name: cell, what is laid there first, reason, words of the detail
    "no name": ("", None, "missing_image", "names no film"),
    "no such film": ("film.png", None, "missing_image", "no such file"),
    "no such folder": ("no/film.png", None, "missing_image", "no such file"),
    "another suffix": (
        "film.png",
        lambda at: write(at.with_suffix(".dcm")),
        "missing_image",
        "no such file; film.dcm is there",
    ),
    "folder": ("film.png", Path.mkdir, "missing_image", "not a regular file"),
    "the root itself": (".", None, "missing_image", "not a regular file"),
    "pipe": ("film.png", fifo, "missing_image", "not a regular file"),
    "url": ("https://example.org/film.png", None, "missing_image", "no such file"),
    "link to nothing": ("film.png", lambda at: at.symlink_to("none.png"), "missing_image", "leads nowhere"),
    "links in a circle": ("film.png", circle, "missing_image", ""),
    "link outwards": (
        "film.png",
        lambda at: (write(at.parents[1] / "secret.png"), at.symlink_to("../secret.png")),
        "outside_root",
        "leads out",
    ),
    "folder linked outwards": (
        "out/reports.csv",
        lambda at: at.parent.symlink_to(at.parents[2], target_is_directory=True),
        "outside_root",
        "leads out",
    ),
    "absolute": (sys.executable, None, "outside_root", "leads out"),
    "upwards": ("../reports.csv", None, "outside_root", "leads out"),
    "upwards and far": ("a/../../../../../../../../../etc/hostname", None, "outside_root", "leads out"),
    "a name too long": ("n" * 5000 + ".png", None, "missing_image", "cannot be followed"),
    "newline in the name": ('"fi\nlm.png"', None, "missing_image", "no such file"),
    "backslashes": (
        "sub\\film.png",
        lambda at: ((at.parent / "sub").mkdir(), write(at.parent / "sub/film.png")),
        "missing_image",
        "with / in place of",
    ),
    "another unicode form": ("e\u0301.png", composed, "missing_image", "Unicode form NFC"),
    "no permission": ("film.png", unreadable, "unreadable_image", "cannot be opened: Permission denied"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize("name", PATHS)
def test_paths(folder, name):
    cell, lay, reason, detail = PATHS[name]
    if lay:
        lay(folder / "films" / cell)
    (folder / "reports.csv").write_bytes(HEADER + f"{cell},Heart is normal.,p1,s1\n".encode() + SOUND)
    rows, refused = run(folder)
    assert [row["study_id"] for row in rows] == ["s0"]
    assert [(each["reason"], each["source_key"]) for each in refused] == [(reason, "reports.csv row 2")]
    assert detail in refused[0]["detail"]
    assert str(folder) not in refused[0]["detail"]


# Texts -----------------------------------------------------------------------------------------------------

LONG = "No pneumothorax. " * 62_000  # a million characters

TEXTS: dict[str, tuple[bytes, str | None, str]] = {
    # name: cell, reason or None where it is kept, words of the detail or the report that is kept
    "nothing": (b"", "empty_report", "no words"),
    "white space": (b"  \t ", "empty_report", "no words"),
    "no-break spaces": ("\u00a0\u2003\u200b".encode(), "empty_report", "no words"),
    "removed words": (b"___ ... ____ 12", "empty_report", "no words"),
    "quoted newlines only": (b'"\n\n"', "empty_report", "no words"),
    "nan": (b"NaN", "empty_report", "no words"),
    "nul": (b"Heart\0 is normal.", "malformed_row", "NUL"),
    "stray quote": (b'"Heart" is normal.', "malformed_row", "lines 2 to 2"),
    "a field too many": (b"Heart, normal.", "malformed_row", "5 fields where the header has 4"),
    "lone surrogates beside letters": (
        "Épanchement à gauche et œdème léger ".encode() + b"\xed\xa0\x80",
        "malformed_row",
        "bytes that are no UTF-8",
    ),
    "control characters": (b"Heart\x07 is\x1b normal.", None, "Heart\x07 is\x1b normal."),
    "marks from right to left": (
        "\u202eHeart is normal.\u202c".encode(),
        None,
        "\u202eHeart is normal.\u202c",
    ),
    "quoted newlines": (b'"Heart is\r\nnormal."', None, "Heart is\nnormal."),
    "a million characters": (LONG.encode(), None, LONG.strip()),
    "a million characters in quotes": (b'"' + LONG.encode() + b'"', None, LONG.strip()),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(folder, noise, name):
    cell, reason, told = TEXTS[name]
    noise().save(folder / "films/film.png")
    (folder / "reports.csv").write_bytes(HEADER + b"film.png," + cell + b",p1,s1\n" + SOUND)
    rows, refused = run(folder)
    assert [(each["reason"], each["source_key"]) for each in refused] == (
        [(reason, "reports.csv row 2")] if reason else []
    )
    if reason:
        assert told in refused[0]["detail"]
    else:
        assert rows[0]["report"] == told
    assert rows[-1]["report"] == "Lungs are clear."


def test_what_deidentification_left_of_a_report(folder, noise):
    noise().save(folder / "films/film.png")
    (folder / "reports.csv").write_bytes(HEADER + b"film.png,XXXX.,p1,s1\n" + SOUND)
    rows, refused = run(folder)
    assert [row["study_id"] for row in rows] == ["s0"]
    assert [each["reason"] for each in refused] == ["empty_report"]


# Tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A table, and the reasons of the rows of it that are refused, or the error it ends in."""

    content: bytes
    refused: tuple[tuple[int, str], ...] = ()
    kept: tuple[str, ...] = ("s1", "s0")
    error: str = ""
    name: str = "reports.csv"
    key: str = "reports.csv"


ROW = b"film.png,Heart is normal.,p1,s1\n"
BOTH = HEADER + ROW + SOUND
ZIPPED = gzip.compress(BOTH)

TABLES: dict[str, Table] = {
    "sound": Table(BOTH),
    "byte order mark": Table(b"\xef\xbb\xbf" + BOTH),
    "windows newlines": Table(BOTH.replace(b"\n", b"\r\n")),
    "old mac newlines": Table(BOTH.replace(b"\n", b"\r")),
    "no newline at the end": Table(BOTH.rstrip()),
    "blank lines": Table(BOTH.replace(b"\n", b"\n\n")),
    "semicolons": Table(BOTH.replace(b",", b";")),
    "latin-1": Table(
        BOTH + "nun.png,Épanchement à gauche.,p2,s2\n".encode("latin-1"),
        ((4, "missing_image"),),
        key="reports.csv (latin-1)",
    ),
    "utf-8 with a damaged row": Table(
        BOTH + "a.png,Épanchement à gauche.,p2,s2\n".encode() + b"b.png,\xe9,p3,s3\n",
        ((4, "missing_image"), (5, "malformed_row")),
    ),
    "packed": Table(ZIPPED, name="reports.csv.gz", key="reports.csv.gz"),
    "too few fields": Table(BOTH + b"film.png,Normal.\n", ((4, "malformed_row"),)),
    "too many fields": Table(BOTH + b"film.png,Normal.,p2,s2,x\n", ((4, "malformed_row"),)),
    "nul in a path": Table(BOTH + b"fi\0lm.png,Normal.,p2,s2\n", ((4, "malformed_row"),)),
    "cut in the last row": Table(BOTH + b"film.png,Nor", ((4, "malformed_row"),)),
    "empty patient": Table(BOTH + b"film.png,Normal.,,s2\n", ((4, "missing_id"),)),
    "empty study": Table(BOTH + b"film.png,Normal.,p2,\n", ((4, "missing_id"),)),
    "the same film again": Table(BOTH + b"film.png,Normal.,p2,s2\n", ((4, "duplicate_film"),)),
    "one study, two patients": Table(BOTH + b"third.png,Lungs are clear.,p2,s0\n", ((4, "duplicate_id"),)),
    "one study, two reports": Table(BOTH + b"third.png,Something else.,p0,s0\n", ((4, "duplicate_id"),)),
    "empty": Table(b"", error=r"reports\.csv has no header row"),
    "blank": Table(b"\n\n\n", error=r"reports\.csv has no header row"),
    "header only": Table(HEADER, error=r"reports\.csv has a header and no rows"),
    "header and blank lines": Table(HEADER + b"\n\n", error=r"reports\.csv has a header and no rows"),
    "missing column": Table(BOTH.replace(b"report", b"text"), error=r"reports\.csv has no column 'report'"),
    "a column twice": Table(
        BOTH.replace(b"study", b"report"), error=r"reports\.csv has several columns 'report'"
    ),
    "no header": Table(ROW + SOUND, error=r"reports\.csv has no column 'image'"),
    "utf-16": Table(BOTH.decode().encode("utf-16"), error=r"reports\.csv is UTF-16"),
    "utf-16 unmarked": Table(BOTH.decode().encode("utf-16-le"), error=r"reports\.csv: the header.*NUL"),
    "quote never closed": Table(
        HEADER + ROW + b'a.png,"Normal.,p2,s2\n' + SOUND,
        error=r"reports\.csv: a quote .* line 3 is not closed",
    ),
    "quote never closed in a long file": Table(
        HEADER + ROW + b'a.png,"Normal.,p2,s2\n' + SOUND * 600_000,
        error=r"reports\.csv: a quote .* line 3 is not closed",
    ),
    "quote never closed in the header": Table(b'"' + BOTH, error=r"reports\.csv: a quote .* line 1 "),
    "gzip half written": Table(ZIPPED[:-20], error=r"gz is no gzip file, or damaged", name="reports.csv.gz"),
    "gzip damaged": Table(
        changed(ZIPPED, 40, b"\0\0\0\0"), error=r"gz is no gzip file, or damaged", name="reports.csv.gz"
    ),
    "gzip that is none": Table(BOTH, error=r"gz is no gzip file, or damaged", name="reports.csv.gz"),
    "gzip in disguise": Table(ZIPPED, error=r"reports\.csv is compressed with gzip"),
    "excel": Table(b"PK\x03\x04" + b"\0" * 99, error=r"reports\.csv is a zip or Excel file"),
    "an image": Table(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", error=r"reports\.csv: the header|has no column"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(folder, noise, name):
    case = TABLES[name]
    noise(1).save(folder / "films/film.png")
    noise(3).save(folder / "films/third.png")
    path = folder / case.name
    path.write_bytes(case.content)
    if case.error:
        with pytest.raises(SourceError, match=case.error):
            run(folder, path)
        return
    rows, refused = run(folder, path)
    assert [row["study_id"] for row in rows] == list(case.kept)
    assert [(each["source_key"], each["reason"]) for each in refused] == [
        (f"{case.key} row {number}", reason) for number, reason in case.refused
    ]


def test_damage_late_in_a_packed_table(folder, noise):
    """Rows before the damage were given out, and still the table as a whole is refused."""
    noise().save(folder / "films/film.png")
    words = np.random.default_rng(0).integers(0, 1 << 60, (5000, 3))  # that cannot be packed much
    many = b"".join(b"no.png,%d %d %d,p%d,t%d\n" % (*row, n, n) for n, row in enumerate(words))
    path = folder / "reports.csv.gz"
    path.write_bytes(gzip.compress(HEADER + ROW + many)[:-1000])
    with pytest.raises(SourceError, match=r"gz is no gzip file, or damaged"):
        run(folder, path)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize(
    ("lay", "error"),
    [
        (lambda at: None, "is no file"),
        (Path.mkdir, "is no file"),
        (fifo, "is no file"),
        (circle, "is no file"),
        (unreadable, "cannot be opened: Permission denied"),
    ],
)
def test_tables_that_cannot_be_opened(folder, lay, error):
    lay(folder / "reports.csv")
    with pytest.raises(SourceError, match=rf"reports\.csv {error}"):
        run(folder)
