"""The next step where a model rejects random integers: bounds for them."""

from __future__ import annotations

from enginescope.core.errors import BackendError


def with_range_hint(error: BackendError, random_integers: tuple[str, ...]) -> BackendError:
    """Name the inputs that hold unbounded random integers: the first to suspect in a failure."""
    if error.hint or not random_integers:
        return error
    return BackendError(
        error.what,
        why=error.why,
        hint=f"{', '.join(random_integers)} got random integers; if they index a table, "
        f"bound them: --range {random_integers[0]}:0:99, or ranges of a suite's [[model]]",
    )
