import numpy as np
import pytest

from enginescope.judge.samples import frozen
from enginescope.records.run import telemetry


def series(name, values) -> telemetry.Telemetry:
    channel = telemetry.Channel(name=name, values=frozen(values))
    return telemetry.Telemetry(time_ms=frozen(range(len(values))), channels=(channel,))


def test_before_during_and_after() -> None:
    found = telemetry.clock_around(series(telemetry.SM_CLOCK, [1980, 1900, 1700, 1800, 1850]))
    assert (found.before_mhz, found.during_mhz, found.after_mhz) == (1980, 1800, 1850)
    assert (found.lowest_mhz, found.highest_mhz, found.readings) == (1700, 1980, 5)
    assert found.drop_pct == pytest.approx(100 * (1 - 1800 / 1980))
    found = telemetry.clock_around(series(telemetry.SM_CLOCK, [1200, 1980, 1980]))
    assert found.drop_pct == 0


@pytest.mark.parametrize("values", [[], [1980], [np.nan, 1980, np.nan]])
def test_too_few_readings_are_not_known(values) -> None:
    assert telemetry.clock_around(series(telemetry.SM_CLOCK, values)) is None
    assert telemetry.clock_around(series("other", values)) is None
    assert telemetry.clock_around(None) is None


def test_reasons_by_how_often_they_were_read() -> None:
    found = telemetry.held_by(series(telemetry.THROTTLE, [4, 4 | 64, 0, np.nan, 4]))
    assert [(one.reason.name, one.share_pct) for one in found] == [
        ("sw_power_cap", 75.0),
        ("hw_thermal", 25.0),
    ]
    assert telemetry.held_by(series(telemetry.THROTTLE, [np.nan])) == ()
    assert telemetry.held_by(None) == ()
