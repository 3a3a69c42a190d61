"""What a service reports while it works, and how a caller cancels it."""

from __future__ import annotations

import warnings


class Observer:
    """Receives the reports of a service; a caller overrides what it shows.

    The base class is what Python callers get: warnings are Python warnings, progress is silent, and
    nothing is canceled. Services never print and never read ``sys``.
    """

    def warn(self, text: str) -> None:
        """Report what was skipped, or measured and not stored."""
        warnings.warn(text, stacklevel=2)

    def check_cancelled(self) -> None:
        """Raise `KeyboardInterrupt` to cancel.

        Services call it between jobs, rounds, sides and cells, where everything so far is stored.
        """
