from enginescope.analysis.onnx.onnx_map import map_onnx, with_onnx_work
from enginescope.analysis.roofline.layer_work import LayerWork
from enginescope.formats.onnx.onnx_graph import OnnxGraph, OnnxNode
from enginescope.records.plan.plan import Layer, Plan

#: A product of 630 multiply-accumulates.
SHAPES = {"a": (3, 6, 7), "b": (7, 5), "c": (3, 6, 5)}


def graph(*kinds: str) -> OnnxGraph:
    """Nodes n0, n1, …: products, and what follows them."""
    nodes = tuple(
        OnnxNode(index=i, name=f"n{i}", op_type=kind, inputs=("a", "b"), outputs=("c",))
        for i, kind in enumerate(kinds)
    )
    return OnnxGraph(name="g", nodes=nodes, shapes=SHAPES)


def works(model: OnnxGraph, *layers: tuple[str, str, int | None]) -> list[LayerWork]:
    """Work of layers given as (type, nodes, multiply-accumulates that the plan tells)."""
    plan = Plan(
        name="p",
        layers=tuple(
            Layer(index=i, name=f"l{i}", type=kind, onnx_nodes=tuple(nodes.split()))
            for i, (kind, nodes, _) in enumerate(layers)
        ),
    )
    told = [LayerWork(macs=macs, source="plan" if macs else None) for _, _, macs in layers]
    return list(with_onnx_work(plan, told, model, map_onnx(plan, model)))


def test_a_layer_that_says_nothing_has_its_nodes_work_once() -> None:
    (found,) = works(graph("MatMul", "Relu", "MatMul"), ("kgen", "n0 n1 n2", None))
    assert (found.macs, found.source, found.is_shared) == (2 * 630, "onnx", False)
    found = works(
        graph("MatMul"), ("kgen", "n0", None), ("kgen", "n0", None), ("Reformat", "n0", None)
    )
    assert [(one.macs, one.is_shared) for one in found] == [(315, True), (315, True), (None, False)]
    first, second = works(graph("MatMul", "Relu"), ("gemm", "n0", 630), ("kgen", "n0 n1", None))
    assert (first.macs, first.source) == (630, "plan")
    assert (second.macs, second.source) == (0, "onnx")
    first, second = works(graph("MatMul"), ("NoOp", "n0", None), ("kgen", "n0", None))
    assert (first.macs, second.macs, second.is_shared) == (None, 630, False)
    found = works(graph("LSTM", "MatMul"), ("kgen", "n0 n1", None), ("kgen", "", None))
    assert [one.macs for one in found] == [None, None]
