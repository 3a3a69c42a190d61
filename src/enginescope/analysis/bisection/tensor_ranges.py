"""What a reference's own run says of tensors: type, shape, and whether a type can hold them."""

from collections.abc import Mapping, Sequence

import numpy as np

from enginescope.analysis.bisection.error_growth import BeyondRange
from enginescope.analysis.bisection.tensor_pairs import SENTINEL, TensorPair
from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.core.record import Record, copied
from enginescope.formats.onnx.onnx_precision import LargeWeight
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType


class KnownTensor(Record, frozen=True, kw_only=True):
    """A tensor as it was computed.

    Attributes:
        shape: ``None`` where samples differ.
        bytes: Of the largest sample.
        peak: Largest finite magnitude that is not a sentinel of a mask; 0 for other types than
            floating.
    """

    dtype: DataType
    shape: tuple[int | None, ...]
    bytes: int
    peak: float

    @property
    def is_float(self) -> bool:
        """Whether its values are floating-point numbers."""
        return kind_of(self.dtype) == "float"


def known_tensor(values: TensorValues, before: KnownTensor | None) -> KnownTensor:
    """Return what is known of a tensor after one more sample."""
    peak, shape = 0.0, tuple(values.shape)
    if kind_of(values.dtype) == "float":
        sizes = np.abs(flat_numbers(values).astype(np.float64))
        peak = float(sizes[np.isfinite(sizes) & (sizes < SENTINEL)].max(initial=0.0))
    size = int(values.data.nbytes)
    if before is None:
        return KnownTensor(dtype=values.dtype, shape=shape, bytes=size, peak=peak)
    peak, size, merged = max(peak, before.peak), max(size, before.bytes), before.shape
    if len(shape) == len(merged):
        merged = tuple(a if a == b else None for a, b in zip(shape, merged, strict=True))
    return KnownTensor(dtype=before.dtype, shape=merged, bytes=size, peak=peak)


def beyond_range(
    pairs: Sequence[TensorPair],
    known: Mapping[str, KnownTensor],
    weights: Sequence[LargeWeight],
    largest: float,
) -> tuple[BeyondRange, ...]:
    """Return the weights and activations whose magnitude is beyond a type's largest number."""
    found = [copied(BeyondRange, weight, tensor=weight.name, kind="weight") for weight in weights]
    for pair in pairs:
        tensor = known.get(pair.reference)
        if tensor is not None and tensor.peak > largest:
            own = {"tensor": pair.tensor, "kind": "activation", "peak": tensor.peak}
            found.append(copied(BeyondRange, pair, **own))
    return tuple(found)
