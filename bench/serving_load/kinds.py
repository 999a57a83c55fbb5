"""The kinds of requests: good ones, and every way to get one wrong that somebody may think of."""

from __future__ import annotations

import base64
import io
import json
from typing import Any, Final

import numpy as np
import pydicom
from PIL import Image
from pydicom.dataset import FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage

from serving_load.load import Asked

SERVED_MOST: Final = 128 << 20
UI_MOST: Final = 64 << 20


def films(seed: int = 0, side: int = 256) -> dict[str, bytes]:
    """A film of smooth noise in the formats that are read, by their names.

    Args:
        seed: of the noise.
        side: in pixels.
    """
    coarse = np.random.default_rng(seed).integers(0, 255, (8, 8), dtype=np.uint8)
    picture = Image.fromarray(coarse).resize((side, side), Image.Resampling.BILINEAR)
    found = {}
    for kind in ("PNG", "JPEG"):
        buffer = io.BytesIO()
        picture.save(buffer, format=kind)
        found[kind] = buffer.getvalue()
    return found | {"DICOM": _dicom(np.asarray(picture))}


def _dicom(pixels: np.ndarray[Any, Any]) -> bytes:
    made = pydicom.Dataset()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.file_meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    made.file_meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    made.Rows, made.Columns = pixels.shape
    made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
    made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = 8, 8, 7, 0
    made.PixelData = pixels.tobytes()
    buffer = io.BytesIO()
    pydicom.dcmwrite(buffer, made, enforce_file_format=True)
    return buffer.getvalue()


def _bomb() -> bytes:
    """A few kilobytes that would be 900 million pixels."""
    buffer = io.BytesIO()
    Image.new("1", (30_000, 30_000)).save(buffer, format="PNG")
    return buffer.getvalue()


def split(*rows: Any, column: str = "image") -> bytes:
    """A request for reports: bytes go in base64, all else as it is."""
    encoded = [base64.b64encode(row).decode() if isinstance(row, bytes) else row for row in rows]
    return json.dumps({"dataframe_split": {"columns": [column], "data": [[row] for row in encoded]}}).encode()


def served() -> list[Asked]:
    """Kinds for a policy's server."""
    film = films()
    png, form = film["PNG"], split(film["PNG"])
    good = {
        **{f"a film, {kind}": split(one) for kind, one in film.items()},
        "three films": split(*film.values()),
        "records": json.dumps({"dataframe_records": [{"image": base64.b64encode(png).decode()}]}).encode(),
    }
    bad = {
        **{f"{kind} cut off": split(one[: len(one) // 2]) for kind, one in film.items()},
        "one of two cut off": split(png, png[:300]),
        "a text": split(b"no film at all"),
        "a PDF": split(b"%PDF-1.7\n" + bytes(2000)),
        "an empty file": split(b""),
        "900 million pixels": split(_bomb()),
        "65 films": split(*[png] * 65),
        "no base64": split("%%%"),
        "a number": split(7),
        "nothing": split(None),
        "a list": split([1, 2]),
        "an object": split({"a": 1}),
        "another column": split(png, column="film"),
        "no rows": split(),
        "no table": b'{"dataframe_split": 7}',
        "rows of two lengths": b'{"dataframe_split": {"columns": ["image"], "data": [["a", "b"], []]}}',
        "two forms": b'{"inputs": [1], "instances": [2]}',
        "no form": b'{"film": "a"}',
        "a JSON list": b"[1, 2, 3]",
        "no JSON": b'{"dataframe_split": ',
        "no UTF-8": b'{"dataframe_split": "\xff\xfe"}',
        "a file as it is": png,
        "brackets in brackets": b"[" * 100_000,
        "5,000 digits": b'{"inputs": ' + b"9" * 5000 + b"}",
        "nothing at all": b"",
    }
    large = json.dumps({"inputs": ["A" * PIECES]}).encode()
    return [
        *(Asked(name, body=body, good=True) for name, body in good.items()),
        *(Asked(name, body=body) for name, body in bad.items()),
        Asked("a film beyond 128 MiB", body=large, repeat=3 * SERVED_MOST // (2 * PIECES), rare=True),
        Asked("64 MiB that are no film", body=split("A" * (64 << 20)), rare=True),
        Asked(
            "beyond the limit, asked first", body=form, headers=_length(1 << 40) | {"Expect": "100-continue"}
        ),
        *_of_any(form),
        Asked("CSV", body=b"image\nabc\n", headers={"Content-Type": "text/csv"}),
        Asked(
            "Parquet", body=b"PAR1" + bytes(100), headers={"Content-Type": "application/vnd.apache.parquet"}
        ),
        Asked("no content type", body=form, headers={"Content-Type": None}),
        Asked("another charset", body=form, headers={"Content-Type": "application/json; charset=latin-1"}),
        Asked("UTF-8", body=form, headers={"Content-Type": "application/json; charset=UTF-8"}, good=True),
        Asked("GET", method="GET"),
        Asked("an unknown path", path="/../../etc/passwd", body=form),
    ]


PIECES: Final = 1 << 20


def _length(length: int) -> dict[str, str | None]:
    return {"Content-Length": str(length)}


def _of_any(body: bytes, path: str = "/invocations") -> list[Asked]:
    """Kinds that are wrong for any server: slow ones, and those that leave."""
    return [
        Asked("half of the body, and waits", path=path, body=body, share=0.5, rare=True),
        Asked("half of the head, and waits", path=path, body=body, head_share=0.5, rare=True),
        Asked("half of the body, and leaves", path=path, body=body, share=0.5, leaves=True),
        Asked("half of the head, and leaves", path=path, body=body, head_share=0.5, leaves=True),
    ]


def of_pages(experiment: str, run: str) -> list[Asked]:
    """Kinds for MLflow's pages.

    Args:
        experiment: an id.
        run: the id of a run.
    """
    api = "/ajax-api/2.0/mlflow"
    search = f"{api}/runs/search"
    own = json.dumps({"experiment_ids": [experiment], "max_results": 100}).encode()
    png = films()["PNG"]

    def wrong(**values: Any) -> bytes:
        return json.dumps({"experiment_ids": [experiment], **values}).encode()

    bad = {
        "no JSON": b'{"experiment_ids": ',
        "no UTF-8": b'{"experiment_ids": "\xff"}',
        "a JSON list": b"[1]",
        "brackets in brackets": b"[" * 100_000,
        "5,000 digits": b'{"max_results": ' + b"9" * 5000 + b"}",
        "a word as a number": wrong(max_results="many"),
        "a negative number": wrong(max_results=-1),
        "a million runs": wrong(max_results=1_000_000),
        "a filter that is none": wrong(filter="tags.stage ==== '"),
        "a script as a filter": wrong(filter="<script>alert(1)</script>"),
        "an order that is none": wrong(order_by=["; DROP TABLE runs"]),
        "a page token that is none": wrong(page_token="%%%"),
        "ids as a number": wrong(experiment_ids=7),
        "a film": png,
    }
    return [
        Asked("the page", method="GET", path="/", good=True),
        Asked("runs", path=search, body=own, good=True),
        Asked("a run", method="GET", path=f"{api}/runs/get?run_id={run}", good=True),
        *(Asked(name, path=search, body=body) for name, body in bad.items()),
        Asked("an unknown run", method="GET", path=f"{api}/runs/get?run_id=nobody"),
        Asked("an unknown path", method="GET", path="/ajax-api/2.0/nothing"),
        Asked(
            "another machine's file",
            method="GET",
            path=f"/get-artifact?path=../../../etc/passwd&run_uuid={run}",
        ),
        Asked("a file that is not there", method="GET", path=f"/get-artifact?path=none.csv&run_uuid={run}"),
        Asked("another method", method="DELETE", path=search),
        Asked("beyond 64 MiB", path=search, body=b" " * PIECES, repeat=UI_MOST // PIECES + 4, rare=True),
        *_of_any(own, search),
    ]
