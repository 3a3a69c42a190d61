"""Convolutions and matrix products: what they compute, how well."""

from __future__ import annotations

from collections.abc import Collection

from enginescope.analysis.kernels import CONVOLUTION_TYPES
from enginescope.render.charts.card.every import PRODUCT_TYPES, charts_of
from enginescope.render.page_subject import PageSubject
from enginescope.render.sections.section import Section

_CONVOLUTIONS = (
    "latency-per-convolution",
    "convolutions-by-kernel",
    "convolutions-by-groups",
    "convolutions-macs",
    "convolutions-footprint",
    "convolutions-intensity",
    "convolutions-compute",
    "convolutions-bandwidth",
    "convolutions-mnk",
)
_PRODUCTS = ("latency-per-matrix-product", "products-mnk", "products-compute")
_NO_TIMES = "No profile: how well they use the GPU cannot be told without their times."
_NO_SIZES = "No times and no known shapes: there is nothing to draw of these layers."


def card_convolutions(subject: PageSubject) -> Section | None:
    """Convolutions by time, kernel, groups and rates; ``None`` where there are none."""
    return _section(subject, "card-convolutions", "Convolutions", CONVOLUTION_TYPES, _CONVOLUTIONS)


def card_matrix_products(subject: PageSubject) -> Section | None:
    """Matrix products by time, sides and rates; ``None`` where there are none."""
    return _section(subject, "card-products", "Matrix products", PRODUCT_TYPES, _PRODUCTS)


def _section(
    subject: PageSubject, key: str, title: str, types: Collection[str], names: tuple[str, ...]
) -> Section | None:
    view = subject.plan
    if view is None or not any(one.type in types for one in view.layers):
        return None
    charts = charts_of(view, *names)
    return Section(
        key=key,
        title=title,
        charts=charts,
        empty=None if charts else _NO_SIZES,
        facts={"no_times": _NO_TIMES if view.total_ms is None else None},
    )
