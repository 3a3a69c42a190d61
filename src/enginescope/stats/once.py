"""Statistics of samples that cannot change: computed once for as long as the samples are kept."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def once_per_series(compute: Function) -> Function:
    """Remember what a function of a series returns, if the series is read-only.

    A page, its notices, its files and its verdicts ask for the same intervals.
    """
    known: dict[int, tuple[weakref.ref[Any], dict[Any, tuple[Any, Any]]]] = {}

    @wraps(compute)
    def remembered(series: Any, *args: Any) -> Any:
        arrays = [series, *(value for value in args if isinstance(value, np.ndarray))]
        if not all(map(_is_fixed, arrays)):
            return compute(series, *args)
        place = id(series)
        reference, results = known.get(place, (None, {}))
        if reference is None or reference() is not series:
            results = {}
            known[place] = (weakref.ref(series, lambda _: known.pop(place, None)), results)
        key = tuple(id(value) if isinstance(value, np.ndarray) else value for value in args)
        if key not in results:
            results[key] = (compute(series, *args), args)  # an array in use keeps its id
        return results[key][0]

    return cast("Function", remembered)


def _is_fixed(series: Any) -> bool:
    """Whether a series is an array that nobody can write to, not even as a part of another."""
    if not isinstance(series, np.ndarray) or series.flags.writeable:
        return False
    return series.base is None or isinstance(series.base, bytes)
