"""Weights that are all there: what lacks, is unknown, has another shape or is no number is refused by name.

Transformers draws anew what a folder lacks, passes over what its model does not know, and reads NaN as any
number: a warning goes by, and what is trained or scored from then on is another model. But it knows under
which names a published file has what is in memory, so it is asked what differs. Numbers are looked at where
they lie.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from radrl.storage import json_files

if TYPE_CHECKING:
    import torch

SINGLE: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
"""In a folder of shards: which of them has which tensor."""

COPY: Final = (
    "Copy the folder again and compare its digests with its owners', or, where a stage wrote it, run that "
    "stage again; or the weights are of another model than config.json beside them says"
)

_NAMED: Final = 3  # tensors of a file that a message names
_FILES: Final = 4  # that a message names


class WeightsError(ValueError):
    """Weights are not all there, or are no numbers; the message names file, tensors and mend."""


def load(kind: Any, folder: Path, *, device: Any = "cpu", mend: str = COPY, **how: Any) -> Any:
    """A model whose weights are exactly those of a folder; no code that came with it is run.

    Args:
        kind: a class of transformers with `from_pretrained`.
        folder: holds config.json and `SINGLE`, or `INDEX` and its shards.
        device: where it goes.
        mend: what the message ends with, where weights are not all there.
        **how: further arguments of `from_pretrained`.

    Returns:
        The model.

    Raises:
        WeightsError: when a tensor lacks (other than one that is tied to another), is unknown, has another
            shape or is not finite, or a file cannot be read.
    """
    files = _Files(folder, mend)
    model = _read(kind, files, **how).to(device)
    if bad := not_finite(_held(model)):
        raise WeightsError(_no_numbers(model, bad, files))
    return model


def check(kind: Any, folder: Path, *, numbers: bool = True, mend: str = COPY) -> None:
    """Refuse what `load` would refuse, for an engine that loads the folder by itself.

    One tensor is in memory at once.

    Args:
        kind: as all that follows, of `load`.
        folder: as there.
        numbers: whether those are looked at as well, which reads the files; else their beginnings are read.
        mend: as there.

    Raises:
        WeightsError: as `load`.
    """
    files = _Files(folder, mend)
    _read(kind, files, dtype="auto", device_map={"": "meta"})
    if numbers and (bad := not_finite(files.tensors())):
        raise WeightsError(files.spoilt(bad))


def read(file: Path, *, mend: str) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, on the CPU.

    Args:
        file: may be missing.
        mend: what the message ends with.

    Raises:
        WeightsError: when it is not there, or is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file)
    except FileNotFoundError:
        raise WeightsError(f"{file} is not there. {mend}") from None
    except SafetensorError as error:
        raise WeightsError(f"{file} is cut short or damaged ({error}). {mend}") from None


def check_state(
    found: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor], file: Path, *, mend: str
) -> None:
    """Refuse a file's tensors where a module would not take them as they are.

    Args:
        found: of the file, by name.
        wanted: the module's, by the same names; they may be on the device `meta`.
        file: where they come from, for the message.
        mend: what the message ends with.

    Raises:
        WeightsError: as `load`.
    """
    if said := differences(found, wanted) or _spoilt(found):
        raise WeightsError(f"{file} {'; '.join(said)}. {mend}")


def check_numbers(model: Any, where: str, *, mend: str = COPY) -> None:
    """Refuse a model in memory that holds what is no number.

    Args:
        model: any module.
        where: what it is, for the message.
        mend: what the message ends with.

    Raises:
        WeightsError: naming the first such tensors.
    """
    if bad := not_finite(_held(model)):
        raise WeightsError(f"{where} has NaN or infinity in {listed(bad)}. {mend}")


def differences(found: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> list[str]:
    """How tensors differ from those that a module has, in words; nothing where they do not.

    Args:
        found: of a file, by name.
        wanted: of the module.
    """
    both = [name for name in wanted if name in found and found[name].shape != wanted[name].shape]
    shapes = [f"{name} of shape {tuple(found[name].shape)}, not {tuple(wanted[name].shape)}" for name in both]
    said = {
        "lacks": [name for name in wanted if name not in found],
        "has unknown": [name for name in found if name not in wanted],
        "has": shapes,
    }
    return [f"{does} {listed(names)}" for does, names in said.items() if names]


def not_finite(tensors: Iterable[tuple[str, torch.Tensor]]) -> list[str]:
    """The names of tensors that hold a NaN or an infinity.

    They are read where they lie and not copied, but for parts of a tensor that is parted among processes: of
    those each process looks at its own.

    Args:
        tensors: with their names; those on the device `meta` have no numbers, nor have empty ones.
    """
    import torch

    extremes: dict[str, torch.Tensor] = {}
    for name, tensor in tensors:
        own = tensor.detach()
        own = own.to_local() if hasattr(own, "to_local") else own
        if own.is_meta or not own.numel() or not own.is_floating_point():
            continue
        own = own.float() if own.itemsize == 1 else own  # no extremes are known of 8 bits
        extremes[name] = torch.stack(torch.aminmax(own)).isfinite().all()  # NaN is its own extreme
    # asked at the end: a GPU goes through all of them without being waited for
    return [name for name, finite in extremes.items() if not finite]


def listed(names: Sequence[str]) -> str:
    """The first names of some, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


class _Files:
    """The weight files of a folder, of which the beginnings have been read.

    Args:
        folder: see `load`.
        mend: see there.

    Raises:
        WeightsError: when there are none, or one lacks or is damaged.
    """

    def __init__(self, folder: Path, mend: str) -> None:
        self.folder, self.mend = folder, mend
        self.index = {} if (folder / SINGLE).is_file() else self._promised()
        self.paths = [folder / name for name in sorted({*self.index.values()} or {SINGLE})]
        self.held = {name: path for path in self.paths for name in self._names(path)}

    def file_of(self, name: str) -> Path:
        """The file where a tensor lies, or should; the index where it does not say."""
        if name in self.held:
            return self.held[name]
        return self.folder / (self.index.get(name) or (INDEX if self.index else SINGLE))

    def tensors(self, names: Iterable[str] | None = None) -> Iterator[tuple[str, torch.Tensor]]:
        """Tensors with their names, one read at a time; all of them where none are named."""
        from safetensors import safe_open

        wanted = set(self.held if names is None else names)
        for path in self.paths:
            with safe_open(path, framework="pt") as stream:
                for name in stream.keys():  # noqa: SIM118  (it is no mapping)
                    if name in wanted:
                        yield name, stream.get_tensor(name)

    def spoilt(self, names: Iterable[str]) -> str:
        """What is said of tensors that hold what is no number."""
        return self.message((self.file_of(name), "has NaN or infinity in {}", name) for name in names)

    def message(self, said: Iterable[tuple[Path, str, str]]) -> str:
        """What is wrong in which file, and the mend.

        Args:
            said: a file, words with {} for tensors, and a tensor; the same words of one file are said once.
        """
        parts = [
            f"{path.name} {words.format(listed([told for _, _, told in own]))}"
            for (path, words), own in groupby(sorted(said), key=lambda one: one[:2])
        ]
        more = f"; and so on, {len(parts) - _FILES} more" if len(parts) > _FILES else ""
        return f"{self.folder}: {'; '.join(parts[:_FILES])}{more}. {self.mend}"

    def _promised(self) -> dict[str, str]:
        """The shard of each tensor, by the index."""
        path = self.folder / INDEX
        if not path.is_file():
            raise WeightsError(f"{self.folder} has neither {SINGLE} nor {INDEX}. {self.mend}")
        try:
            return dict(json_files.parsed(path.read_bytes())["weight_map"])
        except (ValueError, KeyError, TypeError) as error:
            raise WeightsError(f"{path} is no index of shards ({error!r}). {self.mend}") from None

    def _names(self, path: Path) -> list[str]:
        from safetensors import SafetensorError, safe_open

        if not path.is_file():
            raise WeightsError(f"{path} is not there, and {INDEX} has tensors of it. {self.mend}")
        try:
            with safe_open(path, framework="pt") as stream:
                return list(stream.keys())
        except SafetensorError as error:
            raise WeightsError(f"{path} is cut short or damaged ({error}). {self.mend}") from None


def _read(kind: Any, files: _Files, **how: Any) -> Any:
    """Transformers' model, of which names and shapes are those of the files."""
    with _unreported():
        model, info = kind.from_pretrained(
            files.folder,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # else it ends with the first, in its own words
            **how,
        )
    published = _published(model, files)
    said = [(name, "lacks {}", name) for name in map(published, info["missing_keys"])]
    said += [(name, "has {}, unknown to the model", name) for name in map(published, info["unexpected_keys"])]
    for own, found, wanted in info["mismatched_keys"]:
        name = published(own)
        said.append((name, "has {}", f"{name} of shape {tuple(found)}, not {tuple(wanted)}"))
    if said:
        raise WeightsError(files.message((files.file_of(name), words, told) for name, words, told in said))
    return model


def _published(model: Any, files: _Files) -> Callable[[str], str]:
    """What gives a tensor's name in the files for its name in memory."""

    def published(name: str) -> str:
        return name if name in files.held else published_names(model, name)[0]

    return published


def published_names(model: Any, name: str) -> list[str]:
    """The names by which `save_pretrained` writes what has one name in memory.

    Args:
        model: of transformers; it knows what its checkpoint's names became.
        name: of a parameter or buffer.

    Returns:
        One, but where tensors of a checkpoint are one in memory.
    """
    import torch
    from transformers.core_model_loading import revert_weight_conversion

    return [*map(str, revert_weight_conversion(model, {name: torch.empty(0, device="meta")}))]


def _no_numbers(model: Any, bad: Sequence[str], files: _Files) -> str:
    """What is said of tensors that are not finite in memory: of their files, or of the dtype."""
    names = list(map(_published(model, files), bad))
    spoilt = not_finite(files.tensors(names))
    if spoilt:
        return files.spoilt(spoilt)
    return (
        f"{files.folder}: {listed(names)} are finite in the file and not in {model.dtype}, which is too "
        "small for them: take bfloat16 or float32 as dtype"
    )


def _held(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """What of a model files hold, tied weights once: not the buffers that it makes by itself."""
    kept = model.state_dict().keys()
    yield from model.named_parameters()
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def _spoilt(found: Mapping[str, torch.Tensor]) -> list[str]:
    bad = not_finite(found.items())
    return [f"has NaN or infinity in {listed(bad)}"] if bad else []


@contextmanager
def _unreported() -> Iterator[None]:
    """A block in which transformers prints no table of what differs: the message says it."""

    def keep(record: logging.LogRecord) -> bool:
        return "LOAD REPORT" not in record.getMessage()

    logger = logging.getLogger("transformers.modeling_utils")
    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)
