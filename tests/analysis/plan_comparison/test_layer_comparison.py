import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.analysis.plan_comparison import comparison
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plan_comparison.layer_changes import (
    Cause,
    ComparedLayers,
    Relation,
    cause_of,
    changes_between,
    layers_side,
)
from enginescope.core.record import replace
from enginescope.core.units import sum_known
from enginescope.records.plan.plan import Alignment, Evidence, Layer, LayerPair, Plan, Profile
from enginescope.records.tensor import Tensor
from tests.analysis.compared_plans import FP16, FP32, INT8, Network, network_a, network_b, tensor
from tests.formats import plans


def compared(
    a: Network, b: Network, *, extra_ms: tuple[float | None, float | None] = (None, None)
) -> comparison.LayerComparison:
    both = zip((a, b), extra_ms, strict=True)
    return comparison.compare_layers(*((one.plan("p"), one.profile(extra)) for one, extra in both))


def named(found: comparison.LayerComparison, name: str) -> ComparedLayers:
    return next(one for one in found.layers if one.a and name in one.a.names)


def check_sums(found: comparison.LayerComparison) -> None:
    """Layers and reasons both add up to the whole; every layer has one reason."""
    assert found.a_ms is not None
    assert found.b_ms is not None
    assert found.difference_ms == pytest.approx(found.b_ms - found.a_ms, abs=1e-12)
    reasons = [one.difference_ms or 0.0 for one in found.explanations]
    assert math.fsum(reasons) == pytest.approx(found.difference_ms, abs=1e-12)
    members = sorted(at for one in found.explanations for at in one.members)
    assert members == list(range(len(found.layers)))
    assert reasons == sorted(reasons, key=lambda ms: -abs(ms))
    for one in found.explanations:
        own = [found.layers[at].difference_ms or 0.0 for at in one.members]
        if one.cause is not Cause.OUTSIDE:
            assert math.fsum(own) == pytest.approx(one.difference_ms or 0.0, abs=1e-12)
    if abs(found.difference_ms) < 1e-9:
        assert all(one.share_pct is None for one in found.explanations)
    else:
        shares = [one.share_pct or 0.0 for one in found.explanations]
        assert math.fsum(shares) == pytest.approx(100, rel=1e-4)


def test_every_way_to_differ() -> None:
    found = compared(network_a(), network_b())
    check_sums(found)
    assert found.difference_ms == pytest.approx(-1.6875)
    assert {
        (one.cause, one.kind, one.detail): (len(one.members), one.difference_ms)
        for one in found.explanations
    } == {
        (Cause.PRECISION, "Convolution", "FP32 → FP16"): (1, -1.25),
        (Cause.REFORMAT_LOST, "Reformat", None): (1, -0.5),
        (Cause.FUSION, "Convolution + Pooling → ConvActPool", None): (1, -0.375),
        (Cause.REFORMAT_ADDED, "Reformat", None): (1, 0.25),
        (Cause.TACTIC, "Convolution", None): (1, 0.125),
        (Cause.NOTHING, None, None): (3, 0.0625),
    }
    fused = named(found, "conv2/x")
    assert (fused.relation, fused.a_ms, fused.b_ms) == (Relation.MERGED, 1.25, 0.875)
    assert fused.share_pct == pytest.approx(100 * 0.375 / 1.6875)
    assert fused.speedup == pytest.approx(1.25 / 0.875)
    assert [one.name for one in found.reformats_lost] == ["in/reformat"]
    assert [one.conversion for one in found.reformats_added] == ["FP16 NCHW → FP32 NCHW"]


def test_duplicate_names_equal_plans_and_empty_plans_add_nothing() -> None:
    found = compared(network_a(), network_b())
    twins = [one for one in found.layers if one.a and one.a.names == ("same/x",)]
    assert [(one.a_ms, one.b_ms) for one in twins] == [(0.75, 0.75), (0.75, 0.8125)]
    found = compared(network_a(), network_a())
    check_sums(found)
    assert (found.difference_ms, found.difference_pct) == (0, 0)
    assert {one.cause for one in found.explanations} == {Cause.NOTHING}
    assert not any(one.is_changed or one.differs_by(0) for one in found.layers)
    assert all(one.share_pct is None for one in found.layers)
    nothing = (Plan(name="none", layers=()), plans.profile())
    found = comparison.compare_layers(nothing, nothing)
    assert (found.layers, found.explanations, found.difference_ms) == ((), (), None)
    a = network_a()
    times = plans.profile(("conv1/x", 1.0))
    found = comparison.compare_layers((a.plan("a"), times), (a.plan("b"), times))
    assert (found.difference_ms, named(found, "head/x").difference_ms) == (0, None)
    check_sums(found)


def test_exchanged_plans_give_the_mirror_image() -> None:
    there = compared(network_a(), network_b(), extra_ms=(0.5, None))
    back = compared(network_b(), network_a(), extra_ms=(None, 0.5))
    check_sums(there)
    check_sums(back)
    assert back.difference_ms == pytest.approx(-(there.difference_ms or 0))

    def sides(one: ComparedLayers) -> tuple:
        return (
            one.a.layers if one.a else None,
            one.b.layers if one.b else None,
            one.evidence,
            one.score,
            one.difference_ms,
            frozenset((change.what, change.a, change.b) for change in one.changes),
        )

    def mirrored(one: ComparedLayers) -> tuple:
        a, b, *why, ms, changes = sides(one)
        assert ms is not None
        return (b, a, *why, -ms, frozenset((what, right, left) for what, left, right in changes))

    assert {sides(one) for one in there.layers} == {mirrored(one) for one in back.layers}
    turned = {Cause.REFORMAT_LOST: Cause.REFORMAT_ADDED, Cause.ONLY_A: Cause.ONLY_B}
    turned |= {value: key for key, value in turned.items()}
    causes = sorted(turned.get(one.cause, one.cause).value for one in back.explanations)
    assert causes == sorted(one.cause.value for one in there.explanations)
    assert there.reformats_lost == back.reformats_added


SOME = st.lists(
    st.tuples(
        st.sampled_from(("a/x", "b/x", "c/x", "twin/x", "e/x")),
        st.sampled_from(("Convolution", "Pooling", "Reformat", "gemm")),
        st.integers(1, 4),
        st.none() | st.floats(0, 10),
        st.sampled_from((FP32, FP16)),
    ),
    max_size=9,
)


def some_network(layers: list[tuple]) -> Network:
    made = Network()
    for name, kind, channels, ms, dtype in layers:
        made.add(name, kind, channels, ms, dtype=dtype)
    return made


@settings(max_examples=60, deadline=None)
@given(SOME, SOME, st.none() | st.floats(0, 5), st.none() | st.floats(0, 5))
def test_reasons_of_any_plans_add_up_and_turn_round(a, b, more_a, more_b) -> None:
    there = compared(some_network(a), some_network(b), extra_ms=(more_a, more_b))
    back = compared(some_network(b), some_network(a), extra_ms=(more_b, more_a))
    seen = [index for one in there.layers if one.a for index in one.a.layers]
    assert sorted(seen) == list(range(len(a)))
    assert (there.difference_ms is None) == (back.difference_ms is None)
    if there.difference_ms is not None:
        check_sums(there)
        check_sums(back)
        assert back.difference_ms == pytest.approx(-there.difference_ms, abs=1e-12)
        assert len(there.explanations) == len(back.explanations)


def test_times_outside_the_layers_or_on_one_side_are_named() -> None:
    found = compared(network_a(), network_b(), extra_ms=(0.5, 0.125))
    check_sums(found)
    (outside,) = [one for one in found.explanations if one.cause is Cause.OUTSIDE]
    assert (outside.a_ms, outside.b_ms, outside.difference_ms) == (0.5, 0.125, -0.375)
    assert outside.members == ()
    b = network_b()
    b.times[-2] = None  # still/x
    found = compared(network_a(), b)
    check_sums(found)
    still = named(found, "still/x")
    assert (still.b_ms, still.difference_ms, cause_of(still)) == (None, -0.125, Cause.ONE_SIDED)
    assert still.speedup is None
    assert still.differs_by(3)


@pytest.mark.parametrize("timed", [(False, False), (True, False), (False, True)])
def test_without_times_on_both_sides_the_structure_is_compared(timed) -> None:
    a, b = network_a(), network_b()
    sides = [
        (one.plan("x"), one.profile() if has else None)
        for one, has in zip((a, b), timed, strict=True)
    ]
    found = comparison.compare_layers(*sides)
    assert (found.difference_ms, found.difference_pct) == (None, None)
    assert all(one.difference_ms is None and one.share_pct is None for one in found.layers)
    assert all(one.difference_ms is None for one in found.explanations)
    assert len(found.explanations[0].members) == 3
    assert {cause_of(one) for one in found.layers} >= {Cause.FUSION, Cause.PRECISION}
    assert named(found, "conv1/x").a_ms == (2.0 if timed[0] else None)


def test_the_layers_that_changed_go_first_and_the_batch_before_the_precision() -> None:
    found = compared(network_a(1), network_b(8))
    check_sums(found)
    conv = named(found, "conv1/x")
    assert {one.what for one in conv.changes} >= {"batch", "precision"}
    assert cause_of(conv) is Cause.BATCH
    assert any(one.detail == "1 → 8" for one in found.explanations)
    found = compared(network_a(), network_b()).by_difference()
    changed = [one.is_changed for one in found]
    assert changed == sorted(changed, reverse=True)
    first = [abs(one.difference_ms or 0) for one in found if one.is_changed]
    assert first == sorted(first, reverse=True)


def one_layer(
    reads: Tensor | tuple[Tensor, ...] = tensor("x", 4, 3, 8, 8),  # noqa: B008 - frozen
    write: Tensor = tensor("y", 4, 16, 8, 8),  # noqa: B008 - frozen
    **more,
) -> Layer:
    inputs = reads if isinstance(reads, tuple) else (reads,)
    usual = {"index": 0, "name": "n", "type": "Convolution", "inputs": inputs, "outputs": (write,)}
    return Layer(**{**usual, **more})


def changes(a: Layer, b: Layer) -> dict[str, tuple[str, str]]:
    found = changes_between(layers_side([a], None), layers_side([b], None))
    return {one.what: (one.a, one.b) for one in found}


def test_what_is_no_difference_between_layers() -> None:
    assert changes(one_layer(), one_layer()) == {}
    blank = Tensor(name="x")
    known, unknown = one_layer(tactic_name=None), one_layer(blank, blank)
    assert (changes(known, unknown), changes(unknown, known)) == ({}, {})
    assert changes(one_layer(), one_layer(tensor("x", None, 3, None, 8))) == {}
    linear = one_layer(tensor("x", 4, 3, 8, 8, layout="kLINEAR"))
    packed = one_layer(tensor("x", 4, 3, 8, 8, layout="kHWC8"))
    assert changes(one_layer(), linear) == {}
    assert "format" in changes(linear, packed)
    first, second = (one_layer(tactic_name=f"__myl_Res_0x{one}") for one in ("63adb2", "ffff00"))
    assert changes(first, second) == {}
    assert changes(first, one_layer(tactic_name="__myl_Mul_0x63adb2")) == {
        "tactic": ("__myl_Res_0x63adb2", "__myl_Mul_0x63adb2")
    }
    extra = (tensor("x", 4, 3, 8, 8), tensor("shortcut", 4, 16, 8, 8, layout="kHWC8"))
    assert changes(one_layer(), one_layer(extra)) == {}
    side = layers_side([Layer(index=0, name="TrainStation1", type="TrainStation")], None)
    assert (side.precision, side.precision_in, side.tactic) == (None, None, None)
    assert changes_between(side, side) == ()


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        (
            one_layer(tensor("x", 4, 3, 8, 8, dtype=FP16), tensor("y", 4, 16, 8, 8, dtype=FP16)),
            {"precision": ("FP32", "FP16")},
        ),
        (one_layer(tensor("x", 4, 3, 8, 8, dtype=INT8)), {"precision": ("FP32", "INT8 → FP32")}),
        (
            one_layer(write=tensor("y", 4, 16, 8, 8, layout="kHWC8")),
            {"format": ("NCHW, NCHW", "NCHW, NHWC8")},
        ),
        (one_layer(type="Deconvolution"), {"kind": ("Convolution", "Deconvolution")}),
        (one_layer(tensor("x", 1, 3, 8, 8), tensor("y", 1, 16, 8, 8)), {"batch": ("4", "1")}),
        (
            one_layer(write=tensor("y", 4, 16, 4, 4)),
            {"shapes": ("3×8×8 → 16×8×8", "3×8×8 → 16×4×4")},
        ),
        (one_layer(tactic_name="k"), {"tactic": ("none named", "k")}),
    ],
)
def test_one_property_differs(b: Layer, expected) -> None:
    assert changes(one_layer(), b) == expected


def test_a_group_is_seen_from_outside() -> None:
    inside = tensor("inside", 4, 16, 8, 8, dtype=FP16)
    out = tensor("out", 4, 16, 4, 4, dtype=INT8)
    conv = one_layer(write=inside, onnx_nodes=("c",), tactic_name="t")
    pool = one_layer(inside, out, index=1, name="p", type="Pooling")
    side = layers_side([conv, pool], 1.5)
    assert [one.name for one in (*side.inputs, *side.outputs)] == ["x", "out"]
    names = (side.precision, side.type, side.name)
    assert names == ("FP32 → INT8", "Convolution + Pooling", "n + p")
    assert (side.tactic, side.onnx_nodes, side.time_ms) == ("t + ?", ("c",), 1.5)
    more = [one_layer(out, tensor(f"o{at}", 4, 8), index=at) for at in (2, 3)]
    assert layers_side([conv, pool, *more], None).type == "3 Convolution + Pooling"


def plan(*names: str) -> Plan:
    kinds = {"noop": "NoOp"}
    layers = (Layer(index=at, name=one, type=kinds.get(one, "k")) for at, one in enumerate(names))
    return Plan(name="p", layers=tuple(layers))


GROUP = LayerPair(a=(0, 1), b=(0,), evidence=Evidence.ONNX_NODES, score=1.0)
ALIGNED = Alignment(
    plan_a=plan("conv", "relu", "last", "extra", "noop"),
    plan_b=plan("conv + relu", "last"),
    pairs=(GROUP, LayerPair(a=(2,), b=(1,), evidence=Evidence.NAME, score=1.0)),
    only_a=(3,),
)


def paired(
    aligned: Alignment, a: Profile | None, b: Profile | None
) -> tuple[list[ComparedLayers], list[float | None], list[float | None]]:
    """Return the rows, each plan's time beyond them, and each plan's sum."""
    times_a, beyond_a = comparison.active_times(aligned.plan_a, a)
    times_b, beyond_b = comparison.active_times(aligned.plan_b, b)
    rows = list(comparison.compared_rows(aligned, times_a, times_b, 1.0))
    sum_a = sum_known((*(row.a_ms for row in rows), beyond_a))
    return rows, [beyond_a, beyond_b], [sum_a, sum_known((*(row.b_ms for row in rows), beyond_b))]


def test_times_of_groups_are_added_up_and_unknown_ones_stay_unknown() -> None:
    times = {"conv": 2.0, "relu": 1.0, "last": 0.5, "extra": 0.25, "noop": 0.125, "stranger": 4.0}
    a = plans.profile(*times.items())
    b = plans.profile(("conv + relu", 2.5), ("last", 0.75))
    rows, beyond, sums = paired(ALIGNED, a, b)
    assert [(one.a_ms, one.b_ms, one.difference_ms) for one in rows] == [
        (3.0, 2.5, -0.5),
        (0.5, 0.75, 0.25),
        (0.25, None, -0.25),
    ]
    assert (beyond, sums) == ([4.125, None], [layer_times(a).sum_ms, layer_times(b).sum_ms])
    rows, _, sums = paired(ALIGNED, plans.profile(("relu", 1.0), ("last", None)), None)
    assert [(one.a_ms, one.b_ms) for one in rows] == [(1.0, None), (None, None), (None, None)]
    assert [one.difference_ms for one in rows[1:]] == [None, None]
    assert sums == [1.0, None]
    a = plans.profile(("conv", 2.0), ("extra", 5.0))
    a = replace(a, layers=(a.layers[0], replace(a.layers[1], is_container=True)))
    rows, _, sums = paired(ALIGNED, a, None)
    assert (rows[-1].name, rows[-1].a_ms) == ("extra", None)
    assert sums[0] == layer_times(a).sum_ms == 2.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("trex-examples/resnet18-a100-fp16.engine", "trex-examples/resnet18-a100-fp32.engine"),
        ("trex-examples/resnet18-a100-fp16.engine", "trt10-rtx3060/resnet18_fp16"),
        ("trt10-rtx3060/alexnet_fp16", "trt86-h200/resnet18"),
    ],
)
def test_sums_of_real_plans_agree_with_their_profiles(shared: Path, one: str, other: str) -> None:
    both = align(*(plans.recorded(shared, name) for name in (one, other)))
    profiles = [plans.recorded_times(shared, name) for name in (one, other)]
    rows, _, sums = paired(both, *profiles)
    assert sums == pytest.approx([layer_times(one).sum_ms for one in profiles], rel=1e-12)
    assert all(row.a_ms is not None and row.b_ms is not None for row in rows if row.a and row.b)
