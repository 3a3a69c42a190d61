"""The process that locks GPU clocks and resets them once whoever wanted it is gone.

``python -m enginescope.runner.machine.clock_guard TASK``, TASK as JSON. It prints one line of JSON
when the clocks are locked, waits for the end of its standard input, resets them and answers again.
The pipe ends with the other process however that one dies, so nothing but a kill of both leaves a
GPU locked; and then its entry in the register says so.
"""

import contextlib
import os
import signal
import sys

import msgspec

from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record
from enginescope.probe import nvml
from enginescope.probe.clock import Holding, Taken, holding_of, take
from enginescope.probe.processes import ancestors
from enginescope.records.environment import ClockLock


class GuardTask(Record, frozen=True, kw_only=True):
    """What is to be locked, for whom.

    Attributes:
        gpus: UUIDs.
    """

    gpus: tuple[str, ...]
    sm: nvml.SmClock
    owner_pid: int
    command: str


class GuardAnswer(Record, frozen=True, kw_only=True):
    """What became of it.

    Attributes:
        locks: By UUID.
        remarks: What the user is to know; after the reset: what is still locked, and how to free
            it.
        what, why, hint: Of an error; nothing is locked then.
    """

    locks: dict[str, ClockLock] = {}  # noqa: RUF012 - msgspec copies it
    remarks: tuple[str, ...] = ()
    what: str | None = None
    why: str | None = None
    hint: str | None = None


class ClockHold:
    """The GPUs whose clocks this process has locked."""

    def __init__(self, task: GuardTask) -> None:
        self._task = task
        self._taken: dict[str, Taken] = {}
        self._locks: dict[str, ClockLock] = {}
        self._remarks: list[str] = []

    def lock(self) -> GuardAnswer:
        """Lock them all, or none."""
        wanted = {gpu: nvml.planned_lock(gpu, self._task.sm) for gpu in self._task.gpus}
        try:
            for gpu, lock in wanted.items():
                self._lock_one(gpu, lock)
        except BaseException:  # also on a signal: no clock stays locked
            self.release()
            raise
        return GuardAnswer(locks=dict(self._locks), remarks=tuple(self._remarks))

    def release(self) -> GuardAnswer:
        """Reset what was locked here; what fails is said, and stays in the register."""
        remarks: list[str] = []
        for gpu, taken in list(self._taken.items()):
            remarks += set_free(gpu, self._locks[gpu], taken)
            del self._taken[gpu]
        return GuardAnswer(remarks=tuple(remarks))

    def _lock_one(self, gpu: str, wanted: ClockLock) -> None:
        try:
            taken = take(gpu)
        except OSError as error:
            why = str(error)
            raise UsageError(f"`clock`: no entry can be kept for GPU {gpu}", why=why) from error
        if taken is None:
            self._locks[gpu] = self._held_already(gpu, wanted)
            return
        if taken.left_behind is not None:
            before = taken.left_behind
            self._remarks.append(
                f"GPU {gpu} was left locked ({before.lock}) by process {before.owner_pid}, which "
                f"is gone ({before.command}); it is set free at the end"
            )
        elif nvml.is_limited_by_setting(gpu):
            self._remarks.append(
                f"another setting limited the clocks of GPU {gpu} before; NVML does not report it, "
                "and the reset removes it"
            )
        # from here on the end of this process is to reset it, whatever comes
        self._taken[gpu], self._locks[gpu] = taken, wanted
        try:
            self._write(taken, gpu, wanted)
            self._locks[gpu] = nvml.lock_clocks(gpu, wanted)
        except UsageError:
            if taken.left_behind is None:  # nothing was locked, so nothing is to be reset
                del self._taken[gpu]
                taken.clear()
            raise
        if self._locks[gpu] != wanted:
            self._write(taken, gpu, self._locks[gpu])
            self._remarks.append(f"GPU {gpu} cannot lock its memory clock, which stays free")

    def _write(self, taken: Taken, gpu: str, lock: ClockLock) -> None:
        owner, command = self._task.owner_pid, self._task.command
        taken.write(Holding(gpu=gpu, lock=lock, owner_pid=owner, command=command))

    def _held_already(self, gpu: str, wanted: ClockLock) -> ClockLock:
        """Return the lock of a process that this one runs inside of, if it is the one wanted."""
        holding = holding_of(gpu)
        if holding is None:
            raise UsageError(f"`clock`: another user holds the clocks of GPU {gpu}")
        if holding.owner_pid not in ancestors():
            what = f"`clock`: the clocks of GPU {gpu} are locked already ({holding.lock})"
            why = f"process {holding.owner_pid} holds them: {holding.command}"
            raise UsageError(what, why=why, hint="wait for its end")
        if holding.lock.sm_mhz != wanted.sm_mhz:
            what = f"`clock`: {wanted} within a run that holds {holding.lock}"
            why = f"process {holding.owner_pid}: {holding.command}"
            raise UsageError(what, why=why, hint="the same clock in both, or only outside")
        self._remarks.append(f"GPU {gpu} is locked already by process {holding.owner_pid}")
        return holding.lock


def set_free(gpu: str, lock: ClockLock, taken: Taken) -> list[str]:
    """Reset a GPU's clocks; where that fails, return what to do, and keep its entry."""
    why = nvml.reset_clocks(gpu, lock)
    if why is None:
        taken.clear()
        return []
    taken.leave()
    return [f"GPU {gpu} is still locked ({lock}): {why}; {nvml.reset_command(gpu, lock)}"]


def main(arguments: list[str]) -> int:
    """Lock, wait for the end of standard input, reset."""
    for name in ("SIGINT", "SIGHUP"):  # meant for the other process, whose end ends this one
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    hold = ClockHold(msgspec.json.decode(arguments[0], type=GuardTask))
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        _say(_locked(hold))
        sys.stdin.buffer.read()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _say(hold.release())
    return 0


def _locked(hold: ClockHold) -> GuardAnswer:
    try:
        return hold.lock()
    except EnginescopeError as error:
        return GuardAnswer(what=error.what, why=error.why, hint=error.hint)
    except Exception as error:  # noqa: BLE001 - the border: the other process shows it
        why = f"{type(error).__name__}: {error}"
        return GuardAnswer(what="`clock`: the process that locks clocks failed", why=why)


def _say(answer: GuardAnswer) -> None:
    with contextlib.suppress(OSError):  # nobody is there to read it any more
        os.write(sys.stdout.fileno(), msgspec.json.encode(answer) + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
