import json

import onnx
import pytest

from enginescope.analysis.onnx.onnx_map import NodeCost, OnnxMap, model_explorer_data, node_notes
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode, annotated_onnx, read_onnx_graph
from enginescope.records.plan.plan import Layer, Plan

PLAN = Plan(name="p", layers=(Layer(index=0, name="first"), Layer(index=1, name="second")))
GRAPH = OnnxGraph(
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


def links(*costs: NodeCost) -> OnnxMap:
    return OnnxMap(links=(), costs=costs, unmatched_layers=(), unmatched_nodes=(), unknown_names=())


COSTS = links(
    NodeCost(node=0, positions=(0, 1), time_ms=0.75, is_shared=True),
    NodeCost(node=1, positions=(1,), time_ms=0.25),
    NodeCost(node=2, positions=(1,), time_ms=1.0),
    NodeCost(node=3, positions=(0,)),
    NodeCost(node=4, positions=(0,), time_ms=0.0),
)


def test_notes_into_a_model(convnet) -> None:
    notes = node_notes(COSTS, PLAN)
    assert notes[0] == {
        "enginescope.layers": "first\nsecond",
        "enginescope.shared": "true",
        "enginescope.time_ms": "0.75",
        "enginescope.share_pct": "37.5",
    }
    assert notes[1]["enginescope.shared"] == "false"
    assert notes[3] == {"enginescope.layers": "first", "enginescope.shared": "false"}
    still = node_notes(links(NodeCost(node=0, positions=(0,), time_ms=0.0)), PLAN)
    assert "enginescope.share_pct" not in still[0]
    graph = read_onnx_graph(convnet)
    cost = NodeCost(node=3, positions=(0,), time_ms=0.5)
    proto = onnx.load_from_string(annotated_onnx(convnet, node_notes(links(cost), PLAN)))
    notes = {one.key: one.value for one in proto.graph.node[3].metadata_props}
    assert proto.graph.node[3].name == graph.nodes[3].name
    assert notes["enginescope.time_ms"] == "0.5"
    onnx.checker.check_model(proto)


def test_model_explorer() -> None:
    found = json.loads(json.dumps(model_explorer_data(COSTS, GRAPH)))
    assert set(found) == {"main"}
    assert found["main"]["results"] == {"conv": {"value": 0.75}, "r": {"value": 0.25}}
    stops = [one["stop"] for one in found["main"]["gradient"]]
    assert stops == sorted(stops)
    assert (stops[0], stops[-1]) == (0, 1)


@pytest.mark.parametrize("costs", [links(), links(NodeCost(node=0, positions=(0,)))])
def test_without_times(costs: OnnxMap) -> None:
    assert model_explorer_data(costs, GRAPH)["main"]["results"] == {}
