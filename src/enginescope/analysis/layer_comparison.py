"""Two plans, layer by layer: what differs, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.alignment import align
from enginescope.analysis.alignment_times import PairedTimes, PairTime, UnpairedTime, paired_times
from enginescope.analysis.difference_causes import Explanation, explain, share_of
from enginescope.analysis.layer_table import layer_rows
from enginescope.analysis.paired_layers import (
    ComparedLayers,
    Relation,
    changes_between,
    layers_side,
)
from enginescope.analysis.reformats import ReformatLayer, reformats
from enginescope.core.record import Record
from enginescope.model.layer_pair import Alignment, LayerPair
from enginescope.model.plan import Layer, Plan
from enginescope.model.timing import Profile


class LayerComparison(Record, frozen=True, kw_only=True):
    """Where the difference between two plans lies.

    Attributes
    ----------
    layers : tuple of ComparedLayers
        Every layer of either plan that does work, once: in the order of A, then those that only B
        has.
    a_ms, b_ms : float or None
        The layers' mean times added up.
    difference_ms : float or None
        B − A; ``None`` where a plan has no times.
    explanations : tuple of Explanation
        The largest first. They add up to `difference_ms`.
    reformats_lost, reformats_added : tuple of ReformatLayer
        Those that only A has, and only B, the longest first.
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
        return sum(1 for one in self.layers if one.a and one.b)

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
    alignment = align(a[0], b[0])
    times = paired_times(alignment, a[1], b[1])
    a_ms, b_ms = (one[1].sum_mean_ms if one[1] else None for one in (a, b))
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
    of_a = {one.index: one for one in alignment.plan_a.layers}
    of_b = {one.index: one for one in alignment.plan_b.layers}
    paired = [_pair(one, of_a, of_b, whole_ms) for one in times.pairs]
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
    side = layers_side([layers[time.index]], time.mean_ms)
    in_a = relation is Relation.ONLY_A
    a, b = (side, None) if in_a else (None, side)
    difference_ms = _difference(a.mean_ms if a else None, b.mean_ms if b else None, whole_ms)
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
    found = [one for one in reformats(plan, layer_rows(plan, profile)) if one.index in wanted]
    return tuple(sorted(found, key=lambda one: -(one.mean_ms or 0.0)))
