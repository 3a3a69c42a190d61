"""Notices that qualify a figure, and hints on the machine, as data."""

from __future__ import annotations

from typing import Any, Literal

from enginescope.core.record import Record


class Notice(Record, frozen=True, kw_only=True):
    """A remark on a run.

    Attributes:
        code: Stable and short: ``W-LOAD``, ``I-DYNAMIC-SHAPE``.
        message: One plain sentence, begun small and without a full stop: it stands beside its code.
        evidence: The figures behind it.
    """

    code: str
    message: str
    evidence: dict[str, Any] = {}
    level: Literal["info", "warning"] = "warning"


class Hint(Record, frozen=True, kw_only=True):
    """One thing to do to a machine before measuring on it.

    Attributes:
        code: Stable and short: ``H-GOVERNOR``.
        message: What was seen and why it matters, begun small and without a full stop.
        command: What to type; ``None`` where no command does it.
    """

    code: str
    message: str
    command: str | None = None
