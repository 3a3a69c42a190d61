"""What is written of a suite while it runs, and the lease of who runs it."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.records.suite.suite import CellRow, SuitePlan


class Claim(Record, frozen=True, kw_only=True):
    """A request to take, renew or end the lease of a suite.

    Attributes:
        owner: Names the machine and process to people.
        token: Who has it may renew the lease, also after a kill.
        seconds: Until the lease expires, by the clock of who keeps it; 0 ends it.
    """

    owner: str
    token: str
    seconds: float


class Lease(Record, frozen=True, kw_only=True):
    """The lease of a suite: who runs it, or ran it last.

    Attributes:
        renewed, expires: Unix time, s.
    """

    owner: str
    token: str
    renewed: float
    expires: float


class SuiteChange(Record, frozen=True, kw_only=True):
    """Parts of a suite to write; a claim that is refused writes nothing."""

    plan: SuitePlan | None = None
    rows: tuple[CellRow, ...] = ()
    claim: Claim | None = None
