"""Levels, costs of changes, profiles and traces of planted times."""

from __future__ import annotations

import pytest

from enginescope.analysis.shapes.levels import (
    first_costs,
    levels_of,
    part_costs,
    propose,
    trace_weights,
    weighted,
)
from tests.analysis.shapes.simulated import SIZES, TIMES_MS, outcomes, points


def test_levels_have_intervals_and_throughput() -> None:
    levels = levels_of(points(), outcomes())
    assert [level.latency_ms for level in levels] == pytest.approx(TIMES_MS, rel=0.02)
    for level in levels:
        assert level.interval is not None
        assert level.items_interval is not None
        assert level.interval.low <= level.latency_ms <= level.interval.high
        assert level.items_per_s == pytest.approx(1e3 * level.items / level.latency_ms)
        assert level.items_interval.low <= level.items_per_s <= level.items_interval.high
        assert level.processes == 8


def test_new_and_earlier_shapes_cost_what_was_planted() -> None:
    new, again = first_costs(outcomes(new_ms=0.5, again_ms=0.1))
    assert (new.kind, again.kind) == ("new", "again")
    assert new.value_ms == pytest.approx(0.5)
    assert again.value_ms == pytest.approx(0.1)
    assert again.ratio == pytest.approx(1.1, rel=0.02)
    assert new.changes == 8 * len(SIZES)


def test_parts_of_a_change_are_apart() -> None:
    runs = outcomes(switch_ms=0.05)
    assert not list(part_costs(outcomes()))
    (switch,) = part_costs(runs)
    assert (switch.kind, switch.ratio) == ("profile", None)
    assert switch.value_ms == pytest.approx(0.05)
    assert next(iter(first_costs(runs))).value_ms == pytest.approx(0.5)  # the switch is part of it


def test_a_shape_that_was_not_run_says_why() -> None:
    *_, last = levels_of(points(), outcomes(why=(*[None] * 4, "outside every profile")))
    assert (last.latency_ms, last.why, last.processes) == (None, "outside every profile", 0)


def levels(weights=None):
    return weighted(levels_of(points(), outcomes(noise=0)), weights)


def test_weights_are_shares_of_the_requests() -> None:
    assert [level.weight for level in levels()] == [0.2] * 5
    assert [level.weight for level in levels({"1": 3, "16": 1})] == [0.75, 0, 0, 0, 0.25]


def test_the_optimum_lies_where_the_time_is() -> None:
    (even,) = propose(levels(), 1)
    assert (even.low, even.opt, even.high) == ("1", "8", "16")
    (small,) = propose(levels({"1": 100, "2": 1, "16": 1}), 1)
    assert (small.low, small.opt, small.high) == ("1", "1", "16")
    assert small.requests == pytest.approx(1)
    assert [shape.dims for shape in small.max_shapes] == [(16, 4)]


def test_two_profiles_split_where_sizes_are_far_apart() -> None:
    first, second = propose(levels({"1": 10, "2": 5, "16": 3}), 2)
    assert (first.low, first.opt, first.high) == ("1", "1", "2")
    assert (second.low, second.opt, second.high) == ("16", "16", "16")
    assert first.time + second.time == pytest.approx(1)
    assert len(propose(levels({"4": 1}), 3)) == 1


def test_a_trace_pads_leaves_out_and_counts_changes() -> None:
    _, again = first_costs(outcomes(again_ms=1.0, noise=0))
    weights, use = trace_weights(levels(), (1, 1, 3, 4, 40, 1), again)
    assert weights == {"1": 3.0, "4": 2.0}
    assert (use.requests, use.padded, use.beyond, use.changes) == (6, 1, 1, 2)
    assert use.change_share == pytest.approx(2 / 7)  # 5 requests of 1 ms, 2 changes of 1 ms
    assert trace_weights(levels(), (1, 2), None)[1].change_share is None
