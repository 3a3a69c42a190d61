"""Two plans, layer by layer: what differs, and what that costs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

from enginescope.analysis.claims.layer_time import comparable
from enginescope.analysis.layers.layer_table import attribute, layer_rows
from enginescope.analysis.layers.reformats import ReformatLayer, reformats
from enginescope.analysis.plan_comparison.alignment import align
from enginescope.analysis.plan_comparison.difference_causes import Explanation, explain, share_of
from enginescope.analysis.plan_comparison.layer_changes import (
    ComparedLayers,
    LayersSide,
    Relation,
    changes_between,
    layers_side,
)
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.records.plan.plan import Alignment, LayerPair, Plan, Profile


def active_times(plan: Plan, profile: Profile | None) -> tuple[dict[int, float], float | None]:
    """Return the times of the active layers by index, and the sum of all others.

    Others are inert layers, and layers that the plan does not have. Containers (``If``, ``Loop``)
    are left out: their time is that of the layers inside.
    """
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

    def leading(self, share_pct: float = 80.0) -> tuple[tuple[ComparedLayers, ...], float]:
        """Return the fewest layers that make this share of all differences, and their share in %.

        Layers that take more time and layers that take less count alike. No layers where no
        difference is known.
        """
        rows = [row for row in self.in_order() if row.difference_ms]
        sums = list(accumulate(abs(row.difference_ms or 0.0) for row in rows))
        count = bisect_left(sums, sums[-1] * share_pct / 100) + 1 if sums else 0
        return tuple(rows[:count]), 100 * sums[count - 1] / sums[-1] if sums else 0.0

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
    (times_a, rest_a), (times_b, rest_b) = active_times(*a), active_times(*b)
    a_ms, b_ms = (one[1].sum_ms if one[1] else None for one in (a, b))
    difference_ms = b_ms - a_ms if a_ms is not None and b_ms is not None else None
    rows = compared_rows(alignment, times_a, times_b, difference_ms)
    return LayerComparison(
        layers=rows,
        a_ms=a_ms,
        b_ms=b_ms,
        difference_ms=difference_ms,
        explanations=explain(rows, (rest_a, rest_b), difference_ms),
        reformats_lost=_reformats(*a, alignment.only_a),
        reformats_added=_reformats(*b, alignment.only_b),
    )


def compared_rows(
    alignment: Alignment,
    times_a: dict[int, float],
    times_b: dict[int, float],
    whole_ms: float | None,
) -> tuple[ComparedLayers, ...]:
    """Return each pair of an alignment, and each layer without a counterpart.

    Args:
        times_a, times_b: Of layers by index; see `active_times`.
        whole_ms: The difference of the plans.
    """
    a, b = _side_maker(alignment.plan_a, times_a), _side_maker(alignment.plan_b, times_b)
    in_a = [_compared(_relation(one), a(one.a), b(one.b), whole_ms, one) for one in alignment.pairs]
    in_a += [_compared(Relation.ONLY_A, a((one,)), None, whole_ms) for one in alignment.only_a]
    only_b = (_compared(Relation.ONLY_B, None, b((one,)), whole_ms) for one in alignment.only_b)
    return (*sorted(in_a, key=lambda row: row.a.layers if row.a else ()), *only_b)


def _side_maker(plan: Plan, times: dict[int, float]) -> Callable[[tuple[int, ...]], LayersSide]:
    layers = {layer.index: layer for layer in plan.layers}
    return lambda side: layers_side(
        [layers[index] for index in side], sum_known(times.get(index) for index in side)
    )


def _compared(
    relation: Relation,
    a: LayersSide | None,
    b: LayersSide | None,
    whole_ms: float | None,
    pair: LayerPair | None = None,
) -> ComparedLayers:
    a_ms, b_ms = (side.time_ms if side else None for side in (a, b))
    is_unknown = whole_ms is None or (a_ms is None and b_ms is None)
    difference_ms = None if is_unknown else (b_ms or 0.0) - (a_ms or 0.0)
    return ComparedLayers(
        relation=relation,
        a=a,
        b=b,
        evidence=pair.evidence if pair else None,
        score=pair.score if pair else None,
        changes=changes_between(a, b) if a and b else (),
        difference_ms=difference_ms,
        share_pct=share_of(difference_ms, whole_ms),
    )


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
