"""Per-layer times from TensorRT's profiler, in a pass of their own.

The profiler records an event after every layer, so nothing timed elsewhere may have it on. In the
mode ``gated`` the GPU starts an inference when the host has enqueued all of it, and the same
inferences are timed before without the profiler: the difference is what the events cost.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from enginescope.backends.base import Feeds
from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.run.inference_stream import Gate, refused
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.judge.notice import Notice, Notices
from enginescope.judge.samples import Interval
from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.series import quantum
from enginescope.records.plan.plan import LayerTiming, Profile, batch_sums
from enginescope.records.run.job import Job, Mode

WARM_UP = 5
#: At least so many inferences, and then until so much time is spent on them.
LEAST = 20
MOST = 500
ENOUGH_MS = 1_000.0

Rows = list[list[tuple[str, float]]]


class Whole(NamedTuple):
    """Median time of a whole inference in ms, gated and without the profiler."""

    median_ms: float
    interval: Interval | None


def profile_layers(libraries: Libraries, job: Job, feeds: Feeds) -> tuple[Profile, Notices]:
    """Return the times of every layer over a number of inferences, without copies or graphs."""
    session = TrtSession(libraries, job, Mode(kind="latency", cuda_graph=False))
    profiler = _profiler(libraries.trt)  # lives longer than the context that calls it
    try:
        session.bind(feeds)
        session.step()
        notices = _parallel(session.engine)
        if job.profile_mode == "gated":
            try:
                return _gated(session, profiler), notices
            except UnsupportedError as error:
                cause = "layer times include time in which the GPU waited for the host"
                notices = (*notices, Notice("W-UNGATED", f"{cause}: {error}", {"why": str(error)}))
        return profile_of(*_collect(session, profiler)), notices
    finally:
        session.close()


def _profiler(trt: Any) -> Any:
    class Profiler(trt.IProfiler):  # type: ignore[misc]  # found at run time
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)
            self.seen: list[tuple[str, float]] = []

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            self.seen.append((layer_name, ms))

    return Profiler()


def _gated(session: TrtSession, profiler: Any) -> Profile:
    """Take both passes behind a gate: first without the profiler, which cannot be removed."""
    gate = Gate(session.libraries.driver, session.cuda, session.lanes[0].compute_stream)
    times = _inferences(session, gate, lambda: None)
    rows, wholes = ([], []) if gate.was_late else _collect(session, profiler, gate)
    gate.check()
    return profile_of(rows, wholes, Whole(float(np.median(times)), quantile_interval(times, 0.5)))


def _collect(
    session: TrtSession, profiler: Any, gate: Gate | None = None
) -> tuple[Rows, list[float]]:
    context = session.contexts[0]
    context.enqueue_emits_profile = False  # else the enqueue waits for the GPU
    context.profiler = profiler
    rows: Rows = []

    def report() -> None:
        profiler.seen = []
        if not context.report_to_profiler():
            raise BackendError("profiling the layers", why=session.log.why("no report"))
        if not profiler.seen:
            raise BackendError("profiling the layers", why="TensorRT reported none")
        rows.append(profiler.seen)

    wholes = _inferences(session, gate, report)
    return rows[-len(wholes) :], wholes


def _inferences(
    session: TrtSession, gate: Gate | None, after_each: Callable[[], None]
) -> list[float]:
    """Run inferences one by one, and return their GPU times in ms, those of the warm-up left out.

    Args:
        after_each: Called when an inference has ended.
    """
    rt, cuda, lane = session.cuda.runtime, session.cuda, session.lanes[0]
    begin, end = cuda.event(spin=True), cuda.event(spin=True)
    launch, arguments = lane.launches[0]
    times: list[float] = []
    for number in range(WARM_UP + MOST):
        with gate.closed() if gate else nullcontext():
            rt.cudaEventRecord(begin, lane.compute_stream)
            if refused(launch(*arguments)):
                raise lane.failure()
            rt.cudaEventRecord(end, lane.compute_stream)
        cuda.wait(lane.compute_stream, "profiling the layers")
        after_each()
        if number >= WARM_UP:
            times.append(cuda.check(rt.cudaEventElapsedTime(begin, end), "reading an event"))
        if (gate and gate.was_late) or (len(times) >= LEAST and sum(times) >= ENOUGH_MS):
            break
    return times


def profile_of(
    rows: Sequence[Sequence[tuple[str, float]]],
    wholes: Sequence[float],
    without: Whole | None = None,
) -> Profile:
    """Return the profile of inferences, each a row of layers in the order they were reported.

    Args:
        wholes: Times of the same inferences as wholes, in ms.
        without: Inferences without the profiler.
    """
    names = [name for name, _ in rows[0]] if rows else []
    if any([name for name, _ in row] != names for row in rows):
        what = "profiling the layers"
        raise BackendError(what, why="TensorRT reported other layers from one run to the next")
    times = np.array([[ms for _, ms in row] for row in rows], dtype=np.float64)
    times = times.reshape(len(rows), len(names))
    totals = times.sum(axis=0)
    whole = float(totals.sum())
    layers = tuple(
        LayerTiming(
            index=index,
            name=name,
            mean_ms=float(times[:, index].mean()),
            median_ms=float(np.median(times[:, index])),
            interval=quantile_interval(times[:, index], 0.5),
            total_ms=float(totals[index]),
            share_pct=100 * float(totals[index]) / whole if whole else None,
        )
        for index, name in enumerate(names)
    )
    mean = float(np.mean(wholes)) if wholes else None
    steps = [step for step in map(quantum, times.T if rows else ()) if step]
    half_step = float(np.median(steps)) / 2 if steps else 0.0
    return Profile(
        source="tensorrt",
        layers=layers,
        iterations=len(rows),
        whole_ms=mean,
        mode="trtexec" if without is None else "gated",
        gated_ms=without.median_ms if without else None,
        gated_interval=without.interval if without else None,
        batch_sums_ms=batch_sums(times),
        resolution_ms=(half_step, half_step),
    )


def _parallel(engine: Any) -> Notices:
    if not (streams := getattr(engine, "num_aux_streams", 0)):
        return ()
    together = "layers may run at the same time, and their times then add up to more than the whole"
    message = f"the engine uses {streams} auxiliary streams: {together}"
    return (Notice("W-PARALLEL-LAYERS", message, {"aux_streams": streams}),)
