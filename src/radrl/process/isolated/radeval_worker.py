"""Scores reports with metrics of the package RadEval, in an interpreter that has it.

Request: ``metrics``, names in RadEval; ``references`` and ``hypotheses``; ``models``, folder of all weights.
Answers: by number of the metric, ``corpus`` figures and ``per_report`` lists under RadEval's keys.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

from channel import Channel, Request, require, serve  # type: ignore[import-not-found]  # by path

SCORERS = "StanfordAIMI/RRG_scorers"
"""Hub name of CheXbert's and RadGraph's weights."""


def score(request: Request, channel: Channel) -> None:
    """Answer with the figures of every metric."""
    require("radeval")
    # 2.2.1's RadGraph imports itself under the package's former name, which a case-sensitive disk has not.
    sys.modules.setdefault("RadEval", import_module("radeval"))
    channel.about({"radeval_version": version("radeval"), "radeval_transformers": version("transformers")})
    base = import_module("radeval.metrics._base").MetricBase
    for number, name in enumerate(request["metrics"]):
        own, tick = metric(name, request["models"]), _Ticks(channel, name)
        channel.answer(number, figures(own, base, request["references"], request["hypotheses"], tick))


@cache
def metric(name: str, models: str | None) -> Any:
    """A metric, once for all requests: it holds the models that it has loaded.

    Args:
        name: in RadEval, or of `OWN`.
        models: folder of all weights.
    """
    for prepare in PREPARATIONS.get(name, ()):
        prepare(Path(str(models)))
    if name in OWN:
        return OWN[name]()
    return import_module("radeval.metrics._registry").get_metric_class(name)()


def figures(
    metric: Any, base: Any, references: list[str], hypotheses: list[str], tick: Callable[[], None]
) -> dict[str, dict[str, Any]]:
    """Corpus and per-report figures of one metric, unrounded, in one pass where RadEval allows it.

    `compute` gives one kind a call, each with all models run anew. What it is made of gives both, but for the
    metrics that replace `compute` itself.
    """
    if metric._compute_raw.__func__ is not base._compute_raw:
        raw = metric._compute_raw(references, hypotheses, on_progress=tick)
        corpus = {key: found["aggregate"] for key, found in raw.items()}
        per_report = {key: found["per_sample"] for key, found in raw.items()}
    else:
        corpus = metric.compute(references, hypotheses, detailed=True, on_progress=tick)
        per_report = metric.compute(references, hypotheses, per_sample=True, on_progress=tick)
    return {
        "corpus": {key: float(value) for key, value in corpus.items() if not isinstance(value, dict)},
        "per_report": {
            key: [float(one) for one in values]
            for key, values in per_report.items()
            if not isinstance(values, dict)
        },
    }


REXRANK = {
    "bleu_score": "rexrank_bleu2",
    "bertscore": "rexrank_bertscore",
    "semb_score": "rexrank_sembscore",
    "radgraph": "rexrank_radgraph",
}
"""By the name that a part of RadCliQ has in RadEval, its name here."""


class ReXrank:
    """What ReXrank's table has of RadCliQ-v1 and the four figures it is made of.

    RadEval's RadCliQ computes all of them and gives back one, with two differences from ReXrank's evaluation
    (the repositories ReXrank-metric and CXR-Report-Metric of rajpurkarlab): there BERTScore does not weigh
    words by how rare they are among the references, and BLEU-2 is of lower-case words.
    """

    def __init__(self) -> None:
        self._composite = import_module("radeval.metrics.RadCliQv1.radcliq").CompositeMetric()

    def _compute_raw(
        self, refs: list[str], hyps: list[str], on_progress: Callable[[], None]
    ) -> dict[str, dict[str, Any]]:
        self._composite._get_bert_scorer(refs)._idf = False
        parts = self._composite._compute_sub_metrics(refs, hyps)
        parts["bleu_score"] = self._composite._bleu(_words(refs), _words(hyps))[1]
        on_progress()
        with mock.patch.object(self._composite, "_compute_sub_metrics", return_value=parts):
            inverse, distances = self._composite.predict(refs, hyps)  # not by the models once more
        found = {own: _mean_of(parts[key]) for key, own in REXRANK.items()}
        return found | {"rexrank_radcliq_v1": {"aggregate": inverse, "per_sample": distances}}


def _words(texts: list[str]) -> list[str]:
    """Lower-case words and full stops apart by blanks, as CXR-Report-Metric cuts them."""
    return [text.lower().replace(".", " .") for text in texts]


def _mean_of(values: Any) -> dict[str, Any]:
    numbers = [float(value) for value in values]
    return {"aggregate": sum(numbers) / len(numbers), "per_sample": numbers}


OWN: dict[str, Callable[[], Any]] = {"rexrank": ReXrank}
"""Metrics that RadEval computes and has no name for."""


class _Ticks:
    """Counts what a metric has done, as a sign of life."""

    def __init__(self, channel: Channel, name: str) -> None:
        self._channel, self._name, self._done = channel, name, 0

    def __call__(self) -> None:
        self._done += 1
        self._channel.alive(f"{self._name} {self._done}")


def _chexbert_from(models: Path) -> None:
    """CheXbert's weights by path, as RadEval has a cache of its own; on the CPU where there is no GPU."""
    module: Any = import_module("radeval.metrics.f1chexbert.f1chexbert")
    module.hf_hub_download = lambda repo_id, filename, **_: str(models / repo_id / filename)
    device = "cuda" if import_module("torch").cuda.is_available() else "cpu"
    module.F1CheXbert = partial(module.F1CheXbert, device=device)


def _radgraph_from(models: Path) -> None:
    """RadGraph's unpacked folders by path, without the lock that its reader would write there."""
    core: Any = import_module("radeval.metrics.radgraph._vendor.core")
    core.CACHE_DIR = str(models / SCORERS)
    vocabulary: Any = import_module("RadEval.metrics.radgraph._vendor.allennlp.data.vocabulary")
    vocabulary.FileLock = lambda path: nullcontext()


def _stanza_from(models: Path) -> None:
    """Stanza's models without its look for newer ones, which needs the network even where all are there."""
    stanza: Any = import_module("stanza")
    stanza.download = lambda *_, **__: None
    stanza.Pipeline = partial(stanza.Pipeline, dir=str(models / "stanza"), download_method=None)


PREPARATIONS: dict[str, Iterable[Callable[[Path], None]]] = {
    "f1chexbert": [_chexbert_from],
    "radcliq": [_chexbert_from, _radgraph_from],
    "radgraph": [_radgraph_from],
    "radgraph_radcliq": [_radgraph_from],
    "rexrank": [_chexbert_from, _radgraph_from],
    "temporal": [_stanza_from],
}
"""What finds the weights of a metric where RadEval's own way would not, by name of the metric."""


if __name__ == "__main__":
    serve(score)
