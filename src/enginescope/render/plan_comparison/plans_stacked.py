"""Plans side by side: the time of each, stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plan_comparison.plans_overview import PlansOverview, ShareAcross
from enginescope.judge.units import format_significant
from enginescope.render.base.palette import precision_color, type_color
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_ROW = 24
#: Groups of a stack that are drawn apart; the rest is one.
_GROUPS = 10
#: What a color keeps of its distance to white for each time that it came before.
_SHADE = 0.68


def time_by_type(overview: PlansOverview, *, per_item: bool = False) -> Chart | None:
    """Time of each plan stacked by type of layer; ``None`` where no plan has times."""
    return _stacked("time_by_type", "type", overview, type_color, per_item=per_item)


def time_by_precision(overview: PlansOverview) -> Chart | None:
    """Time of each plan stacked by precision; ``None`` where no plan has times."""
    return _stacked("time_by_precision", "precision", overview, precision_color)


def layers_by_type(overview: PlansOverview) -> Chart | None:
    """Layers of each plan stacked by type."""
    rows = [
        _segment(overview, at, one.key, float(one.layers[at]))
        for one in _drawn(overview.by_type)
        for at in range(len(overview.plans))
    ]
    if not rows:
        return None
    return Chart(
        key="layers_by_type",
        title="Layers that do work, by type",
        spec=_stack_spec(rows, "type", type_color, "layers"),
        table=_stack_table(overview, overview.by_type, "Type", lambda one, at: str(one.layers[at])),
        height=_ROW * len(overview.plans) + 16,
    )


def _stacked(
    key: str,
    name: str,
    overview: PlansOverview,
    color: Callable[[str | None], str],
    *,
    per_item: bool = False,
) -> Chart | None:
    shares = overview.by_type if name == "type" else overview.by_precision
    batches = [plan.batch if per_item else 1 for plan in overview.plans]
    rows = [
        _segment(overview, at, one.key, ms / batch)
        for one in _drawn(shares)
        for at, (ms, batch) in enumerate(zip(one.time_ms, batches, strict=True))
        if ms and batch
    ]
    if not rows:
        return None
    unit = "per item" if per_item else "per iteration"
    return Chart(
        key=f"{key}_per_item" if per_item else key,
        title=f"Time of the layers by {name}{', per item' if per_item else ''}",
        spec=_stack_spec(rows, name, color, f"sum of times {unit}, ms"),
        table=_stack_table(
            overview,
            shares,
            name.capitalize(),
            lambda one, at: _per(one.time_ms[at], batches[at]),
        ),
        height=_ROW * len(overview.plans) + 16,
    )


def _drawn(shares: Sequence[ShareAcross]) -> list[ShareAcross]:
    """The largest groups, and the others as one."""
    if len(shares) <= _GROUPS:
        return list(shares)
    rest = shares[_GROUPS - 1 :]
    plans = range(len(shares[0].layers))
    times = [[one.time_ms[at] for one in rest] for at in plans]
    others = ShareAcross(
        key=f"{len(rest)} others",
        layers=tuple(sum(one.layers[at] for one in rest) for at in plans),
        time_ms=tuple(
            None if all(ms is None for ms in some) else sum(ms or 0.0 for ms in some)
            for some in times
        ),
    )
    return [*shares[: _GROUPS - 1], others]


def _segment(overview: PlansOverview, at: int, key: str | None, amount: float) -> Spec:
    plan = overview.plans[at]
    return {
        "plan": plan.label,
        "name": plan.name,
        "group": key or "not known",
        "amount": amount,
    }


def _stack_spec(rows: list[Spec], name: str, color: Callable[[str | None], str], axis: str) -> Spec:
    groups = list(dict.fromkeys(row["group"] for row in rows))
    places = {group: at for at, group in enumerate(groups)}
    return {
        "data": {"values": [{**row, "place": places[row["group"]]} for row in rows]},
        "mark": {"type": "bar", "height": {"band": 0.72}, "style": "halo", "strokeWidth": 1},
        "encoding": {
            "y": {
                "field": "plan",
                "type": "nominal",
                "title": None,
                "axis": {"ticks": False, "labelFontWeight": "bold"},
            },
            "x": quantity("amount", axis, axis={"tickCount": 8}),
            "order": {"field": "place", "type": "quantitative"},
            "color": {
                "field": "group",
                "type": "nominal",
                "scale": {"domain": groups, "range": _told_apart([color(one) for one in groups])},
                "legend": {"title": name, "symbolType": "square", "columns": 4},
            },
            "tooltip": tooltip(
                plan="plan", name="name", group=name, amount=f"{axis.rpartition(', ')[2]}#"
            ),
        },
    }


def _told_apart(colors: Sequence[str]) -> list[str]:
    """Return `colors`, one that came before a step lighter: types of a kind of work share one."""
    found: list[str] = []
    for at, color in enumerate(colors):
        found.append(_lighter(color, colors[:at].count(color)))
    return found


def _lighter(color: str, steps: int) -> str:
    parts = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    keep = _SHADE ** min(steps, 4)
    return "#" + "".join(f"{round(255 - keep * (255 - part)):02x}" for part in parts)


def _stack_table(
    overview: PlansOverview,
    shares: Sequence[ShareAcross],
    heading: str,
    cell: Callable[[ShareAcross, int], str],
) -> ChartTable:
    plans = range(len(overview.plans))
    return ChartTable(
        headers=(heading, *(plan.label for plan in overview.plans)),
        rows=tuple(
            (share.key or "not known", *(cell(share, at) for at in plans)) for share in shares
        ),
    )


def _per(ms: float | None, batch: int | None) -> str:
    return "—" if ms is None or not batch else format_significant(ms / batch, 4)
