import pytest

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import compare_sides
from enginescope.core.record import replace
from tests.analysis.in_turn import in_turn, named
from tests.analysis.runs.test_gpu_state import sampled, telemetry

SETTLED, COLD, SHORT = 0.0, 30.0, None


def on_gpu(runs, c_per_min):
    """Give each run a GPU of known energy whose temperature rises by so much."""
    counted = telemetry("energy_mj", "power_w")
    found = []
    for run in runs:
        gpu = counted
        if c_per_min is not SHORT:
            hot = sampled(lambda minutes: 50 + c_per_min * minutes)
            power = replace(hot.series.channels[0], name="power_w")
            gpu = replace(hot, series=replace(hot.series, channels=(*hot.series.channels, power)))
        found.append(replace(run, gpu=gpu))
    return tuple(found)


def said(a: float | None, b: float | None, *, apart: bool = False) -> dict[str, str]:
    first, second = in_turn(1.0, rounds=4)
    if apart:
        first, second = ((replace(side[0], turn=None),) for side in (first, second))
    found = compare_sides(named(on_gpu(first, a), on_gpu(second, b)))
    return {one.code: one.message for one in measured_notices(found)}


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (SETTLED, COLD, ("A settled in 4 of 4", "B cold in 4 of 4")),
        (SETTLED, SHORT, ("A settled in 4 of 4", "B unknown in 4 of 4")),
        (SHORT, SHORT, ("A unknown in 4 of 4", "B unknown in 4 of 4")),
    ],
)
def test_states_that_differ_or_are_unknown_are_named(a, b, words) -> None:
    message = said(a, b)["W-THERMAL-STATE"]
    assert all(each in message for each in words)


@pytest.mark.parametrize("state", [SETTLED, COLD])
def test_equal_states_need_no_word(state) -> None:
    assert "W-THERMAL-STATE" not in said(state, state)


def test_single_runs_show_their_temperatures_if_there_is_energy() -> None:
    found = said(SETTLED, COLD, apart=True)
    assert "A settled: 50 → 50 °C, 0 °C/min over 20.0 s; B cold: 51 → 5" in found["W-THERMAL-STATE"]
    assert "weaker evidence" in found["I-NOT-IN-TURN"]
    assert "heat left by one side" in found["I-NOT-IN-TURN"]
    first, second = (replace(side[0], turn=None) for side in in_turn(1.0, rounds=4))
    found = compare_sides(named((first,), (second,)))
    codes = {one.code: one.message for one in measured_notices(found)}
    assert "W-THERMAL-STATE" not in codes
    assert "heat" not in codes["I-NOT-IN-TURN"]
