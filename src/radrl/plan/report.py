"""A recipe's plan as a whole: the recipe read, the policy's shape and the card found, every stage judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from radrl.params.schema import Params
from radrl.params.schema import read as read_params
from radrl.plan import calibration, films, hours, shapes
from radrl.plan.memory import GIB, Engine
from radrl.plan.refusals import Refusal, judged, room
from radrl.plan.stages import Asked, Planner, Stage
from radrl.process.devices import DeviceError
from radrl.storage import yaml_files

CPU: Final = "cpu"
"""As `device` names it, and throughputs.yml."""


class Unknown(ValueError):
    """Something that a plan needs and nobody said; the message names the option that says it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a recipe needs.

    Args:
        recipe: its name.
        shape: of the policy, in words.
        weights: the policy's.
        image_tokens: of a film.
        card: what a device can do.
        card_said: how the card was found.
        pace: what does not depend on it.
        devices: that share a training.
        engine: how they do.
        workers: that share the films of the stages that need no step together.
        room: bytes of a device beside its reserve.
        films: of each split, and where the numbers are from.
        stages: that can be planned.
        refusals: of stages that cannot be run so.
        whole: whether every stage could be planned; processes cannot share the step of one that could not.
    """

    recipe: str
    shape: str
    weights: int
    image_tokens: int
    card: hours.Card
    card_said: str
    pace: hours.Pace
    devices: int
    engine: Engine
    workers: int
    room: float
    films: films.Films
    stages: list[Stage]
    refusals: list[Refusal]
    whole: bool

    @property
    def seconds(self) -> float:
        """Of all stages, one after another."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def largest(self) -> Stage:
        """The stage that needs most of a device."""
        return max(self.stages, key=lambda stage: stage.bytes)


def _engine(config: str | None) -> Engine:
    """What a configuration of accelerate parts among processes; one that is not there, nothing."""
    if config is None or not Path(config).is_file():
        return "ddp"
    read = yaml_files.read(Path(config))
    if not isinstance(read, dict):
        raise yaml_files.NoYaml(f"{config} holds no mapping of keys; name a configuration of accelerate's")
    return "fsdp2" if read.get("distributed_type") == "FSDP" else "ddp"


def plans(recipe: Path, devices: Sequence[int | None], **asked: Any) -> list[Plan]:
    """Plan a recipe on several numbers of devices; one for a CPU on the first alone, which has no others.

    Args:
        recipe: a params file.
        devices: how many share a training.
        **asked: as `plan` takes it.
    """
    first, *others = [partial(plan, recipe, devices=count, **asked) for count in devices]
    known = first()
    return [known] if known.card.name == CPU else [known, *(other() for other in others)]


def plan(
    recipe: Path,
    *,
    devices: int | None = None,
    card: str | None = None,
    memory: float | None = None,
    engine: Engine | None = None,
    workers: int | None = None,
    films: int | None = None,
    policy: Path | None = None,
    shape: str | None = None,
    changed: Mapping[str, float] | None = None,
    calibrate: bool = False,
) -> Plan:
    """Plan a recipe.

    Args:
        recipe: a params file.
        devices: that share a training; by default the recipe's `compute.processes`.
        card: a key of throughputs.yml's cards; by default what this machine has.
        memory: of a device in GiB; by default the card's.
        engine: how several processes share a training; by default what the recipe's `compute.config` says.
        workers: that share the films of the stages that need no step together, 0 for as many as devices; by
            default the recipe's `compute.workers`.
        films: of the training split; by default what is drawn or published.
        policy: a folder with a configuration; by default the recipe's.
        shape: a published configuration instead.
        changed: throughputs by key.
        calibrate: whether this machine's device is measured, in place of its row of throughputs.yml.

    Raises:
        radrl.params.messages.ParamsError: when the recipe is none.
        Unknown: when the films, the shape or the card are not known, naming the option.
    """
    params = read_params(recipe)
    devices = devices or params.compute.processes
    engine = engine or _engine(params.compute.config)
    found = _shape(params, policy, shape)
    if calibrate and card is not None:
        raise Unknown("--calibrate measures this machine: leave --card out")
    known, pace, said = _card(params, card, memory, changed or {})
    if calibrate:
        known, said = _calibrated(params, found, known, changed or {}), f"{said}, calibrated"
    counted = _films(params, films)
    workers = params.compute.workers if workers is None else workers or devices
    planner = Planner(Asked(params, found, counted, known, pace, devices, engine, workers))
    both = [judged(planner, job) for job in planner.jobs()]
    return Plan(
        recipe.stem,
        found.name,
        planner.model(None).weights.all,
        planner.image_tokens(),
        known,
        said,
        pace,
        devices,
        engine,
        planner.asked.workers,
        room(planner, devices),
        counted,
        [stage for stage, _ in both if stage is not None],
        [refusal for _, refused in both for refusal in refused],
        all(stage is not None for stage, _ in both),
    )


def _films(params: Params, given: int | None) -> films.Films:
    found = films.recipe_films(params, given)
    if found is None:
        source = params.ingest.source
        raise Unknown(f"nobody knows how many films {source} has: say those of the training split, --films N")
    return found


def _shape(params: Params, policy: Path | None, shape: str | None) -> shapes.Shape:
    """The policy's shape: as it was asked for, or the recipe's folder, or by that folder's name."""
    if shape is not None:
        try:
            return shapes.published(shape)
        except ValueError as error:
            raise Unknown(f"--shape: {error}") from None
    own = params.policy
    folder = policy or (None if own.path is None else Path(own.path))
    if folder is None:
        assert own.tiny is not None  # the schema holds a recipe without a path to it
        values = shapes.tiny(own.tiny.model_dump(), params.ingest.image_size)
        return shapes.shape_of_config("the laptop policy of policy.tiny", values)
    if (folder / "config.json").is_file() or policy is not None:
        return shapes.of_folder(folder)
    name = shapes.NAMED.get(folder.name)
    if name == shapes.TINY and own.tiny is not None:
        values = shapes.tiny(own.tiny.model_dump(), params.ingest.image_size)
        return shapes.shape_of_config(f"policy.tiny, for {folder} is not here", values)
    if name in shapes.PUBLISHED:
        return replace(shapes.published(name), name=f"{name}, for {folder} is not here")
    raise Unknown(
        f"policy.path {folder} is not on this machine: give a folder with its config.json by --policy, or "
        f"one of {', '.join(shapes.PUBLISHED)} by --shape"
    )


def _card(
    params: Params, card: str | None, memory: float | None, changed: Mapping[str, float]
) -> tuple[hours.Card, hours.Pace, str]:
    """The card, and how it was found."""
    said, there = "as asked for", None
    if card is None or params.device == CPU:
        card, there, said = _this_machine(params.device, memory)
    try:
        found, pace = hours.read(card, changed)
    except ValueError as error:
        raise Unknown(str(error)) from None
    if memory is not None:
        there, said = memory, f"{said}, with --memory"
    if there is not None:
        found = replace(found, memory_gib=there)
    if found.memory_gib is None:
        found = replace(found, memory_gib=_memory_of_this_machine())
    if params.ingest.source == "phantom" and "report_tokens" not in (changed or {}):
        pace = replace(pace, report_tokens=pace.drawn_tokens)
    return found, pace, said


def _calibrated(
    params: Params, shape: shapes.Shape, known: hours.Card, changed: Mapping[str, float]
) -> hours.Card:
    """The card with what is measured of it now, but for what was asked for by name."""
    import torch

    torch.set_num_threads(params.threads)
    try:
        found = calibration.calibrated(shape.config, params.device)
    except DeviceError as error:
        raise Unknown(f"--calibrate: {error}") from None
    taken = {key: value for key, value in found.items() if key not in changed}
    source = f"{', '.join(taken)}: {calibration.SOURCE}; the rest: {known.source}"
    return replace(known, **taken, source=source)  # type: ignore[arg-type]


def _this_machine(device: str, memory: float | None) -> tuple[str, float | None, str]:
    """The card of a recipe's device on this machine, its memory in GiB where it is not the table's."""
    if device == CPU:
        return CPU, None, "by `device`, on this machine"
    import torch

    if device == "auto" and not torch.accelerator.is_available():
        return CPU, None, "this machine has no other"
    if torch.cuda.is_available():
        own = torch.cuda.get_device_properties(0)
        name = next((name for name in hours.table()["cards"] if name in own.name.lower()), None)
        said = f"this machine's {own.name}" + (
            "" if name else ", whose throughputs are taken to be an h100's"
        )
        return name or "h100", own.total_memory / GIB, said
    if memory is not None:
        return "h100", memory, "throughputs of an h100"
    cards = ", ".join(name for name in hours.table()["cards"] if name != "cpu")
    raise Unknown(
        f"the recipe computes on {device}, and this machine has none: say what it will run on by --card "
        f"({cards}), or --memory GIB"
    )


def _memory_of_this_machine() -> float:
    import psutil

    return float(psutil.virtual_memory().total) / GIB


def refusals_in_words(refusals: Sequence[Refusal]) -> list[str]:
    """Refusals in words: stages that are refused alike in one line.

    Args:
        refusals: of a plan.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for one in refusals:
        alike.setdefault((one.why, one.mend), []).append(one.stage)
    return [f"{stage_names(stages)}: {why}; {mend}" for (why, mend), stages in alike.items()]


def stage_names(stages: Sequence[str]) -> str:
    """Names of stages that are alike, the first of many.

    Example:
        >>> shown(["train@a"]), shown(["train@a", "train@b", "train@c"])
        ('train@a', 'train@a and 2 more')
    """
    first, *others = stages
    return f"{first} and {len(others)} more" if others else first


def as_json(plan: Plan) -> dict[str, Any]:
    """A plan as JSON holds it: all stages, bytes by item, seconds, refusals, where throughputs are from."""
    found = asdict(plan)
    for stage, own in zip(plan.stages, found["stages"], strict=True):
        own |= {"fullest": stage.fullest, "bytes": stage.bytes}
    sources = hours.sources(plan.card)
    return {**found, "seconds": plan.seconds, "largest": plan.largest.name, "sources": sources}
