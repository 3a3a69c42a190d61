"""The yardstick of ``gpu_loop.py``: trtexec's two-slot loop, written by hand and nothing else.

python benchmarks/bare_gpu_loop.py ENGINE SECONDS GRAPH   prints queries/s and the median GPU
compute time in milliseconds. One stream, spinning waits, no copies; GRAPH is 0 or 1.
"""

import sys
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import tensorrt as trt
from cuda.bindings import runtime as rt


def made(result: tuple[Any, ...]) -> Any:
    """What a call gives; an error ends the program."""
    if result[0]:
        sys.exit(f"CUDA: {result[0].name}")
    return result[1] if len(result) > 1 else None


def prepared(path: str, stream: int) -> tuple[Any, Any, Any]:
    """A context with its memory bound."""
    logger = trt.Logger(trt.Logger.ERROR)
    trt.init_libnvinfer_plugins(logger, "")
    runtime = trt.Runtime(logger)
    engine = runtime.deserialize_cuda_engine(Path(path).read_bytes())
    context = engine.create_execution_context()
    for index in range(engine.num_io_tensors):
        name = engine.get_tensor_name(index)
        kind = trt.nptype(engine.get_tensor_dtype(name))
        # zeros would run faster than real values
        values = np.random.default_rng(0).uniform(-1, 1, tuple(context.get_tensor_shape(name)))
        data = values.astype(kind)
        address = made(rt.cudaMalloc(data.nbytes))
        to_device = rt.cudaMemcpyKind.cudaMemcpyHostToDevice
        made(rt.cudaMemcpy(address, data.ctypes.data, data.nbytes, to_device))
        context.set_tensor_address(name, int(address))
    context.execute_async_v3(stream)
    made(rt.cudaStreamSynchronize(stream))
    return runtime, engine, context


def captured(context: Any, stream: int) -> Any:
    """The enqueue as a graph."""
    local = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    made(rt.cudaStreamBeginCapture(stream, local))
    context.execute_async_v3(stream)
    return made(rt.cudaGraphInstantiate(made(rt.cudaStreamEndCapture(stream)), 0))


def main(path: str, seconds: float, *, graph: bool) -> None:
    """Measure one engine."""
    made(rt.cudaSetDevice(0))
    stream = made(rt.cudaStreamCreate())
    keep = prepared(path, int(stream))
    context = keep[2]
    if graph:
        launch, arguments = rt.cudaGraphLaunch, (captured(context, int(stream)), stream)
    else:
        launch, arguments = context.execute_async_v3, (int(stream),)
    events = [made(rt.cudaEventCreateWithFlags(rt.cudaEventDefault)) for _ in range(4)]
    start, end, start_before, end_before = events
    record, wait, elapsed = rt.cudaEventRecord, rt.cudaEventSynchronize, rt.cudaEventElapsedTime
    times = array("d")
    for warm in (0.2, seconds):
        times = array("d")
        record(start_before, stream)
        launch(*arguments)
        record(end_before, stream)
        began = time.perf_counter()
        until = began + warm
        while time.perf_counter() < until:
            record(start, stream)
            launch(*arguments)
            record(end, stream)
            wait(end_before)
            times.append(elapsed(start_before, end_before)[1])
            start, end, start_before, end_before = start_before, end_before, start, end
        wait(end_before)
        spent = time.perf_counter() - began
    print(len(times) / spent, np.median(times))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), graph=sys.argv[3] == "1")
