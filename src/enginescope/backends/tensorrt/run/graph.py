"""One enqueue as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.core.record import Record


class Captured(Record, frozen=True, kw_only=True, eq=False):
    """An executable graph, or why there is none."""

    graph: Any | None = None
    why_not: str | None = None


def capture(cuda: Cuda, enqueue: Callable[[int], bool], stream: int) -> Captured:
    """Capture `enqueue` on `stream`; the copies of inputs and outputs stay outside.

    An engine that synchronises or allocates while it runs cannot be captured.
    """
    rt = cuda.runtime
    local = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    cuda.check(rt.cudaStreamBeginCapture(stream, local), "starting a CUDA graph capture")
    accepted = enqueue(stream)
    error, graph = rt.cudaStreamEndCapture(stream)
    if error or not accepted:
        if not error:
            rt.cudaGraphDestroy(graph)
        rt.cudaGetLastError()  # clears it: what follows runs without the graph
        name = cuda.error_name(error) if error else "the enqueue failed"
        return Captured(why_not=f"the engine does something that no graph can hold ({name})")
    error, made = rt.cudaGraphInstantiate(graph, 0)
    rt.cudaGraphDestroy(graph)
    if error:
        rt.cudaGetLastError()
        return Captured(why_not=f"the graph cannot be instantiated ({cuda.error_name(error)})")
    cuda.own(rt.cudaGraphExecDestroy, made)
    return Captured(graph=made)
