"""Which contenders run at the same time, and what one of them did meanwhile."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record

#: ``processes``: each contender in a process of its own. ``streams``: each in a thread, and on a
#: GPU in a stream, of one process.
Share = Literal["processes", "streams"]


class ContentionRule(Record, frozen=True, kw_only=True):
    """Contenders that are timed in one window, and the place of this job among them.

    Attributes:
        contenders: Names of all that run at the same time; one: it runs alone.
        place: From 0.
    """

    contenders: tuple[str, ...]
    place: int = 0
    share: Share = "processes"

    @property
    def text(self) -> str | None:
        """What makes two runs comparable: what ran beside this one; ``None``: it ran alone."""
        others = [name for at, name in enumerate(self.contenders) if at != self.place]
        return f"beside {', '.join(others)} ({self.share})" if others else None


class ContentionOutcome(Record, frozen=True, kw_only=True):
    """The window that all contenders share.

    Attributes:
        window_ms: All contenders issued requests from its first moment to its last.
        before, after: Requests of this contender that began before the window, and those that
            ended after it; the samples leave them out.
        cores: Mean number of cores that this contender's process kept busy.
        has_mps: Whether NVIDIA's Multi-Process Service computed for the GPU; ``None``: no GPU was
            seen.
    """

    window_ms: float
    before: int
    after: int
    cores: float | None = None
    has_mps: bool | None = None
