"""What makes the difference of two plans, reason by reason."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.judge.units import format_ms
from enginescope.render.charts.waterfall import Bar, waterfall_chart
from enginescope.render.html.images import Chart, ChartTable
from enginescope.render.plan_comparison.compare_tables import explanation_table, steps_of

#: Reasons in the table.
_TABLE = 200


def waterfalls(against: Sequence[LayerComparison], labels: Sequence[str]) -> tuple[Chart, ...]:
    """From A's time to that of each other plan, all on one scale; only plans with times."""
    found = [
        (label, layers, bars)
        for label, layers in zip(labels, against, strict=True)
        if (bars := _bars(layers, label))
    ]
    every = [bar for _, _, bars in found for bar in bars]
    return tuple(
        _waterfall(label, layers, bars, every, is_alone=len(labels) == 1)
        for label, layers, bars in found
    )


def _bars(layers: LayerComparison, label: str) -> list[Bar]:
    """Return the bars of a waterfall; none without times on both sides."""
    if layers.difference_ms is None or layers.a_ms is None or layers.b_ms is None:
        return []
    bars = [_total("A", layers.a_ms)]
    reached = layers.a_ms
    for step in steps_of(layers, label):
        ms = step.difference_ms or 0.0
        bars.append(
            Bar(name=step.text, kind="step", start_ms=reached, end_ms=reached + ms, value_ms=ms)
        )
        reached += ms
    return [*bars, _total(label, layers.b_ms)]


def _total(label: str, ms: float) -> Bar:
    name = f"{label}, all its layers"
    return Bar(name=name, kind="measured", start_ms=ms, end_ms=ms, value_ms=ms)


def _waterfall(
    label: str, layers: LayerComparison, bars: list[Bar], every: list[Bar], *, is_alone: bool
) -> Chart:
    explained = explanation_table(layers, _TABLE, label)
    return waterfall_chart(
        f"From A's {format_ms(layers.a_ms)} to {label}'s {format_ms(layers.b_ms)}",
        bars,
        ChartTable(headers=explained.headers, rows=explained.rows),
        key="waterfall" if is_alone else f"waterfall_{label}",
        subtitle=("Each reason begins where the one above it ends; the axis does not begin at 0",),
        axis="sum of times",
        scale=every,
    )
