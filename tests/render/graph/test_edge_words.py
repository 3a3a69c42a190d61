from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.render.graph.node_labels import edge_labels, edge_titles
from enginescope.render.graph.write.svg import draw
from tests.analysis.graph.test_plan_graph import made
from tests.formats import plans


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
    drawing = draw(plan_graph(plan))
    assert [text for text, _, _ in drawing.labels] == ["FP16"]


def test_titles_say_what_flows_and_long_names_are_cut_at_the_ends() -> None:
    plan = made(("a", "x", "t"), ("b", "t", "y"), io="x > y")
    assert list(edge_titles(plan_graph(plan)))[1] == "t\nFP16\na → b"
    name = "n" * 10_000
    (into, _) = edge_titles(plan_graph(made((name, "x", "y"), io="x > y")))
    assert len(into) < 300
    assert into.startswith("x\nFP16\nx → nnn")
