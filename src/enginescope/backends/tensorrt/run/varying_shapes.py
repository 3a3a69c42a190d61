"""Engines whose shapes vary: between optimization profiles, and in a decode loop.

Keys and values stay on the device: each pair of a past input and its present output has two
buffers, which change places after each token. Only tokens, masks, positions and the logits of the
last token are copied.
"""

import math
from collections.abc import Mapping
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.loop import Recorder
from enginescope.backends.profile_bounds import dims_text
from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.run.engine import LINEAR, Buffer, EngineTensor
from enginescope.backends.tensorrt.run.inference_stream import LaneMemory, capture
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.backends.varying_shapes import (
    Choice,
    DecodeLoop,
    DecodeRecorder,
    Shape,
    largest,
    prompt_of,
    require_presents,
)
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array
from enginescope.records.plan.build import DeviceMemory
from enginescope.records.run.job import Job
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import NUMPY, DataType


class TrtChanges:
    """One context, as a server has it that keeps device memory small.

    A CUDA graph has one shape: it is captured again after each change, unless the mode declines
    graphs. Memory of inputs and outputs is allocated once for each shape.
    """

    providers = TrtSession.providers

    def __init__(self, libraries: Libraries, job: Job) -> None:
        asked = job.workload.mode
        self._is_graph = asked.cuda_graph is not False
        self._session = TrtSession(libraries, job, replace(asked, kind="latency", cuda_graph=False))
        self._lane, self._context = self._session.lanes[0], self._session.contexts[0]
        self._only = job.backend.profile_index
        self._active = self._only or 0
        self._memory: dict[int, LaneMemory] = {}
        self._recorder = self._session.recorder()
        self.why_no_graph: str | None = None

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        return self._session.input_specs

    def choice(self, feeds: Feeds) -> Choice:
        """Return the narrowest profile that spans the shape."""
        engine = self._session.engine
        profiles = range(engine.num_optimization_profiles) if self._only is None else (self._only,)
        dynamic = [
            spec.name
            for spec in self.input_specs
            if None in spec.shape and spec.default_values is None
        ]
        spans = {
            profile: [engine.get_tensor_profile_shape(name, profile) for name in dynamic]
            for profile in profiles
        }
        shapes = [tuple(feeds.shapes[name]) for name in dynamic]
        sizes = {
            profile: sum(math.prod(high) for _, _, high in bounds)
            for profile, bounds in spans.items()
            if all(
                low <= size <= high
                for shape, (lows, _, highs) in zip(shapes, bounds, strict=True)
                for low, size, high in zip(lows, shape, highs, strict=True)
            )
        }
        if sizes:
            return Choice(profile=min(sizes, key=sizes.__getitem__))
        ranges = "; ".join(
            f"{name} {dims_text(tuple(low))} … {dims_text(tuple(high))}"
            for bounds in spans.values()
            for name, (low, _, high) in zip(dynamic, bounds, strict=True)
        )
        return Choice(why=f"outside every optimization profile ({ranges})")

    def change(self, point: int, feeds: Feeds) -> dict[str, float]:
        """Switch the profile if the shape needs another one; bind inputs and outputs."""
        parts: dict[str, float] = {}
        profile = self.choice(feeds).profile
        begin = perf_counter_ns()
        if profile is not None and profile != self._active:
            stream = self._lane.compute_stream
            if not self._context.set_optimization_profile_async(profile, int(stream)):
                raise BackendError(f"optimization profile {profile}", why="TensorRT refused it")
            self._session.cuda.wait(stream, "switching the optimization profile")
            self._active = profile
            parts["profile"] = (perf_counter_ns() - begin) / 1e6
            begin = perf_counter_ns()
        self._memory[point] = self._lane.bind(feeds.arrays, feeds.shapes, self._memory.get(point))
        return {**parts, "bind": (perf_counter_ns() - begin) / 1e6}

    def first(self) -> float:
        """Answer the first request, without a CUDA graph."""
        self._recorder.run(1)
        return float(self._recorder.times_ms(1)[0])

    def settle(self) -> dict[str, float]:
        """Capture a CUDA graph, if the engine can be captured."""
        self._lane.settle()  # outputs of unknown shape get a host side
        if not self._is_graph:
            return {}
        stream, begin = self._lane.compute_stream, perf_counter_ns()
        ((launch, arguments),) = self._lane.launches
        cuda = self._session.cuda
        captured = capture(cuda, lambda: bool(launch(*arguments)), stream)
        if captured.graph is None:
            self._is_graph, self.why_no_graph = False, captured.why_not
            return {}
        self._lane.launches = [(cuda.runtime.cudaGraphLaunch, (captured.graph, stream))]
        return {"graph": (perf_counter_ns() - begin) / 1e6}

    def recorder(self) -> Recorder:
        return self._recorder

    def notices(self) -> tuple[Notice, ...]:
        return self._session.notices()

    def close(self) -> None:
        self._session.close()


class _Past(NamedTuple):
    """A past input and its present output, with the two buffers that change places.

    Attributes:
        prompt: The past before the prompt, copied into the first buffer.
        nbytes: Of both buffers.
    """

    name: str
    present: str
    addresses: tuple[int, int]
    prompt: Buffer
    nbytes: int


class TrtDecodeSession(TrtSession):
    """A session of which each step generates tokens from the prompt that was bound.

    Attributes:
        loop: The requests, with the tokens of the last one.
    """

    def __init__(self, libraries: Libraries, job: Job) -> None:
        super().__init__(libraries, job)
        self.loop = DecodeLoop(job.workload.mode.decode or 0, self._run)
        self._by_name = {tensor.name: tensor for tensor in self._tensors}
        self._execution, self._lane = self.contexts[0], self.lanes[0]
        self._stream = self._lane.compute_stream
        self._inputs: dict[str, Buffer] = {}
        self._outputs: dict[str, Buffer] = {}
        self._past: list[_Past] = []
        self._done = self.cuda.event(spin=bool(self.mode.spin_wait))
        try:
            self._check(job.subject.name)
        except UnsupportedError:
            self.close()
            raise

    def _check(self, model: str) -> None:
        inputs = [tensor.name for tensor in self._tensors if tensor.is_input]
        outputs = [tensor.name for tensor in self._tensors if not tensor.is_input]
        self._presents, self._logits = require_presents(model, inputs, outputs)
        why, hint = None, "omit --io-formats"
        for name, present in self._presents.items():
            past, made = self._by_name[name], self._by_name[present]
            if past.shape[-2] is not None:
                why = f"the length of {name} is fixed"
                hint = "export the decoder with a past of any length"
            elif (past.dtype, past.layout) != (made.dtype, made.layout):
                why = f"{name} has another type or format than {present}"
        logits = self._by_name[self._logits]
        if logits.dtype not in NUMPY or logits.layout != LINEAR:
            why = f"{self._logits} is {logits.format_text or logits.type_text}"
        if self._options.get("managed_memory"):
            why, hint = "its buffers change places", "omit managed_memory"
        if why is not None:
            raise UnsupportedError(f"{model} cannot generate tokens", why=why, hint=hint)

    def bind(self, feeds: Feeds) -> None:
        """Allocate everything once, for the longest past."""
        self._arrays = feeds.arrays
        integers = (name for name, values in feeds.arrays.items() if values.dtype.kind == "i")
        self._prompt = prompt_of(feeds.shapes, integers)
        numbers = (0, 1, self.loop.tokens - 1)  # the ends of both ranges of shapes
        fed = [self._prompt.shapes_after(number) for number in numbers]
        for tensor in self._tensors:
            if tensor.is_input and tensor.name not in self._presents:
                shapes = [each[tensor.name] for each in fed]
                self._inputs[tensor.name] = self._take(tensor, shapes)
        made = [self._output_shapes(*step) for step in zip(numbers, fed, strict=True)]
        for tensor in self._tensors:
            if not tensor.is_input and tensor.name not in self._presents.values():
                shapes = [each[tensor.name] for each in made]
                self._outputs[tensor.name] = self._take(tensor, shapes)
        self._past = [
            self._pair(name, present, fed[0][name], [each[present] for each in made])
            for name, present in self._presents.items()
        ]

    def _take(self, tensor: EngineTensor, shapes: list[Shape]) -> Buffer:
        """Return memory for the largest of these shapes, bound."""
        if any(size < 0 for shape in shapes for size in shape):
            why, hint = f"the size of {tensor.name} depends on the values", "omit decode"
            raise UnsupportedError(f"{self._name} cannot generate tokens", why=why, hint=hint)
        buffer = Buffer(self.cuda, tensor, max(shapes, key=tensor.nbytes))
        self._lane.set_address(tensor.name, buffer.address)
        return buffer

    def _pair(self, name: str, present: str, first: Shape, made: list[Shape]) -> _Past:
        """Return two buffers for a past input and its present output, one with the prompt's."""
        tensor = self._by_name[name]
        nbytes = max(map(tensor.nbytes, made))
        addresses = self.cuda.device_buffer(nbytes), self.cuda.device_buffer(nbytes)
        prompt = Buffer(self.cuda, tensor, first, address=addresses[0])
        prompt.fill(self._arrays[name])
        return _Past(name, present, addresses, prompt, 2 * nbytes)

    def _output_shapes(self, number: int, fed: Mapping[str, Shape]) -> dict[str, Shape]:
        """Set the shapes of a step; return those of the outputs."""
        values = self._arrays
        if number:
            no_tokens = np.zeros(self._prompt.rows, np.int64)
            values = self._prompt.values_after(number, no_tokens, values)
        self._fill(values)  # the values of a shape tensor are read when shapes are inferred
        self._set_shapes(fed)
        if missing := self._execution.infer_shapes():
            raise BackendError("inferring shapes", why=f"nothing is known of {', '.join(missing)}")
        return self._shapes_now()

    def _shapes_now(self) -> dict[str, Shape]:
        outputs = (tensor.name for tensor in self._tensors if not tensor.is_input)
        return {name: tuple(self._execution.get_tensor_shape(name)) for name in outputs}

    def _set_shapes(self, shapes: Mapping[str, Shape]) -> None:
        for name, shape in shapes.items():
            if None in self._by_name[name].shape:
                self._lane.set_shape(name, shape)

    def _fill(self, values: Mapping[str, Array]) -> None:
        for name, array in values.items():
            if name in self._inputs:
                self._inputs[name].fill(array)

    def _run(self, number: int, chosen: Array | None) -> Array:
        """Run the engine after so many generated tokens; return the next one of each row."""
        if chosen is None:
            values = self._arrays
            copied = [*self._inputs.values(), *(past.prompt for past in self._past)]
        else:
            values = self._prompt.values_after(number, chosen, self._arrays)
            copied = [self._inputs[name] for name in values]
        self._fill(values)
        for copy in filter(None, (buffer.copy(self._stream) for buffer in copied)):
            self.cuda.check(copy(), "copying the inputs")
        self._set_shapes(self._prompt.shapes_after(number))
        for past in self._past:
            self._lane.set_address(past.name, past.addresses[number % 2])
            self._lane.set_address(past.present, past.addresses[1 - number % 2])
        if not self._execution.execute_async_v3(int(self._stream)):
            raise self._lane.failure()
        return self._next_tokens()

    def _next_tokens(self) -> Array:
        """Copy the logits of the last token of each row, wait, and return the largest."""
        rt, check, rows = self.cuda.runtime, self.cuda.check, self._prompt.rows
        logits = self._outputs[self._logits]
        shape = tuple(self._execution.get_tensor_shape(self._logits))
        dtype = np.dtype(NUMPY[logits.tensor.dtype or DataType.FP32])
        size, tokens = shape[-1] * dtype.itemsize, math.prod(shape[:-1]) // rows
        host, kind = int(logits.host.ctypes.data), rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
        for row in range(rows):
            last = logits.device + ((row + 1) * tokens - 1) * size
            copied = rt.cudaMemcpyAsync(host + row * size, last, size, kind, self._stream)
            check(copied, "copying the logits")
        check(rt.cudaEventRecord(self._done, self._stream), "generating a token")
        check(rt.cudaEventSynchronize(self._done), "generating a token")
        return largest(logits.host[: rows * size].view(dtype).reshape(rows, -1), rows)

    def step(self) -> None:
        self.loop.request()

    def recorder(self) -> DecodeRecorder:
        return DecodeRecorder(self.loop)

    def shapes(self) -> dict[str, Shape]:
        return {**self._prompt.shapes, **self._shapes_now()}

    def device_memory(self) -> DeviceMemory:
        """Return what the engine, its context and the buffers for the longest past take."""
        taken = super().device_memory()
        buffers = (*self._inputs.values(), *self._outputs.values())
        held = sum(buffer.nbytes for buffer in buffers if buffer.device)
        return replace(taken, buffer_bytes=held + sum(past.nbytes for past in self._past))

    def notices(self) -> tuple[Notice, ...]:
        return (*super().notices(), self._prompt.notice(self.loop.tokens))

    def answers(self) -> tuple[TensorValues, ...]:
        """Return nothing: outputs of a decode loop are not compared."""
        return ()
