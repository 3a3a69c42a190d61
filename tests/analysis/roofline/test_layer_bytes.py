import pytest

from enginescope.analysis.plans.plan_columns import plan_totals
from enginescope.analysis.roofline.layer_work import (
    LayerBytes,
    add_known,
    layer_bytes,
    layer_kinds,
    layer_work,
)
from enginescope.core.record import replace
from enginescope.records.plan.plan import Layer, Weights
from enginescope.records.tensor import DataType
from tests.analysis.plans.test_plan_totals import layer, plan_of, tensor
from tests.formats import plans


def of(document: object) -> dict[str, LayerBytes]:
    plan = plans.parsed(document)
    return {one.name: size for one, size in zip(plan.layers, layer_bytes(plan), strict=True)}


def test_the_bytes_of_a_convolution_and_its_constants() -> None:
    sizes = of(plans.tensorrt_8_4())
    conv = sizes["conv + relu"]
    assert (conv.activation_bytes, conv.weights_bytes, conv.bias_bytes) == (384 + 256, 216, 16)
    assert (conv.footprint_bytes, conv.moved_bytes) == (856, 872)
    copy = sizes["copy for conv"]
    assert (copy.activation_bytes, copy.weights_bytes, copy.bias_bytes) == (768 + 384, 0, 0)
    sizes = of(plans.tensorrt_10())
    gemm = sizes["head_myl0_2"]
    assert gemm.weights_bytes == 2 * (256 * 10 + 10)
    assert gemm.activation_bytes == 256 + 20  # what the no-op passes on has one byte each
    w, x, y = (tensor(name, 4) for name in "wxy")
    plan = plan_of(layer(0, [], [w], "Constant"), layer(1, [x, w], [y]))
    assert plan.io == ()
    found = layer_bytes(plan)[1]
    assert (found.activation_bytes, found.weights_bytes) == (32, 16)


@pytest.mark.parametrize(
    ("kind", "name"), [("Myelin", "part"), ("DLA", "{ForeignNode[conv...relu]}")]
)
def test_weights_inside_a_whole_part_are_not_known(kind: str, name: str) -> None:
    x, y, z = (tensor(one, 4) for one in "xyz")
    plan = plan_of(replace(layer(0, [x], [y], kind), name=name), layer(1, [y], [z]))
    found = layer_bytes(plan)
    assert (found[0].weights_bytes, found[0].moved_bytes) == (None, None)
    assert (found[0].activation_bytes, found[1].weights_bytes) == (32, 0)
    assert plan_totals(plan).whole_parts == 1


def test_sizes_that_are_not_known_and_circles() -> None:
    a, b = tensor("a", 1), tensor("b", 2)
    plan = plan_of(layer(0, [a], [b], "NoOp"), layer(1, [b], [a], "NoOp"), layer(2, [a], []))
    assert layer_bytes(plan)[2].activation_bytes == plan_totals(plan).activation_bytes == 4
    assert all(one.moved_bytes is None for one in of(plans.names_only()).values())
    x, y = tensor("x", None, 3), tensor("y", 4)
    found = layer_bytes(plan_of(layer(0, [x], [y]), inputs=(x,)))[0]
    assert (found.activation_bytes, found.weights_bytes, found.footprint_bytes) == (None, 0, None)
    assert (add_known(), add_known(1, None)) == (0, None)
    plugin = Layer(index=0, name="plugin", type="PluginV2")
    working, idle = layer_bytes(plan_of(plugin, layer(1, [], [], "NoOp")))
    assert (working.activation_bytes, idle.activation_bytes) == (None, 0)
    assert (working.footprint_bytes, working.moved_bytes) == (None, None)


@pytest.mark.parametrize(
    "name",
    [
        "trt10-rtx3060/resnet18_fp16",
        "trt10-rtx3060/alexnet_fp16",
        "trt86-h200/resnet18",
        "trt86-h200/depth_anything_small",
        "trt86-h100-trtexec/real",
    ],
)
def test_layers_add_up_to_the_plans_totals(shared, name: str) -> None:
    """All layers and the layers that do work have the same sum: a constant layer moves nothing."""
    plan = plans.recorded(shared, name)
    sizes = layer_bytes(plan)
    active = [size for layer, size in zip(plan.layers, sizes, strict=True) if not layer.is_inert]
    totals = plan_totals(plan)
    assert sum(size.activation_bytes for size in active) == totals.activation_bytes
    for rows in (active, sizes):
        assert sum(size.weights_bytes or 0 for size in rows) == totals.weights_bytes
        assert sum(size.bias_bytes or 0 for size in rows) == totals.bias_bytes


def test_a_constant_counts_at_its_size_in_the_engine() -> None:
    """TensorRT 8.6 keeps the FP32 weights of the build beside the FP16 tensor that layers read."""
    x, w, y = (tensor(name, 4, dtype=DataType.FP16) for name in "xwy")
    weights = (Weights(role="weights", dtype=DataType.FP32, count=4),)
    constant = Layer(index=0, name="c", type="Constant", outputs=(w,), weights=weights)
    plan = plan_of(constant, layer(1, [x, w], [y]), inputs=(x,))
    sizes = layer_bytes(plan)
    assert [size.weights_bytes for size in sizes] == [0, 8]
    assert [size.activation_bytes for size in sizes] == [0, 16]
    assert plan_totals(plan).weights_bytes == 8
    x, w, y = tensor("x", 4), tensor("w", None), tensor("y", 4)
    weights = (Weights(role="weights", dtype=DataType.FP32, count=3),)
    constant = Layer(index=0, name="c", type="Constant", outputs=(w,), weights=weights)
    plan = plan_of(constant, layer(1, [x, w], [y]), inputs=(x,))
    assert (layer_bytes(plan)[1].weights_bytes, plan_totals(plan).weights_bytes) == (12, 12)
    assert plan_totals(plan).unknown_tensors == 0


def test_layers_of_a_kind_differ_in_names_and_nodes_alone(data) -> None:
    plan = plans.recorded(data / "trt86-h200", "resnet18")
    at = next(at for at, one in enumerate(plan.layers) if one.type == "Convolution")
    conv = plan.layers[at]
    (read, *others), (written,) = conv.inputs, conv.outputs
    nodes = {"metadata": "[ONNX Layer: other]", "onnx_nodes": ("other",)}
    alike = (
        replace(conv, name="other", index=99, **nodes),
        replace(conv, attributes=dict(conv.attributes), weights=tuple(map(replace, conv.weights))),
        replace(conv, outputs=(replace(written, name="elsewhere"),)),
    )
    unlike = (
        replace(conv, attributes={**conv.attributes, "Stride": [1, 1]}),
        replace(conv, weights=conv.weights[:1]),
        replace(conv, stream=3),
        replace(conv, tactic_name="another"),
        replace(conv, tactic_value="0x1"),
        replace(conv, type="Deconvolution"),
        replace(conv, subtype=None),
        replace(conv, name="{ForeignNode[a...b]}"),
        replace(conv, inputs=(replace(read, shape=(8, *(read.shape or ())[1:])), *others)),
        replace(conv, inputs=(replace(read, dtype=DataType.INT8), *others)),
        replace(conv, inputs=(replace(read, layout=None), *others)),
        replace(conv, inputs=(replace(read, name="a constant"), *others)),
        replace(conv, outputs=(written, written)),
        replace(conv, inputs=(*conv.inputs, written), outputs=()),
    )
    grown = replace(plan, layers=(*plan.layers, *alike, *unlike))
    kinds = layer_kinds(grown)
    known = len(plan.layers)
    assert set(kinds.of_layer[known : known + 3]) == {kinds.of_layer[at]}
    numbers = kinds.of_layer[known + 3 :]
    assert len(set(numbers)) == len(unlike)
    assert kinds.of_layer[at] not in numbers
    types = [kinds.examples[kind].type for kind in kinds.of_layer]
    assert types == [one.type for one in grown.layers]
    assert len(kinds.examples) < len(grown.layers)


def test_a_no_op_makes_a_kind_of_its_own_and_no_activation_of_a_constant() -> None:
    wide, *others = (tensor(name, 4 + 4 * (name == "w")) for name in "wnxyab")
    narrow, x, y, a, b = others
    plan = plan_of(
        layer(0, [wide], [x], "NoOp"),
        layer(1, [narrow], [y], "NoOp"),
        layer(2, [x], [a]),
        layer(3, [y], [b]),
    )
    assert [one.moved_bytes for one in layer_work(plan)[2:]] == [48, 32]
    constant = tensor("constant", 8)
    plan = plan_of(
        layer(0, [], [constant], "Constant"),
        layer(1, [wide], [x], "NoOp"),
        layer(2, [constant], [y], "NoOp"),
        layer(3, [x], [a]),
        layer(4, [y], [b]),
    )
    assert [one.weights_bytes for one in layer_bytes(plan)[3:]] == [0, 32]
    assert [one.activation_bytes for one in layer_bytes(plan)[3:]] == [48, 16]
    assert layer_kinds(plan).constants_read == {"constant"}
    assert plan_totals(plan).weights_bytes == 32
