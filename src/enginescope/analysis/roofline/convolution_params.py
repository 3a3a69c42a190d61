"""What a convolution looks like: kernel, stride, groups."""

from __future__ import annotations

from typing import Any

from enginescope.records.plan.plan import Layer

#: Layer types that convolve.
CONVOLUTION_TYPES = frozenset({"Convolution", "Deconvolution", "ConvActPool"})


def kernel_of(layer: Layer) -> tuple[int, ...] | None:
    """Return the kernel's extents, of any rank; ``None`` if there is none or it is not known."""
    return _extents(layer, "Kernel")


def stride_of(layer: Layer) -> tuple[int, ...] | None:
    """Return the stride; ``None`` if there is none or it is not known."""
    return _extents(layer, "Stride")


def groups_of(layer: Layer) -> int | None:
    """Return the groups of a convolution; ``None`` if it does not say."""
    found = layer.attributes.get("Groups", layer.attributes.get("ConvGroups"))
    return found if type(found) is int and found > 0 else None


def _extents(layer: Layer, field: str) -> tuple[int, ...] | None:
    found: Any = layer.attributes.get(field, layer.attributes.get(f"Conv{field}"))
    if isinstance(found, list) and found and all(type(one) is int for one in found):
        return tuple(found)
    return None
