"""Two plans, layer by layer: what differs, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.claims.layer_time import comparable
from enginescope.analysis.layers.layer_table import attribute, layer_rows
from enginescope.analysis.layers.reformats import ReformatLayer, reformats
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plan_comparison.difference_causes import Explanation, explain, share_of
from enginescope.analysis.plan_comparison.layer_changes import (
    ComparedLayers,
    Relation,
    changes_between,
    layers_side,
)
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.records.plan.plan import Alignment, Layer, LayerPair, Plan, Profile


class PairTime(Record, frozen=True, kw_only=True, gc=False):
    """Times of a pair, per iteration.

    Attributes:
        a_ms, b_ms: Sum over the layers of that side that have a time; ``None`` if none has.
    """

    pair: LayerPair
    a_ms: float | None = None
    b_ms: float | None = None

    @property
    def difference_ms(self) -> float | None:
        """`b_ms` − `a_ms`: below 0 where B is faster; ``None`` if a side is not known."""
        return self.b_ms - self.a_ms if self.a_ms is not None and self.b_ms is not None else None


class UnpairedTime(Record, frozen=True, kw_only=True, gc=False):
    """Time of a layer without counterpart; `index` is its `Layer.index`."""

    index: int
    time_ms: float | None = None


class PairedTimes(Record, frozen=True, kw_only=True):
    """Where the time of two plans goes, pair by pair.

    Attributes:
        pairs: In the order of the alignment.
        rest_a_ms, rest_b_ms: What the profile has beyond: inert layers, and layers that the plan
            does not have. ``None``: nothing beyond. With it a side's times add up to its profile's
            `sum_ms`.
    """

    pairs: tuple[PairTime, ...]
    only_a: tuple[UnpairedTime, ...] = ()
    only_b: tuple[UnpairedTime, ...] = ()
    rest_a_ms: float | None = None
    rest_b_ms: float | None = None

    @property
    def sum_a_ms(self) -> float | None:
        """All times of A; equal to its profile's sum."""
        times = (*(pair.a_ms for pair in self.pairs), *(one.time_ms for one in self.only_a))
        return sum_known((*times, self.rest_a_ms))

    @property
    def sum_b_ms(self) -> float | None:
        """All times of B; equal to its profile's sum."""
        times = (*(pair.b_ms for pair in self.pairs), *(one.time_ms for one in self.only_b))
        return sum_known((*times, self.rest_b_ms))


def paired_times(
    alignment: Alignment, profile_a: Profile | None, profile_b: Profile | None
) -> PairedTimes:
    """Return the times of each pair on either side.

    Args:
        profile_a, profile_b: Of the alignment's plans. ``None``: that side has no times.

    Returns:
        Containers (``If``, ``Loop``) are left out: their time is that of the layers inside.
    """
    times_a, beyond_a = _times(alignment.plan_a, profile_a)
    times_b, beyond_b = _times(alignment.plan_b, profile_b)
    return PairedTimes(
        pairs=tuple(
            PairTime(
                pair=pair,
                a_ms=sum_known(times_a.get(one) for one in pair.a),
                b_ms=sum_known(times_b.get(one) for one in pair.b),
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
        if timing is None or timing.time_ms is None or timing.is_container:
            continue
        if layer is None or layer.is_inert:
            beyond.append(timing.time_ms)
        else:
            times[layer.index] = timing.time_ms
    return times, sum_known(beyond)


def _unpaired(indices: tuple[int, ...], times: dict[int, float]) -> tuple[UnpairedTime, ...]:
    return tuple(UnpairedTime(index=index, time_ms=times.get(index)) for index in indices)


class LayerComparison(Record, frozen=True, kw_only=True):
    """Where the difference between two plans lies.

    Attributes:
        layers: Every layer of either plan that does work, once: in the order of A, then those that
            only B has.
        a_ms, b_ms: The layers' times added up.
        difference_ms: B − A; ``None`` where a plan has no times.
        explanations: The largest first. They add up to `difference_ms`.
        reformats_lost, reformats_added: Those that only A has, and only B, the longest first.
    """

    layers: tuple[ComparedLayers, ...]
    a_ms: float | None
    b_ms: float | None
    difference_ms: float | None
    explanations: tuple[Explanation, ...]
    reformats_lost: tuple[ReformatLayer, ...] = ()
    reformats_added: tuple[ReformatLayer, ...] = ()

    @property
    def difference_pct(self) -> float | None:
        """`difference_ms` as a part of A's time."""
        return (
            100 * self.difference_ms / self.a_ms
            if self.difference_ms is not None and self.a_ms
            else None
        )

    @property
    def paired(self) -> int:
        """How many have a counterpart."""
        return sum(1 for layer in self.layers if layer.a and layer.b)

    def in_order(self) -> tuple[ComparedLayers, ...]:
        """Return the layers with the largest difference in ms first, changed or not."""
        return tuple(sorted(self.layers, key=lambda one: -abs(one.difference_ms or 0.0)))

    def by_difference(self) -> tuple[ComparedLayers, ...]:
        """Return the layers that changed, the largest difference first, then the others."""
        return tuple(
            sorted(
                self.layers, key=lambda one: (not one.is_changed, -abs(one.difference_ms or 0.0))
            )
        )


def compare_layers(
    a: tuple[Plan, Profile | None], b: tuple[Plan, Profile | None]
) -> LayerComparison:
    """Return what differs between two plans, each with its times."""
    a, b = zip((a[0], b[0]), comparable((a[1], b[1])), strict=True)
    alignment = align(a[0], b[0])
    times = paired_times(alignment, a[1], b[1])
    a_ms, b_ms = (one[1].sum_ms if one[1] else None for one in (a, b))
    difference_ms = b_ms - a_ms if a_ms is not None and b_ms is not None else None
    rows = tuple(_rows(alignment, times, difference_ms))
    return LayerComparison(
        layers=rows,
        a_ms=a_ms,
        b_ms=b_ms,
        difference_ms=difference_ms,
        explanations=explain(rows, (times.rest_a_ms, times.rest_b_ms), difference_ms),
        reformats_lost=_reformats(*a, alignment.only_a),
        reformats_added=_reformats(*b, alignment.only_b),
    )


def _rows(
    alignment: Alignment, times: PairedTimes, whole_ms: float | None
) -> Iterator[ComparedLayers]:
    of_a = {layer.index: layer for layer in alignment.plan_a.layers}
    of_b = {layer.index: layer for layer in alignment.plan_b.layers}
    paired = [_pair(pair, of_a, of_b, whole_ms) for pair in times.pairs]
    only_a = [_alone(Relation.ONLY_A, of_a, one, whole_ms) for one in times.only_a]
    yield from sorted((*paired, *only_a), key=lambda one: one.a.layers if one.a else ())
    yield from (_alone(Relation.ONLY_B, of_b, one, whole_ms) for one in times.only_b)


def _pair(
    time: PairTime, of_a: dict[int, Layer], of_b: dict[int, Layer], whole_ms: float | None
) -> ComparedLayers:
    pair = time.pair
    a = layers_side([of_a[one] for one in pair.a], time.a_ms)
    b = layers_side([of_b[one] for one in pair.b], time.b_ms)
    difference_ms = _difference(time.a_ms, time.b_ms, whole_ms)
    return ComparedLayers(
        relation=_relation(pair),
        a=a,
        b=b,
        evidence=pair.evidence,
        score=pair.score,
        changes=changes_between(a, b),
        difference_ms=difference_ms,
        share_pct=share_of(difference_ms, whole_ms),
    )


def _alone(
    relation: Relation, layers: dict[int, Layer], time: UnpairedTime, whole_ms: float | None
) -> ComparedLayers:
    side = layers_side([layers[time.index]], time.time_ms)
    in_a = relation is Relation.ONLY_A
    a, b = (side, None) if in_a else (None, side)
    difference_ms = _difference(a.time_ms if a else None, b.time_ms if b else None, whole_ms)
    return ComparedLayers(
        relation=relation,
        a=a,
        b=b,
        difference_ms=difference_ms,
        share_pct=share_of(difference_ms, whole_ms),
    )


def _difference(a_ms: float | None, b_ms: float | None, whole_ms: float | None) -> float | None:
    """What layers add to the whole difference; ``None`` where plans have none, or they no time."""
    if whole_ms is None or (a_ms is None and b_ms is None):
        return None
    return (b_ms or 0.0) - (a_ms or 0.0)


def _relation(pair: LayerPair) -> Relation:
    if not pair.is_group:
        return Relation.PAIR
    if len(pair.a) == 1:
        return Relation.SPLIT
    return Relation.MERGED if len(pair.b) == 1 else Relation.REGROUPED


def _reformats(
    plan: Plan, profile: Profile | None, unpaired: tuple[int, ...]
) -> tuple[ReformatLayer, ...]:
    wanted = frozenset(unpaired)
    found = [
        reformat
        for reformat in reformats(plan, layer_rows(plan, profile))
        if reformat.index in wanted
    ]
    return tuple(sorted(found, key=lambda one: -(one.time_ms or 0.0)))
