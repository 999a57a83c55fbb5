"""What a process sets before it imports libraries: no hub, no telemetry, quick imports, spaced bars.

Patient data stays on the machine, and the study runs with networking cut off. `go_offline` must run before
`huggingface_hub` or `datasets` are first imported, because both read their switches once, at import;
`radrl.settings` therefore calls it first.

Two switches are files, for the commands that start before any code of ours: ``.telemetry`` (Kedro) and
``.dvc/config`` (DVC's analytics, its update check and DVC Studio).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple


class Switch(NamedTuple):
    """One environment variable.

    Args:
        value: what turns the calls off, in the spelling that every reader understands.
        readers: the packages that read it, where they are installed.
    """

    value: str
    readers: tuple[str, ...]


SWITCHES: dict[str, Switch] = {
    # Hubs: weights, tokenizers and data sets come from local folders or are made here. transformers, trl,
    # tokenizers and peft reach a hub only through huggingface_hub and obey its flags.
    "HF_HUB_OFFLINE": Switch("1", ("huggingface_hub",)),
    "TRANSFORMERS_OFFLINE": Switch("1", ("huggingface_hub",)),
    "HF_DATASETS_OFFLINE": Switch("1", ("datasets",)),
    # Usage statistics. MLflow takes no other spelling of DO_NOT_TRACK than "true".
    "DO_NOT_TRACK": Switch("true", ("huggingface_hub", "kedro_telemetry", "mlflow")),
    "HF_HUB_DISABLE_TELEMETRY": Switch("1", ("huggingface_hub",)),
    "KEDRO_DISABLE_TELEMETRY": Switch("1", ("kedro_telemetry",)),
    "MLFLOW_DISABLE_TELEMETRY": Switch("true", ("mlflow",)),
    "DVC_NO_ANALYTICS": Switch("1", ("dvc",)),
    "ITERATIVE_DO_NOT_TRACK": Switch("1", ("iterative_telemetry",)),
    # Live experiments are posted to DVC Studio as soon as a token lies in the user's own DVC configuration.
    "DVC_STUDIO_OFFLINE": Switch("true", ("dvc_studio_client",)),
    "RAY_USAGE_STATS_ENABLED": Switch("0", ("ray",)),
    # No call out, but of the same kind: threads of the tokenizer stall processes that fork after it was used.
    "TOKENIZERS_PARALLELISM": Switch("false", ("tokenizers",)),
}
"""Variable name to what it is set to and who reads it."""


def go_offline() -> None:
    """Set every switch that the user has not set.

    One set already wins, so that whoever wants a hub can allow it by name: ``HF_HUB_OFFLINE=0 kedro run``.
    """
    for name, switch in SWITCHES.items():
        os.environ.setdefault(name, switch.value)


def prepare() -> None:
    """Switch off hubs and telemetry, and what would make imports and threads slow."""
    go_offline()
    # Importing makes objects by the hundred thousand that all live to the end; looking them over again and
    # again for garbage is a fifth of a stage's start.
    gc.set_threshold(50_000)
    # Threads that wait by spinning make torch many times slower as soon as another process wants the core;
    # the OpenMP runtime reads this once, when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def first(source: Path, variables: Mapping[str, str]) -> str:
    """PYTHONPATH by which the modules of a folder are found before all others.

    Args:
        source: the folder.
        variables: of the environment, with a PYTHONPATH or without.
    """
    return os.pathsep.join([str(source), *filter(None, [variables.get("PYTHONPATH")])])


BETWEEN: Final = 30
"""Seconds to the first line of a bar in a log, and from one to the next: nothing is written over there."""


def space_bars() -> None:
    """Settle how often progress bars are drawn, for this process and those it starts.

    Live on a terminal, a line now and then in a log, none where CI runs. tqdm, and with it the bars of
    transformers and datasets, reads its defaults from the environment when it is first imported; this must
    run before. What the user has set wins: ``TQDM_DISABLE=1`` anywhere, or ``TQDM_DISABLE=`` to see bars
    where ``CI`` is set.
    """
    if os.environ.get("CI", "").lower() not in {"", "0", "false"}:
        os.environ.setdefault("TQDM_DISABLE", "1")
    elif not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DELAY", str(BETWEEN))  # what is done before then has no line
        os.environ.setdefault("TQDM_MININTERVAL", str(BETWEEN))
        os.environ.setdefault("TQDM_MAXINTERVAL", str(BETWEEN))  # or its monitor draws them sooner
