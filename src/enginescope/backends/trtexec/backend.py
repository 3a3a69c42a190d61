"""The backend called ``trtexec``: one process of NVIDIA's tool for each job, watched on the GPU."""

from __future__ import annotations

import re
import threading

from enginescope.backends.base import (
    Availability,
    FeedSource,
    Measured,
    ProgressSink,
    check_named_files,
)
from enginescope.backends.profile_bounds import hinting_at_inputs
from enginescope.backends.stepwise import GpuLook
from enginescope.backends.trtexec import process
from enginescope.backends.trtexec.command import check_options, command_for
from enginescope.backends.trtexec.outcome import measured_from
from enginescope.core.errors import EnginescopeError, UnsupportedError
from enginescope.core.process_control import PeriodicThread
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.trtexec.trtexec_flags import newer_release_text
from enginescope.judge.notice import Notice
from enginescope.probe.nvml import computing_pids
from enginescope.probe.telemetry.sampling import now_ms
from enginescope.records.run.job import BackendSpec, Job, TelemetryRule
from enginescope.records.run.telemetry import GpuTelemetry, Span, SpanKind


class TrtexecBackend:
    """trtexec 8.6, 10.x or 11.x, where one is installed."""

    mode_fields = frozenset(
        {"kind", "in_flight", "transfers", "cuda_graph", "spin_wait", "streams", "idle_ms"}
    )

    def check(self, spec: BackendSpec) -> None:
        """Refuse a precision, an option or an argument that no version takes."""
        check_options(spec)

    def require(self, spec: BackendSpec) -> None:
        """Say that there is no trtexec, or not where the specification has it, or a file is not."""
        check_named_files(spec, one=("refit_from",), several=("plugins", "serialize_plugins"))
        process.find_binary(spec.options.get("binary"))

    def availability(self) -> Availability:
        """Say which trtexec is there, asking it for its version alone."""
        try:
            binary = process.find_binary()
            version = process.version_of(binary)
        except EnginescopeError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        newer = newer_release_text(version)
        more = f"; {newer}" if newer else ""
        return Availability(
            usable=True, detail=f"TensorRT {process.dotted(version)}: {binary}{more}"
        )

    def prepare(self) -> None:
        """Nothing to import; the binary depends on the job."""

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Build where needed, measure, profile and inspect: all in one run of trtexec."""
        if job.subject.kind not in ("onnx", "engine") or job.subject.path is None:
            what = f"trtexec cannot run {job.subject.name}"
            raise UnsupportedError(what, why="it is neither an ONNX model nor an engine")
        binary = process.find_binary(job.backend.options.get("binary"))
        version = process.version_of(binary)
        with temporary_folder() as folder:
            command = command_for(binary, version, job, feeds, folder)
            named = [one for one in command.arguments if one.startswith("--device=")]
            # in CUDA's count
            device = named[-1].partition("=")[2] if named else "0"
            with GpuBeside(job.telemetry, device) as gpu:
                ended = process.run(
                    command.arguments,
                    command.expected_ms,
                    progress,
                    profiles=job.layer_profile,
                    beside=gpu,
                )
            with hinting_at_inputs(command.fed.random_integers):
                measured = measured_from(ended, command, job, version, folder)
        seen = gpu.result()
        notices = (*measured.notices, *gpu.notices)
        return replace(
            measured, peak_memory_bytes=process.peak_of_children_bytes(), gpu=seen, notices=notices
        )


#: Between two looks at the clock alone.
_LOOK_MS = 100.0
#: Readings are kept from so long before the timed loop until so long after it.
_AROUND_MS = 500.0
_BEGINS = "Starting inference"
_BUILT = ("Engine built in", "Engine loaded in", "Engine deserialized in")
_WARMED = "Warmup completed"
_TRACE = re.compile(r"Timing trace has (\d+) queries over (\S+) s")


class GpuBeside(GpuLook):
    """Reads a GPU between ``with`` and its end.

    Args:
        address: The GPU's number in CUDA's count.
    """

    def __init__(self, rule: TelemetryRule, address: str) -> None:
        super().__init__(rule)
        self._address = address
        self._pid = 0
        self._begun_ms: float | None = None
        self._ended_ms: float | None = None
        self._timed: tuple[int, float] | None = None
        self._is_built = threading.Event()
        self._is_full = rule.depth == "full"
        each_ms = rule.interval_ms if self._is_full else _LOOK_MS
        self._looks = PeriodicThread(self._look, each_ms / 1e3)

    def __enter__(self) -> GpuBeside:
        if self._rule.depth == "off":
            return self
        self._before = computing_pids()
        self._open(self._address)
        if self._sampler is not None:
            self._looks.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._looks.stop()
        if self._sampler is not None:
            self._sampler.close()

    def started(self, pid: int) -> None:
        """Take the number of trtexec's process."""
        self._pid = pid

    def take(self, line: str) -> None:
        """Learn from a line, as it comes, how far trtexec is."""
        if any(words in line for words in _BUILT):
            self._is_built.set()
        elif _BEGINS in line:
            self._is_built.set()
            self._note_others()
            self._begun_ms = now_ms()
        elif _WARMED in line and self._ended_ms is None:
            self._ended_ms = now_ms()
            self._note_others()
        elif found := _TRACE.search(line):
            self._timed = int(found[1]), 1e3 * float(found[2])

    def result(self) -> GpuTelemetry | None:
        """Return what was seen of the timed loop; ``None`` without a GPU, or without the loop."""
        if self._sampler is None:
            return None
        if self._begun_ms is None or self._ended_ms is None or self._timed is None:
            self._missing("trtexec did not print when it measured")
            return None
        queries, lasted_ms = self._timed
        begun_ms = max(self._begun_ms, self._ended_ms - lasted_ms)
        around = self._series().between(begun_ms - _AROUND_MS, self._ended_ms + _AROUND_MS)
        if self._is_full:
            sampled = "the GPU was sampled during the timed loop, because trtexec runs it once"
            message = f"{sampled}; the idle power is unknown"
            evidence = {"interval_ms": self._rule.interval_ms}
            self.notices.append(Notice("I-SAMPLED-BESIDE", message, evidence))
        kinds: tuple[SpanKind, ...] = ("timed", "load") if self._is_full else ("timed",)
        return GpuTelemetry(
            gpu=self._sampler.gpu,
            timed=around if around.channels else None,
            series=around if self._is_full and around.channels else None,
            spans=tuple(Span(kind=one, from_ms=begun_ms, to_ms=self._ended_ms) for one in kinds),
            requests=queries if self._is_full else None,
            interval_ms=self._rule.interval_ms if self._is_full else None,
            others=tuple(self._others.values()),
        )

    def _look(self) -> None:
        """Read once, if the engine is built: no build is read."""
        sampler = self._sampler
        if sampler is None or not self._is_built.is_set():
            return
        at = now_ms()
        self._readings.append(sampler.sample(self._pid) if self._is_full else sampler.clock())
        self._times_ms.append(at)
