import pytest

from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.onnx.onnx_map import OnnxMap, map_onnx, node_macs, onnx_match_notice
from enginescope.analysis.roofline.layer_work import layer_work
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode, read_onnx_graph
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.formats.trtexec.exported_profile import parse_profile
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import Tensor

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
    return Layer(
        index=0,
        name=name,
        type=kind,
        onnx_nodes=tuple(nodes.split()),
        inputs=tuple(Tensor(name=one) for one in reads.split()),
        outputs=tuple(Tensor(name=one) for one in writes.split()),
    )


def mapped(
    *layers: Layer, times: tuple[float, ...] = (), model: OnnxGraph | None = None
) -> OnnxMap:
    numbered = tuple(replace(one, index=i) for i, one in enumerate(layers))
    plan = Plan(name="p", layers=numbered)
    timings = tuple(
        LayerTiming(index=i, name=numbered[i].name, mean_ms=ms) for i, ms in enumerate(times)
    )
    joined = attribute(plan, Profile(source="trtexec", layers=timings)) if times else None
    return map_onnx(plan, model or graph(), joined)


def links(found: OnnxMap) -> list[tuple[int, tuple[int, ...], str]]:
    return [(one.position, one.nodes, one.evidence) for one in found.links]


def costs(found: OnnxMap) -> list[tuple[int, float | None, bool]]:
    return [(one.node, one.time_ms, one.is_shared) for one in found.costs]


def test_layers_have_the_nodes_of_their_metadata_names_or_tensors() -> None:
    found = mapped(layer("l", "a b"), layer("m", "c gone"), layer("n", kind="Reformat"))
    assert links(found) == [(0, (0, 1), "metadata"), (1, (2,), "metadata")]
    assert found.unmatched_layers == (2,)
    assert found.unmatched_nodes == (3,)
    assert found.unknown_names == ("gone",)
    nodes = tuple(OnnxNode(index=i, name="same", op_type="Abs") for i in range(2))
    model = OnnxGraph(name="g", nodes=nodes, shapes={})
    found = mapped(layer("l", "same"), layer("m", "same"), model=model)
    assert links(found) == [(0, (0,), "metadata"), (1, (1,), "metadata")]
    nodes = (OnnxNode(index=0, name="f(x)", op_type="Abs"),)
    found = mapped(layer("PWN(f(x))"), model=OnnxGraph(name="g", nodes=nodes, shapes={}))
    assert links(found) == [(0, (0,), "name")]
    copy = layer("Reformatting CopyNode for Input Tensor 0 to z + b", reads="a", writes="copied")
    assert links(mapped(copy)) == []
    assert mapped(copy).unmatched_layers == (0,)
    first, second = (
        layer("one", "a", writes="a"),
        layer("{ForeignNode[b...c]}", reads="a", writes="c"),
    )
    found = mapped(second, first)
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
    shapes = {"b": (None, 8), "c": (None, 24)}
    found = mapped(layer("l", "b c"), times=(4.0,), model=graph(shapes))
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
    stem = data / "trt86-h200-process" / "small_convnet.onnx.engine"
    plan, _ = parse_plan(stem.with_name(f"{stem.name}.graph.json").read_bytes(), "a")
    profile, _ = parse_profile(stem.with_name(f"{stem.name}.profile.json").read_bytes(), "a")
    joined = attribute(plan, profile)
    model = read_onnx_graph(convnet, {"image": (1, 3, 96, 96)})
    found = map_onnx(plan, model, joined)
    assert found.unknown_names == ()
    assert [model.nodes[one].name for one in found.unmatched_nodes] == ["head/flatten"]
    assert {plan.layers[one].type for one in found.unmatched_layers} <= {
        "Reformat",
        "MyelinReformat",
    }
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
    plan = Plan(name="net", layers=tuple(replace(one, index=at) for at, one in enumerate(layers)))
    return onnx_match_notice(plan, map_onnx(plan, graph), "model.onnx")


def fused_layer(name: str, nodes: str = "", *, writes: str = "") -> Layer:
    tensors = tuple(Tensor(name=one) for one in writes.split())
    return Layer(index=0, name=name, type="kgen", onnx_nodes=tuple(nodes.split()), outputs=tensors)


def test_a_model_of_which_a_few_names_fit_by_chance_is_another() -> None:
    assert told(model("a", "b"), fused_layer("k1", "a"), fused_layer("k2", "b")) is None
    assert told(model("a", "b"), fused_layer("a + b")) is None
    assert told(model("a"), fused_layer("k", "a gone")) is None  # one renamed node is none too many
    found = told(model("x", "y"), fused_layer("a"), fused_layer("b"))
    assert found.code == "W-ONNX-NO-MATCH"
    assert "0 of 2 layers of net were made from nodes of model.onnx" in found.message
    assert found.evidence["layers"] == 2
    found = told(model("a", "x"), fused_layer("k", "a p q"))
    assert found.code == "W-ONNX-FEW-MATCH"
    assert "2 of the 3 nodes that the plan names are not in it, and 1 of 1" in found.message
    assert found.evidence["unknown_names"] == ["p", "q"]


@pytest.mark.parametrize(("others", "is_told"), [(30, True), (3, False)])
def test_a_model_whose_output_alone_has_the_plans_name(others, is_told) -> None:
    layers = [fused_layer(f"kernel {at}") for at in range(others)]
    found = told(model("x", "y"), *layers, fused_layer("last", writes="t2"))
    assert (found is not None) == is_told
    if found is not None:
        assert f"only 1 of {others + 1} layers fit it, none by a name" in found.message
