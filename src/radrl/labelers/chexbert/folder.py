"""A CheXbert on disk: the published checkpoint, its vocabulary and its sizes.

The checkpoint is read without running code from it; any other file is named and refused.
"""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from transformers import BertConfig, BertTokenizer

from radrl.data.archives import ZipMembers
from radrl.data.tables import SourceError
from radrl.labelers import LabelerError
from radrl.labelers.chexbert.model import CheXbert, build_tokenizer
from radrl.storage.complete_weights import listed, not_finite

Weights = dict[str, torch.Tensor]

STATE: Final = "model_state_dict"
PREFIX: Final = "module."
"""Published checkpoints were saved from within torch's DataParallel."""
POSITION_IDS: Final = "bert.embeddings.position_ids"
"""0, 1, 2, ...: some releases of transformers saved it among the weights."""

EXPECTED: Final = (
    "expected CheXbert's checkpoint, a torch file whose 'model_state_dict' holds a BERT under 'bert.' and "
    "14 heads under 'linear_heads.'"
)

MEND: Final = (
    "copy the file again and compare its digest with its owners', or, for the one that is trained here, run "
    "the stage labeler anew"
)

_LEGACY: Final = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"  # how torch before 1.6 began a file
_BEGINNINGS: Final = {
    b"version https://git-lfs": "a Git LFS pointer in the place of the file: run git lfs pull",
    b"<": "a web page in the place of the file: the download wanted a click or a login",
    b"\x1f\x8b": "compressed with gzip: unpack it",
    b"\x89HDF": "an HDF5 file",
    b"\x80": "a pickle that torch did not write",
}

WEIGHTS: Final = "chexbert.pth"
VOCABULARY: Final = "vocab.txt"
CONFIG: Final = "config.json"
SIZES: Final = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
)
"""What of a BertConfig makes a BERT; nothing else of config.json is read or written."""


class CheckpointError(LabelerError):
    """A file is no CheXbert; the message says what it is and what was expected."""


def read_weights(path: Path) -> Weights:
    """Read the weights of a checkpoint file.

    Args:
        path: a torch file, in the format of today or of before torch 1.6.

    Returns:
        Weights by name on the CPU, without `PREFIX` and `POSITION_IDS`.

    Raises:
        CheckpointError: the file is something else, is damaged, or holds more than weights.
    """
    if other := _other_kind(path):
        raise CheckpointError(f"{path} is {other}; {EXPECTED}")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # torch raises whatever the damaged bytes led to
        raise CheckpointError(f"{path} {_unreadable(error)}; {EXPECTED}") from error
    if not isinstance(content, Mapping) or STATE not in content:
        raise CheckpointError(f"{path} has no key {STATE!r}: it is {_described(content)}; {EXPECTED}")
    state = content[STATE]
    if not _is_state(state):
        raise CheckpointError(f"{path}: {STATE!r} is {_described(state)}; {EXPECTED}")
    named = {name.removeprefix(PREFIX): weight for name, weight in state.items()}
    named.pop(POSITION_IDS, None)
    return named


def check_weights(
    weights: Mapping[str, torch.Tensor], config: BertConfig, *, path: Path, sizes_from: str
) -> None:
    """Compare weights with the architecture.

    Args:
        weights: by name, as `read` returns them.
        config: sizes of the BERT.
        path: where the weights come from, for the message.
        sizes_from: where the sizes come from, for the message.

    Raises:
        CheckpointError: naming the sizes and keys that differ, or a weight that is not finite.
    """
    with torch.device("meta"):  # names and shapes alone
        expected = CheXbert(config).state_dict()
    if not expected.keys() & weights.keys():
        raise CheckpointError(f"{path} has the weights of another model: {listed(list(weights))}; {EXPECTED}")
    if differences := _differences(weights, expected):
        raise CheckpointError(
            f"{path}: {'; '.join(differences)} (sizes from {sizes_from}); {EXPECTED}; {MEND}"
        )
    for name, weight in weights.items():
        if not weight.is_floating_point():
            raise CheckpointError(f"{path}: {name} is of {weight.dtype}, as in a quantised copy; {EXPECTED}")
    if bad := not_finite(weights.items()):
        raise CheckpointError(
            f"{path}: {listed(bad)} {'is' if len(bad) == 1 else 'are'} not finite, as after a training that "
            f"diverged or in a damaged copy; {MEND}"
        )


def _other_kind(path: Path) -> str | None:
    """What a file is when its first bytes are not those of a torch file."""
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        return "empty"
    if head.startswith(b"PK"):
        return _other_zip(path)
    if head.startswith(_LEGACY):
        return None
    if head[8:9] == b"{" and head[6:8] == b"\0\0":  # the length of a JSON header, then the header
        return "a safetensors file"
    for beginning, kind in _BEGINNINGS.items():
        if head.lstrip().startswith(beginning):
            return kind
    return f"no torch file, it begins with {head[:16]!r}"


def _other_zip(path: Path) -> str | None:
    if not zipfile.is_zipfile(path):
        return f"a zip archive (as torch writes them) cut short at {path.stat().st_size} bytes"
    try:
        names = ZipMembers(path).names
    except SourceError:
        return "a zip archive (as torch writes them) with a damaged table of contents"
    inner = {name.partition("/")[2] for name in names}
    if "data.pkl" not in inner:
        return f"a zip archive of {listed(names)}"
    return "a TorchScript program" if "constants.pkl" in inner else None


def _unreadable(error: Exception) -> str:
    """Why torch could not load a file, without its advice to load it all the same."""
    refused = re.search(r"WeightsUnpickler error: (Unsupported.*)", str(error))
    if isinstance(error, pickle.UnpicklingError) and refused:
        named = re.search(r"GLOBAL (\S+)", refused.group(1))
        what = named.group(1) if named else refused.group(1)
        return f"holds Python objects ({what}), not weights alone; it was not read, since that can run code"
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return f"is a torch file cut short or damaged ({reason})"


def _is_state(content: object) -> bool:
    return (
        isinstance(content, Mapping)
        and bool(content)
        and all(isinstance(name, str) for name in content)
        and all(isinstance(weight, torch.Tensor) for weight in content.values())
    )


def _described(content: object) -> str:
    if isinstance(content, Mapping):
        kind = "weights alone" if _is_state(content) else "a dict"
        return f"{kind} with keys {listed([str(key) for key in content])}"
    return f"a {type(content).__name__}"


def _sizes(weights: Mapping[str, torch.Tensor]) -> dict[str, object]:
    """What tells one CheXbert from another, read off the shapes."""

    def shape(name: str, axis: int) -> int | None:
        return weights[name].shape[axis] if name in weights and weights[name].ndim > axis else None

    layers = {name.split(".")[3] for name in weights if name.startswith("bert.encoder.layer.")}
    biases = [name for name in weights if re.fullmatch(r"linear_heads\.\d+\.bias", name)]
    heads = [weights[name].numel() for name in sorted(biases, key=lambda name: int(name.split(".")[1]))]
    return {
        "hidden size": shape("bert.embeddings.word_embeddings.weight", 1),
        "layers": len(layers),
        "feed-forward size": shape("bert.encoder.layer.0.intermediate.dense.weight", 0),
        "word pieces": shape("bert.embeddings.word_embeddings.weight", 0),
        "positions": shape("bert.embeddings.position_embeddings.weight", 0),
        "heads": len(heads),
        "classes of the heads": heads,
    }


def _differences(weights: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> list[str]:
    found, wanted = _sizes(weights), _sizes(expected)
    said = [f"{name} {found[name]}, not {wanted[name]}" for name in wanted if found[name] != wanted[name]]
    if missing := [name for name in expected if name not in weights]:
        said.append(f"without {listed(missing)}")
    if unknown := [name for name in weights if name not in expected]:
        said.append(f"with unknown {listed(unknown)}")
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    odd = [name for name in expected if name in shapes and shapes[name] != tuple(expected[name].shape)]
    if odd and not said:
        said.append(f"{odd[0]} of shape {shapes[odd[0]]}, not {tuple(expected[odd[0]].shape)}")
    return said


def load(folder: Path, *, device: str | torch.device = "cpu") -> tuple[CheXbert, BertTokenizer]:
    """Load a CheXbert.

    Args:
        folder: holds `WEIGHTS` (the published file, or one that `save` wrote), `VOCABULARY` (for the
            published one that of bert-base-uncased) and, unless its sizes are those of bert-base-uncased,
            `CONFIG`. Or a checkpoint file of any name, with the others beside it.
        device: where the model goes.

    Returns:
        The model in evaluation mode, in single precision, and its tokenizer.

    Raises:
        FileNotFoundError: a file is missing.
        CheckpointError: a file is something else; the message says what it is and what was expected.
    """
    weights, vocabulary, config = _files(folder)
    tokenizer = _tokenizer(vocabulary)
    sizes, sizes_from = _config(config)
    state = read_weights(weights)
    check_weights(state, sizes, path=weights, sizes_from=sizes_from)
    if len(tokenizer) != sizes.vocab_size:
        raise CheckpointError(
            f"{vocabulary} has {len(tokenizer)} word pieces, {weights} has {sizes.vocab_size}: "
            "put the vocabulary there that the model was trained with (the published: bert-base-uncased's)"
        )
    with torch.random.fork_rng(devices=[]):  # random weights come first; who draws next must not notice
        model = CheXbert(sizes)
    model.load_state_dict(state)
    return model.to(device).eval(), tokenizer


def save(model: CheXbert, tokenizer: BertTokenizer, folder: Path) -> None:
    """Write a CheXbert as `load` reads it; the same weights give the same bytes.

    Args:
        model: what to write.
        tokenizer: of `build_tokenizer`.
        folder: where to; made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        PREFIX + name: weight.cpu().clone(memory_format=torch.contiguous_format)
        for name, weight in model.state_dict().items()
    }
    torch.save({STATE: state}, folder / WEIGHTS)
    pieces = tokenizer.get_vocab()
    text = "".join(f"{piece}\n" for piece in sorted(pieces, key=pieces.__getitem__))
    (folder / VOCABULARY).write_text(text, encoding="utf-8", newline="\n")
    sizes = {"model_type": "bert", **{name: getattr(model.bert.config, name) for name in SIZES}}
    (folder / CONFIG).write_text(json.dumps(sizes, indent=2) + "\n")


def _files(folder: Path) -> tuple[Path, Path, Path]:
    """Weights, vocabulary and config of a folder or of a checkpoint file."""
    weights = folder if folder.is_file() else folder / WEIGHTS
    if not weights.is_file():
        raise FileNotFoundError(
            f"no {WEIGHTS} in {folder}: put CheXbert's published checkpoint there (each user gets it from "
            "its authors, under their licence), or give the path of the file"
        )
    vocabulary = weights.parent / VOCABULARY
    if not vocabulary.is_file():
        raise FileNotFoundError(
            f"no {VOCABULARY} beside {weights}: put the model's word pieces there, one a line; those of the "
            "published CheXbert are bert-base-uncased's"
        )
    return weights, vocabulary, weights.parent / CONFIG


def _tokenizer(path: Path) -> BertTokenizer:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # word pieces may hold other line separators
    except UnicodeDecodeError:
        raise CheckpointError(f"{path} is no UTF-8 text; expected BERT's word pieces, one a line") from None
    try:
        return build_tokenizer(lines[:-1] if not lines[-1] else lines)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; expected BERT's word pieces, one a line") from None


def _config(path: Path) -> tuple[BertConfig, str]:
    """A BERT's sizes, and where they come from."""
    if not path.is_file():
        return BertConfig(), f"bert-base-uncased: no {path} says otherwise"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind = content.get("model_type", "bert")
        if kind != "bert":
            raise CheckpointError(
                f"{path} says model_type {kind!r}; CheXbert is a 'bert': put its own config there"
            )
        sizes = BertConfig(**{name: content[name] for name in SIZES if name in content})
        with torch.device("meta"):  # no weights: whether these sizes make a BERT at all
            CheXbert(sizes)
        return sizes, str(path)
    except CheckpointError:
        raise
    except Exception as error:  # transformers checks types by a class of its own
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{path} is no BertConfig ({reason}); expected {', '.join(SIZES)}") from error
