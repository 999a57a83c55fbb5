"""A trained arm: its policy's folder, and what params.yaml says of how it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from radrl.params.schema import Params, read
from radrl.parts.choices import near

FOLDER = Path("data/06_models/arms")
"""Where the stage train writes the arms' policies, by name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a policy is asked: what the stages ingest and generate do with a film, and nothing else.

    Args:
        prompt: the instruction.
        form: what of the output is the report, one of `radrl.reports.output.FORMS`.
        image_size: side of the films in pixels.
        image_fit: how films are brought to it, one of `radrl.data.images.FITS`.
        sample: what one report is on, `image` or `study`.
        engine: who writes, one of `radrl.policy.writers.sections.ENGINES`.
        batch_size: samples at once.
        draw: max_new_tokens, temperature, top_p.
        seed: of the draws when temperature is above 0.
        dtype: of the weights.
        device: where the policy computes.
        threads: of torch.
    """

    prompt: str
    form: str
    image_size: int
    image_fit: str
    sample: str
    engine: str
    batch_size: int
    draw: Mapping[str, Any]
    seed: int
    dtype: str
    device: str
    threads: int


@dataclass(frozen=True, slots=True)
class TrainedArm:
    """An arm that has trained.

    Args:
        name: of the arm.
        folder: its policy's.
        asked: how it is asked.
        params: the whole of params.yaml.
    """

    name: str
    folder: Path
    asked: Asked
    params: Params


def trained(root: Path) -> list[str]:
    """The arms that have a policy, in the order of their names.

    Args:
        root: the project's folder.
    """
    return sorted(folder.name for folder in (root / FOLDER).glob("*") if any(folder.iterdir()))


def find(root: Path, name: str) -> TrainedArm:
    """An arm of a project.

    Args:
        root: the project's folder.
        name: of the arm, under `arms` in params.yaml.

    Returns:
        The arm with what params.yaml says of it now.

    Raises:
        radrl.params.base.ParamsError: when params.yaml is not valid.
        ValueError: when params.yaml has no such arm.
        FileNotFoundError: when it has not trained.
    """
    params = read(root / "params.yaml")
    there = trained(root)
    if name not in params.arms:
        raise ValueError(
            f"params.yaml has no arm {name!r}{near(name, there)} Trained are: {', '.join(there) or 'none'}"
        )
    if name not in there:
        raise FileNotFoundError(
            f"arm {name} has no policy at {FOLDER / name}; trained are {', '.join(there) or 'none'}. "
            f"Mend: radrl repro train@{name}"
        )
    return TrainedArm(name, root / FOLDER / name, asked(params, name), params)


def asked(params: Params, name: str) -> Asked:
    """How an arm is asked.

    Args:
        params: the whole of params.yaml.
        name: of the arm.
    """
    form, generate = params.arms[name].output, params.generate
    return Asked(
        prompt=params.prompts.model_dump()[form],
        form=form,
        image_size=params.ingest.image_size,
        image_fit=params.ingest.image_fit,
        sample=params.ingest.sample,
        engine=generate.engine,
        batch_size=generate.batch_size,
        draw=generate.model_dump(include={"max_new_tokens", "temperature", "top_p"}),
        seed=params.seed,
        dtype=params.policy.dtype,
        device=params.device,
        threads=params.threads,
    )
