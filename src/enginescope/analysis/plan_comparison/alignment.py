"""Layers of two plans that do the same work, whatever fusion and precision made of them."""

from collections import defaultdict
from typing import NamedTuple

from enginescope.analysis.layers.reformats import WHOLE_PARTS
from enginescope.analysis.plan_comparison import alignment_matching
from enginescope.analysis.plan_comparison.alignment_side import Group, Matching, Side
from enginescope.core.process_control import gc_paused
from enginescope.records.plan.plan import Alignment, Evidence, LayerPair, Plan

#: Score of groups that rest on their neighbors, and on the shapes at their ends or not.
SCORE, SCORE_WITHOUT_SHAPES = 0.3, 0.2
#: Longer chains have work of their own, which neighbors do not tell apart.
MAX_CHAIN = 16

_Ends = tuple[tuple[int, ...], tuple[int, ...]]


def match_neighbours(found: Matching) -> None:
    """Group free layers by the groups before and behind them in the flow of tensors.

    Chains of free layers that lead on both sides from the same groups to the same, and begin and
    end with the same shapes, are one group; single layers that are alone between these groups even
    without. A chain between layers whose counterparts follow each other directly was fused with
    one of these: with the one before if that yields the chain's result, else with the one behind
    if that takes what the chain takes. Reformats are left out: they do nothing that could have
    been fused.
    """
    chains_a = _by_ends(found.a, found.of_a)
    chains_b = _by_ends(found.b, found.of_b)
    for ends in [one for one in chains_a if one in chains_b and one != ((), ())]:
        alone = len(chains_a[ends]) == len(chains_b[ends]) == 1
        for one, other in zip(chains_a[ends], chains_b[ends], strict=False):
            if _taken(found.of_a, one) or _taken(found.of_b, other):
                continue
            shapes = found.a.first_in[one[0]], found.a.first_out[one[-1]]
            ends_b = found.b.first_in[other[0]], found.b.first_out[other[-1]]
            if None not in shapes and shapes == ends_b:
                found.add(one, other, Evidence.NEIGHBOURHOOD, SCORE)
            elif alone and len(one) == len(other) == 1:
                found.add(one, other, Evidence.NEIGHBOURHOOD, SCORE_WITHOUT_SHAPES)
    half_a = _Half(found.a, found.of_a, [group.a for group in found.groups])
    half_b = _Half(found.b, found.of_b, [group.b for group in found.groups])
    _absorb(found, chains_a, half_a, half_b)
    _absorb(found, chains_b, half_b, half_a)


def _by_ends(side: Side, of: list[int]) -> dict[_Ends, list[list[int]]]:
    """Groups before and behind -> runs of free layers, each the only consumer of the one before."""
    chains: dict[_Ends, list[list[int]]] = defaultdict(list)
    for head, above in enumerate(side.producers):
        if of[head] >= 0 or side.is_reformat(head):
            continue
        chain = [head]
        below = side.consumers[head]
        while len(below) == 1 and of[below[0]] < 0 and len(chain) < MAX_CHAIN:
            chain.append(below[0])
            below = side.consumers[below[0]]
        before, behind = _groups(of, above), _groups(of, below)
        # A free neighbor is not an end, but beside one that has a group it does not matter.
        if (before or not above) and (behind or not below):
            chains[before, behind].append(chain)
    return chains


def _groups(of: list[int], positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({of[position] for position in positions} - {-1}))


def _taken(of: list[int], chain: list[int]) -> bool:
    """Whether a part of a chain was grouped as part of another chain."""
    return any(of[one] >= 0 for one in chain)


def match_opaque(found: Matching) -> None:
    """Group a part compiled as one layer with the free layers in its place on the other side."""
    for free_a, free_b in list(alignment_matching.gaps(found)):
        one = [each for each in free_a if not found.a.is_reformat(each)]
        other = [each for each in free_b if not found.b.is_reformat(each)]
        alone_a = len(one) == 1 and found.a.kinds[one[0]] in WHOLE_PARTS
        alone_b = len(other) == 1 and found.b.kinds[other[0]] in WHOLE_PARTS
        if one and other and (alone_a or alone_b):
            found.add(one, other, Evidence.NEIGHBOURHOOD, SCORE)


class _Half(NamedTuple):
    """One side of a matching, with the members that each group has on it."""

    side: Side
    of: list[int]
    members: list[list[int]]

    def joins(self, group: int, following: int) -> bool:
        """Whether a layer of `following` reads from one of `group`."""
        before = set(self.members[group])
        behind = self.members[following]
        return any(not before.isdisjoint(self.side.producers[one]) for one in behind)


def _absorb(
    found: Matching, chains: dict[_Ends, list[list[int]]], here: _Half, there: _Half
) -> None:
    """Add chains of one side that are fused on the other to the group that they are fused into."""
    for (above, below), several in chains.items():
        for chain in several:
            if _taken(here.of, chain):
                continue
            number = _fused_into(chain, above, below, here, there)
            if number is not None:
                group = found.groups[number]
                here.members[number] += chain  # a list that the group has too
                here.members[number].sort()
                group.evidence, group.score = Evidence.NEIGHBOURHOOD, min(group.score, SCORE)
                for one in chain:
                    here.of[one] = number


def _fused_into(
    chain: list[int], above: tuple[int, ...], below: tuple[int, ...], here: _Half, there: _Half
) -> int | None:
    """Group that holds a chain's work on the other side, if its neighbors are joined there."""
    shape_in = here.side.first_in[chain[0]]
    shape_out = here.side.first_out[chain[-1]]
    for before in above:
        for behind in below:
            if here.joins(before, behind) or not there.joins(before, behind):
                continue
            given = {there.side.first_out[one] for one in there.members[before]}
            taken = {there.side.first_in[one] for one in there.members[behind]}
            if shape_out is not None and shape_out in given:
                return before
            if shape_in is not None and shape_in in taken:
                return behind
    return None


#: How many pairs apart two of them may be exchanged.
REACH = 4


def untangle(found: Matching) -> None:
    """Exchange the partners of two pairs by structure where the flow of tensors says so.

    Layers of equal kind and shapes, such as the last convolution of a block and the one in its
    shortcut, are told apart by what they read and by who reads them. Linear in the pairs.
    """
    numbered = enumerate(found.groups)
    pairs = [(number, it) for number, it in numbered if it.evidence is Evidence.STRUCTURE]
    pairs.sort(key=lambda pair: pair[1].a)
    for place, (number, group) in enumerate(pairs):
        for other_number, other in pairs[place + 1 : place + 1 + REACH]:
            a, b = found.a.loose, found.b.loose
            if a[group.a[0]] == a[other.a[0]] == b[group.b[0]] == b[other.b[0]]:
                ends = (number, group), (other_number, other)
                before = _agreement(found, group) + _agreement(found, other)
                _exchange(found, *ends)
                if _agreement(found, group) + _agreement(found, other) <= before:
                    _exchange(found, *ends)


def _exchange(found: Matching, one: tuple[int, Group], other: tuple[int, Group]) -> None:
    one[1].b, other[1].b = other[1].b, one[1].b
    for number, group in (one, other):
        found.of_b[group.b[0]] = number


def _agreement(found: Matching, pair: Group) -> int:
    """How many of: the layer that gives the first input, and those that read, correspond."""
    a, b = pair.a[0], pair.b[0]
    above_a, above_b = found.a.producers[a][:1], found.b.producers[b][:1]
    below_a, below_b = found.a.consumers[a], found.b.consumers[b]
    given = [found.of_a[one] for one in above_a] == [found.of_b[one] for one in above_b]
    taken = {found.of_a[one] for one in below_a} == {found.of_b[one] for one in below_b}
    return given + taken


def align(plan_a: Plan, plan_b: Plan) -> Alignment:
    """Return which active layers of two plans do the same work.

    By unique names; then by the ONNX nodes in them; then, between what is paired so, by kind,
    parameters and shapes in order; then by neighbors alone. The batch and the precision are
    ignored. Time and memory grow linearly with the layers. ``align(b, a)`` is the same with the
    sides exchanged.

    Returns:
        Every active layer in one pair at most; what has no counterpart stays, on either side.
    """
    with gc_paused():  # of large plans it would take a third of the time
        found = _whichever_way(Side(plan_a), Side(plan_b))
        return _alignment(plan_a, plan_b, found)


def _whichever_way(a: Side, b: Side) -> Matching:
    """Match two sides in an order of their own.

    Where two results are equally good one is taken by order, which must not be the caller's.
    """
    if a.names == b.names:
        words_a, words_b = a.description(), b.description()
        if words_a == words_b:
            found = Matching(a, b)
            for position in range(len(a)):
                found.add([position], [position], Evidence.NAME, 1.0)
            return found
        exchanged = words_b < words_a
    else:
        exchanged = (len(b), b.names) < (len(a), a.names)
    if not exchanged:
        return _match(a, b)
    turned = Matching(a, b)
    for group in _match(b, a).groups:
        turned.add(group.b, group.a, group.evidence, group.score)
    return turned


def _match(a: Side, b: Side) -> Matching:
    found = Matching(a, b)
    numbers = alignment_matching.numbers_agree(a, b)
    alignment_matching.match_names(found, numbers=numbers)
    alignment_matching.match_nodes(found, numbers=numbers)
    for strict in (True, False):
        alignment_matching.match_in_order(found, strict=strict, numbers=numbers)
        untangle(found)
    alignment_matching.score_structure(found)
    match_opaque(found)
    match_neighbours(found)
    return found


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
