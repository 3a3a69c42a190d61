"""Pictures that trex's DOT text makes impossible or wrong."""

from xml.etree import ElementTree

import pytest

from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.records.plan.plan import Plan
from enginescope.render.graph.write.svg import draw, svg
from tests.trex.made_plans import chain, layer, plan_of, tensor_row

TEXT = "{http://www.w3.org/2000/svg}text"


def texts(plan: Plan) -> list[str]:
    root = ElementTree.fromstring(svg(draw(plan_graph(plan))))
    return [one.text or "" for one in root.iter(TEXT)]


def edges(graph: PlanGraph, kind: str = "data") -> set[str]:
    names = [one.name for one in graph.nodes]
    return {f"{names[e.source]}>{names[e.target]}" for e in graph.edges if e.kind == kind}


@pytest.mark.parametrize("name", ["a<b", "a&b", "a>b", 'a"b', "a|b", "a{b}", "a:b", "a\\b"])
def test_names_that_are_markup(name) -> None:
    """``<`` and ``&`` go unescaped into HTML labels: dot fails. ``:`` becomes ``###``."""
    assert name in texts(plan_of(chain((name, "kgen", "x", "y")), "x", "y"))


def test_labels_have_no_stray_quote() -> None:
    """A ``"`` stands in every HTML label of trex."""
    shown = texts(plan_of(chain(("a", "kgen", "x", "y")), "x", "y"))
    assert not [one for one in shown if '"' in one]


def test_metadata_of_any_length() -> None:
    """Over 16,384 characters are a syntax error of dot; kernels of TensorRT 10.15 have them."""
    names = "\x1f".join(f"[ONNX Layer: /model/layers.{at}/attention/MatMul]" for at in range(900))
    assert len(names) > 16384
    own = {"Metadata": names, "Note": "n" * 20_000}
    plan = plan_of([layer("a", "kgen", *tensor_row("x", "y"), **own)], "x", "y")
    assert "a" in texts(plan)
    assert len(plan.layers[0].onnx_nodes) == 900


def test_a_loop() -> None:
    """What an iteration hands to the next is read above where it is written."""
    layers = chain(
        ("init", "kgen", "x", "s"),
        ("body", "kgen", "s carried", "n"),
        ("next", "kgen", "n", "carried"),
    ) + chain(("out", "kgen", "n", "y"))
    graph = plan_graph(plan_of(layers, "x", "y"))
    assert "body" in texts(plan_of(layers, "x", "y"))
    back = [one for one in graph.edges if one.is_carried]
    names = [one.name for one in graph.nodes]
    assert [(names[one.source], names[one.target]) for one in back] == [("next", "body")]


def test_inputs_and_outputs_in_the_files_order() -> None:
    """trex puts bindings through a set: their order changes from call to call."""
    names = [f"in{at}" for at in range(8)]
    plan = plan_of(chain(("a", "kgen", " ".join(names), "y")), *names, "y")
    assert [one.tensor.name for one in plan.inputs] == names
    assert [one.tensor.name for one in plan.outputs] == ["y"]


def test_the_branches_of_an_if() -> None:
    """Engines with If are drawn wrongly (issue 4391): both branches write one tensor."""
    layers = chain(
        ("cond", "kgen", "x", "c"),
        ("then", "kgen", "x c", "o"),
        ("else", "kgen", "x c", "o"),
        ("if_output", "kgen", "o", "y"),
    )
    found = edges(plan_graph(plan_of(layers, "x", "y")))
    assert {"cond>then", "cond>else"} <= found
    ends = {one.partition(">")[0] for one in found if one.endswith("if_output")}
    assert ends in ({"then", "else"}, {"o"})
    if ends == {"o"}:
        assert {"then>o", "else>o"} <= found
