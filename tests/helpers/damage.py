"""Damage to files, drawn from a seed: what disks, transfers, editors and wrong exports do to them.

Each kind takes a random generator and the bytes of a sound file, and gives other bytes. `KINDS` fit any file,
`TEXT` files of lines and values, `JSON` and `YAML` those alone. `packed` puts the damage inside a gzip file.
"""

from __future__ import annotations

import gzip
import io
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

Damage = Callable[[Random, bytes], bytes]

_VALUE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\btrue\b|\bfalse\b|\bnull\b')
_DIGITS: Final = 5_000  # more than int() takes
_DEEP: Final = 100_000  # more than any parser's stack


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) or 1)]


def _flip(rng: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 32)) if out else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _insert(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice((1, 3, 200))) + data[at:]


def _delete(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) or 1)
    return data[:at] + data[at + rng.choice((1, 3, 200)) :]


def _repeat(rng: Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) or 1)
    end = min(len(data), start + rng.choice((1, 16, 512)))
    return data[:end] + data[start:end] * rng.choice((1, 3)) + data[end:]


def _zeros(rng: Random, data: bytes) -> bytes:
    """A block that a disk lost."""
    at, size = rng.randrange(len(data) or 1), rng.choice((1, 8, 512))
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]


def _swap_lines(rng: Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _repeat_line(rng: Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = rng.randrange(len(lines))
    return b"".join([*lines[:at], lines[at], *lines[at:]])


def _long(rng: Random, data: bytes) -> bytes:
    """A field far longer than any."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + b"x" * rng.choice((140_000, 2_000_000)) + data[at:]


def _quote(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b'"', b"'", b",", b"\t", b"\r", b"\n", b"\\", b"{", b"]")) + data[at:]


def _utf16(rng: Random, data: bytes) -> bytes:
    return data.decode("latin-1").encode(rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32")))


def _mark(rng: Random, data: bytes) -> bytes:
    return b"\xef\xbb\xbf" * rng.choice((1, 2)) + data


def _latin(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + "Épanchement à gauche".encode("latin-1") + data[at:]


def _value(rng: Random, data: bytes, values: tuple[bytes, ...]) -> bytes:
    """Another value where one stood."""
    places = list(_VALUE.finditer(data))
    if not places:
        return data
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(values) + data[place.end() :]


def _number(rng: Random, data: bytes) -> bytes:
    huge = b"9" * _DIGITS
    return _value(rng, data, (huge, b"-" + huge, b"1e999", b"-1e999", b"NaN", b"Infinity", b"-1", b"1.5"))


def _kind(rng: Random, data: bytes) -> bytes:
    return _value(rng, data, (b"[]", b"{}", b"null", b"true", b"[[]]", b'{"a": 1}', b'""', b"0"))


def _deep(rng: Random, data: bytes) -> bytes:
    nested = rng.choice((b"[", b'{"a":', b"[" * 3)) * _DEEP
    return rng.choice((nested, _value(rng, data, (nested, b"[" * _DEEP + b"]" * _DEEP))))


def _surrogate(rng: Random, data: bytes) -> bytes:
    return _value(rng, data, (rb'"\ud800"', rb'"\u0000"', rb'"\udfff\ud800"'))


def _whole(rng: Random, data: bytes) -> bytes:
    """Another document altogether."""
    return rng.choice((b"[]", b"{}", b"null", b"1", b'"text"', b"[1]", b'{"a": {}}', b'{"a": []}', b" \n"))


def _tag(rng: Random, data: bytes) -> bytes:
    tags = (
        b"!!int x", b"!!timestamp x", b"!!bool x", b"!!python/object:os.system x", b"2020-13-45", b"*no",
        b"&a [*a]", b"!!binary x", b'!!int ""', b"? [a]\n", b"\t",
    )  # fmt: skip
    return _value(rng, data, tags)


def _laughs(rng: Random, data: bytes) -> bytes:
    """Ten lists, each of ten of the one before: some bytes that say ten thousand million values."""
    lines = ["l0: &l0 [x]"] + [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 11)]
    return data + b"\n" + "\n".join(lines).encode() + b"\n"


KINDS: Final[Mapping[str, Damage]] = {
    "cut": _cut,
    "flipped bits": _flip,
    "inserted bytes": _insert,
    "deleted bytes": _delete,
    "a block twice": _repeat,
    "a block of zeros": _zeros,
    "empty": lambda rng, data: b"",
    "noise": lambda rng, data: rng.randbytes(300),
}
TEXT: Final[Mapping[str, Damage]] = {
    **KINDS,
    "lines swapped": _swap_lines,
    "a line twice": _repeat_line,
    "a long field": _long,
    "a stray mark": _quote,
    "UTF-16": _utf16,
    "byte order mark": _mark,
    "Latin-1": _latin,
    "a number": _number,
}
JSON: Final[Mapping[str, Damage]] = {
    **TEXT,
    "another type": _kind,
    "deep nesting": _deep,
    "half a surrogate": _surrogate,
    "another document": _whole,
}
YAML: Final[Mapping[str, Damage]] = {**JSON, "a tag": _tag, "aliases of aliases": _laughs}


def packed(kinds: Mapping[str, Damage]) -> dict[str, Damage]:
    """The same damage before a file was packed with gzip, and any to the packed file."""
    inside = {f"packed, {name}": _inside(kind) for name, kind in kinds.items()}
    return {**KINDS, **inside}


def _inside(kind: Damage) -> Damage:
    return lambda rng, data: gzip.compress(kind(rng, gzip.decompress(data)), mtime=0)


def zipped(members: Mapping[str, bytes], **changes: int) -> bytes:
    """A zip archive whose entries' headers say what is asked for.

    Args:
        members: content by name.
        **changes: `version` needed to unpack, `flags` or `method` of every entry, `size` it claims to have.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    out = bytearray(buffer.getvalue())
    for magic, places in ((b"PK\3\4", (4, 6, 8, 22)), (b"PK\1\2", (6, 8, 10, 24))):
        at = out.find(magic)
        while at >= 0:
            for name, place in zip(("version", "flags", "method", "size"), places, strict=True):
                if name in changes:
                    struct.pack_into("<I" if name == "size" else "<H", out, at + place, changes[name])
            at = out.find(magic, at + 4)
    return bytes(out)


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar archive, packed, of entries as they are given."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return buffer.getvalue()
