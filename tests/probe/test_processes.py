import os

import pytest

from enginescope.probe.processes import others_among
from enginescope.records.run.telemetry import GpuProcess


def process(pid: int) -> GpuProcess:
    return GpuProcess(pid=pid, name="x", memory_bytes=1)


@pytest.mark.parametrize(
    ("listed", "before", "others"),
    [
        ((0, 7, 8), (), (7, 8)),  # ours is among them: all others are others
        ((7, 8), (8, 9), (8,)),  # numbers as the host counts: only those from before are
        ((), (8,), ()),
    ],
)
def test_processes_that_are_not_ours(listed, before, others) -> None:
    found = others_among([process(pid or os.getpid()) for pid in listed], before)
    assert tuple(one.pid for one in found) == others
