import json

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import read_json
from enginescope.formats.plan.plan_json import parse_plan, plan_of
from enginescope.records.plan.plan import Plan
from enginescope.records.tensor import DataType
from tests.formats import plans


def read(plan: object) -> Plan:
    return parse_plan(plans.encoded(plan), "plan.json")[0]


def ends(plan: Plan) -> list[tuple[str, str | None]]:
    return [(one.tensor.name, one.mode) for one in plan.io]


def test_tensorrt_8_4() -> None:
    plan, notices = parse_plan(plans.encoded(plans.tensorrt_8_4()), "a.json", name="net")
    assert (plan.name, plan.source_schema, notices) == ("net", "trt8-10", ())
    assert [layer.type for layer in plan.layers] == ["Reformat", "Convolution", "NoOp"]
    assert [layer.index for layer in plan.active_layers] == [0, 1]
    conv = plan.layers[1]
    assert conv.subtype == "CaskConvolution"
    assert (conv.tactic_name, conv.tactic_value) == ("sm80_xmma_fprop", "0x112767cf498572ea")
    weights = [("Weights", DataType.FP16, 216), ("Bias", DataType.FP32, 16)]
    assert [(one.role, one.dtype, one.nbytes) for one in conv.weights] == weights
    assert conv.attributes == {"Kernel": [3, 3], "Groups": 1}
    assert conv.inputs[0].layout.name == "NHWC8"
    assert ends(plan) == [("image", "input"), ("flat", "output")]
    assert (plan.inputs[0].tensor.shape, plan.inputs[0].tensor.location) == ((1, 3, 8, 8), "Device")


def test_tensors_described_alike_are_one_object() -> None:
    copy, conv = read(plans.tensorrt_8_4()).layers[:2]
    assert conv.inputs[0] is copy.outputs[0]
    given = plans.tensorrt_8_4()
    given["Layers"][1]["Inputs"] = [{**plans.PACKED, "Dimensions": [2, 3, 8, 8]}]
    copy, conv = read(given).layers[:2]
    assert copy.outputs[0].shape == (1, 3, 8, 8)
    assert conv.inputs[0].shape == (2, 3, 8, 8)
    assert conv.inputs[0].layout == copy.outputs[0].layout


def test_tensorrt_8_2_has_its_inputs_and_outputs_deduced() -> None:
    plan, notices = parse_plan(plans.encoded(plans.tensorrt_8_2()), "a.json")
    assert ends(plan) == [("image", "input"), ("flat", "output")]
    assert plan.layers[0].inputs[0].location is None
    assert [one.code for one in notices] == ["I-IO-DEDUCED"]


def test_tensorrt_8_6_writes_raw_separators() -> None:
    plan, notices = parse_plan(plans.tensorrt_8_6(), "a.json")
    assert plan.layers[1].onnx_nodes == ("conv", "relu")
    assert [one.code for one in notices] == ["I-JSON-REPAIRED"]


def test_tensorrt_10() -> None:
    call, gemm = read(plans.tensorrt_10()).layers[3:]
    assert call.is_inert
    assert call.tactic_name is None
    assert gemm.type == gemm.subtype == "gemm"
    assert (gemm.onnx_nodes, gemm.stream) == (("head/MatMul", "head/Add"), 0)
    assert [one.dtype for one in gemm.inputs] == [DataType.FP16] * 3
    assert gemm.inputs[1].layout is None
    assert gemm.inputs[1].location is None


def test_constants_are_no_deduced_inputs() -> None:
    root = plans.tensorrt_10()
    del root["Bindings"]
    assert ends(read(root)) == [("image", "input"), ("scores", "output")]


def test_tensorrt_11() -> None:
    plan = read(plans.tensorrt_11())
    assert plan.source_schema == "trt11"
    assert plan.extra == {"ProfilingVerbosity": "DETAILED"}
    image, scores = plan.io
    assert (image.mode, scores.mode) == ("input", "output")
    assert image.tensor.shape == (None, 3, 8, 8)
    assert image.tensor.dtype is DataType.FP16
    assert image.is_shape_tensor is False
    assert scores.is_shape_tensor is None
    (profile,) = image.profiles
    assert (profile.min_shape, profile.max_shape) == ((1, 3, 8, 8), (8, 3, 8, 8))
    assert profile.layout == "Row major linear FP16 format (kLINEAR)"
    (layer,) = plan.layers
    assert layer.inputs[0].nbytes is None
    assert layer.inputs[0].layout.name == "NHWC8"
    assert layer.outputs[0].dtype is DataType.FP32
    assert layer.precision is DataType.FP16
    assert [(one.role, one.nbytes) for one in layer.weights] == [("Constants", 108)]


def test_names_only() -> None:
    plan, notices = parse_plan(plans.encoded(plans.names_only()), "a.json")
    assert plan.source_schema == "names-only"
    assert [layer.name for layer in plan.layers] == ["conv + relu", "head"]
    assert plan.layers[0].type == "unknown"
    assert ends(plan) == [("image", None), ("scores", None)]
    (notice,) = notices
    assert notice.code == "I-NAMES-ONLY"
    assert "trtexec --profilingVerbosity=detailed" in notice.message
    assert "ProfilingVerbosity.DETAILED" in notice.message


def test_a_list_root() -> None:
    assert len(read(plans.tensorrt_8_4()["Layers"]).layers) == 3


def test_types_and_repeated_names_of_layers() -> None:
    layer = {**plans.convolution(), "LayerType": "CaskDeconvolutionV2"}
    assert read({"Layers": [layer]}).layers[0].type == "Deconvolution"
    layers = read({"Layers": [plans.convolution()] * 3}).layers
    assert [(layer.index, layer.name) for layer in layers] == [
        (index, "conv + relu") for index in range(3)
    ]


def test_weights_of_fused_pooling_and_constants() -> None:
    layers = [
        {"Name": "a", "LayerType": "ConvActPool", "ConvWeights": {"Type": "Int8", "Count": 9408}},
        {"Name": "b", "LayerType": "Constant", "weights": {"Type": "Float", "Count": 2}},
        {"Name": "c", "LayerType": "X", "Weights": {"Type": "Novel", "Count": 3}},
        {"Name": "d", "LayerType": "X", "Weights": {"Type": "Half", "Count": -3}},
    ]
    weights = [layer.weights[0] for layer in read({"Layers": layers}).layers]
    assert [one.role for one in weights] == ["ConvWeights", "weights", "Weights", "Weights"]
    assert [one.nbytes for one in weights] == [9408, 8, None, None]


def test_optimisation_profiles_of_any_number_of_digits() -> None:
    convolutions = [{**plans.convolution(), "Name": f"conv [profile {at}]"} for at in (3, 12)]
    layers = [plans.reformat(), *convolutions]
    plan = read({"Layers": layers, "Bindings": ["image", "image [profile 12]"]})
    assert [layer.profile_index for layer in plan.layers] == [0, 3, 12]
    assert plan.layers[2].name == "conv [profile 12]"
    assert read(plans.tensorrt_8_4()).layers[0].profile_index is None


def test_missing_fields_are_not_known() -> None:
    layer = {"Name": "x", "Inputs": [{"Name": "t"}, {"Dimensions": [1]}], "Outputs": None}
    plan, _ = parse_plan(plans.encoded({"Layers": [layer]}), "a.json")
    (found,) = plan.layers
    assert (found.type, found.subtype) == ("unknown", None)
    assert (found.tactic_name, found.stream) == (None, None)
    (tensor,) = found.inputs
    assert (tensor.shape, tensor.dtype, tensor.layout, tensor.location) == (None, None, None, None)


@pytest.mark.parametrize("dims", [[1, "2"], [1.5], [True], "1x2", None, [10**30]])
def test_dimensions_that_are_none(dims) -> None:
    layer = {"Name": "x", "Inputs": [{"Name": "t", "Dimensions": dims}]}
    assert read({"Layers": [layer]}).layers[0].inputs[0].shape is None


def test_odd_entries_and_formats_are_noticed() -> None:
    plan, notices = parse_plan(b'{"Layers": [{"Name": "a"}, 3, {"LayerType": "X"}]}', "a.json")
    assert [layer.name for layer in plan.layers] == ["a"]
    assert [(one.code, one.evidence["left_out"]) for one in notices] == [("W-PLAN-ENTRIES", 2)]
    layer = {"Name": "x", "Inputs": [plans.tensor("t", [1], "Novel format")]}
    _, notices = parse_plan(plans.encoded({"Layers": [layer]}), "a.json")
    assert notices[0].code == "W-UNKNOWN-FORMAT"
    assert notices[0].evidence["formats"] == ["Novel format"]


def test_a_truncated_plan_keeps_whole_layers() -> None:
    data = plans.encoded(plans.tensorrt_8_4())
    plan, notices = parse_plan(data[: data.index(b"squeeze")], "a.json")
    assert [layer.name for layer in plan.layers] == ["copy for conv", "conv + relu"]
    assert [one.code for one in notices] == ["W-TRUNCATED", "I-IO-DEDUCED"]


@pytest.mark.parametrize("text", ["{}", "3", '{"Layers": 3}', '{"Layers": [1, 2]}', "[1]"])
def test_what_is_no_plan(text) -> None:
    with pytest.raises(FormatError, match=r"a\.json"):
        parse_plan(text.encode(), "a.json")


def test_metadata_that_is_not_onnx_or_twice_escaped() -> None:
    layer = {**plans.convolution(), "Metadata": "my own words"}
    found = read({"Layers": [layer]}).layers[0]
    assert (found.onnx_nodes, found.metadata) == ((), "my own words")
    layer["Metadata"] = r"[ONNX Layer: a]\u001e[ONNX Layer: b]\u001F[ONNX Layer: a]"
    assert read({"Layers": [layer]}).layers[0].onnx_nodes == ("a", "b")


def test_recorded_plan(data) -> None:
    raw = (data / "trt86-h200" / "resnet18.graph.json").read_bytes()
    plan, _ = parse_plan(raw, "resnet18.graph.json")
    assert len(plan.layers) == 58
    assert sum(layer.type == "Constant" for layer in plan.layers) == 16
    first = next(layer for layer in plan.layers if layer.name == "/conv1/Conv + /relu/Relu")
    assert first.onnx_nodes == ("/conv1/Conv", "/relu/Relu")
    assert json.loads(raw.decode(), strict=False)["Bindings"] == [io.tensor.name for io in plan.io]


@pytest.mark.parametrize(
    "plan",
    [
        *(plans.tensorrt_8_2(), plans.tensorrt_8_4(), plans.tensorrt_10(), plans.tensorrt_11()),
        *(plans.names_only(), plans.tensorrt_10()["Layers"]),
    ],
)
def test_layer_by_layer_gives_what_the_whole_gives(plan) -> None:
    data = plans.encoded(plan)
    assert parse_plan(data, "a.json") == plan_of(read_json(data, "a.json"))


def test_a_fault_in_a_late_layer_is_repaired() -> None:
    layers = b'{"Name": "a"}, {"Name": "b", "Note": "\xff"}, {"Name": "c", "LayerType": "\x01"}'
    plan, notices = parse_plan(b'{"Layers": [' + layers + b"]}", "a.json")
    assert [layer.name for layer in plan.layers] == ["a", "b", "c"]
    assert {"I-ENCODING", "I-JSON-REPAIRED"} <= {one.code for one in notices}


def test_too_deep_to_be_read() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(FormatError, match="nested too deeply"):
        parse_plan(b'{"Layers": [{"Name": "a", "Deep": ' + deep + b"}]}", "a.json")


def test_layers_that_differ_in_names_share_what_they_carry() -> None:
    conv = plans.convolution()
    alike = [{**conv, "Name": name, "Metadata": f"[ONNX Layer: {name}]"} for name in "ab"]
    a, b, c = read({"Layers": [*alike, {**conv, "Name": "c", "Kernel": [1, 1]}]}).layers
    assert a.attributes is b.attributes
    assert a.weights is b.weights
    assert (b.name, b.metadata, b.onnx_nodes) == ("b", "[ONNX Layer: b]", ("b",))
    assert (a.attributes["Kernel"], c.attributes["Kernel"]) == ([3, 3], [1, 1])


@pytest.mark.parametrize(
    "tensors",
    [None, 3, "x", {"Name": "x"}, [None, 3, "x", [], {}, {"Name": 3}], [{"Name": [1]}]],
    ids=str,
)
def test_what_is_no_tensor_is_passed_over(tensors) -> None:
    one = {**plans.convolution(), "Outputs": tensors, "StreamId": 2**70, "Metadata": 3}
    found = read({"Layers": [one]}).layers[0]
    assert (found.outputs, found.stream, found.metadata, found.onnx_nodes) == ((), None, None, ())
    assert found.inputs[0].name == "packed"


@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ({"Dimensions": [1, "x"]}, None),
        ({"Dimensions": [2**70]}, None),
        ({"Dimensions": {"0": 1}}, None),
        ({"Dimensions": "1x3"}, None),
        ({"Dimensions": [-1, 3], "Location": 3}, (None, 3)),
        ({"Format/Datatype": ["Half"]}, (1, 3, 8, 8)),
    ],
)
def test_fields_of_a_tensor_of_another_type_are_not_known(fields, shape) -> None:
    one = {**plans.convolution(), "Inputs": [3, {**plans.PACKED, **fields}, plans.IMAGE]}
    odd, image = read({"Layers": [one]}).layers[0].inputs
    assert odd.shape == shape
    assert (odd.location is None) == ("Location" in fields)
    assert (odd.dtype is None) == ("Format/Datatype" in fields)
    assert image.shape == (1, 3, 8, 8)
