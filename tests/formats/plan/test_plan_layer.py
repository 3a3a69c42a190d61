"""A layer as JSON: what was read is written again as TensorRT wrote it."""

import pytest

from enginescope.core.jsonio import encode
from enginescope.formats.lenient_json import read_json
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.plan.plan_layer import layer_json
from tests.conftest import DATA, SHARED

PLANS = sorted(
    one
    for folder in (DATA, SHARED)
    for one in folder.rglob("*.json")
    if one.name.endswith((".graph.json", ".engine_info.json"))
)


@pytest.mark.parametrize("file", PLANS, ids=lambda one: one.name)
def test_every_layer_is_as_the_file_has_it(file) -> None:
    data = file.read_bytes()
    plan, _ = parse_plan(data, file.name)
    raw = read_json(data, file.name).value
    layers = raw["Layers"] if isinstance(raw, dict) else raw
    for layer in plan.layers:
        wanted = {name: value for name, value in layers[layer.index].items() if value != ""}
        found = layer_json(layer, plan.source_schema)
        assert {name: value for name, value in found.items() if value != ""} == wanted


def test_types_and_formats_of_trt_11_stand_apart() -> None:
    tensor = {"Name": "x", "Dimensions": [-1, 8], "Format": "kLINEAR", "Datatype": "BFloat16"}
    raw = {
        "Name": "cast",
        "LayerType": "Reformat",
        "ParameterType": "Reformat",
        "Inputs": [tensor],
        "Outputs": [{**tensor, "Name": "y", "Datatype": "Float"}],
        "Origin": "REFORMAT",
    }
    text = encode({"Layers": [raw], "I/O Tensors": []})
    plan, _ = parse_plan(text, "trt11.json")
    assert plan.source_schema == "trt11"
    assert layer_json(plan.layers[0], plan.source_schema) == raw


def test_a_plan_of_names_has_names() -> None:
    plan, _ = parse_plan(b'{"Layers": ["conv", "relu"]}', "names.json")
    assert [layer_json(layer, plan.source_schema) for layer in plan.layers] == ["conv", "relu"]
