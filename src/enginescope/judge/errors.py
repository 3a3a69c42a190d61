"""The base of every exception enginescope raises on purpose, and the one for bad requests."""

from __future__ import annotations


class EnginescopeError(Exception):
    """Base of all exceptions that enginescope raises on purpose.

    Args:
        what: The thing that failed, named.
        why: The cause.
        hint: The next step for the user.
    """

    exit_code = 4

    def __init__(self, what: str, *, why: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what, self.why, self.hint = what, why, hint
        if hint:  # Python prints notes below a traceback
            self.__notes__ = [f"try: {hint}"]

    def __str__(self) -> str:
        """Return one line: what, then why."""
        return f"{self.what}: {self.why}" if self.why else self.what


class UsageError(EnginescopeError):
    """The request is invalid: an option, a name or a path."""

    exit_code = 2
