"""A table as MLflow describes a dataset: its columns and how many rows, never what stands in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_SAMPLE: Final = 100
"""Rows by which a column of Python objects is judged."""


def described(data: Any) -> tuple[str | None, str | None]:
    """The schema and the size of a table, as MLflow's datasets have them.

    Args:
        data: what a stage read or wrote, of any type.

    Returns:
        Both as JSON; nothing for what is no table.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(data, pd.DataFrame):
        schema, rows = pa.Schema.from_pandas(data.head(_SAMPLE), preserve_index=False), len(data)
    elif isinstance(data, ds.Dataset):
        schema, rows = data.schema, data.count_rows()  # by what stands in the files' heads
    else:
        return None, None
    columns = [{"name": one.name, "required": not one.nullable, **_type(one.type)} for one in schema]
    return json.dumps({"mlflow_colspec": columns}), json.dumps({"num_rows": rows})


def _type(kind: pa.DataType) -> dict[str, Any]:
    """A type of Arrow in MLflow's words."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _type(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return {"type": "array", "items": _type(kind.value_type)}
    words: dict[Callable[[pa.DataType], bool], str] = {
        types.is_boolean: "boolean",
        types.is_int64: "long",
        types.is_integer: "integer",
        types.is_float64: "double",
        types.is_floating: "float",
        types.is_temporal: "datetime",
        types.is_binary: "binary",
        types.is_large_binary: "binary",
        types.is_fixed_size_binary: "binary",
    }
    return {"type": next((word for fits, word in words.items() if fits(kind)), "string")}
