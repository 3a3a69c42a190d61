"""Causes over symptoms; and the time of each layer at stake once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from enginescope.rules.base import Found, Rule
from enginescope.rules.view import LintView


class Place(NamedTuple):
    """What a rule found."""

    rule: Rule
    found: Found


def explained(places: Sequence[Place]) -> dict[int, list[int]]:
    """Return the places that stay findings, each with the places that it explains.

    A place is a symptom where findings of rules that explain its code hold more than half of its
    layers. It goes to the one that holds most of them, or to what explains that one.
    """
    holders = _holders(places)
    parent: dict[int, int] = {}
    for at, (rule, place) in enumerate(places):
        by_layer = holders.get(rule.code)
        if by_layer is None or not place.layers:
            continue
        causes_of = [by_layer[layer] for layer in place.layers if layer in by_layer]
        if 2 * len(causes_of) > len(place.layers):
            counts = Counter(cause for causes in causes_of for cause in causes)
            parent[at] = max(counts, key=lambda cause: (counts[cause], -cause))
    kept: dict[int, list[int]] = {at: [] for at in range(len(places)) if at not in parent}
    for at in parent:
        cause = parent[at]
        while cause in parent:
            cause = parent[cause]
        kept[cause].append(at)
    return kept


def _holders(places: Sequence[Place]) -> dict[str, dict[int, list[int]]]:
    """Return the causes of each code that is explained, by layer."""
    holders: dict[str, dict[int, list[int]]] = {}
    for at, (rule, place) in enumerate(places):
        for code in rule.explains:
            by_layer = holders.setdefault(code, {})
            for layer in place.layers:
                by_layer.setdefault(layer, []).append(at)
    return holders


def stakes_ms(places: Sequence[Place], view: LintView) -> list[float | None]:
    """Return the time at stake of each place; ``None`` where it is not known.

    Rules that explain others go first, and places that may win more of their layers' time before
    those that may win a smaller part: first what removes a layer, then what shortens it. A later
    place has at stake what it may win of a layer beyond what an earlier place may: both speak of
    the same time. So the stakes on a layer add up to its own time at most.
    """
    claims = [_claims(place.found, view) for place in places]
    parts = [sum(claim.values()) / (view.time_ms(claim) or 1.0) for claim in claims]
    order = sorted(range(len(places)), key=lambda at: (not places[at].rule.explains, -parts[at]))
    taken: dict[int, float] = {}
    stakes: list[float | None] = [None] * len(places)
    for at in order:
        won = 0.0
        for layer, claim_ms in claims[at].items():
            before = taken.get(layer, 0.0)
            if claim_ms > before:
                won += claim_ms - before
                taken[layer] = claim_ms
        stakes[at] = won if claims[at] else None
    return stakes


def _claims(found: Found, view: LintView) -> Mapping[int, float]:
    if found.stakes_ms is None:
        return view.part_ms(found.layers)
    own = view.times_ms
    claims = found.stakes_ms.items()
    return {layer: min(max(ms, 0.0), own[layer]) for layer, ms in claims if layer in own}
