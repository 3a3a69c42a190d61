from __future__ import annotations

import pytest

from enginescope.analysis.graph.plan_graph import GraphNode
from enginescope.analysis.layers.layer_table import attribute
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.tensor import DataType, Layout, Tensor
from enginescope.render.graph.node_labels import Times, face_of, shortened, tensor_text, times_of

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


def test_quantising_reformats_say_so() -> None:
    same = tensor(DataType.FP32, LINEAR)
    assert face_of(reformat(same, same, Origin="QDQ"), None).heading == "Reformat (Q/DQ)"
    bare = Layer(index=0, name="copy", type="Reformat")
    node = GraphNode(id=0, kind="layer", name="copy", layer=bare)
    assert face_of(node, None).lines == ("copy",)


def test_a_tensor_as_text() -> None:
    assert tensor_text(tensor(DataType.FP16, PACKED)) == "1×?×4 FP16 NHWC8"
    assert tensor_text(Tensor(name="t")) == ""


@pytest.mark.parametrize("number", [1, 2, 3, 4, 11, 22])
def test_uses_of_a_region_are_counted(number: int) -> None:
    node = GraphNode(id=0, kind="tensor", name="t", tensor=Tensor(name="t"), generation=number - 1)
    wanted = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 22: "22nd"}
    assert face_of(node, None).heading == f"region, {wanted[number]} use"


def test_times_count_all_but_containers() -> None:
    plan = Plan(name="p", layers=(Layer(index=7, name="a"), Layer(index=8, name="b")))
    layers = (
        LayerTiming(index=0, name="a", mean_ms=1.0),
        LayerTiming(index=1, name="gone", mean_ms=3.0),
        LayerTiming(index=2, name="b", mean_ms=9.0, is_container=True),
    )
    times = times_of(attribute(plan, Profile(source="trtexec", layers=layers)))
    assert times == Times(mean_ms={7: 1.0, 8: 9.0}, sum_ms=4.0)
    assert times is not None
    assert times.share_pct(7) == 25.0
    assert times.share_pct(1) is None
    assert times_of(None) is None
    assert times_of(attribute(plan, Profile(source="trtexec", layers=()))) is None


def test_shortening() -> None:
    assert shortened("short", 5) == "short"
    assert shortened("abcdefghij", 5) == "ab…ij"
