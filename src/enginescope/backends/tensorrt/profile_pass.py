"""Per-layer times from TensorRT's profiler, in a pass of their own.

The profiler synchronizes after every layer, so nothing timed elsewhere may have it on. A report is
asked for after each enqueue; the stream outlives the profiler, which would crash otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.backends.base import Feeds
from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.backends.tensorrt.run.inference_stream import refused
from enginescope.backends.tensorrt.run.session import TrtSession
from enginescope.core.errors import BackendError
from enginescope.records.notice import Notice
from enginescope.records.plan.plan import LayerTiming, Profile, batch_sums
from enginescope.records.run.job import Job, Mode
from enginescope.stats.series import quantum

WARM_UP = 5
#: At least so many inferences, and then until so much time is spent on them.
LEAST = 20
MOST = 500
ENOUGH_MS = 2_000.0


def profile_layers(
    libraries: Libraries, job: Job, feeds: Feeds
) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the times of every layer over a number of inferences, without copies or graphs.

    Raises:
        BackendError: TensorRT failed, or reported other layers from one inference to the next.
    """
    mode = Mode(kind="latency", cuda_graph=False)
    session = TrtSession(libraries, job, mode)
    try:
        session.bind(feeds)
        session.step()
        return _collect(session)
    finally:
        for context in session.contexts:
            context.profiler = None
        session.close()


def _collect(session: TrtSession) -> tuple[Profile, tuple[Notice, ...]]:
    trt, lane, context = session.libraries.trt, session.lanes[0], session.contexts[0]

    class Profiler(trt.IProfiler):  # type: ignore[misc,name-defined]  # found at run time
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)
            self.seen: list[tuple[str, float]] = []

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            self.seen.append((layer_name, ms))

    profiler = Profiler()
    context.enqueue_emits_profile = False
    context.profiler = profiler
    rt, cuda = session.cuda.runtime, session.cuda
    begin, end = cuda.event(spin=True), cuda.event(spin=True)
    rows: list[list[tuple[str, float]]] = []
    wholes: list[float] = []
    spent = 0.0
    launch, arguments = lane.launches[0]
    for number in range(WARM_UP + MOST):
        profiler.seen = []
        rt.cudaEventRecord(begin, lane.compute_stream)
        if refused(launch(*arguments)):
            raise lane.failure()
        rt.cudaEventRecord(end, lane.compute_stream)
        cuda.wait(lane.compute_stream, "profiling the layers")
        if not context.report_to_profiler():
            raise BackendError("profiling the layers", why=session.log.why("no report"))
        if number < WARM_UP:
            continue
        if not profiler.seen:
            raise BackendError("profiling the layers", why="TensorRT reported none")
        wholes.append(cuda.check(rt.cudaEventElapsedTime(begin, end), "reading an event"))
        rows.append(profiler.seen)
        spent += wholes[-1]
        if len(rows) >= LEAST and spent >= ENOUGH_MS:
            break
    return profile_of(rows, wholes), _parallel(session.engine)


def profile_of(rows: Sequence[Sequence[tuple[str, float]]], wholes: Sequence[float]) -> Profile:
    """Return the profile of inferences, each a row of layers in the order they were reported.

    Raises:
        BackendError: The rows do not name the same layers: their times cannot be put together.
    """
    names = [name for name, _ in rows[0]] if rows else []
    if any([name for name, _ in row] != names for row in rows):
        raise BackendError(
            "profiling the layers", why="TensorRT reported other layers from one run to the next"
        )
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
        batch_sums_ms=batch_sums(times),
        resolution_ms=(half_step, half_step),
    )


def _parallel(engine: Any) -> tuple[Notice, ...]:
    streams = getattr(engine, "num_aux_streams", 0)
    if not streams:
        return ()
    return (
        Notice(
            code="W-PARALLEL-LAYERS",
            message=f"the engine uses {streams} auxiliary streams: layers may run at the same "
            "time, and their times then add up to more than the whole",
            evidence={"aux_streams": streams},
        ),
    )
