"""A folder for files that nobody keeps, and the end of those that a kill has left."""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Of folders that are locked while their process lives.
_PREFIX, _SHORT_PREFIX = "enginescope-work-", "es-work-"
#: A younger folder may be one that is about to be locked.
_FRESH_S = 60.0
_SWEPT: set[str] = set()
_SWEEPING = threading.Lock()


@contextmanager
def temporary_folder(*, is_short: bool = False) -> Iterator[Path]:
    """Yield a new folder that goes again with all that is in it, however the block ends.

    The first one of a process removes those of processes that were killed.

    Args:
        is_short: Keep its path short, for sockets in it.
    """
    _sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_SHORT_PREFIX if is_short else _PREFIX))
    try:
        lock = locked(folder)
        try:
            yield folder
        finally:
            if lock is not None:
                os.close(lock)
    finally:
        try:
            _remove(folder)
        except BaseException:  # a second Ctrl-C, while thousands of files are being removed
            _remove(folder)
            raise


def _remove(folder: Path) -> None:
    """Remove a folder, again if a process that is ending wrote one more file meanwhile."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


def _sweep(top: Path) -> None:
    """Remove this user's folders whose processes are gone, once for each process."""
    with _SWEEPING:
        if str(top) in _SWEPT:
            return
        _SWEPT.add(str(top))
    for folder in (*top.glob(f"{_PREFIX}*"), *top.glob(f"{_SHORT_PREFIX}*")):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_ctime < _FRESH_S:
                continue
            lock = locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def locked(folder: Path) -> int | None:
    """Lock a folder, and return what holds the lock; ``None``: another does, or there are none."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, AttributeError, OSError):  # Windows has neither
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # in use, or a file system without locks
        os.close(descriptor)
        return None
    return descriptor
