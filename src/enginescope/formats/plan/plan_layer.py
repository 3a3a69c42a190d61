"""Layers of a plan JSON, of every TensorRT version: read from it, and written as it has them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from enginescope.core.record import replace
from enginescope.formats.lenient_json import whole_number
from enginescope.formats.plan import tensor_format
from enginescope.records.plan.plan import Layer, Weights
from enginescope.records.tensor import DataType, Tensor

_PROFILE = re.compile(r"\[profile (\d{1,9})\]")
_ESCAPED = re.compile(r"\\u001[eEfF]")
_ONNX = re.compile(r"(?:\A|[\x1e\x1f])[ \n]*\[ONNX Layer: ([^\x1e\x1f]+)\][ \n]*(?=[\x1e\x1f]|\Z)")
#: Where a layer keeps the names of what steers the cache for it, and is no data.
CONTROLS = "ControlInputs"
_KIND = frozenset({"LayerType", "ParameterType", "TacticName", "TacticValue"})
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NAME = msgspec.json.Decoder(str)
_VALUE = msgspec.json.Decoder()


class LayerReader:
    """Raw layers into layers, in one pass over plans of any length.

    Attributes:
        entries, names: How many raw layers were read; how many of them were names alone.
        tensors: What was seen of their tensors.
    """

    def __init__(self) -> None:
        self.entries = 0
        self.names = 0
        self.tensors = tensor_format.TensorReader()
        self._kinds: dict[Any, Layer] = {}

    def read(self, raw: bytes | msgspec.Raw) -> Layer | None:
        """Return the next layer, or ``None`` if it is neither a name nor an object with one.

        What layers of a kind share is decoded once.
        """
        index, tensors = self.entries, self.tensors
        self.entries += 1
        try:
            fields = _FIELDS.decode(raw)
            name = _NAME.decode(fields.pop("Name", b"null"))
        except msgspec.ValidationError:
            value = _VALUE.decode(raw)
            if not isinstance(value, str):
                return None
            self.names += 1
            return Layer(index=index, name=value, profile_index=profile_suffix((value,)))
        metadata = _VALUE.decode(fields.pop("Metadata", b"null"))
        inputs = tensors.read(fields.pop("Inputs", b"[]"))
        outputs = tensors.read(fields.pop("Outputs", b"[]"))
        key = (*fields, b"\n".join(fields.values()))
        kind = self._kinds.get(key) or self._kinds.setdefault(key, _kind(fields))
        attributes = kind.attributes
        if tensors.has_controls:
            controls = [one.name for one in inputs if one.name.startswith(tensor_format.CONTROL)]
            # channels that TensorRT lists among the inputs to steer the L2 cache
            inputs = tuple(one for one in inputs if not one.name.startswith(tensor_format.CONTROL))
            attributes = {**attributes, CONTROLS: controls} if controls else attributes
        named = (
            (name, *[one.name for one in (*inputs, *outputs)]) if tensors.has_profiles else (name,)
        )
        return replace(
            kind,
            index=index,
            name=name,
            inputs=inputs,
            outputs=outputs,
            metadata=metadata if isinstance(metadata, str) else None,
            onnx_nodes=onnx_nodes(metadata),
            profile_index=profile_suffix(named),
            attributes=attributes,
        )


def _kind(fields: dict[str, msgspec.Raw]) -> Layer:
    """Return a layer with what those of its kind share."""
    raw = {name: _VALUE.decode(value) for name, value in fields.items()}
    subtype = tensor_format.text_of(raw.get("LayerType"))
    weights, attributes = _weights_and_rest(raw)
    return Layer(
        index=-1,
        name="",
        type=_type(tensor_format.text_of(raw.get("ParameterType")), subtype),
        subtype=subtype,
        tactic_name=tensor_format.text_of(raw.get("TacticName")),
        tactic_value=tensor_format.text_of(raw.get("TacticValue")),
        weights=weights,
        stream=whole_number(raw.get("StreamId")),
        attributes=attributes,
    )


def onnx_nodes(metadata: Any) -> tuple[str, ...]:
    """Return the ONNX node names in a layer's ``Metadata``, each once.

    They are joined with U+001E, by Myelin with U+001F, raw or escaped.
    """
    if not isinstance(metadata, str) or not metadata:
        return ()
    if "\\u001" in metadata:
        metadata = _ESCAPED.sub("\x1f", metadata)
    return tuple(dict.fromkeys(_ONNX.findall(metadata)))


def profile_suffix(names: Iterable[str]) -> int | None:
    """Return N of the first name with ``[profile N]``."""
    for name in names:
        if "[profile " in name and (match := _PROFILE.search(name)):
            return int(match[1])
    return None


def _type(parameter_type: str | None, subtype: str | None) -> str:
    if parameter_type == "Convolution" and subtype and "Deconvolution" in subtype:
        return "Deconvolution"  # TensorRT gives both kinds the same parameters
    return parameter_type or subtype or "unknown"


def _weights_and_rest(raw: dict[str, Any]) -> tuple[tuple[Weights, ...], dict[str, Any]]:
    """Return what a layer carries, and the fields that are in no other place of a layer."""
    weights = []
    rest = {}
    for key, value in raw.items():
        if type(value) is dict and "Count" in value and "Type" in value:
            count = whole_number(value["Count"])
            weights.append(_carried(key, tensor_format.text_of(value["Type"]), count))
        elif key not in _KIND:
            rest[key] = value
    constants = raw.get("Constants")
    for item in constants if isinstance(constants, list) else ():
        if (tensor := tensor_format.parse_tensor(item)) is not None:
            weights.append(Weights(role="Constants", dtype=tensor.dtype, count=tensor.elements))
            rest.pop("Constants", None)
    return tuple(weights), rest


@lru_cache(maxsize=4096)
def _carried(role: str, dtype_text: str | None, count: int | None) -> Weights:
    known = count if count is not None and count >= 0 else None
    return Weights(role=role, dtype=tensor_format.parse_dtype(dtype_text), count=known)


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
#: Fields that every layer has.
_OF_ANY = {"StreamId"}


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
        fields["ParameterType"] = "Convolution" if layer.type == "Deconvolution" else layer.type
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
    named = {
        "Metadata": layer.metadata,
        "TacticName": layer.tactic_name,
        "TacticValue": layer.tactic_value,
    }
    return fields | {name: text for name, text in named.items() if text is not None}


def _tensor(tensor: Tensor, schema: str) -> dict[str, Any]:
    dims = tensor.shape and [-1 if dim is None else dim for dim in tensor.shape]
    form = tensor.layout.text if tensor.layout else None
    dtype = tensor.dtype and _spelled(tensor.dtype)
    formats = {"Format": form, "Datatype": dtype} if schema == "trt11" else None
    fields: dict[str, Any] = {"Name": tensor.name}
    if tensor.location is not None:
        fields["Location"] = tensor.location
    return fields | {"Dimensions": dims} | (formats or {"Format/Datatype": form or dtype})


def _spelled(dtype: DataType) -> str:
    return _SPELLED.get(dtype.value, dtype.value)
