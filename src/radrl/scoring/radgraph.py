"""RadGraph F1 of texts: the package `radgraph` annotates them, `radrl.evaluation.radgraph_rewards` compares.

Metrics: ``radgraph_simple``, ``radgraph_partial`` and ``radgraph_complete``, each the mean over reports. The
figures depend on the package's version, which compares tokens as spelled or in lower case, and on the model,
so `Scores.about` names both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from radrl.evaluation.radgraph_rewards import Graph, RadGraphRewards, radgraph_rewards
from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.scoring import Scores, ScoringError, means_of, require_pairs
from radrl.scoring.isolated import SILENCE, WORKERS, Worker, digest_of

MODEL_TYPES: Final = ("radgraph", "radgraph-xl", "echograph", "modern-radgraph-xl")
"""The package chooses its text preparation and its label sets by these names."""
LEVELS: Final = RadGraphRewards._fields
_NO_ENTITY: Final[Graph] = {"entities": {}}


class RadGraphSection(Section):
    """The package `radgraph`, in an interpreter of its own."""

    python: LocalPath | None
    model: LocalPath
    batch_size: PositiveInt
    timeout: PositiveFloat = 1800.0


class RadGraph:
    """Every ``radgraph_*`` metric of one model.

    Args:
        python: interpreter of the environment with `radgraph`; the running one when nothing.
        model: folder of the unpacked weights (``config.json``, ``weights.th``, ``vocabulary``), named after
            the type of the model, one of `MODEL_TYPES`. Of the encoder that ``config.json`` names, its
            configuration and tokenizer lie in a folder of that name inside, or in the Hugging Face cache.
        batch_size: reports computed at a time. On a CPU 1 is fastest (BERT-base, one core: 2.1 reports/s, at
            8 1.2) and takes the least memory (2.2 GB, at 8 3.6).
        timeout: seconds without an answer after which the worker counts as hung.
        beta: above 1 recall counts for more than precision; the metric has 1.
        remembered: how many texts' graphs are kept from call to call, the last ones; nothing for all.

    Raises:
        ValueError: `batch_size` is not positive.
        ScoringError: there is no such interpreter, or the folder is not one of a RadGraph model.
    """

    Section = RadGraphSection
    name = "radgraph"
    by_pair = True

    def __init__(
        self,
        *,
        python: str | Path | None,
        model: str | Path,
        batch_size: int = 1,
        timeout: float = SILENCE,
        beta: float = 1.0,
        remembered: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; give 1 or more")
        self._model, self._batch_size = Path(model).absolute(), batch_size
        check_model(self._model)
        self._worker = Worker(
            WORKERS / "radgraph_worker.py",
            name=self.name,
            python=None if python is None else Path(python),
            timeout=timeout,
            folder=self._model,
        )
        self._beta, self._remembered = beta, remembered
        self._graphs: dict[str, Graph] = {}
        self._about: dict[str, str] = {}

    def graphs(self, texts: Sequence[str]) -> list[Graph]:
        """Annotate texts: each distinct one once, remembered from call to call.

        Args:
            texts: N reports.

        Returns:
            N graphs; that of a blank text has no entity.

        Raises:
            ScoringError: the worker fails.
        """
        new = [text for text in dict.fromkeys(texts) if text.strip() and text not in self._graphs]
        if new or not self._about:
            request = {"model": str(self._model), "texts": new, "batch_size": self._batch_size}
            reply = self._worker.ask(request, len(new), "reports")
            self._graphs.update(zip(new, reply.answers, strict=True))
            self._about = reply.about
        found = [self._graphs[text] if text.strip() else _NO_ENTITY for text in texts]
        if self._remembered is not None:
            for text in [*self._graphs][: -self._remembered or None]:
                del self._graphs[text]
        return found

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; a blank report has the rewards 0, as the package gives them.

        Raises:
            ScoringError: the worker fails, or its annotation of a report is no graph.
        """
        require_pairs(references, hypotheses)
        graphs = self.graphs([*references, *hypotheses])
        pairs = zip(graphs[len(references) :], graphs[: len(references)], strict=True)
        rewards = np.array([self._rewards(row, *pair) for row, pair in enumerate(pairs)])  # (N, 3)
        values = {f"{self.name}_{level}": rewards[:, i] for i, level in enumerate(LEVELS)}
        return means_of(values, about=self._about | self._own_about)

    def _rewards(self, row: int, hypothesis: Graph, reference: Graph) -> RadGraphRewards:
        lower_case = self._about["radgraph_lower_case"] == "true"
        try:
            return radgraph_rewards(hypothesis, reference, lower_case=lower_case, beta=self._beta)
        except (ValueError, TypeError, AttributeError) as error:
            raise ScoringError(f"report {row} has no RadGraph reward: {error}") from error

    @cached_property
    def _own_about(self) -> dict[str, str]:
        vocabulary = sorted((self._model / "vocabulary").glob("*.txt"))
        files = [self._model / "config.json", self._model / "weights.th", *vocabulary]
        return {
            "radgraph_model": self._model.name,
            "radgraph_model_sha256": digest_of(files),
            "radgraph_levels": ", ".join(LEVELS),
        }


def check_model(folder: Path) -> None:
    """Complain about a folder that is not one of an unpacked RadGraph model.

    Args:
        folder: as `RadGraph` takes it.

    Raises:
        ScoringError: what it lacks, with the mend.
    """
    missing = [name for name in ("config.json", "weights.th", "vocabulary") if not (folder / name).exists()]
    if missing:
        raise ScoringError(
            f"no RadGraph model in {folder}: {', '.join(missing)} missing. Mend: unpack radgraph-xl.tar.gz "
            "of StanfordAIMI/RRG_scorers there, or name the folder that the package has unpacked, on Linux "
            "~/.cache/radgraph/0.1.18/radgraph-xl"
        )
    if folder.name not in MODEL_TYPES:
        raise ScoringError(
            f"the folder {folder} must be named after its type of model: {', '.join(MODEL_TYPES)}. The "
            "package chooses its text preparation by it"
        )


def encoder_of(folder: Path) -> str:
    """Name of the encoder that a RadGraph model is built on.

    Args:
        folder: of an unpacked RadGraph model.

    Returns:
        Its name on the hub, as `radgraph` looks it up.

    Raises:
        ScoringError: the configuration does not name one.
    """
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return str(config["model"]["embedder"]["token_embedders"]["bert"]["model_name"])
    except (ValueError, KeyError, TypeError) as error:
        raise ScoringError(
            f"{folder / 'config.json'} names no encoder ({error!r}); unpack it anew"
        ) from error
