"""Times of a profile to the layers of a plan."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable

from enginescope.model.plan import Layer, Plan
from enginescope.model.timing import AttributedLayer, Attribution, LayerTiming, Profile

# TensorRT joins fused names by U+001E or U+001F; tools rewrite these as "+", spaces or none.
_JOINT = re.compile(r"\s*[\x1e\x1f+]\s*|\s+")


def attribute(plan: Plan, profile: Profile) -> Attribution:
    """Return the plan's layers with their times.

    Joined by name, the k-th of a name to the k-th of that name, since names repeat; then, for what
    is left, by names that differ only in how fused parts are joined. Never by position: with equal
    counts in another order that gives every layer a wrong time.

    Parameters
    ----------
    plan : Plan
    profile : Profile

    Returns
    -------
    Attribution
        What has no partner stays, on either side.
    """
    timings: dict[int, LayerTiming] = {}
    left = list(profile.layers)
    for key in (_as_is, _loosely):
        open_layers = [layer for layer in plan.layers if layer.index not in timings]
        left = _join(open_layers, left, key, timings)
    return Attribution(
        layers=tuple(
            AttributedLayer(layer=layer, timing=timings.get(layer.index)) for layer in plan.layers
        ),
        unmatched=tuple(left),
    )


def _join(
    layers: Iterable[Layer],
    times: Iterable[LayerTiming],
    key: Callable[[str], str],
    into: dict[int, LayerTiming],
) -> list[LayerTiming]:
    """Pair layers and times with equal keys in their order; return the times left over."""
    waiting: dict[str, deque[Layer]] = defaultdict(deque)
    for layer in layers:
        waiting[key(layer.name)].append(layer)
    left = []
    for one in times:
        queue = waiting.get(key(one.name))
        if queue:
            into[queue.popleft().index] = one
        else:
            left.append(one)
    return left


def _as_is(name: str) -> str:
    return name


def _loosely(name: str) -> str:
    return _JOINT.sub("+", name.strip())
