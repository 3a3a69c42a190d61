"""What explains the difference of two plans' times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from enginescope.analysis.layers.reformats import is_reformat
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, Relation
from enginescope.core.record import Record


class Cause(Enum):
    """Why layers take another time; each layer has one, the first of these that applies."""

    ONE_SIDED = "one_sided"
    REFORMAT_LOST = "reformat_lost"
    REFORMAT_ADDED = "reformat_added"
    ONLY_A = "only_a"
    ONLY_B = "only_b"
    FUSION = "fusion"
    SHAPES = "shapes"
    BATCH = "batch"
    PRECISION = "precision"
    TACTIC = "tactic"
    FORMAT = "format"
    KIND = "kind"
    NOTHING = "nothing"
    OUTSIDE = "outside"


class Explanation(Record, frozen=True, kw_only=True):
    """Layers whose time differs for one reason.

    Attributes:
        cause: ``ONE_SIDED``: a time on one side only, though both have the layers. ``NOTHING``: no
            property differs, only the time. ``OUTSIDE``: times that belong to no layer that does
            work.
        kind: Type of the layers, in A and in B where that is another.
        detail: What it was and what it is: ``"FP32 → FP16"``.
        members: Positions in `LayerComparison.layers`.
        a_ms, b_ms: Their times added up.
        difference_ms: B − A.
        share_pct: Of the whole difference, with its sign.
    """

    cause: Cause
    kind: str | None
    detail: str | None
    members: tuple[int, ...]
    a_ms: float | None
    b_ms: float | None
    difference_ms: float | None
    share_pct: float | None = None


#: Sums of the same times in another order differ by as much.
_NO_DIFFERENCE_MS = 1e-9
_ALONE = {
    (Relation.ONLY_A, True): Cause.REFORMAT_LOST,
    (Relation.ONLY_B, True): Cause.REFORMAT_ADDED,
    (Relation.ONLY_A, False): Cause.ONLY_A,
    (Relation.ONLY_B, False): Cause.ONLY_B,
}
_BY_CHANGE = (Cause.SHAPES, Cause.BATCH, Cause.PRECISION, Cause.TACTIC, Cause.FORMAT, Cause.KIND)


def explain(
    layers: Sequence[ComparedLayers],
    rest_ms: tuple[float | None, float | None],
    difference_ms: float | None,
) -> tuple[Explanation, ...]:
    """Return the reasons for `difference_ms`, the largest first; they add up to it.

    Args:
        layers: All of them.
        rest_ms: Times of either plan that belong to none of them.
        difference_ms: ``None``: a plan has no times; then the reasons with most layers go first.
    """
    groups: dict[tuple[Cause, str, str | None], list[int]] = {}
    for at, one in enumerate(layers):
        cause = cause_of(one)
        groups.setdefault((cause, one.type, _detail(one, cause)), []).append(at)
    found = [
        _explanation(key, [layers[at] for at in members], tuple(members), difference_ms)
        for key, members in groups.items()
    ]
    if difference_ms is not None and any(rest_ms):
        found.append(_outside(rest_ms, difference_ms))
    return tuple(
        sorted(
            found,
            key=lambda one: (
                -abs(one.difference_ms or 0.0),
                -len(one.members),
                one.kind or "",
                one.detail or "",
            ),
        )
    )


def cause_of(layers: ComparedLayers) -> Cause:
    """Return the first reason that applies."""
    if layers.relation in (Relation.ONLY_A, Relation.ONLY_B):
        side = layers.a or layers.b
        assert side is not None
        return _ALONE[layers.relation, is_reformat(*side.types, *side.subtypes)]
    if layers.difference_ms is not None and (layers.a_ms is None or layers.b_ms is None):
        return Cause.ONE_SIDED
    if layers.relation is not Relation.PAIR:
        return Cause.FUSION
    changed = {change.what for change in layers.changes}
    return next((one for one in _BY_CHANGE if one.value in changed), Cause.NOTHING)


def share_of(difference_ms: float | None, whole_ms: float | None) -> float | None:
    """Return a part of the whole difference in percent; ``None`` where there is no difference."""
    if difference_ms is None or whole_ms is None or abs(whole_ms) < _NO_DIFFERENCE_MS:
        return None
    return 100 * difference_ms / whole_ms


def _detail(layers: ComparedLayers, cause: Cause) -> str | None:
    """What changed, where a few words say it: tactics, formats and shapes are too many."""
    if cause not in (Cause.BATCH, Cause.PRECISION, Cause.FUSION):
        return None
    change = layers.change("batch" if cause is Cause.BATCH else "precision")
    if change is None:
        return None
    if " → " in change.a + change.b:
        return f"({change.a}) to ({change.b})"
    return f"{change.a} → {change.b}"


def _explanation(
    key: tuple[Cause, str, str | None],
    layers: Sequence[ComparedLayers],
    members: tuple[int, ...],
    whole_ms: float | None,
) -> Explanation:
    cause, kind, detail = key
    difference_ms = _sum([layer.difference_ms for layer in layers])
    return Explanation(
        cause=cause,
        kind=kind,
        detail=detail,
        members=members,
        a_ms=_sum([layer.a_ms for layer in layers]),
        b_ms=_sum([layer.b_ms for layer in layers]),
        difference_ms=difference_ms,
        share_pct=share_of(difference_ms, whole_ms),
    )


def _outside(rest_ms: tuple[float | None, float | None], whole_ms: float) -> Explanation:
    a_ms, b_ms = rest_ms
    difference_ms = (b_ms or 0.0) - (a_ms or 0.0)
    return Explanation(
        cause=Cause.OUTSIDE,
        kind=None,
        detail=None,
        members=(),
        a_ms=a_ms,
        b_ms=b_ms,
        difference_ms=difference_ms,
        share_pct=share_of(difference_ms, whole_ms),
    )


def _sum(times: Sequence[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return math.fsum(known) if known else None
