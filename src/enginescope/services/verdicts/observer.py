"""What verbs that judge runs report while they work."""

from __future__ import annotations

from enginescope.services.plans.observer import PlanObserver


class VerdictObserver(PlanObserver):
    """Receives the reports of compare, gate, history and push."""

    def progress(self, text: str) -> None:
        """Report a slow step of reading a plan."""
        self.reading(text)

    def reading(self, text: str) -> None:
        """Report a slow step of reading a plan, or a file in an archive that is skipped."""

    def sent(self, number: int, total: int) -> None:
        """Report that run `number` of `total` is sent or refused."""
