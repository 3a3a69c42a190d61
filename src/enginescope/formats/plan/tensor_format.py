"""Data types and memory layouts, in every spelling they are met in.

TensorRT up to 10 writes both into one text ("Channel major FP16 format where channel % 8 == 0");
its code generator writes the type alone ("Half"); TensorRT 11 splits them. trtexec, ONNX and NumPy
have spellings of their own. What is not known is ``None``, never a guess and never 0 bytes.

Tensors of a plan JSON, of every TensorRT version.
"""

import json
import re
import sys
from functools import lru_cache
from typing import Any

import msgspec

from enginescope.formats.lenient_json import MAX_INT, whole_number
from enginescope.records.tensor import DataType, Layout, Tensor

# One table: every spelling, lower case, without separators or a leading k.
_SPELLINGS: dict[DataType, str] = {
    DataType.FP64: "fp64 double float64 f8",
    DataType.FP32: "fp32 float float32 tf32 f4",
    DataType.FP16: "fp16 half float16 f2",
    DataType.BF16: "bf16 bfloat16 bfloat",
    DataType.FP8: "fp8 float8 fp8e4m3 fp8e5m2 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"
    " f8e4m3 f8e5m2 float8e4m3",
    DataType.FP4: "fp4 float4 fp4e2m1 float4e2m1 float4e2m1fn float4e2m1fnx2",
    DataType.E8M0: "e8m0 fp8e8m0 float8e8m0 float8e8m0fnu",
    DataType.INT64: "int64 i8 long",
    DataType.INT32: "int32 i4 int",
    DataType.INT16: "int16 i2",
    DataType.INT8: "int8 i1",
    DataType.INT4: "int4",
    DataType.UINT64: "uint64 u8",
    DataType.UINT32: "uint32 u4",
    DataType.UINT16: "uint16 u2",
    DataType.UINT8: "uint8 u1",
    DataType.UINT4: "uint4",
    DataType.BOOL: "bool boolean b1",
    DataType.COMPLEX64: "complex64 c8",
    DataType.COMPLEX128: "complex128 c16",
    DataType.STRING: "string str",
}
_TYPES = {word: dtype for dtype, words in _SPELLINGS.items() for word in words.split()}

# TensorFormat members and trtexec's format names: short name, padded width of axis 1.
_ENUM_LAYOUTS: dict[str, tuple[str, int | None]] = {
    "linear": ("linear", None),
    "chw": ("NCHW", None),
    "chw2": ("NC/2HW2", 2),
    "chw4": ("NC/4HW4", 4),
    "chw16": ("NC/16HW16", 16),
    "chw32": ("NC/32HW32", 32),
    "cdhw32": ("NC/32DHW32", 32),
    "hwc": ("NHWC", None),
    "hwc8": ("NHWC8", 8),
    "hwc16": ("NHWC16", 16),
    "dhwc": ("NDHWC", None),
    "dhwc8": ("NDHWC8", 8),
    "dla_linear": ("NCHW", None),
    "dla_hwc4": ("NHWC4", 4),
}
_NUMBERS = {"two": 2, "four": 4, "eight": 8, "sixteen": 16, "thirty-two": 32, "sixty-four": 64}

_WIDE = re.compile(r"^([a-z]+(?:-[a-z]+)?|\d{1,4})[- ]wide channel vectorized row major\b")
_CHANNEL = re.compile(r"where channel (?:%\s*(\d{1,4})\s*==\s*0|==\s*(\d{1,4})\b)")
_WRAPPED = re.compile(r"^(?:tensor|sparse_tensor|optional)\((.*)\)$")
_WORD = re.compile(r"[A-Za-z_0-9]+")

# A plan repeats a few texts thousands of times; only what was not met before is parsed.
_TEXTS = 1024


@lru_cache(maxsize=_TEXTS)
def parse_dtype(text: str | None) -> DataType | None:
    """Return the type a spelling names, or ``None``.

    >>> parse_dtype("tensor(float16)"), parse_dtype("kHALF"), parse_dtype("<f2")
    (<DataType.FP16: 'FP16'>, <DataType.FP16: 'FP16'>, <DataType.FP16: 'FP16'>)
    """
    if not text:
        return None
    word = text.strip().lower()
    if wrapped := _WRAPPED.match(word):
        word = wrapped[1]
    word = word.rpartition(".")[2].lstrip("<>=|").replace("_", "").replace(" ", "")
    found = _TYPES.get(word)
    if found is None and word.startswith("k"):
        found = _TYPES.get(word[1:])
    return found


@lru_cache(maxsize=_TEXTS)
def parse_joined(text: str | None) -> tuple[DataType | None, Layout | None]:
    """Return type and layout of a "Format/Datatype" text; a type alone has no layout."""
    if not text or not text.strip():
        return None, None
    if (dtype := parse_dtype(text)) is not None:
        return dtype, None
    types = map(parse_dtype, _WORD.findall(text))  # as in "Row major linear FP16 format"
    return next(filter(None, types), None), parse_layout(text)


@lru_cache(maxsize=_TEXTS)
def parse_split(
    layout_text: str | None, dtype_text: str | None
) -> tuple[DataType | None, Layout | None]:
    """Return type and layout of TensorRT 11's "Format" and "Datatype"; the latter goes first."""
    within, layout = parse_joined(layout_text)
    return parse_dtype(dtype_text) or within, layout


def parse_layout(text: str | None) -> Layout | None:
    """Return the layout a text describes, with short names as trex has them, or ``None``."""
    if not text or not text.strip():
        return None
    name, width = _short(text.strip())
    if name is None:
        return None
    axis = 1 if width is not None else None
    return Layout(name=name, text=text, vector_axis=axis, vector_width=width)


def _short(text: str) -> tuple[str | None, int | None]:
    lower = text.lower()
    depth = "D" if "3 spatial dimensions" in lower else ""
    if wide := _WIDE.match(lower):
        width = int(wide[1]) if wide[1].isdigit() else _NUMBERS.get(wide[1])
        return (f"NC/{width}{depth}HW{width}", width) if width else (None, None)
    if lower.startswith("channel major"):
        found = _CHANNEL.search(lower)
        width = int(found[1] or found[2]) if found else None
        if width == 0:
            return None, None
        return f"N{depth}HWC{width or ''}", width
    if lower.startswith("row major"):
        return f"NC{depth}HW", None
    words = (word.removeprefix("k") for word in _WORD.findall(lower))
    return next((_ENUM_LAYOUTS[word] for word in words if word in _ENUM_LAYOUTS), (None, None))


#: How names of what steers the L2 cache for a layer begin; it is no data.
CONTROL = "l2_cache_"
Shape = tuple[int | None, ...] | None
_Form = tuple[Shape, DataType | None, Layout | None, str | None]


class RawTensor(msgspec.Struct, gc=False):
    """A tensor as a file has it; the type of its elements has three names."""

    name: str | None = msgspec.field(default=None, name="Name")
    shape: tuple[int, ...] | None = msgspec.field(default=None, name="Dimensions")
    joined: str | None = msgspec.field(default=None, name="Format/Datatype")
    layout: str | None = msgspec.field(default=None, name="Format")
    dtype: str | None = msgspec.field(default=None, name="Datatype")
    data_type: str | None = msgspec.field(default=None, name="DataType")
    location: str | None = msgspec.field(default=None, name="Location")


_LIST = msgspec.json.Decoder(list[RawTensor])


class TensorReader:
    """Raw tensors into tensors, so that a tensor described twice is one object.

    Its writer and each of its readers describe it, mostly alike: that is half of a plan's tensors.

    Attributes:
        unknown_formats: Format or type texts of tensors whose type was not understood.
        has_split_format: Whether a tensor has its type apart from its format, as TensorRT 11 writes
            it.
        has_controls, has_profiles: Whether any name begins with `CONTROL`; whether any may name an
            optimization profile.
    """

    def __init__(self) -> None:
        self.unknown_formats: set[str] = set()
        self.has_split_format = False
        self.has_controls = False
        self.has_profiles = False
        self._latest: dict[str, Tensor] = {}
        self._forms: dict[Any, _Form] = {}
        self._shapes: dict[Shape, Shape] = {}

    def read(self, raw: bytes | msgspec.Raw) -> tuple[Tensor, ...]:
        """Return the tensors of a list in JSON; what has no name is passed over."""
        try:
            items = _LIST.decode(raw)
        except msgspec.ValidationError:
            return self._one_by_one(raw)
        latest, forms, found = self._latest, self._forms, []
        for item in items:
            name = item.name
            if name is None:
                continue
            key = item.shape, item.joined, item.location, item.dtype, item.data_type, item.layout
            form = forms.get(key) or self._form(key, item)
            known = latest.get(name)
            # compared here, not in a function: a large plan has a hundred thousand
            if (
                known is None
                or known.shape is not form[0]
                or known.dtype is not form[1]
                or known.layout is not form[2]
                or known.location is not form[3]
            ):
                known = self._new(known.name if known else name, form)
            found.append(known)
        return tuple(found)

    def _one_by_one(self, raw: bytes | msgspec.Raw) -> tuple[Tensor, ...]:
        """Return the tensors of a list in which some field has another type: it is not known."""
        value = msgspec.json.decode(raw)
        items = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
        sound = [{key: own for key, own in one.items() if _is_sound(key, own)} for one in items]
        return self.read(as_json(sound))

    def _form(self, key: Any, raw: RawTensor) -> _Form:
        """Return what a tensor is apart from its name; plans repeat a few of these."""
        text = raw.dtype or raw.data_type
        self.has_split_format |= bool(text)
        dtype, layout = parse_joined(raw.joined) if raw.joined else parse_split(raw.layout, text)
        if dtype is None and (unknown := raw.joined or text):
            self.unknown_formats.add(unknown)
        shape = parse_shape(raw.shape)
        shape = self._shapes.setdefault(shape, shape)
        found = self._forms[key] = shape, dtype, layout, text_of(raw.location)
        return found

    def _new(self, name: str, form: _Form) -> Tensor:
        self.has_controls |= name.startswith(CONTROL)
        self.has_profiles |= "[profile " in name
        shape, dtype, layout, location = form
        made = self._latest[name] = Tensor(
            name=name, shape=shape, dtype=dtype, layout=layout, location=location
        )
        return made


def parse_tensor(raw: Any) -> Tensor | None:
    """Return a tensor that stands alone, or ``None`` if `raw` has no name."""
    found = TensorReader().read(as_json([raw]))
    return found[0] if found else None


def _is_sound(key: str, value: Any) -> bool:
    if key != "Dimensions":
        return isinstance(value, str)
    return isinstance(value, list) and all(whole_number(dim) is not None for dim in value)


def parse_shape(raw: Any) -> Shape:
    """Return dimensions, −1 as ``None``; ``None`` for what is not a list of whole numbers."""
    if not isinstance(raw, list | tuple):
        return None
    if all(type(dim) is int and 0 <= dim < MAX_INT for dim in raw):
        return tuple(raw)
    dims = [whole_number(one) for one in raw]
    return None if None in dims else tuple(None if dim is None or dim < 0 else dim for dim in dims)


def as_json(value: Any) -> bytes:
    """Return a decoded value as JSON, whatever whole numbers and texts are in it."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def text_of(value: Any) -> str | None:
    """Return a text with something in it; one copy of each, since plans repeat a few of them."""
    return sys.intern(value) if type(value) is str and value else None
