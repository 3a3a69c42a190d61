import threading

import pytest

from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.probe.host import usable_processors
from enginescope.records.suite.suite import Needs
from enginescope.runner.suites.suite_cells import run_cells, worker_slots
from tests.suites.made import cell, timed

PROCESSORS = usable_processors() or ()
SLOTS = tuple((one,) for one in PROCESSORS[:2])
two_slots = pytest.mark.skipif(len(SLOTS) < 2, reason="one processor has no two slots")
LIMIT_S = 20


class Meeting:
    """Does cells; tells which ran at the same time."""

    def __init__(self, together: int) -> None:
        self.now: set[str] = set()
        self.met: set[frozenset[str]] = set()
        self.cores: dict[str, tuple[int, ...]] = {}
        self.own: dict[str, set[int]] = {}
        self._lock = threading.Lock()
        self._all_here = threading.Barrier(together) if together > 1 else None

    def __call__(self, one, _slot):
        with self._lock:
            self.now.add(one.model)
            self.met.add(frozenset(self.now))
            self.cores[one.model] = one.job.conditions.pinned_cores
            self.own[one.model] = set(usable_processors() or ())
        if self._all_here is not None:
            self._all_here.wait(LIMIT_S)
        else:
            threading.Event().wait(0.02)
        with self._lock:
            self.met.add(frozenset(self.now))
            self.now.remove(one.model)
        return timed(one, 1.0)


def test_one_slot_keeps_the_order_and_slots_are_whole_cores() -> None:
    done = []
    run_cells([cell(one) for one in "abc"], lambda one, slot: done.append((one.model, slot)))
    assert done == [("a", 0), ("b", 0), ("c", 0)]
    assert worker_slots(1) == ((),)
    usable = usable_processors()
    assert usable is not None
    with pytest.raises(UsageError, match="physical cores"):
        worker_slots(len(usable) + 1)
    if len(usable) < 2:
        pytest.skip("one processor has no two slots")
    slots = worker_slots(len(usable)) if len(usable) <= 2 else worker_slots(2)
    assert not set(slots[0]) & set(slots[1])


@two_slots
def test_slots_have_cores_of_their_own_and_never_share_a_gpu() -> None:
    do = Meeting(together=2)
    run_cells([cell("a"), cell("b")], do, SLOTS)
    assert frozenset("ab") in do.met
    assert sorted(do.cores.values()) == sorted(SLOTS)
    assert do.own == {name: set(cores) for name, cores in do.cores.items()}  # the thread's too
    assert set(usable_processors() or ()) == set(PROCESSORS)
    do = Meeting(together=1)
    cells = [cell(f"{at}", "fake?gpu=0") for at in range(6)]
    run_cells(cells, do, SLOTS)
    assert do.met == {frozenset({one.model}) for one in cells}
    do = Meeting(together=2)
    run_cells([cell("gpu", "ort-cuda"), cell("cpu")], do, SLOTS)
    assert frozenset({"gpu", "cpu"}) in do.met
    do = Meeting(together=1)
    alone = replace(cell("alone"), needs=Needs(exclusive=True))
    run_cells([alone, *(cell(one) for one in "abcd")], do, SLOTS)
    assert {one for one in do.met if "alone" in one} == {frozenset({"alone"})}


@two_slots
def test_an_error_ends_all_slots_and_is_raised() -> None:
    stopped = threading.Event()
    begun = []

    def do(one, _slot):
        begun.append(one.model)
        if one.model == "b":
            raise ZeroDivisionError("the disk is full")
        assert stopped.wait(LIMIT_S)  # ended by the other slot
        return timed(one, 1.0)

    with pytest.raises(ZeroDivisionError, match="disk"):
        run_cells([cell(one) for one in "abcdef"], do, SLOTS, stopped)
    assert sorted(begun) == ["a", "b"]  # nothing was begun after it
