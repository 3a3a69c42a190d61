"""Sections of a trtexec log: its printed options, and the table of layer times."""

from __future__ import annotations

import re

from enginescope.formats.log_facts import number
from enginescope.records.plan.plan import LayerTiming, Profile

_TITLE = re.compile(r"^Profile \((\d{1,15}) iterations\s*\)$")
_FIGURE = r"\s*([-+\w.]+)"
_WITH_MEDIAN = re.compile(rf"^{_FIGURE}\s+{_FIGURE}\s+{_FIGURE}\s+{_FIGURE}\s\s*(\S.*)$")
_WITHOUT_MEDIAN = re.compile(rf"^{_FIGURE}\s+{_FIGURE}\s+{_FIGURE}\s\s*(\S.*)$")


class ProfileTable:
    """Reads the rows below ``=== Profile (N iterations ) ===``.

    Figures are total, average, median (not up to 8.2) and percentage; the rest of the row is the
    name, spaces and all. Layers without time are not printed, and the figures are rounded.
    """

    def __init__(self, title: str) -> None:
        match = _TITLE.match(title)
        self.iterations = int(match[1]) if match else None
        self.layers: list[LayerTiming] = []
        self.is_complete = False
        self._has_median: bool | None = None

    def add(self, text: str) -> None:
        """Take one line below the title."""
        if self.is_complete:
            return
        if self._has_median is None:
            if "Layer" in text and "(ms)" in text:
                self._has_median = "Median" in text
            return
        row = self._row(text)
        if row is None:
            return
        if row.name == "Total" and (row.share_pct is None or row.share_pct > 99.9):
            self.is_complete = True
        else:
            self.layers.append(row)

    def profile(self) -> Profile | None:
        """Return the table, or ``None`` if no row was seen."""
        if not self.layers:
            return None
        return Profile(source="trtexec", layers=tuple(self.layers), iterations=self.iterations)

    def _row(self, text: str) -> LayerTiming | None:
        match = (_WITH_MEDIAN if self._has_median else _WITHOUT_MEDIAN).match(text)
        if match is None:
            return None
        *figures, name = match.groups()
        values = [number(figure) for figure in figures]
        if values[0] is None:
            return None
        return LayerTiming(
            index=len(self.layers),
            name=name.strip(),
            total_ms=values[0],
            mean_ms=values[1],
            median_ms=values[2] if self._has_median else None,
            share_pct=values[-1],
        )


def is_profile_title(title: str) -> bool:
    """Whether a section's title is that of the table."""
    return _TITLE.match(title) is not None


_HEADER = re.compile(r"^\s*=== (.+?) ===\s*$")
_SKIPPED = ("Trace details", "Performance summary", "Explanations of the performance metrics")


class SectionReader:
    """Collects ``Key: value`` lines under the header before them.

    A section ends at the next header or an empty message. Values are kept whole, colons and all;
    a key that comes again, and a line without a key, add to the value after ``"; "``.

    Attributes:
        current: Header of the section the last line belongs to, of whatever kind.
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
