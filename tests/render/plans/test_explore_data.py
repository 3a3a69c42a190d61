import csv
import io
import json
from typing import Any

import pytest

from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES
from enginescope.analysis.plans.plan_view import Exploration, explore, ordered
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.judge.notice import Notice
from enginescope.render.plans.explore_data import COLUMNS, explore_csv, explore_json
from tests.conftest import DATA
from tests.render.plans.test_explore_text import NAME, timed


def document(found: Exploration, **more: Any) -> Any:
    return json.loads(b"".join(explore_json(found, found.layers, **more)))


def test_csv_has_every_layer_in_the_order_given() -> None:
    found = timed()
    rows = list(
        csv.DictReader(io.StringIO(explore_csv(ordered(found.layers, "time")).decode(), newline=""))
    )
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
    file = DATA / "trt86-h200" / "resnet18.graph.json"
    found = explore("resnet18", parse_plan(file.read_bytes(), file.name)[0], None)
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
    found = explore("resnet18", parse_plan(file.read_bytes(), file.name)[0], None)
    text = b"".join(explore_json(found, found.layers)).decode()
    lines = text.splitlines()
    assert len(lines) == len(found.layers) + 1
    names = [json.loads(line.rstrip(",").removesuffix("]}"))["name"] for line in lines[1:-1]]
    assert names == [layer.row.name for layer in found.layers][:-1]
    assert ": " not in lines[1].partition('"inputs"')[0]
    assert "plan_fields" not in text
    found = explore("resnet18", parse_plan(file.read_bytes(), file.name)[0], None)
    roles = document(found)["roles"]
    assert roles["active"] == [layer.index for layer in found.roles.active]
    assert set(roles) == {"active", "constants", "sources"}
    found = explore("resnet18", parse_plan(file.read_bytes(), file.name)[0], None)
    for layer, row in zip(found.layers, document(found)["layers"], strict=True):
        own = {one.key: one.value(layer.layer) for one in LAYER_ATTRIBUTES}
        assert {key: row.get(key) for key in own} == own
