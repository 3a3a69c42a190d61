"""What ``enginescope trtexec --check`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from enginescope.cli.messages import words
from enginescope.render.base.text import show, table

if TYPE_CHECKING:
    from enginescope.compat.trtexec.check import CheckedLine


def show_checked(checked: CheckedLine) -> int:
    """Print what a version makes of a command line, and return the exit code.

    The code is 1 if a flag is refused.
    """
    rows = [
        (flag.argument, flag.state, "; ".join(filter(None, (flag.why, flag.instead))))
        for flag in checked.flags
    ]
    if rows:
        show(table((f"TensorRT {checked.version}", "", "why, and what to do"), rows, whole=("",)))
        print()
    for note in checked.notes:
        print(note)
    print(words("enginescope", "trtexec", *checked.written))
    return 0 if checked.is_accepted else 1
