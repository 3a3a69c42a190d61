"""What verbs that read plans and stored runs print on standard error."""

import shutil
import sys
import textwrap
from pathlib import Path

from enginescope.cli.messages import is_usual, note, warn
from enginescope.judge.notice import Notice
from enginescope.services.observer import PlanObserver
from enginescope.services.store.export_runs import PushObserver


class TerminalObserver(PlanObserver, PushObserver):
    """Prints warnings and slow steps on standard error, and progress on a terminal."""

    def warn(self, text: str) -> None:
        warn(text)

    def progress(self, text: str) -> None:
        note(text)

    def sent(self, number: int, total: int) -> None:
        if is_usual() and sys.stderr.isatty():
            end = "\n" if number == total else ""
            print(f"\r{number} of {total} runs", end=end, file=sys.stderr, flush=True)


class NotingObserver(TerminalObserver):
    """Notes every report on standard error."""

    def notice(self, notice: Notice) -> None:
        """Print a notice; ``-q`` silences those that are no warnings."""
        say = warn if notice.level == "warning" else note
        width = shutil.get_terminal_size().columns
        say(textwrap.fill(f"{notice.message} ({notice.code})", width, break_long_words=False))

    def file_written(self, path: Path) -> None:
        note(f"written: {path}")
