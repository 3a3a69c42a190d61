"""The lease of a suite: one machine runs it at a time."""

from __future__ import annotations

from datetime import datetime, timezone

from enginescope.core.errors import StoreError
from enginescope.records.suite.suite_change import Claim, Lease

#: Next step of who is refused.
WAIT = "wait for it, or --name another; an expired lease can be taken over"


class SuiteRunsError(StoreError):
    """Another process or machine is running the suite."""


def next_lease(
    current: Lease | None, claim: Claim, now: float, name: str, void: str | None = None
) -> Lease:
    """Return the lease after a claim.

    Args:
        now: Unix time, s.
        void: Token of a lease that is void, as its process is known to have ended.

    Raises:
        SuiteRunsError: Somebody else has the lease, and it has not expired.
    """
    if current is not None and current.token not in (claim.token, void) and current.expires > now:
        until = datetime.fromtimestamp(current.expires, timezone.utc)
        raise SuiteRunsError(
            f"suite {name}",
            why=f"{current.owner} is running it, with a lease until {until:%Y-%m-%d %H:%M:%S} UTC",
            hint=WAIT,
        )
    return Lease(owner=claim.owner, token=claim.token, renewed=now, expires=now + claim.seconds)
