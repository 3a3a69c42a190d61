"""The sections of a trtexec log: ``=== Build Options ===`` and the like."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\s*=== (.+?) ===\s*$")
_SKIPPED = ("Trace details", "Performance summary", "Explanations of the performance metrics")


class SectionReader:
    """Collects ``Key: value`` lines under the header before them.

    A section ends at the next header or an empty message. Values are kept whole, colons and all;
    a key that comes again, and a line without a key, add to the value after ``"; "``.

    Attributes
    ----------
    sections : dict of str to (dict of str to str)
    current : str or None
        Header of the section the last line belongs to, of whatever kind.
    """

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, str]] = {}
        self.current: str | None = None
        self._last_key: str | None = None

    def header(self, text: str) -> str | None:
        """Return the title if `text` is a header, and open its section."""
        match = _HEADER.match(text)
        if match is None:
            return None
        self.current, self._last_key = match[1].strip(), None
        return self.current

    def add(self, text: str) -> None:
        """Take a line of the open section."""
        if self.current is None:
            return
        if not text.strip():
            self.current = None
            return
        if self.current.startswith(("Profile (", *_SKIPPED)):
            return
        section = self.sections.setdefault(self.current, {})
        key, colon, value = text.partition(":")
        if colon:
            self._last_key = key.strip()
            _append(section, self._last_key, value.strip())
        elif self._last_key is not None:
            _append(section, self._last_key, text.strip())


def _append(section: dict[str, str], key: str, value: str) -> None:
    before = section.get(key)
    section[key] = f"{before}; {value}" if before and value else before or value
