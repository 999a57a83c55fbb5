"""What rewards that load a model cost a report, at the sizes that are published, with random weights.

    python bench/reward_costs.py                                       # of sentence_sets alone
    python bench/reward_costs.py --radgraph .venv-radgraph/bin/python --radeval .venv-radeval/bin/python \
        --write docs/bench/reward_costs.md

What a model takes for a text follows from its size and not from what it has learnt, so its weights are drawn;
RadGraph's takes longer the more it finds, and with drawn weights it finds much. The reports are those of
`tools/reward_attacks.py --cost`, which measures rewards without a model and those of your own weights: each
reward reads its reports there for the first time, alone, in a process of its own. Milliseconds are the wall's
clock where another process computes, else CPU time of one thread; let the machine be idle.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast, DistilBertConfig, DistilBertModel
from transformers.utils import logging

from radrl.process import importing

ROOT: Final = Path(__file__).resolve().parents[1]
MARKS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SEED: Final = 0


def words(films: int) -> list[str]:
    """Of all drawn reports, so that a text has about a token a word."""
    from reward_attacks import NORMAL, draw

    drawn = draw(films, SEED)
    texts = [NORMAL, *drawn.others, *(text for one in drawn.films for text in (one.reference, one.honest))]
    found = {word for text in texts for word in text.lower().replace(".", " ").replace(",", " ").split()}
    return [*sorted(found), ".", ","]


def save(model: Any, vocabulary: list[str], into: Path) -> Path:
    """An encoder of random weights with a tokenizer of whole words."""
    model.save_pretrained(into)
    known = {word: number for number, word in enumerate([*MARKS, *vocabulary])}
    BertTokenizerFast(vocab=known, model_max_length=512).save_pretrained(into)
    return into


def models(given: argparse.Namespace, work: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Of each reward its name, what computes, and its settings."""
    vocabulary = words(given.films)
    size = len(vocabulary) + len(MARKS)
    bert = save(BertModel(BertConfig(vocab_size=size)), vocabulary, work / "bert")
    yield "sentence_sets", "12 layers of 768 (BERT-base, as CXR-BERT)", {"encoder": str(bert)}
    if given.radgraph:
        folder, told = work / "radgraph-xl", work / "words.txt"
        told.write_text("\n".join(vocabulary))
        maker = ROOT / "tests/scoring/tiny_radgraph.py"
        subprocess.run([given.radgraph, maker, folder, told], check=True, capture_output=True)
        yield "radgraph", "the same below DyGIE++'s heads", {"python": given.radgraph, "model": str(folder)}
    if given.radeval:
        distilled = DistilBertModel(DistilBertConfig(vocab_size=size))
        save(distilled, vocabulary, work / "distilbert-base-uncased")
        own = {"python": given.radeval, "metric": "bertscore", "models": str(work)}
        yield "radeval", "`bertscore`: 6 layers of 768 (DistilBERT-base)", own


def page(given: argparse.Namespace) -> str:
    """The table under its head."""
    from reward_attacks import costs

    rows = []
    with tempfile.TemporaryDirectory() as work:
        for name, model, own in models(given, Path(work)):
            (spent,) = costs(given.films, SEED, {name: own})
            rows.append(f"| `{name}` | {model} | {spent:.1f} |")
    return "\n".join(
        [
            "Made by `python bench/reward_costs.py --radgraph PYTHON --radeval PYTHON "
            f"--films {given.films} --write docs/bench/reward_costs.md`: "
            f"transformers {version('transformers')}, torch {version('torch')}; "
            f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, float32 on "
            f"the CPU. {given.films} drawn reports against their references; **weights are random, of the "
            "published models' size**.",
            "",
            "| reward | model | ms a report |",
            "|---|---|---|",
            *rows,
            "",
            "Drawn reports share sentences, and `sentence_sets` embeds a sentence once: real ones cost more. "
            "Rewards without a model take 0.0 to 0.9 ms "
            "([table](../weighted_findings.md#what-rewards-pay-for-reports-that-game-them)). On a GPU, and "
            "of `green`, a language model of billions that writes its analysis, nothing was measured.",
            "",
        ]
    )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--radgraph", help="interpreter with radgraph (`make scorers`)")
    parser.add_argument("--radeval", help="interpreter with RadEval (`make scorers`)")
    parser.add_argument("--films", type=int, default=400, help="reports, one a film")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    importing.go_offline()
    logging.disable_progress_bar()
    torch.manual_seed(SEED)
    sys.path.insert(0, str(ROOT / "tools"))  # processes of the pool get it too
    text = page(given)
    print(text)
    if given.write:
        given.write.write_text(f"# bench/reward_costs\n\n{text}")


if __name__ == "__main__":
    main()
