"""Kedro dataset types for what the kept ones do not cover: shards, model folders, resumable work.

All write beside the target and rename, so that a kill never leaves half an artifact under its name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from kedro.io import AbstractDataset, DatasetError

from radrl.data import corpus
from radrl.storage import table_files
from radrl.storage.whole_files import link, replacing, whole_file

_AGAIN: Final = "run the stage that writes it again (`dvc dag` shows which), or `dvc checkout` it"

Writer = Callable[[Path], None]
"""Writes an artifact into the empty folder it is given."""


class _Local(AbstractDataset[Any, Any]):
    """A dataset at a path of the project.

    Args:
        filepath: where it lies.
        metadata: for other tools; `mlflow` says what the tracker keeps of it, `mlflow_arms` which of the
            arms' runs have it as well: those that wrote this output, and `mlflow_model` which models have
            it: of the policy that wrote this output (`radrl.wiring.hooks`).
    """

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def _exists(self) -> bool:
        return self._filepath.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}

    def _require(self) -> Path:
        if not self._filepath.exists():
            raise DatasetError(
                f"{self._filepath} is not there: run the stage that writes it (`dvc dag` shows which)"
            )
        return self._filepath


class _Shards(_Local):
    """A table too large to hold: saved from an iterable of shards, loaded lazily.

    A shard is a table, or a file of the kind that is linked where the file system can, and copied elsewhere.
    """

    _suffix: str

    def save(self, data: Iterable[pa.Table | Path]) -> None:
        """Write each shard, in order."""
        with replacing(self._filepath) as folder:
            for number, shard in enumerate(data):
                target = folder / f"part-{number:05d}{self._suffix}"
                if isinstance(shard, Path):
                    link(shard, target)
                else:
                    self._write(shard, target)

    def _files(self) -> list[Path]:
        """The shards, in order, of which there is at least one."""
        found = sorted(self._require().glob(f"part-*{self._suffix}"))
        if not found:
            raise DatasetError(f"{self._filepath} holds no shard; {_AGAIN}")
        return found

    @staticmethod
    @abstractmethod
    def _write(table: pa.Table, target: Path) -> None:
        """Write a shard."""


class ParquetShards(_Shards):
    """Shards in Parquet: small on disk."""

    _suffix = ".parquet"

    def load(self) -> ds.Dataset:
        """Open the shards as one pyarrow dataset; nothing is read yet."""
        for shard in self._files():
            with table_files.refusing(shard, DatasetError, mend=_AGAIN), pq.ParquetFile(shard) as file:
                for _ in file.iter_batches():  # damage is known before a node works for hours
                    pass
        return ds.dataset(self._require(), format="parquet")

    @staticmethod
    def _write(table: pa.Table, target: Path) -> None:
        pq.write_table(table, target, compression="zstd")


class ArrowShards(_Shards):
    """Shards of the corpus, as `radrl.data.corpus` maps them into memory."""

    _suffix = ".arrow"

    def load(self) -> ds.Dataset:
        """Open the shards as one pyarrow dataset; nothing is read yet."""
        for shard in self._files():
            try:
                corpus.check(shard)
            except ValueError as error:
                raise DatasetError(f"{error}; {_AGAIN}") from error
        return corpus.opened(self._require())

    @staticmethod
    def _write(table: pa.Table, target: Path) -> None:
        corpus.write(table, target)


class Folder(_Local):
    """A folder some library writes, such as a model's: saved by calling a writer, loaded as its path.

    Args:
        filepath: where it lies.
        metadata: for other tools.
        required: false where who reads the path says himself what lacks, if he needs the folder at all.
    """

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None, required: bool = True) -> None:
        super().__init__(filepath, metadata)
        self._required = required

    def load(self) -> Path:
        """The folder's path."""
        return self._require() if self._required else self._filepath

    def save(self, data: Writer) -> None:
        """Let the writer fill a new folder, then put it in place."""
        with replacing(self._filepath) as folder:
            data(folder)


class Workspace(_Local):
    """A folder where work in progress survives a kill; no stage declares it as an output."""

    def load(self) -> Path:
        """The folder's path, made when it is not there."""
        self._filepath.mkdir(parents=True, exist_ok=True)
        return self._filepath

    def save(self, data: Any) -> None:
        """Refused: the stage that owns the workspace writes into it by itself."""
        raise DatasetError(f"{self._filepath} is a workspace; nothing is saved to it as a whole")

    def _exists(self) -> bool:
        return True


class HtmlPage(_Local):
    """One self-contained page."""

    def load(self) -> str:
        """The page's text."""
        try:
            return self._require().read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DatasetError(f"{self._filepath} holds bytes that are no UTF-8; {_AGAIN}") from error

    def save(self, data: str) -> None:
        """Write the page."""
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self._filepath) as stream:
            stream.write(data.encode())
