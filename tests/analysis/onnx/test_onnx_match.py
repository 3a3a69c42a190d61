from __future__ import annotations

import pytest

from enginescope.analysis.onnx.onnx_map import map_onnx, onnx_match_notice
from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor


def model(*names: str) -> OnnxGraph:
    nodes = tuple(
        OnnxNode(index=at, name=name, op_type="Relu", inputs=(f"t{at}",), outputs=(f"t{at + 1}",))
        for at, name in enumerate(names)
    )
    return OnnxGraph(name="g", nodes=nodes, shapes={})


def told(graph: OnnxGraph, *layers: Layer) -> Notice | None:
    numbered = tuple(replace(one, index=at) for at, one in enumerate(layers))
    plan = Plan(name="net", layers=numbered)
    return onnx_match_notice(plan, map_onnx(plan, graph), "model.onnx")


def layer(name: str, nodes: str = "", *, writes: str = "") -> Layer:
    tensors = tuple(Tensor(name=one) for one in writes.split())
    return Layer(index=0, name=name, type="kgen", onnx_nodes=tuple(nodes.split()), outputs=tensors)


def test_the_model_it_was_built_from() -> None:
    assert told(model("a", "b"), layer("k1", "a"), layer("k2", "b")) is None
    assert told(model("a", "b"), layer("a + b")) is None
    assert told(model("a"), layer("k", "a gone")) is None  # one renamed node is none too many


def test_another_model() -> None:
    found = told(model("x", "y"), layer("a"), layer("b"))
    assert found is not None
    assert found.code == "W-ONNX-NO-MATCH"
    assert "0 of 2 layers of net were made from nodes of model.onnx" in found.message
    assert found.evidence["layers"] == 2


def test_a_model_of_which_a_few_names_fit_by_chance() -> None:
    found = told(model("a", "x"), layer("k", "a p q"))
    assert found is not None
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
