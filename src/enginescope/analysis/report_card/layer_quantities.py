"""What of a layer can be put on an axis, or be a colour."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.roofline.convolution_params import groups_of
from enginescope.analysis.roofline.matrix_product import MatrixProduct
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean

_MIB = 1 << 20


class Quantity(Record, frozen=True, kw_only=True):
    """A number that layers have.

    Attributes:
        title: With the unit of `value`.
        column: The column of `PlanView.columns` that it comes from.
        value: From a layer's facts; ``None`` where it is not known.
    """

    name: str
    title: str
    column: str
    value: Callable[[LayerFacts], float | None]


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _of_product(read: Callable[[MatrixProduct], int]) -> Callable[[LayerFacts], float | None]:
    return lambda row: read(row.work.product) if row.work.product else None


# name, title, column, value
_TABLE: tuple[tuple[str, str, str, Callable[[LayerFacts], float | None]], ...] = (
    ("time", "mean time, ms", "latency.avg_time", lambda row: row.mean_ms),
    (
        "macs",
        "multiply-accumulates, millions",
        "attr.macs",
        lambda row: _scaled(row.work.macs, 1e6),
    ),
    (
        "weights",
        "weights, MiB",
        "weights_size",
        lambda row: _scaled(row.size.weights_bytes, _MIB),
    ),
    (
        "activations",
        "activations read and written, MiB",
        "total_io_size_bytes",
        lambda row: _scaled(row.size.activation_bytes, _MIB),
    ),
    (
        "footprint",
        "activations and weights, MiB",
        "total_footprint_bytes",
        lambda row: _scaled(row.size.footprint_bytes, _MIB),
    ),
    (
        "intensity",
        "arithmetic intensity, MACs per byte",
        "attr.arithmetic_intensity",
        lambda row: row.work.arithmetic_intensity,
    ),
    (
        "compute",
        "compute rate, billion MACs per second",
        "attr.compute_efficiency",
        lambda row: _scaled(row.work.compute_efficiency(row.mean_ms), 1e6),
    ),
    (
        "bandwidth",
        "memory rate, GB/s",
        "attr.memory_efficiency",
        lambda row: _scaled(row.work.memory_efficiency(row.mean_ms), 1e6),
    ),
    ("groups", "groups", "Groups", lambda row: groups_of(row.layer)),
    ("m", "m: rows of the product", "gemm.m", _of_product(lambda one: one.m)),
    ("n", "n: columns of the product", "gemm.n", _of_product(lambda one: one.n)),
    ("k", "k: terms of its sums", "gemm.k", _of_product(lambda one: one.k)),
)

QUANTITIES = {
    name: Quantity(name=name, title=title, column=column, value=value)
    for name, title, column, value in _TABLE
}


def quantity_named(name: str) -> Quantity:
    """Return one of `QUANTITIES`.

    Raises:
        UsageError: There is none of that name.
    """
    if name in QUANTITIES:
        return QUANTITIES[name]
    raise UsageError(
        f"{name!r} is no quantity of a layer",
        why=f"there are {', '.join(QUANTITIES)}",
        hint=did_you_mean(name, QUANTITIES),
    )
