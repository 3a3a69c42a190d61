"""Times of paired layers, side by side."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.analysis.attribution import attribute
from enginescope.core.record import Record
from enginescope.model.layer_pair import Alignment, LayerPair
from enginescope.model.plan import Plan
from enginescope.model.timing import Profile


class PairTime(Record, frozen=True, kw_only=True, gc=False):
    """Mean times of a pair, per iteration.

    Attributes
    ----------
    pair : LayerPair
    a_ms, b_ms : float or None
        Sum over the layers of that side that have a time; ``None`` if none has.
    """

    pair: LayerPair
    a_ms: float | None = None
    b_ms: float | None = None

    @property
    def difference_ms(self) -> float | None:
        """`b_ms` − `a_ms`: below 0 where B is faster; ``None`` if a side is not known."""
        return self.b_ms - self.a_ms if self.a_ms is not None and self.b_ms is not None else None


class UnpairedTime(Record, frozen=True, kw_only=True, gc=False):
    """Mean time of a layer without counterpart; `index` is its `Layer.index`."""

    index: int
    mean_ms: float | None = None


class PairedTimes(Record, frozen=True, kw_only=True):
    """Where the time of two plans goes, pair by pair.

    Attributes
    ----------
    pairs : tuple of PairTime
        In the order of the alignment.
    only_a, only_b : tuple of UnpairedTime
    rest_a_ms, rest_b_ms : float or None
        What the profile has beyond: inert layers, and layers that the plan does not have.
        ``None``: nothing beyond. With it a side's times add up to its profile's `sum_mean_ms`.
    """

    pairs: tuple[PairTime, ...]
    only_a: tuple[UnpairedTime, ...] = ()
    only_b: tuple[UnpairedTime, ...] = ()
    rest_a_ms: float | None = None
    rest_b_ms: float | None = None

    @property
    def sum_a_ms(self) -> float | None:
        """All times of A; equal to its profile's sum."""
        times = (*(one.a_ms for one in self.pairs), *(one.mean_ms for one in self.only_a))
        return _sum((*times, self.rest_a_ms))

    @property
    def sum_b_ms(self) -> float | None:
        """All times of B; equal to its profile's sum."""
        times = (*(one.b_ms for one in self.pairs), *(one.mean_ms for one in self.only_b))
        return _sum((*times, self.rest_b_ms))


def paired_times(
    alignment: Alignment, profile_a: Profile | None, profile_b: Profile | None
) -> PairedTimes:
    """Return the mean times of each pair on either side.

    Parameters
    ----------
    alignment : Alignment
    profile_a, profile_b : Profile or None
        Of the alignment's plans. ``None``: that side has no times.

    Returns
    -------
    PairedTimes
        Containers (``If``, ``Loop``) are left out: their time is that of the layers inside.
    """
    times_a, beyond_a = _times(alignment.plan_a, profile_a)
    times_b, beyond_b = _times(alignment.plan_b, profile_b)
    return PairedTimes(
        pairs=tuple(
            PairTime(
                pair=pair,
                a_ms=_sum(times_a.get(one) for one in pair.a),
                b_ms=_sum(times_b.get(one) for one in pair.b),
            )
            for pair in alignment.pairs
        ),
        only_a=_unpaired(alignment.only_a, times_a),
        only_b=_unpaired(alignment.only_b, times_b),
        rest_a_ms=beyond_a,
        rest_b_ms=beyond_b,
    )


def _times(plan: Plan, profile: Profile | None) -> tuple[dict[int, float], float | None]:
    """Times of the active layers by index, and the sum of all others."""
    if profile is None:
        return {}, None
    times: dict[int, float] = {}
    beyond = []
    joined = attribute(plan, profile)
    for layer, timing in (
        *((one.layer, one.timing) for one in joined.layers),
        *((None, one) for one in joined.unmatched),
    ):
        if timing is None or timing.mean_ms is None or timing.is_container:
            continue
        if layer is None or layer.is_inert:
            beyond.append(timing.mean_ms)
        else:
            times[layer.index] = timing.mean_ms
    return times, _sum(beyond)


def _unpaired(indices: tuple[int, ...], times: dict[int, float]) -> tuple[UnpairedTime, ...]:
    return tuple(UnpairedTime(index=one, mean_ms=times.get(one)) for one in indices)


def _sum(times: Iterable[float | None]) -> float | None:
    known = [one for one in times if one is not None]
    return sum(known) if known else None
