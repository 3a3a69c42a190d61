"""What a plan says of each layer: kernel, stride, padding, activation, types, streams."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from enginescope.analysis.roofline.layer_work import is_bias
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor

_Value: TypeAlias = Callable[[Layer], "str | int | None"]


class LayerAttribute(Record, frozen=True, kw_only=True):
    """One attribute of layers.

    Attributes:
        key: In files: ``weights_type``.
        title: For people.
        meaning: What it is, where the title does not say all.
        value: Text, a whole number, or ``None`` for a layer without it.
        is_number: Whether values are whole numbers.
    """

    key: str
    title: str
    meaning: str
    value: _Value
    is_number: bool = False


_PREFIXES = ("", "Conv", "Pooling")
#: Attributes that are known of a layer, by key.
Attributes: TypeAlias = dict[str, str | int]


def attributes_of(layer: Layer) -> Attributes:
    """Return the attributes that are known of a layer."""
    every = ((one.key, one.value(layer)) for one in LAYER_ATTRIBUTES)
    return {name: value for name, value in every if value is not None}


def _field(layer: Layer, *names: str) -> Any:
    """Return the first of these fields, or what a fused convolution has of it."""
    own = layer.attributes
    for name in names:
        for prefix in _PREFIXES:
            value = own.get(prefix + name)
            if value is not None and value != [] and value != "":
                return value
    return None


def _dims(value: Any) -> str | None:
    """Return ``3×3`` for a list; for anything else its text."""
    if value is None:
        return None
    return "×".join(map(str, value)) if isinstance(value, list) else str(value)


def _dims_of(*names: str) -> _Value:
    return lambda layer: _dims(_field(layer, *names))


def _whole_of(name: str) -> _Value:
    return lambda layer: found if type(found := _field(layer, name)) is int else None


def _member_of(name: str) -> _Value:
    """Return the member of an enumeration; nothing for ``NONE``."""
    none = (None, "NONE", "kNONE")
    return lambda layer: str(found) if (found := _field(layer, name)) not in none else None


def _padding(layer: Layer) -> str | None:
    """Return ``1×1``, or ``0×0 before, 1×1 after`` where the ends differ."""
    before, after = (_dims(_field(layer, f"{end}Padding")) for end in ("Pre", "Post"))
    return before if before == after or after is None else f"{before} before, {after} after"


def weights_type(layer: Layer) -> str | None:
    """Return the element type of the kernel that a layer carries."""
    kernel = next((one for one in layer.weights if not is_bias(one.role)), None)
    return kernel.dtype.value if kernel and kernel.dtype else None


def type_name(tensors: Sequence[Tensor]) -> str | None:
    """Return the name of the first tensor's type, or ``None``."""
    dtype = tensors[0].dtype if tensors else None
    return dtype._value_ if dtype else None  # the property `value` calls Python


def _tactic_value(layer: Layer) -> str | None:
    """Return the tactic's number; nothing for 0, which layers without a tactic have."""
    value = layer.tactic_value
    return value if value and value.strip("0x") else None


_KERNEL = "height × width of the kernel, or of the pooling window"
_ORIGIN = "why a reformat is there: QDQ, or REFORMAT for one that TensorRT inserted"
_TABLE: tuple[tuple[str, str, str, _Value], ...] = (
    (
        "output_precision",
        "Output type",
        "type of the first output",
        lambda it: type_name(it.outputs),
    ),
    ("weights_type", "Weights' type", "element type of the kernel", weights_type),
    ("kernel", "Kernel", _KERNEL, _dims_of("Kernel", "WindowSize")),
    ("stride", "Stride", "height × width", _dims_of("Stride")),
    ("padding", "Padding", "height × width, before and after", _padding),
    ("dilation", "Dilation", "height × width", _dims_of("Dilation")),
    ("groups", "Groups", "of a convolution", _whole_of("Groups")),
    ("out_channels", "Output channels", "of a convolution", _whole_of("OutMaps")),
    ("activation", "Activation", "fused into the layer", _member_of("Activation")),
    ("reformat_origin", "Origin", _ORIGIN, _member_of("Origin")),
    ("stream", "Stream", "CUDA stream of the engine", lambda layer: layer.stream),
    ("tactic_value", "Tactic number", "TacticValue of the plan", _tactic_value),
)
_NUMBERS = ("groups", "out_channels", "stream")
LAYER_ATTRIBUTES = tuple(
    LayerAttribute(key=key, title=title, meaning=meaning, value=value, is_number=key in _NUMBERS)
    for key, title, meaning, value in _TABLE
)
