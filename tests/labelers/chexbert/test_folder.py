"""CheXberts on disk: the published layout is read, what is written is what is read, other files are named."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

from radrl.labelers.chexbert import folder
from radrl.labelers.chexbert.folder import CheckpointError
from radrl.labelers.chexbert.labeler import stored
from radrl.labelers.chexbert.model import CheXbert
from radrl.storage.pointers import pointing

Weights = dict[str, torch.Tensor]


def published_layout() -> dict[str, tuple[int, ...]]:
    """Names and shapes of the published checkpoint: bert-base-uncased, its pooler, 14 heads."""
    layout: dict[str, tuple[int, ...]] = {
        "bert.embeddings.word_embeddings.weight": (30522, 768),
        "bert.embeddings.position_embeddings.weight": (512, 768),
        "bert.embeddings.token_type_embeddings.weight": (2, 768),
        "bert.embeddings.LayerNorm.weight": (768,),
        "bert.embeddings.LayerNorm.bias": (768,),
    }
    dense = {
        "attention.self.query": (768, 768),
        "attention.self.key": (768, 768),
        "attention.self.value": (768, 768),
        "attention.output.dense": (768, 768),
        "intermediate.dense": (3072, 768),
        "output.dense": (768, 3072),
    }
    for layer in range(12):
        at = f"bert.encoder.layer.{layer}"
        for name, shape in dense.items():
            layout |= {f"{at}.{name}.weight": shape, f"{at}.{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            layout |= {f"{at}.{name}.weight": (768,), f"{at}.{name}.bias": (768,)}
    layout |= {"bert.pooler.dense.weight": (768, 768), "bert.pooler.dense.bias": (768,)}
    for head in range(14):
        classes = 2 if head == 13 else 4
        layout |= {f"linear_heads.{head}.weight": (classes, 768), f"linear_heads.{head}.bias": (classes,)}
    return layout


def test_published_names_and_shapes_are_accepted() -> None:
    weights = {name: torch.empty(shape, device="meta") for name, shape in published_layout().items()}
    assert sum(weight.numel() for weight in weights.values()) == 109_523_766
    folder.check_weights(weights, BertConfig(), path=Path("chexbert.pth"), sizes_from="bert-base-uncased")


def state_of(saved: Path) -> Weights:
    state: Weights = torch.load(saved / "chexbert.pth", weights_only=True)["model_state_dict"]
    return state


def rewrite(saved: Path, content: Any, **how: Any) -> Path:
    torch.save(content, saved / "chexbert.pth", **how)
    return saved


def test_saved_and_loaded_model_is_the_same(
    model: CheXbert, tokenizer: BertTokenizer, saved: Path, same: Callable[[Any, Any], bool]
) -> None:
    loaded, words = folder.load(saved)
    assert same(loaded.state_dict(), model.state_dict())
    assert not loaded.training
    assert words.get_vocab() == tokenizer.get_vocab()
    ids = torch.tensor([[40, 3, 17, 41]])
    for one, other in zip(loaded(ids, ids > 0), model(ids, ids > 0), strict=True):
        assert torch.equal(one, other)


def test_written_names_are_the_published_ones(saved: Path) -> None:
    small = {name.replace("layer.1.", "layer.11.") for name in state_of(saved)}
    wanted = {f"module.{name}" for name in published_layout()}
    assert {
        name for name in wanted if "layer" not in name or "layer.0." in name or "layer.11." in name
    } == small


def test_same_weights_give_the_same_bytes(
    make_model: Callable[..., CheXbert],
    tokenizer: BertTokenizer,
    saved: Path,
    tmp_path: Path,
    contents: Callable[[Path], dict[str, bytes]],
) -> None:
    again = make_model().train().requires_grad_(False)
    again.linear_heads[0].weight.data = again.linear_heads[0].weight.data.T.contiguous().T  # other strides
    folder.save(again, tokenizer, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved)
    loaded = folder.load(saved)
    folder.save(*loaded, tmp_path / "third")
    assert contents(tmp_path / "third") == contents(saved)


def test_loading_draws_no_random_number(saved: Path) -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    folder.load(saved)
    assert torch.equal(torch.rand(2), wanted)


@pytest.mark.parametrize("position_ids", [True, False])
@pytest.mark.parametrize("prefix", ["module.", ""])
@pytest.mark.parametrize("today", [True, False])
def test_published_variants_load(
    saved: Path, model: CheXbert, same: Callable[..., bool], position_ids: bool, prefix: str, today: bool
) -> None:
    state = OrderedDict(
        (name.replace("module.", prefix, 1), weight) for name, weight in state_of(saved).items()
    )
    if position_ids:
        state[f"{prefix}bert.embeddings.position_ids"] = torch.arange(512)[None]
    content = {
        "epoch": 3,
        "model_state_dict": state,
        "optimizer_state_dict": {"state": {}, "param_groups": []},
    }
    rewrite(saved, content, _use_new_zipfile_serialization=today)
    assert same(folder.load(saved)[0].state_dict(), model.state_dict())


def test_path_of_the_file_itself_will_do(saved: Path, model: CheXbert, same: Callable[..., bool]) -> None:
    file = (saved / "chexbert.pth").rename(saved / "mine.pt")
    assert same(folder.load(file)[0].state_dict(), model.state_dict())


def test_vocabulary_with_windows_line_ends_is_read(saved: Path, tokenizer: BertTokenizer) -> None:
    text = (saved / "vocab.txt").read_text()
    (saved / "vocab.txt").write_bytes(text.replace("\n", "\r\n").encode())
    assert folder.load(saved)[1].get_vocab() == tokenizer.get_vocab()


class Trap:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.mark), "w"))


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "is empty"),
        (b"\n<!DOCTYPE html><html><title>Sign in</title>", "is a web page in the place of the file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7\nsize 438", "is a Git LFS pointer"),
        (b"\x1f\x8b\x08\x00rest", "is compressed with gzip: unpack it"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        (pickle.dumps({"model_state_dict": 1}), "is a pickle that torch did not write"),
        (b"PK\x03\x04" + bytes(80), r"is a zip archive \(as torch writes them\) cut short at 84 bytes"),
        (zipped(readme=b"", weights=b""), "is a zip archive of readme, weights"),
        (b'{"error": "not found"}', r"is no torch file, it begins with b'\{\"error\""),
    ],
)
def test_other_files_are_named(saved: Path, content: bytes, kind: str) -> None:
    (saved / "chexbert.pth").write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"chexbert\.pth {kind}.*; expected CheXbert's checkpoint"):
        folder.load(saved)


def test_safetensors_are_named(saved: Path) -> None:
    save_file({"x": torch.zeros(2)}, saved / "chexbert.pth")
    with pytest.raises(CheckpointError, match="is a safetensors file; expected CheXbert's checkpoint"):
        folder.load(saved)


def test_torchscript_is_named(saved: Path) -> None:
    names = {"archive/data.pkl": b"", "archive/constants.pkl": b"", "archive/code/m.py": b""}
    (saved / "chexbert.pth").write_bytes(zipped(**names))
    with pytest.raises(CheckpointError, match="is a TorchScript program; expected"):
        folder.load(saved)


@pytest.mark.parametrize("today", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 0.999])
def test_truncated_file_is_named(saved: Path, today: bool, share: float) -> None:
    rewrite(saved, {"model_state_dict": state_of(saved)}, _use_new_zipfile_serialization=today)
    whole = (saved / "chexbert.pth").read_bytes()
    (saved / "chexbert.pth").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(CheckpointError, match=r"cut short.*; expected CheXbert's checkpoint"):
        folder.load(saved)


@pytest.mark.parametrize("today", [True, False])
def test_no_code_in_a_file_is_run(saved: Path, tmp_path: Path, today: bool) -> None:
    trap = {"model_state_dict": state_of(saved), "extra": Trap(tmp_path / "ran")}
    rewrite(saved, trap, _use_new_zipfile_serialization=today)
    with pytest.raises(
        CheckpointError, match=r"holds Python objects \(.*open\), not weights alone; it was not read"
    ):
        folder.load(saved)
    assert not (tmp_path / "ran").exists()


def test_whole_pickled_model_is_named(saved: Path, model: CheXbert) -> None:
    with pytest.raises(
        CheckpointError, match=r"\(radrl\.labelers\.chexbert\.model\.CheXbert\), not weights alone"
    ):
        folder.load(rewrite(saved, model))


def test_bare_weights_are_named(saved: Path) -> None:
    with pytest.raises(
        CheckpointError, match=r"no key 'model_state_dict': it is weights alone with keys module\.bert"
    ):
        folder.load(rewrite(saved, state_of(saved)))


@pytest.mark.parametrize(
    "content", [torch.zeros(2), [1, 2], {"model_state_dict": 3}, {"model_state_dict": {}}]
)
def test_other_content_is_named(saved: Path, content: Any) -> None:
    with pytest.raises(CheckpointError, match=r"(it|'model_state_dict') is a (Tensor|list|int|dict)"):
        folder.load(rewrite(saved, content))


def refusal(saved: Path, state: Weights) -> str:
    with pytest.raises(CheckpointError) as caught:
        folder.load(rewrite(saved, {"model_state_dict": state}))
    return str(caught.value)


def test_weights_of_another_model_are_named(saved: Path) -> None:
    state = {f"module.features.{i}.weight": torch.zeros(2) for i in range(5)}
    said = refusal(saved, state)
    assert (
        "has the weights of another model: features.0.weight, features.1.weight, features.2.weight and 2"
        in said
    )
    assert "expected CheXbert's checkpoint" in said


def test_bert_without_heads_is_named(saved: Path, config: BertConfig) -> None:
    bare = {f"bert.{name}": weight for name, weight in BertModel(config).state_dict().items()}
    assert "heads 0, not 14; classes of the heads [], not [4, 4" in refusal(saved, bare)


def test_another_bert_classifier_is_named(saved: Path, config: BertConfig) -> None:
    said = refusal(saved, BertForSequenceClassification(config).state_dict())
    assert "heads 0, not 14" in said
    assert "with unknown classifier.weight, classifier.bias" in said


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"hidden_size": 36}, "hidden size 36, not 24"),
        ({"num_hidden_layers": 3}, "layers 3, not 2"),
        ({"intermediate_size": 32}, "feed-forward size 32, not 40"),
        ({"vocab_size": 99}, "word pieces 99, not "),
        ({"max_position_embeddings": 64}, "positions 64, not 512"),
    ],
)
def test_other_sizes_are_named(
    saved: Path, make_model: Callable[..., CheXbert], sizes: dict[str, int], said: str
) -> None:
    message = refusal(saved, make_model(**sizes).state_dict())
    assert said in message
    assert f"(sizes from {saved / 'config.json'})" in message


def test_without_a_config_the_sizes_are_those_of_bert_base(saved: Path) -> None:
    (saved / "config.json").unlink()
    with pytest.raises(
        CheckpointError,
        match=r"hidden size 24, not 768; layers 2, not 12; .*sizes from bert-base-uncased: no .* says",
    ):
        folder.load(saved)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"linear_heads.13": None}, "heads 13, not 14"),
        ({"linear_heads.14": 4}, "heads 15, not 14"),
        ({"linear_heads.13": 4}, "4, 4], not [4,"),
        ({"linear_heads.2": 3}, "classes of the heads [4, 4, 3, 4"),
    ],
)
def test_other_heads_are_named(saved: Path, change: dict[str, int | None], said: str) -> None:
    state = {name.removeprefix("module."): weight for name, weight in state_of(saved).items()}
    for head, classes in change.items():
        for part, shape in (("weight", (classes, 24)), ("bias", (classes,))):
            state.pop(f"{head}.{part}", None)
            if classes:
                state[f"{head}.{part}"] = torch.zeros(shape)  # type: ignore[arg-type]
    assert said in refusal(saved, state)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_weights_that_are_not_finite_are_refused(saved: Path, value: float) -> None:
    state = state_of(saved)
    state["module.linear_heads.3.bias"][1] = value
    assert f"{saved / 'chexbert.pth'}: linear_heads.3.bias is not finite" in refusal(saved, state)
    for head in range(5):
        state[f"module.linear_heads.{head}.bias"][0] = value
    named = ", ".join(f"linear_heads.{head}.bias" for head in range(3))
    assert f"{named} and 2 more are not finite" in refusal(saved, state)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"module.bert.encoder.layer.1.output.dense.bias": None},
            "without bert.encoder.layer.1.output.dense.bias",
        ),
        ({"module.bert.extra": torch.zeros(2)}, "with unknown bert.extra"),
        (
            {"module.bert.pooler.dense.bias": torch.zeros(5)},
            "bert.pooler.dense.bias of shape (5,), not (24,)",
        ),
        (
            {"module.bert.pooler.dense.bias": torch.full((24,), torch.nan)},
            "bert.pooler.dense.bias is not finite",
        ),
    ],
    ids=["gone", "more", "odd", "nan"],
)
@pytest.mark.parametrize("name", ["chexbert", "chexbert_compact"])
def test_what_is_not_all_there_is_refused_of_both(
    saved: Path, tmp_path: Path, name: str, change: Weights, said: str
) -> None:
    """The published one behind the stage labeler's pointer, and the one that it has trained."""
    state = state_of(saved) | change
    rewrite(saved, {"model_state_dict": {key: own for key, own in state.items() if own is not None}})
    (tmp_path / "models").mkdir()
    if name == "chexbert":
        (tmp_path / "models" / name).mkdir()
        pointing(saved, saved.iterdir())(tmp_path / "models" / name)
    else:
        saved.rename(tmp_path / "models" / name)
    with pytest.raises(CheckpointError) as refused:
        stored(tmp_path / "models", name, device="cpu", key=f"labeler.{name}")
    assert said in str(refused.value)
    assert str(refused.value).endswith(f"; {folder.MEND}")


def test_quantised_weights_are_refused(saved: Path) -> None:
    state = {name: weight.to(torch.int8) for name, weight in state_of(saved).items()}
    assert "is of torch.int8" in refusal(saved, state)


def test_missing_checkpoint_says_what_to_do(saved: Path, tmp_path: Path) -> None:
    (saved / "chexbert.pth").unlink()
    for path in (saved, tmp_path / "nowhere"):
        with pytest.raises(
            FileNotFoundError, match=r"no chexbert\.pth in .*: put CheXbert's published checkpoint"
        ):
            folder.load(path)


def test_missing_vocabulary_says_what_to_do(saved: Path) -> None:
    (saved / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"no vocab\.txt beside .*bert-base-uncased's"):
        folder.load(saved)


def test_vocabulary_of_another_size_is_refused(saved: Path, vocabulary: list[str]) -> None:
    (saved / "vocab.txt").write_text("\n".join([*vocabulary, "more"]))
    count = len(vocabulary)
    with pytest.raises(
        CheckpointError, match=rf"vocab\.txt has {count + 1} word pieces, .*pth has {count}: put"
    ):
        folder.load(saved)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"[PAD]": 0}', r"no \[PAD\], .* among 1 word pieces"),
        (b"\xff\xfe[\x00", "is no UTF-8 text"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\na\n", "'a' is there twice"),
    ],
)
def test_other_vocabulary_files_are_named(saved: Path, content: bytes, said: str) -> None:
    (saved / "vocab.txt").write_bytes(content)
    with pytest.raises(
        CheckpointError, match=rf"vocab\.txt.*{said}.*expected BERT's word pieces, one a line"
    ):
        folder.load(saved)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "roberta"}, "says model_type 'roberta'; CheXbert is a 'bert'"),
        ({"num_attention_heads": 5}, r"is no BertConfig \(The hidden size \(24\) is not a multiple"),
        ({"hidden_size": "wide"}, r"is no BertConfig \(.*\); expected vocab_size, hidden_size"),
        ({"hidden_act": "gelu_that_is_none"}, "is no BertConfig"),
    ],
)
def test_other_configs_are_named(saved: Path, change: dict[str, Any], said: str) -> None:
    sizes = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(sizes | change))
    with pytest.raises(CheckpointError, match=rf"config\.json:? {said}"):
        folder.load(saved)


@pytest.mark.parametrize("content", ["", "[1, 2]", "not json"])
def test_config_that_is_no_json_object_is_named(saved: Path, content: str) -> None:
    (saved / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json is no BertConfig"):
        folder.load(saved)
