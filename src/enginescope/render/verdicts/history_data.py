"""Histories as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.history import JobHistory

#: Version of the document's shape.
HISTORY_SCHEMA = 1


def history_json(found: Sequence[JobHistory]) -> bytes:
    """Return every series with its points, levels and changes as strict JSON."""
    return encode({"schema": HISTORY_SCHEMA, "enginescope": __version__, "series": list(found)})
