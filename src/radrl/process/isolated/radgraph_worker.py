"""Annotates report texts with the package `radgraph`, in an interpreter that has it.

Request: ``model``, the folder of the weights, named after the type of the model; ``texts``; ``batch_size``.
Answers: by number of the text, RadGraph's annotation of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from channel import Channel, Refusal, Request, require, serve  # type: ignore[import-not-found]  # by path

Graph = dict[str, Any]


def annotate(request: Request, channel: Channel) -> None:
    """Answer with the graph of every text."""
    require("radgraph")
    model = load(Path(request["model"]))
    channel.about(
        {
            "radgraph_version": version("radgraph"),
            "radgraph_transformers": version("transformers"),
            "radgraph_lower_case": str(lower_cases()).lower(),
        }
    )
    texts, size = request["texts"], request["batch_size"]
    utils = import_module("radgraph.utils")
    tokens = [document["sentences"][0] for document in utils.preprocess_reports(texts, model.model_type)]
    with import_module("torch").inference_mode():
        for number, graph in (
            one_by_one(model, texts, tokens) if size == 1 else in_batches(model, tokens, size)
        ):
            channel.answer(number, graph)


@cache
def load(folder: Path) -> Any:
    """The package's model from a local folder, once for all requests.

    Raises:
        Refusal: it does not load, with what the package needs to load it.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    encoder = config["model"]["embedder"]["token_embedders"]["bert"]["model_name"]
    try:
        radgraph = import_module("radgraph")
        # It would lock, that is write, in the model's folder, only to read the vocabulary.
        vocabulary: Any = import_module("radgraph.allennlp.data.vocabulary")
        vocabulary.FileLock = lambda path: nullcontext()
        return radgraph.RadGraph(model_type=folder.name, model_cache_dir=str(folder.parent))
    except Exception as error:
        raise Refusal(
            f"cannot load {folder} with radgraph {version('radgraph')} and transformers "
            f"{version('transformers')}: {type(error).__name__}: {error}\n"
            "Mend: radgraph 0.1.18 needs transformers < 5, and the configuration and tokenizer of the "
            f"model's encoder, {encoder}, in {folder / encoder} or in the Hugging Face cache"
        ) from error


def lower_cases() -> bool:
    """Whether the installed package compares tokens in lower case, as it does since a fix of 2026."""

    def graph(tokens: str) -> Graph:
        return {"entities": {"1": {"tokens": tokens, "label": "", "relations": []}}}

    reward = import_module("radgraph.rewards").compute_reward(graph("Edema"), graph("edema"), "simple")
    return bool(reward == 1)


def one_by_one(model: Any, texts: list[str], tokens: list[list[str]]) -> Iterator[tuple[int, Graph]]:
    """Number and graph of every text, as the package's own `forward` has it; no entity where no token is."""
    for number, text in enumerate(texts):
        yield number, model([text])["0"] if tokens[number] else {"entities": {}}


def in_batches(model: Any, tokens: list[list[str]], size: int) -> Iterator[tuple[int, Graph]]:
    """Number and graph of every text, the longest first, `size` texts at a time.

    The package ignores its batch size: DyGIE takes one document, and a report is a document of one sentence.
    Its sentences, however, are computed side by side and know nothing of one another, so a document of many
    reports is a batch. Equal to `one_by_one` up to rounding.
    """
    _keep_own_spans(model.model._relation)
    order = sorted(range(len(tokens)), key=lambda number: -len(tokens[number]))
    while order and not tokens[order[-1]]:
        yield order.pop(), {"entities": {}}
    for start in range(0, len(order), size):
        part = order[start : start + size]
        yield from zip(part, _graphs(model, [tokens[number] for number in part]), strict=True)


def _graphs(model: Any, reports: list[list[str]]) -> Iterator[Graph]:
    """Graphs of reports, given as tokens, in one pass."""
    utils = import_module("radgraph.utils")
    document = {"doc_key": "", "dataset": model.model_type, "sentences": reports}
    instance = model.reader.text_to_instance(document)
    for sentence in instance["metadata"].metadata:
        sentence.sentence_start = 0  # spans count from the report's first token, not the document's
    dataset = import_module("radgraph.allennlp.data.dataset_readers").AllennlpDataset([instance])
    dataset.index_with(model.model.vocab)
    loader = import_module("radgraph.allennlp.data.dataloader").PyTorchDataLoader(
        dataset=dataset, batch_size=1
    )
    found = model.model(**utils.batch_to_device(next(iter(loader)), model.device))
    for sentence in model.model.make_output_human_readable(found):
        read = sentence.to_json()
        entities = utils.get_entity(read["predicted_ner"], read["predicted_relations"], read["sentences"])
        yield {"entities": entities}


@cache
def _keep_own_spans(relation: Any) -> None:
    """Cut a sentence's spans to its own before relations are read off; once for a model.

    A shorter sentence's spans are filled up with copies of its last, which DyGIE masks as targets of a
    relation but not as sources.
    """
    whole = relation._predict_sentence

    def own(spans: Any, scores: Any, keep: Any, sentence: Any) -> Any:
        return whole(spans[:keep], scores[:keep, :keep], keep, sentence)

    relation._predict_sentence = own


if __name__ == "__main__":
    serve(annotate)
