"""What makes the difference of two plans: reason by reason, and pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers
from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.core.record import Record
from enginescope.judge.units import format_ms
from enginescope.render.base.data_table import number_text
from enginescope.render.base.palette import BLUE, GREY, OTHER, VERMILLION
from enginescope.render.base.phrases import shorten_apart
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.plan_comparison.compare_phrases import cause_text, changes_text

_NAME = 34
_ROW = 24
_REASONS = 12
#: Width of the chart's place in the page; pictures have none.
_SIZE = "(containerSize()[0] || 760)"
_PAIRS = 30
#: Room for a figure beside a bar, of the bars' span.
_FIGURE = 0.4
_LESS, _MORE, _SAME, _WHOLE = "less time than A", "more time", "within the threshold", "a plan"
_CHANGE_COLORS = {_LESS: BLUE, _MORE: VERMILLION, _SAME: GREY, _WHOLE: OTHER}


class Step(Record, frozen=True, kw_only=True):
    """A bar of the waterfall: one reason, or the many small ones together.

    Attributes:
        difference_ms: B − A; ``None`` where a plan has no times.
        members: Positions in `LayerComparison.layers`; none of times that belong to no layer.
    """

    text: str
    difference_ms: float | None
    members: tuple[int, ...]


def steps_of(layers: LayerComparison, label: str = "B") -> tuple[Step, ...]:
    """Return what leads from A's time to that of `label`, the largest first; steps add up to it."""
    every = [
        Step(
            text=cause_text(explanation, label),
            difference_ms=explanation.difference_ms,
            members=explanation.members,
        )
        for explanation in layers.explanations
    ]
    rest = every[_REASONS:]
    if len(rest) < 2:
        return tuple(every)
    together = Step(
        text=f"{len(rest):,} more reasons",
        difference_ms=None
        if layers.difference_ms is None
        else sum(step.difference_ms or 0.0 for step in rest),
        members=tuple(at for step in rest for at in step.members),
    )
    return (*every[:_REASONS], together)


def waterfall(layers: LayerComparison) -> Chart | None:
    """From A's time to B's, reason by reason; ``None`` without times on both sides."""
    rows = _rows(layers, "B")
    return _waterfall("waterfall", "B", layers, rows, rows) if rows else None


def waterfalls(against: Sequence[LayerComparison], labels: Sequence[str]) -> tuple[Chart, ...]:
    """From A's time to that of each other plan, all on one scale; only plans with times."""
    found = [
        (label, layers, rows)
        for label, layers in zip(labels, against, strict=True)
        if (rows := _rows(layers, label))
    ]
    every = [row for _, _, rows in found for row in rows]
    return tuple(
        _waterfall(f"waterfall_{label}", label, layers, rows, every)
        for label, layers, rows in found
    )


def _rows(layers: LayerComparison, label: str) -> list[Spec]:
    """Return the bars of a waterfall; none without times on both sides."""
    if layers.difference_ms is None or layers.a_ms is None or layers.b_ms is None:
        return []
    rows: list[Spec] = [_whole("A", layers.a_ms)]
    reached = layers.a_ms
    for step in steps_of(layers, label):
        ms = step.difference_ms or 0.0
        kind = _LESS if ms < 0 else _MORE
        rows.append(_bar(step.text, reached, reached + ms, kind, number_text(ms, 4, signed=True)))
        reached += ms
    rows.append(_whole(label, layers.b_ms))
    names = shorten_apart([row["what"] for row in rows], _NAME + 10)
    return [
        {**row, "short": name, "row": f"{at:05}"}
        for at, (row, name) in enumerate(zip(rows, names, strict=True))
    ]


def _waterfall(
    key: str, label: str, layers: LayerComparison, rows: list[Spec], scale: Sequence[Spec]
) -> Chart:
    click = "A click on a bar marks its layers in the graphs."
    return Chart(
        key=key,
        title=f"From A's {format_ms(layers.a_ms)} to {label}'s {format_ms(layers.b_ms)}",
        subtitle=(
            "Each reason begins where the one above it ends; the axis does not begin at 0.",
            *((click,) if scale is rows else ()),
        ),
        spec=_waterfall_spec(rows, scale),
        table=ChartTable(
            headers=("What differs", f"{label} − A, ms"),
            rows=tuple(
                (cause_text(one, label), number_text(one.difference_ms or 0.0, 6, signed=True))
                for one in layers.explanations
            ),
        ),
        height=_ROW * len(rows),
    )


def speedups(layers: LayerComparison, threshold_pct: float) -> Chart | None:
    """A ÷ B of the pairs whose times differ most; ``None`` where no pair has both."""
    both = [one for one in enumerate(layers.in_order()) if one[1].speedup is not None]
    shown = both[:_PAIRS]
    if not shown:
        return None
    which = f"The {len(shown)} of {len(both):,} pairs" if len(both) > len(shown) else "Pairs"
    names = shorten_apart([one.name for _, one in shown], _NAME)
    rows = [
        {**_speedup_row(one, threshold_pct), "short": name, "row": f"{at:05}", "pair": pair}
        for at, ((pair, one), name) in enumerate(zip(shown, names, strict=True))
    ]
    return Chart(
        key="speedups",
        title="Speed-up of each pair: A's time ÷ B's",
        subtitle=(
            f"{which} with the largest differences in ms first; gray: within {threshold_pct:g} %",
        ),
        spec=_speedup_spec(rows),
        table=ChartTable(
            headers=("Layer", "A, ms", "B, ms", "A ÷ B"),
            rows=tuple(
                (
                    one.name,
                    number_text(one.a_ms, 5),
                    number_text(one.b_ms, 5),
                    number_text(one.speedup, 3),
                )
                for _, one in shown
            ),
        ),
        height=19 * len(rows),
    )


def _whole(label: str, ms: float) -> Spec:
    return _bar(f"{label}, all its layers", ms, ms, _WHOLE, f"{number_text(ms, 4)} ms")


def _bar(text: str, start: float, end: float, kind: str, label: str) -> Spec:
    return {
        "what": text,
        "start": min(start, end),
        "end": max(start, end),
        "kind": kind,
        "label": label,
    }


def _waterfall_spec(rows: list[Spec], scale: Sequence[Spec]) -> Spec:
    y = _names_axis(rows, 330, is_fixed=scale is not rows)
    low, middle, high = _with_room(scale)
    x = quantity(
        "start",
        "sum of times, ms",
        scale={"domain": [low, high], "nice": False},
        axis={"tickCount": 8},
    )
    shown = tooltip(what="what", label="ms", kind="kind")
    return {
        "data": {"values": rows},
        "params": [_names(rows), {"name": "chosen", "value": None}],
        "layer": [
            {
                "transform": [{"filter": f"datum.kind !== '{_WHOLE}'"}],
                "mark": {
                    "type": "bar",
                    "height": {"band": 0.7},
                    "minBandSize": 2,
                    "cursor": "pointer",
                },
                "encoding": {
                    "y": y,
                    "x": x,
                    "x2": {"field": "end"},
                    "color": _kinds(rows),
                    "opacity": {
                        "condition": {"test": "!chosen || datum.what === chosen", "value": 1},
                        "value": 0.3,
                    },
                    "tooltip": shown,
                },
            },
            {
                "transform": [{"filter": f"datum.kind === '{_WHOLE}'"}],
                "mark": {"type": "tick", "thickness": 3, "height": 17},
                "encoding": {"y": y, "x": x, "color": _kinds(rows), "tooltip": shown},
            },
            _figures(y, "end", f"datum.start <= {middle}"),
            _figures(y, "start", f"datum.start > {middle}"),
        ],
    }


def _with_room(rows: Sequence[Spec]) -> tuple[float, float, float]:
    """The span of the bars with room beside them, and the bars' middle.

    A figure stands to the right of a bar that begins before the middle, so a bar across the whole
    span needs more room there.
    """
    low, high = min(row["start"] for row in rows), max(row["end"] for row in rows)
    span, middle = (high - low) or high or 1.0, (low + high) / 2
    right = max((row["end"] for row in rows if row["start"] <= middle), default=low)
    return max(0.0, low - 0.04 * span), middle, max(high + 0.04 * span, right + _FIGURE * span)


def _figures(y: Spec, end: str, which: str) -> Spec:
    """Write figures beside the end of their bars that has room."""
    align, dx = ("left", 6) if end == "end" else ("right", -6)
    return {
        "transform": [{"filter": which}],
        "mark": {"type": "text", "align": align, "dx": dx},
        "encoding": {
            "y": y,
            "x": {"field": end, "type": "quantitative"},
            "text": {"field": "label", "type": "nominal"},
        },
    }


def _kinds(rows: Sequence[Spec]) -> Spec:
    kinds = [one for one in _CHANGE_COLORS if any(row["kind"] == one for row in rows)]
    return {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": kinds, "range": [_CHANGE_COLORS[kind] for kind in kinds]},
        "legend": {
            "title": None,
            "symbolType": "square",
            "symbolOpacity": 1,
            "columns": {"expr": f"{_SIZE} < 560 ? 1 : 4"},
        },
    }


def _names(rows: Sequence[Spec]) -> Spec:
    return {"name": "names", "value": {row["row"]: row["short"] for row in rows}}


def _names_axis(rows: Sequence[Spec], limit: int, *, is_fixed: bool = False) -> Spec:
    """Rows in their order, called by their short names: names may repeat.

    `is_fixed`: they take the same room whatever they are, as charts on one scale need it.
    """
    room = {"expr": f"min({limit}, 0.42 * {_SIZE})"}
    return {
        "field": "row",
        "type": "nominal",
        "scale": {"domain": [row["row"] for row in rows]},
        "title": None,
        "axis": {
            "labelExpr": "names[datum.value]",
            "labelLimit": room,
            **({"minExtent": room} if is_fixed else {}),
            "ticks": False,
        },
    }


def _speedup_row(one: ComparedLayers, threshold_pct: float) -> Spec:
    kind = _SAME
    if one.differs_by(threshold_pct):
        kind = _LESS if (one.difference_ms or 0.0) < 0 else _MORE
    return {
        "name": one.name,
        "type": one.type,
        "changes": changes_text(one),
        "a": one.a_ms,
        "b": one.b_ms,
        "speedup": one.speedup,
        "one": 1.0,
        "kind": kind,
    }


def _speedup_spec(rows: list[Spec]) -> Spec:
    return {
        "data": {"values": rows},
        "params": [_names(rows)],
        "layer": [
            {
                "mark": {"type": "bar", "height": {"band": 0.66}, "cursor": "pointer"},
                "encoding": {
                    "y": _names_axis(rows, 270),
                    "x": quantity(
                        "one",
                        "A ÷ B; above 1: less time in B",
                        scale={"zero": False},
                        axis={"tickCount": 8},
                    ),
                    "x2": {"field": "speedup"},
                    "color": _kinds(rows),
                    "tooltip": tooltip(
                        name="layer",
                        type="type",
                        changes="differs in",
                        a="A, ms#",
                        b="B, ms#",
                        speedup="A ÷ B#",
                    ),
                },
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1},
                "data": {"values": [{"one": 1.0}]},
                "encoding": {"x": {"field": "one", "type": "quantitative"}},
            },
        ],
    }
