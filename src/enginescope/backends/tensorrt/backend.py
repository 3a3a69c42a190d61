"""The backend ``trt``: TensorRT from Python.

An engine looked into and not run.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from enginescope.backends.base import (
    Availability,
    FeedSource,
    Measured,
    ProgressSink,
    check_named_files,
)
from enginescope.backends.loop import Recorder
from enginescope.backends.profile_bounds import check_bounds
from enginescope.backends.stepwise import measure
from enginescope.backends.tensorrt.build import engine_cache
from enginescope.backends.tensorrt.build.build import build_engine
from enginescope.backends.tensorrt.cuda import Driver
from enginescope.backends.tensorrt.libraries import (
    Libraries,
    inspect,
    installed_version,
    load,
    require_served_gpu,
)
from enginescope.backends.tensorrt.profile_pass import profile_layers
from enginescope.backends.tensorrt.run.request_loops import ThroughputRecorder
from enginescope.backends.tensorrt.run.session import (
    TrtAnswers,
    TrtSession,
    must_be_runnable,
    resolved,
)
from enginescope.backends.tensorrt.run.varying_shapes import TrtChanges, TrtDecodeSession
from enginescope.core.errors import (
    EnginescopeError,
    MissingDependencyError,
    UnsupportedError,
    UsageError,
)
from enginescope.core.record import replace
from enginescope.formats.trtexec.trtexec_flags import (
    OPTIONS,
    build_options,
    read_options,
    read_precision,
)
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import BuildReport
from enginescope.records.progress import Progress
from enginescope.records.run.job import CPU_BACKEND, BackendSpec, Job


def inspected(libraries: Libraries, job: Job) -> Measured:
    """Return the plan of an engine, its tensors and its GPU.

    What is dynamic in its inputs is set to the optimum of the optimization profile: other shapes
    follow from these, and without them the inspector tells none.
    """
    session = TrtSession(libraries, job)
    try:
        fixed = _fix_shapes(session)
        name = Path(job.subject.path or job.subject.name).stem
        text, plan, notices = inspect(libraries, session.engine, session.contexts[0], name)
        return Measured(
            plan=plan,
            devices=(session.device,),
            device_memory=session.device_memory(),
            files={f"{name}.graph.json": text} if text else {},
            notices=(*notices, *fixed, *session.notices()),
        )
    finally:
        session.close()


def _fix_shapes(session: TrtSession) -> tuple[Notice, ...]:
    shapes = {
        input_spec.name: input_spec.default_shape
        for input_spec in session.input_specs
        if input_spec.default_shape is not None
        and session.contexts[0].set_input_shape(input_spec.name, input_spec.default_shape)
    }
    if not shapes:
        return ()
    told = ", ".join(f"{name} {'x'.join(map(str, dims))}" for name, dims in shapes.items())
    message = f"shapes come from the profile's optimum: {told}"
    evidence = {name: list(dims) for name, dims in shapes.items()}
    return (Notice("I-OPTIMUM-SHAPES", message, evidence),)


#: Options that name a file to read.
_FILES = ("calibration_cache", "refit_from")


def tensorrt_rtx() -> TrtBackend:
    return TrtBackend("rtx")


class TrtBackend:
    """TensorRT, whichever of 8.6, 10 and 11 is installed.

    Args:
        runtime: What a specification asks for that names no runtime.
    """

    mode_fields = frozenset(
        {"kind", "in_flight", "transfers", "cuda_graph", "spin_wait", "streams", "idle_ms"}
        | {"cold", "rotate", "decode", "call", "loop"}
    )

    def __init__(self, runtime: str | None = None) -> None:
        self._runtime = runtime
        self._libraries: Libraries | None = None

    def check(self, spec: BackendSpec) -> None:
        """Refuse a precision, an option or bounds that TensorRT takes in no version."""
        read_precision(spec.precision)
        options = read_options(spec.options)
        check_bounds(spec.options)
        cache = options.get("timing_cache", "none")
        if options.get("runtime", self._runtime) == "rtx" and cache != "none":
            why = "TensorRT for RTX times no tactics and keeps no timing cache"
            raise UsageError(f"trt-rtx: timing_cache={cache}", why=why)

    def require(self, spec: BackendSpec) -> None:
        """Say in one line if a file, TensorRT, the CUDA runtime or a GPU is missing."""
        options, libraries = self._checked(spec)
        device = options.get("device", 0)
        if libraries.is_rtx:
            require_served_gpu(libraries, device)
            return
        try:
            count = Driver(libraries.cuda).device_count()
        except UnsupportedError as error:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            hidden = "" if visible is None else f"CUDA_VISIBLE_DEVICES is '{visible}'; "
            what = "no NVIDIA GPU can be used here"
            hint = f"{hidden}nvidia-smi; --on {CPU_BACKEND}"
            raise MissingDependencyError(what, why=str(error), hint=hint) from error
        if not 0 <= device < count:
            what, why = f"trt: device={device}", f"CUDA shows {count} on this machine, from 0"
            raise UsageError(what, why=why, hint="nvidia-smi -L; CUDA_VISIBLE_DEVICES hides some")

    def require_for_build(self, spec: BackendSpec) -> None:
        """Say what is missing to build: TensorRT for RTX needs no GPU."""
        if not self._checked(spec)[1].is_rtx:
            self.require(spec)

    def _checked(self, spec: BackendSpec) -> tuple[dict[str, Any], Libraries]:
        check_named_files(spec, one=_FILES, several=("plugins", "serialize_plugins"))
        options = read_options(spec.options)
        return options, load(options.get("runtime", self._runtime))

    def availability(self) -> Availability:
        """Say whether TensorRT and the CUDA runtime import and see a GPU that is served."""
        try:
            libraries = load(self._runtime)
            if libraries.is_rtx:
                require_served_gpu(libraries, 0)
            driver = Driver(libraries.cuda)
            driver.device_count()
            facts = driver.facts()
        except MissingDependencyError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        except (EnginescopeError, MemoryError) as error:
            hint = getattr(error, "hint", None)
            hint = None if hint == "enginescope doctor" else hint
            return Availability(usable=False, detail=str(error), hint=hint)
        named = libraries.runtime in ("full", "rtx")
        runtime = "" if named else f", {libraries.runtime} runtime"
        return Availability(usable=True, detail=f"{libraries.title}{runtime} on {facts.name}")

    def prepare(self) -> None:
        self._libraries = load(self._runtime)

    def decided_by_build(self, spec: BackendSpec) -> tuple[str, ...]:
        """Return the precision, and the options that a build alone sets."""
        precision = (f"precision {spec.precision}",) if spec.precision else ()
        options = (key for key in build_options(spec.options) if OPTIONS[key].sets != "both")
        return (*precision, *options)

    def unasked_precision(self, spec: BackendSpec) -> str | None:
        return None if spec.forbids_tf32 else "tf32"

    def needs_build(self, job: Job) -> bool:
        return job.subject.kind == "onnx" and job.engine is None

    def engine_for(self, job: Job) -> BuildReport | None:
        """Return the kept engine for `job`, if there is one for this TensorRT, GPU and driver."""
        options = read_options(job.backend.options)
        runtime = options.get("runtime", self._runtime)
        version = installed_version(runtime)
        if job.engine_cache is None or version is None:
            return None
        try:
            device = None
            if runtime != "rtx":
                device = Driver(load(runtime).cuda).described(options.get("device", 0))
            key = engine_cache.key_of(job, version, device)
        except (EnginescopeError, OSError):  # the build says what is wrong with GPU or model
            return None
        return engine_cache.lookup(Path(job.engine_cache), key)

    def build(self, job: Job, progress: ProgressSink) -> Measured:
        resolved(job.workload.mode)  # refused before the build, not after it
        return build_engine(self._chosen(job), job, progress)

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        must_be_runnable(job)
        libraries = self._chosen(job)
        decodes = job.workload.mode.decode is not None
        return measure(
            job,
            partial(TrtDecodeSession if decodes else TrtSession, libraries),
            feeds,
            progress,
            None if decodes else partial(profile_layers, libraries),
            complete=partial(_complete, libraries, job),
        )

    def inspect(self, job: Job, progress: ProgressSink) -> Measured:
        """Load an engine and return what its inspector tells, shapes at their optimum."""
        progress(Progress(phase="load"))
        return inspected(self._chosen(job), job)

    def open_for_answers(self, job: Job) -> TrtAnswers:
        must_be_runnable(job)
        return TrtAnswers(self._chosen(job), job)

    def open_for_changes(self, job: Job) -> TrtChanges:
        must_be_runnable(job)
        return TrtChanges(self._chosen(job), job)

    def _chosen(self, job: Job) -> Libraries:
        wanted = read_options(job.backend.options).get("runtime", self._runtime)
        if self._libraries is None or wanted not in (None, self._libraries.runtime):
            self._libraries = load(wanted)
        return self._libraries


def _complete(
    libraries: Libraries, job: Job, measured: Measured, session: Any, recorder: Recorder
) -> Measured:
    """Add what only an engine has: its mode, memory, plan, and time on the GPU's clock."""
    name = Path(job.engine or job.subject.path or job.subject.name).stem
    text, plan, notices = inspect(libraries, session.engine, session.contexts[0], name)
    queries = recorder if isinstance(recorder, ThroughputRecorder) else None
    return replace(
        measured,
        mode=session.mode,
        wall_ms=queries.wall_ms if queries else None,
        loop_ms=queries.loop_ms() if queries else None,
        trace=queries.trace() if queries else None,
        device_memory=session.device_memory(),
        devices=(session.device,),
        plan=plan,
        files={f"{name}.graph.json": text} if text else {},
        answers=session.answers() if job.keep_outputs else (),
        notices=(*measured.notices, *notices),
    )
