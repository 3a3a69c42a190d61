"""Requests whose tensors lie in the GPU's memory: without copies, and with copies of our own."""

from __future__ import annotations

from functools import partial
from typing import Any

from enginescope.backends.base import Arrays, InputSpec
from enginescope.backends.onnxruntime.providers.failures import translated
from enginescope.backends.onnxruntime.requests import arrays_of
from enginescope.backends.onnxruntime.types import dtype_of
from enginescope.backends.recorder import Step
from enginescope.core.errors import UnsupportedError
from enginescope.records.notice import Notice
from enginescope.records.tensor import DataType, Tensor

_DEVICE = "cuda"


class DeviceRequest:
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
        types = {spec.name: spec.dtype for spec in specs}
        if any(one in (None, DataType.STRING, DataType.BF16) for one in types.values()):
            raise UnsupportedError("an input cannot lie in device memory", why="by its type")
        self._session = session
        self._index = index
        self._binding = session.io_binding()
        self._outputs = [(one.name, dtype_of(one.type)) for one in session.get_outputs()]
        self._arrays = dict(arrays)
        with translated("placing the inputs on the device"):
            self._values = {
                name: ort.OrtValue.ortvalue_from_numpy(array, _DEVICE, index)
                for name, array in arrays.items()
            }
        for name, value in self._values.items():
            self._binding.bind_ortvalue_input(name, value)
        for name, _ in self._outputs:
            self._binding.bind_output(name, _DEVICE, index)
        self._allocated: tuple[str, ...] = ()
        #: What a graph writes to, wherever the binding says that the outputs are.
        self._captured: tuple[Any, ...] = ()
        self._is_graph = is_graph
        self.first: Step = partial(self._run, _without_graph(ort)) if is_graph else self._run
        self.step: Step = self._run

    def _run(self, options: Any = None) -> None:
        self._session.run_with_iobinding(self._binding, options)
        self._binding.synchronize_outputs()

    def _values_out(self) -> Any:
        return self._captured or self._binding.get_outputs()

    def settle(self) -> None:
        """Bind the outputs that the first request gave, so that no further one allocates."""
        allocated = []
        values = tuple(self._binding.get_outputs())
        for (name, dtype), value in zip(self._outputs, values, strict=True):
            if dtype in (None, DataType.STRING) or not value.is_tensor():
                allocated.append(name)
            else:
                self._binding.bind_ortvalue_output(name, value)
        self._allocated = tuple(allocated)
        if self._is_graph and not allocated:
            self._captured = values

    def with_copies(self) -> Step:
        """Return a step that brings the inputs from host memory and the outputs back.

        For a CUDA graph, which reads and writes where it did when it was captured.
        """
        values = [(self._values[name], array) for name, array in self._arrays.items()]
        run = partial(self._session.run_with_iobinding, self._binding)

        def step() -> None:
            for value, array in values:
                value.update_inplace(array)
            run()
            for one in self._values_out():
                one.numpy()

        return step

    def outputs(self) -> tuple[Tensor, ...]:
        """Return the outputs with their shapes; ``None`` for what is no tensor."""
        return tuple(
            Tensor(
                name=name, shape=tuple(value.shape()) if value.is_tensor() else None, dtype=dtype
            )
            for (name, dtype), value in zip(self._outputs, self._values_out(), strict=True)
        )

    def values(self) -> tuple[Any, ...]:
        """Return the values of the outputs of the last request, brought to the host."""
        return arrays_of(self._values_out(), self._outputs)

    def notices(self) -> tuple[Notice, ...]:
        """Name the outputs that every request allocates."""
        if not self._allocated:
            return ()
        names = ", ".join(self._allocated)
        return (
            Notice(
                code="I-OUTPUT-ALLOCATED",
                message=f"outputs that are not plain tensors are allocated in every run: {names}",
                evidence={"outputs": list(self._allocated)},
                level="info",
            ),
        )


def _without_graph(ort: Any) -> Any:
    """Return options of a run that neither captures nor replays."""
    options = ort.RunOptions()
    options.add_run_config_entry("gpu_graph_id", "-1")
    return options
