"""Layers of two plans that do the same work, whatever fusion and precision made of them."""

from __future__ import annotations

from enginescope.analysis.alignment_matching import Matching
from enginescope.analysis.alignment_neighbours import match_neighbours, match_opaque
from enginescope.analysis.alignment_nodes import match_names, match_nodes, numbers_agree
from enginescope.analysis.alignment_order import match_in_order, score_structure
from enginescope.analysis.alignment_side import Side
from enginescope.analysis.alignment_swaps import untangle
from enginescope.core.paused_collection import paused_collection
from enginescope.model.layer_pair import Alignment, Evidence, LayerPair
from enginescope.model.plan import Plan


def align(plan_a: Plan, plan_b: Plan) -> Alignment:
    """Return which active layers of two plans do the same work.

    By unique names; then by the ONNX nodes in them; then, between what is paired so, by kind,
    parameters and shapes in order; then by neighbours alone. The batch and the precision are
    ignored. Time and memory grow linearly with the layers. ``align(b, a)`` is the same with the
    sides exchanged.

    Parameters
    ----------
    plan_a, plan_b : Plan

    Returns
    -------
    Alignment
        Every active layer in one pair at most; what has no counterpart stays, on either side.
    """
    with paused_collection():  # of large plans it would take a third of the time
        found = _whichever_way(Side(plan_a), Side(plan_b))
        return _alignment(plan_a, plan_b, found)


def _whichever_way(a: Side, b: Side) -> Matching:
    """Match two sides in an order of their own.

    Where two answers are equally good one is taken by order, which must not be the caller's.
    """
    if a.names == b.names:
        words_a, words_b = a.description(), b.description()
        if words_a == words_b:
            return _identity(a, b)
        exchanged = words_b < words_a
    else:
        exchanged = (len(b), b.names) < (len(a), a.names)
    return _exchanged(_match(b, a)) if exchanged else _match(a, b)


def _match(a: Side, b: Side) -> Matching:
    found = Matching(a, b)
    numbers = numbers_agree(a, b)
    match_names(found, numbers=numbers)
    match_nodes(found, numbers=numbers)
    for strict in (True, False):
        match_in_order(found, strict=strict, numbers=numbers)
        untangle(found)
    score_structure(found)
    match_opaque(found)
    match_neighbours(found)
    return found


def _identity(a: Side, b: Side) -> Matching:
    found = Matching(a, b)
    for position in range(len(a)):
        found.add([position], [position], Evidence.NAME, 1.0)
    return found


def _exchanged(found: Matching) -> Matching:
    turned = Matching(found.b, found.a)
    for group in found.groups:
        turned.add(group.b, group.a, group.evidence, group.score)
    return turned


def _alignment(plan_a: Plan, plan_b: Plan, found: Matching) -> Alignment:
    a, b = found.a.layers, found.b.layers
    return Alignment(
        plan_a=plan_a,
        plan_b=plan_b,
        pairs=tuple(
            LayerPair(
                a=tuple(a[one].index for one in group.a),
                b=tuple(b[one].index for one in group.b),
                evidence=group.evidence,
                score=group.score,
            )
            for group in sorted(found.groups, key=lambda group: group.a)
        ),
        only_a=tuple(a[one].index for one in found.free_a()),
        only_b=tuple(b[one].index for one in found.free_b()),
    )
