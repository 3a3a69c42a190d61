"""Times of a profile to the layers of a plan."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.plan.timing import AttributedLayer, Attribution, LayerTiming, Profile

# TensorRT joins fused names by U+001E or U+001F; tools rewrite these as "+", spaces or none.
_JOINT = re.compile(r"\s*[\x1e\x1f+]\s*|\s+")


def attribute(plan: Plan, profile: Profile) -> Attribution:
    """Return the plan's layers with their times.

    Joined by name, the k-th of a name to the k-th of that name, since names repeat; then, for what
    is left, by names that differ only in how fused parts are joined. Never by position: with equal
    counts in another order that gives every layer a wrong time.

    Returns:
        What has no partner stays, on either side.
    """
    timings, left = joined_times(plan, profile)
    return Attribution(
        layers=tuple(
            [AttributedLayer(layer=layer, timing=timings.get(layer.index)) for layer in plan.layers]
        ),
        unmatched=left,
    )


def joined_times(
    plan: Plan, profile: Profile
) -> tuple[dict[int, LayerTiming], tuple[LayerTiming, ...]]:
    """Return times by the index of their layer, as `attribute` joins them, and those left over."""
    timings = _in_step(plan, profile)
    left = [] if timings else list(profile.layers)
    for key in (_as_is, _loosely):
        if not left:
            break
        open_layers = [layer for layer in plan.layers if layer.index not in timings]
        left = _join(open_layers, left, key, timings)
    return timings, tuple(left)


def _in_step(plan: Plan, profile: Profile) -> dict[int, LayerTiming]:
    """Join one by one if both name the same layers in the same order, as trtexec writes them."""
    if [layer.name for layer in plan.layers] != [layer.name for layer in profile.layers]:
        return {}
    return {one.index: timing for one, timing in zip(plan.layers, profile.layers, strict=True)}


def _join(
    layers: Sequence[Layer],
    times: Iterable[LayerTiming],
    key: Callable[[str], str],
    into: dict[int, LayerTiming],
) -> list[LayerTiming]:
    """Pair layers and times with equal keys in their order; return the times left over."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for layer in reversed(layers):  # the first of a name is to be taken out first
        waiting[key(layer.name)].append(layer.index)
    left = []
    for time in times:
        stack = waiting.get(key(time.name))
        if stack:
            into[stack.pop()] = time
        else:
            left.append(time)
    return left


def _as_is(name: str) -> str:
    return name


def _loosely(name: str) -> str:
    return _JOINT.sub("+", name.strip())
