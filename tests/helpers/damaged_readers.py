"""Every reader of users' files: how a sound file comes to be, what damage suits it, and how it is read."""

# ruff: noqa: E501  (files' contents stand on one line)

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import damage
import mimic_tree
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from radrl.observations import OBSERVATIONS

ROOT = Path(__file__).parents[2]
REPORTS = ("Heart is normal.", "Lungs are clear. No effusion.", "A small left effusion.")


@dataclass(frozen=True)
class Reader:
    """One kind of file.

    Args:
        lay: lays a sound file, and what it needs beside it, into a folder; returns the file to damage.
        read: reads it; returns how many rows came out or were set apart, or nothing where it has no rows.
        kinds: of damage.
        held: how many rows damaged content still holds, counted without radrl; nothing where that is unclear.
        crafted: whole contents by name that no damage would come by.
        looked: whether whoever calls the reader has looked that the file is there.
    """

    lay: Callable[[Path], Path]
    read: Callable[[Path, Path], int | None]
    kinds: Mapping[str, damage.Damage]
    held: Callable[[bytes], int | None] = lambda data: None
    crafted: Mapping[str, bytes] = field(default_factory=dict)
    looked: bool = False


def _put(name: str, content: bytes | str) -> Callable[[Path], Path]:
    def lay(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return lay


# Rows ------------------------------------------------------------------------------------------------------

TABLE = "image,report,patient,study\n" + "".join(
    f'film{n}.png,"{REPORTS[n % 3]}",p{n // 2},s{n}\n' for n in range(12)
)
LINES = "".join(
    json.dumps({"id": n, "report": REPORTS[n % 3], "reference": REPORTS[0], "score": n / 7}) + "\n"
    for n in range(12)
)


def _records(format: str) -> Callable[[Path, Path], int]:
    def read(folder: Path, path: Path) -> int:
        from radrl.data.records import open_records

        rows = list(open_records(path, format).rows())
        assert [row.number for row in rows] == list(range(1, len(rows) + 1))
        return len(rows)

    return read


def _csv_source(folder: Path, path: Path) -> int:
    roles = {role: role for role in ("image", "report", "patient", "study")}
    return _opened("csv", folder, path=str(path), image_root=str(folder), columns=roles, views={})


def _opened(name: str, folder: Path, **settings: Any) -> int:
    from radrl.data.sources import open_source

    source = open_source({"source": name, name: settings, "image_size": 32}, seed=0)
    records = list(source.records)
    assert source.films in (None, len(records))
    # a report has a record a film; films that no report claims are set apart beside the rows of a damaged file
    rows = Counter(record.key.partition(" film ")[0] for record in records)
    return len([key for key in rows if not key.startswith("film ")])


def _table_rows(data: bytes) -> int | None:
    """Rows of a table in which no quote could hold a line's end."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data.count(b'"') % 2 or b"\0" in data:
        return None
    lines = re.split(rb"\r\n|\n|\r", data)
    if any(line.count(b'"') % 2 for line in lines):
        return None
    return sum(1 for line in lines if line) - 1


def _json_lines(data: bytes) -> int:
    return sum(1 for line in data.split(b"\n") if line.strip(b" \t\r\v\f"))


def _unpacked(count: Callable[[bytes], int | None]) -> Callable[[bytes], int | None]:
    return lambda data: count(gzip.decompress(data))


def parquet(**options: Any) -> bytes:
    """A file of columns of every kind that a table of reports may have."""
    table = pa.table(
        {
            "id": list(range(40)),
            "report": [REPORTS[n % 3] + f" {n}" for n in range(40)],
            "when": pa.array([n * 86_400_000_000 for n in range(40)], pa.timestamp("us")),
            "labels": [[n % 4, 1] for n in range(40)],
            "kind": pa.array([f"k{n % 2}" for n in range(40)]).dictionary_encode(),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=16, **options)
    return buffer.getvalue()


def _of_table(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _parquet_rows(data: bytes) -> int | None:
    try:
        return int(pq.ParquetFile(io.BytesIO(data)).metadata.num_rows)
    except Exception:  # what is being tested
        return None


_FAR = pa.array([2**62], pa.int64()).cast(pa.timestamp("us"))
_PARQUETS = {
    "a time beyond the calendar": _of_table(pa.table({"report": ["a"], "when": _FAR})),
    "another schema": _of_table(pa.table({"x": [1, 2]})),
    "no column": _of_table(pa.table({})),
    "bytes as text": _of_table(
        pa.table({"report": pa.Array.from_buffers(
            pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
        )})
    ),
    "footer of another size": parquet()[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
    "encrypted footer": parquet()[:-4] + b"PARE",
    "magic alone": b"PAR1PAR1",
}  # fmt: skip

# IU X-Ray --------------------------------------------------------------------------------------------------


def _xml(number: int) -> bytes:
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<eCitation><uId id="CXR{number}"/><MedlineCitation><Article>'
        f'<Abstract><AbstractText Label="FINDINGS">{REPORTS[number % 3]}</AbstractText>'
        '<AbstractText Label="IMPRESSION">Normal &amp; clear.</AbstractText></Abstract></Article>'
        f'</MedlineCitation><MeSH><major>normal</major></MeSH><parentImage id="CXR{number}_IM-000{number}-1001">'
        "</parentImage></eCitation>"
    ).encode()


_LAUGHS = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
)
_XMLS = {
    "entities of entities": _LAUGHS + b"]><x>&j;</x>",
    "an outside entity": b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><x>&a;</x>',
    "deep nesting": b"<a>" * 100_000 + b"</a>" * 100_000,
    "an unknown encoding": b'<?xml version="1.0" encoding="x-none"?><a/>',
    "a multi-byte encoding": b'<?xml version="1.0" encoding="shift_jis"?><a/>',
}


def _iu_films(folder: Path) -> None:
    for number in (1, 2, 3):
        path = folder / f"films/{number}_IM-000{number}-1001.dcm.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x89PNG\r\n\x1a\n")


def _iu(lay: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def laid(folder: Path) -> Path:
        _iu_films(folder)
        (folder / "own.csv").write_text("uid,MeSH,findings,impression\n1,normal,Clear.,Clear.\n")
        return lay(folder)

    return laid


def _iu_read(role: str) -> Callable[[Path, Path], int]:
    def read(folder: Path, path: Path) -> int:
        names: dict[str, Any] = dict.fromkeys(("reports", "projections", "annotation", "labels"))
        if role not in ("reports", "annotation"):
            names["reports"] = "own.csv"
        name = path.relative_to(folder).parts[0]
        own = names | {role: name, "films": "films"}
        settings = {"split": "drawn", "images": "files", "noise": 0.0, "xxxx": "keep"}
        return _opened("iu_xray", folder, root=str(folder), **own, **settings)

    return read


def _xml_folder(folder: Path) -> Path:
    for number in (2, 3):
        _put(f"reports/{number}.xml", _xml(number))(folder)
    return _put("reports/1.xml", _xml(1))(folder)


def _info(name: str, **values: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in values.items():
        setattr(info, key, value)
    return info


def _entry(number: int) -> tuple[tarfile.TarInfo, bytes]:
    return _info(f"ecgen/{number}.xml", size=len(_xml(number))), _xml(number)


def _bare(header: bytes, place: int, new: bytes) -> bytes:
    """A tar archive of one entry with something else in its header, and the sum that makes it valid."""
    out = bytearray(header)
    out[place : place + len(new)] = new
    out[148:156] = b" " * 8
    out[148:156] = b"%06o\0 " % sum(out)
    return bytes(out) + bytes(1536)


_HEADER = _info("1.xml", size=10).tobuf(tarfile.GNU_FORMAT)
_TARS = {
    "upwards": damage.tarred((_info("../../1.xml", size=len(_xml(1))), _xml(1))),
    "absolute": damage.tarred((_info("/etc/1.xml", size=len(_xml(1))), _xml(1))),
    "a link": damage.tarred(_entry(1), (_info("2.xml", type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
    "links in a circle": damage.tarred((_info("1.xml", type=tarfile.LNKTYPE, linkname="1.xml"), b"")),
    "a device": damage.tarred(_entry(1), (_info("2.xml", type=tarfile.CHRTYPE), b"")),
    "a folder named so": damage.tarred(_entry(1), (_info("2.xml", type=tarfile.DIRTYPE), b"")),
    "no reports": damage.tarred((_info("a.txt", size=1), b"a")),
    "an odd extended header": damage.tarred((_info("1.xml", pax_headers={"size": "x"}), b"")),
    "an odd sparse header": damage.tarred(
        (_info("1.xml", pax_headers={"GNU.sparse.map": "1,x", "GNU.sparse.size": "9" * 5000}), b"")
    ),
    "a size below nothing": gzip.compress(_bare(_HEADER, 124, b"\xff" * 12)),
    "a size without end": gzip.compress(_bare(_HEADER, 124, b"\x80" + b"\x7f" * 11)),
    "a sparse file": gzip.compress(_bare(_HEADER, 156, b"S") + bytes(512)),
    "packed with bzip2, cut": b"BZh91AY&SY" + bytes(20),
    "packed with xz, cut": b"\xfd7zXZ\0" + bytes(20),
    "a name that is no text": gzip.compress(_bare(_HEADER, 0, b"\xff\xfe1.xml")),
}


def _xml_members(data: bytes) -> int | None:
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            names = archive.getnames()
    except Exception:  # what is being tested
        return None
    return sum(name.lower().endswith(".xml") for name in names)


PROJECTIONS = "uid,filename,projection\n" + "".join(
    f"{n},{n}_IM-000{n}-1001.dcm.png,{'Frontal' if n % 2 else 'Lateral'}\n" for n in (1, 2, 3)
)
_POSITIVE = [
    "Atelectasis", "Cardiomegaly", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumonia", "Pneumothorax",
    "Consolidation", "Edema", "Emphysema", "Fibrosis", "Pleural_Thickening", "Hernia", "normal",
]  # fmt: skip
IU_LABELS = "filename," + ",".join(_POSITIVE) + "\n" + "".join(f"CXR{n},{'0,' * 14}1\n" for n in (1, 2, 3))
IU_ANNOTATION = json.dumps(
    {
        split: [
            {"id": f"CXR{n}_IM-000{n}", "report": REPORTS[n % 3], "image_path": [f"CXR{n}_IM-000{n}/0.png"]}
        ]
        for n, split in enumerate(("train", "val", "test"), 1)
    }
)

# MIMIC-CXR -------------------------------------------------------------------------------------------------

STUDIES = (
    mimic_tree.Study(10000032, 50414267, ("PA", "LATERAL")),
    mimic_tree.Study(10000032, 53189527, ("AP",), "validate"),
    mimic_tree.Study(11000048, 50000003, ("LL", ""), "test"),
)
FILMS = 5


def _mimic(name: str) -> Callable[[Path], Path]:
    def lay(folder: Path) -> Path:
        mimic_tree.write_tables(folder, STUDIES)
        (folder / "files").mkdir()
        mimic_tree.write_zip(folder / "mimic-cxr-reports.zip", STUDIES)
        mimic_tree.write_annotation(folder / "annotation.json", {
            split: [entry for study in STUDIES if study.split == own for entry in mimic_tree.entries(study, "Clear.")]
            for split, own in (("train", "train"), ("val", "validate"), ("test", "test"))
        })  # fmt: skip
        names = [{"Lung Opacity": "Airspace Opacity"}.get(name, name) for name in OBSERVATIONS]
        rows = "".join(f"{study.study}{',1.0,0.0' * 7}\n" for study in STUDIES)
        (folder / "gold.csv").write_text(f"study_id,{','.join(names)}\n{rows}")
        return folder / name

    return lay


def _mimic_read(**own: Any) -> Callable[[Path, Path], int]:
    def read(folder: Path, path: Path) -> int:
        settings = {
            "tables": None, "reports": None, "films": "jpg", "split": "official", "annotation": None,
            "text": "files", "unheaded_findings": True, "view_positions": None, "gold": None, **own,
        }  # fmt: skip
        for key in ("annotation", "gold", "reports"):
            if settings[key]:
                settings[key] = str(folder / settings[key])
        return _opened("mimic_cxr", folder, root=str(folder), **settings)

    return read


def _mimic_text(folder: Path) -> Path:
    _mimic("")(folder)
    (folder / "mimic-cxr-reports.zip").unlink()
    mimic_tree.write_reports(folder, STUDIES)
    return folder / f"{STUDIES[0].folder}.txt"


_TEXTS = {f"{study.folder}.txt": mimic_tree.REPORT.encode() for study in STUDIES}
_ZIPS = {
    "of a newer version": damage.zipped(_TEXTS, version=255),
    "encrypted": damage.zipped(_TEXTS, flags=1),
    "strongly encrypted": damage.zipped(_TEXTS, flags=0x41),
    "patched": damage.zipped(_TEXTS, flags=0x20),
    "an unknown method": damage.zipped(_TEXTS, method=97),
    "another method": damage.zipped(_TEXTS, method=14),
    "a size without end": damage.zipped(_TEXTS, size=0xFFFFFFFE),
    "a name that is no text": damage.zipped({"\xff\xfe.txt": b"a", **_TEXTS}, flags=0).replace(b"\xc3\xbf", b"\xff\xff"),
    "names said to be UTF-8": damage.zipped({"aaaa.txt": b"a", **_TEXTS}, flags=0x800).replace(b"aaaa", b"\xff\xfe\xfd\xfc"),
    "upwards": damage.zipped({f"../../{name}": text for name, text in _TEXTS.items()}),
    "no reports": damage.zipped({"a.txt": b"a"}),
    "a bomb": damage.zipped({name: bytes(1 << 22) for name in _TEXTS}),
}  # fmt: skip

# CheXpert Plus ---------------------------------------------------------------------------------------------

PLUS = "path_to_image,path_to_dcm,frontal_lateral,ap_pa,deid_patient_id,section_findings,section_impression,split\n"
PLUS += "".join(
    f'train/patient0000{n}/study1/view1_frontal.jpg,,Frontal,AP,patient0000{n},"\nHeart normal.",Clear {n}.,train\n'
    for n in (1, 2, 3)
)
PLUS_GOLD = "Path," + ",".join(OBSERVATIONS) + "\n"
PLUS_GOLD += "".join(
    f"train/patient0000{n}/study1/view1_frontal.jpg,{'1.0,0.0,' * 6}1.0,0.0\n" for n in (1, 2, 3)
)
PLUS_ANNOTATION = json.dumps(
    {
        split: [{"id": "x", "report": "x", "image_path": [f"train/patient0000{n}/study1/view1_frontal.png"]}]
        for n, split in enumerate(("train", "val", "test"), 1)
    }
)


def _plus(name: str) -> Callable[[Path], Path]:
    def lay(folder: Path) -> Path:
        (folder / "images/train").mkdir(parents=True)
        for file, content in (
            ("plus.csv", PLUS),
            ("valid.csv", PLUS_GOLD),
            ("annotation.json", PLUS_ANNOTATION),
        ):
            (folder / file).write_text(content, newline="")
        return folder / name

    return lay


def _plus_read(**own: Any) -> Callable[[Path, Path], int]:
    def read(folder: Path, path: Path) -> int:
        settings = {
            "films": "png",
            "split": "release",
            "annotation": None,
            "gold": None,
            "test": "split",
            **own,
        }
        for key in ("annotation", "gold"):
            if settings[key]:
                settings[key] = str(folder / settings[key])
        return _opened(
            "chexpert_plus", folder, path=str(folder / "plus.csv"), images=str(folder / "images"), **settings
        )

    return read


# ReXGradient -----------------------------------------------------------------------------------------------

REXGRADIENT = json.dumps({
    f"GRDN{n}_1.2.{n}": {
        "PatientID": f"GRDN{n}", "StudyInstanceUid": f"1.2.{n}", "PatientAge": "007Y", "Findings": "Heart normal.",
        "Impression": f"Clear {n}.", "ImagePath": [f"../deid_png/GRDN{n}/A/1.png"], "ImageViewPosition": ["PA"],
    }
    for n in (1, 2, 3)
})  # fmt: skip


def _rexgradient(folder: Path) -> Path:
    (folder / "deid_png").mkdir()
    return _put("test_metadata_view_position.json", REXGRADIENT)(folder)


def _rexgradient_read(folder: Path, path: Path) -> int:
    own = {"metadata": str(folder), "images": str(folder / "deid_png"), "files": ["test"], "split": "release"}
    return _opened("rexgradient", folder / "deid_png", **own)


# PadChest-GR -----------------------------------------------------------------------------------------------

PADCHEST_GR = json.dumps([
    {"StudyID": str(n), "ImageID": f"{n}.png", "findings": [{"sentence_en": "Heart normal.", "abnormal": False}]}
    for n in (1, 2, 3)
])  # fmt: skip


def _padchest_gr(name: str) -> Callable[[Path], Path]:
    def lay(folder: Path) -> Path:
        (folder / "films").mkdir()
        _put("grounded.json", PADCHEST_GR)(folder)
        _put("master_table.csv", "StudyID,PatientID,split\n1,1,train\n2,2,test\n3,3,validation\n")(folder)
        return folder / name

    return lay


def _padchest_gr_read(folder: Path, path: Path) -> int:
    files = {"reports": str(folder / "grounded.json"), "table": str(folder / "master_table.csv")}
    own = {"images": str(folder / "films"), "language": "en", "split": "release"}
    return _opened("padchest_gr", folder / "films", **files, **own)


# Films -----------------------------------------------------------------------------------------------------


def film(kind: str) -> bytes:
    """A film of noise."""
    pixels = np.random.default_rng(0).integers(0, 256, (64, 48), dtype=np.uint8)
    if kind == "DICOM":
        from dicom_films import dicom

        window = {"WindowCenter": 128, "WindowWidth": 256, "RescaleSlope": 1, "RescaleIntercept": 0}
        return dicom(pixels, bits=8, **window)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def _film_read(folder: Path, path: Path) -> None:
    from radrl.reporting import Asked, film_as_seen

    asked = Asked.__new__(Asked)
    object.__setattr__(asked, "image_size", 32)
    object.__setattr__(asked, "image_fit", "pad")
    assert film_as_seen(path, asked).startswith(b"\x89PNG")


def _served(folder: Path, path: Path) -> None:
    """A film in a request, of which the row is named in place of a file."""
    from radrl.reporting import Asked, FilmError
    from radrl.wiring.served import IMAGE, Served

    served = Served.__new__(Served)
    served._asked = Asked.__new__(Asked)
    object.__setattr__(served._asked, "image_size", 32)
    object.__setattr__(served._asked, "image_fit", "pad")
    value: Any = path.read_bytes().decode("latin-1") if path.is_file() else None
    try:
        served._films(pd.DataFrame({IMAGE: [value]}))
    except FilmError as error:
        if "row 1" not in str(error):
            raise


# Other systems' files --------------------------------------------------------------------------------------

REXRANK = json.dumps(
    {
        f"study{n}": {
            "image_path": [f"a{n}.png", f"b{n}.png"], "key_image_path": f"a{n}.png", "context": None,
            "frontal_lateral": ["Frontal", "Lateral"], "section_findings": REPORTS[n], "subject_id": n,
            "section_impression": float("nan"), "model_prediction": REPORTS[n],
        }
        for n in range(3)
    },
    indent=1,
)  # fmt: skip


def _keys(data: bytes) -> int | None:
    try:
        return len(json.loads(data))
    except Exception:  # what is being tested
        return None


def _rexrank(folder: Path, path: Path) -> int:
    from radrl.rexrank import form

    return len(form.read(path))


def _predictions(folder: Path, path: Path) -> int:
    from radrl.rexrank import references

    return len(list(references.rows(references.read(path))))


RELEASED = "findings,impression,study_id\n" + "".join(f"{REPORTS[n]},/,5000000{n}\n" for n in range(3))


def _released(folder: Path, path: Path) -> int:
    from radrl.rexrank import released

    released.references(path, "findings", {})
    return len(released.released(path, "findings", {}))


SYSTEM = json.dumps(
    {
        "source": {"file": "outputs.csv", "sha256": "ab" * 32, "reports": 3},
        "metrics": {"bleu_4": {"value": 0.1, "low": 0.05, "high": 0.2}, "rouge_l": {"value": 0.3}},
        "per_label": {"rules": [{"observation": "Edema", "support": 3, "uncertain_as_positive": False}]},
        "settings": {"metrics": ["nlg"], "nlg": {"preparation": "none"}, "bootstrap": None},
    }
)


def _system(folder: Path, path: Path) -> None:
    from radrl.pipelines.compare import rows

    found = rows.read_systems(folder, {"metrics": ["bleu_4", "rouge_l"], "systems": {"theirs": path.name}})
    evaluation = {
        "labelers": ["rules"],
        "cleaning": "none",
        "max_report_words": None,
        "nlg": {"preparation": "x"},
    }
    films = pd.DataFrame({"reference_labels": [np.zeros(14)] * 3})
    for one in found.values():
        list(rows.system_differences(one, films, evaluation, {"rules": {}}))
        json.dumps(one.protocol)
    rows.system_lines(found, ["bleu_4", "rouge_l"])


# Settings --------------------------------------------------------------------------------------------------


def _params(folder: Path, path: Path) -> None:
    from radrl.params import schema

    schema.read(path)


def _omega(folder: Path, path: Path) -> None:
    from radrl import settings

    settings._read.cache_clear()
    settings._read(path, 0)


def _study(folder: Path, path: Path) -> None:
    from radrl.studies import file

    file.read(path, ROOT)


def _score_settings(folder: Path, path: Path) -> None:
    from radrl.commands.run import read_settings

    read_settings(path)


def _started(folder: Path, path: Path) -> None:
    from kedro_repro import stage_start as started

    started.read_params(folder)


def _accelerate(folder: Path, path: Path) -> None:
    from radrl.plan import report

    report._engine(str(path))


SMALL = """\
title: A study
recipe: phantom-quick.yaml
seeds: [0, 1]
spread: {ce_rules_sample14_f1: 0.019}
claims:
- says: GRPO adds to the cold start
  where: DEER, tables 1 and 4
  arm: grpo
  over: sft
  metrics: [ce_rules_sample14_f1]
"""

# Tables that ship, and what commands gather ----------------------------------------------------------------


def _published(folder: Path, path: Path) -> None:
    from radrl.studies import published

    table = published.PaperTable(
        name="DEER", table="1", dataset="MIMIC-CXR", metrics={"a": "b"}, rows={"sft": "x"}
    )
    lines = published._lines(table, path, "compare")
    published._others(lines, ())


def _claims(folder: Path, path: Path) -> int:
    from radrl.commands import claims

    return len(claims._read((path,)))


# What runs leave behind ------------------------------------------------------------------------------------


def _seal(folder: Path, path: Path) -> None:
    from radrl.training import checkpoints

    assert isinstance(checkpoints.altered(folder), list)


def _pointer(folder: Path, path: Path) -> None:
    from radrl.storage import pointers

    pointers.resolve(folder, stage="base")


def _lay_pointer(folder: Path) -> Path:
    from radrl.storage.digests import sha256

    _put("weights/config.json", "{}")(folder)
    digests = {"config.json": sha256(folder / "weights/config.json")}
    (folder / "pointer.json").write_text(json.dumps({"path": "weights", "sha256": digests}))
    return folder / "pointer.json"


def _note(folder: Path, path: Path) -> None:
    from radrl.data import pretraining_seed

    pretraining_seed.refuse_seen(folder, source="phantom", seed=1)


def _origins(folder: Path, path: Path) -> None:
    from radrl.wiring import run_costs

    run_costs.read_origins(folder)


def _cpu_seconds(folder: Path, path: Path) -> None:
    from kedro_repro import cpu_seconds

    cpu_seconds.read(folder)


def _lay_cache(folder: Path) -> Path:
    from radrl.scoring.judge import AnswerCache

    cache = AnswerCache(folder / "answers.sqlite")
    for number in range(60):
        cache.put(f"key{number}", REPORTS[number % 3] * 20)
    cache.close()
    return folder / "answers.sqlite"


def _cache(folder: Path, path: Path) -> None:
    from radrl.scoring.judge import AnswerCache

    cache = AnswerCache(path)
    try:
        for number in range(0, 70, 7):
            said = cache.get(f"key{number}")
            assert said is None or isinstance(said, str)
        cache.put("new", "a")
    finally:
        cache.close()


def _unfinished(folder: Path, path: Path) -> None:
    from radrl.rexrank.predictions import Unfinished

    with Unfinished(path, {"arm": "deer"}) as kept:
        assert all(isinstance(key, str) and isinstance(text, str) for key, text in kept.reports.items())


UNFINISHED = '{"arm": "deer"}\n' + "".join(json.dumps([f"s{n}", REPORTS[n]]) + "\n" for n in range(3))

# Commands --------------------------------------------------------------------------------------------------


def _command(*words: str, out: str = "--json") -> Callable[[Path, Path], None]:
    def run(folder: Path, path: Path) -> None:
        import click
        from click.testing import CliRunner

        from radrl.commands.main import cli

        made = folder / ("made.json" if out == "--json" else "made.csv")
        bad = folder / "bad.csv"
        given = [words[0], str(path), *words[1:], out, str(made), "--skip-bad", str(bad)]
        done = CliRunner().invoke(cli, [*given, "--quiet"])
        assert "this is a bug" not in done.output, done.output
        if done.exit_code:
            assert not made.exists(), "the table was left half written"
            assert not bad.exists(), "the table of bad rows was left half written"
            raise click.ClickException(done.output)
        assert made.is_file()

    return run


def _label(*words: str) -> Callable[[Path, Path], None]:
    return _command("label", "--column", "report", *words, out="-o")


# Artifacts of stages ---------------------------------------------------------------------------------------


def _catalog(kind: str, path: Path) -> Any:
    from kedro.io import AbstractDataset, DataCatalog

    config = {"type": kind, "filepath": str(path)}
    return DataCatalog({"one": AbstractDataset.from_config("one", config)}).load("one")


def _artifact(kind: str) -> Callable[[Path, Path], None]:
    return lambda folder, path: _catalog(kind, path) and None


def _frame(kind: str) -> Callable[[Path, Path], int]:
    return lambda folder, path: len(_catalog(kind, path))


def _parquet_shards(folder: Path, path: Path) -> int:
    found = _catalog("radrl.datasets.ParquetShards", path.parent)
    return int(found.to_table().num_rows)


def _lay_corpus(folder: Path) -> Path:
    from radrl.data import corpus

    (folder / "corpus").mkdir()
    path = folder / "corpus/part-00000.arrow"
    corpus.write(
        pa.table({"split": ["train"] * 4, "sample_id": list("abcd"), "images": [[b"x" * 99]] * 4}), path
    )
    return path


def _arrow_shards(folder: Path, path: Path) -> int:
    from radrl.data.corpus import Films

    found = _catalog("radrl.datasets.ArrowShards", path.parent)
    return len(Films(found, "train"))


def _journal(folder: Path, path: Path) -> None:
    from radrl.data.shards import Journal

    Journal(folder).read(0)


def _lay_journal(folder: Path) -> Path:
    from radrl.data.quarantine import Refusal
    from radrl.data.shards import Journal

    notes = [Refusal(f"k{n}", "missing_image", "no such file", f"s{n}") for n in range(20)]
    Journal(folder).write(0, pa.table({"a": [1]}), notes, studies=20, digest="ab")
    return folder / "part-00000.notes.parquet"


# Models ----------------------------------------------------------------------------------------------------


def _chexbert_config(folder: Path, path: Path) -> None:
    from radrl.labelers.chexbert import folder as model

    model._config(path)


def _chexbert_vocabulary(folder: Path, path: Path) -> None:
    from radrl.labelers.chexbert import folder as model

    model._tokenizer(path)


def _chexbert_weights(folder: Path, path: Path) -> None:
    from radrl.labelers.chexbert.folder import read_weights

    read_weights(path)


def _lay_weights(folder: Path) -> Path:
    import torch

    from radrl.labelers.chexbert.folder import PREFIX, STATE

    weights = {f"{PREFIX}bert.w{n}": torch.zeros(8, 8) for n in range(4)}
    torch.save({STATE: weights}, folder / "chexbert.pth")
    return folder / "chexbert.pth"


def _pixels(folder: Path, path: Path) -> None:
    from radrl.plan import shapes

    shapes.pixels(shapes.Shape("policy", None, folder))


_PIXELS = json.dumps({"min_pixels": 3136, "max_pixels": 12845056, "size": {"shortest_edge": 1}})
_BERT = json.dumps(
    {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
)
_PIECES = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + "\n".join(f"word{n}" for n in range(40)) + "\n"

READERS: Mapping[str, Reader] = {
    "csv": Reader(_put("t.csv", TABLE), _records("csv"), damage.TEXT, _table_rows, looked=True),
    "csv.gz": Reader(
        _put("t.csv.gz", gzip.compress(TABLE.encode(), mtime=0)), _records("csv"), damage.packed(damage.TEXT),
        _unpacked(_table_rows), looked=True,
    ),
    "jsonl": Reader(_put("t.jsonl", LINES), _records("jsonl"), damage.JSON, _json_lines, looked=True),
    "parquet": Reader(_put("t.parquet", parquet()), _records("parquet"), damage.KINDS, _parquet_rows, _PARQUETS, looked=True),
    "parquet, plain": Reader(
        _put("t.parquet", parquet(compression="none", use_dictionary=False)), _records("parquet"),
        damage.KINDS, _parquet_rows, looked=True,
    ),
    "source csv": Reader(_put("reports.csv", TABLE), _csv_source, damage.TEXT, _table_rows),
    "iu_xray XML": Reader(_iu(_xml_folder), _iu_read("reports"), damage.TEXT, lambda data: 3, _XMLS),
    "iu_xray archive": Reader(
        _iu(_put("reports.tgz", damage.tarred(*map(_entry, (1, 2, 3))))), _iu_read("reports"),
        damage.packed(damage.KINDS), crafted=_TARS,
    ),
    "iu_xray archive, plain": Reader(
        _iu(_put("reports.tar", gzip.decompress(damage.tarred(*map(_entry, (1, 2, 3)))))), _iu_read("reports"),
        damage.KINDS,
    ),
    "iu_xray reports": Reader(
        _iu(_put("r.csv", "uid,MeSH,findings,impression\n1,normal,Clear.,Clear.\n2,normal,Clear.,Clear.\n")),
        _iu_read("reports"), damage.TEXT,
    ),
    "iu_xray projections": Reader(_iu(_put("p.csv", PROJECTIONS)), _iu_read("projections"), damage.TEXT),
    "iu_xray labels": Reader(_iu(_put("l.csv", IU_LABELS)), _iu_read("labels"), damage.TEXT),
    "iu_xray annotation": Reader(_iu(_put("annotation.json", IU_ANNOTATION)), _iu_read("annotation"), damage.JSON),
    "mimic_cxr metadata": Reader(
        _mimic("mimic-cxr-2.0.0-metadata.csv.gz"), _mimic_read(), damage.packed(damage.TEXT)
    ),
    "mimic_cxr split": Reader(_mimic("mimic-cxr-2.0.0-split.csv.gz"), _mimic_read(), damage.packed(damage.TEXT)),
    "mimic_cxr reports": Reader(
        _mimic("mimic-cxr-reports.zip"), _mimic_read(), damage.KINDS, lambda data: FILMS, _ZIPS, looked=True
    ),
    "mimic_cxr report": Reader(_mimic_text, _mimic_read(), damage.TEXT, lambda data: FILMS),
    "mimic_cxr annotation": Reader(
        _mimic("annotation.json"), _mimic_read(split="r2gen", text="r2gen", annotation="annotation.json"),
        damage.JSON,
    ),
    "mimic_cxr gold": Reader(_mimic("gold.csv"), _mimic_read(gold="gold.csv"), damage.TEXT),
    "chexpert_plus": Reader(_plus("plus.csv"), _plus_read(), damage.TEXT),
    "chexpert_plus gold": Reader(_plus("valid.csv"), _plus_read(gold="valid.csv"), damage.TEXT),
    "chexpert_plus annotation": Reader(
        _plus("annotation.json"), _plus_read(split="mambaxray", annotation="annotation.json"), damage.JSON
    ),
    "rexgradient": Reader(_rexgradient, _rexgradient_read, damage.JSON),
    "padchest_gr": Reader(_padchest_gr("grounded.json"), _padchest_gr_read, damage.JSON),
    "padchest_gr table": Reader(_padchest_gr("master_table.csv"), _padchest_gr_read, damage.TEXT),
    "film PNG": Reader(_put("film.png", film("PNG")), _film_read, damage.KINDS),
    "film JPEG": Reader(_put("film.jpg", film("JPEG")), _film_read, damage.KINDS),
    "film DICOM": Reader(_put("film.dcm", film("DICOM")), _film_read, damage.KINDS),
    "request": Reader(_put("film.b64", base64.b64encode(film("PNG"))), _served, damage.KINDS),
    "rexrank": Reader(_put("studies.json", REXRANK), _rexrank, damage.JSON, _keys),
    "rexrank predictions": Reader(_put("predictions.json", REXRANK), _predictions, damage.JSON, _keys),
    "rexrank unfinished": Reader(_put(".out.part", UNFINISHED), _unfinished, damage.JSON),
    "released reports": Reader(_put("theirs.csv", RELEASED), _released, damage.TEXT),
    "released reports JSON": Reader(_put("theirs.json", REXRANK), _released, damage.JSON, _keys),
    "compare.systems": Reader(_put("theirs.json", SYSTEM), _system, damage.JSON),
    "params.yaml": Reader(
        _put("params.yaml", (ROOT / "conf/recipes/phantom-quick.yaml").read_bytes()), _params, damage.YAML
    ),
    "params.yaml by Kedro": Reader(
        _put("params.yaml", (ROOT / "conf/recipes/phantom-quick.yaml").read_bytes()), _omega, damage.YAML
    ),
    "params.yaml by DVC's stages": Reader(_put("params.yaml", SMALL), _started, damage.YAML),
    "study": Reader(_put("study.yaml", SMALL), _study, damage.YAML),
    "settings of score": Reader(
        _put("score.yaml", (ROOT / "conf/rexrank/score.yaml").read_bytes()), _score_settings, damage.YAML
    ),
    "accelerate": Reader(
        _put("ddp.yaml", (ROOT / "conf/accelerate/ddp.yaml").read_bytes()), _accelerate, damage.YAML
    ),
    "published results": Reader(
        _put("published_results.csv", (ROOT / "conf/base/published_results.csv").read_bytes()), _published,
        damage.TEXT, looked=True,
    ),
    "claims": Reader(
        _put("a-claims.csv", "where,says,verdict,value\nDEER,adds,held,0.1\nDEER,more,open,0.2\n"), _claims,
        damage.TEXT,
    ),
    "seal": Reader(_put("seal.json", '{"a.bin": [3, 1234], "b/c.bin": [5, 99]}'), _seal, damage.JSON),
    "pointer": Reader(_lay_pointer, _pointer, damage.JSON),
    "drawn_from": Reader(_put("drawn_from.json", '{"source": "phantom", "seed": 0}'), _note, damage.JSON),
    "origins": Reader(
        _put("eval.json", '{"commit": "ab", "machine": "x", "releases": {"torch": "2"}, "minutes": 1.5}'),
        _origins, damage.JSON,
    ),
    "CPU seconds": Reader(_put("eval.json", '{"user": 1.5, "system": 0.25}'), _cpu_seconds, damage.JSON),
    "judge's cache": Reader(_lay_cache, _cache, damage.KINDS),
    "radrl label, CSV": Reader(_put("t.csv", TABLE), _label(), damage.TEXT, looked=True),
    "radrl label, JSON lines": Reader(_put("t.jsonl", LINES), _label("--id", "id"), damage.JSON, looked=True),
    "radrl label, Parquet": Reader(
        _put("t.parquet", parquet()), _label("--id", "kind"), damage.KINDS, crafted=_PARQUETS, looked=True
    ),
    "radrl score, JSON lines": Reader(
        _put("t.jsonl", LINES), _command("score", "--hypothesis", "report", "--metrics", "ce"),
        damage.JSON, looked=True,
    ),
    "artifact Parquet": Reader(
        _put("a.parquet", parquet()), _frame("pandas.ParquetDataset"), damage.KINDS, crafted=_PARQUETS
    ),
    "artifact CSV": Reader(_put("a.csv", TABLE), _frame("pandas.CSVDataset"), damage.TEXT),
    "artifact JSON": Reader(_put("a.json", SYSTEM), _artifact("json.JSONDataset"), damage.JSON),
    "artifact shards": Reader(_put("shards/part-00000.parquet", parquet()), _parquet_shards, damage.KINDS),
    "corpus": Reader(_lay_corpus, _arrow_shards, damage.KINDS),
    "journal of ingest": Reader(_lay_journal, _journal, damage.KINDS),
    "CheXbert's config": Reader(_put("config.json", _BERT), _chexbert_config, damage.JSON),
    "CheXbert's words": Reader(_put("vocab.txt", _PIECES), _chexbert_vocabulary, damage.TEXT, looked=True),
    "CheXbert's weights": Reader(_lay_weights, _chexbert_weights, damage.KINDS, looked=True),
    "policy's pixels": Reader(_put("preprocessor_config.json", _PIXELS), _pixels, damage.JSON),
}  # fmt: skip
