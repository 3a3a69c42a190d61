from __future__ import annotations

import pytest

from enginescope.analysis.verdicts.comparability import differences
from enginescope.records.environment import ClockLock, Device, Environment
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Run

HELD = ClockLock(sm_mhz=1305, memory_mhz=3201)
BASE = ClockLock()


def run(lock: ClockLock | None, provider: str = "TensorrtExecutionProvider", **changes) -> Run:
    device = Device(name="H200", driver="580", clock_lock=lock)
    parts = {
        "id": "a",
        "created": "",
        "origin": "measured",
        "job": Job(subject=Subject(name="m"), backend=BackendSpec(name="x")),
        "environment": Environment(devices=(device,)),
        "providers": (provider,) if provider else (),
    }
    return Run(**(parts | changes))


@pytest.mark.parametrize(
    ("a", "b", "texts"),
    [
        (HELD, None, ("SM 1,305 MHz, memory 3,201 MHz", "not locked")),
        (BASE, HELD, ("SM base clock", "SM 1,305 MHz, memory 3,201 MHz")),
        (HELD, ClockLock(sm_mhz=1305), ("SM 1,305 MHz, memory 3,201 MHz", "SM 1,305 MHz")),
    ],
)
def test_clocks_that_were_not_held_alike(a, b, texts) -> None:
    (found,) = differences([run(a)], [run(b)])
    assert (found.key, found.a, found.b) == ("clocks", *texts)
    assert differences([run(a)], [run(b)], across=["clocks"]) == ()


def test_the_same_clocks_are_no_difference() -> None:
    assert differences([run(HELD)], [run(HELD)]) == ()
    assert differences([run(None)], [run(None)]) == ()


def test_clocks_of_a_gpu_that_took_no_part() -> None:
    cpu = "CPUExecutionProvider"
    assert differences([run(HELD, cpu)], [run(None, cpu)]) == ()


def test_imported_runs_do_not_say() -> None:
    assert differences([run(HELD)], [run(None, origin="imported")]) == ()
