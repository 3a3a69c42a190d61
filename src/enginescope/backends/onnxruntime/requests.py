"""The two ways to put a request to a session: bound once, or passed anew.

Requests whose tensors lie in the GPU's memory: without copies, and with copies of our own.

Several requests in flight are threads that share a session and the work of a chunk.
"""

import ctypes
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from enginescope.backends.base import Arrays, InputSpec
from enginescope.backends.loop import Step
from enginescope.backends.onnxruntime.options import dtype_of
from enginescope.backends.onnxruntime.providers.providers import translated
from enginescope.core.errors import UnsupportedError
from enginescope.judge.notice import Notice
from enginescope.records.tensor import PACKED, DataType, Tensor

#: Inputs and outputs by name, as ONNX Runtime's values.
BoundValues = tuple[dict[str, Any], dict[str, Any]]
#: Types that NumPy lacks -> ONNX's numbers; their values are passed as raw bits.
_RAW_NUMBERS = {
    "bfloat16": 16,
    "float8e4m3fn": 17,
    "float8e4m3fnuz": 18,
    "float8e5m2": 19,
    "float8e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "float4e2m1": 23,
    "float8e8m0": 24,
}
#: The types of our own that these are.
RAW = frozenset({DataType.BF16, DataType.FP8, DataType.E8M0, *PACKED})


class Request(Protocol):
    """One request that can be put again and again."""

    first: Step
    step: Step

    def settle(self) -> None:
        """After the first request: allocate once what can be."""

    def outputs(self) -> tuple[Tensor, ...]:
        """Return the outputs as the last request gave them."""

    def values(self) -> tuple[Any, ...]:
        """Return their values as arrays; ``None`` for what is not a tensor with an array form."""

    def notices(self) -> tuple[Notice, ...]:
        """Return what makes this request more than the model's own work."""

    def bound_values(self) -> BoundValues | None:
        """Return inputs and outputs of every run; ``None`` if a run has its own."""


def request_for(
    ort: Any,
    session: Any,
    specs: tuple[InputSpec, ...],
    arrays: Arrays,
    call: Literal["arrays", "client"] | None = None,
    shapes: Mapping[str, tuple[int, ...]] = {},
) -> Request:
    """Return a bound request; a plain one where an input cannot be bound, or `call` asks for it.

    Args:
        call: As `Mode.call`.
        shapes: Of inputs whose values are packed; by default those of the arrays.
    """
    with translated("binding the inputs"):
        if call is not None:
            raw = next((spec for spec in specs if spec.dtype in RAW), None)
            if raw is not None:
                why = f"NumPy has no type for input {raw.name}, {raw.type_text}"
                raise UnsupportedError("passing NumPy arrays", why=why)
            return ArraysRequest(session, arrays, is_copied=call == "client")
        if any(spec.dtype is DataType.STRING for spec in specs):
            return PlainRequest(session, arrays)
        return BoundRequest(session, host_values(ort, specs, arrays, shapes), ("cpu",))


class BoundRequest:
    """Inputs and outputs in memory that is allocated once, through IO binding.

    Args:
        inputs: ONNX Runtime's values.
        place: Where the outputs lie: the kind of a device, and its number.
    """

    def __init__(self, session: Any, inputs: dict[str, Any], place: tuple[Any, ...]) -> None:
        self._binding = session.io_binding()
        self._inputs = inputs
        self._outputs = [(one.name, dtype_of(one.type)) for one in session.get_outputs()]
        self._unbound: tuple[str, ...] = ()
        for name, value in inputs.items():
            self._binding.bind_ortvalue_input(name, value)
        for name, _ in self._outputs:
            self._binding.bind_output(name, *place)
        self.first: Step = partial(session.run_with_iobinding, self._binding)
        self.step: Step = self.first

    def settle(self) -> None:
        """Bind outputs of the shape the first request gave, so that no further one allocates."""
        unbound = []
        for (name, dtype), value in zip(self._outputs, self._results(), strict=True):
            if dtype in (None, DataType.STRING) or not value.is_tensor():
                unbound.append(name)
            else:
                self._binding.bind_ortvalue_output(name, value)
        self._unbound = tuple(unbound)

    def _results(self) -> Sequence[Any]:
        results: Sequence[Any] = self._binding.get_outputs()
        return results

    def outputs(self) -> tuple[Tensor, ...]:
        """Return the outputs with their shapes; ``None`` for what is not a tensor."""
        return tuple(
            Tensor(
                name=name, shape=tuple(value.shape()) if value.is_tensor() else None, dtype=dtype
            )
            for (name, dtype), value in zip(self._outputs, self._results(), strict=True)
        )

    def values(self) -> tuple[Any, ...]:
        return tuple(
            value.numpy() if dtype is not None and dtype not in RAW and value.is_tensor() else None
            for (_, dtype), value in zip(self._outputs, self._results(), strict=True)
        )

    def bound_values(self) -> BoundValues | None:
        """Return inputs and outputs; ``None`` if an output is allocated in every request."""
        outputs = dict(zip((name for name, _ in self._outputs), self._results(), strict=True))
        return None if self._unbound else (self._inputs, outputs)

    def notices(self) -> tuple[Notice, ...]:
        if not self._unbound:
            return ()
        names = ", ".join(self._unbound)
        message = f"outputs that are not plain tensors are allocated in every run: {names}"
        return (Notice("I-OUTPUT-ALLOCATED", message, {"outputs": list(self._unbound)}),)


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

    def bound_values(self) -> BoundValues | None:
        """Return nothing: each run has values of its own."""
        return None

    def notices(self) -> tuple[Notice, ...]:
        """Say that conversion and allocation are inside the timed span."""
        text = "strings cannot be bound: every run converts its inputs and allocates its outputs"
        return (Notice("I-NOT-BOUND", text),)


class ArraysRequest(PlainRequest):
    """NumPy arrays in, NumPy arrays out, as most programs call a session.

    Args:
        is_copied: The caller copies inputs and outputs for each request, as one does whose data
            comes from elsewhere and outlives the request.
    """

    def __init__(self, session: Any, arrays: Arrays, *, is_copied: bool) -> None:
        super().__init__(session, arrays)
        if is_copied:
            run, feeds = session.run, dict(arrays)

            def step() -> list[Any]:
                outputs = run(None, {name: array.copy() for name, array in feeds.items()})
                return [copy(output) for output in outputs]

            self.step = step

    def notices(self) -> tuple[Notice, ...]:
        """Nothing: it is what was asked for."""
        return ()


def host_values(
    ort: Any, specs: Sequence[InputSpec], arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Return arrays as ONNX Runtime's own values in host memory.

    Args:
        shapes: Of values whose arrays hold raw bits, several elements to a byte.
    """
    types = {spec.name: spec.type_text for spec in specs}
    return {
        name: _host_value(ort, array, types[name], shapes.get(name))
        for name, array in arrays.items()
    }


def _host_value(ort: Any, array: Any, type_text: str, shape: tuple[int, ...] | None) -> Any:
    number = _RAW_NUMBERS.get(type_text.removeprefix("tensor(").removesuffix(")"))
    if number is None or array.dtype.kind != "u":
        return ort.OrtValue.ortvalue_from_numpy(array)
    try:
        value = ort.OrtValue.ortvalue_from_shape_and_type(list(shape or array.shape), number)
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        what = f"{type_text} cannot be fed"
        why = f"onnxruntime {ort.__version__} cannot create values of that type"
        raise UnsupportedError(what, why=why, hint="pip install 'onnxruntime>=1.20'") from error
    raw = np.ascontiguousarray(array)
    ctypes.memmove(value.data_ptr(), raw.ctypes.data, raw.nbytes)
    return value


_DEVICE = "cuda"


class DeviceRequest(BoundRequest):
    """Inputs and outputs bound once, in device memory.

    A step ends when the device has answered: ONNX Runtime waits for the stream at the end of a run,
    and the outputs are waited for once more, which costs nothing then.

    With a CUDA graph the first request is one without it, so that there are outputs to bind: those
    that a graph has not been told of before it is captured are nowhere afterwards.
    """

    def __init__(
        self,
        ort: Any,
        session: Any,
        specs: tuple[InputSpec, ...],
        arrays: Arrays,
        index: int,
        *,
        is_graph: bool = False,
    ) -> None:
        if any(spec.dtype in (None, DataType.STRING, *RAW) for spec in specs):
            raise UnsupportedError("an input cannot lie in device memory", why="by its type")
        with translated("placing the inputs on the device"):
            inputs = {
                name: ort.OrtValue.ortvalue_from_numpy(array, _DEVICE, index)
                for name, array in arrays.items()
            }
        super().__init__(session, inputs, (_DEVICE, index))
        self._session = session
        self._arrays = dict(arrays)
        #: What a graph writes to, wherever the binding says that the outputs are.
        self._captured: Sequence[Any] = ()
        self._is_graph = is_graph
        self.first = self.step = self._run
        if is_graph:
            options = ort.RunOptions()  # of a run that neither captures nor replays
            options.add_run_config_entry("gpu_graph_id", "-1")
            self.first = partial(self._run, options)

    def _run(self, options: Any = None) -> None:
        self._session.run_with_iobinding(self._binding, options)
        self._binding.synchronize_outputs()

    def _results(self) -> Sequence[Any]:
        return self._captured or super()._results()

    def settle(self) -> None:
        values = tuple(super()._results())
        super().settle()
        if self._is_graph and not self._unbound:
            self._captured = values

    def with_copies(self) -> Step:
        """Return a step that brings the inputs from host memory and the outputs back.

        For a CUDA graph, which reads and writes where it did when it was captured.
        """
        values = [(self._inputs[name], array) for name, array in self._arrays.items()]
        run = partial(self._session.run_with_iobinding, self._binding)

        def step() -> None:
            for value, fresh in values:
                value.update_inplace(fresh)
            run()
            for result in self._results():
                result.numpy()

        return step
