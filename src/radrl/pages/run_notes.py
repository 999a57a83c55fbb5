"""How a page was made, beside the page: what differs from run to run is no byte of the page itself.

A page that was opened from disk may load a neighbouring script and nothing else, so the notes are one,
``runs/DIGEST.js``, and the page names it. The digest is the page's own: notes are never shown with another
page, and a page that is restored from DVC's cache finds its own again. A page without them says so where they
would stand. `with_notes` puts them in, for a copy that goes elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from radrl.storage.whole_files import whole_file

UNSEALED: Final = "runs/of-this-page.js"
"""What a template names; `sealed` puts the digest there."""

_DIGITS: Final = 16
_TAG: Final = re.compile(rf'<script src="(runs/[0-9a-f]{{{_DIGITS}}}\.js)"></script>\n?')
_START, _END = (
    "for (const [id, html] of Object.entries(",
    ")) document.getElementById(id).outerHTML = html;\n",
)


def sealed(page: str) -> str:
    """Name a page's notes by its digest.

    Args:
        page: its text, with ``<script src="runs/of-this-page.js"></script>`` at its end.
    """
    digest = hashlib.sha256(page.encode()).hexdigest()[:_DIGITS]
    return page.replace(UNSEALED, f"runs/{digest}.js")


def write(page: Path, slots: Mapping[str, str]) -> Path:
    """Write the notes of a page that lies there.

    Args:
        page: a file.
        slots: by the id of an element, the HTML that takes its place; what stands in it has been escaped.

    Returns:
        The notes' file.
    """
    file = _beside(page, page.read_text(encoding="utf-8"))
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as stream:
        stream.write(f"{_START}{json.dumps(dict(slots), indent=1)}{_END}".encode("ascii"))
    return file


def with_notes(page: Path) -> str:
    """A page's text with its notes put in, which needs nothing beside it.

    Args:
        page: a file.

    Returns:
        The text; as it is where there are no notes.

    Raises:
        ValueError: naming an element of the notes that the page lacks.
    """
    text = page.read_text(encoding="utf-8")
    file = _beside(page, text)
    if not file.is_file():
        return text
    slots = json.loads(file.read_text(encoding="ascii").removeprefix(_START).removesuffix(_END))
    for name, html in slots.items():
        element = re.search(rf'<(\w+) id="{re.escape(name)}".*?</\1>', text, re.DOTALL)
        if element is None:
            raise ValueError(f"{page} has no element {name!r}, for which {file} has a text; write both anew")
        text = text[: element.start()] + html + text[element.end() :]
    return _TAG.sub("", text)


def _beside(page: Path, text: str) -> Path:
    named = _TAG.search(text)
    if named is None:
        raise ValueError(f"{page} names no notes; the stage that writes it has to run again")
    return page.parent / named[1]
