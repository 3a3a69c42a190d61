"""Every exception enginescope raises on purpose.

::

    EnginescopeError            exit code 4 unless a child says otherwise
    ├── UsageError              2   the user asked for something impossible
    ├── MissingDependencyError  2   an optional package is not installed
    ├── FormatError             2   a file is not what it should be
    ├── StoreError              2   the run store cannot be read or written
    └── BackendError            3   a backend could not do its work
        └── UnsupportedError    3   this machine or build cannot run that at all

Each says what went wrong, why, and the next step; the command line prints these and nothing else.
"""

from __future__ import annotations


class EnginescopeError(Exception):
    """Base of all deliberate failures.

    Parameters
    ----------
    what : str
        The thing that failed, named.
    why : str, optional
        The cause.
    hint : str, optional
        The next step for the user.
    """

    exit_code = 4

    def __init__(self, what: str, *, why: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        """Return one line: what, then why."""
        return f"{self.what}: {self.why}" if self.why else self.what


class UsageError(EnginescopeError):
    """The request itself cannot be honoured: an option, a name, a path."""

    exit_code = 2


class MissingDependencyError(EnginescopeError):
    """An optional package is needed and not installed."""

    exit_code = 2


class FormatError(EnginescopeError):
    """A file is not in the format it was read as.

    Parameters
    ----------
    path : str
        The file, or a name for bytes that came from elsewhere.
    where : str, optional
        The place in it: a line, a JSON path, a byte offset.
    why : str
        What was found.
    expected : str, optional
        What was expected there.
    hint : str, optional
        The next step.
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
        self.path = path
        self.where = where
        self.expected = expected

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
    """The request is sound, but this machine, build or model cannot serve it."""
