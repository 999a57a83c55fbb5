import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from radrl.commands.main import cli

WORDS = "mild cardiomegaly no effusion or pneumothorax the lungs are clear possible left base edema right"


@pytest.fixture
def radrl():
    def run(*arguments, input=None):
        return CliRunner().invoke(cli, [str(one) for one in arguments], input=input)

    return run


@pytest.fixture
def table(tmp_path):
    """Writes rows as a file of the format that its name says."""

    def write(rows, name):
        path = tmp_path / name
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        else:
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
            path.write_text(text.getvalue(), encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture
def read():
    """Reads rows back, independently of the code under test."""

    def rows(path):
        if path.suffix == ".parquet":
            return pq.read_table(path).to_pylist()
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))

    return rows


@pytest.fixture(scope="session")
def chexbert(tmp_path_factory, one_thread):
    """A CheXbert of random weights."""
    import torch
    from transformers import BertConfig

    from radrl.labelers.chexbert.folder import save
    from radrl.labelers.chexbert.model import CheXbert, build_tokenizer

    words = [f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")]
    words += [*".,", *WORDS.split()]
    sizes = BertConfig(
        vocab_size=len(words),
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.5,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = CheXbert(sizes)
    models = tmp_path_factory.mktemp("models")
    save(model, build_tokenizer(words), models / "chexbert")
    return models
