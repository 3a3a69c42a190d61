"""Measure a backend that can be driven one request at a time, and watch its GPU.

The passes of a job, each on its own: load, first inference, warm-up, timed loop, telemetry, layer
profile.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from enginescope.backends.base import Feeds, FeedSource, LoadedModel, Measured, ProgressSink
from enginescope.backends.contention import MEETING, Meeting, shared_loop
from enginescope.backends.loop import (
    CHUNK_MS,
    Recorder,
    Step,
    clocked,
    timed_loop,
    warm_up,
    with_warm_up,
)
from enginescope.backends.open_loop import LoadRecorder
from enginescope.backends.profile_bounds import hinting_at_inputs
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.probe.host import CpuLossMeter, LoadMeter, peak_rss_bytes
from enginescope.probe.nvml import computing_pids
from enginescope.probe.processes import others_among
from enginescope.probe.telemetry.sampler import Sample, Sampler
from enginescope.probe.telemetry.sampler_sources import open_sampler
from enginescope.probe.telemetry.sampling import Sampling, now_ms, series_of
from enginescope.records.plan.plan import Profile
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, TelemetryRule
from enginescope.records.run.run import Phase, ProviderShare
from enginescope.records.run.telemetry import GpuProcess, GpuTelemetry, Span, Telemetry
from enginescope.records.tensor import Tensor

#: Between two looks at the clock in the timed loop.
_LOOK_MS = 100.0


@runtime_checkable
class OnGpu(Protocol):
    """A session that can say which GPU it works on."""

    @property
    def gpu(self) -> str | None:
        """Its UUID, or its number in CUDA's count; ``None``: none at all."""


class GpuLook:
    """Readings of a GPU while something works on it, and the processes beside it.

    Attributes:
        notices: Why something that was asked for is not there, or is not as elsewhere.
    """

    def __init__(self, rule: TelemetryRule) -> None:
        self.notices: list[Notice] = []
        self._rule = rule
        self._before: frozenset[int] = frozenset()
        self._sampler: Sampler | None = None
        self._times_ms: list[float] = []
        self._readings: list[Sample] = []
        self._others: dict[int, GpuProcess] = {}

    def _open(self, address: str) -> None:
        try:
            self._sampler = open_sampler(address)
        except EnginescopeError as error:
            self._missing(str(error))

    def _series(self) -> Telemetry:
        return series_of(self._times_ms, [dict(reading) for reading in self._readings])

    def _note_others(self) -> None:
        if self._sampler is not None:
            others = others_among(self._sampler.processes(), self._before)
            self._others.update({other.pid: other for other in others})

    def _missing(self, why: str) -> None:
        if self._rule.depth == "full":
            self.notices.append(Notice("W-NO-TELEMETRY", f"no telemetry of a GPU: {why}"))


class GpuWatch(GpuLook):
    """What is seen of one session's GPU. Made before the session is opened."""

    def __init__(self, rule: TelemetryRule) -> None:
        super().__init__(rule)
        if rule.depth != "off":
            self._before = computing_pids()
        self._address: str | None = None
        self._spans: list[Span] = []
        self._sampling: Sampling | None = None
        self._requests: int | None = None

    def attach(self, session: object) -> None:
        if self._rule.depth == "off":
            return
        self._address = session.gpu if isinstance(session, OnGpu) else None
        if self._address is None:
            self._missing("the model does not run on a GPU")
            return
        self._open(self._address)

    def begin(self) -> None:
        """Read clock and processes before the timed loop."""
        self._note_others()
        self._read()
        self._begun_ms = now_ms()

    def beside(self, progress: ProgressSink) -> ProgressSink:
        """Return a sink that also reads the clock: it is called between two stretches."""
        if self._sampler is None:
            return progress

        def look(state: Progress) -> None:
            progress(state)
            if now_ms() - self._times_ms[-1] >= _LOOK_MS:
                self._read()

        return look

    def end(self) -> None:
        """Read clock and processes after the timed loop."""
        if self._sampler is None:
            return
        ended_ms = now_ms()
        self._read()
        self._spans.append(Span(kind="timed", from_ms=self._begun_ms, to_ms=ended_ms))
        self._note_others()

    def repeat(self, make_recorder: Callable[[], Recorder], progress: ProgressSink) -> bool:
        """Idle, then take requests again, while a process of its own samples the GPU.

        What fails here is said; what is measured stands.

        Returns:
            Whether there was such a pass.
        """
        rule, address = self._rule, self._address
        if rule.depth != "full" or self._sampler is None or address is None:
            return False
        progress(Progress(phase="telemetry", limit_ms=rule.whole_ms, elapsed_ms=0.0))
        try:
            recorder = make_recorder()
            with Sampling(address, rule.interval_ms) as self._sampling:
                time.sleep(rule.settle_ms / 1e3)
                idle_ms = now_ms()
                time.sleep(rule.idle_ms / 1e3)
                self._spans.append(Span(kind="idle", from_ms=idle_ms, to_ms=now_ms()))
                whole_from_ms = now_ms() - rule.settle_ms - rule.idle_ms
                issue = partial(_issue, recorder, progress, rule, whole_from_ms)
                issue(rule.settle_ms)
                before, begun_ms = recorder.issued, now_ms()
                issue(rule.duration_ms)
                self._requests = recorder.issued - before
                self._spans.append(Span(kind="load", from_ms=begun_ms, to_ms=now_ms()))
        except (EnginescopeError, MemoryError) as error:
            self._missing(f"the pass failed: {error}")
        self._note_others()
        return True

    def result(self) -> GpuTelemetry | None:
        """Return what was seen, and let go of the GPU; ``None`` without one."""
        if self._sampler is None:
            return None
        self._sampler.close()
        timed = self._series()
        return GpuTelemetry(
            gpu=self._sampler.gpu,
            timed=timed if timed.channels else None,
            series=self._sampling.series if self._sampling else None,
            spans=tuple(self._spans),
            requests=self._requests,
            interval_ms=self._rule.interval_ms if self._sampling else None,
            others=tuple(self._others.values()),
        )

    def _read(self) -> None:
        if self._sampler is not None:
            self._times_ms.append(now_ms())
            self._readings.append(self._sampler.clock())


def _issue(
    recorder: Recorder, progress: ProgressSink, rule: TelemetryRule, from_ms: float, for_ms: float
) -> None:
    until, count = now_ms() + for_ms, 1
    while (left_ms := until - now_ms()) > 0:
        begun_ms = now_ms()
        recorder.run(count)
        each_ms = max((now_ms() - begun_ms) / count, 1e-4)
        count = max(1, int(min(CHUNK_MS, left_ms) / each_ms))
        progress(Progress(phase="telemetry", elapsed_ms=now_ms() - from_ms, limit_ms=rule.whole_ms))


#: Untimed requests of each further worker of a load test.
FURTHER_WARM_UP = 20


class Session(LoadedModel, Protocol):
    """A loaded model that answers one request per step."""

    @property
    def placement(self) -> tuple[ProviderShare, ...]:
        """Which provider took how many nodes; empty when the runtime does not say."""

    def bind(self, feeds: Feeds) -> None:
        """Place the inputs where the step reads them."""

    def settle(self) -> None:
        """After the first step: allocate the outputs once, for every further step."""

    @property
    def step(self) -> Step:
        """One request, input to answer. Called in the timed loop with nothing around it."""

    def recorder(self) -> Recorder:
        """Return a new recorder of the step; asked for after `settle`."""

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as they are fed and received."""


class _Watched(NamedTuple):
    """A session, what looks at its GPU, and sessions of further workers of a load test."""

    session: Session
    watch: GpuWatch
    further: list[Session]


_Profiled: TypeAlias = tuple[Profile, tuple[Notice, ...]]
ProfilePass: TypeAlias = Callable[[Job, Feeds], _Profiled]
#: Adds to what was measured what only this kind of session knows.
Complete: TypeAlias = Callable[[Measured, Any, Recorder], Measured]


def measure(
    job: Job,
    open_session: Callable[[Job], Session],
    feeds: FeedSource,
    progress: ProgressSink,
    profile_pass: ProfilePass | None = None,
    complete: Complete | None = None,
) -> Measured:
    """Run all passes of `job` over one session and return what they gave."""
    progress(Progress(phase="load"))
    watch = GpuWatch(job.telemetry)
    mode = job.workload.mode
    if job.load is not None and mode.transfers is None:
        # a query brings its inputs and takes its outputs: a session then has one step
        job = replace(job, workload=replace(job.workload, mode=replace(mode, transfers=True)))
    session, load_ms = clocked(lambda: open_session(job))
    watched = _Watched(session, watch, [])
    try:
        rule = job.load
        for _ in range(rule.workers - 1 if rule else 0):
            watched.further.append(open_session(job))
        measured, fed = _over_session(job, watched, feeds, progress, complete)
        measured = _with_gpu(measured, watched, progress)
    finally:
        session.close()
        while watched.further:
            watched.further.pop().close()
    measured = replace(measured, phases=(Phase(name="load", duration_ms=load_ms), *measured.phases))
    if profile_pass is None or not job.layer_profile:
        return measured
    del session, watched  # the pass opens one of its own: two at a time may be more than fits
    progress(Progress(phase="layer_profile"))
    return _with_layers(measured, lambda: profile_pass(job, fed))


def _over_session(
    job: Job,
    watched: _Watched,
    feeds: FeedSource,
    progress: ProgressSink,
    complete: Complete | None,
) -> tuple[Measured, Feeds]:
    session, watch, further = watched
    fed = feeds(session.input_specs)
    session.bind(fed)
    progress(Progress(phase="first_inference"))
    with hinting_at_inputs(fed.random_integers, fed.notices):
        _, first_ms = clocked(session.step)
    session.settle()
    for other in further:
        other.bind(fed)
        other.step()
        other.settle()

    meeting = MEETING.get() if job.contention is not None else None
    if meeting is not None:
        meeting.loaded()
    warming = session.recorder()
    watch.attach(session)
    warmup_report = warm_up(warming, job.workload.warmup, progress)
    meter, losses = LoadMeter(), CpuLossMeter()
    watch.begin()
    recorder, timed = _timed_loop(job, watched, warming, meeting, progress)
    watch.end()
    assert timed.stop is not None
    other_load, cpu_loss = meter.other_cores(), losses.loss()
    inputs, outputs = session.tensors()
    measured = replace(
        timed,
        phases=(
            Phase(name="first_inference", duration_ms=first_ms),
            Phase(name="warm_up", duration_ms=warmup_report.duration_ms),
            Phase(name="steady_state", duration_ms=timed.stop.duration_ms),
        ),
        inputs=inputs,
        outputs=outputs,
        batch=fed.batch,
        warmup=warmup_report,
        peak_memory_bytes=peak_rss_bytes(),
        other_load_cores=other_load,
        cpu_loss=cpu_loss,
        providers=session.providers,
        placement=session.placement,
        notices=(*fed.notices, *session.notices()),
    )
    if complete is not None:
        measured = complete(measured, session, recorder)
    if timed.load is not None and measured.mode is not None:  # queries overlap
        measured = replace(measured, mode=replace(measured.mode, in_flight=None))
    return measured, fed


def _timed_loop(
    job: Job, watched: _Watched, warming: Recorder, meeting: Meeting | None, progress: ProgressSink
) -> tuple[Recorder, Measured]:
    """Run the loop of the job: a load test, a window of several contenders, or the stop rule's."""
    recorder = _recorder(job, watched, warming)
    if isinstance(recorder, LoadRecorder):
        stop = recorder.serve(progress)
        return recorder, Measured(stop=stop, samples=recorder.samples(), load=recorder.outcome())
    watching = watched.watch.beside(progress)
    if meeting is not None:
        return recorder, shared_loop(recorder, warming, meeting, watching)
    stop = timed_loop(recorder, job.workload.stop, watching, warming)
    return recorder, Measured(stop=stop, samples=with_warm_up(recorder, warming))


def _recorder(job: Job, watched: _Watched, warming: Recorder) -> Recorder:
    """Return what takes the samples: of the session, or of a load test on all sessions."""
    rule = job.load
    recorder = watched.session.recorder()
    if rule is None:
        return recorder
    for other in watched.further:
        other.recorder().run(min(len(warming), FURTHER_WARM_UP))
    recorders = (recorder, *(other.recorder() for other in watched.further))
    steady = warming.times_ms(-(-len(warming) // 2)) if len(warming) else warming.times_ms()
    return LoadRecorder(recorders, rule, steady)


def _with_gpu(measured: Measured, watched: _Watched, progress: ProgressSink) -> Measured:
    """Repeat the loop under sampling, if that was asked for, and add what the GPU has reported."""
    session, watch = watched.session, watched.watch
    repeated, duration_ms = clocked(partial(watch.repeat, session.recorder, progress))
    if repeated:
        phase = Phase(name="telemetry", duration_ms=duration_ms)
        measured = replace(measured, phases=(*measured.phases, phase))
    return replace(measured, gpu=watch.result(), notices=(*measured.notices, *watch.notices))


def _with_layers(measured: Measured, run_pass: Callable[[], _Profiled]) -> Measured:
    """Add what a profile pass gives; if it fails, say so and keep what is measured."""
    try:
        (profile, remarks), duration_ms = clocked(run_pass)
    except (EnginescopeError, MemoryError) as error:
        message = f"the pass that times the layers failed: {error}"
        failure = Notice("W-NO-LAYERS", message, {"error": type(error).__name__})
        return replace(measured, notices=(*measured.notices, failure))
    phases = (*measured.phases, Phase(name="layer_profile", duration_ms=duration_ms))
    return replace(measured, profile=profile, phases=phases, notices=(*measured.notices, *remarks))
