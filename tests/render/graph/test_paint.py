from xml.etree import ElementTree

import pytest

from enginescope.analysis.graph.plan_graph import GraphNode, plan_graph
from enginescope.analysis.graph.plan_graph_part import named, neighbourhood
from enginescope.analysis.layers.layer_table import attribute
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.records.plan.plan import Attribution, Layer, Plan
from enginescope.records.tensor import DataType, Layout, Tensor
from enginescope.render.base.facts import form_text
from enginescope.render.base.palette import AMOUNT_STOPS
from enginescope.render.base.short_names import shorten
from enginescope.render.graph import node_labels
from enginescope.render.graph.node_labels import Wording
from enginescope.render.graph.paint import GraphScene, Paint, findings_by_layer, paint, sketch
from enginescope.render.graph.write.picture import Picture
from enginescope.render.graph.write.svg import draw
from enginescope.rules.base import Finding, Severity
from tests.analysis.card_plans import layer
from tests.analysis.graph.test_plan_graph import made
from tests.conftest import DATA
from tests.formats import plans

PLAN = made(("a", "x", "t"), ("b", "t", "u"), ("c", "u", "v"), ("d", "v", "y"), io="x > y")


def joined(*means: float | None, plan: Plan = PLAN) -> Attribution:
    return attribute(
        plan, plans.profile(*zip((one.name for one in plan.layers), means, strict=False))
    )


def timed(*means: float | None, plan: Plan = PLAN, **wording) -> GraphScene:
    return sketch(plan_graph(plan), joined(*means, plan=plan), Wording(**wording))


def finding(code: str, severity: Severity, *layers: int) -> Finding:
    words = {"code": code, "rule": code, "message": f"is {code}"}
    return Finding(severity=severity, subject="s", layers=layers, advice="try", **words)


def colors(given: GraphScene, found: Paint) -> dict[str, str | None]:
    return {
        node.name: None if color is None else found.categories[color].color
        for node, color in zip(given.graph.nodes, found.nodes, strict=True)
        if node.kind == "layer"
    }


def test_each_step_of_heat_is_twice_the_one_before_in_a_wide_plan() -> None:
    given = timed(0.8, 0.3, 0.001, None)
    found = paint(given, "time")
    assert colors(given, found) == {
        "a": AMOUNT_STOPS[-1],
        "b": AMOUNT_STOPS[-2],
        "c": AMOUNT_STOPS[0],
        "d": "#7A869A",
    }
    assert [one.text for one in found.categories] == [
        "0.400 … 0.800 ms: 1 layer · 72.7 %",
        "0.200 … 0.400 ms: 1 layer · 27.2 %",
        "0 … 0.00313 ms: 1 layer · 0.0908 %",
        "no time: 1 layer",
    ]
    assert found.words == "time of a layer"


def test_layers_that_are_nearly_alike_are_told_apart_beside_a_very_short_one_too() -> None:
    given = timed(1.0, 0.9, 0.8, 0.7)
    assert len(set(colors(given, paint(given, "time")).values())) == 4
    layers = ((f"l{index}", f"t{index}", f"t{index + 1}") for index in range(11))
    means = (*(1.0 - 0.05 * index for index in range(10)), 1e-6)
    given = timed(*means, plan=made(*layers, io="t0 > t11"))
    found = colors(given, paint(given, "time"))
    assert len({found[f"l{index}"] for index in range(10)}) >= 5


def test_a_part_has_the_colours_of_the_whole() -> None:
    means = (8.0, 0.02, 0.04, 0.01)
    given = timed(*means)
    whole = colors(given, paint(given, "time"))
    small = sketch(neighbourhood(given.graph, named(given.graph, "c"), 1).graph, joined(*means))
    assert colors(small, paint(small, "time")) == {name: whole[name] for name in ("b", "c", "d")}


def test_the_coldest_step_holds_all_the_rest() -> None:
    given = timed(1.0, 1e-9, 0.0, 0.5)
    found = colors(given, paint(given, "time"))
    assert (found["b"], found["c"]) == (AMOUNT_STOPS[0], AMOUNT_STOPS[0])
    still = timed(0.0, 0.0, 0.0, 0.0)
    assert set(colors(still, paint(still, "time")).values()) == {AMOUNT_STOPS[0]}


def test_text_can_be_read_on_every_step() -> None:
    def light(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    plan = made(*((f"l{index}", f"t{index}", f"t{index + 1}") for index in range(9)), io="t0 > t9")
    found = paint(timed(*(2.0**-index for index in range(9)), plan=plan), "time").categories
    assert len(found) == len(AMOUNT_STOPS)
    for one in found:
        assert one.ink is not None
        dark, bright = sorted((light(one.color), light(one.ink)))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, one.color


def test_the_worst_finding_of_a_layer_colours_it() -> None:
    severities = {"PLAN1": Severity.INFO, "PLAN2": Severity.ERROR, "PLAN3": Severity.WARNING}
    places = {"PLAN1": (0, 1), "PLAN2": (0,), "PLAN3": (2,)}
    found = findings_by_layer(
        finding(code, level, *places[code]) for code, level in severities.items()
    )
    given = timed(1.0, 1.0, 1.0, 1.0, findings=found)
    painted = paint(given, "lint")
    assert [one.text for one in painted.categories] == [
        "error 1 · 25.0 %",
        "warning 1 · 25.0 %",
        "info 1 · 25.0 %",
        "nothing found 1 · 25.0 %",
    ]
    assert len(set(colors(given, painted).values())) == 4
    face = next(one for one in given.faces if one.title.startswith("a\n"))
    assert "PLAN2 PLAN1" in face.lines
    assert "PLAN2 error: is PLAN2\nPLAN1 info: is PLAN1" in face.title


def test_what_has_colours_and_what_has_none() -> None:
    with pytest.raises(UsageError, match="no such coloring: 'heat'"):
        paint(timed(1.0), "heat")
    with pytest.raises(UsageError, match="layer times"):
        paint(sketch(plan_graph(PLAN)), "time")
    given = timed(1.0, 1.0, 1.0, 1.0)
    for coloring in ("type", "time", "lint"):
        found = paint(given, coloring)
        kinds = [node.kind for node in given.graph.nodes]
        assert [c is None for c in found.nodes] == [kind != "layer" for kind in kinds]
    assert set(paint(given, "precision").edges) == {0}
    assert set(paint(given, "time").edges) == {None}


LINEAR = Layout(name="NCHW", text="")
PACKED = Layout(name="NHWC8", text="")


def tensor(dtype: DataType | None, layout: Layout | None) -> Tensor:
    return Tensor(name="t", shape=(1, None, 4), dtype=dtype, layout=layout)


def reformat(before: Tensor, after: Tensor, **attributes: str) -> GraphNode:
    copy = layer(0, "copy", "Reformat", [before], [after], attributes=dict(attributes))
    return GraphNode(id=0, kind="layer", name="copy", layer=copy)


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
    assert node_labels.face_of(reformat(tensor(*before), tensor(*after)), None).lines == (text,)


def test_reformats_tensors_regions_and_groups_have_their_words() -> None:
    """A fold may hold tensors alone."""
    same = tensor(DataType.FP32, LINEAR)
    face = node_labels.face_of(reformat(same, same, Origin="QDQ"), None)
    assert face.heading == "Reformat (Q/DQ)"
    bare = Layer(index=0, name="copy", type="Reformat")
    node = GraphNode(id=0, kind="layer", name="copy", layer=bare)
    assert node_labels.face_of(node, None).lines == ("copy",)
    assert form_text(tensor(DataType.FP16, PACKED)) == "1×?×4 FP16 NHWC8"
    assert form_text(Tensor(name="t")) == ""
    node = GraphNode(id=0, kind="tensor", name="t", tensor=Tensor(name="t"), generation=1)
    assert node_labels.face_of(node, None).heading == "region, use 2"
    label = node_labels.face_of(GraphNode(id=0, kind="group", name="4 × output"), None)
    assert (label.heading, label.lines) == ("4 × output", ("0 layers",))


def test_times_count_all_but_containers() -> None:
    plan = Plan(name="p", layers=(Layer(index=7, name="a"), Layer(index=8, name="b")))
    profile = plans.profile(("a", 1.0), ("gone", 3.0), ("b", 9.0))
    *others, last = profile.layers
    profile = replace(profile, layers=(*others, replace(last, is_container=True)))
    times = node_labels.times_of(attribute(plan, profile))
    assert times == node_labels.Times(time_ms={7: 1.0, 8: 9.0}, sum_ms=4.0)
    assert times.share_pct(7) == 25.0
    assert times.share_pct(1) is None
    assert node_labels.times_of(None) is None
    assert node_labels.times_of(attribute(plan, plans.profile())) is None


def test_names_are_shortened_and_no_two_look_alike() -> None:
    assert shorten("short", 5) == "short"
    assert shorten("abcdefghij", 5) == "ab…ij"
    names = [f"{'/block' * 6}/{at}{'/conv' * 6}" for at in range(3)]
    layers = tuple(Layer(index=at, name=name, type="conv") for at, name in enumerate(names))
    scene = sketch(plan_graph(Plan(name="p", layers=layers)))
    assert len({face.lines for face in scene.faces}) == 3
    assert len({shorten(name, node_labels.NAME_CHARACTERS) for name in names}) == 1


def test_a_drawing_says_every_attribute() -> None:
    found = ElementTree.fromstring(Picture(plans.recorded(DATA / "trt86-h200", "resnet18")).svg())
    titles = [one.text or "" for one in found.iter("{http://www.w3.org/2000/svg}title")]
    title = next(one for one in titles if one.startswith("/conv1/Conv + /relu/Relu"))
    assert "kernel 7×7, stride 2×2, padding 3×3" in title
    assert "activation RELU" in title
    assert "118 million MACs, 61.3 MAC/byte" in title


def test_labels_say_shape_precision_and_format_between_layers() -> None:
    graph = plan_graph(plans.parsed(plans.tensorrt_8_4()))
    found = {
        (graph.nodes[edge.source].name, graph.nodes[edge.target].name): label
        for edge, label in zip(graph.edges, node_labels.edge_labels(graph), strict=True)
    }
    assert found["copy for conv", "conv + relu"] == "1×3×8×8 FP16 NHWC8"
    assert sum(label is None for label in found.values()) == len(found) - 1  # the boxes say it
    # A tensor has one label however many read it.
    plan = made(("a", "x", "t"), *((f"r{one}", "t", f"u{one}") for one in range(4)), io="x >")
    assert [text for text, _, _ in draw(plan_graph(plan)).labels] == ["FP16"]


def test_titles_say_what_flows_and_long_names_are_cut_at_the_ends() -> None:
    plan = made(("a", "x", "t"), ("b", "t", "y"), io="x > y")
    assert list(node_labels.edge_titles(plan_graph(plan)))[1] == "t\nFP16\na → b"
    (into, _) = node_labels.edge_titles(plan_graph(made(("n" * 10_000, "x", "y"), io="x > y")))
    assert len(into) < 300
    assert into.startswith("x\nFP16\nx → nnn")
