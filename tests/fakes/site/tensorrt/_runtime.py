"""Loading plans."""

from __future__ import annotations

from typing import Any

from fake_device.device import DEVICE
from fake_device.handles import PROPERTIES
from fake_device.settings import faulty
from tensorrt import _plan
from tensorrt._bound import Bound, buffer_of, need, setting
from tensorrt._engine import ICudaEngine
from tensorrt._logger import ILogger
from tensorrt._plugins import REGISTRY
from tensorrt._version import IS_RTX, MAJOR, SERIALIZATION

#: The oldest major version whose version-compatible plans load, as seen with real ones.
_OLDEST = {8: 8, 10: 8, 11: 10}[MAJOR]


class Runtime(Bound):
    """Loads plans of this version, and version-compatible ones if their code may run."""

    def __init__(self, logger: ILogger) -> None:
        need("Runtime", (logger, ILogger))
        if DEVICE.absent() is not None:
            raise AssertionError("without a GPU the real Runtime ends the process by SIGSEGV here")
        self._logger = logger
        self._values: dict[str, Any] = {}

    engine_host_code_allowed = setting("engine_host_code_allowed", bool, False)
    DLA_core = setting("DLA_core", int, -1)
    max_threads = setting("max_threads", int, 1)
    temporary_directory = setting("temporary_directory", str, "/tmp")  # as the real one says
    tempfile_control_flags = setting("tempfile_control_flags", int, 3)
    logger = property(lambda self: self._logger)

    def get_plugin_registry(self) -> Any:
        return REGISTRY

    def deserialize_cuda_engine(self, serialized_engine: Any) -> ICudaEngine | None:
        data = buffer_of("deserialize_cuda_engine", serialized_engine)
        self._logger.log(ILogger.INFO, f"Loaded engine size: {len(data) >> 20} MiB")
        found = _plan.read(data)
        if found is None:
            return self._refuse(
                "Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match"
            )
        facts, model = found
        compatible = "VERSION_COMPATIBLE" in facts["flags"]
        if compatible and not self.engine_host_code_allowed:
            return self._refuse(
                "The engine plan file is a version compatible one, which holds host code. Set "
                "engine_host_code_allowed"
            )
        theirs = facts["serialization"]
        loadable = compatible and _OLDEST <= facts["major"] <= MAJOR
        if theirs != SERIALIZATION and not loadable:
            return self._refuse(
                "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version "
                f"tag does not match. Note: Current Version: {SERIALIZATION}, Serialized Engine "
                f"Version: {theirs}"
            )
        served = facts["capabilities"] or _plan.CAPABILITIES[1:]
        own = f"{PROPERTIES['major']}.{PROPERTIES['minor']}"
        if IS_RTX and own not in served:
            self._error(
                f"The engine cannot run on this GPU, which has compute capability {own}. Supported "
                f"compute capabilities: {' '.join(served)}."
            )
            return None
        if faulty("oom_engine") or not DEVICE.memory.reserve(facts["weight_bytes"]):
            self._out_of_memory(facts["weight_bytes"])
            return None
        return ICudaEngine(facts, model, data, self._logger)

    def _refuse(self, why: str) -> None:
        if MAJOR >= 10:
            self._error(f"IRuntime::deserializeCudaEngine: Error Code 1: Serialization ({why})")
            return
        self._error(
            f"1: [stdArchiveReader.cpp::StdArchiveReader::42] Error Code 1: Serialization ({why})"
        )
        self._error(
            "4: [runtime.cpp::deserializeCudaEngine::66] Error Code 4: Internal Error (Engine "
            "deserialization failed.)"
        )

    def _out_of_memory(self, nbytes: int) -> None:
        self._error(
            "1: [defaultAllocator.cpp::allocate::19] Error Code 1: Cuda Runtime (out of memory)"
        )
        self._logger.log(
            ILogger.WARNING,
            f"Requested amount of GPU memory ({nbytes} bytes) could not be allocated. There may "
            "not be enough free memory for allocation to succeed.",
        )
        self._error(
            "2: [engine.cpp::deserializeEngine::951] Error Code 2: OutOfMemory (no further "
            "information)"
        )

    def _error(self, text: str) -> None:
        self._logger.log(ILogger.ERROR, text)
