"""The section `labeler`: who reads the 14 observations out of a report."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from radrl.params.parts import Parts, needs_settings, one_of
from radrl.parts.choices import near
from radrl.parts.find import names
from radrl.parts.section import LocalPath

_MENDS: Final = {
    "chexbert": "name the folder that holds the published chexbert.pth and bert-base-uncased's vocab.txt",
    "compact": "it is trained here: take its section from conf/recipes/phantom-laptop.yaml",
}


class Labeler(Parts):
    """Who reads the 14 observations out of a report."""

    kind: ClassVar = "labeler"
    keys: ClassVar = {"rules": "rules", "compact": "chexbert_compact"}
    always: ClassVar = {"rules": False, "compact": True}

    name: str
    chexbert: LocalPath | None

    @classmethod
    def named(cls, valid: tuple[str, ...]) -> dict[str, Any]:
        """The labeler is one of these."""
        return {"name": (one_of(valid), ...)}

    def require(self, name: str, key: str) -> None:
        """Refuse a labeler that there is none of, or that has no model, naming the key that asks for it."""
        own = [each for each in self.parts() if each not in self.keys]
        known = dict.fromkeys([*names(self.kind), *own])
        if name not in known:
            raise ValueError(f"{key}: {name!r} is no labeler{near(name, known)} Labelers: {', '.join(known)}")
        needed = {"chexbert": "chexbert", "chexbert_compact": "compact"}.get(name)
        if needed and getattr(self, needed) is None:
            raise ValueError(f"{key} is {name} but labeler.{needed} is null; {_MENDS[needed]}")
        if not (needed or name == "rules" or name in own) and needs_settings(self.kind, name):
            raise ValueError(f"{key} is {name}, but there is no section labeler.{name}, which says how")
