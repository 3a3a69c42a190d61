"""Sessions of ONNX Runtime whose shapes vary: between shapes of a sweep, and in a decode loop.

Keys and values stay where ONNX Runtime puts them; the logits of a step come to the host.
"""

from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

from enginescope.backends import varying_shapes
from enginescope.backends.base import Feeds
from enginescope.backends.loop import Recorder, StepRecorder
from enginescope.backends.onnxruntime.options import dtype_of
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.providers.providers import Provider, translated
from enginescope.backends.onnxruntime.requests import Request, host_values, request_for
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import Tensor


class OrtChanges:
    """One session; each shape has a request of its own, whose memory is allocated once."""

    why_no_graph: str | None = None

    def __init__(self, ort: Any, job: Job, setup: Setup) -> None:
        self._ort = ort
        self._call = job.workload.mode.call
        self._opened = OrtSession(ort, job, setup)
        self._session = self._opened.session
        if self._opened.mode.cuda_graph:
            self.close()
            what = "changing shapes with a CUDA graph of ONNX Runtime"
            why = "it replays the shape that it captured"
            raise UnsupportedError(what, why=why, hint="omit the option of the CUDA graph")
        self.input_specs = self._opened.input_specs
        self.providers = self._opened.providers
        self._requests: dict[int, Request] = {}
        self._settled: set[int] = set()
        self._point = -1

    def choice(self, feeds: Feeds) -> varying_shapes.Choice:
        """Return nothing: ONNX Runtime has no optimization profiles of its own."""
        del feeds
        return varying_shapes.Choice()

    def change(self, point: int, feeds: Feeds) -> dict[str, float]:
        """Take the request of a shape; make it where it is new."""
        self._point = point
        if point in self._requests:
            return {}
        begin = perf_counter_ns()
        self._requests[point] = request_for(
            self._ort, self._session, self.input_specs, feeds.arrays, self._call, feeds.shapes
        )
        return {"bind": (perf_counter_ns() - begin) / 1e6}

    def first(self) -> float:
        request = self._requests[self._point]
        step = request.step if self._point in self._settled else request.first
        with translated("running the model"):
            begin = perf_counter_ns()
            step()
            return (perf_counter_ns() - begin) / 1e6

    def settle(self) -> dict[str, float]:
        """Bind the outputs of a new shape, so that later requests do not allocate them."""
        if self._point not in self._settled:
            with translated("binding the outputs"):
                self._requests[self._point].settle()
            self._settled.add(self._point)
        return {}

    def recorder(self) -> Recorder:
        return StepRecorder(self._requests[self._point].step)

    def notices(self) -> tuple[Notice, ...]:
        return self._requests[self._point].notices()

    def close(self) -> None:
        self._opened.close()


def check_growing(provider: Provider, options: Mapping[str, str]) -> None:
    """Raise for a provider that would build an engine anew for each length of the past."""
    if provider.cache_options and not any(key.endswith("profile_max_shapes") for key in options):
        start = next(iter(provider.cache_options)).partition("_")[0]
        low, usual, high = (f"{start}_profile_{end}_shapes" for end in ("min", "opt", "max"))
        what = f"{provider.name} would build an engine for each token"
        why = "no option gives the range of lengths"
        raise UnsupportedError(what, why=why, hint=f"{low}, {usual} and {high}")


class DecodeSession(OrtSession):
    """A session of which each step generates tokens from the prompt that was bound.

    Attributes:
        loop: The requests, with the tokens of the last one.
    """

    def __init__(self, ort: Any, job: Job, setup: Setup) -> None:
        check_growing(setup.provider, job.backend.options)
        super().__init__(ort, job, setup)
        self.loop = varying_shapes.DecodeLoop(job.workload.mode.decode or 0, self._run)
        self._outputs = {one.name: dtype_of(one.type) for one in self.session.get_outputs()}
        self._presents, self._logits = varying_shapes.require_presents(
            job.subject.name, self._types, self._outputs
        )
        self._place = ("cuda", self._index) if setup.provider.on_cuda else ("cpu", 0)
        self._last: dict[str, Any] = {}
        if self._in_flight > 1 or self._asked.call:
            raise UnsupportedError("generating tokens", why="one request at a time generates them")
        if self._is_graph:
            what = "a CUDA graph cannot generate tokens"
            raise UnsupportedError(what, why="shapes grow with each", hint="--graph off")

    @property
    def mode(self) -> Mode:
        return replace(super().mode, decode=self.loop.tokens)

    def bind(self, feeds: Feeds) -> None:
        """Keep the prompt, the past before it included."""
        self._arrays = feeds.arrays
        with translated("binding the inputs"):
            self._first_values = host_values(
                self._ort, self.input_specs, feeds.arrays, feeds.shapes
            )
        shapes = {name: values.shape for name, values in feeds.arrays.items()}
        integers = (name for name, values in feeds.arrays.items() if values.dtype.kind == "i")
        self._prompt = varying_shapes.prompt_of(shapes, integers)

    def _guarded(self) -> None:
        with translated("generating the first tokens"):
            self.loop.request()

    def _run(self, number: int, chosen: Array | None) -> Array:
        fed = self._first_values
        if chosen is not None:
            values = self._prompt.values_after(number, chosen, self._arrays)
            make = self._ort.OrtValue.ortvalue_from_numpy
            past = {name: self._last[present] for name, present in self._presents.items()}
            fed = {**fed, **past, **{name: make(one) for name, one in values.items()}}
        binding = self.session.io_binding()
        for name, value in fed.items():
            binding.bind_ortvalue_input(name, value)
        for name in self._outputs:
            binding.bind_output(name, *self._place)
        self.session.run_with_iobinding(binding)
        self._last = dict(zip(self._outputs, binding.get_outputs(), strict=True))
        return varying_shapes.largest(self._last[self._logits].numpy(), self._prompt.rows)

    def settle(self) -> None:
        if self._memory is not None:
            self._memory.stop()
        self.step = self.loop.request

    def recorder(self) -> varying_shapes.DecodeRecorder:
        return varying_shapes.DecodeRecorder(self.loop)

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the inputs of the prompt, and the outputs of the last token."""
        outputs = (
            Tensor(name=name, shape=tuple(self._last[name].shape()), dtype=dtype)
            for name, dtype in self._outputs.items()
        )
        return super().tensors()[0], tuple(outputs)

    def notices(self) -> tuple[Notice, ...]:
        return (*super().notices(), self._prompt.notice(self.loop.tokens))

    def answers(self) -> tuple[TensorValues, ...]:
        """Return nothing: outputs of a decode loop are not compared."""
        return ()
