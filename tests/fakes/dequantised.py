"""A model whose weights are held in INT8, as one of FP32: quantizers out, weights folded."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

_PLAIN = ("Identity", "Cast", "DequantizeLinear")


def dequantised(source: Path, target: Path) -> Path:
    """Write `source` without its QuantizeLinear and DequantizeLinear nodes to `target`."""
    model = onnx.load(source)
    graph = model.graph
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    renamed: dict[str, str] = {}
    kept = []
    for node in graph.node:
        inputs = [renamed.get(name, name) for name in node.input]
        if node.op_type in _PLAIN and all(name in known for name in inputs if name):
            known[node.output[0]] = _constant(node, [known[name] for name in inputs if name])
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear", "Identity") or (
            node.op_type == "Cast" and node.input[0] in renamed
        ):
            renamed[node.output[0]] = inputs[0]
        else:
            node.ClearField("input")
            node.input.extend(inputs)
            kept.append(node)
    used = {name for node in kept for name in node.input}
    ends = {one.name for one in graph.output}
    kept += [
        onnx.helper.make_node("Identity", [renamed[end]], [end]) for end in ends & set(renamed)
    ]
    graph.ClearField("node")
    graph.node.extend(kept)
    graph.ClearField("initializer")
    graph.initializer.extend(
        numpy_helper.from_array(values, name) for name, values in known.items() if name in used
    )
    graph.ClearField("value_info")
    model.opset_import[0].version = max(13, model.opset_import[0].version)  # quantizes by channel
    onnx.checker.check_model(model)
    onnx.save(model, target)
    return target


def _constant(node: Any, values: list[Any]) -> Any:
    if node.op_type == "Identity":
        return values[0]
    if node.op_type == "Cast":
        to = next(one.i for one in node.attribute if one.name == "to")
        return values[0].astype(onnx.helper.tensor_dtype_to_np_dtype(to))
    data, scale, *zero = values
    axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
    shape = [-1 if at == axis and scale.ndim else 1 for at in range(data.ndim)]
    offset = zero[0].astype(np.float32).reshape(shape) if zero else np.float32(0)
    return (data.astype(np.float32) - offset) * scale.reshape(shape)
