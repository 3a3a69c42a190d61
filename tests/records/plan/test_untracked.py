"""Objects that large plans have by the hundred thousand are no work for the cycle collector."""

import gc

import pytest

from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode
from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.analysis.plans.plan_view import ExploredLayer
from enginescope.analysis.roofline.layer_work import LayerBytes, LayerWork
from enginescope.analysis.roofline.matrix_product import MatrixProduct
from enginescope.core.record import Record
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import AttributedLayer, Layer, LayerPair, LayerTiming, Weights
from enginescope.records.tensor import Layout, Tensor
from tests.formats import plans

MANY = (
    *(Layer, Weights, Tensor, Layout, LayerTiming, AttributedLayer, LayerPair),
    *(ExploredLayer, LayerRow, LayerBytes, LayerWork, MatrixProduct),
    *(GraphNode, GraphEdge),
)


@pytest.mark.parametrize("kind", MANY, ids=lambda kind: str(kind.__name__))
def test_it_is_declared_so(kind: type[Record]) -> None:
    assert kind.__struct_config__.gc is False


def test_a_plan_is_gone_without_a_collection_once_it_is_dropped() -> None:
    gc.collect()
    gc.disable()
    try:
        parse_plan(plans.encoded(plans.tensorrt_8_4()), "plan.json")
        assert gc.collect() == 0
    finally:
        gc.enable()
