"""The moment that both clocks count from: the host's and the GPU's."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.run.inference_stream import InferenceStream


class Origin:
    """An event and a reading of the host's clock, taken together before the warm-up.

    Attributes:
        ns: The host's clock when `event` was recorded on an idle stream.
    """

    def __init__(self, cuda: Cuda, lanes: Sequence[InferenceStream]) -> None:
        rt, stream = cuda.runtime, lanes[0].compute_stream
        self.event = cuda.event(spin=True)
        cuda.wait(stream, "starting the clocks")
        cuda.check(rt.cudaEventRecord(self.event, stream), "starting the clocks")
        self.ns = perf_counter_ns()
        cuda.check(rt.cudaEventSynchronize(self.event), "starting the clocks")
