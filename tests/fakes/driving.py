"""TensorRT's and CUDA's calls in the order in which any program makes them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

Spans = dict[str, tuple[tuple[int, ...], ...]]
BATCHES: Spans = {"x": ((1, 4), (2, 4), (8, 4))}


def recorder(trt: Any, lines: list[str]) -> Any:
    """Return a logger that keeps what is at least a warning."""

    class Recorder(trt.ILogger):
        def log(self, severity: Any, msg: str) -> None:
            if int(severity) <= int(trt.ILogger.WARNING):
                lines.append(msg)

    return Recorder()


class Build:
    """A build step by step; `log` has its warnings and errors."""

    def __init__(self, fake: SimpleNamespace, path: Path, *, strongly_typed: bool = False) -> None:
        trt = fake.trt
        self.trt, self.log = trt, []
        self.logger = recorder(trt, self.log)
        self.builder = trt.Builder(self.logger)
        flags = trt.NetworkDefinitionCreationFlag
        wanted = 1 << int(flags.EXPLICIT_BATCH) if hasattr(flags, "EXPLICIT_BATCH") else 0
        wanted |= 1 << int(flags.STRONGLY_TYPED) if strongly_typed else 0
        self.network = self.builder.create_network(wanted)
        self.parser = trt.OnnxParser(self.network, self.logger)
        self.parsed = self.parser.parse_from_file(str(path))
        self.config = self.builder.create_builder_config()

    def add_profile(self, spans: Spans) -> int:
        profile = self.builder.create_optimization_profile()
        for name, span in spans.items():
            profile.set_shape(name, *span)
        return self.config.add_optimization_profile(profile)

    def plan(self) -> bytes | None:
        made = self.builder.build_serialized_network(self.network, self.config)
        return None if made is None else bytes(memoryview(made))


def plan_of(fake: SimpleNamespace, path: Path, spans: Spans | None = None) -> bytes:
    """Return a plan of a model with default settings, every layer told."""
    build = Build(fake, path)
    assert build.parsed, build.log
    build.config.profiling_verbosity = fake.trt.ProfilingVerbosity.DETAILED
    if spans:
        build.add_profile(spans)
    found = build.plan()
    assert found is not None, build.log
    return found


class Gpu:
    """The CUDA runtime with its errors as assertions."""

    def __init__(self, fake: SimpleNamespace) -> None:
        self.rt = fake.cuda

    def ok(self, answer: tuple[Any, ...]) -> Any:
        error, *values = answer
        assert error == self.rt.cudaError_t.cudaSuccess, error
        return values[0] if len(values) == 1 else values

    def failed(self, answer: tuple[Any, ...]) -> str:
        """Return the name of the error that a call must give."""
        error, *values = answer
        assert error != self.rt.cudaError_t.cudaSuccess
        assert all(one is None for one in values)
        return error.name

    def to_device(self, array: Any) -> int:
        address = self.ok(self.rt.cudaMalloc(max(array.nbytes, 1)))
        kind = self.rt.cudaMemcpyKind.cudaMemcpyHostToDevice
        self.ok(self.rt.cudaMemcpy(address, array, array.nbytes, kind))
        return address

    def to_host(self, address: int, like: Any) -> Any:
        found = np.empty_like(like)
        kind = self.rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
        self.ok(self.rt.cudaMemcpy(found, address, found.nbytes, kind))
        return found


class Run:
    """An engine with one context and a stream; `log` has its warnings and errors."""

    def __init__(self, fake: SimpleNamespace, plan: bytes) -> None:
        self.trt, self.gpu, self.log = fake.trt, Gpu(fake), []
        self.logger = recorder(fake.trt, self.log)
        self.runtime = fake.trt.Runtime(self.logger)
        self.engine = self.runtime.deserialize_cuda_engine(plan)
        assert self.engine is not None, self.log
        self.context = self.engine.create_execution_context()
        self.stream = self.gpu.ok(fake.cuda.cudaStreamCreate())
        self.addresses: dict[str, int] = {}

    def bind(self, **arrays: Any) -> None:
        """Set inputs, shapes and values; bind memory for outputs of known shape."""
        for name, array in arrays.items():
            if -1 in tuple(self.engine.get_tensor_shape(name)):
                assert self.context.set_input_shape(name, array.shape), self.log
            self.addresses[name] = self.gpu.to_device(array)
            assert self.context.set_tensor_address(name, self.addresses[name])
        for name in self.outputs():
            shape = tuple(self.context.get_tensor_shape(name))
            if -1 not in shape:
                size = int(np.prod(shape)) * 8
                self.addresses[name] = self.gpu.ok(self.gpu.rt.cudaMalloc(size))
                assert self.context.set_tensor_address(name, self.addresses[name])

    def outputs(self) -> list[str]:
        names = [self.engine.get_tensor_name(at) for at in range(self.engine.num_io_tensors)]
        wanted = self.trt.TensorIOMode.OUTPUT
        return [name for name in names if self.engine.get_tensor_mode(name) == wanted]

    def enqueue(self) -> bool:
        return self.context.execute_async_v3(int(self.stream))

    def wait(self) -> None:
        self.gpu.ok(self.gpu.rt.cudaStreamSynchronize(self.stream))

    def output(self, name: str, shape: tuple[int, ...]) -> Any:
        return self.gpu.to_host(self.addresses[name], np.empty(shape, np.float32))

    def graph(self) -> Any:
        rt = self.gpu.rt
        mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        self.gpu.ok(rt.cudaStreamBeginCapture(self.stream, mode))
        assert self.enqueue()
        return self.gpu.ok(
            rt.cudaGraphInstantiate(self.gpu.ok(rt.cudaStreamEndCapture(self.stream)), 0)
        )
