"""Where a policy's tokens lie in the text they decode to, for byte-level BPE such as Qwen's and Gemma's BPE.

Read from the tokens' own bytes. Encoding the text again would not do: the ids that a policy wrote need not be
those its tokenizer would choose. Gemma's tokens are characters with a sign for the space, and single bytes
(`<0xE5>`) where it has no token; of bytes in a row that are no text its decoder makes a U+FFFD each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

_BYTE: Final[dict[str, int]] = {sign: byte for byte, sign in bytes_to_unicode().items()}
_SPACE: Final = "▁"
_LONE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_FALLBACK: Final = [
    {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]
"""Gemma's decoder, step by step."""
_BROKEN: Final = "\ufffd".encode()


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """A text and the places of its tokens.

    Args:
        text: what the tokens decode to, special ones left out.
        spans: start and end of each of T tokens in characters of the text, shape (T, 2). A character whose
            bytes several tokens share lies in the span of each; special tokens have empty spans.
    """

    text: str
    spans: npt.NDArray[np.int64]


class ByteLevelSpans:
    """Locates the tokens of one tokenizer.

    Args:
        tokenizer: a fast one that decodes bytes, or characters and bytes as Gemma's.

    Raises:
        ValueError: the tokenizer is of another kind.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        own = getattr(backend, "decoder", None)
        decoder = type(own).__name__
        self._falls_back = decoder == "Sequence" and _steps(own) == _FALLBACK
        if decoder != "ByteLevel" and not self._falls_back:
            raise ValueError(
                f"{type(tokenizer).__name__} decodes by {decoder}, so its tokens have no bytes of their own; "
                "credit by token needs byte-level BPE, as Qwen2.5-VL has, or Gemma's BPE"
            )
        self._tokenizer = tokenizer
        self._lone: set[int] = set()
        added = tokenizer.added_tokens_decoder.items()
        self._special = {number for number, token in added if token.special}
        self._bytes: dict[int, bytes] = {}

    def locate(self, ids: Sequence[int]) -> Located:
        """Decode tokens as the tokenizer does with `skip_special_tokens`, and say where each is.

        Args:
            ids: T token ids; one that the vocabulary lacks stands for no text.

        Returns:
            The text and T spans, which cover it.
        """
        pieces = [self._piece(int(number)) for number in ids]
        if self._falls_back:
            pieces = _mended(pieces, [int(number) in self._lone for number in ids])
        length = np.array([len(piece) for piece in pieces], dtype=np.int64)
        end = np.cumsum(length)
        text, bounds = _decode(b"".join(pieces))
        first = np.searchsorted(bounds, end - length, side="right") - 1
        last = np.searchsorted(bounds, end, side="left")
        return Located(text, np.stack([first, np.where(length > 0, last, first)], axis=1).astype(np.int64))

    def _piece(self, number: int) -> bytes:
        """The bytes of a token, empty for special ones."""
        if number not in self._bytes:
            token = None if number in self._special else self._tokenizer.convert_ids_to_tokens(number)
            if self._falls_back and token and (lone := _LONE.fullmatch(token)):
                self._lone.add(number)
                self._bytes[number] = bytes.fromhex(lone[1])
            elif self._falls_back:
                self._bytes[number] = (token or "").replace(_SPACE, " ").encode()
            else:
                self._bytes[number] = _to_bytes(token or "")
        return self._bytes[number]


def _steps(decoder: Any) -> Any:
    """What a sequence of decoders is made of."""
    return json.loads(decoder.__getstate__())["decoders"]


def _mended(pieces: Sequence[bytes], lone: Sequence[bool]) -> list[bytes]:
    """Pieces whose bytes are text: bytes in a row that are none become a U+FFFD each.

    Args:
        pieces: the bytes of T tokens; tokens without any part nothing.
        lone: whether a token is a single byte.
    """
    found = list(pieces)
    present = [place for place, piece in enumerate(pieces) if piece]
    for bytewise, run in groupby(present, key=lone.__getitem__):
        places = list(run)
        if bytewise and not _is_text(b"".join(pieces[place] for place in places)):
            for place in places:
                found[place] = _BROKEN
    return found


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _to_bytes(token: str) -> bytes:
    """As the decoder has it: a sign stands for a byte; a token with any other sign, for itself."""
    if all(sign in _BYTE for sign in token):
        return bytes(_BYTE[sign] for sign in token)
    return token.encode()


def _decode(data: bytes) -> tuple[str, npt.NDArray[np.int64]]:
    """UTF-8 with each broken sequence as one U+FFFD; where each character begins in bytes, and the end."""
    text: list[str] = []
    starts: list[npt.NDArray[np.int64]] = []
    at = 0
    while at < len(data):
        try:
            data[at:].decode()
            broken = after = len(data)
        except UnicodeDecodeError as error:
            broken, after = at + error.start, at + error.end
        whole = np.frombuffer(data, np.uint8)[at:broken]
        text.append(data[at:broken].decode() + "\ufffd" * (after > broken))
        starts.append(at + np.flatnonzero(whole & 0xC0 != 0x80))  # bytes that continue no character
        starts.append(np.arange(broken, broken + (after > broken)))
        at = after
    return "".join(text), np.concatenate([*starts, np.array([len(data)])]).astype(np.int64)
