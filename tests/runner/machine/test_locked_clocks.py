"""Clocks held by a process of its own, on GPUs that are a file; crashes are real ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from enginescope.core.errors import UsageError
from enginescope.probe.clock import Holding, holding_of, is_left_behind, take
from enginescope.probe.nvml import probe_devices
from enginescope.records.environment import ClockLock
from enginescope.runner.machine.locked_clocks import locked_clocks
from tests.fakes.fake_gpus import DATA_CENTRE, GPU, FakeGpus

OTHER = "GPU-1111"
#: A process that holds the clocks until something ends it.
HOLDER = """
import sys, time
from enginescope.runner.machine.locked_clocks import locked_clocks
with locked_clocks(tuple(sys.argv[1].split(",")), 1305, command="holder", say=print):
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """Two GPUs; a test changes what they are before the first call."""
    found = FakeGpus(tmp_path, {GPU: dict(DATA_CENTRE), OTHER: dict(DATA_CENTRE)})
    found.put_in(monkeypatch, tmp_path)
    return found


def change(gpus: FakeGpus, uuid: str, **parts: Any) -> None:
    found = {one: gpus.gpu(one) for one in (GPU, OTHER)}
    found[uuid].update(parts)
    gpus.__init__(gpus.file.parent, found)


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true; the limit only ends a test that has failed."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def hold(*uuids: str) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, ",".join(uuids)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    while (line := holder.stdout.readline()) != "held\n":
        assert line, "the holder has ended"
    return holder


def end(holder: subprocess.Popen[str], number: int) -> None:
    holder.send_signal(number)
    holder.communicate(timeout=60)


def held(*uuids: str, sm: Any = 1305, say: Any = lambda _: None) -> Any:
    return locked_clocks(uuids or (GPU,), sm, command="a test", say=say)


def test_they_are_held_in_the_block_and_free_after_it_and_after_an_error(gpus) -> None:
    with held(GPU, OTHER) as locks:
        assert locks == dict.fromkeys((GPU, OTHER), ClockLock(sm_mhz=1305, memory_mhz=3201))
        for uuid in (GPU, OTHER):
            assert gpus.gpu(uuid)["locked_sm"] == [1305, 1305]
            assert gpus.gpu(uuid)["locked_memory"] == [3201, 3201]
        assert [one.clock_lock for one in probe_devices()] == list(locks.values())
    assert gpus.is_free(GPU)
    assert gpus.is_free(OTHER)
    assert [one.clock_lock for one in probe_devices()] == [None, None]
    assert os.getpid() not in gpus.pids()  # all by a process of its own
    with pytest.raises(ZeroDivisionError), held():
        _ = 1 / 0
    assert gpus.is_free()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_whatever_ends_the_process_they_are_freed(gpus, number) -> None:
    holder = hold(GPU, OTHER)
    assert not gpus.is_free(GPU)
    end(holder, number)
    assert eventually(lambda: gpus.is_free(GPU) and gpus.is_free(OTHER))
    assert eventually(lambda: holding_of(GPU) is None)


def test_a_killed_guard_leaves_the_work_to_the_other_process(gpus) -> None:
    with held():
        (guard,) = gpus.pids()
        os.kill(guard, signal.SIGKILL)
        assert eventually(lambda: is_left_behind(GPU))
        assert not gpus.is_free()
    assert gpus.is_free()
    assert holding_of(GPU) is None


def test_what_a_kill_of_both_left_is_found_and_freed_by_the_next(gpus) -> None:
    holder = hold(GPU)
    (guard,) = gpus.pids()
    os.kill(guard, signal.SIGKILL)
    end(holder, signal.SIGKILL)
    assert eventually(lambda: is_left_behind(GPU))
    assert probe_devices()[0].clock_lock == ClockLock(sm_mhz=1305, memory_mhz=3201)
    said: list[str] = []
    with held(sm="max", say=said.append):
        assert gpus.gpu()["locked_sm"] == [1980, 1980]
    assert gpus.is_free()
    assert f"left locked (SM 1,305 MHz, memory 3,201 MHz) by process {holder.pid}" in said[0]


def test_clocks_that_another_process_holds_are_not_touched(gpus) -> None:
    holder = hold(GPU)
    with pytest.raises(UsageError) as caught, held():
        pytest.fail("held twice")
    assert "locked already (SM 1,305 MHz" in caught.value.what
    assert f"process {holder.pid} holds them: holder" in str(caught.value.why)
    assert not gpus.is_free()
    end(holder, signal.SIGTERM)
    assert eventually(gpus.is_free)


def test_inside_a_process_that_holds_them_the_same_clock_goes_along(gpus) -> None:
    said: list[str] = []
    with held() as outer:
        with held(say=said.append) as inner:
            assert inner == outer
        assert not gpus.is_free()  # the inner end is not the end
        with pytest.raises(UsageError, match="within a run that holds SM 1,305 MHz"), held(sm=1320):
            pytest.fail("two clocks at once")
        assert not gpus.is_free()
    assert gpus.is_free()
    assert said == [f"GPU {GPU} is locked already by process {os.getpid()}"]


def test_without_the_right_nothing_is_changed_and_the_lines_are_given(gpus) -> None:
    change(gpus, OTHER, refuses={"lock_sm": 4})
    with pytest.raises(UsageError) as caught, held(GPU, OTHER):
        pytest.fail("held without a right")
    error = caught.value
    assert error.exit_code == 2
    assert "NVML needs root" in str(error.why)
    for line in ("-lgc 1305,1305", "-lmc 3201,3201", "-rgc", "-rmc"):
        assert f"sudo nvidia-smi -i {OTHER} {line}" in str(error.hint)
    assert gpus.is_free(GPU)  # which had been locked before
    assert holding_of(GPU) is None
    assert holding_of(OTHER) is None


def test_clocks_are_named_and_the_base_clock_is_the_default(gpus) -> None:
    with pytest.raises(UsageError) as caught, held(sm=1310):
        pytest.fail("held at a clock that there is not")
    assert caught.value.hint == "1305 or 1320; supported: 345 … 1,980 MHz in steps of 15"
    assert gpus.calls() == []
    with held(sm="base") as locks:
        assert locks[GPU] == ClockLock(sm_mhz=None, memory_mhz=3201)
        assert gpus.gpu()["locked_sm"] == [0xFFFFFF01, 0xFFFFFF01]
    change(gpus, GPU, default_sm=1095)
    with held(sm="base") as locks:
        assert locks[GPU].sm_mhz == 1095


def test_a_gpu_whose_memory_clock_cannot_be_held_and_a_setting_of_somebody_else(gpus) -> None:
    change(gpus, GPU, reasons=2)
    said: list[str] = []
    with held(say=said.append):
        pass
    assert "another setting limited the clocks" in said.pop()
    change(gpus, GPU, reasons=0, refuses={"lock_memory": 3})
    with held(say=said.append) as locks:
        assert locks[GPU] == ClockLock(sm_mhz=1305)
        assert probe_devices()[0].clock_lock == ClockLock(sm_mhz=1305)
    assert said == [f"GPU {GPU} cannot lock its memory clock, which stays free"]
    assert ("reset_memory", GPU) not in gpus.calls()
    assert gpus.is_free()


def test_a_reset_that_fails_is_said_with_what_to_type_and_stays_registered(gpus) -> None:
    change(gpus, GPU, refuses={"reset_sm": 4})
    said: list[str] = []
    with held(say=said.append):
        pass
    assert "still locked" in said[0]
    assert f"sudo nvidia-smi -i {GPU} -rgc" in said[0]
    assert is_left_behind(GPU)


def test_a_file_that_a_stranger_left_is_no_holding(gpus, tmp_path) -> None:
    (tmp_path / f"enginescope-clocks-{GPU}.json").write_text("not ours")
    assert holding_of(GPU) is None
    other = Holding(gpu=OTHER, lock=ClockLock(), owner_pid=1, command="x")
    taken = take(GPU)
    taken.write(other)  # a file under another GPU's name
    assert holding_of(GPU) is None
    taken.clear()
    with held():
        assert not gpus.is_free()
    assert gpus.is_free()
