"""Histograms of an amount over the layers of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.amount_bins import AmountBin, amount_bins, is_even_range
from enginescope.core.units import format_bytes, format_significant
from enginescope.render.charts.card.wording import counted, figure, table_of
from enginescope.render.html.images import Chart, Spec, quantity, tooltip

_EVEN = "All bars cover ranges of one width"
_LOGARITHMIC = "Logarithmic axis: each bar covers a wider range than the bar to its left"


def time_spread(view: PlanView) -> Chart | None:
    """How many layers take how long."""
    return _spread(
        view,
        key="latency-distribution",
        what="mean time",
        title="How long layers take",
        value=lambda row: row.mean_ms,
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
                    "values": [row["bin"] for row in rows[::step]],
                },
            },
            "y": quantity("layers", "layers", axis={"tickCount": 5, "tickMinStep": 1}),
            "tooltip": tooltip(range=what, layers="layers#", total="together"),
        },
    }
