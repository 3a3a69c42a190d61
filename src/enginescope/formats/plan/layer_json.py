"""A layer as TensorRT's JSON has it, of what was read of it."""

from __future__ import annotations

from typing import Any

from enginescope.formats.plan.plan_layer import CONTROLS
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import DataType, Tensor

#: How the inspector spells the types of what a layer carries.
_SPELLED = {
    "FP32": "Float",
    "FP16": "Half",
    "BF16": "BFloat16",
    "INT8": "Int8",
    "INT32": "Int32",
    "INT64": "Int64",
    "BOOL": "Bool",
}
_SPLIT = "trt11"
#: Fields that every layer has.
_OF_ANY = {"StreamId", "Metadata"}


def layer_json(layer: Layer, schema: str = "trt8-10") -> dict[str, Any] | str:
    """Return a layer's fields by TensorRT's names; its name alone where the plan has no more.

    Args:
        schema: `Plan.source_schema`: how the file writes types and formats of tensors.
    """
    if schema == "names-only":
        return layer.name
    fields: dict[str, Any] = {
        "Name": layer.name,
        "LayerType": layer.subtype,
        "Inputs": [_tensor(tensor, schema) for tensor in layer.inputs],
        "Outputs": [_tensor(tensor, schema) for tensor in layer.outputs],
    }
    own = {name: value for name, value in layer.attributes.items() if name != CONTROLS}
    # TensorRT writes the type of parameters only where there are some.
    if layer.type != layer.subtype or layer.weights or own.keys() - _OF_ANY:
        is_turned = layer.type == "Deconvolution"
        fields["ParameterType"] = "Convolution" if is_turned else layer.type
    constants = []
    for weights in layer.weights:
        carried = {"Type": weights.dtype and _spelled(weights.dtype), "Count": weights.count}
        if weights.role == "Constants":
            constants.append(carried)
        else:
            fields[weights.role] = carried
    if constants:
        fields["Constants"] = constants
    fields |= own
    named = {"TacticName": layer.tactic_name, "TacticValue": layer.tactic_value}
    return fields | {name: text for name, text in named.items() if text is not None}


def _tensor(tensor: Tensor, schema: str) -> dict[str, Any]:
    dims = tensor.shape and [-1 if dim is None else dim for dim in tensor.shape]
    form = tensor.layout.text if tensor.layout else None
    dtype = tensor.dtype and _spelled(tensor.dtype)
    formats = {"Format": form, "Datatype": dtype} if schema == _SPLIT else None
    fields: dict[str, Any] = {"Name": tensor.name}
    if tensor.location is not None:
        fields["Location"] = tensor.location
    return fields | {"Dimensions": dims} | (formats or {"Format/Datatype": form or dtype})


def _spelled(dtype: DataType) -> str:
    return _SPELLED.get(dtype.value, dtype.value)
