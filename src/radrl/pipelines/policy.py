"""The stage policy: the base policy, a local Qwen2.5-VL or the laptop policy built and pretrained."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora


def make_base_policy(
    corpus: ds.Dataset,
    settings: dict[str, Any],
    source: str,
    image_size: int,
    prompts: dict[str, str],
    seed: int,
    threads: int,
    device: str,
    workspace: Path,
    step_report: Callable[..., None],
) -> tuple[Callable[[Path], None], pd.DataFrame]:
    """Point at local weights, or build the laptop policy and pretrain it on a split of its own.

    Args:
        corpus: the films; only the split `pretrain` is read.
        settings: the section `policy`.
        source: of the films, as `ingest.source` names it.
        image_size: pixels.
        prompts: the instruction for each form of output.
        seed: of the weights and of training.
        threads: of torch.
        device: where the laptop policy trains.
        workspace: checkpoints.
        step_report: told each step's numbers.

    Returns:
        What writes the policy's folder, and the training curve (empty for local weights).

    Raises:
        radrl.data.pretraining_seed.SeenFilms: when the local weights were pretrained on these films.
    """
    if settings["path"] is not None:
        return _point_at(Path(settings["path"]), source, seed), pd.DataFrame({"step": []})

    from radrl.data.pretraining_seed import note_on
    from radrl.data.prompts import of_split
    from radrl.process.devices import pin, place
    from radrl.storage.workspaces import claim, fingerprint
    from radrl.training.checkpoints import writing
    from radrl.training.preflight import check_supervised
    from radrl.training.supervised.pretraining import pretrained

    where = place(device)
    pin(threads, where)
    check_supervised(settings["pretrain"], "policy.pretrain", device=where)
    frame = corpora.read(corpus, split="pretrain", columns=["report", "impression"])
    films = corpora.Films(corpus, "pretrain")
    drawn: dict[str, Any] = {"settings": settings, "image_size": image_size, "prompts": prompts, "seed": seed}
    claim(workspace, fingerprint(drawn | {"threads": threads, "device": device, "films": films.digest()}))
    drawn["prompts"] = {form: of_split(corpus, "pretrain", own) for form, own in prompts.items()}
    policy, curve = pretrained(frame, films, **drawn, device=where, workspace=workspace, report=step_report)
    return note_on(writing(policy, workspace), source=source, seed=seed), pd.DataFrame(curve)


def _point_at(weights: Path, source: str, seed: int) -> Callable[[Path], None]:
    """What writes a folder that points at local weights; see `make_base_policy`."""
    from radrl.data.pretraining_seed import refuse_seen
    from radrl.policy import folder

    refuse_seen(weights, source=source, seed=seed)
    return partial(folder.write_pointer, weights)


def create_pipeline() -> Pipeline:
    """Corpus (its own split) -> base policy."""
    return pipeline(
        [
            node(
                make_base_policy,
                {
                    "corpus": "corpus",
                    "settings": "params:policy",
                    "source": "params:ingest.source",
                    "image_size": "params:ingest.image_size",
                    "prompts": "params:prompts",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "workspace": "base_workspace",
                    "step_report": "step_report",
                },
                ["base_policy", "base_history"],
                name="make_base_policy",
            )
        ]
    )
