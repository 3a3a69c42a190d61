import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison.comparison import LayerComparison, compare_layers
from enginescope.analysis.plan_comparison.layer_changes import (
    Cause,
    ComparedLayers,
    Relation,
    cause_of,
)
from enginescope.records.plan.plan import LayerTiming, Plan, Profile
from tests.analysis.compared_plans import FP16, FP32, Network, network_a, network_b


def compared(
    a: Network, b: Network, *, extra_ms: tuple[float | None, float | None] = (None, None)
) -> LayerComparison:
    return compare_layers(
        (a.plan("a"), a.profile(extra_ms[0])), (b.plan("b"), b.profile(extra_ms[1]))
    )


def named(found: LayerComparison, name: str) -> ComparedLayers:
    return next(one for one in found.layers if one.a and name in one.a.names)


def check_sums(found: LayerComparison) -> None:
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
    told = {
        (one.cause, one.kind, one.detail): (len(one.members), one.difference_ms)
        for one in found.explanations
    }
    assert told == {
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
    nothing = (Plan(name="none", layers=()), Profile(source="trtexec", layers=()))
    found = compare_layers(nothing, nothing)
    assert (found.layers, found.explanations, found.difference_ms) == ((), (), None)
    a = network_a()
    profile = Profile(source="trtexec", layers=(LayerTiming(index=0, name="conv1/x", mean_ms=1.0),))
    found = compare_layers((a.plan("a"), profile), (a.plan("b"), profile))
    assert found.difference_ms == 0
    assert named(found, "head/x").difference_ms is None
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


KINDS = st.sampled_from(("Convolution", "Pooling", "Reformat", "gemm"))
SOME = st.lists(
    st.tuples(
        st.sampled_from(("a/x", "b/x", "c/x", "twin/x", "e/x")),
        KINDS,
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
    found = compare_layers(*sides)
    assert found.difference_ms is None
    assert found.difference_pct is None
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
