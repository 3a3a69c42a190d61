"""Time lines: the layers of one inference, and one request with its copies and its enqueue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.analysis.layers.layer_table import LayerRow, LayerSpan, is_stamped, layer_spans
from enginescope.analysis.runs.throughput import (
    PARTS,
    PartSpan,
    clocks_differ_ms,
    part_spans,
    typical_query,
)
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.samples import QueryTrace
from enginescope.render.base.palette import BLUE, OTHER, family_color, type_family
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    picked,
    quantity,
    tooltip,
    zoomable,
)
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section


def timeline(subject: PageSubject) -> Section | None:
    """One request and the layers of one inference on a scale; ``None`` without times of either."""
    run = subject.view.run
    pictures = (
        request_timeline(run.trace),
        layer_timeline(
            subject.view.layers,
            subject.row_of_layer,
            is_own=run.profile is not None and run.profile.has_own_times,
        ),
    )
    charts = tuple(picture for picture in pictures if picture is not None)
    if not charts:
        return None
    return Section(
        key="timeline",
        title="Time line",
        answer=charts[0].title,
        charts=charts,
    )


_LANE = 24
#: Neighbors that are one mark where each is narrower than this part of the whole.
_NARROWEST = 1 / 2_000
#: Above so many layers the table of layers alone has their times.
_MOST_ROWS = 150


def layer_timeline(
    rows: Sequence[LayerRow], places: Mapping[int, int], *, is_own: bool = False
) -> Chart | None:
    """The layers of one inference, a lane for each kind of work; ``None`` without layer times.

    Args:
        rows: In the order in which they run.
        places: By `LayerRow.index`, of those in the plan: their rows in the table of layers.
        is_own: Whether the times are without the profiler's part.
    """
    spans = layer_spans(rows)
    if not spans:
        return None
    whole_ms = max(span.start_ms + span.ms for span in spans)
    sum_ms = sum(span.ms for span in spans)
    lanes: dict[str, list[Spec]] = {}
    for span in spans:
        lane = lanes.setdefault(type_family(span.row.type), [])
        if not _joined(lane, span, whole_ms):
            lane.append(_mark(span, places))
    order = sorted(lanes, key=lambda name: -sum(mark["ms"] for mark in lanes[name]))
    marks = [
        {
            **mark,
            "lane": name,
            "fill": family_color(name),
            "took": format_ms(mark["ms"], 4),
            "share": 100 * mark["ms"] / sum_ms,
        }
        for name in order
        for mark in lanes[name]
    ]
    count = f"{len(spans):,} layer{'' if len(spans) == 1 else 's'}"
    laid = f"{'Own times' if is_own else _RAW_TIMES} laid end to end {_NO_STARTS}"
    return Chart(
        key="layer_timeline",
        title=f"One inference: {count} in {format_ms(whole_ms, 4)}",
        subtitle=(_STARTS if is_stamped(spans) else laid,),
        spec=_picked(_lanes(marks, order, "time since the first layer, ms", _LAYER_TIPS)),
        table=_layer_rows(spans) if len(spans) <= _MOST_ROWS else None,
        height=_LANE * len(order),
        is_wide=True,
    )


def _layer_rows(spans: Sequence[LayerSpan]) -> ChartTable:
    return ChartTable(
        headers=("Layer", "Kind of work", "Begins, ms", "Takes, ms"),
        rows=tuple(
            (
                span.row.name,
                type_family(span.row.type),
                *(format_significant(one, 4) for one in (span.start_ms, span.ms)),
            )
            for span in spans
        ),
    )


_RAW_TIMES = "Times with the profiler's part,"
_NO_STARTS = (
    "in the plan's order: a profile has durations, not starts, so gaps and overlap do not show"
)
_STARTS = "Starts and times of the profile; gaps are work of the runtime and the profiler"
_LAYER_TIPS = {
    "name": "layer",
    "took": "takes",
    "share": "share of the sum, %#",
    "start": "at, ms#",
}


def _mark(span: LayerSpan, places: Mapping[int, int]) -> Spec:
    row = span.row
    place = places.get(row.index) if row.in_plan else None
    known = {} if place is None else {"place": place}
    end = span.start_ms + span.ms
    return {"name": row.name, "start": span.start_ms, "end": end, "ms": span.ms, **known}


def _joined(lane: list[Spec], span: LayerSpan, whole_ms: float) -> bool:
    """Add a layer to the mark before it, where both are too narrow to be told apart."""
    if not lane:
        return False
    last, end = lane[-1], span.start_ms + span.ms
    if end - last["start"] > _NARROWEST * whole_ms:
        return False
    count = last.pop("count", 1) + 1
    last.pop("place", None)
    last |= {"name": f"{count:,} layers", "end": end, "ms": last["ms"] + span.ms, "count": count}
    return True


def _lanes(marks: list[Spec], order: Sequence[str], title: str, tips: Mapping[str, str]) -> Spec:
    axis = {"title": None, "ticks": False, "domain": False, "labelLimit": 160}
    return {
        "data": {"values": marks},
        "mark": {"type": "bar", "height": {"band": 0.8}, "clip": True},
        "encoding": {
            "x": quantity("start", title, scale={"nice": False}, axis=X_TICKS),
            "x2": {"field": "end"},
            "y": {"field": "lane", "type": "nominal", "sort": list(order), "axis": axis},
            "fill": {"field": "fill", "type": "nominal", "scale": None, "legend": None},
            "tooltip": tooltip(**tips),
        },
    }


def _picked(bars: Spec) -> Spec:
    """Return bars that frame the chosen layer, and zoom."""
    framed = picked(bars)
    params = framed.pop("params")  # stands outside of the layers
    return {**zoomable([framed]), "params": params}


def _seen(bars: Spec) -> Spec:
    """Return bars that have a width however short they are, and zoom."""
    stroke = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
    return zoomable([{**bars, "encoding": {**bars["encoding"], "stroke": stroke}}])


#: Requests that are drawn before and after the one in the middle.
_BESIDE = 2
_PART_TIPS = {
    "lane": "part",
    "request": "request",
    "took": "takes",
    "start": "begins, ms#",
    "end": "ends, ms#",
}


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
    lanes = sorted({_lane(one, streams) for one in spans}, key=_lane_order)
    marks = [
        {
            "lane": _lane(one, streams),
            "request": f"{one.query + 1:,} of {count:,}",
            "start": one.start_ms - zero_ms,
            "end": one.end_ms - zero_ms,
            "took": format_ms(one.end_ms - one.start_ms, 3),
            "fill": BLUE if one.query == chosen else OTHER,
        }
        for one in spans
    ]
    return Chart(
        key="request_timeline",
        title=_title(own, count),
        subtitle=_subtitle(trace, chosen),
        spec=_seen(
            _lanes(marks, lanes, f"time since request {chosen + 1:,} began, ms", _PART_TIPS)
        ),
        table=ChartTable(
            headers=("Request", "Part", "Begins, ms", "Ends, ms", "Takes, ms"),
            rows=tuple(
                (
                    f"{one.query + 1:,}",
                    _lane(one, streams),
                    f"{one.start_ms - zero_ms:.3f}",
                    f"{one.end_ms - zero_ms:.3f}",
                    f"{one.end_ms - one.start_ms:.3f}",
                )
                for one in spans
            ),
        ),
        height=_LANE * len(lanes),
        is_wide=True,
    )


def _lane(span: PartSpan, streams: set[int | None]) -> str:
    name = "enqueue (host)" if span.part == "enqueue" else span.part
    return name if len(streams) == 1 else f"stream {span.stream} · {name}"


def _lane_order(lane: str) -> tuple[str, int]:
    stream, _, name = lane.rpartition(" · ")
    return stream, list(PARTS).index(name.partition(" ")[0])


def _title(own: Sequence[PartSpan], count: int) -> str:
    longest = max(own, key=lambda one: one.end_ms - one.start_ms)
    on_gpu = [one for one in own if one.part != "enqueue"] or list(own)
    whole_ms = max(one.end_ms for one in on_gpu) - min(one.start_ms for one in on_gpu)
    share = format_significant(100 * (longest.end_ms - longest.start_ms) / whole_ms, 3)
    return f"One request of {count:,}: {format_ms(whole_ms, 3)}, {longest.part} {share} % of it"


def _subtitle(trace: QueryTrace, chosen: int) -> tuple[str, ...]:
    request = f"Request {chosen + 1:,}, blue, takes about the median time"
    first = f"Recorded stamps. {request}; its neighbors are gray"
    differ_ms = clocks_differ_ms(trace)
    if differ_ms is None:
        return (first,)
    second = (
        "Enqueue is on the host's clock, the rest on the GPU's: the clocks differ by at least "
        f"{format_ms(differ_ms, 3)}, since work begins before it is enqueued"
    )
    return first, second
