"""Time lines for Perfetto and other viewers of Chrome's trace format.

Real stamps stay apart from what is laid end to end: each is a process whose name says which it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enginescope._version import __version__
from enginescope.analysis.layers.layer_table import is_stamped, layer_spans
from enginescope.analysis.plans.exploration import ExploredLayer
from enginescope.analysis.runs.throughput import PARTS, part_spans
from enginescope.core.jsonio import encode
from enginescope.judge.samples import Samples
from enginescope.records.run.run import Run
from enginescope.records.samples import QueryTrace
from enginescope.render.base.phrases import metric_title
from enginescope.render.plans.explore_data import COLUMNS, explore_cells

Event = dict[str, Any]
_LAYERS, _REQUESTS = 1, 2
_US_PER_MS = 1e3


def perfetto_trace(name: str, layers: Sequence[ExploredLayer], run: Run) -> bytes:
    """Return the layers of one inference, and the requests of a run by their recorded stamps.

    Args:
        layers: In the order in which they run.
    """
    events = [*_layers(layers), *_requests(run)]
    about = {"plan": name, "written_by": f"enginescope {__version__}"}
    return encode({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events})


def _layers(layers: Sequence[ExploredLayer]) -> Iterator[Event]:
    spans = layer_spans(layer.row for layer in layers)
    if not spans:
        return
    how = "starts and times" if is_stamped(spans) else "times, end to end"
    yield _named("process_name", _LAYERS, 0, f"layers of one inference: {how}")
    of_row = {id(explored.row): explored for explored in layers}
    drawn = [of_row[id(span.row)] for span in spans]
    streams: set[int] = set()
    for span, layer, values in zip(spans, drawn, explore_cells(drawn), strict=True):
        stream = (layer.layer.stream if layer.layer else None) or 0
        if stream not in streams:
            streams.add(stream)
            yield _named("thread_name", _LAYERS, stream, f"stream {stream}")
        cells = zip(COLUMNS, values, strict=True)
        about = {key: value for key, value in cells if value not in (None, "")}
        where = (_LAYERS, stream)
        yield _event(span.row.name, span.row.type, where, (span.start_ms, span.ms), about)


def _requests(run: Run) -> Iterator[Event]:
    """Yield the parts of each request by its stamps; else when each request began."""
    if run.trace:
        yield from _stamped(run.trace)
    elif run.headline is not None and run.headline.start_ms is not None:
        yield from _begun(run.headline, run.headline.start_ms.tolist())


def _stamped(trace: QueryTrace) -> Iterator[Event]:
    yield _named("process_name", _REQUESTS, 0, "requests: recorded stamps")
    lanes: set[int] = set()
    parts = list(PARTS)
    zero_ms = float(min(trace.enqueue_start.min(), trace.h2d_start.min()))
    for span in part_spans(trace):
        lane = (span.stream or 0) * len(parts) + parts.index(span.part)
        if lane not in lanes:
            lanes.add(lane)
            clock = "host" if span.part == "enqueue" else "GPU"
            stream = "" if span.stream is None else f"stream {span.stream}: "
            yield _named("thread_name", _REQUESTS, lane, f"{stream}{span.part} ({clock} clock)")
        time = (span.start_ms - zero_ms, span.end_ms - span.start_ms)
        about = {"request": span.query + 1}
        yield _event(span.part, "request", (_REQUESTS, lane), time, about)


def _begun(samples: Samples, starts_ms: Sequence[float]) -> Iterator[Event]:
    """Yield each request; those that overlap lie in lanes of their own."""
    title = metric_title(samples.metric).lower()
    yield _named("process_name", _REQUESTS, 0, f"requests: {title}, recorded starts")
    ends: list[float] = []
    for at, (start_ms, ms) in enumerate(zip(starts_ms, samples.values_ms.tolist(), strict=True)):
        lane = next((one for one, end in enumerate(ends) if end <= start_ms), len(ends))
        ends[lane : lane + 1] = [start_ms + ms]
        about = {"request": at + 1}
        yield _event("request", samples.metric, (_REQUESTS, lane), (start_ms, ms), about)


def _named(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _event(
    name: str,
    category: str | None,
    where: tuple[int, int],
    time_ms: tuple[float, float],
    about: Mapping[str, Any],
) -> Event:
    process, thread = where
    start, duration = (round(value * _US_PER_MS, 3) for value in time_ms)
    return {
        "ph": "X",
        "name": name,
        "cat": category or "layer",
        "pid": process,
        "tid": thread,
        "ts": start,
        "dur": duration,
        "args": dict(about),
    }
