"""The time line of one request, with its copies and its enqueue."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.runs.throughput import (
    PARTS,
    PartSpan,
    clocks_differ_ms,
    part_spans,
    typical_query,
)
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.samples import QueryTrace
from enginescope.render.base.palette import BLUE, OTHER
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    marks,
    quantity,
    tooltip,
    zoomable,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

_LANE = 24
#: Requests that are drawn before and after the one in the middle.
_BESIDE = 2


def timeline(subject: PageSubject) -> Section | None:
    """One request with its parts on a scale; ``None`` without recorded stamps."""
    chart = request_timeline(subject.view.run.trace)
    return Section(key="timeline", title="Time line", charts=(chart,)) if chart else None


def request_timeline(trace: QueryTrace | None) -> Chart | None:
    """One typical request with its neighbors, by recorded stamps; ``None`` without any."""
    if not trace:
        return None
    count, chosen = len(trace), typical_query(trace)
    queries = range(max(0, chosen - _BESIDE), min(count, chosen + _BESIDE + 1))
    spans = part_spans(trace, queries)
    own = [one for one in spans if one.query == chosen]
    if not own:
        return None
    zero_ms = min(one.start_ms for one in own)
    streams = {one.stream for one in spans}
    lanes = [_lane(one, streams) for one in spans]
    rows = [
        {
            "lane": lane,
            "request": f"{one.query + 1:,} of {count:,}",
            "start": one.start_ms - zero_ms,
            "end": one.end_ms - zero_ms,
            "took": format_ms(one.end_ms - one.start_ms, 3),
            "fill": BLUE if one.query == chosen else OTHER,
        }
        for one, lane in zip(spans, lanes, strict=True)
    ]
    times = [(one.start_ms - zero_ms, one.end_ms - zero_ms) for one in spans]
    order = sorted(set(lanes), key=_lane_order)
    return Chart(
        key="request_timeline",
        title=_title(own, count),
        subtitle=_subtitle(trace, chosen),
        spec=_spec(rows, order, f"time since request {chosen + 1:,} began, ms"),
        table=ChartTable(
            headers=("Request", "Part", "Begins, ms", "Ends, ms", "Takes, ms"),
            rows=tuple(
                (f"{one.query + 1:,}", lane, *(f"{ms:.3f}" for ms in (start, end, end - start)))
                for one, lane, (start, end) in zip(spans, lanes, times, strict=True)
            ),
        ),
        height=_LANE * len(order),
        is_wide=True,
    )


def _spec(rows: list[Spec], order: Sequence[str], title: str) -> Spec:
    """Return bars that zoom; their edge is drawn, so that short ones are seen."""
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": 160}
    color = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
    tips = tooltip(
        lane="part", request="request", took="takes", start="begins, ms#", end="ends, ms#"
    )
    bars = marks(
        rows,
        {"type": "bar", "height": {"band": 0.8}, "clip": True},
        x=quantity("start", title, scale={"nice": False}, axis=X_TICKS),
        x2={"field": "end"},
        y={"field": "lane", "type": "nominal", "sort": list(order), "axis": axis},
        fill=color,
        stroke=color,
        tooltip=tips,
    )
    return zoomable([bars])


def _lane(span: PartSpan, streams: set[int | None]) -> str:
    name = "enqueue (host)" if span.part == "enqueue" else span.part
    return name if len(streams) == 1 else f"stream {span.stream} · {name}"


def _lane_order(lane: str) -> tuple[str, int]:
    stream, _, name = lane.rpartition(" · ")
    return stream, list(PARTS).index(name.partition(" ")[0])


def _title(own: Sequence[PartSpan], count: int) -> str:
    longest = max(own, key=lambda one: one.end_ms - one.start_ms)
    on_gpu = [one for one in own if one.part != "enqueue"] or own
    whole_ms = max(one.end_ms for one in on_gpu) - min(one.start_ms for one in on_gpu)
    share = format_significant(100 * (longest.end_ms - longest.start_ms) / whole_ms, 3)
    return f"One request of {count:,}: {format_ms(whole_ms, 3)}, {longest.part} {share} % of it"


def _subtitle(trace: QueryTrace, chosen: int) -> tuple[str, ...]:
    request = f"Request {chosen + 1:,}, blue, takes about the median time"
    first = f"Recorded stamps. {request}; its neighbors are gray"
    differ_ms = clocks_differ_ms(trace)
    if differ_ms is None:
        return (first,)
    return first, (
        "Enqueue is on the host's clock, the rest on the GPU's: the clocks differ by at least "
        f"{format_ms(differ_ms, 3)}, since work begins before it is enqueued"
    )
