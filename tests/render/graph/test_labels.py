"""Labels and titles of a graph's nodes and edges."""

from xml.etree import ElementTree

import pytest

from enginescope.analysis.graph.plan_graph import GraphNode, plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import DataType, Layout, Tensor
from enginescope.render.base.facts import form_text
from enginescope.render.base.short_names import shorten
from enginescope.render.graph.node_labels import (
    NAME_CHARACTERS,
    Times,
    edge_labels,
    edge_titles,
    face_of,
    times_of,
)
from enginescope.render.graph.paint import sketch
from enginescope.render.graph.write.picture import Picture
from enginescope.render.graph.write.svg import draw
from tests.analysis.graph.test_plan_graph import made
from tests.conftest import DATA
from tests.formats import plans

LINEAR = Layout(name="NCHW", text="")
PACKED = Layout(name="NHWC8", text="")


def tensor(dtype: DataType | None, layout: Layout | None) -> Tensor:
    return Tensor(name="t", shape=(1, None, 4), dtype=dtype, layout=layout)


def reformat(before: Tensor, after: Tensor, **attributes: str) -> GraphNode:
    layer = Layer(
        index=0,
        name="copy",
        type="Reformat",
        inputs=(before,),
        outputs=(after,),
        attributes=dict(attributes),
    )
    return GraphNode(id=0, kind="layer", name="copy", layer=layer)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ((DataType.FP32, LINEAR), (DataType.INT8, LINEAR), "FP32 → INT8"),
        ((DataType.FP16, LINEAR), (DataType.FP16, PACKED), "FP16 NCHW → NHWC8"),
        ((DataType.FP32, LINEAR), (DataType.FP16, PACKED), "FP32 NCHW → FP16 NHWC8"),
        ((DataType.FP16, LINEAR), (None, LINEAR), "FP16 → ?"),
        ((DataType.FP16, LINEAR), (DataType.FP16, LINEAR), "copy"),
    ],
)
def test_what_a_reformat_changes(before, after, text) -> None:
    assert face_of(reformat(tensor(*before), tensor(*after)), None).lines == (text,)


def test_reformats_tensors_regions_and_groups_have_their_words() -> None:
    """A fold may hold tensors alone."""
    same = tensor(DataType.FP32, LINEAR)
    assert face_of(reformat(same, same, Origin="QDQ"), None).heading == "Reformat (Q/DQ)"
    bare = Layer(index=0, name="copy", type="Reformat")
    node = GraphNode(id=0, kind="layer", name="copy", layer=bare)
    assert face_of(node, None).lines == ("copy",)
    assert form_text(tensor(DataType.FP16, PACKED)) == "1×?×4 FP16 NHWC8"
    assert form_text(Tensor(name="t")) == ""
    node = GraphNode(id=0, kind="tensor", name="t", tensor=Tensor(name="t"), generation=1)
    assert face_of(node, None).heading == "region, use 2"
    label = face_of(GraphNode(id=0, kind="group", name="4 × output"), None)
    assert label.heading == "4 × output"
    assert label.lines == ("0 layers",)


def test_times_count_all_but_containers() -> None:
    plan = Plan(name="p", layers=(Layer(index=7, name="a"), Layer(index=8, name="b")))
    layers = (
        LayerTiming(index=0, name="a", mean_ms=1.0),
        LayerTiming(index=1, name="gone", mean_ms=3.0),
        LayerTiming(index=2, name="b", mean_ms=9.0, is_container=True),
    )
    times = times_of(attribute(plan, Profile(source="trtexec", layers=layers)))
    assert times == Times(time_ms={7: 1.0, 8: 9.0}, sum_ms=4.0)
    assert times.share_pct(7) == 25.0
    assert times.share_pct(1) is None
    assert times_of(None) is None
    assert times_of(attribute(plan, Profile(source="trtexec", layers=()))) is None


def test_names_are_shortened_and_no_two_look_alike() -> None:
    assert shorten("short", 5) == "short"
    assert shorten("abcdefghij", 5) == "ab…ij"
    names = [f"{'/block' * 6}/{at}{'/conv' * 6}" for at in range(3)]
    layers = tuple(Layer(index=at, name=name, type="conv") for at, name in enumerate(names))
    scene = sketch(plan_graph(Plan(name="p", layers=layers)))
    assert len({face.lines for face in scene.faces}) == 3
    assert len({shorten(name, NAME_CHARACTERS) for name in names}) == 1


def test_a_drawing_says_every_attribute() -> None:
    file = DATA / "trt86-h200" / "resnet18.graph.json"
    plan, _ = parse_plan(file.read_bytes(), file.name)
    found = ElementTree.fromstring(Picture(plan).svg())
    titles = [one.text or "" for one in found.iter("{http://www.w3.org/2000/svg}title")]
    title = next(one for one in titles if one.startswith("/conv1/Conv + /relu/Relu"))
    assert "kernel 7×7, stride 2×2, padding 3×3" in title
    assert "activation RELU" in title
    assert "118 million MACs, 61.3 MAC/byte" in title


def test_labels_say_shape_precision_and_format_between_layers() -> None:
    graph = plan_graph(parse_plan(plans.encoded(plans.tensorrt_8_4()), "small")[0])
    found = {
        (graph.nodes[edge.source].name, graph.nodes[edge.target].name): label
        for edge, label in zip(graph.edges, edge_labels(graph), strict=True)
    }
    assert found["copy for conv", "conv + relu"] == "1×3×8×8 FP16 NHWC8"
    assert sum(label is None for label in found.values()) == len(found) - 1  # the boxes say it


def test_a_tensor_has_one_label_however_many_read_it() -> None:
    plan = made(("a", "x", "t"), *((f"r{one}", "t", f"u{one}") for one in range(4)), io="x >")
    assert [text for text, _, _ in draw(plan_graph(plan)).labels] == ["FP16"]


def test_titles_say_what_flows_and_long_names_are_cut_at_the_ends() -> None:
    plan = made(("a", "x", "t"), ("b", "t", "y"), io="x > y")
    assert list(edge_titles(plan_graph(plan)))[1] == "t\nFP16\na → b"
    name = "n" * 10_000
    (into, _) = edge_titles(plan_graph(made((name, "x", "y"), io="x > y")))
    assert len(into) < 300
    assert into.startswith("x\nFP16\nx → nnn")
