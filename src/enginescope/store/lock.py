"""One process at a time, where a rename is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enginescope.core.errors import StoreError


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Hold the lock on `what` in a store's `folder`, waiting as long as another has it.

    The system lets go of it when a process dies. Not reentrant. Who holds ``"runs"`` may ask for
    ``"index"``, never the other way round.

    Raises:
        StoreError: The folder cannot be written, or its file system has no locks.
    """
    import fcntl  # not on Windows, where stores can still be read

    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f".{what}.lock").open("w")
    except OSError as error:
        raise StoreError(f"cannot lock the store {folder}", why=error.strerror) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise StoreError(f"cannot lock the store {folder}", why=error.strerror) from error
        yield
