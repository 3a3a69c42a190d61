"""Bars of layers by a property of their own: kernel, groups, origin, operation, tactic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.layers.layer_table import tactic_shares
from enginescope.analysis.layers.reformats import reformats
from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import (
    LayerGroup,
    PointwiseOperation,
    group_layers,
    pointwise_operations,
)
from enginescope.analysis.roofline.matrix_product import CONVOLUTION_TYPES, groups_of, kernel_of
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.palette import precision_color, type_color
from enginescope.render.charts.bars import bars, group_color, height_of
from enginescope.render.charts.card.wording import NOT_KNOWN, figure, shape, table_of
from enginescope.render.html.images import Chart, Spec

_MOST_ROWS = 24
_TIPS = {"name": "of", "group": "color", "layers": "layers#", "ms": "time, ms#", "share": "%#"}


def by_kernel(view: PlanView) -> Chart | None:
    """Convolutions by the size of their kernel, split by precision."""
    return _of_convolutions(view, "kernel", lambda row: shape(kernel_of(row.layer)))


def by_groups(view: PlanView) -> Chart | None:
    """Convolutions by how many groups they have, split by precision."""
    return _of_convolutions(view, "groups", _groups_text)


def by_origin(view: PlanView) -> Chart | None:
    """Reformats by where they come from, split by what they change."""
    found = {reformat.index: reformat for reformat in reformats(view.plan, view.rows)}
    rows = [row for row in view.facts if row.layer.index in found]

    def key(row: LayerFacts) -> tuple[str, str]:
        one = found[row.layer.index]
        return one.origin or "origin unknown", _change(one.changes_type, one.changes_layout)

    groups = group_layers(rows, key)
    if not groups:
        return None
    return _split(
        groups,
        key="reformats-by-origin",
        title=f"{_taken(counted(len(rows), 'reformat'), groups)}, by origin",
        name="changes",
        color=lambda one: _CHANGES.get(one or "", type_color(None)),
    )


def operations(view: PlanView) -> Chart | None:
    """Operations in pointwise layers and generated kernels."""
    found = pointwise_operations(view.facts)
    if not any(one.operation for one in found):
        return None
    timed = any(one.time_ms for one in found)
    shown = found[:_MOST_ROWS]
    rows: list[Spec] = [
        {
            "row": f"{rank:03}",
            "label": one.operation or NOT_KNOWN,
            "name": one.operation or NOT_KNOWN,
            "group": one.operation or NOT_KNOWN,
            "value": (one.time_ms or 0.0) if timed else one.count,
            "layers": one.layers,
            "count": one.count,
            "ms": one.time_ms,
            "even": one.even_ms,
        }
        for rank, one in enumerate(shown)
    ]
    tips = {
        "name": "operation",
        "layers": "layers that hold it#",
        "count": "times in them#",
        "ms": "these layers, ms#",
        "even": "shared out evenly, ms#",
    }
    color = group_color(
        "operation", [row["group"] for row in rows], lambda _: type_color("PointWise"), legend=False
    )
    first = next((one for one in found if one.operation), found[0])
    return Chart(
        key="pointwise-operations",
        title=f"Operations in pointwise layers: {_held(first)}",
        subtitle=(
            ("Time of the layers that hold an operation: one of several counts under each",)
            if timed
            else ("How often each occurs",)
        ),
        spec=bars(rows, "time of these layers, ms" if timed else "times", tips, color),
        table=table_of(
            ("Operation", "Layers", "Times", "These layers, ms", "Shared out evenly, ms"),
            [
                (
                    one.operation or NOT_KNOWN,
                    f"{one.layers:,}",
                    f"{one.count:,}",
                    figure(one.time_ms),
                    figure(one.even_ms),
                )
                for one in found
            ],
        ),
        height=height_of(rows),
    )


def _held(one: PointwiseOperation) -> str:
    what = counted(one.layers, "layer")
    time = f", {format_ms(one.time_ms, 3)}" if one.time_ms is not None else ""
    return f"{one.operation} is in {what}{time}"


def by_tactic(view: PlanView, *, top: int = _MOST_ROWS) -> Chart | None:
    """Time by tactic, hashes at the end of a name left out."""
    found = [share for share in tactic_shares(view.rows) if share.time_ms]
    if not found or all(one.tactic is None for one in found):
        return None
    rows: list[Spec] = [
        {
            "row": f"{rank:03}",
            "label": one.tactic or NOT_KNOWN,
            "name": one.tactic or NOT_KNOWN,
            "group": one.types[0] if len(one.types) == 1 else "several types",
            "value": one.time_ms,
            "layers": one.layers,
            "ms": one.time_ms,
            "share": one.share_pct,
        }
        for rank, one in enumerate(found[:top])
    ]
    color = group_color("type", [row["group"] for row in rows], type_color)
    return Chart(
        key="latency-per-tactic",
        title=f"Time by tactic: {counted(len(found), 'tactic')}, colored by type of layer",
        subtitle=(f"The {len(rows)} with the most time",) if len(rows) < len(found) else (),
        spec=bars(rows, "time, ms", {**_TIPS, "name": "tactic", "group": "type"}, color),
        table=table_of(
            ("Tactic", "Types", "Layers", "Time, ms", "Share, %"),
            [
                (
                    one.tactic or NOT_KNOWN,
                    ", ".join(one.types),
                    f"{one.layers:,}",
                    figure(one.time_ms),
                    figure(one.share_pct),
                )
                for one in found
            ],
        ),
        height=height_of(rows),
        is_wide=True,
    )


_CHANGES = {
    "type and layout": "#D55E00",
    "type": "#E69F00",
    "layout": "#56B4E9",
    "neither": "#999999",
}


def _change(of_type: bool | None, of_layout: bool | None) -> str:  # noqa: FBT001 - two facts
    if of_type is None or of_layout is None:
        return NOT_KNOWN
    both = {(True, True): "type and layout", (True, False): "type", (False, True): "layout"}
    return both.get((of_type, of_layout), "neither")


def _of_convolutions(view: PlanView, name: str, value: Callable[[LayerFacts], str]) -> Chart | None:
    rows = [row for row in view.facts if row.layer.type in CONVOLUTION_TYPES]
    groups = group_layers(rows, lambda row: (value(row), row.precision or NOT_KNOWN))
    if not groups:
        return None
    return _split(
        groups,
        key=f"convolutions-by-{name}",
        title=f"{_taken(counted(len(rows), 'convolution'), groups)}, by {name}",
        name="precision",
        color=precision_color,
    )


def _groups_text(row: LayerFacts) -> str:
    groups = groups_of(row.layer)
    if groups is None:
        return NOT_KNOWN
    product = row.work.product
    if groups > 1 and product and product.n == 1:
        return f"{groups:,} (depthwise)"
    return f"{groups:,}"


def _taken(what: str, groups: Sequence[LayerGroup[tuple[str, str]]]) -> str:
    """Return ``"18 reformats take 0.0825 ms, 17.5 %"``."""
    times = [group.time_ms for group in groups if group.time_ms is not None]
    if not times:
        return what
    share = sum(group.share_pct or 0.0 for group in groups)
    verb = "takes" if what.startswith("1 ") else "take"
    return f"{what} {verb} {format_significant(sum(times))} ms, {format_significant(share)} %"


def _split(
    groups: Sequence[LayerGroup[tuple[str, str]]],
    *,
    key: str,
    title: str,
    name: str,
    color: Callable[[str | None], str],
) -> Chart:
    timed = any(group.time_ms for group in groups)
    sums: dict[str, float] = {}
    for group in groups:
        sums[group.key[0]] = sums.get(group.key[0], 0.0) + (
            (group.time_ms or 0.0) if timed else group.layers
        )
    order = {label: rank for rank, label in enumerate(sorted(sums, key=lambda one: -sums[one]))}
    shown = sorted(
        (group for group in groups if order[group.key[0]] < _MOST_ROWS),
        key=lambda one: order[one.key[0]],
    )
    rows: list[Spec] = [
        {
            "row": f"{order[one.key[0]]:03}",
            "label": one.key[0],
            "name": one.key[0],
            "group": one.key[1],
            "value": (one.time_ms or 0.0) if timed else one.layers,
            "layers": one.layers,
            "ms": one.time_ms,
            "share": one.share_pct,
        }
        for one in shown
    ]
    left = len(order) - _MOST_ROWS
    return Chart(
        key=key,
        title=title,
        subtitle=(f"{left:,} more with less time are not shown",) if left > 0 else (),
        spec=bars(
            rows,
            "time per iteration, ms" if timed else "layers",
            {**_TIPS, "group": name},
            group_color(name, [group.key[1] for group in groups], color),
        ),
        table=table_of(
            ("Of", name.capitalize(), "Layers", "Time, ms", "Share, %"),
            [
                (*one.key, f"{one.layers:,}", figure(one.time_ms), figure(one.share_pct))
                for one in shown
            ],
        ),
        height=height_of(rows),
    )
