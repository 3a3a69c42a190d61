"""An ONNX model as a TensorRT network."""

from __future__ import annotations

from typing import Any

from enginescope.backends.tensorrt.libraries import Libraries
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.formats.onnx.onnx_files import load_without_weights


def node_at(path: str, index: int) -> tuple[str | None, str | None]:
    """Return name and operator of a model's node; ``None`` for both if it cannot be told."""
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
_PARSER_FLAGS = {
    "native_instance_norm": "NATIVE_INSTANCENORM",
    "plugin_override": "ENABLE_PLUGIN_OVERRIDE",
}


def make_network(libraries: Libraries, builder: Any, *, strongly_typed: bool) -> Any:
    """Return an empty network with explicit batch.

    Raises:
        UnsupportedError: Strong typing on a TensorRT that has none.
    """
    flags = libraries.trt.NetworkDefinitionCreationFlag
    wanted = 0
    explicit = getattr(flags, "EXPLICIT_BATCH", None)  # gone in 11, a no-op in 10, needed in 8
    if explicit is not None and libraries.version < (10,):
        wanted |= 1 << int(explicit)
    if strongly_typed and libraries.version < (11,):
        flag = getattr(flags, "STRONGLY_TYPED", None)
        if flag is None:
            version = libraries.trt.__version__
            raise UnsupportedError(
                "trt: strongly_typed=1", why=f"TensorRT {version} has no such networks"
            )
        wanted |= 1 << int(flag)
    return builder.create_network(wanted)


def parse_onnx(
    libraries: Libraries, network: Any, logger: Any, path: str, options: dict[str, Any]
) -> None:
    """Fill `network` from the model at `path`, external weights beside it included.

    Raises:
        UnsupportedError: It has operators that this TensorRT does not import, or a parser's option
            is not in it.
        BackendError: It cannot be parsed; every error of the parser is named.
    """
    trt = libraries.trt
    parser = trt.OnnxParser(network, logger)
    for key, flag in _PARSER_FLAGS.items():
        if key in options:
            _set_flag(trt, parser, key, flag, on=options[key])
    if parser.parse_from_file(path):
        return
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    lines = [_error_line(error, path) for error in errors] or ["the parser gave no reason"]
    codes = {_name(error.code()) for error in errors}
    kind = UnsupportedError if codes & _UNSUPPORTED else BackendError
    raise kind(f"TensorRT {trt.__version__} cannot parse {path}", why="\n".join(lines))


def _set_flag(trt: Any, parser: Any, key: str, name: str, *, on: bool) -> None:
    flag = getattr(getattr(trt, "OnnxParserFlag", None), name, None)
    if flag is None:
        raise UnsupportedError(
            f"{key}={int(on)}", why=f"TensorRT {trt.__version__} has no such parser flag"
        )
    (parser.set_flag if on else parser.clear_flag)(flag)


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
