"""Text that is safe inside XML."""

from __future__ import annotations

import html
import re

# XML 1.0 has no place for these, escaped or not; TensorRT joins names by two of them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """Return `text` escaped; control characters as their pictures (``␞``), the rest as ``�``."""
    return html.escape(printable(text))


def printable(text: str) -> str:
    """Return `text` with pictures of control characters (``␞``), and ``�`` for what is no text."""
    return _FORBIDDEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"
