"""An ONNX model as a TensorRT network, and INT8 ranges for a model that carries none.

Element types and memory formats of an engine's inputs and outputs: ``fp16:chw+hwc8``.
Plugin libraries, loaded before anything is parsed or deserialized.
TensorRT's element types, by name.

Only TensorRT 8 to 10 calibrate; from 11 on a model carries Q/DQ nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.tensorrt.build.config import TYPES, Target, type_called
from enginescope.backends.tensorrt.build.profiles import Span
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.libraries import Libraries, member
from enginescope.core.errors import BackendError, UnsupportedError, UsageError, os_errors_as
from enginescope.formats.onnx.onnx_precision import load_without_weights
from enginescope.judge.notice import Notice
from enginescope.records.tensor import NUMPY, DataType


def node_at(path: str, index: int) -> tuple[str | None, str | None]:
    """Return name and operator of a model's node; ``None`` for both if unknown."""
    try:
        nodes = load_without_weights(path).graph.node
    except BackendError:
        return None, None
    if not 0 <= index < len(nodes):
        return None, None
    node = nodes[index]
    domain = f"{node.domain}::" if node.domain else ""
    return node.name or None, f"{domain}{node.op_type}"


#: Codes of the parser that say: this operator, and not: this file.
_UNSUPPORTED = {"UNSUPPORTED_NODE", "UNSUPPORTED_GRAPH", "UNSUPPORTED_NODE_ATTR"}
#: What it says of an operator that it does not know, whose code was another until TensorRT 10.
_NO_PLUGIN = "Plugin not found"
_PARSER_FLAGS = {
    "native_instance_norm": "NATIVE_INSTANCENORM",
    "plugin_override": "ENABLE_PLUGIN_OVERRIDE",
}


def make_network(libraries: Libraries, builder: Any, *, strongly_typed: bool) -> Any:
    """Return an empty network with explicit batch."""
    flags = libraries.trt.NetworkDefinitionCreationFlag
    wanted = 0
    explicit = getattr(flags, "EXPLICIT_BATCH", None)  # gone in 11, a no-op in 10, needed in 8
    if explicit is not None and libraries.version < (10,):
        wanted |= 1 << int(explicit)
    if strongly_typed and libraries.version < (11,):
        if (flag := getattr(flags, "STRONGLY_TYPED", None)) is None:
            what = "trt: strongly_typed=1"
            raise UnsupportedError(what, why=f"{libraries.title} has no such networks")
        wanted |= 1 << int(flag)
    return builder.create_network(wanted)


def parse_onnx(
    libraries: Libraries, network: Any, logger: Any, path: str, options: dict[str, Any]
) -> None:
    """Fill `network` from the model at `path`, external weights beside it included."""
    trt = libraries.trt
    parser = trt.OnnxParser(network, logger)
    for key, name in _PARSER_FLAGS.items():
        if key in options:
            flag = getattr(getattr(trt, "OnnxParserFlag", None), name, None)
            if flag is None:
                why = f"TensorRT {trt.__version__} has no such parser flag"
                raise UnsupportedError(f"{key}={int(options[key])}", why=why)
            (parser.set_flag if options[key] else parser.clear_flag)(flag)
    if parser.parse_from_file(path):
        return
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    lines = [_error_line(error, path) for error in errors] or ["the parser gave no reason"]
    lacks = any(
        _name(error.code()) in _UNSUPPORTED or _NO_PLUGIN in error.desc() for error in errors
    )
    kind = UnsupportedError if lacks else BackendError
    raise kind(f"{libraries.title} cannot parse {path}", why="\n".join(lines))


def _error_line(error: Any, path: str) -> str:
    """Return one error: the node's name and operator, then what is wrong with it."""
    name, operator = _said(error, "node_name"), _said(error, "node_operator")
    if not operator and error.node() >= 0:  # TensorRT 8 gives the number only
        name, operator = node_at(path, error.node())
    place = f"node {error.node()} {name or ''} ({operator or 'unknown operator'})"
    return f"{' '.join(place.split())}: {error.desc().strip()} [{_name(error.code())}]"


def _said(error: Any, method: str) -> str | None:
    ask = getattr(error, method, None)
    return ask() if ask is not None else None


def _name(code: Any) -> str:
    return str(code).rpartition(".")[2]  # its name is a method in 8.6, and a text later


_SAME = ("CHW2", "CHW4", "HWC8", "HWC16", "CHW16", "CHW32", "DHWC8", "CDHW32", "HWC", "DHWC")
_FORMATS = {"chw": "LINEAR"}
_FORMATS |= {name.lower(): name for name in (*_SAME, "DLA_LINEAR", "DLA_HWC4")}


def set_io_formats(target: Target, key: str, specs: tuple[str, ...]) -> None:
    """Set types and formats of all inputs or outputs; one specification is for all of them."""
    network = target.network
    inputs = key == "input_formats"
    count = network.num_inputs if inputs else network.num_outputs
    if len(specs) not in (1, count):
        raise UsageError(key, why=f"{len(specs)} given for {count} tensors", hint="one, or all")
    for index in range(count):
        tensor = network.get_input(index) if inputs else network.get_output(index)
        _set(target, key, tensor, specs[index if len(specs) > 1 else 0])


def _set(target: Target, key: str, tensor: Any, spec: str) -> None:
    word, colon, formats = spec.partition(":")
    if not colon:
        word, formats = "", spec
    if word:
        if target.libraries.version >= (11,):
            why = f"{target.libraries.title} takes types from the model"
            raise UnsupportedError(f"{key}={spec}", why=why, hint=f"{key}={formats}")
        tensor.dtype = type_called(target.trt, word)
    mask = 0
    for one in formats.split("+"):
        if one not in _FORMATS:
            raise UsageError(f"{key}={spec}", why=f"no format {one!r}", hint=", ".join(_FORMATS))
        mask |= 1 << int(member(target.trt.TensorFormat, _FORMATS[one], f"{key}={one}"))
    tensor.allowed_formats = mask


def load_plugins(libraries: Libraries, logger: Any, paths: tuple[str, ...]) -> None:
    """Register TensorRT's own plugins, where this runtime has them, and those in `paths`."""
    trt = libraries.trt
    register = getattr(trt, "init_libnvinfer_plugins", None)  # not in the lean runtime
    if register is not None:
        register(logger, "")
    for path in paths:
        if not Path(path).is_file():
            raise UsageError(f"plugin library {path}", why="no such file")
        if trt.get_plugin_registry().load_library(str(Path(path).resolve())) is None:
            raise BackendError(f"plugin library {path}", why="TensorRT could not load it")


def dtype_of(trt_type: Any) -> DataType | None:
    """Return the type; ``None`` for one this program does not know."""
    return TYPES.get(trt_type.name)


def set_calibrator(
    trt: Any, cuda: Cuda, config: Any, network: Any, cache: str | None, spans: dict[str, Span]
) -> tuple[Any, tuple[Notice, ...]]:
    """Give the build INT8 ranges, unless the model has its own.

    Returns:
        calibrator: To be kept alive until the build is over.
    """
    layers = (network.get_layer(index) for index in range(network.num_layers))
    if cache is None and any(layer.type == trt.LayerType.QUANTIZE for layer in layers):
        return None, ()
    if (base := getattr(trt, "IInt8EntropyCalibrator2", None)) is None:
        raise UnsupportedError("calibration", why=f"TensorRT {trt.__version__} does not calibrate")
    with os_errors_as(UsageError, f"calibration cache {cache}"):
        data = Path(cache).read_bytes() if cache else None
    made = _calibrator(base, data, [] if data else [_random_inputs(cuda, network, spans)])
    config.int8_calibrator = made
    message = (
        "INT8 ranges come from one random batch: times are valid, "
        "outputs are not; give calibration_cache=FILE or a model with Q/DQ nodes"
    )
    return made, () if data else (Notice("W-RANDOM-CALIBRATION", message),)


def _random_inputs(cuda: Cuda, network: Any, spans: dict[str, Span]) -> dict[str, int]:
    """Return addresses of one random batch, −1…1 or whatever the type holds."""
    generator = np.random.default_rng(0)
    addresses = {}
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        values = _random_values(tensor, spans.get(tensor.name), generator)
        address = cuda.device_buffer(values.nbytes)
        rt = cuda.runtime
        copied = rt.cudaMemcpy(
            address, values.ctypes.data, values.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice
        )
        cuda.check(copied, "copying a calibration batch")
        addresses[tensor.name] = address
    return addresses


def _random_values(tensor: Any, span: Span | None, generator: np.random.Generator) -> Any:
    known = dtype_of(tensor.dtype)
    if known not in NUMPY:
        what = f"calibration with input {tensor.name} of type {tensor.dtype.name}"
        hint = "calibration_cache=FILE, or a model with Q/DQ nodes"
        raise UnsupportedError(what, why="it cannot be filled at random", hint=hint)
    kind = np.dtype(NUMPY[known])
    if span is not None and tensor.is_shape_tensor:
        return np.array(span.opt, kind)
    shape = span.opt if span is not None else tuple(tensor.shape)
    return generator.uniform(-1, 1, shape).astype(kind)


def _calibrator(base: Any, cache: bytes | None, batches: list[dict[str, int]]) -> Any:
    class Calibrator(base):  # type: ignore[misc]  # the class is found at run time
        def __init__(self) -> None:
            base.__init__(self)

        def get_batch_size(self) -> int:
            return 1

        def get_batch(self, names: list[str]) -> list[int] | None:
            if not batches:
                return None
            batch = batches.pop()
            return [batch[name] for name in names]

        def read_calibration_cache(self) -> bytes | None:
            return cache

        def write_calibration_cache(self, cache: bytes) -> None:
            """Ranges of random inputs are not worth keeping."""

    return Calibrator()
