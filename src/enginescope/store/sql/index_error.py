"""Why an index cannot be used, where the cause decides what to do."""

from __future__ import annotations

from enginescope.core.errors import StoreError


class DamagedIndexError(StoreError):
    """The database is not one, or not as the migrations made it: it can be set aside."""


class NewerIndexError(StoreError):
    """A newer enginescope has changed the tables: they are left as they are."""
