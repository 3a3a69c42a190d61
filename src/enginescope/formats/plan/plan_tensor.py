"""Tensors of a plan JSON, of every TensorRT version."""

from __future__ import annotations

import sys
from typing import Any

from enginescope.formats.json_walk import MAX_INT, whole_number
from enginescope.formats.plan.tensor_format import parse_joined, parse_split
from enginescope.records.tensor import DataType, Layout, Tensor

#: How names of what steers the L2 cache for a layer begin; it is no data.
CONTROL = "l2_cache_"
_Form = tuple[DataType | None, Layout | None]
Shape = tuple[int | None, ...] | None


class TensorReader:
    """Raw tensors into tensors, so that a tensor described twice is one object.

    Its writer and each of its readers describe it, mostly alike: that is half of a plan's tensors.
    Nothing of the raw ones is kept: whoever walks the plan later would have to step over it.

    Attributes:
        unknown_formats: Format or type texts of tensors whose type was not understood.
        has_split_format: Whether a tensor has its type apart from its format, as TensorRT 11 writes
            it.
        has_controls, has_profiles: Whether any name begins with `CONTROL`; whether any may name an
            optimisation profile.
    """

    def __init__(self) -> None:
        self.unknown_formats: set[str] = set()
        self.has_split_format = False
        self.has_controls = False
        self.has_profiles = False
        self._latest: dict[str, Tensor] = {}
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
            joined = item.get("Format/Datatype")
            form = parse_joined(joined) if type(joined) is str and joined else self._split(item)
            shape = parse_shape(item.get("Dimensions"))
            # compared here, not in a function: a large plan has a hundred thousand
            known = self._latest.get(name)
            if (
                known is None
                or form[0] is None
                or known.shape != shape
                or known.dtype is not form[0]
                or known.layout is not form[1]
                or known.location != (item.get("Location") or None)
            ):
                known = self._new(known.name if known else name, shape, form, item)
            found.append(known)
        return tuple(found)

    def _split(self, raw: dict[str, Any]) -> _Form:
        if "Datatype" in raw or "DataType" in raw:
            self.has_split_format = True
        return parse_split(text_of(raw.get("Format")), text_of(_datatype_text(raw)))

    def _new(self, name: str, shape: Shape, form: _Form, raw: dict[str, Any]) -> Tensor:
        if name.startswith(CONTROL):
            self.has_controls = True
        if "[profile " in name:
            self.has_profiles = True
        if "Datatype" in raw or "DataType" in raw:
            self.has_split_format = True
        if form[0] is None:
            text = text_of(raw.get("Format/Datatype")) or text_of(_datatype_text(raw))
            self.unknown_formats.update([text] if text is not None else [])
        made = self._latest[name] = Tensor(
            name=name,
            shape=self._shapes.setdefault(shape, shape),
            dtype=form[0],
            layout=form[1],
            location=text_of(raw.get("Location")),
        )
        return made


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


def _datatype_text(raw: dict[str, Any]) -> Any:
    return raw.get("Datatype") or raw.get("DataType")
