"""From a function's result to the same result with a display."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")


def displayed(function: Callable[P, R], display: Callable[[R], D]) -> Callable[P, D]:
    """Return `function` with a display on its result; signature and documentation stay."""

    @wraps(function)
    def displaying(*args: P.args, **kwargs: P.kwargs) -> D:
        return display(function(*args, **kwargs))

    return displaying


def shown_as(display: type[D]) -> Callable[[Any], D]:
    """Return a function that copies the fields of a result to its subclass with a display."""

    def copied(result: Any) -> D:
        fields = getattr(result, "__struct_fields__", None) or result.__dataclass_fields__
        return display(**{name: getattr(result, name) for name in fields})

    return copied
