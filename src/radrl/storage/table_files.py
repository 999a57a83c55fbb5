"""Tables in Parquet and CSV that somebody may have damaged: whatever is wrong with one, one kind of error.

Tables of users' reports are read by `radrl.data.tables`, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from radrl.storage import refused

if TYPE_CHECKING:
    import pandas as pd


class NoTable(ValueError):
    """A file is no table that can be read; the message names it and the mend."""


@contextmanager
def refusing(path: Path, refuse: Callable[[str], Exception] = NoTable, *, mend: str) -> Iterator[None]:
    """Have what is wrong with a Parquet file said in one way, for the time of a `with` block that reads it.

    Args:
        path: the file.
        refuse: makes what is raised of the message.
        mend: ends the message.

    Raises:
        NoTable: or what `refuse` makes in its place. pyarrow's own errors are of a dozen classes: a footer
            that thrift cannot read is an OSError, a type without a reader is no ValueError.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if own := refused.mend(error):
            raise refuse(f"{path} cannot be read: {error}; {own}") from error
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(" .:")
        raise refuse(f"{path} is no Parquet file, or damaged ({why}); {mend}") from error


def read_parquet(path: Path, refuse: Callable[[str], Exception] = NoTable, *, mend: str) -> pa.Table:
    """All of a Parquet file.

    Args:
        path: the file.
        refuse: as `refusing` takes it.
        mend: as `refusing` takes it.

    Raises:
        NoTable: or what `refuse` makes in its place.
    """
    with refusing(path, refuse, mend=mend):
        return pq.read_table(path)


def read_csv(path: Path, *, mend: str, text: Sequence[str] = ()) -> pd.DataFrame:
    """A CSV file as a table with the types that pandas finds.

    Args:
        path: the file.
        mend: ends the message.
        text: columns that hold text, even where it looks like numbers.

    Raises:
        NoTable: there is no such file, no text, no column, or rows of unequal length.
    """
    import pandas as pd

    try:
        return pd.read_csv(path, dtype=dict.fromkeys(text, str))
    except OSError as error:
        raise NoTable(f"{path} cannot be read: {error.strerror}; {refused.mend(error) or mend}") from error
    except (ValueError, OverflowError) as error:  # pandas's own are ValueErrors, as is UnicodeDecodeError
        raise NoTable(f"{path} is no CSV table ({str(error).strip()}); {mend}") from error
