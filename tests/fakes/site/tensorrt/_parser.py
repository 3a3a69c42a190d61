"""The ONNX parser: real files, and errors where the real one has them."""

from pathlib import Path
from typing import Any

import onnx
from fake_device.settings import faulty
from google.protobuf.message import DecodeError
from tensorrt import _model
from tensorrt._bound import Bound, Made, buffer_of, need
from tensorrt._enums import ALL
from tensorrt._logger import ILogger
from tensorrt._network import INetworkDefinition
from tensorrt._version import MAJOR

ErrorCode = ALL["ErrorCode"]
OnnxParserFlag = ALL.get("OnnxParserFlag")
MISSING_DOMAIN = "fake.missing"


class ParserError(Made):
    """One error: about a node, or about the file (node −1)."""

    def __init__(self, code: Any, desc: str, node: int = -1, what: Any = None) -> None:
        self._code, self._desc, self._node, self._what = code, desc, node, what

    def code(self) -> Any:
        return self._code

    def desc(self) -> str:
        return self._desc

    def file(self) -> str:
        return "onnxOpImporters.cpp" if self._node >= 0 else "ModelImporter.cpp"

    def func(self) -> str:
        return "importFallbackPluginImporter" if self._node >= 0 else "deserializeOnnxModel"

    def line(self) -> int:
        return 5195 if self._node >= 0 else 42

    def node(self) -> int:
        return self._node

    def node_name(self) -> str:
        return _model.name_of(self._what) if self._what is not None else ""

    def node_operator(self) -> str:
        return self._what.op_type if self._what is not None else ""

    def __str__(self) -> str:
        code = str(self._code).rpartition(".")[2]
        return f"In node {self._node} ({self.func()}): {code}: {self._desc}"


class OnnxParser(Bound):
    def __init__(self, network: INetworkDefinition, logger: ILogger) -> None:
        need("OnnxParser", (network, INetworkDefinition), (logger, ILogger))
        self._network, self._logger = network, logger
        self._errors: list[ParserError] = []
        native = "NATIVE_INSTANCENORM"  # set by default from 10 on
        self._flags = 1 << int(getattr(OnnxParserFlag, native)) if MAJOR >= 10 else 0

    def parse(self, model: Any, path: str | None = None) -> bool:
        data = buffer_of("parse", model)
        try:
            found = onnx.load_from_string(data)
            if path is not None:
                folder = str(Path(path).parent)
                onnx.external_data_helper.load_external_data_for_model(found, folder)
        except (DecodeError, OSError, ValueError):
            return self._fail("MODEL_DESERIALIZE_FAILED", "Failed to parse the ONNX model.")
        return self._take(found)

    def parse_from_file(self, model: str) -> bool:
        need("parse_from_file", (model, str))
        try:
            found = onnx.load(model)
        except (DecodeError, OSError, ValueError) as error:
            if not Path(model).is_file():
                self._say("ERROR", f"Could not open file {model}")
            missing = MAJOR >= 11 and not Path(model).is_file()
            return self._fail(
                "INVALID_VALUE" if missing else "MODEL_DESERIALIZE_FAILED",
                f"Failed to parse ONNX model from file: {model}! ({type(error).__name__})",
            )
        self._say("INFO", f"Input filename:   {model}")
        self._say("INFO", f"ONNX IR version:  0.0.{found.ir_version}")
        self._say("INFO", f"Producer name:    {found.producer_name}")
        return self._take(found)

    def _take(self, model: Any) -> bool:
        if self._network._implicit:
            return self._fail(
                "INVALID_VALUE",
                "Assertion failed: !_importer_ctx.network()->hasImplicitBatchDimension() && "
                '"This version of the ONNX parser only supports TensorRT INetworkDefinitions with '
                "an explicit batch dimension. Please ensure the network was created using the "
                'EXPLICIT_BATCH NetworkDefinitionCreationFlag."',
            )
        nodes = list(enumerate(model.graph.node))
        bad = [(at, node) for at, node in nodes if node.domain == MISSING_DOMAIN]
        if faulty("plugin_missing"):
            bad = bad or nodes[-1:]
        for at, node in bad:
            self._refuse(at, node)
        untyped = [one.name for one in _model.inputs_of(model) if _model.type_of(one) is None]
        if untyped:
            return self._fail("UNSUPPORTED_GRAPH", f"Unsupported type of input {untyped[0]}")
        if bad:
            self._network._fill_inputs(model)
            return False
        if not _model.HAS_INT64 and _uses_int64(model):
            self._say(
                "WARNING",
                "onnx2trt_utils.cpp:374: Your ONNX model has been generated with INT64 weights, "
                "while TensorRT does not natively support INT64. Attempting to cast down to INT32.",
            )
        self._network._fill(model)
        return True

    def _refuse(self, at: int, node: Any) -> None:
        self._say(
            "INFO",
            f"No importer registered for op: {node.op_type}. Attempting to import as plugin.",
        )
        self._say(
            "INFO", f"Searching for plugin: {node.op_type}, plugin_version: 1, plugin_namespace: "
        )
        if MAJOR == 8:
            self._say(
                "ERROR", f"3: getPluginCreator could not find plugin: {node.op_type} version: 1"
            )
        desc = (
            'Assertion failed: creator && "Plugin not found, are the plugin name, version, and '
            'namespace correct?"'
        )
        if MAJOR >= 10:
            desc = f"{desc}\n"
        code = ErrorCode.UNSUPPORTED_NODE if MAJOR < 11 else ErrorCode.INVALID_NODE
        error = ParserError(code, desc, at, node)
        self._errors.append(error)
        self._say(
            "ERROR",
            f"ModelImporter.cpp:768: While parsing node number {at} [{node.op_type} -> "
            f'"{node.output[0]}"]:',
        )
        self._say("ERROR", f"ModelImporter.cpp:771: ERROR: {error}")

    def _fail(self, code: str, desc: str) -> bool:
        self._errors.append(ParserError(getattr(ErrorCode, code), desc))
        self._say("ERROR", desc)
        return False

    def _say(self, severity: str, text: str) -> None:
        self._logger.log(getattr(ILogger, severity), text)

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index: int) -> ParserError:
        need("get_error", (index, int))
        if MAJOR >= 11 and index >= len(self._errors):
            self._say("ERROR", f"IParser::getError: there is no error {index}")
            return None
        return self._errors[index]

    @property
    def flags(self) -> int:
        return self._flags

    @flags.setter
    def flags(self, value: int) -> None:
        self._flags = value

    def set_flag(self, flag: Any) -> None:
        need("set_flag", (flag, OnnxParserFlag))
        self._flags |= 1 << int(flag)

    def clear_flag(self, flag: Any) -> None:
        need("clear_flag", (flag, OnnxParserFlag))
        self._flags &= ~(1 << int(flag))

    def get_flag(self, flag: Any) -> bool:
        need("get_flag", (flag, OnnxParserFlag))
        return bool(self._flags >> int(flag) & 1)


def _uses_int64(model: Any) -> bool:
    return any(one.data_type == onnx.TensorProto.INT64 for one in model.graph.initializer)
