"""An ONNX model into an engine.

Engines whose weights were left out of the plan.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from enginescope.backends.base import Measured, ProgressSink
from enginescope.backends.tensorrt.build import engine_cache
from enginescope.backends.tensorrt.build.config import Target, apply_options
from enginescope.backends.tensorrt.build.engine_cache import cache_file, load_cache, save_cache
from enginescope.backends.tensorrt.build.network import (
    load_plugins,
    make_network,
    parse_onnx,
    set_calibrator,
    set_io_formats,
)
from enginescope.backends.tensorrt.build.profiles import NetworkInput, Span, spans_of
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.libraries import (
    Libraries,
    Log,
    inspect,
    installed_version,
    is_out_of_memory,
    is_served,
    make_logger,
    served_text,
)
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.jsonio import encode, sha256_of
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.formats.lenient_json import Document
from enginescope.formats.log_facts import build_failure_hint
from enginescope.formats.plan.engine_file import engine_header
from enginescope.formats.plan.plan_json import inspected_plan, plan_of
from enginescope.formats.trex.trex_metadata import build_metadata
from enginescope.formats.trtexec.trtexec_flags import build_options, read_options, read_precision
from enginescope.judge.notice import Notice
from enginescope.probe.host import peak_rss_bytes
from enginescope.probe.nvml import PeakDeviceMemory
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport
from enginescope.records.plan.plan import Plan
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job

#: Between two reports; TensorRT reports every step.
_INTERVAL_S = 0.2


def make_monitor(trt: Any, sink: ProgressSink) -> Any | None:
    """Return a ``trt.IProgressMonitor`` that tells `sink`; ``None`` before TensorRT 10."""
    base: Any = getattr(trt, "IProgressMonitor", None)
    if base is None:
        return None

    class Monitor(base):  # type: ignore[misc]  # the class is found at run time
        def __init__(self) -> None:
            base.__init__(self)
            self._phases: dict[str, tuple[int, int]] = {}  # name -> (done, steps)
            self._outermost = ""
            self._begin = self._last = time.monotonic()

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            if parent_phase is None:
                self._outermost = phase_name
            self._phases[phase_name] = (0, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            self._phases[phase_name] = (step + 1, self._phases.get(phase_name, (0, 0))[1])
            now = time.monotonic()
            if now - self._last >= _INTERVAL_S:
                self._last = now
                done, total = self._phases.get(self._outermost, (0, 0))
                ms, part = (now - self._begin) * 1e3, done / total if total else None
                sink(Progress(phase="build", elapsed_ms=ms, detail=phase_name, fraction=part))
            return True

        def phase_finish(self, phase_name: str) -> None:
            self._phases.pop(phase_name, None)

    return Monitor()


#: The first version that knows only strongly typed networks.
STRONGLY_TYPED_ONLY = (11,)


def set_precision(libraries: Libraries, config: Any, parts: tuple[str, ...], device: str) -> None:
    """Allow `parts` in a build.

    Args:
        device: Compute capability, ``"9.0"``: ``best`` leaves out what the GPU has not.
    """
    for part in parts:
        for flag in _best(libraries, device) if part == "best" else (part.upper(),):
            config.set_flag(_flag(libraries, flag, part))


def _flag(libraries: Libraries, name: str, part: str) -> Any:
    if (found := getattr(libraries.trt.BuilderFlag, name, None)) is not None:
        return found
    if libraries.version >= STRONGLY_TYPED_ONLY:
        why = "it builds strongly typed networks only: the model must carry its precision"
        raise UnsupportedError(f"trt:{part} on {libraries.title}", why=why, hint=_way_to(part))
    what = f"trt:{part}"
    raise UnsupportedError(what, why=f"{libraries.title} has no {part}", hint="a newer TensorRT")


def _way_to(part: str) -> str:
    if part in ("fp16", "bf16"):
        return (
            "pip install 'nvidia-modelopt[onnx]', then: python -m modelopt.onnx.autocast "
            f"--onnx_path MODEL.onnx --low_precision_type {part}; and measure that with --on trt"
        )
    if part == "best":
        return "convert the model to the precision it should run in, and measure that with --on trt"
    return f"quantize the model (python -m modelopt.onnx.quantization --quantize_mode {part})"


def _best(libraries: Libraries, device: str) -> tuple[str, ...]:
    """Return the flags that trtexec's ``--best`` sets in this version, on this GPU."""
    if libraries.version < (10,):
        return ("FP16", "INT8")
    capability = tuple(int(one) for one in device.split("."))
    flags = {"FP16": True, "BF16": capability >= (8, 0), "INT8": capability != (10, 3)}
    return tuple(flag for flag, is_fast in flags.items() if is_fast)


#: Options that make an engine refittable.
_REFIT = ("refit", "refit_identical", "strip_plan")


def build_engine(libraries: Libraries, job: Job, progress: ProgressSink) -> Measured:
    """Build the engine of `job` in this process and keep it in the job's engine cache.

    Raises:
        UnsupportedError: This runtime cannot build, or TensorRT has not what is asked for.
        BackendError: The model cannot be parsed or built.
    """
    if libraries.runtime not in ("full", "rtx"):
        what = f"the {libraries.runtime} runtime cannot build"
        hint = "pip install tensorrt, or give it an engine built with version_compatible=1"
        raise UnsupportedError(what, why="it only runs version-compatible plans", hint=hint)
    options = read_options(job.backend.options)
    cuda = _gpu(libraries, options.get("device", 0))
    try:
        return _Building(libraries, cuda, job, options, progress).run()
    finally:
        if cuda is not None:
            cuda.close()


def _gpu(libraries: Libraries, device: int) -> Cuda | None:
    """Take the GPU; ``None`` where there is none and the library builds without."""
    try:
        return Cuda(libraries.cuda, device) if libraries.cuda is not None else None
    except UnsupportedError:
        if libraries.is_rtx:
            return None
        raise


class _Building:
    def __init__(
        self,
        libraries: Libraries,
        cuda: Cuda | None,
        job: Job,
        options: dict[str, Any],
        progress: ProgressSink,
    ) -> None:
        self._libraries, self._cuda, self._job = libraries, cuda, job
        self._options, self._progress = options, progress
        self._device: Device | None = cuda.described(cuda.device) if cuda is not None else None
        self._log = Log()
        self._logger = make_logger(libraries.trt, self._log, options.get("log_level", "info"))
        self._notices: list[Notice] = []
        self._timing_cache_sha256: str | None = None
        self._alive: list[Any] = []  # what TensorRT refers to until the build is over

    def run(self) -> Measured:
        libraries, options = self._libraries, self._options
        load_plugins(libraries, self._logger, options.get("plugins", ()))
        builder = libraries.trt.Builder(self._logger)
        network = make_network(
            libraries, builder, strongly_typed=options.get("strongly_typed", False)
        )
        self._progress(Progress(phase="parse"))
        begin = perf_counter_ns()
        parse_onnx(libraries, network, self._logger, self._job.subject.path or "", options)
        parse_ms = (perf_counter_ns() - begin) / 1e6
        config = builder.create_builder_config()
        target = Target(libraries=libraries, builder=builder, network=network, config=config)
        cache = self._configure(target)
        with PeakDeviceMemory(options.get("device", 0)) as peak:
            data, build_ms = self._build(target)
        self._notices += save_cache(config, cache)
        header = engine_header(bytes(data[:64]), "the engine") if libraries.is_rtx else None
        report = BuildReport(
            engine=f"{Path(self._job.subject.path or 'model').stem}.engine",
            engine_bytes=data.nbytes,
            model=self._job.subject.name,
            model_sha256=self._job.subject.sha256,
            timing_cache_sha256=self._timing_cache_sha256,
            precision=self._job.backend.precision,
            options=build_options(self._job.backend.options),
            tensorrt=libraries.trt.__version__,
            compute_capabilities=header.compute_capabilities if header else (),
            device=self._device.name if self._device else None,
            driver=self._device.driver if self._device else None,
            parse_ms=parse_ms,
            build_ms=build_ms,
            layers=network.num_layers,
            peak_host_bytes=peak_rss_bytes(),
            peak_device_bytes=peak.bytes,
        )
        text, plan = self._look_into(data)
        return Measured(
            build=self._keep(report, data, text),
            plan=plan,
            devices=(self._device,) if self._device else (),
            notices=tuple(self._notices),
        )

    def _configure(self, target: Target) -> Path | None:
        """Set all that steers the build; return where its timing cache lies."""
        job, options, libraries = self._job, self._options, self._libraries
        parts = read_precision(job.backend.precision)
        if parts and options.get("strongly_typed") and libraries.version < (11,):
            what = f"trt:{job.backend.precision} with strongly_typed=1"
            raise UsageError(what, why="a strongly typed network has the precision of the model")
        if "calibration_cache" in options and not {"int8", "best"} & set(parts):
            what = "trt: calibration_cache"
            raise UsageError(what, why="only INT8 is calibrated", hint="--on trt:int8")
        set_precision(libraries, target.config, parts, self._capability or "0.0")
        refit = next((key for key in _REFIT if options.get(key)), None)
        if refit is not None and self._device is None:
            what = f"trt: {refit}=1 without a GPU"
            why = f"{libraries.title} compiles engines that can be refitted on the GPU"
            raise UnsupportedError(what, why=why, hint="omit it, or build on a machine with a GPU")
        apply_options(target, options)
        for key in ("input_formats", "output_formats"):
            if key in options:
                set_io_formats(target, key, options[key])
        spans = self._add_profiles(target)
        if {"int8", "best"} & set(parts) and self._cuda is not None:
            calibrator, notices = set_calibrator(
                libraries.trt,
                self._cuda,
                target.config,
                target.network,
                options.get("calibration_cache"),
                spans[0] if spans else {},
            )
            self._alive.append(calibrator)
            self._notices += notices
        return self._timing_cache(target.config)

    @property
    def _capability(self) -> str | None:
        return self._device.compute_capability if self._device else None

    def _timing_cache(self, config: Any) -> Path | None:
        libraries, asked = self._libraries, self._options.get("timing_cache")
        if libraries.is_rtx:  # it times no tactics
            return None
        device = self._device.name if self._device else ""
        file = cache_file(asked, self._job.engine_cache, libraries.trt.__version__, device)
        if file is not None and file.is_file():
            self._timing_cache_sha256 = sha256_of(file)
        self._notices += load_cache(config, file)
        return file

    def _add_profiles(self, target: Target) -> tuple[dict[str, Span], ...]:
        network = target.network
        inputs = [network.get_input(index) for index in range(network.num_inputs)]
        known = [
            NetworkInput(
                name=one.name,
                shape=tuple(size if size >= 0 else None for size in one.shape),
                is_shape_tensor=one.is_shape_tensor,
            )
            for one in inputs
        ]
        spans, notices = spans_of(known, self._options, self._job.workload)
        self._notices += notices
        shape_tensors = {one.name for one in known if one.is_shape_tensor}
        for profile_spans in spans:
            profile = target.builder.create_optimization_profile()
            for name, span in profile_spans.items():
                say = profile.set_shape_input if name in shape_tensors else profile.set_shape
                say(name, span.low, span.opt, span.high)
            target.config.add_optimization_profile(profile)
        return spans

    def _build(self, target: Target) -> tuple[memoryview, float]:
        if (monitor := make_monitor(self._libraries.trt, self._progress)) is not None:
            self._alive.append(monitor)
            target.config.progress_monitor = monitor
        self._progress(Progress(phase="build"))
        begin = perf_counter_ns()
        plan = target.builder.build_serialized_network(target.network, target.config)
        build_ms = (perf_counter_ns() - begin) / 1e6
        if plan is None:
            why = self._log.why("TensorRT gave no reason")
            hint = build_failure_hint((*self._log.errors, *self._log.warnings))
            if is_out_of_memory(why):
                raise MemoryError(f"building {self._job.subject.name}: {why}; {hint}")
            raise BackendError(f"building {self._job.subject.name} failed", why=why, hint=hint)
        self._alive.append(plan)
        return memoryview(plan).cast("B"), build_ms

    def _look_into(self, data: memoryview) -> tuple[str | None, Plan | None]:
        """Return the inspector's JSON and the plan in it, as far as the engine can be loaded here.

        An engine is built even if it cannot be run on this machine now.
        """
        libraries = self._libraries
        if self._options.get("runtime_platform", "same_as_build") != "same_as_build":
            return None, None
        name = Path(self._job.subject.path or "model").stem
        if libraries.is_rtx and not is_served(libraries.trt, self._capability):
            return self._logged_plan(name)
        runtime = libraries.trt.Runtime(self._logger)
        runtime.engine_host_code_allowed = True
        engine = runtime.deserialize_cuda_engine(data)
        context = engine.create_execution_context() if engine is not None else None
        if context is None:
            why = self._log.why("TensorRT gave no reason")
            message = f"the engine is built, but could not be loaded for inspection: {why}"
            self._notices.append(Notice("W-NO-PLAN", message))
            return None, None
        text, plan, notices = inspect(libraries, engine, context, name)
        self._notices += notices
        return text, plan

    def _logged_plan(self, name: str) -> tuple[str | None, Plan | None]:
        """Return what the build said of the engine's layers, in the inspector's keys."""
        gpu = f"this GPU has {self._capability}" if self._device else "this machine has no GPU"
        why = f"{served_text(self._libraries)}; {gpu}"
        if (layers := inspected_plan(self._log.layers)) is None:
            message = f"the engine is built, but cannot be loaded for inspection: {why}"
            self._notices.append(Notice("W-NO-PLAN", message, {"why": why}))
            return None, None
        plan, notices = plan_of(Document(source=f"{name}.build.log", value=layers), name=name)
        message = f"the plan comes from the build log: {why}"
        self._notices += (Notice("I-LOGGED-PLAN", message, {"why": why}), *notices)
        return encode(layers).decode(), plan

    def _keep(self, report: BuildReport, data: memoryview, graph: str | None) -> BuildReport:
        folder = Path(self._job.engine_cache or ".")
        libraries, device = self._libraries, self._device
        version = installed_version(libraries.runtime) or libraries.trt.__version__
        key = engine_cache.key_of(self._job, version, None if libraries.is_rtx else device)
        named = replace(report, key=key, notices=tuple(self._notices))
        metadata = build_metadata(named, self._job.subject.path or "", device)
        texts = {
            ".build.log": "".join(self._log.text),
            ".build.metadata.json": encode(metadata).decode(),
            **({".graph.json": graph} if graph else {}),
        }
        return engine_cache.keep(folder, key, named, data, texts)


def stripped_notice(trt: Any, engine: Any, options: Mapping[str, Any]) -> Notice | None:
    """Warn of an engine that was not given back the weights that its build left out.

    Args:
        options: Of the backend, read: what an engine was built with is known where it cannot be
            asked.
    """
    size = stripped_bytes(trt, engine)
    if "refit_from" in options or not (size or options.get("strip_plan")):
        return None
    weights = f"{format_bytes(size)} of weights" if size else "the weights"
    return Notice(
        "W-STRIPPED-WEIGHTS",
        f"the engine lacks {weights} that its build stripped (strip_plan): plan and "
        "times are valid, outputs are not; the trt option refit_from=MODEL.onnx "
        "restores the weights",
        {"stripped_bytes": size},
    )


def stripped_bytes(trt: Any, engine: Any) -> int | None:
    """Return the size of the weights left out, 0 for none; ``None``: this TensorRT cannot tell."""
    kinds, ask = getattr(trt, "EngineStat", None), getattr(engine, "get_engine_stat", None)
    if kinds is None or ask is None:
        return None
    return max(int(ask(kinds.STRIPPED_WEIGHTS_SIZE)), 0)
