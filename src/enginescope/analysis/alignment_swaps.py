"""Pairs of equal layers that the order alone took crosswise."""

from __future__ import annotations

from enginescope.analysis.alignment_matching import Group, Matching
from enginescope.model.layer_pair import Evidence

#: How many pairs apart two of them may be exchanged.
REACH = 4


def untangle(found: Matching) -> None:
    """Exchange the partners of two pairs by structure where the flow of tensors says so.

    Layers of equal kind and shapes, such as the last convolution of a block and the one in its
    shortcut, are told apart by what they read and by who reads them. Linear in the pairs.
    """
    pairs = [
        (number, group)
        for number, group in enumerate(found.groups)
        if group.evidence is Evidence.STRUCTURE
    ]
    pairs.sort(key=lambda pair: pair[1].a)
    for place, (number, group) in enumerate(pairs):
        for other_number, other in pairs[place + 1 : place + 1 + REACH]:
            if _exchangeable(found, group, other):
                _exchange_if_better(found, (number, group), (other_number, other))


def _exchangeable(found: Matching, one: Group, other: Group) -> bool:
    a, b = found.a.loose, found.b.loose
    key = a[one.a[0]]
    return key == a[other.a[0]] and key == b[one.b[0]] and key == b[other.b[0]]


def _exchange_if_better(found: Matching, one: tuple[int, Group], other: tuple[int, Group]) -> None:
    before = _agreement(found, one[1]) + _agreement(found, other[1])
    _exchange(found, one, other)
    if _agreement(found, one[1]) + _agreement(found, other[1]) <= before:
        _exchange(found, one, other)


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
