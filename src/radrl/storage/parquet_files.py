"""Parquet that somebody else may have written or damaged: whatever is wrong with it, one kind of error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from radrl.storage import refused


class NoParquet(ValueError):
    """A file is no Parquet that can be read; the message names it and the mend."""


@contextmanager
def refusing(path: Path, refuse: Callable[[str], Exception] = NoParquet, *, mend: str) -> Iterator[None]:
    """Have what is wrong with a file said in one way, for the time of a `with` block that reads it.

    Args:
        path: the file.
        refuse: makes what is raised of the message.
        mend: ends the message.

    Raises:
        NoParquet: or what `refuse` makes in its place. pyarrow's own errors are of a dozen classes: a footer
            that thrift cannot read is an OSError, a type without a reader is no ValueError.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if own := refused.mend(error):
            raise refuse(f"{path} cannot be read: {error}; {own}") from error
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(" .:")
        raise refuse(f"{path} is no Parquet file, or damaged ({why}); {mend}") from error


def table(path: Path, refuse: Callable[[str], Exception] = NoParquet, *, mend: str) -> pa.Table:
    """All of a file.

    Args:
        path: the file.
        refuse: as `told` takes it.
        mend: as `told` takes it.

    Raises:
        NoParquet: or what `refuse` makes in its place.
    """
    with refusing(path, refuse, mend=mend):
        return pq.read_table(path)
