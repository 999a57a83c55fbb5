"""Sections `ingest`, from a source to the corpus, and `labeler`, who reads observations out of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, ValidationError, model_validator

from radrl.params.messages import local_paths, render
from radrl.params.parts import Parts, needs_settings, one_of
from radrl.params.section_digest import digest_of, stated_values
from radrl.parts.builtin import BUILTIN
from radrl.parts.choices import near
from radrl.parts.find import find, names
from radrl.parts.section import LocalPath, PositiveInt, Section, Share, Split

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
    def name_fields(cls, valid: tuple[str, ...]) -> dict[str, Any]:
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


class Away(Section):
    """Test films of another hospital: they are the split `away`, which nothing learns from.

    `split` is the one of that source that is taken, null all of it. `set` replaces keys of its section
    `ingest.SOURCE`, so that the same source may be read or drawn otherwise.
    """

    source: str
    split: Split | None = "test"
    set: dict[str, Any] = Field(default_factory=dict)


Cleaning = Literal["none", "r2gen_iu", "r2gen_mimic", "mambaxray", "promptmrg"]
LabelsOf = Literal["original", "cleaned"]


class Ingest(Parts):
    """From a source to the corpus; of the sources' own sections only the chosen one's has to be there.

    A `seed` of its own draws and splits the films whatever the seed of everything else is, so that several
    seeds have the same ones. `context` is what the corpus has of a study besides, for the places of prompts.
    """

    kind: ClassVar = "source"
    keys: ClassVar = {name: name for name in BUILTIN["source"]}

    source: str
    sample: Literal["image", "study"]
    views: Annotated[list[Literal["frontal", "lateral", "unknown"]], Field(min_length=1)]
    target: Literal["findings", "impression", "findings_impression", "report"]
    cleaning: Cleaning
    labels_of: LabelsOf
    min_report_words: Annotated[int, Field(ge=0)]
    max_report_words: PositiveInt | None
    image_size: PositiveInt
    image_fit: Literal["pad", "stretch", "longest_side"]
    split_shares: dict[Split, Share]
    patients_in_two_splits: Literal["refuse", "allow"]
    max_quarantined_share: Share
    films_per_shard: PositiveInt
    workers: PositiveInt | None
    seed: Annotated[int, Field(ge=0)] | None = None
    away: Away | None = None
    context: list[Literal["indication", "age", "prior", "boxes"]] = Field(default_factory=list)

    @classmethod
    def name_fields(cls, valid: tuple[str, ...]) -> dict[str, Any]:
        """The source is one of these."""
        return {"source": (one_of(valid), ...)}

    @classmethod
    def needs_whole(cls, key: str, given: Mapping[str, Any]) -> bool:
        """Only the chosen source's: an environment, as conf/smoke, may set keys of one that is not there."""
        away = given.get("away")
        return key in (given.get("source"), away.get("source") if isinstance(away, Mapping) else None)

    @model_validator(mode="after")
    def _described(self) -> Ingest:
        self._require_section("source", self.source)
        if self.away is not None:
            self._require_section("away.source", self.away.source)
            self._require_keys(self.away)
            if self.away.source == self.source and self.away.split in (None, "pretrain", "train"):
                raise ValueError(
                    f"ingest.away takes {self.away.split or 'all splits'} of {self.source}, which is "
                    "ingest.source too, so patients that are learnt from would be tested on under another "
                    "name; set ingest.away.split to test"
                )
        return self

    def _require_section(self, key: str, source: str) -> None:
        if source not in self.parts() and needs_settings(self.kind, source):
            raise ValueError(
                f"ingest.{key} is {source}, but there is no section ingest.{source}; "
                f"copy it from a recipe in conf/recipes that has `source: {source}`"
            )

    def _require_keys(self, away: Away) -> None:
        """Refuse what the other hospital's section could not hold, and paths, which no record would hide."""
        own = self.parts().get(away.source)
        if paths := away.set.keys() & (local_paths(own) if own is not None else set()):
            raise ValueError(
                f"ingest.away.set.{min(paths)} is a path of this machine, which the record of a run may not "
                f"hold; write it in ingest.{away.source}, and let ingest.source be another one"
            )
        section = find(self.kind, away.source).section if own is None else type(own)
        try:
            section.model_validate({**(own.model_dump() if own is not None else {}), **away.set})
        except ValidationError as error:
            raise ValueError(
                f"ingest.away.set, laid over ingest.{away.source}:\n{render(error, section)}"
            ) from None

    @property
    def sources(self) -> set[str]:
        """Those that are read."""
        return {self.source, self.at_away().source}

    def at_away(self) -> Ingest:
        """The section as the other hospital's films are read by it; itself where there is none."""
        if self.away is None:
            return self
        name, own = self.away.source, self.parts().get(self.away.source)
        changed = {} if own is None else {name: own.model_copy(update=self.away.set)}
        return self.model_copy(update={"source": name, "away": None, **changed})

    def digest(self) -> str:
        """A digest of all that films and reports depend on; where it is equal, two corpora are.

        Sources that are not chosen have no part in it, and nothing that is so anyway
        (`radrl.params.section_digest`).
        """
        left_as_it_is = self.cleaning == "none" and self.max_report_words is None
        without = {"films_per_shard", "workers"} | ({"labels_of"} if left_as_it_is else set())
        return digest_of(stated_values(self, without=without | (self.parts().keys() - self.sources)))
