"""The card's row in radrl plan's throughputs.yml: what was measured; the rest as assumed before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gpu_check.page import of
from radrl.plan import hours
from radrl.storage.whole_files import whole_file

FILE: Final = Path(hours.__file__).with_name(hours.FILE)
LIKE: Final = "h100"
"""Whose assumptions a card without a row starts from."""
FORM: Final = re.compile(r"^  (\w+):\n(?:    .*\n)+", re.MULTILINE)


def written(found: Mapping[str, Any], file: Path = FILE) -> str:
    """Give the card its row, in place of the one there was; other rows and comments stay.

    Args:
        found: the JSON of `gpu_check.results`.
        file: throughputs.yml.

    Returns:
        What was done, in a line; the twin and a check without throughputs write nothing, and say so.
    """
    measured, machine = of(found, "throughputs").get("measured"), of(found, "machine")
    if found["twin"] or not measured or not machine:
        return f"{file} is as it was: no throughputs of a GPU were measured"
    cards = hours.table()["cards"]
    name = next((one for one in cards if one in machine["card"].lower()), _key(machine["card"]))
    own = {**cards.get(name, cards[LIKE]), **{key: float(f"{value:.3g}") for key, value in measured.items()}}
    own["memory_gib"] = int(machine["memory_gib"])
    own["source"] = (
        f"measured by bench/gpu_check on one {machine['card']} (docs/bench/gpu.md), "
        f"torch {machine['torch']}, "
        f"transformers {machine['transformers']}: {', '.join(measured)}; the rest as "
        f"{'before' if name in cards else LIKE}, assumed"
    )
    source = own.pop("source")
    lines = [f"    {key}: {value:g}" for key, value in own.items()]
    block = "\n".join([f"  {name}:", *lines, "    source: >-", f"      {source}"]) + "\n"
    text = file.read_text()
    there = next((one for one in FORM.finditer(text) if one[1] == name), None)
    before = text.index("  cpu:\n") if there is None else there.start()
    after = before if there is None else there.end()
    with whole_file(file) as stream:
        stream.write((text[:before] + block + text[after:]).encode())
    return f"{file} has a row of {name}"


def _key(card: str) -> str:
    """A card's name as a key.

    Example:
        >>> _key("NVIDIA RTX 6000 Ada Generation")
        'rtx_6000_ada_generation'
    """
    return re.sub(r"\W+", "_", card.lower().removeprefix("nvidia ")).strip("_")
