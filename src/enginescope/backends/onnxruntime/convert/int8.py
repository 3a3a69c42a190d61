"""Some nodes of a model in INT8, by ONNX Runtime's own static quantization."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from enginescope.backends.onnxruntime.convert.fp16 import name_nodes
from enginescope.backends.onnxruntime.convert.model_io import read_model, write_model
from enginescope.core.errors import BackendError, EnginescopeError, innermost_reason
from enginescope.core.optional import require
from enginescope.formats.onnx.onnx_precision import graphs_of, load_without_weights

TOOL = "onnxruntime.quantization"
_PURPOSE = "quantizing a model"
_NAMED = "named.onnx"


def quantize(
    model: Path, target: Path, feeds: Sequence[Mapping[str, Any]], nodes: Sequence[str]
) -> int:
    """Write `model` with some of its nodes in INT8: Q/DQ nodes, unsigned activations.

    Everything else is the quantizer's default: one scale per tensor, ranges by minimum and maximum.

    Args:
        feeds: Inputs for the calibration, by name.
        nodes: By name; one without a name is called ``node_of_`` and its first output.

    Returns:
        Number of QuantizeLinear and DequantizeLinear nodes: 0 where no node has an INT8 form.
    """
    quantization = require(TOOL, purpose=_PURPOSE, install="onnxruntime")

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._left = iter(feeds)

        def get_next(self) -> Any:
            found = next(self._left, None)
            return None if found is None else dict(found)

    source = read_model(model)
    name_nodes(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    named = target.with_name(_NAMED)  # the quantizer finds nodes by their names
    write_model(source, named, like=model)
    try:
        with _quiet():
            quantization.quantize_static(
                str(named),
                str(target),
                Reader(),
                quant_format=quantization.QuantFormat.QDQ,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
                nodes_to_quantize=list(nodes),
            )
    except (EnginescopeError, MemoryError):
        raise
    except Exception as error:  # the quantizer raises whatever it runs into
        raise BackendError(
            f"{model.name} cannot be quantized", why=innermost_reason(error, TOOL)
        ) from error
    finally:
        for file in target.parent.glob(f"{_NAMED}*"):
            file.unlink()
    graph = load_without_weights(str(target)).graph
    kinds = ("QuantizeLinear", "DequantizeLinear")
    return sum(node.op_type in kinds for one in graphs_of(graph) for node in one.node)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence advice on preprocessing, which the quantizer gives to the root logger."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
