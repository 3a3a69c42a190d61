"""An engine whose context changes between shapes, and between optimization profiles."""

from __future__ import annotations

import math
from time import perf_counter_ns

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.changing import Choice
from enginescope.backends.loop import Recorder
from enginescope.backends.profile_bounds import dims_text
from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.run.inference_stream import LaneMemory, capture
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job


class TrtChanges:
    """One context, as a server has it that keeps device memory small.

    A CUDA graph has one shape: it is captured again after each change, unless the mode declines
    graphs. Memory of inputs and outputs is allocated once for each shape.
    """

    providers = TrtSession.providers

    def __init__(self, libraries: Libraries, job: Job) -> None:
        asked = job.workload.mode
        self._is_graph = asked.cuda_graph is not False
        eager = replace(asked, kind="latency", cuda_graph=False)
        self._session = TrtSession(libraries, job, eager)
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
        fitting = [
            profile
            for profile, bounds in spans.items()
            if all(map(_is_within, shapes, [(tuple(low), tuple(high)) for low, _, high in bounds]))
        ]
        if fitting:
            return Choice(
                profile=min(
                    fitting, key=lambda at: sum(math.prod(high) for _, _, high in spans[at])
                )
            )
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
        if profile is not None and profile != self._active:
            parts["profile"] = self._switch(profile)
        begin = perf_counter_ns()
        memory = self._memory.get(point)
        self._memory[point] = self._lane.bind(feeds.arrays, feeds.shapes, memory)
        return {**parts, "bind": (perf_counter_ns() - begin) / 1e6}

    def _switch(self, profile: int) -> float:
        stream, begin = self._lane.compute_stream, perf_counter_ns()
        if not self._context.set_optimization_profile_async(profile, int(stream)):
            raise BackendError(f"optimization profile {profile}", why="TensorRT refused it")
        self._session.cuda.wait(stream, "switching the optimization profile")
        self._active = profile
        return (perf_counter_ns() - begin) / 1e6

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


def _is_within(shape: tuple[int, ...], bounds: tuple[tuple[int, ...], tuple[int, ...]]) -> bool:
    low, high = bounds
    return all(a <= size <= b for a, size, b in zip(low, shape, high, strict=True))
