"""Tables as data frames, for those who want them. The only place that knows the frame packages."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO
from typing import Any, TypeAlias

from enginescope.core.optional import is_installed, require

#: Column name -> values of equal length; ``None`` is a missing value.
Columns: TypeAlias = Mapping[str, Sequence[Any]]

_EXTRA = "enginescope[frames]"


class Frames:
    """A table that becomes a data frame.

    A frame raises `MissingDependencyError` where its package is not installed.
    """

    __slots__ = ()

    def columns(self) -> Columns:
        """Return the table as columns, one row each."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return `columns` as a ``pandas.DataFrame``."""
        return to_pandas(self.columns())

    def to_polars(self) -> Any:
        """Return `columns` as a ``polars.DataFrame``."""
        return to_polars(self.columns())

    def to_arrow(self) -> Any:
        """Return `columns` as a ``pyarrow.Table``."""
        return to_arrow(self.columns())


def to_pandas(columns: Columns) -> Any:
    """Return `columns` as a ``pandas.DataFrame``."""
    pandas = require("pandas", purpose="a pandas data frame", install=_EXTRA)
    return pandas.DataFrame(dict(columns))


def to_polars(columns: Columns) -> Any:
    """Return `columns` as a ``polars.DataFrame``."""
    polars = require("polars", purpose="a polars data frame", install=_EXTRA)
    return polars.DataFrame(dict(columns), infer_schema_length=None)


def to_arrow(columns: Columns) -> Any:
    """Return `columns` as a ``pyarrow.Table``."""
    pyarrow = require("pyarrow", purpose="an Arrow table", install=_EXTRA)
    return pyarrow.table(dict(columns))


def to_parquet(columns: Columns, *, numbers: Collection[str]) -> bytes:
    """Return `columns` as a Parquet file; those in `numbers` are float64, the others text."""
    stream = BytesIO()
    if not is_installed("pyarrow") and is_installed("polars"):
        polars = require("polars", purpose="a Parquet file", install=_EXTRA)
        kinds = {name: polars.Float64 if name in numbers else polars.String for name in columns}
        polars.DataFrame(dict(columns), schema=kinds).write_parquet(stream)
        return stream.getvalue()
    pyarrow = require("pyarrow", purpose="a Parquet file", install=_EXTRA)
    parquet = require("pyarrow.parquet", purpose="a Parquet file", install=_EXTRA)
    reader = require("pyarrow.json", purpose="a Parquet file", install=_EXTRA)
    schema = pyarrow.schema(
        (name, pyarrow.float64() if name in numbers else pyarrow.string()) for name in columns
    )
    # by way of JSON: to make an array of Python's values, pyarrow imports pandas, for 0.4 s
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    data = "\n".join(map(json.dumps, rows)).encode()
    table = schema.empty_table()
    if data:
        table = reader.read_json(
            BytesIO(data),
            read_options=reader.ReadOptions(block_size=len(data) + 1),
            parse_options=reader.ParseOptions(explicit_schema=schema),
        )
    parquet.write_table(table, stream)
    return stream.getvalue()
