"""Report what this machine can measure with, and what to install for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata
from os import PathLike

from enginescope.analysis.tasks.base import TASKS
from enginescope.backends.native_loop import LIBRARY, library
from enginescope.backends.registry import BACKENDS, backend_names, load_backend
from enginescope.core.errors import EnginescopeError, UnsupportedError
from enginescope.core.optional import is_installed
from enginescope.core.plugins import outside_verbs
from enginescope.core.record import Record, Result
from enginescope.formats.importing.readers import READERS
from enginescope.probe.clock import timer_resolution_ms
from enginescope.probe.environment import probe_environment
from enginescope.probe.telemetry.sampler_sources import SAMPLERS
from enginescope.records.environment import Environment
from enginescope.records.notice import Hint
from enginescope.records.verdict.noise import SelfTest
from enginescope.rules.catalogue import RULE_MODULES, broken_rules
from enginescope.runner.machine.machine_hints import machine_hints
from enginescope.services.observer import Observer
from enginescope.services.store.export_runs import EXPORTERS
from enginescope.services.store_access import place_of
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.machine_records import SELF_TESTS

#: extra -> (module that shows it is there, what it is for)
EXTRAS = {
    "plots": ("vl_convert", "PNG plots in reports, PNG of explore's drawings"),
    "images": ("PIL", "images as inputs of validate and depth"),
    "detection": ("pycocotools", "validate --task detection"),
    "convert": ("onnx_ir", "ort-cpu:fp16 and its like, symbolic shapes for ort-trt"),
    "ort": ("onnxruntime", "measuring ONNX models on the CPU"),
    "xlsx": ("xlsxwriter", "explore --xlsx"),
    "frames": ("pandas", "run.to_pandas(), to_polars(), to_arrow()"),
    "yaml": ("yaml", "suites written as YAML"),
    "postgres": ("psycopg", "a store in PostgreSQL"),
    "storage": ("fsspec", "a store's artifacts in S3 and the like"),
    "ray": ("ray", "suite --on-ray"),
    "grpc": ("grpc", "load on an endpoint over gRPC"),
    "serve": ("starlette", "enginescope serve"),
    "notebook": ("ipykernel", "the notebooks, and charts in yours"),
    "gpu": ("pynvml", "GPU facts"),
    "cupti": ("cupti", "GPU times of the nodes of ort-cuda"),
    "trt": ("cuda.bindings", "trt, with TensorRT"),
    "cu12": ("cuda.bindings", "trt, driver of CUDA 12"),
    "cu13": ("cuda.bindings", "trt, driver of CUDA 13"),
}
#: extra -> major version of cuda-bindings that it brings.
_CUDA_MAJORS = {"cu12": "12", "cu13": "13"}


class Capability(Record, frozen=True, kw_only=True):
    """One thing that can or cannot be used here: its version, purpose or obstacle; what to do."""

    name: str
    usable: bool
    detail: str
    hint: str | None = None


class Diagnosis(Result, Record, frozen=True, kw_only=True):
    """The machine, its backends, extras, plug-ins, hints, and recorded self-tests.

    Attributes:
        plugins: Parts that other packages add, and programs on the PATH that are verbs.
        loop: The loop in C that makes timed calls; without it the interpreter makes them.
        self_tests: Of this machine, the newest last.
    """

    environment: Environment
    timer_resolution_ms: float
    loop: Capability
    backends: tuple[Capability, ...]
    extras: tuple[Capability, ...]
    plugins: tuple[Capability, ...] = ()
    hints: tuple[Hint, ...] = ()
    self_tests: tuple[SelfTest, ...] = ()


def doctor(store: str | PathLike[str] | None = None) -> Diagnosis:
    """Report machine, backends, extras, plug-ins and self-tests; nothing is measured.

    Providers other than the CPU are started once: only that shows whether they work.

    Args:
        store: Where `self_test` recorded its results; by default the store of the command line.
    """
    return diagnose(place_of(store), Observer().warn)


def diagnose(store: StorePlace | None, warn: Callable[[str], None]) -> Diagnosis:
    """Return the report of `doctor`; `warn` receives why self-tests cannot be read."""
    environment = probe_environment()
    machine = environment.comparable_key()
    return Diagnosis(
        environment=environment,
        timer_resolution_ms=timer_resolution_ms(),
        loop=_loop(),
        backends=tuple(_backend(name) for name in backend_names()),
        extras=tuple(_extra(name) for name in EXTRAS),
        plugins=tuple(_plugins()),
        hints=machine_hints(environment),
        self_tests=tuple(
            one for one in SELF_TESTS.usable(Store(store).path, warn) if one.environment == machine
        ),
    )


def _loop() -> Capability:
    try:
        library()
    except UnsupportedError as error:
        return Capability(name="native", usable=False, detail=error.why or "", hint=error.hint)
    return Capability(name="native", usable=True, detail=LIBRARY.name)


def _backend(name: str) -> Capability:
    try:
        state = BACKENDS.call(name, lambda: load_backend(name).availability())
    except EnginescopeError as error:
        return Capability(name=name, usable=False, detail=str(error), hint=error.hint)
    return Capability(name=name, usable=state.usable, detail=state.detail, hint=state.hint)


def _extra(name: str) -> Capability:
    module, purpose = EXTRAS[name]
    usable = is_installed(module) and _is_of_its_cuda(name)
    hint = None if usable else f"pip install 'enginescope[{name}]'"
    return Capability(name=name, usable=usable, detail=purpose, hint=hint)


def _plugins() -> Iterator[Capability]:
    for registry in (BACKENDS, TASKS, READERS, EXPORTERS, RULE_MODULES, SAMPLERS):
        for name, part in registry.usable():
            why, hint = None, None
            if isinstance(part, EnginescopeError):
                why, hint = str(part), part.hint
            elif registry is RULE_MODULES:
                why = broken_rules().get(name)
            yield Capability(
                name=f"{registry.kind} {name}",
                usable=why is None,
                detail=why or registry.package(name),
                hint=hint,
            )
    for name, program in outside_verbs().items():
        yield Capability(name=f"verb {name}", usable=True, detail=str(program))


def _is_of_its_cuda(extra: str) -> bool:
    """Whether cuda-bindings are of the major version that an extra is for, if it is for one."""
    wanted = _CUDA_MAJORS.get(extra)
    if wanted is None:
        return True
    try:
        return metadata.version("cuda-bindings").partition(".")[0] == wanted
    except metadata.PackageNotFoundError:
        return False
