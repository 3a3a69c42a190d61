"""Layers and tensors of a plan JSON, of every TensorRT version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from enginescope.formats.tensor_format import parse_dtype, parse_joined, parse_split
from enginescope.model.plan import Layer, Weights
from enginescope.model.tensor import DataType, Layout, Tensor

_PROFILE = re.compile(r"\[profile (\d{1,9})\]")
_SEPARATOR = re.compile("[\x1e\x1f]|" + r"\\u001[eEfF]")
_ONNX = re.compile(r"\[ONNX Layer: (.*)\]", re.DOTALL)
_MAX_INT = 2**63
_OWN_KEYS = frozenset(
    {"Name", "LayerType", "ParameterType", "Inputs", "Outputs", "TacticName", "TacticValue"}
)


def parse_layer(index: int, raw: Any) -> Layer | None:
    """Return a layer, or ``None`` if `raw` is neither a name nor an object with one."""
    if isinstance(raw, str):
        return Layer(index=index, name=raw, profile_index=profile_suffix((raw,)))
    if not isinstance(raw, dict) or not isinstance(raw.get("Name"), str):
        return None
    name = raw["Name"]
    subtype = _text(raw.get("LayerType"))
    inputs, outputs = _tensors(raw.get("Inputs")), _tensors(raw.get("Outputs"))
    weights = tuple(_weights(raw))
    used = _OWN_KEYS | {one.role for one in weights}
    nodes = onnx_nodes(raw.get("Metadata"))
    stream = raw.get("StreamId")
    return Layer(
        index=index,
        name=name,
        type=_type(_text(raw.get("ParameterType")), subtype),
        subtype=subtype,
        inputs=inputs,
        outputs=outputs,
        tactic_name=_text(raw.get("TacticName")),
        tactic_value=_text(raw.get("TacticValue")),
        weights=weights,
        onnx_nodes=nodes,
        stream=whole_number(stream),
        profile_index=profile_suffix((name, *(one.name for one in (*inputs, *outputs)))),
        attributes={key: value for key, value in raw.items() if key not in used},
    )


def parse_tensor(raw: Any) -> Tensor | None:
    """Return a tensor, or ``None`` if `raw` has no name."""
    if not isinstance(raw, dict) or not isinstance(raw.get("Name"), str):
        return None
    dtype, layout = _format_of(raw)
    return Tensor(
        name=raw["Name"],
        shape=parse_shape(raw.get("Dimensions")),
        dtype=dtype,
        layout=layout,
        location=_text(raw.get("Location")),
    )


def parse_shape(raw: Any) -> tuple[int | None, ...] | None:
    """Return dimensions, −1 as ``None``; ``None`` for what is no list of whole numbers."""
    if not isinstance(raw, list):
        return None
    dims = [whole_number(one) for one in raw]
    if any(dim is None for dim in dims):
        return None
    return tuple(dim if dim is not None and dim >= 0 else None for dim in dims)


def onnx_nodes(metadata: Any) -> tuple[str, ...]:
    """Return the ONNX node names in a layer's ``Metadata``, each once.

    They are joined with U+001E, by Myelin with U+001F, raw or escaped.
    """
    if not isinstance(metadata, str):
        return ()
    found = (_ONNX.fullmatch(part.strip()) for part in _SEPARATOR.split(metadata))
    return tuple(dict.fromkeys(match[1] for match in found if match and match[1]))


def profile_suffix(names: Iterable[str]) -> int | None:
    """Return N of the first name with ``[profile N]``."""
    return next((int(match[1]) for name in names if (match := _PROFILE.search(name))), None)


def whole_number(value: Any) -> int | None:
    """Return `value` if it is an integer that fits 64 bits, else ``None``."""
    return value if type(value) is int and abs(value) < _MAX_INT else None


def unknown_formats(raw_layers: Sequence[Any]) -> Iterable[str]:
    """Yield the format or type text of every tensor whose type was not understood."""
    for layer in raw_layers:
        if not isinstance(layer, dict):
            continue
        for raw in (*_items(layer.get("Inputs")), *_items(layer.get("Outputs"))):
            if not isinstance(raw, dict) or _format_of(raw)[0] is not None:
                continue
            text = _text(raw.get("Format/Datatype")) or _text(_datatype_text(raw))
            if text is not None:
                yield text


def _type(parameter_type: str | None, subtype: str | None) -> str:
    if parameter_type == "Convolution" and subtype and "Deconvolution" in subtype:
        return "Deconvolution"  # TensorRT gives both kinds the same parameters
    return parameter_type or subtype or "unknown"


def _tensors(raw: Any) -> tuple[Tensor, ...]:
    return tuple(one for item in _items(raw) if (one := parse_tensor(item)) is not None)


def _items(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else []


def _format_of(raw: dict[str, Any]) -> tuple[DataType | None, Layout | None]:
    joined = _text(raw.get("Format/Datatype"))
    if joined is not None:
        return parse_joined(joined)
    return parse_split(_text(raw.get("Format")), _text(_datatype_text(raw)))


def _datatype_text(raw: dict[str, Any]) -> Any:
    return raw.get("Datatype") or raw.get("DataType")


def _weights(raw: dict[str, Any]) -> Iterable[Weights]:
    for key, value in raw.items():
        if isinstance(value, dict) and "Count" in value and "Type" in value:
            count = whole_number(value["Count"])
            yield Weights(
                role=key,
                dtype=parse_dtype(_text(value["Type"])),
                count=count if count is not None and count >= 0 else None,
            )
    for constant in _tensors(raw.get("Constants")):
        yield Weights(role="Constants", dtype=constant.dtype, count=constant.elements)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
