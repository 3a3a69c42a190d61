"""Steps add up to the whole within their intervals, and intervals hold what they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.ladder.rungs import climb, placed, read_figure
from enginescope.core.errors import UsageError
from enginescope.judge.samples import Interval
from enginescope.records.verdict.ladder import Rung, RungKey

KEYS = RungKey
LEVELS = {KEYS.LAYERS: 0.30, KEYS.GRAPH: 0.25, KEYS.EAGER: 0.33, KEYS.SYNC: 0.36, KEYS.PINNED: 0.5}
RUNGS = (
    Rung(key=KEYS.LAYERS),
    Rung(key=KEYS.GRAPH, base=KEYS.LAYERS),
    Rung(key=KEYS.EAGER, base=KEYS.GRAPH),
    Rung(key=KEYS.SYNC, base=KEYS.EAGER),
    Rung(key=KEYS.PINNED, base=KEYS.SYNC),
    Rung(key=KEYS.ENQUEUE),
)


def simulated(rounds: int, seed: int, *, noise: float = 0.01, drift: float = 0.05):
    """Figures of processes: a drift that a round shares, and a noise of each process."""
    draw = np.random.default_rng(seed)
    shared = np.exp(drift * draw.standard_normal(rounds))
    return {
        key: {
            number: float(level * shared[number] * np.exp(noise * draw.standard_normal()))
            for number in range(rounds)
        }
        for key, level in LEVELS.items()
    }


@given(st.integers(3, 20), st.integers(0, 10_000))
def test_steps_add_up_to_the_whole(rounds, seed) -> None:
    climbed = climb(RUNGS, simulated(rounds, seed))
    (total,) = climbed.sums
    assert (total.whole.base, total.whole.to) == (KEYS.LAYERS, KEYS.PINNED)
    assert total.steps_ms == pytest.approx(sum(step.value_ms for step in climbed.steps))
    assert total.is_consistent is True


def test_a_whole_that_is_not_its_steps_is_told_and_a_figure_is_placed() -> None:
    steady = {key: dict.fromkeys(range(8), level) for key, level in LEVELS.items()}
    # rounds of the middle rungs and of the ends are not the same ones
    steady[KEYS.LAYERS] = dict.fromkeys(range(8), 0.3) | {8: 9.0, 9: 9.0, 10: 9.0, 11: 9.0, 12: 9.0}
    steady[KEYS.PINNED] |= dict.fromkeys(range(8, 13), 0.5) | dict.fromkeys(range(13, 30), 0.5)
    steady[KEYS.LAYERS] |= dict.fromkeys(range(13, 30), 9.0)
    (total,) = climb(RUNGS, steady).sums
    assert total.is_consistent is False
    found = placed("0.442ms", LADDER)
    assert (found.nearest, found.alike) == (RungKey.EAGER, (RungKey.EAGER,))
    found = placed("0.4ms", LADDER)
    assert found.alike == (RungKey.LAYERS, RungKey.EAGER)
    found = placed("0.500ms", LADDER)
    assert (found.nearest, found.alike) == (RungKey.EAGER, ())
    assert (found.below, found.above) == (RungKey.EAGER, RungKey.PINNED)
    assert placed("1ms", LADDER[-1:]) is None


def test_intervals_of_steps_hold_the_difference_nineteen_times_in_twenty() -> None:
    held = total = 0
    for seed in range(150):
        for step in climb(RUNGS, simulated(8, seed, drift=0.0)).steps:
            true_ms = LEVELS[step.to] - LEVELS[step.base]
            assert step.interval is not None
            held += step.interval.low <= true_ms <= step.interval.high
            total += 1
    assert held / total > 0.94


def test_a_step_starts_from_the_next_rung_below_that_has_a_figure() -> None:
    figures = simulated(8, 1)
    del figures[KEYS.GRAPH], figures[KEYS.EAGER]
    climbed = climb(RUNGS, figures)
    assert [(step.base, step.to) for step in climbed.steps] == [
        (KEYS.LAYERS, KEYS.SYNC),
        (KEYS.SYNC, KEYS.PINNED),
    ]
    missing = climbed.rungs[1]
    assert (missing.value_ms, missing.interval, missing.processes) == (None, None, 0)
    climbed = climb(RUNGS, simulated(1, 1))
    assert all(rung.interval is None for rung in climbed.rungs)
    assert all(step.interval is None for step in climbed.steps)
    assert climbed.sums[0].is_consistent is None
    figures = simulated(8, 1)
    figures[KEYS.ENQUEUE] = dict.fromkeys(range(8), 0.01)
    climbed = climb(RUNGS, figures)
    assert KEYS.ENQUEUE not in {step.to for step in climbed.steps}
    assert climbed.rungs[-1].value_ms == 0.01


# A figure on the ladder: its digits, the rung it is, and rungs that it fits too.


def rung(key: RungKey, level: float, half: float = 0.005) -> Rung:
    ends = Interval(low=level - half, high=level + half)
    return Rung(key=key, value_ms=level, interval=ends, processes=8)


LADDER = (
    rung(RungKey.LAYERS, 0.40),
    rung(RungKey.EAGER, 0.44),
    rung(RungKey.PINNED, 0.60),
    Rung(key=RungKey.PROVIDER, why="not built with it"),
)


def test_digits_say_how_precise_a_figure_is() -> None:
    figures = {"1.9ms": (1.9, 0.05), "1.90 ms": (1.9, 0.005), "2ms": (2.0, 0.5), "1ms": (1.0, 0.5)}
    figures |= {"0.0019s": (1.9, 0.05), "440us": (0.44, 0.0005), "1.9e0ms": (1.9, 0.05)}
    for text, figure in figures.items():
        assert read_figure(text) == pytest.approx(figure), text
    for text in ("fast", "0ms", ""):
        with pytest.raises(UsageError):
            read_figure(text)


@pytest.mark.parametrize(("text", "is_above"), [("1.90ms", True), ("0.100ms", False)])
def test_a_figure_beyond_all_rungs(text, is_above) -> None:
    found = placed(text, LADDER)
    assert found.alike == ()
    assert (found.above is None) is is_above
    assert (found.below is None) is not is_above
