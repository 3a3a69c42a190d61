"""The two ways to put a request to a session: bound once, or passed anew."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np

from enginescope.backends.base import Arrays, InputSpec
from enginescope.backends.onnxruntime.providers.failures import translated
from enginescope.backends.onnxruntime.types import dtype_of
from enginescope.backends.recorder import Step
from enginescope.core.errors import UnsupportedError
from enginescope.records.notice import Notice
from enginescope.records.tensor import DataType, Tensor

#: ONNX's number for bfloat16, which NumPy has no type for.
_ONNX_BFLOAT16 = 16


class Request(Protocol):
    """One request that can be put again and again."""

    first: Step
    step: Step

    def settle(self) -> None:
        """After the first request: allocate once what can be."""

    def outputs(self) -> tuple[Tensor, ...]:
        """Return the outputs as the last request gave them."""

    def values(self) -> tuple[Any, ...]:
        """Return their values as arrays; ``None`` for what is no tensor with an array form."""

    def notices(self) -> tuple[Notice, ...]:
        """Return what makes this request more than the model's own work."""


def request_for(ort: Any, session: Any, specs: tuple[InputSpec, ...], arrays: Arrays) -> Request:
    """Return a bound request; a plain one where an input cannot be bound."""
    with translated("binding the inputs"):
        if any(spec.dtype is DataType.STRING for spec in specs):
            return PlainRequest(session, arrays)
        return BoundRequest(ort, session, specs, arrays)


class BoundRequest:
    """Inputs and outputs in host memory, allocated once, through IO binding."""

    def __init__(
        self, ort: Any, session: Any, specs: tuple[InputSpec, ...], arrays: Arrays
    ) -> None:
        self._binding = session.io_binding()
        self._outputs = [(one.name, dtype_of(one.type)) for one in session.get_outputs()]
        self._unbound: tuple[str, ...] = ()
        types = {spec.name: spec.dtype for spec in specs}
        for name, array in arrays.items():
            self._binding.bind_ortvalue_input(name, host_value(ort, array, types[name]))
        for name, _ in self._outputs:
            self._binding.bind_output(name, "cpu")
        self.first: Step = partial(session.run_with_iobinding, self._binding)
        self.step: Step = self.first

    def settle(self) -> None:
        """Bind outputs of the shape the first request gave, so that no further one allocates."""
        unbound = []
        values = self._binding.get_outputs()
        for (name, dtype), value in zip(self._outputs, values, strict=True):
            if dtype in (None, DataType.STRING) or not value.is_tensor():
                unbound.append(name)
            else:
                self._binding.bind_ortvalue_output(name, value)
        self._unbound = tuple(unbound)

    def outputs(self) -> tuple[Tensor, ...]:
        """Return the outputs with their shapes; ``None`` for what is no tensor."""
        return tuple(
            Tensor(
                name=name,
                shape=tuple(value.shape()) if value.is_tensor() else None,
                dtype=dtype,
            )
            for (name, dtype), value in zip(self._outputs, self._binding.get_outputs(), strict=True)
        )

    def values(self) -> tuple[Any, ...]:
        """Return the values of the outputs of the last request."""
        return arrays_of(self._binding.get_outputs(), self._outputs)

    def notices(self) -> tuple[Notice, ...]:
        """Name the outputs that every request allocates."""
        if not self._unbound:
            return ()
        names = ", ".join(self._unbound)
        return (
            Notice(
                code="I-OUTPUT-ALLOCATED",
                message=f"outputs that are not plain tensors are allocated in every run: {names}",
                evidence={"outputs": list(self._unbound)},
                level="info",
            ),
        )


class PlainRequest:
    """Arrays in, arrays out: what ONNX Runtime cannot bind, such as strings."""

    def __init__(self, session: Any, arrays: Arrays) -> None:
        self._outputs = [(one.name, dtype_of(one.type)) for one in session.get_outputs()]
        self._run = partial(session.run, None, dict(arrays))
        self._last: list[Any] = []
        self.first: Step = self._keep
        self.step: Step = self._run

    def _keep(self) -> None:
        self._last = self._run()

    def settle(self) -> None:
        """Nothing can be allocated ahead."""

    def outputs(self) -> tuple[Tensor, ...]:
        """Return the outputs of the first request."""
        shapes = [getattr(value, "shape", None) for value in self._last]
        return tuple(
            Tensor(name=name, shape=None if shape is None else tuple(shape), dtype=dtype)
            for (name, dtype), shape in zip(self._outputs, shapes, strict=True)
        )

    def values(self) -> tuple[Any, ...]:
        """Return the values of the outputs of the first request: each gives the same."""
        return tuple(one if isinstance(one, np.ndarray) else None for one in self._last)

    def notices(self) -> tuple[Notice, ...]:
        """Say that conversion and allocation are inside the timed span."""
        return (
            Notice(
                code="I-NOT-BOUND",
                message="strings cannot be bound: every run converts its inputs and allocates "
                "its outputs",
                evidence={},
                level="info",
            ),
        )


def arrays_of(values: Any, outputs: list[tuple[str, DataType | None]]) -> tuple[Any, ...]:
    """Return bound values as arrays; ``None`` for what has no array form."""
    return tuple(
        value.numpy() if dtype not in (None, DataType.BF16) and value.is_tensor() else None
        for (_, dtype), value in zip(outputs, values, strict=True)
    )


def host_value(ort: Any, array: Any, dtype: DataType | None) -> Any:
    """Return an array as ONNX Runtime's own value in host memory."""
    if dtype is DataType.BF16 and array.dtype.kind == "u":  # raw bits
        make = getattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type", None)
        if make is None:
            raise UnsupportedError(
                "BF16 cannot be fed",
                why=f"onnxruntime {ort.__version__} makes no values of that type",
                hint="pip install 'onnxruntime>=1.18'",
            )
        return make(array, _ONNX_BFLOAT16)
    return ort.OrtValue.ortvalue_from_numpy(array)
