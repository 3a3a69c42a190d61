"""Classes for the user to derive from, loggers, and the registry of plugins."""

import sys
import time
from pathlib import Path
from typing import Any

from tensorrt._base import Bound, Made, Severity, Subclassable, need


class ILogger(Subclassable):
    """The user derives from it."""

    Severity = Severity
    INTERNAL_ERROR = Severity.INTERNAL_ERROR
    ERROR = Severity.ERROR
    WARNING = Severity.WARNING
    INFO = Severity.INFO
    VERBOSE = Severity.VERBOSE

    def log(self, severity: Any, msg: str) -> None: ...


class Logger(ILogger, Bound):
    """Writes what is at least as severe as `min_severity`."""

    min_severity = Severity.WARNING

    def __init__(self, min_severity: Any = Severity.WARNING) -> None:
        ILogger.__init__(self)
        need("Logger", (min_severity, Severity))
        self.min_severity = min_severity

    def log(self, severity: Any, msg: str) -> None:
        if int(severity) <= int(self.min_severity):
            stamp = time.strftime("%m/%d/%Y-%H:%M:%S")
            sys.stderr.write(f"[{stamp}] [TRT] [{severity.name[0]}] {msg}\n")


class IProfiler(Subclassable):
    def report_layer_time(self, layer_name: str, ms: float) -> None: ...


class IOutputAllocator(Subclassable):
    """Asked for memory when an output's size is known."""

    def reallocate_output(
        self, tensor_name: str, memory: int | None, size: int, alignment: int
    ) -> int | None: ...

    def reallocate_output_async(
        self, tensor_name: str, memory: int | None, size: int, alignment: int, stream: int
    ) -> int | None:
        return self.reallocate_output(tensor_name, memory, size, alignment)

    def notify_shape(self, tensor_name: str, shape: Any) -> None: ...


class IProgressMonitor(Subclassable):
    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None: ...

    def step_complete(self, phase_name: str, step: int) -> bool:
        return True

    def phase_finish(self, phase_name: str) -> None: ...


class IInt8EntropyCalibrator2(Subclassable):
    def get_batch_size(self) -> int: ...

    def get_batch(self, names: list[str]) -> list[int] | None: ...

    def read_calibration_cache(self) -> Any: ...

    def write_calibration_cache(self, cache: Any) -> None: ...


class IPluginRegistry(Made):
    """The registry of plugins: it loads any library that exists."""

    def __init__(self) -> None:
        """Be made by the library."""

    def load_library(self, plugin_path: str) -> object | None:
        need("load_library", (plugin_path, str))
        return object() if Path(plugin_path).is_file() else None


def get_plugin_registry() -> IPluginRegistry:
    return IPluginRegistry()


def init_libnvinfer_plugins(logger: Any, namespace: str) -> bool:
    need("init_libnvinfer_plugins", (logger, ILogger), (namespace, str))
    logger.log(ILogger.VERBOSE, "Registered plugin creator - ::EfficientNMS_TRT version 1")
    return True
