"""Tables that stages and studies wrote as CSV, read anew: whatever is wrong with one, one kind of error.

Tables of users' reports are read by `radrl.data.tables`, row by row.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from radrl.storage import refused

if TYPE_CHECKING:
    import pandas as pd


class NoTable(ValueError):
    """A file is no table that can be read; the message names it and the mend."""


def frame(path: Path, *, mend: str) -> pd.DataFrame:
    """A table with the types that pandas finds.

    Args:
        path: the file.
        mend: ends the message.

    Raises:
        NoTable: there is no such file, no text, no column, or rows of unequal length.
    """
    import pandas as pd

    try:
        return pd.read_csv(path)
    except OSError as error:
        raise NoTable(f"{path} cannot be read: {error.strerror}; {refused.mend(error) or mend}") from error
    except (ValueError, OverflowError) as error:  # pandas's own are ValueErrors, as is UnicodeDecodeError
        raise NoTable(f"{path} is no CSV table ({str(error).strip()}); {mend}") from error
