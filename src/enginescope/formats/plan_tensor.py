"""Tensors of a plan JSON, of every TensorRT version."""

from __future__ import annotations

import sys
from typing import Any

from enginescope.formats.json_walk import MAX_INT, whole_number
from enginescope.formats.tensor_format import parse_joined, parse_split
from enginescope.model.tensor import DataType, Layout, Tensor

#: How names of what steers the L2 cache for a layer begin; it is no data.
CONTROL = "l2_cache_"
Shape = tuple[int | None, ...] | None
_Described = tuple[dict[str, Any], Tensor]


class TensorReader:
    """Raw tensors into tensors, so that a tensor described twice is one object.

    Its writer and each of its readers describe it, mostly word for word: that is half of a plan's
    tensors, and those are not taken apart again.

    Attributes
    ----------
    unknown_formats : set of str
        Format or type texts of tensors whose type was not understood.
    has_split_format : bool
        Whether a tensor has its type apart from its format, as TensorRT 11 writes it.
    has_controls, has_profiles : bool
        Whether any name begins with `CONTROL`; whether any may name an optimisation profile.
    """

    def __init__(self) -> None:
        self.unknown_formats: set[str] = set()
        self.has_split_format = False
        self.has_controls = False
        self.has_profiles = False
        self._latest: dict[str, _Described] = {}
        self._shapes: dict[Shape, Shape] = {}

    def read(self, raw: Any) -> tuple[Tensor, ...]:
        """Return the tensors of a list; what has no name is passed over."""
        if type(raw) is not list:
            return ()
        found = []
        for item in raw:
            name = item.get("Name") if type(item) is dict else None
            if type(name) is not str:
                continue
            described = self._latest.get(name)
            if described is None or described[0] != item:
                described = self._described(name, item, described)
            found.append(described[1])
        return tuple(found)

    def _described(self, name: str, raw: dict[str, Any], before: _Described | None) -> _Described:
        dtype, layout = _format_of(raw)
        if dtype is None:
            self._note_unknown(raw)
        if "Datatype" in raw or "DataType" in raw:
            self.has_split_format = True
        shape = parse_shape(raw.get("Dimensions"))
        location = text_of(raw.get("Location"))
        if before is None:
            self._note_name(name)
        else:
            known = before[1]
            if (
                known.shape == shape
                and known.dtype is dtype
                and known.layout is layout
                and known.location == location
            ):
                return before
            name = known.name
        made = Tensor(
            name=name,
            shape=self._shapes.setdefault(shape, shape),
            dtype=dtype,
            layout=layout,
            location=location,
        )
        self._latest[name] = described = (raw, made)
        return described

    def _note_name(self, name: str) -> None:
        if name.startswith(CONTROL):
            self.has_controls = True
        if "[profile " in name:
            self.has_profiles = True

    def _note_unknown(self, raw: dict[str, Any]) -> None:
        text = text_of(raw.get("Format/Datatype")) or text_of(_datatype_text(raw))
        if text is not None:
            self.unknown_formats.add(text)


def parse_tensor(raw: Any) -> Tensor | None:
    """Return a tensor that stands alone, or ``None`` if `raw` has no name."""
    found = TensorReader().read([raw])
    return found[0] if found else None


def parse_shape(raw: Any) -> Shape:
    """Return dimensions, −1 as ``None``; ``None`` for what is no list of whole numbers."""
    if not isinstance(raw, list):
        return None
    for dim in raw:
        if type(dim) is not int or not 0 <= dim < MAX_INT:
            return _dynamic_shape(raw)
    return tuple(raw)


def text_of(value: Any) -> str | None:
    """Return a text with something in it; one copy of each, since plans repeat a few of them."""
    return sys.intern(value) if type(value) is str and value else None


def _dynamic_shape(raw: list[Any]) -> Shape:
    dims = [whole_number(one) for one in raw]
    if any(dim is None for dim in dims):
        return None
    return tuple(dim if dim is not None and dim >= 0 else None for dim in dims)


def _format_of(raw: dict[str, Any]) -> tuple[DataType | None, Layout | None]:
    joined = raw.get("Format/Datatype")
    if type(joined) is str and joined:
        return parse_joined(joined)
    return parse_split(text_of(raw.get("Format")), text_of(_datatype_text(raw)))


def _datatype_text(raw: dict[str, Any]) -> Any:
    return raw.get("Datatype") or raw.get("DataType")
