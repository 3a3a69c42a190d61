"""Optimization profiles: from what to what an input may go."""

from typing import Any

from tensorrt._bound import Made, need
from tensorrt._values import Dims, dims_of
from tensorrt._version import MAJOR

Span = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class IOptimizationProfile(Made):
    """Minimum, optimum and maximum, of shapes and of the values of shape tensors."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._shapes: dict[str, Span] = {}
        self._shape_values: dict[str, Span] = {}
        self.extra_memory_target = 1.0

    extra_memory_target = 1.0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "extra_memory_target":
            object.__setattr__(self, name, float(value))
        else:
            Made.__setattr__(self, name, value)

    def set_shape(self, input: str, min: Any, opt: Any, max: Any) -> None:  # noqa: A002
        need("set_shape", (input, str))
        span = tuple(dims_of("set_shape", one) for one in (min, opt, max))
        if MAJOR < 11 and not ordered(span):  # from then on the build says so
            raise ValueError("Shapes provided for min/opt/max are inconsistent.")
        self._shapes[input] = span

    def get_shape(self, input: str) -> list[Dims]:  # noqa: A002
        need("get_shape", (input, str))
        if MAJOR >= 11 and input not in self._shapes:
            self._say(f"getDimensions: the profile has no dimensions of {input}")
        return [Dims(one) for one in self._shapes.get(input, ())]

    def set_shape_input(self, input: str, min: Any, opt: Any, max: Any) -> None:  # noqa: A002
        need("set_shape_input", (input, str))
        span = tuple(tuple(int(value) for value in one) for one in (min, opt, max))
        if not ordered(span):
            if MAJOR < 11:
                raise ValueError("min/opt/max shape values are inconsistent.")
            self._say("setShapeValuesV2: min <= opt <= max is violated")
            raise RuntimeError("min/opt/max shape values are inconsistent.")
        self._shape_values[input] = span

    def _say(self, text: str) -> None:
        self._logger.log(type(self._logger).ERROR, f"IOptimizationProfile::{text}")

    def __bool__(self) -> bool:
        return MAJOR >= 11 or bool(self._shapes or self._shape_values)

    __nonzero__ = __bool__


def ordered(span: Any) -> bool:
    """Whether minimum, optimum and maximum are of one rank and do not fall."""
    low, opt, high = span
    return len(low) == len(opt) == len(high) and all(
        a <= b <= c for a, b, c in zip(low, opt, high, strict=True)
    )
