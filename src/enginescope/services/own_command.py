"""The command line of the process that calls a service."""

from __future__ import annotations

import shlex
import sys

from enginescope.store.location import without_password


def own_command() -> str:
    """Return what repeats a call from Python: its command line, without passwords."""
    return without_password(shlex.join(sys.orig_argv))
