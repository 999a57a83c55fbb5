"""Large JSON files of many entries, read entry by entry without holding them."""

from __future__ import annotations

import json
from typing import IO, Any, Final, NoReturn

from radrl.data.tables import SourceError
from radrl.storage import json_files

_CHUNK: Final = 1 << 20
_LONGEST: Final = 1 << 22  # characters of one entry
_BLANK: Final = " \t\r\n"


class Scanner:
    """A JSON file in pieces; read as Latin-1, so that a character is a byte."""

    def __init__(self, name: str, stream: IO[bytes], *, form: str) -> None:
        """Read the first piece.

        Args:
            name: of the file, for messages.
            stream: the file.
            form: what it is found not to be where something else stands, such as `no JSON of studies`.
        """
        self._name, self._stream, self._form = name, stream, form
        self._text, self._at, self._before = "", 0, 0
        self._decoder = json.JSONDecoder(object_pairs_hook=json_files.each_once)
        self._fill()
        if self._text.startswith("\xef\xbb\xbf"):
            self._at = 3

    def position(self) -> int:
        """The byte at which the next value begins."""
        self.peek()
        return self._before + self._at

    def peek(self) -> str:
        """The next character that is not blank, empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text) or not self._fill():
                return self._text[self._at : self._at + 1]

    def expect(self, character: str) -> None:
        """Step over a character."""
        if (found := self.peek()) != character:
            self.fail(
                f"{character!r} was expected, but {'the file ends' if not found else f'{found!r} stands'}"
            )
        self._at += 1

    def value(self) -> tuple[Any, int]:
        """Read an object, a list or a string, and tell its length."""
        if self.peek() not in ("{", "[", '"'):
            self.fail("an entry was expected")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                self.fail("brackets in brackets without end")
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > _LONGEST or not self._fill():
                    self.fail(error.msg)
            except json_files.NoJson as error:
                self.fail(str(error))
            except ValueError:
                self.fail("a number of more digits than can be read")
            else:
                length, self._at = end - self._at, end
                return value, length

    def raw(self) -> bytes:
        """Read an object, a list or a string, as its bytes."""
        _, length = self.value()
        return self._text[self._at - length : self._at].encode("latin-1")

    def fail(self, problem: str) -> NoReturn:
        """Refuse the file.

        Raises:
            SourceError: always.
        """
        raise SourceError(
            f"{self._name} is {self._form}, or cut off: {problem} at byte {self._before + self._at}; "
            "fetch it again"
        )

    def _fill(self) -> bool:
        chunk = self._stream.read(_CHUNK).decode("latin-1")
        self._before += self._at
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)
