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
from enginescope.records.run.job import BackendSpec
from enginescope.records.tensor import DataType, Layout, Tensor
from tests.formats import plans


def tensor(*shape, dtype=DataType.FP16, layout=None) -> Tensor:
    return Tensor(name="t", shape=shape, dtype=dtype, layout=layout)


def test_bytes_of_tensors_layouts_and_weights() -> None:
    assert tensor(1, 3, 224, 224).nbytes == 2 * 3 * 224 * 224
    assert tensor(3, dtype=DataType.INT4).nbytes == 2
    assert tensor(dtype=DataType.BOOL).nbytes == 1
    chw32 = Layout(name="NC/32HW32", text="", vector_axis=1, vector_width=32)
    assert tensor(1, 3, 8, 8, dtype=DataType.INT8, layout=chw32).padded_nbytes == 32 * 64
    assert tensor(1, 64, 8, 8, dtype=DataType.INT8, layout=chw32).padded_nbytes == 64 * 64
    assert tensor(1, 3, 8, 8, layout=Layout(name="NCHW", text="")).padded_nbytes == 2 * 3 * 64
    wide = Layout(name="x", text="", vector_axis=1, vector_width=32)
    assert tensor(1, None, 8, layout=wide).padded_nbytes is None
    assert tensor(7, layout=wide).padded_nbytes == 14
    assert Weights(role="Weights", dtype=DataType.FP32, count=10).nbytes == 40
    assert Weights(role="Weights", count=10).nbytes is None
    assert Weights(role="Weights", dtype=DataType.FP32).nbytes is None
    assert [one for one in DataType if one.bits is None] == [DataType.STRING]


@pytest.mark.parametrize(
    "unknown",
    [tensor(1, None), tensor(2, dtype=None), tensor(2, dtype=DataType.STRING), Tensor(name="t")],
)
def test_unknown_is_none_not_zero(unknown: Tensor) -> None:
    assert unknown.nbytes is None
    assert unknown.padded_nbytes is None


@pytest.mark.parametrize(
    ("options", "index"), [({}, None), ({"profile_index": "2"}, 2), ({"profile_index": "0"}, 0)]
)
def test_the_optimisation_profile_asked_for(options, index) -> None:
    assert BackendSpec(name="trt", options=options).profile_index == index


MANY = (
    *(Layer, Weights, Tensor, Layout, LayerTiming, AttributedLayer, LayerPair),
    *(ExploredLayer, LayerRow, LayerBytes, LayerWork, MatrixProduct),
    *(GraphNode, GraphEdge),
)


@pytest.mark.parametrize("kind", MANY, ids=lambda kind: str(kind.__name__))
def test_objects_of_large_plans_are_no_work_for_the_cycle_collector(kind: type[Record]) -> None:
    assert kind.__struct_config__.gc is False


def test_a_plan_is_gone_without_a_collection_once_it_is_dropped() -> None:
    gc.collect()
    gc.disable()
    try:
        parse_plan(plans.encoded(plans.tensorrt_8_4()), "plan.json")
        assert gc.collect() == 0
    finally:
        gc.enable()
