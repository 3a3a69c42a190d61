"""A full disk: an error of its own, so that callers can keep the results that exist."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enginescope.core.errors import DiskFullError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
#: With less, the disk counts as full.
_LEAST_BYTES = 1 << 16
MAKE_SPACE = "make space, or set TMPDIR to a folder on another disk"


def is_disk_full(error: OSError) -> bool:
    """Whether a write failed because the disk, or the user's share of it, is full.

    NumPy raises an error without a number when it could write a part of an array only.
    """
    return error.errno in _FULL or (error.errno is None and "requested and" in str(error))


def reserve(file: Path, size: int) -> None:
    """Take space on the disk of `file` until it is removed: what is written then fits.

    Raises:
        OSError: There is not as much.
    """
    with file.open("wb") as held:
        if hasattr(os, "posix_fallocate"):  # not on every platform
            os.posix_fallocate(held.fileno(), 0, size)


def has_no_space(folder: Path) -> bool:
    """Whether hardly anything can be written into `folder`."""
    return shutil.disk_usage(folder).free < _LEAST_BYTES


@contextmanager
def disk_full_as_error(what: str, *, hint: str = MAKE_SPACE) -> Iterator[None]:
    """In this block, raise a `DiskFullError` about `what` where a write meets a full disk.

    Raises:
        DiskFullError: Names the file, where the system does.
    """
    try:
        yield
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise DiskFullError(what, why=reason_of(error), hint=hint) from error


def reason_of(error: OSError) -> str:
    """Return the system's reason for a failed write, and the file."""
    why = error.strerror or str(error)
    return f"{why}: {error.filename}" if error.filename else why
