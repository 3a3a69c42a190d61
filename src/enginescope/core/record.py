"""The base of every object that crosses a folder border."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable record with typed fields, readable from and writable to JSON.

    Tuples, never lists; ``None`` for not known, never 0, −1, "" or NaN; units in field names.
    Subclasses repeat ``frozen=True, kw_only=True``: msgspec does not inherit the second, and type
    checkers do not inherit the first.
    """
