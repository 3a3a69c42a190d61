"""A figure on the ladder: its digits, the rung it is, and rungs that it fits too."""

from __future__ import annotations

import pytest

from enginescope.analysis.ladder.rungs import placed, read_figure
from enginescope.core.errors import UsageError
from enginescope.judge.samples import Interval
from enginescope.records.verdict.ladder import Rung, RungKey


def rung(key: RungKey, level: float, half: float = 0.005) -> Rung:
    ends = Interval(low=level - half, high=level + half)
    return Rung(key=key, value_ms=level, interval=ends, processes=8)


LADDER = (
    rung(RungKey.LAYERS, 0.40),
    rung(RungKey.EAGER, 0.44),
    rung(RungKey.PINNED, 0.60),
    Rung(key=RungKey.PROVIDER, why="not built with it"),
)


@pytest.mark.parametrize(
    ("text", "value_ms", "half_ms"),
    [
        ("1.9ms", 1.9, 0.05),
        ("1.90 ms", 1.9, 0.005),
        ("2ms", 2.0, 0.5),
        ("0.0019s", 1.9, 0.05),
        ("440us", 0.44, 0.0005),
        ("1.9e0ms", 1.9, 0.05),
        ("1ms", 1.0, 0.5),
    ],
)
def test_digits_say_how_precise_a_figure_is(text, value_ms, half_ms) -> None:
    assert read_figure(text) == (pytest.approx(value_ms), pytest.approx(half_ms))


@pytest.mark.parametrize("text", ["fast", "0ms", ""])
def test_what_is_no_latency_is_refused(text) -> None:
    with pytest.raises(UsageError):
        read_figure(text)


def test_a_figure_is_the_one_rung_that_it_overlaps() -> None:
    found = placed("0.442ms", LADDER)
    assert found is not None
    assert (found.nearest, found.alike) == (RungKey.EAGER, (RungKey.EAGER,))


def test_a_figure_with_few_digits_cannot_be_told_from_several() -> None:
    found = placed("0.4ms", LADDER)
    assert found is not None
    assert found.alike == (RungKey.LAYERS, RungKey.EAGER)


def test_a_figure_between_rungs_has_neighbors() -> None:
    found = placed("0.500ms", LADDER)
    assert found is not None
    assert (found.nearest, found.alike) == (RungKey.EAGER, ())
    assert (found.below, found.above) == (RungKey.EAGER, RungKey.PINNED)


@pytest.mark.parametrize(("text", "is_above"), [("1.90ms", True), ("0.100ms", False)])
def test_a_figure_beyond_all_rungs(text, is_above) -> None:
    found = placed(text, LADDER)
    assert found is not None
    assert found.alike == ()
    assert (found.above is None) is is_above
    assert (found.below is None) is not is_above


def test_without_a_measured_rung_there_is_no_place() -> None:
    assert placed("1ms", LADDER[-1:]) is None
