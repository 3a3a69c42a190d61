"""What weakens a figure, as data."""

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
