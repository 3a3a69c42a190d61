"""A state of source code."""

from __future__ import annotations

from enginescope.core.record import Record


class Commit(Record, frozen=True, kw_only=True):
    """The commit that a working directory was at.

    Attributes:
        id: Hexadecimal, or whatever was named.
        is_changed: Whether tracked files differed from it.
    """

    id: str
    is_changed: bool | None = None

    @property
    def short(self) -> str:
        """The first ten letters, and a mark where files differed."""
        return f"{self.id[:10]}{'+' if self.is_changed else ''}"
