"""The trace of CUDA's calls, on a stand-in for cupti-python that hands out given records."""

import ctypes
import sys
import time
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import pytest

from enginescope.backends.onnxruntime.kernel_trace import KernelTrace

AHEAD_NS = 7_000_000_000


class ActivityKind(IntEnum):
    MEMCPY = 1
    MEMSET = 2
    DRIVER = 4
    RUNTIME = 5
    CONCURRENT_KERNEL = 10


class Cupti(ModuleType):
    """cupti.cupti: its clock is ahead of the system's by `AHEAD_NS`."""

    ActivityKind = ActivityKind

    def __init__(self, records: list[SimpleNamespace]) -> None:
        super().__init__("cupti.cupti")
        self.records = records
        self.dropped = 0
        self.enabled: set[ActivityKind] = set()
        self.refuses: set[str] = set()

    def activity_register_callbacks(self, requested, completed) -> None:
        size, most = requested()
        assert size > 1_000_000
        assert most == 0
        self._completed = completed

    def activity_enable(self, kind: ActivityKind) -> None:
        if "enable" in self.refuses:
            raise RuntimeError("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")
        self.enabled.add(kind)

    def activity_disable(self, kind: ActivityKind) -> None:
        self.enabled.remove(kind)

    def activity_flush_all(self, flag: int) -> None:
        assert flag == 1
        if "flush" in self.refuses:
            raise RuntimeError("CUPTI_ERROR_UNKNOWN")
        self._completed([one for one in self.records if ActivityKind(one.kind) in self.enabled])

    def activity_get_num_dropped_records(self, context: int, stream: int, pointer: int) -> None:
        ctypes.c_size_t.from_address(pointer).value = self.dropped

    def get_timestamp(self) -> int:
        return time.time_ns() + AHEAD_NS


@pytest.fixture
def cupti(monkeypatch: pytest.MonkeyPatch) -> Cupti:
    begin = time.time_ns() + AHEAD_NS
    records = [
        (ActivityKind.RUNTIME, 1, 5_000, 9_000),
        (ActivityKind.CONCURRENT_KERNEL, 1, 90_000, 92_500),
        (ActivityKind.DRIVER, 2, 20_000, 21_000),
        (ActivityKind.MEMCPY, 2, 95_000, 96_000),
        (ActivityKind.CONCURRENT_KERNEL, 3, 0, 1_000),  # nobody called it
    ]
    module = Cupti(
        [
            SimpleNamespace(
                kind=int(kind), correlation_id=key, start=begin + start, end=begin + end
            )
            for kind, key, start, end in records
        ]
    )
    package = ModuleType("cupti")
    package.cupti = module
    monkeypatch.setitem(sys.modules, "cupti", package)
    monkeypatch.setitem(sys.modules, "cupti.cupti", module)
    module.begin_ns = begin - AHEAD_NS
    return module


def test_work_is_known_by_its_call_on_the_clock_of_the_profile(cupti) -> None:
    with KernelTrace() as trace:
        assert cupti.enabled == set(ActivityKind)
    assert not cupti.enabled
    found = trace.result(cupti.begin_ns)
    assert found.why is None
    assert [one.gpu_us for one in found.calls] == [2.5, 1.0]
    # as close as two readings of the clocks are to each other
    assert [one.called_us for one in found.calls] == pytest.approx([5.0, 20.0], abs=200)
    assert found.calls[1].called_us - found.calls[0].called_us == pytest.approx(15.0)


def reason(cupti: Cupti | None) -> str:
    with KernelTrace() as trace:
        pass
    found = trace.result(cupti.begin_ns if cupti else 0)
    assert found.calls == ()
    return str(found.why)


def test_dropped_records_leave_no_times(cupti) -> None:
    cupti.dropped = 3
    assert reason(cupti) == "CUPTI dropped 3 records"


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        ("enable", "CUPTI does not start: RuntimeError: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS"),
        ("flush", "CUPTI failed: RuntimeError: CUPTI_ERROR_UNKNOWN"),
    ],
)
def test_what_cupti_refuses_is_the_reason(cupti, refused, why) -> None:
    cupti.refuses.add(refused)
    assert reason(cupti).startswith(why)


def test_without_the_package_the_reason_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cupti", None)
    assert "pip install 'enginescope[cupti]'" in reason(None)


def test_an_error_within_the_trace_goes_on(cupti) -> None:
    with pytest.raises(ZeroDivisionError), KernelTrace():
        raise ZeroDivisionError
    assert not cupti.enabled
