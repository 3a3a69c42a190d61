"""How an amount is distributed over the layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.log_bins import LogBin, log_bins
from enginescope.analysis.plan_column_table import LayerFacts
from enginescope.analysis.plan_view import PlanView
from enginescope.core.units import format_bytes, format_significant
from enginescope.render.charts.card.wording import counted, figure, table_of
from enginescope.render.charts.spec import Chart, Spec, quantity, tooltip


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
    known = [one for row in view.facts if (one := value(row)) is not None]
    bins = log_bins(known, binary=binary)
    if not any(one.high for one in bins):
        return None
    unit = "bytes" if binary else "ms"
    missing = len(view.facts) - len(known)
    left_out = (f"{counted(missing, 'layer')} left out: not known",) if missing else ()
    return Chart(
        key=key,
        title=f"{title}: {_middle(known, binary=binary)}",
        subtitle=("Each bar is wider than the one before it: the axis is logarithmic", *left_out),
        spec=_bars(bins, what, binary=binary),
        table=table_of(
            (f"From, {unit}", f"To below, {unit}", "Layers", f"Together, {unit}"),
            [
                (figure(one.low, 6), figure(one.high, 6), f"{one.count:,}", figure(one.total, 6))
                for one in bins
            ],
        ),
        height=170,
    )


def _middle(values: Sequence[float], *, binary: bool) -> str:
    ranked = sorted(values)
    half = _text(ranked[(len(ranked) - 1) // 2], binary=binary)
    return f"half of {counted(len(ranked), 'layer')} at most {half}"


def _text(value: float, *, binary: bool) -> str:
    return format_bytes(round(value)) if binary else f"{format_significant(value)} ms"


def _edge(value: float, *, binary: bool) -> str:
    """Round numbers without the zeros behind them."""
    number, _, unit = _text(value, binary=binary).partition(" ")
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{number} {unit}" if binary else number


def _bars(bins: Sequence[LogBin], what: str, *, binary: bool) -> Spec:
    rows = [
        {
            "bin": f"{rank:03}",
            "layers": one.count,
            "range": _range(one, binary=binary),
            "total": _text(one.total, binary=binary),
        }
        for rank, one in enumerate(bins)
    ]
    starts = {row["bin"]: _start(one, binary=binary) for row, one in zip(rows, bins, strict=True)}
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


def _start(one: LogBin, *, binary: bool) -> str:
    return "0" if not one.high else _edge(one.low, binary=binary)


def _range(one: LogBin, *, binary: bool) -> str:
    if not one.high:
        return "0"
    unit = "" if binary else " ms"
    return f"{_edge(one.low, binary=binary)} … {_edge(one.high, binary=binary)}{unit}"
