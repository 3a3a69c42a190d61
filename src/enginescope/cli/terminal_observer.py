"""Print the reports of the services that judge runs."""

from __future__ import annotations

import sys

from enginescope.cli.options import note
from enginescope.services.verdicts.observer import VerdictObserver


class TerminalObserver(VerdictObserver):
    """Prints warnings and slow steps on standard error, and progress on a terminal."""

    def warn(self, text: str) -> None:
        """Print a warning."""
        note(text)

    reading = warn

    def sent(self, number: int, total: int) -> None:
        """Count the runs on one line."""
        if sys.stderr.isatty():
            end = "\n" if number == total else ""
            print(f"\r{number} of {total} runs", end=end, file=sys.stderr, flush=True)
