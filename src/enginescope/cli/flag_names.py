"""Errors of services name parameters between backquotes; on the command line these are flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from enginescope.core.errors import EnginescopeError

_PARAMETER = re.compile(r"`(\w+)`")


@contextmanager
def naming_flags() -> Iterator[None]:
    """Name flags in the errors of a block or a function: `` `max_time` `` is ``--max-time``."""
    try:
        yield
    except EnginescopeError as error:
        error.what = as_flags(error.what)
        error.why = as_flags(error.why) if error.why else None
        error.hint = as_flags(error.hint) if error.hint else None
        raise


def as_flags(text: str) -> str:
    """Return a text in which parameters between backquotes are flags."""
    return _PARAMETER.sub(lambda match: "--" + match[1].replace("_", "-"), text)
