"""The JSON files of trtexec's ``--export…`` flags, strict, with what trtexec leaves out beside."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from enginescope.core.errors import UnsupportedError
from enginescope.core.jsonio import encode
from enginescope.formats.lenient_json import read_json
from enginescope.judge.samples import Array
from enginescope.records.run.job import Mode
from enginescope.records.run.run import Run
from enginescope.records.samples import QueryTrace

#: Decimals of milliseconds. Stamps to the picosecond: the difference of two, hours after the start,
#: is as good as the clocks are. Durations to more, so that nothing of a 32-bit float is lost.
_STAMP_DECIMALS = 9
_SPAN_DECIMALS = 12
_STAMPS = {
    "startEnqMs": "enqueue_start",
    "endEnqMs": "enqueue_end",
    "startH2dMs": "h2d_start",
    "endH2dMs": "h2d_end",
    "startComputeMs": "compute_start",
    "endComputeMs": "compute_end",
    "startD2hMs": "d2h_start",
    "endD2hMs": "d2h_end",
}
# Field -> the series it is of, and the stamps it is the difference of where there is none.
_SPANS = {
    "h2dMs": ("h2d", "h2d_start", "h2d_end"),
    "computeMs": ("gpu_compute", "compute_start", "compute_end"),
    "d2hMs": ("d2h", "d2h_start", "d2h_end"),
    "enqueueMs": ("enqueue", "enqueue_start", "enqueue_end"),
}


def times_json(run: Run) -> bytes:
    """Return ``--exportTimes``: an array of one flat object a query, numbers only, by their start.

    trtexec's twelve fields, then ours: ``enqueueMs``, ``streamIndex``, and the mode of the run,
    ``inFlight`` and 0 or 1 for ``transfers``, ``cudaGraph``, ``spinWait``; a mode that is not known
    has no field.

    Raises:
        UnsupportedError: The run has no stamps.
    """
    trace = run.trace
    if trace is None or trace.stream is None or not len(trace):
        raise UnsupportedError("--exportTimes", why="the run holds no stamps of its queries")
    columns: dict[str, Array] = {name: getattr(trace, one) for name, one in _STAMPS.items()}
    spans = {name: _span(run, trace, *place) for name, place in _SPANS.items()}
    columns |= {name: spans[name] for name in ("h2dMs", "computeMs", "d2hMs")}
    columns["latencyMs"] = spans["h2dMs"] + spans["computeMs"] + spans["d2hMs"]
    columns["enqueueMs"] = spans["enqueueMs"]
    order = np.argsort(trace.h2d_start, kind="stable")  # streams end in another order
    lists: dict[str, list[float] | list[int]] = {
        name: np.round(values[order], _decimals(name)).tolist() for name, values in columns.items()
    }
    lists["streamIndex"] = [int(one) for one in trace.stream[order].tolist()]
    mode = _mode_fields(run.job.workload.mode)
    rows = (dict(zip(lists, row, strict=True)) | mode for row in zip(*lists.values(), strict=True))
    return b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n"


def profile_json(run: Run) -> bytes:
    """Return ``--exportProfile``: ``{"count"}``, then one object a layer, in execution order.

    Raises:
        UnsupportedError: The run has no layer times.
    """
    if run.profile is None:
        raise UnsupportedError("--exportProfile", why="the run holds no times of layers")
    rows: list[dict[str, Any]] = [{"count": run.profile.iterations or 0}]
    rows += [
        {
            "name": one.name,
            "timeMs": one.total_ms or 0.0,
            "averageMs": one.mean_ms or 0.0,
            "medianMs": one.median_ms or 0.0,
            "percentage": one.share_pct or 0.0,
        }
        for one in run.profile.layers
    ]
    return encode(rows)


def layer_info_json(inspector: str | None) -> bytes:
    """Return ``--exportLayerInfo``: what the inspector gave, as strict JSON.

    Args:
        inspector: Its text, which may hold raw control characters in names.

    Raises:
        UnsupportedError: There is none.
        FormatError: It cannot be read, even leniently.
    """
    return encode(inspector_values(inspector))


def inspector_values(inspector: str | None) -> Any:
    """Return the inspector's text as values; see `layer_info_json`."""
    if inspector is None:
        raise UnsupportedError(
            "layer information", why="TensorRT's inspector gave none for this engine"
        )
    return read_json(inspector.encode(), "the inspector's JSON").value


def _decimals(field: str) -> int:
    return _STAMP_DECIMALS if field in _STAMPS else _SPAN_DECIMALS


def _span(run: Run, trace: QueryTrace, metric: str, start: str, end: str) -> Array:
    """Return durations: as measured where they are in step with the stamps, else differences."""
    series = run.series(metric)
    if series is not None and len(series) == len(trace):
        return series.values_ms
    return np.asarray(getattr(trace, end) - getattr(trace, start))


def _mode_fields(mode: Mode) -> dict[str, int]:
    known = {
        "inFlight": mode.in_flight,
        "transfers": mode.transfers,
        "cudaGraph": mode.cuda_graph,
        "spinWait": mode.spin_wait,
    }
    return {name: int(value) for name, value in known.items() if value is not None}
