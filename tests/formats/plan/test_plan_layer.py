"""A layer as JSON: what was read is written again as TensorRT wrote it."""

import json
from pathlib import Path
from typing import Any

import pytest

from enginescope.core.jsonio import encode
from enginescope.formats.lenient_json import read_json
from enginescope.formats.plan.plan_json import io_tensors, parse_plan
from enginescope.formats.plan.plan_layer import layer_json
from tests.conftest import DATA, SHARED
from tests.formats import plans

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
    raw = {"Name": "cast", "LayerType": "Reformat", "ParameterType": "Reformat"}
    raw |= {"Inputs": [tensor], "Outputs": [{**tensor, "Name": "y", "Datatype": "Float"}]}
    raw["Origin"] = "REFORMAT"
    plan, _ = parse_plan(encode({"Layers": [raw], "I/O Tensors": []}), "trt11.json")
    assert plan.source_schema == "trt11"
    assert layer_json(plan.layers[0], plan.source_schema) == raw


def test_a_plan_of_names_has_names() -> None:
    plan, _ = parse_plan(b'{"Layers": ["conv", "relu"]}', "names.json")
    assert [layer_json(layer, plan.source_schema) for layer in plan.layers] == ["conv", "relu"]


@pytest.mark.parametrize(
    ("raw", "truth"),
    [
        *((True, True), (0, False), (1, True), ("true", True)),
        *(("Disabled", None), ("no", False), (None, None), (7, None)),
    ],
)
def test_truth_in_any_spelling(raw, truth) -> None:
    (found,), _ = io_tensors({"I/O Tensors": [{"Name": "x", "IsShapeInferenceIO": raw}]}, ())
    assert found.is_shape_tensor is truth


def test_entries_without_a_name_are_left_out() -> None:
    found, _ = io_tensors({"I/O Tensors": ["plain", {"IOMode": "Input"}, 3]}, ())
    assert [(one.tensor.name, one.mode) for one in found] == [("plain", None)]
    assert io_tensors({}, ()) == ((), False)


def test_profiles_with_holes() -> None:
    info = [{"MinShape": [1, -1], "OptShape": "1x2"}, 3]
    (found,), _ = io_tensors({"I/O Tensors": [{"Name": "x", "ProfileInfo": info}]}, ())
    (profile,) = found.profiles
    assert (profile.min_shape, profile.opt_shape, profile.layout) == (None, None, None)


FILE = Path(__file__).parents[2] / "data" / "tensorrt-symbols" / "inspector-rtx-1.7.1.json"
STRINGS = json.loads(FILE.read_text(encoding="utf-8"))
KEYS = {text.strip('{}[]:" ') for text in STRINGS["present"]}
#: Keys of this length may be in the code of a library, not among its strings.
INLINED = 10
#: Keys of public files that the library does not have.
NOT_WRITTEN = {"ProfilingVerbosity"}


def keys_of(value: Any) -> set[str]:
    if isinstance(value, list):
        return {key for each in value for key in keys_of(each)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {key for each in value.values() for key in keys_of(each)}


def test_every_long_key_of_the_schema_is_written_by_the_library() -> None:
    long = {key for key in keys_of(plans.tensorrt_11()) if len(key) > INLINED}
    assert {"I/O Tensors", "IsShapeInferenceIO", "ProfileInfo"} <= long
    assert long - NOT_WRITTEN <= KEYS
    assert {"Datatype", "MinShape", "OptShape", "MaxShape", "Constants"} <= KEYS


@pytest.mark.parametrize("text", STRINGS["absent"])
def test_what_the_library_does_not_write_is_not_in_the_schema(text) -> None:
    key = text.strip('": [')
    assert key not in keys_of(plans.tensorrt_11())
    assert key not in KEYS


def test_a_document_of_the_written_keys_is_read() -> None:
    """``Engine Metadata`` with ``Multi-Device`` is accepted without a notice."""
    document = plans.tensorrt_11() | {"Engine Metadata": {"Multi-Device": "Disabled"}}
    document["I/O Tensors"][0]["IsShapeInferenceIO"] = True
    plan, notices = parse_plan(plans.encoded(document), "trt11.json")
    image, scores = plan.layers[0].inputs[0], plan.layers[0].outputs[0]
    assert plan.source_schema == "trt11"
    assert plan.io[0].is_shape_tensor
    assert (image.dtype.value, scores.dtype.value) == ("FP16", "FP32")
    assert (image.layout, scores.layout) != (None, None)
    assert notices == ()
