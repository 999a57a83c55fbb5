"""RadEval's metrics by name: the package scores the texts in its own environment, from local weights alone.

Metrics: ``radeval_`` and RadEval's key in lower case (``radeval_ratescore``, ``radeval_radcliq_v1``,
``radeval_rougel``). They are RadEval's figures, with its conventions: RadCliQ-v1's is the reciprocal of the
mean (per report, lower is better), BLEU's pools counts, CheXbert's classes 1 and 3 are both positive.
``radeval_rexrank_*`` are ReXrank's, computed by RadEval's RadCliQ: BLEU-2 is the mean over reports there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field

from radrl.algorithms.f_measure import ratio
from radrl.evaluation import FloatArray, Metrics, SummedMetrics, join, mean_metrics
from radrl.parts.section import LocalPath, PositiveFloat, Section
from radrl.process.isolated.talk import Reply
from radrl.scoring import Scores, ScoringError, require_pairs
from radrl.scoring.isolated import SILENCE, WORKERS, Worker, digest_of
from radrl.scoring.radgraph import encoder_of

_RRG: Final = "StanfordAIMI/RRG_scorers"
_CHEXBERT: Final = ("bert-base-uncased", f"{_RRG}/chexbert.pth")
_RADCLIQ: Final = (f"{_RRG}/radgraph", *_CHEXBERT, "distilroberta-base")
NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "bleu": (),
    "rouge": (),
    "bertscore": ("distilbert-base-uncased",),
    "radeval_bertscore": ("IAMJB/RadEvalModernBERT",),
    "f1chexbert": _CHEXBERT,
    "f1radbert_ct": ("IAMJB/RadBERT-CT",),
    "radgraph": (f"{_RRG}/radgraph-xl",),
    "radgraph_radcliq": (f"{_RRG}/radgraph",),
    "radcliq": _RADCLIQ,
    "rexrank": _RADCLIQ,
    "ratescore": ("Angelakeke/RaTE-NER-Deberta", "FremyCompany/BioLORD-2023-C"),
    "srrbert": (
        "StanfordAIMI/SRR-BERT-Leaves-with-Statuses",
        "microsoft/BiomedVLP-CXR-BERT-general",
        "nltk_data/tokenizers/punkt_tab",
    ),
    "temporal": ("stanza/resources.json", "stanza/en"),
    "crimson": ("rajpurkarlab/medgemma-4b-it-crimson",),
}
"""What each metric of RadEval 2.2.1 reads, by path in the folder of all weights; a name on the hub is a path.

RadGraph's archives are unpacked, each in a folder of its name; the encoders that they name are read too.
``rexrank`` is no name of RadEval's: five of the seven figures of ReXrank's table, which its RadCliQ computes.
"""
REFUSED: Final[dict[str, str]] = {
    "green": "RadEval runs code from its model's folder; take the family `green`",
    "mammo_green": "it sends reports to a company's server",
    "radfact_ct": "it sends reports to a company's server",
}
"""RadEval's other metrics, and why they are not to be had here."""

_MEANS: Final = frozenset(
    {
        "rouge1", "rouge2", "rougel", "bertscore", "radeval_bertscore", "ratescore", "temporal_f1", "crimson",
        "radgraph_simple", "radgraph_partial", "radgraph_complete", "radgraph_radcliq",
        "rexrank_bleu2", "rexrank_bertscore", "rexrank_sembscore", "rexrank_radgraph",
        "f1chexbert_sample_acc_5", "f1chexbert_sample_acc_all", "f1radbert_ct_sample_acc",
    }
)  # fmt: skip
_RECIPROCALS: Final = ("radcliq_v1", "rexrank_radcliq_v1")


class RadEvalSection(Section):
    """Metrics of the package RadEval, in an interpreter of its own."""

    python: LocalPath | None
    metrics: Annotated[list[str], Field(min_length=1)]
    models: LocalPath | None
    timeout: PositiveFloat = 1800.0


class RadEval:
    """Metrics of RadEval.

    Args:
        python: interpreter of the environment with `radeval`; the running one when nothing.
        metrics: names in RadEval, keys of `NEEDS`.
        models: folder with what they read, see `NEEDS`; nothing when they read nothing.
        timeout: seconds without a sign of life after which the worker counts as hung.

    Attributes:
        about: what the figures of the last call of `per_report` depend on.

    Raises:
        ScoringError: a name is unknown or refused, weights are missing, or there is no such interpreter.
    """

    Section = RadEvalSection
    name = "radeval"

    def __init__(
        self,
        *,
        python: str | Path | None,
        metrics: Sequence[str],
        models: str | Path | None,
        timeout: float = SILENCE,
    ) -> None:
        self.about: dict[str, str] = {}
        self._metrics = list(dict.fromkeys(metrics))
        _check_names(self._metrics)
        self._models = None if models is None else Path(models).absolute()
        self._weights = _weights(self._metrics, self._models)
        self._worker = Worker(
            WORKERS / "radeval_worker.py",
            name=self.name,
            python=None if python is None else Path(python),
            timeout=timeout,
            folder=self._models,
            variables={} if self._models is None else {"NLTK_DATA": str(self._models / "nltk_data")},
        )

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; what RadEval gives for the corpus alone has no per-report values.

        Raises:
            ScoringError: the worker fails, or a figure is missing or not finite, with the report.
        """
        require_pairs(references, hypotheses)
        reply = self._ask(references, hypotheses)
        corpus: dict[str, float] = {}
        per_report: dict[str, FloatArray] = {}
        for metric, found in zip(self._metrics, reply.answers, strict=True):
            for key, values in found["per_report"].items():
                per_report[_own_name(key)] = _finite_values(values, len(references), metric, key)
            corpus |= {_own_name(key): _finite(value, metric, key) for key, value in found["corpus"].items()}
        summed = _summed(per_report)
        corpus |= summed.values() if summed else {}
        return Scores(corpus, per_report, summed=summed, about=reply.about | self._own_about)

    def per_report(self, references: Sequence[str], hypotheses: Sequence[str]) -> dict[str, FloatArray]:
        """The figures of each pair, by the metric's name, shape (N,) each; what is not finite stays so.

        Args:
            references: N reference reports.
            hypotheses: the N generated reports.

        Raises:
            ScoringError: the worker fails, or a metric has not one value a report.
        """
        require_pairs(references, hypotheses)
        reply = self._ask(references, hypotheses)
        self.about = reply.about | self._own_about
        return {
            _own_name(key): _values(values, len(references), metric, key)
            for metric, found in zip(self._metrics, reply.answers, strict=True)
            for key, values in found["per_report"].items()
        }

    def _ask(self, references: Sequence[str], hypotheses: Sequence[str]) -> Reply:
        request = {
            "metrics": self._metrics,
            "references": list(references),
            "hypotheses": list(hypotheses),
            "models": None if self._models is None else str(self._models),
        }
        return self._worker.ask(request, len(self._metrics), "metrics")

    @cached_property
    def _own_about(self) -> dict[str, str]:
        return {
            f"radeval_sha256_{name}": digest_of(_visible_files(path)) for name, path in self._weights.items()
        }


def _check_names(metrics: Sequence[str]) -> None:
    if not metrics:
        raise ScoringError(f"radeval: no metric is named; there are {', '.join(NEEDS)}")
    for metric in metrics:
        if metric in REFUSED:
            raise ScoringError(f"radeval: {metric} is not to be had here: {REFUSED[metric]}")
        if metric not in NEEDS:
            raise ScoringError(f"radeval: no metric {metric!r}; there are {', '.join(NEEDS)}")


def _weights(metrics: Sequence[str], models: Path | None) -> dict[str, Path]:
    """What the metrics read, by its name in `NEEDS`, encoders of RadGraph models among it."""
    needed = {name: metric for metric in metrics for name in NEEDS[metric]}
    if models is None:
        if needed:
            raise ScoringError(
                f"radeval: {', '.join(sorted(set(needed.values())))} need weights, and `models` is not set. "
                f"Mend: a folder with {', '.join(needed)}"
            )
        return {}
    for name in [name for name in needed if name.startswith(f"{_RRG}/radgraph")]:
        if (models / name / "config.json").is_file():
            needed[encoder_of(models / name)] = needed[name]
    if missing := [
        f"{name} (for {metric})" for name, metric in needed.items() if not (models / name).exists()
    ]:
        raise ScoringError(
            f"radeval: not in {models}: {', '.join(missing)}. Mend: on a machine with a network `hf download "
            f"NAME --local-dir {models.name}/NAME`; RadGraph's archives of {_RRG} are unpacked, each into a "
            "folder of its name; nltk's and stanza's by their own downloads"
        )
    return {name: models / name for name in needed}


def _own_name(key: str) -> str:
    return f"radeval_{key.lower()}"


def _finite(value: Any, metric: str, key: str, where: str = "the corpus") -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ScoringError(
            f"radeval: {where} has {key} {value!r} by {metric}; look at its texts, or leave {metric} out"
        )
    return float(value)


def _values(values: Sequence[Any], reports: int, metric: str, key: str) -> FloatArray:
    if len(values) != reports:
        raise ScoringError(
            f"radeval: {metric} gave {len(values)} values of {key} for {reports} reports, so that none can "
            "be told whose it is; it may drop empty reports. Leave it out"
        )
    return np.array(values, np.float64)


def _finite_values(values: Sequence[Any], reports: int, metric: str, key: str) -> FloatArray:
    found = _values(values, reports, metric, key)
    for row, value in enumerate(values):
        _finite(value, metric, key, f"report {row}")
    return found


def _summed(per_report: Mapping[str, FloatArray]) -> SummedMetrics | None:
    """The metrics that are functions of sums over reports: plain means, and RadCliQ's reciprocal of one."""
    families = []
    if means := {
        name: values for name, values in per_report.items() if name.removeprefix("radeval_") in _MEANS
    }:
        families.append(mean_metrics(means))
    families += [
        _reciprocal(name, per_report[name]) for name in map(_own_name, _RECIPROCALS) if name in per_report
    ]
    return join(*families) if families else None


def _reciprocal(name: str, values: FloatArray) -> SummedMetrics:
    """A metric that is one over the mean of its values."""

    def of_sums(sums: FloatArray) -> Metrics:
        return {name: ratio(sums[..., 1], sums[..., 0], math.nan)}

    return SummedMetrics(np.column_stack([values, np.ones_like(values)]), of_sums)


def _visible_files(path: Path) -> list[Path]:
    """A file, or all of a folder but hidden ones: a download leaves its own notes, with times, in those."""
    if path.is_file():
        return [path]
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    return [file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)]
