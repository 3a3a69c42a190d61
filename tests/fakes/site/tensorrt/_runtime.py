"""Plans (a head as real ones have it, the fake's own facts, the model), loading, refitting."""

from __future__ import annotations

import json
from typing import Any

import onnx
from fake_device.device import DEVICE
from fake_device.handles import PROPERTIES
from fake_device.settings import faulty
from tensorrt._base import (
    FULL,
    IS_RTX,
    MAJOR,
    NUMBERS,
    SERIALIZATION,
    Bound,
    Setting,
    buffer_of,
    need,
)
from tensorrt._callbacks import ILogger
from tensorrt._engine import ICudaEngine
from tensorrt._execution import Execution

TAG = b"vtrt" if IS_RTX else b"ftrt"
#: As TensorRT for RTX counts the bits of a plan's second header.
CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")
_HEAD_BYTES = 40


def write_plan(facts: dict[str, Any], model: Any) -> bytes:
    stamp = bytes((*NUMBERS, 0, 0)[:4])
    text = json.dumps({**facts, "tensorrt": FULL, "serialization": SERIALIZATION}).encode()
    wanted = facts.get("capabilities") or CAPABILITIES[1:]
    bits = sum(1 << CAPABILITIES.index(one) for one in wanted) if IS_RTX else 0
    head = TAG + bytes(20) + stamp + TAG + bits.to_bytes(4, "little")
    head += len(text).to_bytes(4, "little")
    return head + text + model.SerializeToString()


def _read_plan(data: bytes) -> tuple[dict[str, Any], Any] | None:
    if len(data) < _HEAD_BYTES or data[:4] != TAG:
        return None
    size = int.from_bytes(data[36:40], "little")
    try:
        facts = json.loads(data[_HEAD_BYTES : _HEAD_BYTES + size])
        return facts, onnx.load_from_string(data[_HEAD_BYTES + size :])
    except Exception:  # noqa: BLE001  # whatever is wrong with it: it is no plan
        return None


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

    engine_host_code_allowed = Setting(bool, False)
    DLA_core = Setting(int, -1)
    temporary_directory = Setting(str, "/tmp")  # as the real one says
    tempfile_control_flags = Setting(int, 3)

    def deserialize_cuda_engine(self, serialized_engine: Any) -> ICudaEngine | None:
        data = buffer_of("deserialize_cuda_engine", serialized_engine)
        self._say("INFO", f"Loaded engine size: {len(data) >> 20} MiB")
        found = _read_plan(data)
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
        served = facts["capabilities"] or CAPABILITIES[1:]
        own = f"{PROPERTIES['major']}.{PROPERTIES['minor']}"
        if IS_RTX and own not in served:
            self._error(
                f"The engine cannot run on this GPU, which has compute capability {own}. Supported "
                f"compute capabilities: {' '.join(served)}."
            )
            return None
        if faulty("oom_engine") or not DEVICE.memory.reserve(facts["weight_bytes"]):
            self._out_of_memory(
                "engine.cpp::deserializeEngine::951",
                f"Requested amount of GPU memory ({facts['weight_bytes']} bytes) could not be "
                "allocated. There may not be enough free memory for allocation to succeed.",
            )
            return None
        return ICudaEngine(facts, model, self._logger)

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


class Refitter(Bound):
    def __init__(self, engine: ICudaEngine, logger: ILogger) -> None:
        need("Refitter", (engine, ICudaEngine), (logger, ILogger))
        if not engine.refittable:
            engine._error("3: [refit.cpp] Error Code 3: API Usage Error (not refittable)")
            raise TypeError("pybind11::init(): factory function returned nullptr")
        self._engine = engine
        self._new: dict[str, Any] = {}

    def refit_cuda_engine(self) -> bool:
        engine, model = self._engine, onnx.ModelProto()
        model.CopyFrom(engine._model)
        for one in model.graph.initializer:
            one.CopyFrom(self._new.get(one.name, one))
        engine._model = model
        engine._execution = Execution(model, engine._facts["io"], engine._facts["precisions"])
        return True


class OnnxParserRefitter(Bound):
    """Takes the weights out of an ONNX model of the same structure."""

    def __init__(self, refitter: Refitter, logger: ILogger) -> None:
        need("OnnxParserRefitter", (refitter, Refitter), (logger, ILogger))
        self._refitter = refitter

    def refit_from_file(self, model: str) -> bool:
        need("refit_from_file", (model, str))
        weights = {one.name: one for one in onnx.load(model).graph.initializer}
        self._refitter._new |= weights
        return weights.keys() <= {
            one.name for one in self._refitter._engine._model.graph.initializer
        }
