"""A part found as params.yaml names it, built in, of a package or by import path; its signature read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from inspect import Parameter
from typing import Any, Final, Literal

from pydantic import create_model

from radrl.parts.builtin import BUILTIN
from radrl.parts.choices import near
from radrl.parts.kinds import KINDS, Kind
from radrl.parts.section import Section

PATH: Final = "part"
"""The key of a section that holds the import path of a part of one's own."""


class PartError(ValueError):
    """A part cannot be had as it is named; the message says where in params.yaml and what would be right.

    Args:
        said: what is wrong, and the mend.
        key: where it stands in params.yaml.
        told: the last of the key's levels, from the section that holds the part's own.
    """

    def __init__(self, said: str, key: str, told: tuple[str, ...]) -> None:
        super().__init__(f"{key}: {said}")
        self.said, self.told = said, told


@dataclass(frozen=True)
class Part:
    """A part that params.yaml names; it is imported when it is asked for.

    Args:
        kind: what it is.
        name: what it goes by in curves, files and tables.
        path: where it is, ``module:object``.
        origin: who offers it.
        key: the key of its section.
    """

    kind: Kind
    name: str
    path: str
    origin: Literal["built-in", "entry point", "import path"]
    key: str

    @property
    def module(self) -> str:
        """The module that it stands in."""
        return self.path.partition(":")[0]

    @cached_property
    def object(self) -> Callable[..., Any]:
        """The function or class.

        Raises:
            PartError: when it cannot be imported, or is of another form than its kind has.
        """
        found: Callable[..., Any] = self._imported()
        if not callable(found):
            raise self._refused(f"{self.path} is {found!r}; name a function or a class")
        if self.origin != "built-in":  # whose stages may have more to give
            self._require_ingredients(found)
        if isinstance(found, type) and self.kind.method and not _has(found, self.kind.method):
            raise self._refused(f"{self.path} has no method {self.kind.method}. {self.kind.contract}")
        return found

    @cached_property
    def section(self) -> type[Section]:
        """The pydantic section of its own settings."""
        try:
            return section_of(self.object)
        except SignatureError as error:
            raise self._refused(f"{self.path} {error}") from error

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.object) or "").partition("\n")[0]

    @property
    def is_function(self) -> bool:
        """Whether it is a function that is asked itself, rather than what makes an object."""
        names, arguments = ingredients(self.object), self.kind.arguments
        return not isinstance(self.object, type) and bool(arguments) and arguments[0] in names

    def make(self, settings: Mapping[str, Any], **given: Any) -> Any:
        """Call it with its settings and those of its ingredients that it wants.

        Args:
            settings: its section of params.yaml; `part` is passed over.
            **given: ingredients, which may be more than it wants.

        Returns:
            What it gives.
        """
        wanted = {name: given[name] for name in ingredients(self.object) if name in given}
        return self.object(**wanted, **self.settings(settings))

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What stands after its `*`: its section without `part`, with the section's defaults."""
        own = {name: value for name, value in given.items() if name != PATH}
        return defaults(self.object) | own

    def _imported(self) -> Any:
        module, _, name = self.path.partition(":")
        if not (module and name):
            raise self._refused(
                f"{self.path!r} is no import path; write module:object, such as {self.kind.example}"
            )
        try:
            found = import_module(module)
        except Exception as error:  # whatever a user's module does at its import
            raise self._refused(
                f"{self.path} cannot be imported: {type(error).__name__}: {error}; install its package in "
                "this environment, or mend the path"
            ) from error
        for step in name.split("."):
            if not hasattr(found, step):
                known = [each for each in dir(found) if not each.startswith("_")]
                raise self._refused(f"{module} has no {name!r}{near(name, known)}")
            found = getattr(found, step)
        return found

    def _require_ingredients(self, found: Callable[..., Any]) -> None:
        try:
            asked = ingredients(found)
        except SignatureError as error:
            raise self._refused(f"{self.path} {error}") from error
        known = dict.fromkeys((*self.kind.arguments, *self.kind.ingredients))
        for name, required in asked.items():
            if required and name not in known:
                raise self._refused(
                    f"{self.path} asks for {name!r}, which a {self.kind.name} is not given; before the * it "
                    f"may ask for {', '.join(known)}. A setting stands after the *"
                )

    def _refused(self, said: str) -> PartError:
        at = (self.name, PATH) if self.origin == "import path" else (self.name,)
        return PartError(said, ".".join((self.key, *at[1:])), at)


def find(kind: str, name: str, section: Any = None, *, key: str | None = None) -> Part:
    """Find a part.

    Args:
        kind: one of `radrl.parts.kinds.KINDS`.
        name: what params.yaml calls it.
        section: its section there; with the key `part` it is found by that import path, and the name is only
            what it goes by.
        key: the key of its section, for messages.

    Returns:
        The part, not yet imported.

    Raises:
        PartError: when there is none of the name, or the name is taken.
    """
    own = KINDS[kind]
    key = key or f"{own.section}.{name}"
    path = section.get(PATH) if isinstance(section, Mapping) else None
    if path is not None and own.group:
        return _by_path(own, name, path, key)
    if name in BUILTIN[kind]:
        return Part(own, name, BUILTIN[kind][name], "built-in", key)
    if name in (offered := _offered(own)):
        return Part(own, name, offered[name].value, "entry point", key)
    raise PartError(_unknown(own, name), key, (name,))


def names(kind: str) -> list[str]:
    """The names of a kind's parts that need no import path: built-in ones, then those of installed packages.

    Raises:
        PartError: when a package offers a name that is taken.
    """
    return [*BUILTIN[kind], *_offered(KINDS[kind])]


def own_names(kind: str, sections: Mapping[str, Any]) -> list[str]:
    """All names that parts of a kind go by where these sections stand: `names`, and those with a `part`."""
    by_path = [name for name, own in sections.items() if isinstance(own, Mapping) and PATH in own]
    return list(dict.fromkeys([*names(kind), *by_path]))


def _by_path(kind: Kind, name: str, path: Any, key: str) -> Part:
    if not isinstance(path, str):
        said = f"must be an import path such as {kind.example} (it is {path!r})"
        raise PartError(said, f"{key}.{PATH}", (name, PATH))
    if BUILTIN[kind.name].get(name, path) != path:
        said = f"{name} is a built-in {kind.name}'s name; let this one go by another, or leave out `{PATH}`"
        raise PartError(said, key, (name,))
    if not str(name).isidentifier():
        raise PartError(
            f"{name!r} names figures and files: letters, digits and underscores", key, (str(name),)
        )
    return Part(kind, name, path, "import path", key)


def _unknown(kind: Kind, name: str) -> str:
    valid = names(kind.name)
    said = f"no {kind.name} {name!r}{near(name, valid)} There are {', '.join(valid)}"
    return f"{said}; one of your own says where it is, {PATH}: {kind.example}" if kind.group else said


def _offered(kind: Kind) -> dict[str, EntryPoint]:
    """What installed packages offer, by name."""
    found: dict[str, EntryPoint] = {}
    for each in _installed().select(group=kind.group) if kind.group else ():
        if each.name in BUILTIN[kind.name] or found.get(each.name, each).value != each.value:
            package = each.dist.name if each.dist else each.module
            raise PartError(
                f"the package {package} offers a {kind.name} {each.name!r}, a name that is taken; rename it "
                f"in its entry points ({kind.group}), or uninstall it",
                kind.section,
                (each.name,),
            )
        found[each.name] = each
    return found


@cache
def _installed() -> EntryPoints:
    found: Any = entry_points()  # reads a file a package, so once
    offered: EntryPoints = found
    return offered


def _has(part: type, method: str) -> bool:
    return any(method in base.__dict__ for base in part.__mro__ if base is not object)


_BY_PLACE: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class SignatureError(ValueError):
    """A function or class cannot be a part as it stands; the message is the end of a sentence on it."""


def ingredients(part: Callable[..., Any]) -> dict[str, bool]:
    """What stands before the `*`, and whether it has to be given.

    Args:
        part: a function or class.

    Returns:
        By name, true where there is no default.

    Raises:
        SignatureError: when it takes any number of arguments, or nobody can tell what it takes.
    """
    parameters = _parameters(part).values()
    if any(one.kind is Parameter.VAR_POSITIONAL for one in parameters):
        raise SignatureError("takes any number of arguments; name those it wants before a bare *")
    return {one.name: one.default is Parameter.empty for one in parameters if one.kind in _BY_PLACE}


def section_of(part: Callable[..., Any]) -> type[Section]:
    """The section of a part: its own, or one made from what stands after the `*`.

    Args:
        part: a function or class.

    Returns:
        A section class.

    Raises:
        SignatureError: when its own is none, or a setting has no type that can be checked.
    """
    own = getattr(part, "Section", None)
    if own is None:
        return _made(part)
    if not (isinstance(own, type) and issubclass(own, Section)):
        raise SignatureError("has a Section that is not derived from radrl.parts.section.Section")
    return own


def defaults(part: Callable[..., Any]) -> dict[str, Any]:
    """Defaults that its own section has and its signature may lack."""
    own = getattr(part, "Section", None)
    fields: Mapping[str, Any] = own.model_fields if own is not None else {}
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in fields.items()
        if not field.is_required()
    }


def _made(part: Callable[..., Any]) -> type[Section]:
    settings = [one for one in _parameters(part).values() if one.kind not in _BY_PLACE]
    if any(one.kind is Parameter.VAR_KEYWORD for one in settings):
        raise SignatureError("takes settings of any name; name them after the *, or give it a Section")
    fields: dict[str, Any] = {
        one.name: (_type(one, part), ... if one.default is Parameter.empty else one.default)
        for one in settings
    }
    name = str(getattr(part, "__name__", "Part"))
    made: type[Section] = create_model(name, __base__=Section, __module__=part.__module__, **fields)
    return made


def _type(setting: Parameter, part: Callable[..., Any]) -> Any:
    """The type of a setting; those of ingredients may be known to type checkers alone."""
    if setting.annotation is Parameter.empty:
        raise SignatureError(f"says no type of its setting {setting.name!r}; annotate it")
    if not isinstance(setting.annotation, str):
        return setting.annotation
    called: Any = inspect.unwrap(part.__init__ if isinstance(part, type) else part)  # type: ignore[misc]
    try:
        return eval(setting.annotation, getattr(called, "__globals__", {}))
    except NameError as error:
        raise SignatureError(
            f"has a setting {setting.name!r} whose type is not there when it is imported ({error}); import "
            "it at the top of the module"
        ) from error


def _parameters(part: Callable[..., Any]) -> Mapping[str, Parameter]:
    try:
        return inspect.signature(part).parameters
    except (TypeError, ValueError) as error:
        raise SignatureError("has no signature that can be read; wrap it in a function") from error
