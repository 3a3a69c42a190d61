"""The command line of the process that calls a service, and where its runs are stored."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from os import PathLike
from typing import Any

from enginescope.services.store_access import place_of
from enginescope.store.location import without_password


def own_command() -> str:
    """Return what repeats a call from Python: its command line, without passwords."""
    return without_password(shlex.join(sys.orig_argv))


def stored_fields(tags: Sequence[str], store: str | PathLike[str] | None) -> dict[str, Any]:
    """Return the fields of a request from Python that say how its runs are stored."""
    return {"tags": tuple(tags), "store": place_of(store), "command": own_command()}


def made_now(command: str | None) -> dict[str, Any]:
    """Return the fields of a report that say when it was made, and by which command line."""
    now = datetime.now(timezone.utc)
    return {"created": now.isoformat(timespec="seconds"), "command": command}
