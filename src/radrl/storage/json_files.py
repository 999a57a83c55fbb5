"""JSON that somebody else may have written or damaged: whatever is wrong with it, one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from radrl.storage import refused


class NoJson(ValueError):
    """A text or a file is no JSON that can be read; the message says why, of a file with name and mend."""


def parsed(text: str | bytes, *, each: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """What a JSON text says.

    Args:
        text: the text, or its bytes in UTF-8, a byte order mark before them or not.
        each: what is made of every object, from the inside out.

    Returns:
        The value; NaN and infinities are numbers, as `json.loads` has it.

    Raises:
        NoJson: it is cut off or malformed, no UTF-8, nested without end, has a key of an object twice, a
            number of more digits than can be read, or half of a surrogate pair, which no file can hold.

    Example:
        >>> parsed(b'{"a": [1, 2]}')
        {'a': [1, 2]}
    """

    def made(pairs: list[tuple[str, Any]]) -> Any:
        found = each_once(pairs)
        return found if each is None else each(found)

    try:
        whole = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = json.loads(whole, object_pairs_hook=made)
        if "\\ud" in whole or "\\uD" in whole:
            json.dumps(value, ensure_ascii=False).encode()
    except NoJson:
        raise
    except json.JSONDecodeError as error:
        lines = "\n" in error.doc.strip()
        place = f"line {error.lineno}, column {error.colno}" if lines else f"character {error.pos + 1}"
        raise NoJson(f"{error.msg} at {place}") from None
    except UnicodeDecodeError:
        raise NoJson("bytes that are no UTF-8") from None
    except UnicodeEncodeError:
        raise NoJson("half of a surrogate pair (\\ud800 to \\udfff alone), which is no text") from None
    except RecursionError:
        raise NoJson("brackets in brackets without end") from None
    except ValueError:
        raise NoJson("a number of more digits than can be read") from None
    return value


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose keys is there twice: of two values `json` would drop the first in silence.

    Args:
        pairs: as the hook `object_pairs_hook` of `json` is given them.

    Raises:
        NoJson: naming the key.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NoJson(f"the key {twice[:_SHOWN]!r} is there twice")
    return found


_SHOWN = 60
"""Characters of a key that a message repeats."""


def read(
    path: Path,
    refuse: Callable[[str], Exception] = NoJson,
    *,
    mend: str = "fetch it again",
    each: Callable[[dict[str, Any]], Any] | None = None,
) -> Any:
    """What a JSON file says.

    Args:
        path: the file.
        refuse: makes what is raised of the message.
        mend: ends the message.
        each: as `parsed` takes it.

    Raises:
        NoJson: or what `refuse` makes in its place: there is no such file, or no JSON in it.
    """
    try:
        return parsed(path.read_bytes(), each=each)
    except OSError as error:
        own = refused.mend(error) or mend
        raise refuse(f"{path} cannot be read: {error.strerror or error}; {own}") from error
    except NoJson as error:
        raise refuse(f"{path} is no JSON: {error}; {mend}") from None
