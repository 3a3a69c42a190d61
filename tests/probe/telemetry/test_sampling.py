import json
import sys
import time

import numpy as np
import pytest

from enginescope.core.errors import UnsupportedError
from enginescope.probe.telemetry import sampling, worker
from enginescope.probe.telemetry.sampling import Sampling, now_ms, series_of
from enginescope.records.run.telemetry import POWER, SM_CLOCK
from tests.fakes.nvml_scenarios import use


def test_a_process_samples_between_begin_and_end(monkeypatch) -> None:
    use(monkeypatch, "h200")
    begun = now_ms()
    with Sampling("0", 20) as found:
        first = now_ms()
        assert found._process.poll() is None
        time.sleep(0.2)
        last = now_ms()
    assert found._process.poll() == 0
    times = found.series.time_ms
    assert begun <= times[0] <= first
    assert times[-1] >= last
    assert len(times) >= 3
    assert not found._file.exists()


def test_a_process_that_dies_says_so_and_leaves_nothing(monkeypatch) -> None:
    use(monkeypatch, "no such scenario")
    found = Sampling("0", 20)
    with pytest.raises(UnsupportedError, match="ended with status 1"), found:
        pass
    assert not found._file.exists()


def test_a_process_that_hangs_is_not_waited_for(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(sampling, "START_S", 0.2)
    monkeypatch.setattr(sampling, "_END_S", 0.2)
    hanging = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(sampling, "_python", lambda: hanging)
    with pytest.raises(UnsupportedError, match="nothing within"), Sampling("0", 20):
        pass


def test_a_line_cut_off_by_a_death_is_left_out(tmp_path) -> None:
    file = tmp_path / "cut.jsonl"
    whole = json.dumps({"at_ns": 1_000_000, "values": {POWER: 70.0, SM_CLOCK: None}})
    file.write_text(f"{whole}\n{whole[:20]}")
    (line,) = sampling._lines(file)
    assert line == worker.Line(at_ns=1_000_000, values={POWER: 70.0, SM_CLOCK: None})


def test_channels_that_were_never_reported_are_left_out() -> None:
    found = series_of([0.0, 1.0], [{POWER: 70.0, SM_CLOCK: None}, {POWER: None}])
    assert [one.name for one in found.channels] == [POWER]
    power = found.channel(POWER)
    assert power[0] == 70
    assert np.isnan(power[1])
