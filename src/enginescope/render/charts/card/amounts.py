"""Amounts per layer: histograms of time and memory, the largest layers, memory in plan order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import AmountBin, amount_bins, is_even_range
from enginescope.analysis.report_card.liveness import liveness, stretches
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_significant
from enginescope.render.base.palette import PURPLE, SKY
from enginescope.render.base.phrases import shorten
from enginescope.render.charts.bars import bars, group_color, height_of
from enginescope.render.charts.card.order import (
    place_text,
    stretch_bars,
    stretch_table,
    stretch_text,
)
from enginescope.render.charts.card.wording import figure, table_of
from enginescope.render.html.images import X_TICKS, Chart, Spec, quantity, tooltip

_EVEN = "All bars cover ranges of one width"
_LOGARITHMIC = "Logarithmic axis: each bar covers a wider range than the bar to its left"


def time_spread(view: PlanView) -> Chart | None:
    """How many layers take how long."""
    return _spread(
        view,
        key="latency-distribution",
        what="time",
        title="How long layers take",
        value=lambda row: row.time_ms,
    )


def weights_spread(view: PlanView) -> Chart | None:
    """How many layers have how large weights."""
    return _spread(
        view,
        key="weights-distribution",
        what="weights",
        title="How large layers' weights are",
        value=lambda row: row.size.weights_bytes,
        binary=True,
    )


def activations_spread(view: PlanView) -> Chart | None:
    """How many layers read and write how much."""
    return _spread(
        view,
        key="activations-distribution",
        what="activations",
        title="How much layers read and write",
        value=lambda row: row.size.activation_bytes,
        binary=True,
    )


def footprint_spread(view: PlanView) -> Chart | None:
    """How many layers have how large a footprint."""
    return _spread(
        view,
        key="footprint-distribution",
        what="activations and weights",
        title="How large layers' footprints are",
        value=lambda row: row.size.footprint_bytes,
        binary=True,
    )


def _spread(
    view: PlanView,
    *,
    key: str,
    what: str,
    title: str,
    value: Callable[[LayerFacts], float | None],
    binary: bool = False,
) -> Chart | None:
    known = [amount for row in view.facts if (amount := value(row)) is not None]
    bins = amount_bins(known, binary=binary)
    if not any(one.high for one in bins):
        return None
    unit = "bytes" if binary else "ms"
    missing = len(view.facts) - len(known)
    left_out = (f"{counted(missing, 'layer')} not drawn: unknown",) if missing else ()
    return Chart(
        key=key,
        title=f"{title}: {_middle(known, binary=binary)}",
        subtitle=(_EVEN if is_even_range(known) else _LOGARITHMIC, *left_out),
        spec=_bars(bins, what, binary=binary),
        table=table_of(
            (f"From, {unit}", f"To below, {unit}", "Layers", f"Together, {unit}"),
            [
                (
                    figure(each.low, 6),
                    figure(each.high, 6),
                    f"{each.count:,}",
                    figure(each.total, 6),
                )
                for each in bins
            ],
        ),
        height=170,
    )


def _middle(values: Sequence[float], *, binary: bool) -> str:
    ranked = sorted(values)
    half = _text(ranked[(len(ranked) - 1) // 2], binary=binary)
    return f"half of {counted(len(ranked), 'layer')} at most {half}"


def _text(value: float, digits: int = 3, *, binary: bool) -> str:
    return format_bytes(value, digits) if binary else f"{format_significant(value, digits)} ms"


def _edge(value: float, digits: int, *, binary: bool) -> str:
    """Return a round number without trailing zeros, in bytes or ms."""
    number, _, unit = _text(value, digits, binary=binary).partition(" ")
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{number} {unit}" if binary else number


def _digits(bins: Sequence[AmountBin], *, binary: bool) -> int:
    """Return how many significant digits tell all edges apart."""
    edges = {each.low for each in bins if each.high} | {bins[-1].high}
    for digits in range(3, 9):
        if len({_edge(edge, digits, binary=binary) for edge in edges}) == len(edges):
            return digits
    return 9


def _bars(bins: Sequence[AmountBin], what: str, *, binary: bool) -> Spec:
    digits = _digits(bins, binary=binary)

    def edge(value: float) -> str:
        return _edge(value, digits, binary=binary)

    unit = "" if binary else " ms"
    rows = [
        {
            "bin": f"{rank:03}",
            "layers": each.count,
            "range": f"{edge(each.low)} … {edge(each.high)}{unit}" if each.high else "0",
            "total": _text(each.total, binary=binary),
        }
        for rank, each in enumerate(bins)
    ]
    starts = {
        row["bin"]: edge(each.low) if each.high else "0"
        for row, each in zip(rows, bins, strict=True)
    }
    step = -(-len(bins) // 10)
    return {
        "data": {"values": rows},
        "mark": {"type": "bar", "width": {"band": 0.94}},
        "params": [{"name": "starts", "value": starts}],
        "encoding": {
            "x": {
                "field": "bin",
                "type": "ordinal",
                "title": f"{what}, from" if binary else f"{what}, from, ms",
                "axis": {
                    "labelExpr": "starts[datum.value]",
                    "labelAngle": 0,
                    "labelOverlap": "greedy",
                    "labelSeparation": 4,
                    "values": [row["bin"] for row in rows[::step]],
                },
            },
            "y": quantity("layers", "layers", axis={"tickCount": 5, "tickMinStep": 1}),
            "tooltip": tooltip(range=what, layers="layers#", total="together"),
        },
    }


_MIB = 1 << 20
_COLORS = {"weights": PURPLE, "activations": SKY}
_MOST_POINTS = 1_000
_LIFE = (
    "Each from its writer to its last reader, in the plan's order; without the engine's inputs "
    "and outputs. TensorRT may need more, for workspaces, or less, where layers work in place"
)


def weights_in_order(view: PlanView) -> Chart | None:
    """Weights of the layers as they follow each other."""
    return _in_order(view, "weights", lambda row: row.size.weights_bytes)


def activations_in_order(view: PlanView) -> Chart | None:
    """What the layers read and write as they follow each other."""
    return _in_order(view, "activations", lambda row: row.size.activation_bytes)


def largest_layers(view: PlanView, *, top: int = 30) -> Chart | None:
    """The layers with the largest footprint: activations and weights."""
    known = [row for row in view.facts if row.size.footprint_bytes]
    ranked = sorted(known, key=lambda row: -(row.size.footprint_bytes or 0))
    if not ranked:
        return None
    rows = [part for rank, row in enumerate(ranked[:top]) for part in _parts(rank, row)]
    whole = sum(row.size.footprint_bytes or 0 for row in known)
    unknown = len(view.facts) - sum(row.size.footprint_bytes is not None for row in view.facts)
    left = (f"{counted(unknown, 'layer')} not counted: unknown size",) if unknown else ()
    shown = f"{min(top, len(ranked)):,} of {counted(len(ranked), 'layer')}"
    return Chart(
        key="footprint-per-layer",
        title="Layers by footprint: activations read and written, and weights",
        subtitle=(f"The largest {shown}; all together {format_bytes(whole)}", *left),
        spec=bars(
            rows,
            "MiB",
            {"name": "layer", "group": "of it", "value": "MiB#", "type": "type"},
            group_color("of it", list(_COLORS), lambda one: _COLORS[one or "weights"]),
        ),
        table=table_of(
            ("Layer", "Activations, bytes", "Weights, bytes", "Together, bytes"),
            [
                (
                    row.layer.name,
                    f"{row.size.activation_bytes:,}",
                    f"{row.size.weights_bytes:,}",
                    f"{row.size.footprint_bytes:,}",
                )
                for row in ranked[:top]
            ],
        ),
        height=height_of(rows),
        is_wide=True,
    )


def live_activations(view: PlanView) -> Chart | None:
    """Activations alive at each layer, if the layers run in the plan's order."""
    found = liveness(view.plan, view.roles)
    if found is None or not found.peak_bytes:
        return None
    step = -(-len(found.live_bytes) // _MOST_POINTS)
    rows: list[Spec] = [
        {
            "x": start + 1,
            "y": max(found.live_bytes[start : start + step]) / _MIB,
            "name": view.layers[start].name,
        }
        for start in range(0, len(found.live_bytes), step)
    ]
    unknown = (f"{counted(found.unknown, 'tensor')} of unknown size not counted",)
    peak = view.layers[found.peak_at]
    return Chart(
        key="live-activations",
        title=(
            f"Activations alive at each layer: at most {format_bytes(found.peak_bytes)}, "
            f"at layer {found.peak_at + 1:,}"
        ),
        subtitle=(
            f"The most is alive while {shorten(peak.name, 60)} runs",
            _LIFE,
            *(unknown if found.unknown else ()),
        ),
        spec={
            "data": {"values": rows},
            "mark": {"type": "area", "line": True, "opacity": 0.35, "interpolate": "step"},
            "encoding": {
                "x": quantity(
                    "x",
                    "position among the layers that do work",
                    scale={"zero": False, "nice": False},
                    axis={"grid": False, **X_TICKS, "tickMinStep": 1, "format": ",.0f"},
                ),
                "y": quantity("y", "alive, MiB", axis={"tickCount": 5}),
                "tooltip": tooltip(x="position#", name="layer", y="alive, MiB#"),
            },
        },
        table=table_of(
            ("Position", "Layer", "Alive, MiB"),
            [(f"{row['x']:,}", row["name"], figure(row["y"])) for row in rows],
        ),
        height=180,
        is_wide=True,
    )


def _in_order(view: PlanView, name: str, value: Callable[[LayerFacts], int | None]) -> Chart | None:
    found = stretches(view.facts, lambda _: name, lambda row: _mib(value(row)))
    if not any(amount for one in found for _, amount in one.parts):
        return None
    whole = sum(value(row) or 0 for row in view.facts)
    top = max(found, key=lambda one: one.parts[0][1])
    color = group_color(name, [name], lambda one: _COLORS[one or name], legend=False)
    return Chart(
        key=f"{name}-per-layer",
        title=f"{name.capitalize()} in the plan's order: {format_bytes(whole)}",
        subtitle=(
            f"The most is in layer {place_text(top)}: {shorten(top.largest, 60)}",
            *stretch_text(found),
        ),
        spec=stretch_bars(found, f"{name}, MiB", "MiB", color),
        table=stretch_table(found, "MiB"),
        height=160,
        is_wide=True,
    )


def _mib(value: int | None) -> float | None:
    return None if value is None else value / _MIB


def _parts(rank: int, row: LayerFacts) -> list[Spec]:
    sizes = {"weights": row.size.weights_bytes, "activations": row.size.activation_bytes}
    return [
        {
            "row": f"{rank:05}",
            "label": row.layer.name,
            "name": row.layer.name,
            "type": row.layer.type,
            "group": name,
            "value": _mib(size),
        }
        for name, size in sizes.items()
        if size
    ]
