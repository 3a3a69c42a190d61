import csv
import io
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES
from enginescope.analysis.plans.plan_view import Exploration, explore, ordered
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.render.plans.explore_data import COLUMNS, explore_csv, explore_json, perfetto_trace
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.analysis.runs.test_time_line import trace
from tests.conftest import DATA
from tests.formats import plans
from tests.render.plans.test_explore_text import NAME, timed
from tests.render.runs import measured_run


def document(found: Exploration, **more: Any) -> Any:
    return json.loads(b"".join(explore_json(found, found.layers, **more)))


def test_csv_has_every_layer_in_the_order_given() -> None:
    found = timed()
    text = explore_csv(ordered(found.layers, "time")).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(found.layers)
    assert rows[0]["name"] == "head_myl0_2"
    assert (rows[0]["raw_ms"], rows[0]["precision"]) == ("0.3", "FP16")
    assert rows[0]["onnx_nodes"] == "head/MatMul;head/Add"
    assert rows[0]["weights_bytes"] == str(2 * (256 * 10 + 10))
    assert next(row for row in rows if row["name"] == NAME)["inputs"] == "packed 1×3×8×8 FP16 NHWC8"
    stray = next(row for row in rows if row["in_plan"] == "false")
    assert (stray["weights_bytes"], stray["inputs"], stray["tactic_family"]) == ("", "", "")


def test_json_holds_everything() -> None:
    found = timed()
    made = document(found, device="GPU", notices=(Notice(code="W-X", message="something"),))
    assert (made["schema"], made["name"], made["device"]) == (1, "net", "GPU")
    assert made["time"]["ratio"] == found.time.ratio
    assert [one["code"] for one in made["notices"]] == ["W-X", "W-TIMES-UNMATCHED"]
    assert len(made["layers"]) == len(found.layers)
    assert made["layers"][4]["tactic_family"] == "sm80_xmma_gemm"
    assert made["layers"][0]["activation_bytes"] == 1 * 3 * 8 * 8 * (4 + 2)
    assert made["reformats_by_origin"][0]["key"] == "REFORMAT"
    assert made["totals"]["active_layers"] == 3


def test_every_attribute_of_a_layer_is_in_the_files() -> None:
    found = explore("resnet18", plans.recorded(DATA / "trt86-h200", "resnet18"), None)
    name = "/conv1/Conv + /relu/Relu"
    rows = csv.DictReader(io.StringIO(explore_csv(found.layers).decode(), newline=""))
    row = next(row for row in rows if row["name"] == name)
    wanted = {"kernel": "7×7", "stride": "2×2", "padding": "3×3", "groups": "1", "stream": "0"}
    assert {key: row[key] for key in wanted} == wanted
    assert (row["activation"], row["weights_type"], row["macs"]) == ("RELU", "FP16", "118013952")
    # 3×224×224 read, 64×112×112 written, 7×7 kernels from 3 to 64 channels and their biases.
    moved = 2 * (3 * 224**2 + 64 * 112**2 + 7 * 7 * 3 * 64 + 64)
    assert float(row["arithmetic_intensity"]) == pytest.approx(118013952 / moved)
    layer = next(one for one in document(found, raw=True)["layers"] if one["name"] == name)
    assert (layer["kernel"], layer["activation"], layer["macs"]) == ("7×7", "RELU", 118013952)
    assert layer["plan_fields"]["Stride"] == [2, 2]
    text = b"".join(explore_json(found, found.layers)).decode()
    lines = text.splitlines()
    assert len(lines) == len(found.layers) + 1
    names = [json.loads(line.rstrip(",").removesuffix("]}"))["name"] for line in lines[1:-1]]
    assert names == [layer.row.name for layer in found.layers][:-1]
    assert ": " not in lines[1].partition('"inputs"')[0]
    assert "plan_fields" not in text
    roles = document(found)["roles"]
    assert roles["active"] == [layer.index for layer in found.roles.active]
    assert set(roles) == {"active", "constants", "sources"}
    for layer, row in zip(found.layers, document(found)["layers"], strict=True):
        own = {one.key: one.value(layer.layer) for one in LAYER_ATTRIBUTES}
        assert {key: row.get(key) for key in own} == own


def events_of(layers, run) -> list[dict]:
    return json.loads(perfetto_trace("net", layers, run))["traceEvents"]


def named(events: list[dict], process: int) -> list[str]:
    return [one["args"]["name"] for one in events if one["ph"] == "M" and one["pid"] == process]


def test_layers_lie_end_to_end_with_every_attribute() -> None:
    source = resolve_plan(str(DATA / "trt86-h200" / "resnet18.graph.json"))
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
    # Microseconds since the first enqueue, 0.2 ms before the first copy.
    assert [
        (one["name"], one["ts"], one["dur"])
        for one in events
        if one["ph"] == "X" and one["args"]["request"] == 2
    ] == [("enqueue", 10_000, 0), ("H2D", 10_200, 1_000), ("compute", 11_200, 3_000)]


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
