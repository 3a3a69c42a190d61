"""What a build spent its time on."""

from __future__ import annotations

from enginescope.analysis.build_log.build_log_summary import tuning_costs, tuning_total_s
from enginescope.core.units import format_significant
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.render.base.phrases import shorten
from enginescope.render.html.spec import Chart, Spec, quantity, tooltip

_MOST = 15
_NAME_LENGTH = 44
_ROW_HEIGHT = 19


def tuning_bars(story: BuildTrace) -> Chart | None:
    """The layers whose tuning took longest; ``None`` where the log does not time it."""
    total_s = tuning_total_s(story)
    costs = [cost for cost in tuning_costs(story) if cost.tuning_s]
    if not total_s or not costs:
        return None
    rows = [
        {
            "row": f"{rank:03}",
            "label": shorten(one.name or f"unnamed: {one.kind}s", _NAME_LENGTH),
            "name": one.name or f"unnamed: {one.kind}s",
            "s": one.tuning_s,
            "share": one.share_pct,
            "trials": one.trials,
        }
        for rank, one in enumerate(costs[:_MOST])
    ]
    share = sum(cost.share_pct or 0.0 for cost in costs[:_MOST])
    part = f"{format_significant(share)} % of {format_significant(total_s)} s"
    return Chart(
        key="build_tuning",
        title="Layers by what their tuning took",
        subtitle=(f"{len(rows)} of {len(costs):,} timed entries: {part}",),
        spec=_spec(rows),
        height=_ROW_HEIGHT * len(rows),
    )


def _spec(rows: list[Spec]) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": {"band": 0.72}},
        "params": [{"name": "names", "value": {row["row"]: row["label"] for row in rows}}],
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelExpr": "names[datum.value]", "labelLimit": 330, "ticks": False},
            },
            "x": quantity("s", "time of tuning, s", axis={"tickCount": 8}),
            "tooltip": tooltip(
                name="layer", s="tuning, s#", share="share, %#", trials="tactics timed"
            ),
        },
    }
