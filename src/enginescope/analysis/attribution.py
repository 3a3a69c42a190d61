"""A plan's layers and their times."""

from __future__ import annotations

import re
from collections import defaultdict, deque

from enginescope.model.plan import Plan
from enginescope.model.timing import AttributedLayer, Attribution, LayerTiming, Profile

#: TensorRT joins the names of fused layers with these, trtexec's files and trex write "+".
_JOINTS = re.compile("[\x1e\x1f+ ]+")


def attribute(plan: Plan, profile: Profile) -> Attribution:
    """Join `plan` and `profile` by name.

    The k-th layer of a name gets the k-th time of that name: names repeat, and both sides list
    layers in the order of execution. Names that differ only in how fused parts are joined (U+001E,
    U+001F, ``+``, spaces) are the same. Nothing is joined by position.

    Returns
    -------
    Attribution
        Every layer of the plan, ``None`` where no time bears its name; and the times left over.
    """
    waiting: defaultdict[str, deque[LayerTiming]] = defaultdict(deque)
    for timing in profile.layers:
        waiting[_key(timing.name)].append(timing)
    layers = []
    for layer in plan.layers:
        queue = waiting.get(_key(layer.name))
        layers.append(AttributedLayer(layer=layer, timing=queue.popleft() if queue else None))
    left = sorted((one for queue in waiting.values() for one in queue), key=lambda one: one.index)
    return Attribution(layers=tuple(layers), unmatched=tuple(left))


def _key(name: str) -> str:
    return _JOINTS.sub("+", name)
