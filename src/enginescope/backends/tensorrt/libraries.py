"""TensorRT, TensorRT for RTX and the CUDA runtime, found and imported: the one door to them.

The engine inspector: what the engine consists of, as TensorRT tells it.

TensorRT's log goes to standard error as it comes; warnings and errors are kept.
"""

import re
import sys
import time
from importlib import import_module, metadata
from typing import Any

from enginescope.backends.tensorrt.cuda import Driver
from enginescope.core.errors import FormatError, MissingDependencyError, UnsupportedError
from enginescope.core.optional import is_installed, require
from enginescope.core.record import Record
from enginescope.formats.lenient_json import read_json
from enginescope.formats.plan.engine_file import capability_numbers
from enginescope.formats.plan.plan_json import plan_of
from enginescope.judge.notice import Notice
from enginescope.probe.nvml import probe_devices
from enginescope.records.environment import Device
from enginescope.records.plan.plan import Plan

#: runtime -> (modules it may be in, distributions that bring them)
_RUNTIMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "full": (
        ("tensorrt", "tensorrt_bindings"),
        ("tensorrt-cu13-bindings", "tensorrt-cu12-bindings", "tensorrt-bindings", "tensorrt"),
    ),
    "lean": (
        ("tensorrt_lean", "tensorrt_lean_bindings"),
        ("tensorrt-lean-cu13-bindings", "tensorrt-lean-cu12-bindings", "tensorrt-lean"),
    ),
    "dispatch": (
        ("tensorrt_dispatch", "tensorrt_dispatch_bindings"),
        ("tensorrt-dispatch-cu13-bindings", "tensorrt-dispatch-cu12-bindings", "tensorrt-dispatch"),
    ),
    "rtx": (
        ("tensorrt_rtx", "tensorrt_rtx_bindings"),
        ("tensorrt-rtx-cu13-bindings", "tensorrt-rtx-cu12-bindings", "tensorrt-rtx"),
    ),
}
RUNTIMES = tuple(_RUNTIMES)
#: Taken without being named, the first that is installed: TensorRT for RTX has plans of its own.
_USUAL = ("full", "lean", "dispatch")
#: TensorRT for RTX counts its own versions; its API is the one of this TensorRT.
_API_OF_RTX = (11,)
_INSTALL = {
    "full": "tensorrt",
    "lean": "tensorrt-lean-cu13",
    "dispatch": "tensorrt-dispatch-cu13",
    "rtx": "tensorrt-rtx-cu13-libs tensorrt-rtx-cu13-bindings",
}
_CUDA = "cuda.bindings"


class Libraries(Record, frozen=True, kw_only=True, eq=False):
    """The modules a session works with.

    Attributes:
        cuda: ``cuda.bindings.runtime``; ``None`` where it is not installed and ``rtx`` builds.
        driver: ``cuda.bindings.driver``, likewise.
        runtime: ``full`` (builds and runs), ``lean`` or ``dispatch`` (run version-compatible
            plans), or ``rtx`` (TensorRT for RTX: builds without a GPU).
    """

    trt: Any
    cuda: Any
    driver: Any
    runtime: str

    @property
    def version(self) -> tuple[int, ...]:
        """Version of TensorRT's API, as numbers."""
        return _API_OF_RTX if self.is_rtx else version_numbers(self.trt.__version__)

    @property
    def is_rtx(self) -> bool:
        return self.runtime == "rtx"

    @property
    def title(self) -> str:
        """Product and version: ``TensorRT for RTX 1.7.1.116``."""
        return f"TensorRT{' for RTX' if self.is_rtx else ''} {self.trt.__version__}"


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a version: ``10.16.1.11`` as (10, 16, 1, 11)."""
    return tuple(int(one) for one in re.findall(r"\d+", text))


def installed_version(runtime: str | None = None) -> str | None:
    """Return the version of TensorRT that `load` would take, without importing it."""
    for name in (runtime,) if runtime else _USUAL:
        modules, distributions = _RUNTIMES[name]
        if not any(is_installed(module) for module in modules):
            continue
        for distribution in distributions:
            try:
                return metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
        return _imported_version(name)
    return None


def _imported_version(runtime: str) -> str | None:
    """Return what the module says of itself, where no distribution does."""
    found = _find(runtime)
    try:
        return getattr(import_module(found[1]), "__version__", None) if found else None
    except (ImportError, OSError, RuntimeError):  # loading it for real says why
        return None


def load(runtime: str | None = None) -> Libraries:
    """Import TensorRT and the CUDA runtime.

    Args:
        runtime: By default the first of full, lean and dispatch that is installed.
    """
    found = _find(runtime)
    package = _INSTALL[runtime or "full"]
    backend = "trt-rtx" if runtime == "rtx" else "trt"
    if found is None:
        what = f"TensorRT{f' ({runtime} runtime)' if runtime else ''} is not installed"
        hint = f"pip install {package} 'enginescope[trt]'"
        raise MissingDependencyError(what, why=f"the backend {backend} needs it", hint=hint)
    name, module = found
    try:
        trt = require(module, purpose=f"the backend {backend}", install=package.partition(" ")[0])
    except (OSError, RuntimeError) as error:  # it loads its libraries by itself
        what = f"TensorRT ({module}) does not load"
        hint = f"pip install --force-reinstall {package}, of the CUDA version of your driver"
        raise MissingDependencyError(what, why=str(error), hint=hint) from error
    if name == "rtx" and not is_installed(_CUDA):
        return Libraries(trt=trt, cuda=None, driver=None, runtime=name)
    return Libraries(trt=trt, cuda=load_cuda("runtime"), driver=load_cuda("driver"), runtime=name)


def load_cuda(part: str) -> Any:
    """Import ``cuda.bindings.runtime`` or ``cuda.bindings.driver``."""
    return require(f"{_CUDA}.{part}", purpose="the backend trt", install="enginescope[trt]")


def _find(runtime: str | None) -> tuple[str, str] | None:
    names = (runtime,) if runtime else _USUAL
    known = ((name, module) for name in names for module in _RUNTIMES[name][0])
    return next((one for one in known if is_installed(one[1])), None)


def member(enum: Any, name: str, doing: str) -> Any:
    """Return the enum member called `name`: by name, since their numbers differ by version."""
    if (found := getattr(enum, name, None)) is None:
        raise UnsupportedError(doing, why=f"this TensorRT has no {enum.__name__}.{name}")
    return found


_COMPATIBLE = "as is so for version-compatible ones"


def inspect(
    libraries: Libraries, engine: Any, context: Any, name: str
) -> tuple[str | None, Plan | None, tuple[Notice, ...]]:
    """Return the inspector's JSON as it came, the plan in it, and what is to be said of it.

    Args:
        context: With its shapes set: shapes in the plan are then those of the run.
        name: Of the plan.
    """
    # the lean bindings have the method and not the class of what it gives: calling it raises
    if not hasattr(libraries.trt, "EngineInspector"):
        return None, None, (_silent(f"the {libraries.runtime} runtime has no inspector"),)
    if (inspector := engine.create_engine_inspector()) is None:
        return None, None, (_silent(f"TensorRT has no inspector for this plan, {_COMPATIBLE}"),)
    inspector.execution_context = context
    if not (text := inspector.get_engine_information(libraries.trt.LayerInformationFormat.JSON)):
        return None, None, (_silent(f"TensorRT cannot read this plan, {_COMPATIBLE}"),)
    try:
        plan, notices = plan_of(read_json(text.encode(), f"{name}.graph.json"), name=name)
    except FormatError as error:
        return text, None, (_silent(f"the inspector's JSON cannot be read: {error}"),)
    return text, plan, notices


def _silent(why: str) -> Notice:
    return Notice("W-NO-PLAN", f"the plan cannot be read: {why}", {"why": why})


_LETTERS = {"INTERNAL_ERROR": "F", "ERROR": "E", "WARNING": "W", "INFO": "I", "VERBOSE": "V"}
_ORDER = tuple(_LETTERS)
LEVELS = {"error": "ERROR", "warning": "WARNING", "info": "INFO", "verbose": "VERBOSE"}


#: How TensorRT and CUDA say that memory is exhausted.
_MEMORY = ("outofmemory", "out of memory", "out_of_memory")


def is_out_of_memory(text: str) -> bool:
    """Whether an error says that memory is exhausted."""
    return any(word in text.lower() for word in _MEMORY)


class LogLine(Record, frozen=True, kw_only=True):
    """A warning or an error of TensorRT."""

    level: str
    text: str


class Log:
    """What TensorRT has said so far.

    Attributes:
        lines: Warnings and errors.
        text: Everything that was written, a line each.
        layers: The last engine's layers as the inspector's text, which a build with detailed
            verbosity says among its verbose messages.
    """

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.text: list[str] = []
        self.layers = ""

    @property
    def errors(self) -> tuple[str, ...]:
        """Texts of the errors, in order, without repetitions."""
        return tuple(dict.fromkeys(line.text for line in self.lines if line.level in "FE"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Texts of the warnings, in order, without repetitions."""
        return tuple(dict.fromkeys(line.text for line in self.lines if line.level == "W"))

    def why(self, otherwise: str) -> str:
        """Return the first errors as a cause."""
        return "; ".join(self.errors[:3]) or otherwise


def make_logger(trt: Any, log: Log, level: str = "info") -> Any:
    """Return a ``trt.ILogger`` that writes to standard error and fills `log`.

    Args:
        level: The least severe that is written.
    """
    shown = _ORDER[: _ORDER.index(LEVELS[level]) + 1]

    class Logger(trt.ILogger):  # type: ignore[misc]  # the module is found at run time
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:
            name = severity.name
            letter = _LETTERS.get(name, "I")
            if letter in "FEW":
                log.lines.append(LogLine(level=letter, text=message.strip()))
            if message.startswith("Layers:\n"):
                log.layers = message
            if name in shown:
                stamp = time.strftime("%m/%d/%Y-%H:%M:%S")
                line = f"[{stamp}] [{letter}] [TRT] {message}\n"
                log.text.append(line)
                sys.stderr.write(line)

    return Logger()


_BUILDS = "enginescope build MODEL --on trt-rtx builds here; run the engine on such a GPU"


def compute_capabilities(trt: Any) -> tuple[str, ...]:
    """Return the compute capabilities that this library can build for, such as ``"8.9"``."""
    numbers = sorted(
        int(name[2:]) for name in trt.ComputeCapability.__members__ if name[:2] == "SM"
    )
    return tuple(f"{number // 10}.{number % 10}" for number in numbers)


def is_served(trt: Any, capability: str | None) -> bool:
    """Whether the library runs engines on GPUs of a compute capability: listed, or newer.

    Args:
        capability: ``None``: there is no GPU.
    """
    listed = compute_capabilities(trt)
    if capability is None:
        return False
    return capability in listed or capability_numbers(capability) > capability_numbers(listed[-1])


def served_text(libraries: Libraries) -> str:
    """Return on what the library runs engines, as a clause."""
    listed = compute_capabilities(libraries.trt)
    return f"{libraries.title} runs on compute capability {', '.join(listed)} and newer"


def require_served_gpu(libraries: Libraries, device: int) -> None:
    """Raise unless the library runs engines on the GPU."""
    served = served_text(libraries)
    facts, why = _gpu(libraries, device)
    if facts is None:
        what = "no NVIDIA GPU can be used here"
        raise MissingDependencyError(what, why=f"{served}; {why}", hint=_BUILDS)
    if not is_served(libraries.trt, facts.compute_capability):
        what = f"{facts.name} cannot run engines of TensorRT for RTX"
        why = f"{served}; this GPU has {facts.compute_capability}"
        raise MissingDependencyError(what, why=why, hint=_BUILDS)


def _gpu(libraries: Libraries, device: int) -> tuple[Device | None, str]:
    """Return the GPU; or ``None`` and why there is none."""
    if libraries.cuda is None:
        if probe_devices():
            load_cuda("runtime")  # says how to get it
        return None, "this machine has no NVIDIA GPU"
    driver = Driver(libraries.cuda)
    try:
        count = driver.device_count()
    except UnsupportedError as error:
        return None, f"this machine: {error.why}"
    if device >= count:
        return None, f"this machine has no GPU {device}"
    return driver.facts(device), ""
