"""What would make figures from a machine steadier."""

from __future__ import annotations

from enginescope.core.record import Record


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
