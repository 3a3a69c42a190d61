"""Tables as data frames, for those who want them. The only place that knows the frame packages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from enginescope.core.optional import require

#: Column name -> values of equal length; ``None`` is a missing value.
Columns: TypeAlias = Mapping[str, Sequence[Any]]

_EXTRA = "enginescope[frames]"


def to_pandas(columns: Columns) -> Any:
    """Return `columns` as a ``pandas.DataFrame``.

    Raises
    ------
    MissingDependencyError
        pandas is not installed.
    """
    pandas = require("pandas", purpose="a pandas data frame", install=_EXTRA)
    return pandas.DataFrame(dict(columns))


def to_polars(columns: Columns) -> Any:
    """Return `columns` as a ``polars.DataFrame``.

    Raises
    ------
    MissingDependencyError
        polars is not installed.
    """
    polars = require("polars", purpose="a polars data frame", install=_EXTRA)
    return polars.DataFrame(dict(columns), infer_schema_length=None)


def to_arrow(columns: Columns) -> Any:
    """Return `columns` as a ``pyarrow.Table``.

    Raises
    ------
    MissingDependencyError
        pyarrow is not installed.
    """
    pyarrow = require("pyarrow", purpose="an Arrow table", install=_EXTRA)
    return pyarrow.table(dict(columns))
