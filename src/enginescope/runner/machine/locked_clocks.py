"""GPU clocks held while jobs run, and free again afterwards, whatever happens."""

import contextlib
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from enginescope.core.errors import BackendError, UsageError
from enginescope.probe.clock import take
from enginescope.probe.nvml import SmClock, reset_command
from enginescope.records.environment import ClockLock
from enginescope.runner.environment_fingerprint import interpreter
from enginescope.runner.machine.clock_guard import GuardAnswer, GuardTask, set_free

#: A driver that does not answer for so long does not answer.
ANSWER_WITHIN_S = 60.0


@contextmanager
def locked_clocks(
    gpus: tuple[str, ...], sm: SmClock, *, command: str, say: Callable[[str], None]
) -> Iterator[dict[str, ClockLock]]:
    """Hold the clocks of `gpus` in this block.

    A process of its own locks and resets them, so that they are reset too when this one is killed.

    Args:
        gpus: UUIDs.
        command: What holds them, for others that want to.
        say: Told what the user is to know.

    Yields:
        What each is held at.
    """
    guard = _start(GuardTask(gpus=gpus, sm=sm, owner_pid=os.getpid(), command=command))
    locks: dict[str, ClockLock] = {}
    try:
        answer = _answer(guard)
        if answer is None:
            raise BackendError("`clock`: the process that locks clocks ended at once")
        if answer.what is not None:
            raise UsageError(answer.what, why=answer.why, hint=answer.hint)
        locks = answer.locks
        for remark in answer.remarks:
            say(remark)
        yield locks
    finally:
        _end(guard, locks, say)


def _start(task: GuardTask) -> subprocess.Popen[bytes]:
    module, data = "enginescope.runner.machine.clock_guard", msgspec.json.encode(task).decode()
    # a session of its own: neither Ctrl-C nor a closed terminal reaches it
    return subprocess.Popen(
        [*interpreter(), "-m", module, data],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def _answer(guard: subprocess.Popen[bytes]) -> GuardAnswer | None:
    """Return the next line of the guard; ``None`` if it is gone or silent."""
    assert guard.stdout is not None
    if not select.select([guard.stdout], [], [], ANSWER_WITHIN_S)[0]:
        return None
    try:
        return msgspec.json.decode(guard.stdout.readline(), type=GuardAnswer)
    except msgspec.DecodeError:  # the pipe has ended
        return None


def _end(
    guard: subprocess.Popen[bytes], locks: dict[str, ClockLock], say: Callable[[str], None]
) -> None:
    assert guard.stdin is not None
    assert guard.stdout is not None
    guard.stdin.close()  # this alone has the clocks reset
    answer = _answer(guard)
    guard.stdout.close()
    for remark in answer.remarks if answer is not None else _reset_from_here(locks):
        say(remark)
    with contextlib.suppress(subprocess.TimeoutExpired):
        guard.wait(ANSWER_WITHIN_S)


def _reset_from_here(locks: dict[str, ClockLock]) -> Iterator[str]:
    """Do what the guard was to do, which somebody has killed; yield what the user is to know."""
    for gpu, lock in locks.items():
        taken = take(gpu)
        if taken is None:  # it still looks after it, or a process outside does
            yield f"GPU {gpu} may still be locked ({lock}); {reset_command(gpu, lock)}"
        else:
            yield from set_free(gpu, lock, taken)
