"""Every exception enginescope raises on purpose.

::

    EnginescopeError            exit code 4 unless a child says otherwise
    ├── UsageError              2   the user asked for something impossible
    ├── MissingDependencyError  2   an optional package is not installed
    ├── PluginError             2   a part of another package cannot be loaded, or fails
    ├── FormatError             2   a file is not what it should be
    ├── StoreError              2   the run store cannot be read or written
    └── BackendError            3   a backend could not do its work
        ├── UnsupportedError    3   this machine or build cannot run that at all
        └── DiskFullError       3   a disk is full, and files for the work could not be written

Each says what went wrong, why, and the next step; the command line prints these and nothing else.

A full disk: an error of its own, so that callers can keep the results that exist.

The boundary to foreign data: what surprises a reader is an error of the file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from enginescope.judge.errors import EnginescopeError as EnginescopeError
from enginescope.judge.errors import UsageError as UsageError

if TYPE_CHECKING:
    from pathlib import Path


def innermost_reason(error: BaseException, library: str) -> str:
    """Return the first cause of another library's error: ``onnx_ir: NotImplementedError: …``.

    Libraries raise a general error from the one that names the reason.

    Args:
        library: Named if the traceback does not say which library raised it.
    """
    from traceback import walk_tb

    while cause := error.__cause__ or (not error.__suppress_context__ and error.__context__):
        error = cause
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    raising = str(frames[-1].f_globals.get("__name__", "")).partition(".")[0] if frames else ""
    named = raising if raising not in ("", "enginescope", "tests") else library
    text = " ".join(str(error).split())
    return f"{named}: {type(error).__name__}{f': {text}' if text else ''}"


class MissingDependencyError(EnginescopeError):
    """An optional package is needed and not installed."""

    exit_code = 2


class PluginError(EnginescopeError):
    """A part that another package adds cannot be loaded, or fails."""

    exit_code = 2


class FormatError(EnginescopeError):
    """A file is not in the format it was read as.

    Args:
        path: The file, or a name for bytes that came from elsewhere.
        where: The place in it: a line, a JSON path, a byte offset.
        why: What was found.
        expected: What was expected there.
        hint: The next step.
    """

    exit_code = 2

    def __init__(
        self,
        path: str,
        *,
        why: str,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        place = f"{path} at {where}" if where else path
        steps = (f"expected {expected}" if expected else None, hint)
        super().__init__(place, why=why, hint="; ".join(filter(None, steps)) or None)
        self.path, self.where, self.expected = path, where, expected

    def with_hint(self, hint: str) -> FormatError:
        """Return this error with a next step, for who knows more of the file than its reader."""
        return FormatError(
            self.path, why=self.why or "", where=self.where, expected=self.expected, hint=hint
        )


class StoreError(EnginescopeError):
    """The run store, or a run in it, cannot be used."""

    exit_code = 2


class BackendError(EnginescopeError):
    """A backend failed while loading, building or running."""

    exit_code = 3


class UnsupportedError(BackendError):
    """The request is valid, but this machine, build or model does not support it."""


class DiskFullError(BackendError):
    """The disk is full: a file that the work needs could not be written."""


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
    """Take space on the disk of `file` until it is removed; raise `OSError` if there is less."""
    with file.open("wb") as held:
        if hasattr(os, "posix_fallocate"):  # not on every platform
            os.posix_fallocate(held.fileno(), 0, size)


def has_no_space(folder: Path) -> bool:
    """Whether hardly anything can be written into `folder`."""
    from shutil import disk_usage

    return disk_usage(folder).free < _LEAST_BYTES


@contextmanager
def disk_full_as_error(what: str) -> Iterator[None]:
    """In this block, raise a `DiskFullError` about `what` where a write meets a full disk."""
    try:
        yield
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise DiskFullError(what, why=reason_of(error), hint=MAKE_SPACE) from error


@contextmanager
def os_errors_as(
    kind: type[EnginescopeError], what: str, *, hint: str | None = None
) -> Iterator[None]:
    """In this block, raise an error of a kind with the system's reason for an `OSError`."""
    try:
        yield
    except OSError as error:
        raise kind(what, why=error.strerror or str(error), hint=hint) from error


def reason_of(error: OSError) -> str:
    """Return the system's reason for a failed write, and the file."""
    why = error.strerror or str(error)
    return f"{why}: {error.filename}" if error.filename else why


#: What code raises that meets a value of another type or shape than it expects.
_SURPRISES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

#: What a system says of a path that no file can have.
_IMPOSSIBLE_PATHS = (errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)


@contextmanager
def foreign(source: str, expected: str) -> Iterator[None]:
    """In this block, raise a `FormatError` about `source` for whatever its content causes.

    Args:
        expected: What the file should hold, for the message.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _IMPOSSIBLE_PATHS:
            raise
        raise FormatError(
            source, why=f"a path in it is impossible ({error.strerror})", expected=expected
        ) from error
    except RecursionError:
        raise FormatError(source, why="it is nested too deeply", expected=expected) from None
    except _SURPRISES as error:
        text = " ".join(str(error).split())[:200]
        why = f"a value in it has an unexpected type or shape ({type(error).__name__}: {text})"
        raise FormatError(source, why=why, expected=expected) from error
