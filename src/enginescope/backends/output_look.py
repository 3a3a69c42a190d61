"""A look at a model's outputs, once before and once after the timed loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from enginescope.judge.notice import Notice

#: Larger outputs are not read: the copy would show in the memory of the process.
MOST_BYTES = 16 << 20


class OutputLook:
    """Compares the outputs of two requests with the same inputs.

    Args:
        first: The outputs of the first request, by name; they are copied.
    """

    def __init__(self, first: Mapping[str, Any]) -> None:
        self._first = {name: np.array(values) for name, values in first.items()}

    def notices(self, last: Mapping[str, Any]) -> tuple[Notice, ...]:
        """Return a notice for each kind of fault, with the names of the outputs.

        Args:
            last: The outputs of the last request.
        """
        faults: dict[str, list[str]] = {}
        for name, output in last.items():
            for fault in _faults(np.asarray(output), self._first.get(name)):
                faults.setdefault(fault, []).append(name)
        return tuple(_notice(fault, names) for fault, names in faults.items())


_TEXTS = {
    "nan": "NaN in every value",
    "infinite": "infinite values",
    "zero": "0 in every value",
    "changing": "other values for the same input at the end than at the start",
}


def _faults(values: Any, before: Any | None) -> Iterator[str]:
    if not values.size or values.dtype.kind not in "fiu":
        return
    if values.dtype.kind == "f":
        if np.isnan(values).all():
            yield "nan"
        elif np.isinf(values).any():
            yield "infinite"
    if not values.any():
        yield "zero"
    if before is not None and before.shape == values.shape:
        is_same = np.array_equal(before, values, equal_nan=values.dtype.kind == "f")
        if not is_same and not np.allclose(before, values, rtol=1e-2, atol=1e-6, equal_nan=True):
            yield "changing"


def _notice(fault: str, names: Sequence[str]) -> Notice:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    outputs = "output" if len(names) == 1 else "outputs"
    return Notice(
        code="W-OUTPUTS",
        message=f"{outputs} {shown}: {_TEXTS[fault]}; check the model with enginescope validate",
        evidence={"fault": fault, "outputs": list(names)},
    )
