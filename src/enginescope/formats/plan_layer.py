"""Layers and tensors of a plan JSON, of every TensorRT version."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from enginescope.formats.tensor_format import parse_dtype, parse_joined, parse_split
from enginescope.model.plan import Layer, Weights
from enginescope.model.tensor import DataType, Layout, Tensor

_PROFILE = re.compile(r"\[profile (\d{1,9})\]")
_SEPARATOR = re.compile("[\x1e\x1f]|" + r"\\u001[eEfF]")
_ONNX = re.compile(r"\[ONNX Layer: (.*)\]", re.DOTALL)
_MAX_INT = 2**63
#: Where a layer keeps the names of what steers the cache for it, and is no data.
CONTROLS = "ControlInputs"
_CONTROL = "l2_cache_"
Shape = tuple[int | None, ...] | None
_OWN_KEYS = frozenset(
    {"Name", "LayerType", "ParameterType", "Inputs", "Outputs", "TacticName", "TacticValue"}
)


class LayerReader:
    """Raw layers into layers, in one pass over plans of any length.

    Attributes
    ----------
    entries, names : int
        How many raw layers were read; how many of them were names alone.
    unknown_formats : set of str
        Format or type texts of tensors whose type was not understood.
    has_split_format : bool
        Whether a tensor has its type apart from its format, as TensorRT 11 writes it.
    """

    def __init__(self) -> None:
        self.entries = 0
        self.names = 0
        self.unknown_formats: set[str] = set()
        self.has_split_format = False
        self._seen = SeenTensors()

    def read(self, raw: Any) -> Layer | None:
        """Return the next layer, or ``None`` if `raw` is neither a name nor an object with one."""
        index = self.entries
        self.entries += 1
        if isinstance(raw, str):
            self.names += 1
            return Layer(index=index, name=raw, profile_index=profile_suffix((raw,)))
        if not isinstance(raw, dict) or not isinstance(raw.get("Name"), str):
            return None
        name = raw["Name"]
        subtype = _text(raw.get("LayerType"))
        inputs, controls = _without_controls(self._tensors(raw.get("Inputs")))
        outputs = self._tensors(raw.get("Outputs"))
        weights, attributes = _weights_and_rest(raw)
        if controls:
            attributes[CONTROLS] = controls
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
            onnx_nodes=onnx_nodes(raw.get("Metadata")),
            stream=whole_number(raw.get("StreamId")),
            profile_index=profile_suffix((name, *[one.name for one in (*inputs, *outputs)])),
            attributes=attributes,
        )

    def _tensors(self, raw: Any) -> tuple[Tensor, ...]:
        if not isinstance(raw, list):
            return ()
        found = []
        for item in raw:
            tensor = parse_tensor(item, self._seen)
            if tensor is None:
                continue
            found.append(tensor)
            if "Datatype" in item or "DataType" in item:
                self.has_split_format = True
            if tensor.dtype is None:
                self._note_unknown(item)
        return tuple(found)

    def _note_unknown(self, raw: dict[str, Any]) -> None:
        text = _text(raw.get("Format/Datatype")) or _text(_datatype_text(raw))
        if text is not None:
            self.unknown_formats.add(text)


def _without_controls(inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], list[str]]:
    """Part inputs from the channels that TensorRT lists among them to steer the L2 cache."""
    controls = [one.name for one in inputs if one.name.startswith(_CONTROL)]
    if not controls:
        return inputs, controls
    return tuple(one for one in inputs if not one.name.startswith(_CONTROL)), controls


class SeenTensors:
    """Tensors of a plan so far, so that a tensor described twice is one object.

    Its writer and each of its readers describe it, mostly alike: that is half of a plan's tensors.
    """

    def __init__(self) -> None:
        self._latest: dict[str, Tensor] = {}
        self._shapes: dict[Shape, Shape] = {}

    def one(
        self,
        name: str,
        shape: Shape,
        form: tuple[DataType | None, Layout | None],
        location: str | None,
    ) -> Tensor:
        """Return the tensor of that name described last if it was described so, else a new one."""
        dtype, layout = form
        latest = self._latest.get(name)
        if (
            latest is not None
            and latest.shape == shape
            and latest.dtype is dtype
            and latest.layout is layout
            and latest.location == location
        ):
            return latest
        made = Tensor(
            name=latest.name if latest is not None else name,
            shape=self._shapes.setdefault(shape, shape),
            dtype=dtype,
            layout=layout,
            location=location,
        )
        self._latest[made.name] = made
        return made


def parse_tensor(raw: Any, seen: SeenTensors | None = None) -> Tensor | None:
    """Return a tensor, or ``None`` if `raw` has no name; one of `seen` if it is described alike."""
    if not isinstance(raw, dict) or not isinstance(raw.get("Name"), str):
        return None
    return (seen or SeenTensors()).one(
        raw["Name"],
        parse_shape(raw.get("Dimensions")),
        _format_of(raw),
        _text(raw.get("Location")),
    )


def parse_shape(raw: Any) -> tuple[int | None, ...] | None:
    """Return dimensions, −1 as ``None``; ``None`` for what is no list of whole numbers."""
    if not isinstance(raw, list):
        return None
    for dim in raw:
        if type(dim) is not int or not 0 <= dim < _MAX_INT:
            return _dynamic_shape(raw)
    return tuple(raw)


def onnx_nodes(metadata: Any) -> tuple[str, ...]:
    """Return the ONNX node names in a layer's ``Metadata``, each once.

    They are joined with U+001E, by Myelin with U+001F, raw or escaped.
    """
    if not isinstance(metadata, str) or not metadata:
        return ()
    found = (_ONNX.fullmatch(part.strip()) for part in _SEPARATOR.split(metadata))
    return tuple(dict.fromkeys(match[1] for match in found if match and match[1]))


def profile_suffix(names: Iterable[str]) -> int | None:
    """Return N of the first name with ``[profile N]``."""
    for name in names:
        if "[profile " in name and (match := _PROFILE.search(name)):
            return int(match[1])
    return None


def whole_number(value: Any) -> int | None:
    """Return `value` if it is an integer that fits 64 bits, else ``None``."""
    return value if type(value) is int and abs(value) < _MAX_INT else None


def _dynamic_shape(raw: list[Any]) -> tuple[int | None, ...] | None:
    dims = [whole_number(one) for one in raw]
    if any(dim is None for dim in dims):
        return None
    return tuple(dim if dim is not None and dim >= 0 else None for dim in dims)


def _type(parameter_type: str | None, subtype: str | None) -> str:
    if parameter_type == "Convolution" and subtype and "Deconvolution" in subtype:
        return "Deconvolution"  # TensorRT gives both kinds the same parameters
    return parameter_type or subtype or "unknown"


def _format_of(raw: dict[str, Any]) -> tuple[DataType | None, Layout | None]:
    joined = _text(raw.get("Format/Datatype"))
    if joined is not None:
        return parse_joined(joined)
    return parse_split(_text(raw.get("Format")), _text(_datatype_text(raw)))


def _datatype_text(raw: dict[str, Any]) -> Any:
    return raw.get("Datatype") or raw.get("DataType")


def _weights_and_rest(raw: dict[str, Any]) -> tuple[tuple[Weights, ...], dict[str, Any]]:
    """Return what a layer carries, and the fields that are in no other place of a layer."""
    weights = []
    rest = {}
    for key, value in raw.items():
        if type(value) is dict and "Count" in value and "Type" in value:
            weights.append(_carried(key, value))
        elif key not in _OWN_KEYS:
            rest[key] = value
    constants = raw.get("Constants")
    for item in constants if isinstance(constants, list) else ():
        tensor = parse_tensor(item)
        if tensor is not None:
            weights.append(Weights(role="Constants", dtype=tensor.dtype, count=tensor.elements))
            rest.pop("Constants", None)
    return tuple(weights), rest


def _carried(role: str, raw: dict[str, Any]) -> Weights:
    count = whole_number(raw["Count"])
    known = count is not None and count >= 0
    return Weights(role=role, dtype=parse_dtype(_text(raw["Type"])), count=count if known else None)


def _text(value: Any) -> str | None:
    """Return a text with something in it; one copy of each, since plans repeat a few of them."""
    return sys.intern(value) if isinstance(value, str) and value else None
