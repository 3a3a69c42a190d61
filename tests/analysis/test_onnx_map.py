import json

import onnx
import pytest

from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.onnx.onnx_map import (
    NodeCost,
    OnnxMap,
    map_onnx,
    model_explorer_data,
    node_elements,
    node_macs,
    node_notes,
    onnx_match_notice,
    with_onnx_work,
)
from enginescope.analysis.roofline.layer_work import LayerWork, layer_work
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode, annotated_onnx, read_onnx_graph
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor
from tests.analysis import card_plans
from tests.formats import plans

#: x → a → b → c → y, each named after its operator and writing a tensor of its own name.
NODES = (("a", "MatMul"), ("b", "Relu"), ("c", "Softmax"), ("d", "Abs"))
SHAPES = {"x": (2, 4), "w": (4, 8), "a": (2, 8), "b": (2, 8), "c": (2, 24), "d": (2, 8)}


def graph(shapes: dict | None = None) -> OnnxGraph:
    reads = ("x", *(name for name, _ in NODES))
    nodes = tuple(
        OnnxNode(index=i, name=name, op_type=kind, inputs=(reads[i], "w"), outputs=(name,))
        for i, (name, kind) in enumerate(NODES)
    )
    return OnnxGraph(name="g", nodes=nodes, shapes=SHAPES if shapes is None else shapes)


def layer(
    name: str, nodes: str = "", *, reads: str = "", writes: str = "", kind: str = "kgen"
) -> Layer:
    ends = ([Tensor(name=one) for one in side.split()] for side in (reads, writes))
    return card_plans.layer(0, name, kind, *ends, onnx_nodes=tuple(nodes.split()))


def plan_of(*layers: Layer) -> Plan:
    return Plan(name="net", layers=tuple(replace(one, index=at) for at, one in enumerate(layers)))


def mapped(
    *layers: Layer, times: tuple[float, ...] = (), model: OnnxGraph | None = None
) -> OnnxMap:
    plan = plan_of(*layers)
    rows = zip((one.name for one in layers), times, strict=False)
    joined = attribute(plan, plans.profile(*rows)) if times else None
    return map_onnx(plan, model or graph(), joined)


def links(found: OnnxMap) -> list[tuple[int, tuple[int, ...], str]]:
    return [(one.position, one.nodes, one.evidence) for one in found.links]


def costs(found: OnnxMap) -> list[tuple[int, float | None, bool]]:
    return [(one.node, one.time_ms, one.is_shared) for one in found.costs]


def test_layers_have_the_nodes_of_their_metadata_names_or_tensors() -> None:
    found = mapped(layer("l", "a b"), layer("m", "c gone"), layer("n", kind="Reformat"))
    assert links(found) == [(0, (0, 1), "metadata"), (1, (2,), "metadata")]
    assert (found.unmatched_layers, found.unmatched_nodes) == ((2,), (3,))
    assert found.unknown_names == ("gone",)
    found = mapped(layer("l", "same"), layer("m", "same"), model=model("same", "same"))
    assert links(found) == [(0, (0,), "metadata"), (1, (1,), "metadata")]
    assert links(mapped(layer("PWN(f(x))"), model=model("f(x)"))) == [(0, (0,), "name")]
    copy = layer("Reformatting CopyNode for Input Tensor 0 to z + b", reads="a", writes="copied")
    assert links(mapped(copy)) == []
    assert mapped(copy).unmatched_layers == (0,)
    part = layer("{ForeignNode[b...c]}", reads="a", writes="c")
    found = mapped(part, layer("one", "a", writes="a"))
    assert links(found) == [(0, (1, 2), "tensors"), (1, (0,), "metadata")]
    assert found.unmatched_nodes == (3,)
    found = mapped(layer("one", writes="b"), layer("two", writes="b d"))
    assert links(found) == [(0, (0, 1), "tensors"), (1, (2, 3), "tensors")]


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("a + b", (0, 1)),
        ("a.weight + a + PWN(b)", (0, 1)),
        ("PWN(PWN(a, b), c)", (0, 1, 2)),
        ("c", (2,)),
    ],
)
def test_names_of_older_versions(name: str, nodes: tuple[int, ...]) -> None:
    assert links(mapped(layer(name))) == [(0, nodes, "name")]


def test_times_follow_the_products_else_the_elements() -> None:
    found = mapped(layer("l", "a b"), times=(3.0,))
    assert costs(found) == [(0, 3.0, True), (1, 0.0, True)]
    found = mapped(layer("l", "b c"), times=(4.0,))
    assert costs(found) == [(1, 1.0, True), (2, 3.0, True)]
    found = mapped(layer("l", "b c"), times=(4.0,), model=graph({"b": (2, 8)}))
    assert costs(found) == [(1, 2.0, True), (2, 2.0, True)]
    found = mapped(layer("l", "b c"), times=(4.0,), model=graph({"b": (None, 8), "c": (None, 24)}))
    assert costs(found) == [(1, 1.0, True), (2, 3.0, True)]
    found = mapped(layer("l", "a"), layer("m", "a"), times=(3.0, 0.5))
    assert costs(found) == [(0, 3.5, False)]
    assert found.costs[0].positions == (0, 1)
    mixed = mapped(layer("l", "b"), layer("m", "b c"), times=(3.0, 4.0))
    assert costs(mixed) == [(1, 4.0, True), (2, 3.0, True)]
    assert costs(mapped(layer("l", "a b"))) == [(0, None, True), (1, None, True)]
    partly = mapped(layer("l", "a"), layer("m", "b"), times=(1.0,))
    assert costs(partly) == [(0, 1.0, False), (1, None, False)]


def test_an_engine_of_the_bundled_model(data, convnet) -> None:
    files = data / "trt86-h200-process", "small_convnet.onnx.engine"
    plan = plans.recorded(*files)
    joined = attribute(plan, plans.recorded_times(*files))
    model = read_onnx_graph(convnet, {"image": (1, 3, 96, 96)})
    found = map_onnx(plan, model, joined)
    assert found.unknown_names == ()
    assert [model.nodes[one].name for one in found.unmatched_nodes] == ["head/flatten"]
    left = {plan.layers[one].type for one in found.unmatched_layers}
    assert left <= {"Reformat", "MyelinReformat"}
    works = layer_work(plan)
    for link in found.links:
        if plan.layers[link.position].type == "Convolution":
            macs = sum(node_macs(model.nodes[one], model.shapes) or 0 for one in link.nodes)
            assert works[link.position].macs == macs  # the plan and the model agree
    matched = sum(joined.layers[one.position].timing.time_ms or 0.0 for one in found.links)
    assert sum(one.time_ms or 0.0 for one in found.costs) == pytest.approx(matched, rel=1e-9)


def model(*names: str) -> OnnxGraph:
    nodes = tuple(
        OnnxNode(index=at, name=name, op_type="Relu", inputs=(f"t{at}",), outputs=(f"t{at + 1}",))
        for at, name in enumerate(names)
    )
    return OnnxGraph(name="g", nodes=nodes, shapes={})


def told(graph: OnnxGraph, *layers: Layer) -> Notice | None:
    plan = plan_of(*layers)
    return onnx_match_notice(plan, map_onnx(plan, graph), "model.onnx")


def test_a_model_of_which_a_few_names_fit_by_chance_is_another() -> None:
    assert told(model("a", "b"), layer("k1", "a"), layer("k2", "b")) is None
    assert told(model("a", "b"), layer("a + b")) is None
    assert told(model("a"), layer("k", "a gone")) is None  # one renamed node is none too many
    found = told(model("x", "y"), layer("a"), layer("b"))
    assert found.code == "W-ONNX-NO-MATCH"
    assert "0 of 2 layers of net were made from nodes of model.onnx" in found.message
    assert found.evidence["layers"] == 2
    found = told(model("a", "x"), layer("k", "a p q"))
    assert found.code == "W-ONNX-FEW-MATCH"
    assert "2 of the 3 nodes that the plan names are not in it, and 1 of 1" in found.message
    assert found.evidence["unknown_names"] == ["p", "q"]


@pytest.mark.parametrize(("others", "is_told"), [(30, True), (3, False)])
def test_a_model_whose_output_alone_has_the_plans_name(others, is_told) -> None:
    layers = [layer(f"kernel {at}") for at in range(others)]
    found = told(model("x", "y"), *layers, layer("last", writes="t2"))
    assert (found is not None) == is_told
    if found is not None:
        assert f"only 1 of {others + 1} layers fit it, none by a name" in found.message


NODE_SHAPES = {
    "image": (2, 8, 10, 10),
    "kernel": (4, 2, 3, 3),
    "conv": (2, 4, 8, 8),
    "up": (8, 2, 2, 2),
    "wide": (2, 8, 20, 20),
    "a": (3, 6, 7),
    "b": (7, 5),
    "c": (3, 6, 5),
    "left": (6, 7),
    "right": (5, 7),
    "out": (6, 5),
    "loose": (None, 7),
    "bias": (5,),
}


def node(kind: str, *reads: str, writes: tuple[str, ...] = ("c",), domain: str = "") -> OnnxNode:
    return OnnxNode(index=0, name="n", op_type=kind, domain=domain, inputs=reads, outputs=writes)


@pytest.mark.parametrize(
    ("one", "macs"),
    [
        (node("Conv", "image", "kernel", writes=("conv",)), 2 * 4 * 64 * 18),
        (node("QLinearConv", "image", "s", "z", "kernel", writes=("conv",)), 2 * 4 * 64 * 18),
        (node("ConvTranspose", "image", "up", writes=("wide",)), 2 * 8 * 100 * 8),
        (node("MatMul", "a", "b"), 3 * 6 * 5 * 7),
        (node("MatMulInteger", "a", "b"), 3 * 6 * 5 * 7),
        (node("Gemm", "left", "right", "bias", writes=("out",)), 6 * 5 * 7),
        (node("Relu", "a"), 0),
        (node("MatMul", "loose", "b", writes=("gone",)), None),
        (node("Conv", "image", writes=("conv",)), None),
        (node("ConvTranspose", "gone", "up"), None),
        (node("Gemm", "left", "gone", writes=("out",)), None),
        (node("LSTM", "a"), None),
        (node("MatMul", "a", "b", domain="com.own"), None),
    ],
)
def test_multiply_accumulates_of_nodes(one: OnnxNode, macs: int | None) -> None:
    assert node_macs(one, NODE_SHAPES) == macs


def test_elements() -> None:
    assert node_elements(node("Split", writes=("b", "", "out")), NODE_SHAPES) == 65
    assert node_elements(node("Split", writes=("b", "loose")), NODE_SHAPES) is None


#: A product of 630 multiply-accumulates.
PRODUCT = {"a": (3, 6, 7), "b": (7, 5), "c": (3, 6, 5)}


def products(*kinds: str) -> OnnxGraph:
    """Nodes n0, n1, …: products, and what follows them."""
    nodes = tuple(
        OnnxNode(index=i, name=f"n{i}", op_type=kind, inputs=("a", "b"), outputs=("c",))
        for i, kind in enumerate(kinds)
    )
    return OnnxGraph(name="g", nodes=nodes, shapes=PRODUCT)


def works(model: OnnxGraph, *layers: tuple[str, str, int | None]) -> list[LayerWork]:
    """Work of layers given as (type, nodes, multiply-accumulates that the plan tells)."""
    plan = plan_of(*(layer(f"l{at}", one[1], kind=one[0]) for at, one in enumerate(layers)))
    told = [LayerWork(macs=macs, source="plan" if macs else None) for _, _, macs in layers]
    return list(with_onnx_work(plan, told, model, map_onnx(plan, model)))


def test_a_layer_that_says_nothing_has_its_nodes_work_once() -> None:
    (found,) = works(products("MatMul", "Relu", "MatMul"), ("kgen", "n0 n1 n2", None))
    assert (found.macs, found.source, found.is_shared) == (2 * 630, "onnx", False)
    kernel = ("kgen", "n0", None)
    found = works(products("MatMul"), kernel, kernel, ("Reformat", "n0", None))
    assert [(one.macs, one.is_shared) for one in found] == [(315, True), (315, True), (None, False)]
    first, second = works(products("MatMul", "Relu"), ("gemm", "n0", 630), ("kgen", "n0 n1", None))
    assert (first.macs, first.source) == (630, "plan")
    assert (second.macs, second.source) == (0, "onnx")
    first, second = works(products("MatMul"), ("NoOp", "n0", None), kernel)
    assert (first.macs, second.macs, second.is_shared) == (None, 630, False)
    found = works(products("LSTM", "MatMul"), ("kgen", "n0 n1", None), ("kgen", "", None))
    assert [one.macs for one in found] == [None, None]


TWO = Plan(name="p", layers=(Layer(index=0, name="first"), Layer(index=1, name="second")))
EXPORTED = OnnxGraph(
    name="main",
    shapes={},
    nodes=(
        OnnxNode(index=0, name="conv", op_type="Conv", own_name="conv", outputs=("c",)),
        OnnxNode(index=1, name="node_of_r", op_type="Relu", outputs=("r",)),
        OnnxNode(index=2, name="inner", op_type="Neg", own_name="inner", depth=1),
        OnnxNode(index=3, name="untimed", op_type="Abs", own_name="untimed"),
        OnnxNode(index=4, name="node_of_", op_type="Print"),
    ),
)


def costs_alone(*costs: NodeCost) -> OnnxMap:
    nothing = dict.fromkeys(("links", "unmatched_layers", "unmatched_nodes", "unknown_names"), ())
    return OnnxMap(costs=costs, **nothing)


COSTS = costs_alone(
    NodeCost(node=0, positions=(0, 1), time_ms=0.75, is_shared=True),
    NodeCost(node=1, positions=(1,), time_ms=0.25),
    NodeCost(node=2, positions=(1,), time_ms=1.0),
    NodeCost(node=3, positions=(0,)),
    NodeCost(node=4, positions=(0,), time_ms=0.0),
)


def test_notes_into_a_model(convnet) -> None:
    notes = node_notes(COSTS, TWO)
    assert notes[0] == {
        "enginescope.layers": "first\nsecond",
        "enginescope.shared": "true",
        "enginescope.time_ms": "0.75",
        "enginescope.share_pct": "37.5",
    }
    assert notes[1]["enginescope.shared"] == "false"
    assert notes[3] == {"enginescope.layers": "first", "enginescope.shared": "false"}
    still = node_notes(costs_alone(NodeCost(node=0, positions=(0,), time_ms=0.0)), TWO)
    assert "enginescope.share_pct" not in still[0]
    graph = read_onnx_graph(convnet)
    cost = NodeCost(node=3, positions=(0,), time_ms=0.5)
    proto = onnx.load_from_string(annotated_onnx(convnet, node_notes(costs_alone(cost), TWO)))
    notes = {one.key: one.value for one in proto.graph.node[3].metadata_props}
    assert proto.graph.node[3].name == graph.nodes[3].name
    assert notes["enginescope.time_ms"] == "0.5"
    onnx.checker.check_model(proto)


def test_model_explorer() -> None:
    found = json.loads(json.dumps(model_explorer_data(COSTS, EXPORTED)))
    assert set(found) == {"main"}
    assert found["main"]["results"] == {"conv": {"value": 0.75}, "r": {"value": 0.25}}
    stops = [one["stop"] for one in found["main"]["gradient"]]
    assert stops == sorted(stops)
    assert (stops[0], stops[-1]) == (0, 1)


@pytest.mark.parametrize("costs", [costs_alone(), costs_alone(NodeCost(node=0, positions=(0,)))])
def test_without_times(costs: OnnxMap) -> None:
    assert model_explorer_data(costs, EXPORTED)["main"]["results"] == {}
