"""RadMatch (Corbière et al. 2026, arXiv:2609.01470): a language model matches the findings of two reports.

Metrics: ``radmatch_actionable_errors``, the mean number of errors on findings that matter in a report, of
which less is better; ``radmatch_{triage,actionable}_{recall,precision}``, shares of the findings of those
tiers over all reports; ``radmatch_unscored`` and ``radmatch_degraded``, how many reports have no score, and
how many one from a matching that RadMatch had to mend. The package computes them in an environment of its
own; its judge is a server that a parameter names, and the worker reaches nothing else.

It judges, and is held out: nothing that trains may import this module (import contracts).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from radrl.algorithms.f_measure import ratio
from radrl.evaluation import FloatArray, Metrics, SummedMetrics
from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.scoring import Missing, Scores, refuse_unscored, require_pairs
from radrl.scoring.isolated import SILENCE, WORKERS, Worker
from radrl.scoring.judge.endpoint import allowed, api_key

_SHARES: Final = {
    "radmatch_triage_recall": ("triage_hit_count", "triage_gt_total"),
    "radmatch_actionable_recall": ("actionable_hit_count", "actionable_gt_total"),
    "radmatch_triage_precision": ("triage_pred_hit_count", "triage_pred_total"),
    "radmatch_actionable_precision": ("actionable_pred_hit_count", "actionable_pred_total"),
}
"""By metric, RadMatch's counts of hits and of findings, which add up over reports."""

_ERRORS: Final = "radmatch_actionable_errors"
_MEND: Final = (
    "Run again for what failed on the way (with `folder` the other answers are kept), or set missing to skip"
)


class RadMatchSection(Section):
    """RadMatch by a judge behind an endpoint; reports go to `allowed_hosts` and nowhere else."""

    python: LocalPath | None
    url: str
    model: str
    allowed_hosts: list[str]
    missing: Missing
    concurrency: PositiveInt = 8
    examples: str | None = "chest-xr"
    max_tokens: PositiveInt = 32768
    request_timeout: PositiveFloat = 180.0
    timeout: PositiveFloat = SILENCE
    api_key_env: str | None = None
    folder: LocalPath | None = None


class RadMatch:
    """Metrics of RadMatch.

    Args:
        python: interpreter of the environment with `radmatch`; the running one when nothing.
        url: base of the judge's API, such as ``http://localhost:8000/v1``.
        model: its name on the server; it reads findings and judges them.
        allowed_hosts: host names that reports may go to; that of `url` must be among them.
        missing: what becomes of a report without a score, such as an empty one: ``raise``, or ``skip`` to
            leave it out and count it in ``radmatch_unscored``.
        concurrency: requests under way at a time.
        examples: RadMatch's bundle of worked examples; nothing for none.
        max_tokens: an answer may have.
        request_timeout: seconds that a request may take; a matching may take three times as long.
        timeout: seconds without an answer after which the worker counts as hung.
        api_key_env: name of the environment variable that holds the API key; nothing when there is none.
        folder: where answers are kept, which are patient data, so that a run that was stopped goes on;
            nothing to keep none.

    Raises:
        ScoringError: there is no such interpreter, host or key.
    """

    Section = RadMatchSection
    name = "radmatch"

    def __init__(
        self,
        *,
        python: str | Path | None,
        url: str,
        model: str,
        allowed_hosts: Sequence[str],
        missing: Missing,
        concurrency: int = 8,
        examples: str | None = "chest-xr",
        max_tokens: int = 32768,
        request_timeout: float = 180.0,
        timeout: float = SILENCE,
        api_key_env: str | None = None,
        folder: str | Path | None = None,
    ) -> None:
        server = allowed(url, allowed_hosts)
        self._missing = missing
        self._request = {
            "host": server.host,
            "port": server.port or {"http": 80, "https": 443}[server.scheme],
            "model": model,
            "examples": examples,
            "concurrency": concurrency,
            "folder": None if folder is None else str(Path(folder).absolute()),
        }
        self._about = {"judge": "endpoint", "model": model, "examples": str(examples)}
        self._worker = Worker(
            WORKERS / "radmatch_worker.py",
            name=self.name,
            python=None if python is None else Path(python),
            timeout=timeout,
            variables={
                "RADMATCH_LOCAL_BASE_URL": str(server),
                "RADMATCH_LOCAL_API_KEY": "" if api_key_env is None else api_key(api_key_env),
                "RADMATCH_LOCAL_TEMPERATURE": "0",
                "RADMATCH_LOCAL_SEED": "42",
                "RADMATCH_MAX_TOKENS": str(max_tokens),
                "RADMATCH_REQUEST_TIMEOUT_S": str(request_timeout),
                "NO_PROXY": "*",
                "no_proxy": "*",
            },
        )

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; equal pairs are asked once.

        Raises:
            ScoringError: naming the first report without a score and how many there are, when they may not be
                left out or none is left; or the worker fails.
        """
        require_pairs(references, hypotheses)
        request = self._request | {"references": list(references), "hypotheses": list(hypotheses)}
        reply = self._worker.ask(request, len(references), "reports")
        failures = [(row, one["failure"]) for row, one in enumerate(reply.answers) if "failure" in one]
        refuse_unscored(failures, len(reply.answers), self._missing, score="RadMatch", mend=_MEND)
        summed = SummedMetrics(np.array([_row(one) for one in reply.answers], np.float64), _of_sums)
        found = summed.values()
        corpus = {name: value for name, value in found.items() if not math.isnan(value)}
        corpus["radmatch_unscored"] = float(len(failures))
        corpus["radmatch_degraded"] = float(sum(one.get("degraded", False) for one in reply.answers))
        skipped = dict.fromkeys(found.keys() - corpus.keys(), "no report has a finding of these tiers")
        return Scores(corpus, _of_sums(summed.per_study), skipped, summed, self._about | reply.about)


def _of_sums(sums: FloatArray) -> Metrics:
    """The metrics of sums over reports, shape (..., 2 + 2 x shares), as `_row` lays them out."""
    found = {_ERRORS: ratio(sums[..., 1], sums[..., 0], math.nan)}
    for place, name in enumerate(_SHARES, start=1):
        found[name] = ratio(sums[..., 2 * place], sums[..., 2 * place + 1], math.nan)
    return found


def _row(answer: Mapping[str, Any]) -> list[float]:
    """What a report adds: itself, its errors, and of every share hits and findings."""
    if "failure" in answer:
        return [0.0] * (2 + 2 * len(_SHARES))
    return [1.0, answer["errors"], *(answer[count] for counts in _SHARES.values() for count in counts)]
