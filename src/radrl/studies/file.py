"""A study file, conf/recipes/study-*.yaml: its schema, and what it makes of the recipe it starts from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from radrl.params.messages import ParamsError, render
from radrl.params.schema import Params, validate
from radrl.parts.choices import hint
from radrl.parts.section import PositiveFloat, Section
from radrl.storage import yaml_files
from radrl.studies import analyses
from radrl.studies.analyses import Compared, of_arms
from radrl.studies.budget import require_passes
from radrl.studies.claims.schema import Claim, Hypothesis, hypotheses
from radrl.studies.execution import ANALYSES, COMPARE
from radrl.studies.published import PaperTable, Published, find

RESULTS: Final = Path("conf/base/published_results.csv")
SINGLE: Final = ""
"""The name of the one run of a study without `runs`."""

Seed = Annotated[int, Field(ge=0)]


class Run(Section):
    """A variation of the recipe: keys laid over it, and the arms that it is run for (by default all)."""

    set: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[list[str], Field(min_length=1)] | None = None


class StudyFile(Section):
    """What a study file may hold."""

    title: Annotated[str, Field(min_length=1)]
    recipe: str
    stage: Literal["compare", "analyses"] = "compare"
    seeds: Annotated[list[Seed], Field(min_length=1)]
    set: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[dict[str, dict[str, Any]], Field(min_length=1)] | None = None
    reference: str | None = None
    metrics: Annotated[list[str], Field(min_length=1)] | None = None
    runs: Annotated[dict[str, Run], Field(min_length=1)] | None = None
    claims: Annotated[list[Claim], Field(min_length=1)] | None = None
    spread: dict[str, PositiveFloat] = Field(default_factory=dict)
    paper: list[PaperTable] = Field(default_factory=list)

    @field_validator("paper", mode="before")
    @classmethod
    def _listed(cls, paper: Any) -> Any:
        return [paper] if isinstance(paper, Mapping) else paper

    @field_validator("seeds")
    @classmethod
    def _once(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) != len(seeds):
            raise ValueError(f"{seeds} names a seed twice")
        return seeds

    @field_validator("runs")
    @classmethod
    def _names(cls, runs: dict[str, Run] | None) -> dict[str, Run] | None:
        for name in runs or {}:
            if not re.fullmatch(r"\w+", name):
                raise ValueError(f"{name!r}: a run's name is letters, digits and underscores")
        return runs

    @model_validator(mode="after")
    def _without_arms(self) -> Self:
        of_runs = {f"runs.{name}.arms": run.arms for name, run in (self.runs or {}).items()}
        for key, own in {"arms": self.arms, "reference": self.reference, **of_runs}.items():
            if self.stage == ANALYSES and own is not None:
                raise ValueError(
                    f"{key}: the stage {ANALYSES} has no arms and tests its rows against random; leave it out"
                )
        return self


@dataclass(frozen=True, slots=True)
class Study:
    """A study, checked as a whole.

    Args:
        name: of the file, without its ending.
        file: where it lies.
        title: what the table is headed with.
        recipe: the name of the params file it starts from.
        stage: the one that its experiments run up to, which gives what is compared.
        seeds: those of the file.
        changes: what it lays over the recipe for every run, by key.
        runs: by name, the whole parameters of each run but for the seed; one named `SINGLE` without `runs`.
        values: the same as they are written into params.yaml.
        variations: by run, what that run alone lays over the recipe.
        compared: metrics, rows and reference.
        hypotheses: the claims it tests, each on one metric.
        published: the paper's tables, where the file names any.
    """

    name: str
    file: Path
    title: str
    recipe: str
    stage: str
    seeds: tuple[int, ...]
    changes: Mapping[str, Any]
    runs: Mapping[str, Params]
    values: Mapping[str, dict[str, Any]]
    variations: Mapping[str, Mapping[str, Any]]
    compared: Compared
    hypotheses: Sequence[Hypothesis]
    published: Published | None

    @property
    def params(self) -> Params:
        """The first run's parameters, where all runs agree."""
        return next(iter(self.runs.values()))


def read(path: Path, root: Path) -> Study:
    """Read a study file and check everything that it will run.

    Args:
        path: the file; its recipe lies beside it, or is a path from the project's folder.
        root: the project's folder.

    Returns:
        The study.

    Raises:
        ParamsError: naming file and key, and what would be right.
    """
    try:
        given = StudyFile.model_validate(_mapping(path))
    except ValidationError as error:
        raise ParamsError(f"{path.name} is not valid:\n{render(error, StudyFile)}") from None
    recipe = _mapping(_recipe(given.recipe, path, root))
    runs = given.runs or {SINGLE: Run()}
    values = {name: _values(given, run, recipe, _where(path, name)) for name, run in runs.items()}
    params = {
        name: validate(own_values, source=f"{_where(path, name)}, laid over {Path(given.recipe).name},")
        for name, own_values in values.items()
    }
    compared = _compared(given, params, path.name)
    _require_metrics(given.spread, compared.metrics, path.name)
    metrics, reference = compared.metrics, compared.reference
    return Study(
        path.stem,
        path,
        given.title,
        Path(given.recipe).name,
        given.stage,
        tuple(given.seeds),
        given.set,
        params,
        values,
        {name: run.set for name, run in runs.items()},
        compared,
        _hypotheses(given, params, compared, path.name),
        find(given.paper, root / RESULTS, compared.rows, metrics, reference, where=path.name),
    )


def _compared(given: StudyFile, params: Mapping[str, Params], where: str) -> Compared:
    if given.stage == ANALYSES:
        return analyses.compared(params, given.metrics, where=where)
    require_passes(params, given.arms is not None, where=where)
    return of_arms(params)


def _hypotheses(
    given: StudyFile, params: Mapping[str, Params], compared: Compared, where: str
) -> list[Hypothesis]:
    more = compared.without_model
    found = hypotheses(
        given.claims or (), compared.rows, compared.metrics, given.spread, without_model=more, where=where
    )
    if given.stage == ANALYSES:
        analyses.require_rows(found, params, where=where)
    return found


def _require_metrics(spread: Mapping[str, float], metrics: Sequence[str], where: str) -> None:
    for metric in spread:
        if metric not in metrics:
            raise ParamsError(f"{where}: spread: {metric!r} is none of the study's{hint(metric, metrics)}")


def _values(given: StudyFile, run: Run, recipe: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The whole parameters of a run; the seed is still the recipe's."""
    values: dict[str, Any] = unshared_copy(recipe)
    if given.arms is not None:
        values["arms"] = unshared_copy(given.arms)
    for key, value in {**given.set, **run.set}.items():
        lay(values, key, value, where=where)
    if given.reference is not None:
        lay(values, "compare.reference", given.reference, where=where)
    if given.metrics is not None and given.stage == COMPARE:
        lay(values, "compare.metrics", given.metrics, where=where)
    if run.arms is not None:
        for arm in run.arms:
            if arm not in values["arms"]:
                raise ParamsError(f"{where}: arms: {arm!r} is no arm{hint(arm, values['arms'])}")
        values["arms"] = {arm: values["arms"][arm] for arm in run.arms}
    return values


def lay(values: dict[str, Any], key: str, value: Any, *, where: str) -> None:
    """Lay a value over parameters.

    Args:
        values: whole parameters, which are changed.
        key: with dots between its levels; the last one may be an optional key that is not there yet, which
            the schema judges.
        value: anything YAML can hold, a whole section too.
        where: begins the message.

    Raises:
        ParamsError: when a section on the way is not there, or the key is the study's own.
    """
    if key == "seed":
        raise ParamsError(f"{where}: set.seed: a study's seeds are listed under `seeds`")
    *sections, last = key.split(".")
    current: Any = values
    for section in sections:
        if not isinstance(current, dict) or section not in current:
            valid = current if isinstance(current, dict) else ()
            raise ParamsError(f"{where}: set.{key}: no key {section!r}{hint(section, valid)}")
        current = current[section]
    if not isinstance(current, dict):
        raise ParamsError(f"{where}: set.{key}: {'.'.join(sections)} is no section but {current!r}")
    if sections in ([], ["arms"]) and last not in current:
        raise ParamsError(f"{where}: set.{key}: no key {last!r}{hint(last, current)}")
    current[last] = unshared_copy(value)


def unshared_copy(value: Any) -> Any:
    """A copy in which nothing is shared: a YAML anchor gives two arms one and the same mapping."""
    if isinstance(value, Mapping):
        return {key: unshared_copy(inner) for key, inner in value.items()}
    return [unshared_copy(inner) for inner in value] if isinstance(value, list) else value


def _where(path: Path, run: str) -> str:
    return f"{path.name}, run {run}" if run else path.name


def _recipe(name: str, path: Path, root: Path) -> Path:
    for folder in (path.parent, root / "conf" / "recipes", root):
        with suppress(OSError):  # a name that no system takes
            if (folder / name).is_file():
                return folder / name
    there = sorted(
        file.name for file in (root / "conf" / "recipes").glob("*.yaml") if not file.name.startswith("study-")
    )
    raise ParamsError(f"{path.name}: recipe: there is no {name!r}{hint(name, there)}")


def _mapping(path: Path) -> dict[str, Any]:
    values = yaml_files.read(path, ParamsError)
    if not isinstance(values, dict):
        raise ParamsError(
            f"{path.name} holds no mapping of keys; give a file such as conf/recipes/study-phantom-arms.yaml"
        )
    return values
