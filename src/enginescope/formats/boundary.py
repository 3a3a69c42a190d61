"""The boundary to foreign data: what surprises a reader is an error of the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from enginescope.core.errors import FormatError

#: What code raises that meets a value of another type or shape than it expects.
_SURPRISES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

#: What a system says of a path that no file can have.
_IMPOSSIBLE_PATHS = (errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)


@contextmanager
def foreign(source: str, expected: str) -> Iterator[None]:
    """In this block, raise a `FormatError` about `source` for whatever its content causes.

    Args:
        expected: What the file should hold, for the message.

    Raises:
        FormatError
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
