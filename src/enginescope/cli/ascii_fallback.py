"""Signs for streams that cannot encode ours, such as ASCII ones: no range becomes a ``?``."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

_HANDLER = "enginescope.plain_signs"
#: One for one, so that columns stay below each other.
_PLAIN = str.maketrans(
    "…×·÷−—–±→µ°─│┊┤├└•◆✗▁▂▃▄▅▆▇█",
    "~x-/---~>u -|:|+`*#x.:-=+*%#",
)


def with_ascii_fallback(stream: TextIO | None) -> None:
    """Have a stream write what it cannot encode as the ASCII sign most like it, else as ``?``."""
    if isinstance(stream, io.TextIOWrapper):  # not where the caller closed or replaced it
        stream.reconfigure(errors=_HANDLER)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end].translate(_PLAIN)
    return signs.encode("ascii", "replace").decode("ascii"), error.end


codecs.register_error(_HANDLER, _plain)
