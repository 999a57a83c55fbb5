"""Sections whose keys are names of parts: what each may hold is what its part says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    ValidationError,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from radrl.params.messages import EXPLAINED, explained, gone
from radrl.parts.builtin import BUILTIN
from radrl.parts.choices import hint
from radrl.parts.find import PATH, Part, PartError, find, names, own_names
from radrl.parts.kinds import KINDS
from radrl.parts.section import Section


class Parts(Section):
    """A section that holds the sections of parts, each under the name that its part goes by.

    Its fields are known once it is seen which parts it names: it is validated by a subclass made for them.

    Attributes:
        kind: of the parts.
        keys: of built-in parts that have a section here, the key and the part's name.
        always: keys that must be there, and whether they may be null.
        open: whether parts of one's own may stand here.
        found: in the subclass, the parts by key.
    """

    kind: ClassVar[str]
    keys: ClassVar[Mapping[str, str]] = {}
    always: ClassVar[Mapping[str, bool]] = {}
    open: ClassVar[bool] = True
    found: ClassVar[Mapping[str, Part] | None] = None

    @classmethod
    def read(cls, given: Any) -> Any:
        """What is validated in place of what is written."""
        return given

    @classmethod
    def name_fields(cls, valid: tuple[str, ...]) -> dict[str, Any]:
        """Fields that hold a part's name, with their types, for a subclass.

        Args:
            valid: the names there are.
        """
        return {}

    @classmethod
    def needs_whole(cls, key: str, given: Mapping[str, Any]) -> bool:
        """Whether a part's section must have all keys that the part needs.

        Args:
            key: of the part.
            given: the section that holds it.
        """
        return True

    def parts(self) -> dict[str, Any]:
        """The sections that are there, by key."""
        there = {key: getattr(self, key, None) for key in self.found or {}}
        return {key: own for key, own in there.items() if own is not None}

    @model_validator(mode="wrap")
    @classmethod
    def _by_its_parts(cls, given: Any, handler: Callable[[Any], Any]) -> Any:
        if cls.found is not None:
            return handler(given)
        given = cls.read(given)
        if not isinstance(given, Mapping):
            return handler(given)
        shape = _shape(cls, given)
        try:
            return shape.model_validate(given)
        except ValidationError as error:
            raise explained(error, shape) from None


def one_of(valid: tuple[str, ...]) -> Any:
    """The type of a name among these."""
    return Literal.__getitem__(valid)


def needs_settings(kind: str, name: str) -> bool:
    """Whether a part that has no section where it is named cannot do without one."""
    return any(field.is_required() for field in find(kind, name).section.model_fields.values())


def _shape(cls: type[Parts], given: Mapping[str, Any]) -> type[Parts]:
    """The subclass for the parts that are named, and the refusal of those that cannot be had."""
    found: list[tuple[str, Part, bool, bool]] = []
    refused: dict[str, Any] = {}
    for key in _own_keys(cls, given):
        own = given.get(key)
        try:
            part = _find(cls, key, own)
            _section(part, by_path=_by_path(own))
            found.append((key, part, _by_path(own), cls.needs_whole(key, given)))
        except PartError as error:
            refused[key] = (Annotated[Any, BeforeValidator(_raising(error.said, error.told[1:]))], None)
    valid = tuple(own_names(cls.kind, given)) if cls.name_fields(("",)) else ()
    try:
        shape = _shaped(cls, tuple(found), valid, tuple(sorted(given.keys() & cls.keys)))
    except PartError as error:
        raise ValueError(str(error)) from None
    if not refused:
        return shape
    made: type[Parts] = create_model(cls.__name__, __base__=shape, **refused)
    return made


@cache
def _shaped(
    cls: type[Parts],
    found: tuple[tuple[str, Part, bool, bool], ...],
    valid: tuple[str, ...],
    there: tuple[str, ...],
) -> type[Parts]:
    fields: dict[str, Any] = {}
    for key in cls.keys:  # built-in parts that are not named are not imported
        fields[key] = (Any, ...) if key in cls.always and key not in there else (None, None)
    for key, part, by_path, whole in found:
        own = _section(part, by_path=by_path)
        section: Any = own if whole else Annotated[own, _in_part(own)]
        null = cls.always.get(key, True)
        fields[key] = (section | None if null else section, ... if key in cls.always else None)
    fields |= cls.name_fields(valid) if valid else {}
    shape: type[Parts] = create_model(cls.__name__, __base__=cls, **fields)
    shape.found = {key: part for key, part, *_ in found}
    return shape


def _own_keys(cls: type[Parts], given: Mapping[str, Any]) -> Iterator[str]:
    """Keys that hold sections of parts, as far as they are there."""
    yield from (key for key in cls.keys if key in given and (given[key] is not None or key in cls.always))
    yield from (key for key in given if key not in cls.keys and key not in cls.model_fields)


def _find(cls: type[Parts], key: str, own: Any) -> Part:
    if key in cls.keys and not _by_path(own):
        return find(cls.kind, cls.keys[key], None, key=key)
    kind, said = KINDS[cls.kind], f"; one of your own says where it is, {PATH}: "
    if not cls.open or (key in cls.keys.values() and key not in cls.keys):
        raise PartError(f"no such key{hint(key, [*cls.model_fields, *cls.keys])}", key, (key,))
    if key in BUILTIN[cls.kind] and not _by_path(own):
        said = f"{key} is a built-in {cls.kind}, without a section here; one of your own goes by another name"
        raise PartError(said, key, (key,))
    if not _by_path(own) and key not in names(cls.kind):
        valid = [*cls.model_fields, *cls.keys, *(n for n in names(cls.kind) if n not in BUILTIN[cls.kind])]
        unknown = f"no such key{hint(key, valid)}{said}{kind.example}"
        raise PartError(gone(key) or unknown, key, (key,))
    return find(cls.kind, key, own, key=key)


def _by_path(own: Any) -> bool:
    return isinstance(own, Mapping) and PATH in own


@cache
def _section(part: Part, *, by_path: bool) -> type[Section]:
    """What a part's section may hold: its own settings, what every part of its kind has, and its path."""
    bases = [base for base in (part.section, part.kind.shared) if base is not None]
    path: dict[str, Any] = {PATH: (str, ...)} if by_path else {}
    made: type[Section] = create_model(part.name, __base__=tuple(bases), **path)
    return made


def _in_part(section: type[Section]) -> WrapValidator:
    """What takes a section that lacks keys, which then hold nothing, and refuses all else that is wrong."""

    def read(given: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(given)
        except ValidationError as error:
            wrong = explained(error, section, missing=False)
            if wrong.error_count():
                raise wrong from None
            return section.model_construct(**(dict.fromkeys(section.model_fields) | dict(given)))

    return WrapValidator(read)


def _raising(said: str, at: tuple[str, ...]) -> Any:
    def refuse(given: Any) -> Any:
        error = PydanticCustomError(EXPLAINED, "{said}", {"said": said})
        raise ValidationError.from_exception_data("part", [InitErrorDetails(type=error, loc=at, input=given)])

    return refuse
