"""The ONNX Runtime backends: one class, one execution provider each.

Also cold start from a compiled model: EPContext models of ONNX Runtime's `ModelCompiler`.
"""

import platform
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any

from enginescope.backends.base import Availability, Feeds, FeedSource, Measured, ProgressSink
from enginescope.backends.loop import Recorder
from enginescope.backends.onnxruntime import preparing
from enginescope.backends.onnxruntime.convert.model_files import varying_shapes
from enginescope.backends.onnxruntime.kernel_trace import KernelTrace
from enginescope.backends.onnxruntime.options import (
    STORED_GRAPH,
    check_spec,
    fp16_way,
    session_options,
)
from enginescope.backends.onnxruntime.providers import opening, providers
from enginescope.backends.onnxruntime.providers.placement import (
    probe_failure,
    require_work,
    with_reasons,
)
from enginescope.backends.onnxruntime.providers.providers import (
    Provider,
    library_hint_for,
    library_of,
    translated,
    wheel_hint,
)
from enginescope.backends.onnxruntime.session import OrtAnswers, OrtSession
from enginescope.backends.onnxruntime.varying_shapes import DecodeSession, OrtChanges
from enginescope.backends.stepwise import measure
from enginescope.core.errors import (
    BackendError,
    EnginescopeError,
    MissingDependencyError,
    UnsupportedError,
)
from enginescope.core.jsonio import read_bytes
from enginescope.core.optional import is_installed, require
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.lenient_json import read_json
from enginescope.formats.onnx.onnx_precision import external_files
from enginescope.formats.onnxruntime.ort_memory import RULES_FROM, arenas_of
from enginescope.formats.onnxruntime.ort_profile import executed_plan, ort_profile_of
from enginescope.judge.notice import Notice
from enginescope.records.plan.build import Preparation
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.progress import Phase
from enginescope.records.run.job import BackendSpec, Job, StopRule
from enginescope.records.run.run import ArenaUse

_REPEATS = 3
_MOST_MS = 10_000.0

Start = tuple[tuple[Phase, ...], Notice]


def compiled_start(ort: Any, job: Job, setup: opening.Setup) -> Start:
    """Compile a model, and time sessions from it and from the original, interleaved.

    The provider's caches are not used. Times are medians of three, or of fewer when they take
    longer than 10 s.

    Returns:
        No phases and a notice with the cause where the provider cannot compile the model.
    """
    caches = setup.provider.cache_options
    own = {k: v for k, v in setup.provider_options.items() if k not in caches}
    plain = replace(setup, provider_options=own)
    name = setup.provider.name
    with temporary_folder() as folder:
        compiled = replace(plain, model=str(folder / Path(setup.model).name))
        try:
            with translated(f"compiling {Path(setup.model).name}"):
                compile_ms = _compile(ort, job, plain, compiled.model)
                times = _times_ms(ort, job, (plain, compiled))
        except (EnginescopeError, MemoryError) as error:
            why = getattr(error, "why", None) or str(error) or "no reason"
            message = f"{name} gives no compiled model: {why.splitlines()[0]}"
            return (), Notice("I-NO-EP-CONTEXT", message, {"provider": name})
    whole, short = (median(some) for some in times)
    phases = (
        Phase(name="compile_model", duration_ms=compile_ms),
        Phase(name="session_from_model", duration_ms=whole),
        Phase(name="session_from_compiled", duration_ms=short),
    )
    figures = f"{whole:,.4g} ms from the model, {short:,.4g} ms from the compiled one"
    how = f"medians of {len(times[0])}, interleaved, caches off"
    message = f"session creation on {name}: {figures} ({how})"
    evidence = {"from_model_ms": times[0], "from_compiled_ms": times[1], "compile_ms": compile_ms}
    return phases, Notice("I-EP-CONTEXT", message, evidence)


def _compile(ort: Any, job: Job, setup: opening.Setup, target: str) -> float:
    """Write the EPContext model and return the time, ms."""
    if not hasattr(ort, "ModelCompiler"):
        raise UnsupportedError("ModelCompiler", why=f"ONNX Runtime {ort.__version__} has none")
    options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
    opening.add_provider(ort, setup, options)
    flag = int(ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED)
    begin = perf_counter_ns()
    ort.ModelCompiler(options, setup.model, flags=flag).compile_to_file(target)
    return (perf_counter_ns() - begin) / 1e6


def _times_ms(ort: Any, job: Job, setups: tuple[opening.Setup, ...]) -> list[list[float]]:
    """Return how long sessions take to create, per setup; each is dropped at once."""
    times: list[list[float]] = [[] for _ in setups]
    while len(times[0]) < _REPEATS and sum(map(sum, times)) < _MOST_MS:
        for setup, own in zip(setups, times, strict=True):
            options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
            begin = perf_counter_ns()
            opening.open_session(ort, setup, options)
            own.append((perf_counter_ns() - begin) / 1e6)
    return times


# Per-node times from ONNX Runtime's own profiler, in a session of its own.
#
# The profiler slows a run, many-fold where nodes are small, so nothing timed elsewhere may have it
# switched on.

_MIN_RUNS = 5
_MAX_RUNS = 200
_MAX_S = 2.0
#: An event is about a kilobyte of JSON.
_MAX_EVENTS = 60_000
#: Providers whose sessions can write the graph that they execute; its size at most, with weights.
_WRITING = frozenset({"CPUExecutionProvider", "CUDAExecutionProvider"})
_MAX_GRAPH_BYTES = 2 << 30


class ProfilePass:
    """The pass, and what it finds besides the times.

    Attributes:
        reasons: Operator -> why the provider did not take it.
        plan: The executed graph; ``None`` where the session cannot write it.
    """

    def __init__(self, ort: Any, setup: opening.Setup) -> None:
        self._ort = ort
        option = setup.provider.graph_option
        if option is not None and option in setup.provider_options:
            # what a CUDA graph replays has no nodes to be timed
            setup = replace(setup, provider_options={**setup.provider_options, option: "0"})
        self._setup = setup
        self.arenas: tuple[ArenaUse, ...] = ()
        self.reasons: dict[str, str] = {}
        self.plan: Plan | None = None

    def __call__(self, job: Job, feeds: Feeds) -> tuple[Profile, tuple[Notice, ...]]:
        """Run the model under the profiler and return what each node took.

        One run more than is used: the parser drops the first.
        """
        # one way of asking, that from host memory, which every model bears
        mode = replace(job.workload.mode, transfers=True, kind="latency", call=None)
        plain = replace(job, workload=replace(job.workload, mode=mode))
        with translated("profiling"), temporary_folder() as folder:
            prefix = str(folder / "profile")
            trace = KernelTrace() if self._setup.provider.on_cuda else None
            with trace or nullcontext():
                graph = folder / "graph.onnx" if self._can_write() else None
                session = OrtSession(
                    self._ort, plain, self._setup, profile_prefix=prefix, graph=graph
                )
                session.bind(feeds)
                session.step()
                session.settle()
                self._run(session, job.workload.stop)
            since_ns = session.session.get_profiling_start_time_ns()
            path = Path(session.end_profiling())
            document = read_json(read_bytes(path), path.name)
            if graph is not None:
                shapes = varying_shapes(self._ort, graph)
                release = tuple(map(int, self._ort.__version__.split(".")[:2]))
                self.plan = executed_plan(
                    graph, document, job.subject.name, self._setup.model, shapes,
                    has_rules=self._setup.provider.is_cpu and release >= RULES_FROM
                    and platform.machine() in ("x86_64", "AMD64"),
                )  # fmt: skip
        self.arenas = arenas_of(document)
        if any(share.provider != self._setup.provider.name for share in session.placement):
            self.reasons = self._reasons(job, session)
        return ort_profile_of(document, trace.result(since_ns) if trace else None)

    def _can_write(self) -> bool:
        model = Path(self._setup.model)
        files = (model, *(model.parent / one for one in external_files(str(model))))
        return (
            self._setup.provider.name in _WRITING
            and sum(file.stat().st_size for file in files) <= _MAX_GRAPH_BYTES
        )

    def _run(self, session: OrtSession, stop: StopRule) -> None:
        """Run no more often and no longer than the timed loop was asked to."""
        nodes = sum(share.nodes for share in session.placement) or 300
        runs = max(_MIN_RUNS, min(stop.iterations or _MAX_RUNS, _MAX_RUNS, _MAX_EVENTS // nodes))
        limit_ms = min(stop.max_time_ms, stop.duration_ms or stop.max_time_ms)
        deadline = perf_counter() + min(_MAX_S, limit_ms / 1e3)
        for done in range(runs):
            if done >= _MIN_RUNS and perf_counter() > deadline:
                return
            session.step()

    def _reasons(self, job: Job, session: OrtSession) -> dict[str, str]:
        names = {
            node.name: node.op_type
            for part in session.session.get_provider_graph_assignment_info()
            for node in part.get_nodes()
        }
        options = session_options(
            self._ort, job.backend.options, job.conditions.pinned_cores, severity=1
        )
        return opening.reasons_of(self._ort, self._setup, options, names)


class OrtBackend:
    """ONNX Runtime with one execution provider asked for.

    Args:
        name: The backend's name; by default the provider's.
    """

    def __init__(self, provider: Provider, name: str | None = None) -> None:
        self.provider = provider
        self.name = name or provider.backend

    @property
    def mode_fields(self) -> frozenset[str]:
        """What it honours: copies and CUDA graphs with a GPU, threads on the CPU."""
        fields = {"transfers"} if self.provider.on_cuda else set()
        graph = {"cuda_graph"} if self.provider.graph_option else set()
        threads = {"kind", "in_flight"} if self.provider.is_cpu else set()
        return frozenset({"decode", "call", "loop"} | fields | graph | threads)

    def check(self, spec: BackendSpec) -> None:
        check_spec(spec, self.provider)

    def unasked_precision(self, spec: BackendSpec) -> str | None:
        return "tf32" if self.provider.on_cuda and not spec.forbids_tf32 else None

    def require(self, spec: BackendSpec) -> None:
        """Say what a conversion that `spec` asks for needs; providers are asked in the worker."""
        if (given := spec.options.get("plugin")) is not None:
            library_of(self.provider, given)
        if fp16_way(spec, self.provider) == "converter":
            _must_be_installed("onnx-ir", f"{spec.name}:{spec.precision}")
        if spec.options.get("infer_shapes") == "always":
            _must_be_installed("sympy", "infer_shapes=always")

    def availability(self) -> Availability:
        """Say whether this build lists the provider; only a session can prove that it loads."""
        try:
            ort = self._runtime()
        except MissingDependencyError as error:
            return Availability(usable=False, detail=str(error), hint=error.hint)
        version = f"onnxruntime {ort.__version__}"
        if self.provider.name not in ort.get_available_providers():
            if library_of(self.provider, None) is not None:
                failure = probe_failure(self.provider.name)
                detail = failure or f"{version}, as a separate library"
                return Availability(usable=failure is None, detail=detail)
            detail, hint = f"{version} was built without it", wheel_hint(self.provider)
            return Availability(usable=False, detail=detail, hint=hint)
        failure = None if self.provider.is_cpu else probe_failure(self.provider.name)
        if failure:
            hint = library_hint_for(ort, failure)
            return Availability(usable=False, detail=failure, hint=hint)
        return Availability(usable=True, detail=version)

    def prepare(self) -> None:
        self._runtime()

    def with_stored_build(self, spec: BackendSpec) -> BackendSpec:
        """Store the optimized graph, unless the provider builds engines that are kept."""
        if self.provider.cache_options:
            return spec
        return replace(spec, options={**spec.options, STORED_GRAPH: "1"})

    def needs_preparation(self, job: Job) -> bool:
        """Whether the model is to be converted, or the provider builds engines that are kept."""
        return preparing.needs_preparation(job, self.provider)

    def prepared_for(self, job: Job) -> Preparation | None:
        return preparing.find(job, self.provider)

    def make_ready(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        ort = self._runtime_for(job)
        with translated(f"making {job.subject.name} ready for {self.name}"):
            return preparing.make_ready(ort, job, self.provider, feeds, progress)

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        ort = self._runtime_for(job)
        with translated(f"running {job.subject.name} on {self.name}"):
            setup, found = self._setup(ort, job)
            profiling = ProfilePass(ort, setup)
            opened = OrtSession if job.workload.mode.decode is None else DecodeSession
            measured = measure(
                job,
                lambda one: opened(ort, one, setup),
                feeds,
                progress,
                profiling if opened is OrtSession else None,
                complete=partial(_complete, job),
            )
        if measured.profile is not None:
            require_work(self.provider, measured.placement, measured.profile)
        phases, said = measured.phases, measured.notices
        if job.backend.options.get("ep_context") == "1":
            more, notice = compiled_start(ort, job, setup)
            phases, said = (*phases, *more), (*said, notice)
        return replace(
            measured,
            placement=with_reasons(measured.placement, self.provider.name, profiling.reasons),
            arenas=profiling.arenas,
            plan=profiling.plan,
            phases=phases,
            notices=(*preparing.precision_notices(job, self.provider, found), *said),
        )

    def open_for_answers(self, job: Job) -> OrtAnswers:
        ort = self._runtime_for(job)
        return OrtAnswers(ort, job, self._setup(ort, job)[0])

    def open_for_changes(self, job: Job) -> OrtChanges:
        ort = self._runtime_for(job)
        return OrtChanges(ort, job, self._setup(ort, job)[0])

    def _setup(self, ort: Any, job: Job) -> tuple[opening.Setup, Preparation | None]:
        found = preparing.read(Path(job.engine), job, self.provider) if job.engine else None
        if found is None and (job.engine or preparing.needs_another_model(job, self.provider)):
            what = f"{job.subject.name} is not made ready for {self.name}"
            why = f"{job.engine} is gone or not whole" if job.engine else "nothing was prepared"
            raise BackendError(what, why=why, hint="measure again with --rebuild")
        return opening.setup_of(ort, job, self.provider, found), found

    def _runtime_for(self, job: Job) -> Any:
        if job.subject.kind != "onnx":
            what = f"{self.name} cannot run {job.subject.name}"
            raise UnsupportedError(what, why="it is not an ONNX model")
        return self._runtime()

    def _runtime(self) -> Any:
        install = self.provider.install if not self.provider.plugin else "enginescope[ort]"
        return require("onnxruntime", purpose=f"the backend {self.name}", install=install)


def _complete(job: Job, measured: Measured, session: Any, recorder: Recorder) -> Measured:
    return replace(
        measured,
        mode=session.mode,
        peak_memory_bytes=session.peak_memory_bytes or measured.peak_memory_bytes,
        wall_ms=recorder.wall_ms if session.mode.kind == "throughput" else None,
        device_memory=session.device_memory(),
        answers=session.answers() if job.keep_outputs else (),
    )


def _must_be_installed(package: str, asker: str) -> None:
    if not is_installed(package.replace("-", "_")):
        what, why = f"Python package {package} is not available", f"{asker} needs it"
        raise MissingDependencyError(what, why=why, hint="pip install 'enginescope[convert]'")


#: Makers of the backends with a name of their own, for the registry.
cpu, cuda, tensorrt, tensorrt_rtx = (
    partial(OrtBackend, provider)
    for provider in (providers.CPU, providers.CUDA, providers.TENSORRT, providers.TENSORRT_RTX)
)


def any_provider(name: str) -> OrtBackend:
    """Return the backend on the provider that ONNX Runtime calls `name`: ``ort:NAME``."""
    return OrtBackend(providers.provider_called(name), f"ort:{name}")
