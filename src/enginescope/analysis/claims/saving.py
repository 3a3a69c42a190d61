"""What a change may save: one model behind every caption, table, list, bar and file."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.core.record import Record
from enginescope.core.units import sum_known

#: What a change may save by itself is stated if it is so many times what it saves beyond others.
_SHARED = 1.2


class Saving(Record, frozen=True, kw_only=True):
    """Times in ms that a change may save, by kind; kinds are never added or ranked together.

    Attributes:
        bound_ms: Of one inference, at most. Time counts once: what an earlier change may save is
            not in it. So all bounds add up to `engine_ms` at most.
        item_ms: Of each item of a larger batch, at most; a single inference takes no less.
        unknown_of_ms: An unknown part of this: time of layers that is in no bound.
        alone_ms: `bound_ms` or `item_ms` if nothing else were changed.
        engine_ms: Time of a whole inference, of which shares are percentages.
    """

    bound_ms: float | None = None
    item_ms: float | None = None
    unknown_of_ms: float | None = None
    alone_ms: float | None = None
    engine_ms: float | None = None

    @property
    def known_ms(self) -> float | None:
        """The bound of one inference, else that of an item."""
        return self.item_ms if self.bound_ms is None else self.bound_ms

    @property
    def shared_alone_ms(self) -> float | None:
        """`alone_ms` where other changes may save much of the same time; else ``None``."""
        known, alone = self.known_ms, self.alone_ms
        return alone if known is not None and alone and alone > _SHARED * known else None

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key: known bounds, the largest first; then bounds of an item; then unknown ones."""
        return self._rank(self.bound_ms, self.item_ms)

    @property
    def rank_alone(self) -> tuple[int, float]:
        """The same for changes that are made alone."""
        known = self.bound_ms is not None
        return self._rank(self.alone_ms if known else None, None if known else self.alone_ms)

    def _rank(self, bound_ms: float | None, item_ms: float | None) -> tuple[int, float]:
        for place, time_ms in enumerate((bound_ms, item_ms, self.unknown_of_ms)):
            if time_ms is not None:
                return place, -time_ms
        return 3, 0.0

    def share_pct(self, time_ms: float | None) -> float | None:
        """Return one of the times as a percentage of the engine's time."""
        return 100 * time_ms / self.engine_ms if time_ms is not None and self.engine_ms else None

    def fields(self) -> dict[str, float | None]:
        """Return the times, and the shares of the first three, as files and frames hold them."""
        return {
            "bound_ms": self.bound_ms,
            "bound_pct": self.share_pct(self.bound_ms),
            "item_ms": self.item_ms,
            "item_pct": self.share_pct(self.item_ms),
            "unknown_of_ms": self.unknown_of_ms,
            "unknown_of_pct": self.share_pct(self.unknown_of_ms),
            "alone_ms": self.alone_ms,
        }


def together(savings: Iterable[Saving]) -> Saving:
    """Return what several changes may save together: each kind added up by itself."""
    several = tuple(savings)
    return Saving(
        bound_ms=sum_known(saving.bound_ms for saving in several),
        item_ms=sum_known(saving.item_ms for saving in several),
        unknown_of_ms=sum_known(saving.unknown_of_ms for saving in several),
        alone_ms=sum_known(saving.alone_ms for saving in several),
        engine_ms=next((saving.engine_ms for saving in several if saving.engine_ms), None),
    )
