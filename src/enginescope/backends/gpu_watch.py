"""Looks at the GPU of a session: around the timed loop, and in a pass of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from enginescope.backends.base import ProgressSink
from enginescope.backends.loop import CHUNK_MS, Recorder
from enginescope.core.errors import EnginescopeError
from enginescope.judge.notice import Notice
from enginescope.probe.nvml import computing_pids
from enginescope.probe.processes import others_among
from enginescope.probe.telemetry.sampler import Sample, Sampler
from enginescope.probe.telemetry.sampler_sources import open_sampler
from enginescope.probe.telemetry.sampling import Sampling, now_ms, series_of
from enginescope.records.progress import Progress
from enginescope.records.run.job import TelemetryRule
from enginescope.records.run.telemetry import GpuProcess, GpuTelemetry, Span, Telemetry

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
        """Keep the processes on the GPU that are not ours."""
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
                self._idle()
                issued = _Issuing(recorder, progress, rule)
                issued.run_for(rule.settle_ms)
                before, begun_ms = recorder.issued, now_ms()
                issued.run_for(rule.duration_ms)
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

    def _idle(self) -> None:
        time.sleep(self._rule.settle_ms / 1e3)
        begun_ms = now_ms()
        time.sleep(self._rule.idle_ms / 1e3)
        self._spans.append(Span(kind="idle", from_ms=begun_ms, to_ms=now_ms()))

    def _read(self) -> None:
        if self._sampler is not None:
            self._times_ms.append(now_ms())
            self._readings.append(self._sampler.clock())


class _Issuing:
    """Runs requests for a time."""

    def __init__(self, recorder: Recorder, progress: ProgressSink, rule: TelemetryRule) -> None:
        self._recorder = recorder
        self._progress = progress
        self._whole_ms = rule.whole_ms
        self._begun_ms = now_ms() - rule.settle_ms - rule.idle_ms

    def run_for(self, duration_ms: float) -> None:
        until = now_ms() + duration_ms
        count = 1
        while (left_ms := until - now_ms()) > 0:
            begun_ms = now_ms()
            self._recorder.run(count)
            each_ms = max((now_ms() - begun_ms) / count, 1e-4)
            count = max(1, int(min(CHUNK_MS, left_ms) / each_ms))
            self._progress(
                Progress(
                    phase="telemetry", elapsed_ms=now_ms() - self._begun_ms, limit_ms=self._whole_ms
                )
            )
