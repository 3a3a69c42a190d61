"""Traces for Perfetto: recorded stamps, and layers that are laid end to end and say so."""

import json
from itertools import pairwise

import numpy as np
import pytest

from enginescope.analysis.plans.plan_view import explore
from enginescope.core.record import replace
from enginescope.render.plans.explore_data import perfetto_trace
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.analysis.runs.test_time_line import trace
from tests.conftest import DATA
from tests.render.runs import measured_run

PLAN = DATA / "trt86-h200" / "resnet18.graph.json"


def events_of(layers, run) -> list[dict]:
    return json.loads(perfetto_trace("net", layers, run))["traceEvents"]


def named(events: list[dict], process: int) -> list[str]:
    return [one["args"]["name"] for one in events if one["ph"] == "M" and one["pid"] == process]


def test_layers_lie_end_to_end_with_every_attribute() -> None:
    source = resolve_plan(str(PLAN))
    found = explore("resnet18", source.plan, source.profile)
    events = events_of(found.layers, source.as_run())
    assert named(events, 1) == ["layers of one inference: times, end to end", "stream 0"]
    assert named(events, 2) == []
    layers = [one for one in events if one["ph"] == "X"]
    for before, after in pairwise(layers):
        assert before["ts"] + before["dur"] == pytest.approx(after["ts"], abs=0.01)
    assert sum(one["dur"] for one in layers) == pytest.approx(1e3 * found.time.sum_ms, rel=1e-3)
    conv = next(one for one in layers if one["name"] == "/conv1/Conv + /relu/Relu")
    wanted = {"kernel": "7×7", "stride": "2×2", "activation": "RELU", "macs": 118013952}
    assert {name: conv["args"][name] for name in wanted} == wanted


def test_requests_have_their_stamps() -> None:
    events = events_of((), replace(measured_run(), trace=trace([2.0, 3.0])))
    assert named(events, 2) == [
        "requests: recorded stamps",
        "enqueue (host clock)",
        "H2D (GPU clock)",
        "compute (GPU clock)",
    ]
    second = [one for one in events if one["ph"] == "X" and one["args"]["request"] == 2]
    # Microseconds since the first enqueue, 0.2 ms before the first copy.
    assert [(one["name"], one["ts"], one["dur"]) for one in second] == [
        ("enqueue", 10_000, 0),
        ("H2D", 10_200, 1_000),
        ("compute", 11_200, 3_000),
    ]


def test_requests_without_stamps_begin_when_they_were_sampled() -> None:
    run = measured_run()
    sample = replace(
        run.samples[0], values_ms=np.array([2.0, 2.0, 1.0]), start_ms=np.array([0.0, 1.0, 5.0])
    )
    events = events_of((), replace(run, samples=(sample,), trace=None))
    assert named(events, 2) == ["requests: latency, recorded starts"]
    found = [(one["tid"], one["ts"], one["dur"]) for one in events if one["ph"] == "X"]
    # The second overlaps the first, so it has a lane of its own.
    assert found == [(0, 0, 2_000), (1, 1_000, 2_000), (0, 5_000, 1_000)]
