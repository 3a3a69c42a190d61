"""Convolutions and matrix products: what they compute, how well."""

from __future__ import annotations

from collections.abc import Collection

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.convolution_params import CONVOLUTION_TYPES
from enginescope.render.charts.card.registry import PLAN_CHARTS, PRODUCT_TYPES, charts_of
from enginescope.render.html.spec import Chart
from enginescope.render.plans.page_subject import PageSubject
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


def _slowest(view: PlanView, name: str, types: Collection[str]) -> tuple[Chart, ...]:
    """The slowest, coloured by what tells them apart."""
    several = len({row.precision for row in view.facts if row.layer.type in types}) > 1
    chart = PLAN_CHARTS[name].make(view, top=20, color="precision" if several else "intensity")
    return (chart,) if chart else ()


def _section(
    subject: PageSubject, key: str, title: str, types: Collection[str], names: tuple[str, ...]
) -> Section | None:
    view = subject.plan
    if view is None or not any(layer.type in types for layer in view.layers):
        return None
    charts = (*_slowest(view, names[0], types), *charts_of(view, *names[1:]))
    return Section(
        key=key,
        title=title,
        charts=charts,
        empty=None if charts else _NO_SIZES,
        facts={"no_times": _NO_TIMES if view.total_ms is None else None},
    )
