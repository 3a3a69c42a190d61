"""A session of ONNX Runtime that changes between shapes."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from enginescope.backends.base import Feeds
from enginescope.backends.changing import Choice
from enginescope.backends.loop import Recorder, StepRecorder
from enginescope.backends.onnxruntime.providers.missing import translated
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.requests import Request, request_for
from enginescope.backends.onnxruntime.session import OrtSession
from enginescope.core.errors import UnsupportedError
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job


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
            raise UnsupportedError(
                "changing shapes with a CUDA graph of ONNX Runtime",
                why="it replays the shape that it captured",
                hint="omit the option of the CUDA graph",
            )
        self.input_specs = self._opened.input_specs
        self.providers = self._opened.providers
        self._requests: dict[int, Request] = {}
        self._settled: set[int] = set()
        self._point = -1

    def choice(self, feeds: Feeds) -> Choice:
        """Return nothing: ONNX Runtime has no optimization profiles of its own."""
        del feeds
        return Choice()

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
