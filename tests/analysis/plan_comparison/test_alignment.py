import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison.alignment import align
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Alignment, Evidence, Layer, LayerPair, Plan
from enginescope.records.tensor import DataType, Tensor

TREX = "trex-examples"


def layer(
    index: int, name: str, reads: list[Tensor], write: Tensor, type_: str = "Convolution", **more
) -> Layer:
    return Layer(index=index, name=name, type=type_, inputs=tuple(reads), outputs=(write,), **more)


def tensor(name: str, *shape: int, dtype: DataType = DataType.FP32) -> Tensor:
    return Tensor(name=name, shape=shape, dtype=dtype)


def chain(widths: list[int], *, prefix: str = "conv", batch: int = 1) -> Plan:
    """Convolutions one after the other, each of its own width."""
    layers, flow = [], tensor("image", batch, 3, 8, 8)
    for index, width in enumerate(widths):
        write = tensor(f"t{index}", batch, width, 8, 8)
        layers.append(layer(index, f"{prefix}.{index}/x", [flow], write))
        flow = write
    return Plan(name="chain", layers=tuple(layers))


def renamed(plan: Plan, prefix: str) -> Plan:
    def other(one: Tensor) -> Tensor:
        return replace(one, name=prefix + one.name)

    return replace(
        plan,
        layers=tuple(
            replace(
                one,
                name=f"{prefix}/{one.index}x",
                inputs=tuple(map(other, one.inputs)),
                outputs=tuple(map(other, one.outputs)),
            )
            for one in plan.layers
        ),
    )


def without(plan: Plan, *indices: int) -> Plan:
    return replace(plan, layers=tuple(one for one in plan.layers if one.index not in indices))


def index_pairs(found: Alignment) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(one.a, one.b) for one in found.pairs]


def one_to_one(found: Alignment) -> list[tuple[int, int]]:
    assert not any(one.is_group for one in found.pairs)
    return [(one.a[0], one.b[0]) for one in found.pairs]


def check_whole(found: Alignment) -> None:
    """Every active layer in one pair or unmatched, and nothing else."""
    for side, plan in (("a", found.plan_a), ("b", found.plan_b)):
        paired = [index for pair in found.pairs for index in getattr(pair, side)]
        seen = Counter([*paired, *getattr(found, f"only_{side}")])
        assert seen == Counter(one.index for one in plan.active_layers)
    assert all(one.a and one.b and 0 < one.score <= 1 for one in found.pairs)
    assert all(list(side) == sorted(side) for one in found.pairs for side in (one.a, one.b))


def check_symmetric(a: Plan, b: Plan) -> None:
    there, back = align(a, b), align(b, a)
    turned = {(one.b, one.a, one.evidence, one.score) for one in back.pairs}
    assert {(one.a, one.b, one.evidence, one.score) for one in there.pairs} == turned
    assert (there.only_a, there.only_b) == (back.only_b, back.only_a)


def test_a_plan_with_itself_with_nothing_and_under_other_names() -> None:
    plan = chain([4, 4, 4, 8])
    found = align(plan, plan)
    assert one_to_one(found) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert {one.evidence for one in found.pairs} == {Evidence.NAME}
    assert {one.score for one in found.pairs} == {1.0}
    empty = Plan(name="empty", layers=())
    assert align(empty, empty).pairs == ()
    found = align(chain([4]), empty)
    assert (found.pairs, found.only_a, found.only_b) == ((), (0,), ())
    plan = chain([4, 4, 4, 8, 4, 4])
    found = align(plan, renamed(plan, "other"))
    assert one_to_one(found) == [(one, one) for one in range(6)]
    assert {one.evidence for one in found.pairs} == {Evidence.STRUCTURE}
    small, large = chain([4, 8]), renamed(chain([4, 8], batch=32), "other")
    assert one_to_one(align(small, large)) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("dropped", [(0,), (3,), (7,), (1, 2), (0, 4, 7)])
@pytest.mark.parametrize("names", ["kept", "other"])
def test_dropped_layers_are_left_over(dropped: tuple[int, ...], names: str) -> None:
    plan = chain([4, 5, 6, 7, 8, 9, 10, 11])
    fewer = without(plan, *dropped)
    found = align(plan, fewer if names == "kept" else renamed(fewer, "other"))
    kept = [one for one in range(8) if one not in dropped]
    assert (one_to_one(found), found.only_a) == ([(one, one) for one in kept], dropped)
    assert found.only_b == ()


def test_reordered_layers_are_found_by_name_and_swapped_ones_by_shape() -> None:
    plan = chain([4, 4, 4, 4])
    turned = replace(
        plan,
        layers=tuple(replace(one, index=index) for index, one in enumerate(reversed(plan.layers))),
    )
    assert one_to_one(align(plan, turned)) == [(0, 3), (1, 2), (2, 1), (3, 0)]
    a = chain([4, 5, 6, 7])
    order = [0, 2, 1, 3]
    b = replace(
        a, layers=tuple(replace(a.layers[one], index=place) for place, one in enumerate(order))
    )
    assert one_to_one(align(a, renamed(b, "other"))) == [(0, 0), (1, 2), (2, 1), (3, 3)]


def test_fused_layers_are_one_group_by_their_nodes() -> None:
    image, mid = tensor("image", 1, 3, 8, 8), tensor("mid", 1, 4, 8, 8)
    low, out = tensor("low", 1, 4, 4, 4), tensor("out", 1, 4, 4, 4)
    apart = Plan(
        name="a",
        layers=(
            layer(0, "/conv", [image], mid, onnx_nodes=("/conv",)),
            layer(1, "/relu", [mid], low, "PointWise", onnx_nodes=("/relu",)),
            layer(2, "/last", [low], out, onnx_nodes=("/last",)),
        ),
    )
    fused = Plan(
        name="b",
        layers=(
            layer(0, "/conv + /relu", [image], low, onnx_nodes=("/conv", "/relu")),
            layer(1, "/last", [low], out, onnx_nodes=("/last",)),
        ),
    )
    found = align(apart, fused)
    assert index_pairs(found) == [((0, 1), (0,)), ((2,), (1,))]
    assert found.pairs[0] == LayerPair(a=(0, 1), b=(0,), evidence=Evidence.ONNX_NODES, score=1.0)
    assert found.pairs[0].is_group
    assert not found.pairs[1].is_group
    check_symmetric(apart, fused)


def test_the_name_that_other_nodes_bear_is_none() -> None:
    """Myelin numbers its kernels: the same name may be another kernel."""
    one, two = tensor("one", 1, 4), tensor("two", 1, 4)

    def plan(nodes: list[str]) -> Plan:
        return Plan(
            name="p",
            layers=tuple(
                layer(index, f"__myl_Add_myl0_{index}", [one], two, "kgen", onnx_nodes=(node,))
                for index, node in enumerate(nodes)
            ),
        )

    found = align(plan(["/a", "/b"]), plan(["/b", "/a"]))
    assert one_to_one(found) == [(0, 1), (1, 0)]
    assert {one.evidence for one in found.pairs} == {Evidence.ONNX_NODES}


def test_numbers_of_another_export_mean_nothing() -> None:
    widths = [4, 5, 6, 7, 8, 9]

    def numbered(first: int) -> Plan:
        plan = chain(widths)
        return replace(
            plan,
            layers=tuple(replace(one, name=f"Conv_{first + one.index}") for one in plan.layers),
        )

    found = align(numbered(0), numbered(2))
    assert one_to_one(found) == [(one, one) for one in range(6)]
    assert {one.evidence for one in found.pairs} == {Evidence.STRUCTURE}
    assert {one.evidence for one in align(numbered(0), without(numbered(0), 2)).pairs} == {
        Evidence.NAME
    }


def test_names_alone_and_inert_layers() -> None:
    plan = chain([4, 5, 6])
    quiet = replace(
        plan,
        layers=tuple(replace(one, type="NoOp") if one.index == 1 else one for one in plan.layers),
    )
    found = align(quiet, quiet)
    assert one_to_one(found) == [(0, 0), (2, 2)]
    assert found.only_a == ()

    def names(*given: str) -> Plan:
        layers = tuple(Layer(index=index, name=name) for index, name in enumerate(given))
        return Plan(name="p", layers=layers, source_schema="names-only")

    found = align(names("/a", "/b + /c", "/d"), names("/b", "/c", "/d", "/e"))
    assert index_pairs(found) == [((1,), (0, 1)), ((2,), (2,))]
    assert (found.only_a, found.only_b) == ((0,), (3,))


WIDTHS = st.lists(st.sampled_from([4, 8, 16]), min_size=1, max_size=14)


@settings(deadline=None)
@given(WIDTHS, WIDTHS, st.booleans())
def test_any_two_plans(left: list[int], right: list[int], same_names: bool) -> None:
    a, b = chain(left), chain(right)
    b = b if same_names else renamed(b, "other")
    check_whole(align(a, b))
    check_symmetric(a, b)


@settings(deadline=None)
@given(WIDTHS, st.data())
def test_layers_that_stay_find_themselves_by_name(widths: list[int], data: st.DataObject) -> None:
    plan = chain(widths)
    dropped = data.draw(st.sets(st.sampled_from(range(len(widths)))))
    found = align(plan, without(plan, *dropped))
    check_whole(found)
    by_name = {(one.a, one.b) for one in found.pairs if one.evidence is Evidence.NAME}
    kept = {((one,), (one,)) for one in range(len(widths)) if one not in dropped}
    in_group = {one for pair in found.pairs if pair.is_group for one in pair.b}
    assert by_name == {one for one in kept if one[1][0] not in in_group}


@settings(deadline=None)
@given(WIDTHS)
def test_a_renamed_plan_is_found_whole(widths: list[int]) -> None:
    plan = chain(widths)
    found = align(plan, renamed(plan, "other"))
    assert one_to_one(found) == [(one, one) for one in range(len(widths))]


# --- real plans ----------------------------------------------------------------------------------


def real(shared: Path, name: str) -> Plan:
    path = shared / f"{name}.graph.json"
    return parse_plan(path.read_bytes(), name)[0]


@pytest.mark.parametrize(
    ("number", "one", "other"),
    [
        (0, "mobilenet.qat.onnx.engine", "mobilenet_v2_residuals.qat.onnx.engine"),
        (1, "resnet18-a100-fp32.engine", "resnet18-a100-fp16.engine"),
    ],
)
def test_pairs_of_the_goldens(shared: Path, number: int, one: str, other: str) -> None:
    golden = json.loads((shared / "goldens.json").read_bytes())["comparisons"][number]
    expected = golden["exact=True"]
    a, b = real(shared, f"{TREX}/{one}"), real(shared, f"{TREX}/{other}")
    found = align(a, b)
    place_a = {layer.index: place for place, layer in enumerate(a.active_layers)}
    place_b = {layer.index: place for place, layer in enumerate(b.active_layers)}
    pairs = {(place_a[i], place_b[j]) for i, j in one_to_one(found)}
    assert pairs >= {(i, j) for i, j in expected["pairs"] if i is not None and j is not None}
    assert len(found.only_a) <= expected["only_1"]
    assert len(found.only_b) <= expected["only_2"]
    check_whole(found)
    check_symmetric(a, b)


def is_convolution(layer: Layer) -> bool:
    return layer.type in ("Convolution", "ConvActPool")


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        (f"{TREX}/mobilenet.qat.onnx.engine", f"{TREX}/mobilenet_v2_residuals.qat.onnx.engine", 57),
        (f"{TREX}/resnet18-a100-fp32.engine", f"{TREX}/resnet18-a100-fp16.engine", 23),
        (f"{TREX}/resnet18-a100-fp16.engine", f"{TREX}/resnet18-a100-qat-residual.engine", 23),
        (f"{TREX}/resnet18-a100-fp32.engine", f"{TREX}/resnet18-a100-qat-residual.engine", 22),
        (f"{TREX}/resnet18-a100-fp16.engine", "trt10-rtx3060/resnet18_fp16", 24),
        (f"{TREX}/resnet18-a100-qat-residual.engine", "trt86-h200/resnet18", 24),
        ("trt10-rtx3060/resnet18_fp16", "trt86-h200/resnet18", 24),
    ],
)
def test_all_convolutions_of_one_network_are_paired(shared, one, other, least) -> None:
    a, b = real(shared, one), real(shared, other)
    found = align(a, b)
    assert len(found.pairs) >= least
    for plan, only in ((a, found.only_a), (b, found.only_b)):
        left = {layer.index: layer for layer in plan.layers if layer.index in only}
        assert not any(is_convolution(layer) for layer in left.values())
    for pair in found.pairs:
        ends = [
            {layer.outputs[0].shape[1] for layer in plan.layers if layer.index in side}
            for plan, side in ((a, pair.a), (b, pair.b))
        ]
        assert ends[0] & ends[1] or pair.evidence is Evidence.NEIGHBOURHOOD
    check_whole(found)
    check_symmetric(a, b)


def test_blocks_and_gemms_are_paired_across_versions(shared: Path) -> None:
    """In QAT the shortcut's convolution runs before the second one of the block, in FP16 after."""
    a = real(shared, f"{TREX}/resnet18-a100-fp16.engine")
    b = real(shared, f"{TREX}/resnet18-a100-qat-residual.engine")
    names_a = {layer.index: layer.name for layer in a.layers}
    names_b = {layer.index: layer.name for layer in b.layers}
    found = {
        " | ".join(names_a[one] for one in pair.a): " | ".join(names_b[one] for one in pair.b)
        for pair in align(a, b).pairs
    }
    assert "layer2.0.conv2.weight" in found["Conv_15"]
    assert "layer2.0.downsample.0.weight" in found["Conv_16 + Add_17 + Relu_18"]
    assert "layer4.1.conv2.weight" in found["Conv_43 + Add_44 + Relu_45"]
    assert "MaxPool_12" in found["Conv_0 + Relu_1 | MaxPool_2"]
    assert "Gemm_305" in found["Gemm_48"]
    a = real(shared, "trt10-rtx3060/alexnet_fp16")
    path = shared / "trt10-rtx3060" / "alexnet_torch_tensorrt.engine_info.json"
    b = parse_plan(path.read_bytes(), path.name)[0]
    by_nodes = [one for one in align(a, b).pairs if one.evidence is Evidence.ONNX_NODES]
    types = [(a.layers[one.a[0]].type, b.layers[one.b[0]].type) for one in by_nodes]
    assert types == [("gemm", "Convolution")] * 3
