"""A CheXbert of some thousand random weights, laid out as the published one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from transformers import BertConfig, BertTokenizer

    from radrl.labelers.chexbert.labeler import CheXbertLabeler
    from radrl.labelers.chexbert.model import CheXbert

WORDS = (
    "the heart is enlarged there no small left right pleural effusion ##s lung ##g clear pneumo ##thor ##ax "
    "opac ##ity base cafe resume may be x ##x _ . , - : ( ) / 1 2 ##2 a ##a b ab lun"
)


@pytest.fixture(scope="session")
def vocabulary() -> list[str]:
    """Special tokens at the ends, words between: no id is the published one."""
    return ["[PAD]", *WORDS.split(), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="session")
def tokenizer(vocabulary: list[str]) -> BertTokenizer:
    from radrl.labelers.chexbert.model import build_tokenizer

    return build_tokenizer(vocabulary)


@pytest.fixture(scope="session")
def config(vocabulary: list[str]) -> BertConfig:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        initializer_range=0.3,  # so that logits differ between reports
    )


@pytest.fixture(scope="session")
def make_model(one_thread: None, config: BertConfig) -> Callable[..., CheXbert]:
    """A random model in evaluation mode; keywords replace sizes."""
    import torch
    from transformers import BertConfig

    from radrl.labelers.chexbert.model import CheXbert

    def make(seed: int = 0, **sizes: Any) -> CheXbert:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = CheXbert(BertConfig(**{**config.to_dict(), **sizes}))
            for parameter in model.parameters():  # biases and norms too: none may be mistaken for another
                torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.3)
        return model.eval()

    return make


@pytest.fixture
def model(make_model: Callable[..., CheXbert]) -> CheXbert:
    return make_model()


@pytest.fixture
def labeler(model: CheXbert, tokenizer: BertTokenizer) -> CheXbertLabeler:
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    return CheXbertLabeler(model, tokenizer)


@pytest.fixture
def saved(model: CheXbert, tokenizer: BertTokenizer, tmp_path: Path) -> Path:
    """A labeler's folder, the test's own to damage."""
    from radrl.labelers.chexbert import folder

    target = tmp_path / "chexbert"
    folder.save(model, tokenizer, target)
    return target


@pytest.fixture(scope="session")
def reports() -> list[str]:
    """Reports of many lengths, some of them equal."""
    phrases = (
        "the heart is enlarged.",
        "no pleural effusion",
        "lung clear,",
        "may be a small opacity: left base",
    )
    return [" ".join(phrases[(i * k) % 4] for k in range(1, 2 + i % 7)) for i in range(40)]
