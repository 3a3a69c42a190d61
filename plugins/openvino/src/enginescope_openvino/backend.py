"""The backend called ``openvino``."""

from __future__ import annotations

from functools import partial
from time import perf_counter, perf_counter_ns
from typing import Any

from enginescope.backends.base import Availability, Feeds, FeedSource, Measured, ProgressSink
from enginescope.backends.loop import Recorder
from enginescope.backends.stepwise import measure
from enginescope.core.errors import MissingDependencyError, UnsupportedError
from enginescope.core.optional import require
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.run.job import BackendSpec, Job
from enginescope_openvino.options import PRECISIONS, check_spec, device_of, spec_properties
from enginescope_openvino.runtime_graph import executed_plan, profile_of
from enginescope_openvino.session import OpenVinoSession

#: Requests of the pass that times nodes.
_MIN_RUNS, _MAX_RUNS, _MAX_S = 5, 200, 2.0
#: Requests before it.
_UNTIMED = 5
#: What OpenVINO reads; a model of several files is read by the first.
_KINDS = frozenset({"onnx"})


class OpenVinoBackend:
    """OpenVINO on any of its devices; ``?device=CPU`` by default."""

    mode_fields = frozenset({"kind"})

    def check(self, spec: BackendSpec) -> None:
        """Refuse a precision or option that OpenVINO does not have."""
        check_spec(spec)

    def unasked_precision(self, spec: BackendSpec) -> str | None:
        """Return what this device computes FP32 in by itself: ``"bf16"`` where a CPU has it."""
        properties = spec_properties(spec)
        if str(properties.get("EXECUTION_MODE_HINT")).upper() == "ACCURACY":
            return None
        hint = properties.get("INFERENCE_PRECISION_HINT")
        if hint is None:
            core = _runtime().Core()
            hint = core.get_property(device_of(spec), "INFERENCE_PRECISION_HINT").get_type_name()
        return next((own for own, name in PRECISIONS.items() if name == hint != "f32"), None)

    def availability(self) -> Availability:
        """Say which version is installed."""
        try:
            version = _runtime().__version__
        except MissingDependencyError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        return Availability(usable=True, detail=f"openvino {version.split('-')[0]}")

    def prepare(self) -> None:
        """Import OpenVINO."""
        _runtime()

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Measure an ONNX model."""
        _must_be_readable(job)
        profiling = _ProfilePass()
        measured = measure(job, _open, feeds, progress, profiling, complete=partial(_complete, job))
        return replace(measured, plan=profiling.plan)

    def open_for_answers(self, job: Job) -> OpenVinoSession:
        """Load an ONNX model to answer samples."""
        _must_be_readable(job)
        return _open(job)


class _ProfilePass:
    """The pass that times nodes, in a compiled model of its own, and the plan that it finds."""

    def __init__(self) -> None:
        self.plan: Plan | None = None

    def __call__(self, job: Job, feeds: Feeds) -> tuple[Profile, tuple[Notice, ...]]:
        mode = replace(job.workload.mode, kind="latency")
        plain = replace(job, workload=replace(job.workload, mode=mode))
        session = OpenVinoSession(_runtime(), plain, is_profiled=True)
        session.bind(feeds)
        session.step()
        session.settle()
        for _ in range(_UNTIMED - 1):
            session.step()
        reports = [(_UNTIMED, session.node_times())]
        whole_ms: list[float] = []
        deadline = perf_counter() + _MAX_S
        most = min(job.workload.stop.iterations or _MAX_RUNS, _MAX_RUNS)
        while len(whole_ms) < _MIN_RUNS or (len(whole_ms) < most and perf_counter() < deadline):
            begin = perf_counter_ns()
            session.step()
            whole_ms.append((perf_counter_ns() - begin) / 1e6)
            reports.append((_UNTIMED + len(whole_ms), session.node_times()))
        self.plan = executed_plan(session.compiled, str(job.subject.path), job.subject.name)
        return profile_of(reports, whole_ms, session.providers[0], self.plan.layers), ()


def _open(job: Job) -> OpenVinoSession:
    return OpenVinoSession(_runtime(), job)


def _complete(job: Job, measured: Measured, session: Any, recorder: Recorder) -> Measured:
    return replace(
        measured,
        mode=session.mode,
        wall_ms=recorder.wall_ms if session.mode.kind == "throughput" else None,
        answers=session.answers() if job.keep_outputs else (),
    )


def _must_be_readable(job: Job) -> None:
    if job.subject.kind not in _KINDS:
        raise UnsupportedError(
            f"openvino cannot run {job.subject.name}", why="it is not an ONNX model"
        )


def _runtime() -> Any:
    return require("openvino", purpose="the backend openvino", install="openvino")
