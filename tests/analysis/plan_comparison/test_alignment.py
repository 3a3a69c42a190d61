import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison import alignment_matching
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.core.record import replace
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.records.plan.plan import Alignment, Evidence, Layer, LayerPair, Plan
from enginescope.records.tensor import Tensor
from tests.analysis.card_plans import layer, tensor
from tests.formats import plans

TREX = "trex-examples"


def chain(widths: list[int], *, batch: int = 1, side: int = 8) -> Plan:
    """Convolutions one after the other, each of its own width."""
    layers, flow = [], tensor("image", batch, 3, side, side)
    for index, width in enumerate(widths):
        write = tensor(f"t{index}", batch, width, side, side)
        layers.append(layer(index, f"conv.{index}/x", "Convolution", [flow], [write]))
        flow = write
    return Plan(name="chain", layers=tuple(layers))


def changed(plan: Plan, change: Callable[[Layer], Layer]) -> Plan:
    return replace(plan, layers=tuple(map(change, plan.layers)))


def renamed(plan: Plan) -> Plan:
    def others(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(replace(one, name=f"other{one.name}") for one in tensors)

    def other(one: Layer) -> Layer:
        ends = {"inputs": others(one.inputs), "outputs": others(one.outputs)}
        return replace(one, name=f"other/{one.index}x", **ends)

    return changed(plan, other)


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
    small, large = chain([4, 8]), renamed(chain([4, 8], batch=32))
    assert one_to_one(align(small, large)) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("dropped", [(0,), (3,), (7,), (1, 2), (0, 4, 7)])
@pytest.mark.parametrize("names", ["kept", "other"])
def test_dropped_layers_are_left_over(dropped: tuple[int, ...], names: str) -> None:
    plan = chain([4, 5, 6, 7, 8, 9, 10, 11])
    fewer = without(plan, *dropped)
    found = align(plan, fewer if names == "kept" else renamed(fewer))
    kept = [one for one in range(8) if one not in dropped]
    assert (one_to_one(found), found.only_a) == ([(one, one) for one in kept], dropped)
    assert found.only_b == ()


def reordered(plan: Plan, *order: int) -> Plan:
    layers = (replace(plan.layers[one], index=place) for place, one in enumerate(order))
    return replace(plan, layers=tuple(layers))


def test_reordered_layers_are_found_by_name_and_swapped_ones_by_shape() -> None:
    plan = chain([4, 4, 4, 4])
    assert one_to_one(align(plan, reordered(plan, 3, 2, 1, 0))) == [(0, 3), (1, 2), (2, 1), (3, 0)]
    plan = chain([4, 5, 6, 7])
    swapped = renamed(reordered(plan, 0, 2, 1, 3))
    assert one_to_one(align(plan, swapped)) == [(0, 0), (1, 2), (2, 1), (3, 3)]


def test_fused_layers_are_one_group_by_their_nodes() -> None:
    image, mid = tensor("image", 1, 3, 8, 8), tensor("mid", 1, 4, 8, 8)
    low, out = tensor("low", 1, 4, 4, 4), tensor("out", 1, 4, 4, 4)

    def plan(*layers: tuple[str, Tensor, Tensor]) -> Plan:
        made = (
            layer(at, name, "conv", [read], [write], onnx_nodes=tuple(name.split(" + ")))
            for at, (name, read, write) in enumerate(layers)
        )
        return Plan(name="p", layers=tuple(made))

    apart = plan(("/conv", image, mid), ("/relu", mid, low), ("/last", low, out))
    fused = plan(("/conv + /relu", image, low), ("/last", low, out))
    found = align(apart, fused)
    assert index_pairs(found) == [((0, 1), (0,)), ((2,), (1,))]
    assert found.pairs[0] == LayerPair(a=(0, 1), b=(0,), evidence=Evidence.ONNX_NODES, score=1.0)
    assert [one.is_group for one in found.pairs] == [True, False]
    check_symmetric(apart, fused)


def test_the_name_that_other_nodes_bear_is_none() -> None:
    """Myelin numbers its kernels: the same name may be another kernel."""
    ends = [tensor("one", 1, 4)], [tensor("two", 1, 4)]

    def plan(*nodes: str) -> Plan:
        kernels = (
            layer(at, f"__myl_Add_myl0_{at}", "kgen", *ends, onnx_nodes=(node,))
            for at, node in enumerate(nodes)
        )
        return Plan(name="p", layers=tuple(kernels))

    found = align(plan("/a", "/b"), plan("/b", "/a"))
    assert one_to_one(found) == [(0, 1), (1, 0)]
    assert {one.evidence for one in found.pairs} == {Evidence.ONNX_NODES}


def test_numbers_of_another_export_mean_nothing() -> None:
    def numbered(first: int) -> Plan:
        plan = chain([4, 5, 6, 7, 8, 9])
        return changed(plan, lambda one: replace(one, name=f"Conv_{first + one.index}"))

    found = align(numbered(0), numbered(2))
    assert one_to_one(found) == [(one, one) for one in range(6)]
    assert {one.evidence for one in found.pairs} == {Evidence.STRUCTURE}
    found = align(numbered(0), without(numbered(0), 2))
    assert {one.evidence for one in found.pairs} == {Evidence.NAME}


def test_names_alone_and_inert_layers() -> None:
    quiet = changed(chain([4, 5, 6]), lambda it: replace(it, type="NoOp") if it.index == 1 else it)
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
    b = b if same_names else renamed(b)
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
    found = align(plan, renamed(plan))
    assert one_to_one(found) == [(one, one) for one in range(len(widths))]
    assert {one.evidence for one in found.pairs} == {Evidence.STRUCTURE}


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
    a, b = plans.recorded(shared, one), plans.recorded(shared, other)
    found = align(a, b)
    assert len(found.pairs) >= least
    for plan, only in ((a, found.only_a), (b, found.only_b)):
        left = {layer.type for layer in plan.layers if layer.index in only}
        assert left.isdisjoint({"Convolution", "ConvActPool"})
        if "resnet18-a100" in one and "resnet18-a100" in other:
            assert left <= {"Reformat"}
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
    a, b = (
        plans.recorded(shared, f"{TREX}/resnet18-a100-{one}.engine")
        for one in ("fp16", "qat-residual")
    )

    def names(plan: Plan, indices: tuple[int, ...]) -> str:
        return " | ".join(layer.name for layer in plan.layers if layer.index in indices)

    found = {names(a, pair.a): names(b, pair.b) for pair in align(a, b).pairs}
    for name, other in (
        ("Conv_15", "layer2.0.conv2.weight"),
        ("Conv_16 + Add_17 + Relu_18", "layer2.0.downsample.0.weight"),
        ("Conv_43 + Add_44 + Relu_45", "layer4.1.conv2.weight"),
        ("Conv_0 + Relu_1 | MaxPool_2", "MaxPool_12"),
        ("Gemm_48", "Gemm_305"),
    ):
        assert other in found[name]
    a = plans.recorded(shared, "trt10-rtx3060/alexnet_fp16")
    path = shared / "trt10-rtx3060" / "alexnet_torch_tensorrt.engine_info.json"
    b = parse_plan(path.read_bytes(), path.name)[0]
    by_nodes = [one for one in align(a, b).pairs if one.evidence is Evidence.ONNX_NODES]
    types = [(a.layers[one.a[0]].type, b.layers[one.b[0]].type) for one in by_nodes]
    assert types == [("gemm", "Convolution")] * 3


def heaviest(score: list[list[int]]) -> int:
    """The largest sum of a rising path, by trying every cell."""
    best = [[0] * (len(score[0]) + 1) for _ in range(len(score) + 1)]
    for i, row in enumerate(score):
        for j, worth in enumerate(row):
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], best[i][j] + worth)
    return best[-1][-1]


@settings(deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from([0, 0, 40, 70, 80]), min_size=width, max_size=width),
            min_size=1,
            max_size=6,
        )
    )
)
def test_the_path_has_the_largest_sum(score: list[list[int]]) -> None:
    path = alignment_matching._best_path(np.array(score, dtype=np.int32))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(path))
    assert all(score[row][column] > 0 for row, column in path)
    assert sum(score[row][column] for row, column in path) == heaviest(score)


@pytest.mark.parametrize("seed", [1, 2])
def test_windows_find_what_one_table_finds(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    drawn = random.Random(seed)
    plan = chain([drawn.choice([4, 8, 16, 32]) for _ in range(700)])
    fewer = renamed(without(plan, *drawn.sample(range(700), 60)))
    whole = align(plan, fewer)
    monkeypatch.setattr(alignment_matching, "WINDOW", 128)
    found = align(plan, fewer)
    check_whole(found)
    check_symmetric(plan, fewer)
    assert found.only_b == whole.only_b == ()
    assert sum(one.a == one.b for one in found.pairs) >= 0.98 * len(fewer.layers)


def test_a_long_run_that_one_side_lacks_and_no_likeness_are_no_pairs() -> None:
    tail = [8, 16] * 100
    found = align(chain([4] * 900 + tail), renamed(chain(tail)))
    assert len(found.pairs) >= len(tail) - 1
    found = align(chain([4, 5]), renamed(chain([40, 50, 60])))
    assert found.pairs == ()


def test_repeated_names_count_in_order_and_other_resolutions_by_channels() -> None:
    same = changed(chain([4, 8, 16, 8]), lambda one: replace(one, name="again/x"))
    found = align(same, without(same, 1))
    assert [(one.a, one.b) for one in found.pairs] == [((0,), (0,)), ((2,), (2,)), ((3,), (3,))]
    assert {one.evidence for one in found.pairs} == {Evidence.NAME}
    assert {one.score for one in found.pairs} == {0.9}
    found = align(chain([4, 8]), renamed(chain([4, 8], side=16)))
    assert [(one.a, one.b) for one in found.pairs] == [((0,), (0,)), ((1,), (1,))]
    assert all(one.score < 0.6 for one in found.pairs)


def fan(widths: list[int]) -> Plan:
    """Layers side by side, each of its own width."""
    image = tensor("image", 1, 3, 8, 8)
    layers = (
        layer(at, f"fan.{at}/x", "Convolution", [image], [tensor(f"t{at}", 1, width, 8, 8)])
        for at, width in enumerate(widths)
    )
    return Plan(name="fan", layers=tuple(layers))


@pytest.mark.parametrize(("away", "pairs"), [(alignment_matching.SLACK, 13), (12, 12)])
def test_what_moved_is_found_only_near(away: int, pairs: int) -> None:
    rest = list(range(4, 16))
    a, b = [99, *rest], [*rest[:away], 99, *rest[away:]]
    forth, back = ((fan(x), renamed(fan(y))) for x, y in ((a, b), (b, a)))
    assert len(align(*forth).pairs) == len(align(*back).pairs) == pairs
    assert align(*forth).only_a == align(*back).only_b == ((0,) if pairs == 12 else ())
