"""The host's clock; which GPUs enginescope holds at fixed clocks, for every process to see.

NVML sets locked clocks and never tells them, so that who has locked them is kept in a file for each
GPU. The process that will reset them holds a lock on the file: a file without one was left behind.
"""

import fcntl
import os
import stat
import tempfile
from pathlib import Path
from time import perf_counter_ns

from enginescope.core.errors import EnginescopeError
from enginescope.core.jsonio import decode, encode
from enginescope.core.record import Record
from enginescope.records.environment import ClockLock


def timer_resolution_ms(readings: int = 2_000) -> float:
    """Return the smallest step seen between consecutive readings of the clock, in milliseconds.

    This is what the timed loop's clock can tell apart, its own cost included; the resolution that
    the platform claims is often finer than any two readings can be.
    """
    steps = []
    for _ in range(readings):
        before = perf_counter_ns()
        after = perf_counter_ns()
        if after > before:
            steps.append(after - before)
    return min(steps) / 1e6 if steps else 1e-6


class Holding(Record, frozen=True, kw_only=True):
    """Who holds a GPU's clocks.

    Attributes:
        gpu: UUID.
        owner_pid: The process that wanted it.
    """

    gpu: str
    lock: ClockLock
    owner_pid: int
    command: str


class Taken:
    """A GPU's entry while this process is the one that resets its clocks."""

    def __init__(self, file: int, path: Path, left_behind: Holding | None) -> None:
        self._file, self._path, self.left_behind = file, path, left_behind

    def write(self, holding: Holding) -> None:
        """Say that the clocks are locked; before they are, so that a crash leaves a trace."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, encode(holding), 0)

    def clear(self) -> None:
        """Say that they are not."""
        self._path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """End the hold and leave the entry: the clocks could not be reset."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def path_of(gpu: str) -> Path:
    return Path(tempfile.gettempdir()) / f"enginescope-clocks-{gpu.replace('/', '-')}.json"


def holding_of(gpu: str) -> Holding | None:
    """Return who holds, or has left, the clocks of a GPU; ``None``: nobody."""
    try:
        file = os.open(path_of(gpu), os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # none, or not ours to read
        return None
    try:
        return _read(file, gpu)
    finally:
        os.close(file)


def is_left_behind(gpu: str) -> bool:
    """Whether a GPU has an entry that no living process looks after."""
    if holding_of(gpu) is None:
        return False
    try:
        file = os.open(path_of(gpu), os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # gone since
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def take(gpu: str) -> Taken | None:
    """Return the entry of a GPU for this process to look after; ``None``: another one does.

    Raises:
        OSError: The file cannot be made or written.
    """
    path = path_of(gpu)
    for _ in range(10):
        file = _opened(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        if _is_still(file, path):
            return Taken(file, path, _read(file, gpu))
        os.close(file)  # removed between opening and locking
    return None


def _opened(path: Path) -> int:
    # not one call with O_CREAT alone: kernels refuse that for a file of somebody else's in /tmp
    flags = os.O_RDWR | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:  # another process was faster
        return os.open(path, flags)
    os.fchmod(file, 0o644)  # whatever the umask is: others are to see it
    return file


def _is_still(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _read(file: int, gpu: str) -> Holding | None:
    """Return what an entry says, if it is root's or ours: in a shared folder all can make one."""
    state = os.fstat(file)
    if not stat.S_ISREG(state.st_mode) or state.st_uid not in (0, os.geteuid()):
        return None
    try:
        found = decode(os.pread(file, 1 << 16, 0), Holding, source=gpu)
    except EnginescopeError:  # just made, or not ours
        return None
    return found if found.gpu == gpu else None
