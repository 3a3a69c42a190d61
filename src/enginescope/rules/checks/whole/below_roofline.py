"""Layer far below its roofline.

What it looks for: a layer that takes at least four times its limit. The limit follows from the
GPU's peaks, the layer's bytes and its multiplications. The layer takes at least 10 µs and loses at
least 1 % of the profile's time. The GPU and the layer's work have to be known. The rule skips fused
kernels that may compute more than the plan shows.

Why it costs time: neither memory nor arithmetic is busy. The GPU may have too few blocks, the
tactic may not fit the shape, or the access is strided.

What to do: look at the shape and the tactic. Raise the batch, align the sizes, and give the builder
more workspace and a higher optimization level. The time beyond the limit is at stake.

When it is wrong: clocks below boost look the same. So does the profiler's own time per layer, where
it cannot be estimated.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.roofline.roofline import roofline
from enginescope.core.record import replace
from enginescope.records.plan.plan import AttributedLayer, Attribution
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_DISTANCE = 4.0
_SHORTEST_MS = 0.010
_SHARE_PCT = 1.0


def _check(view: LintView) -> Iterator[Found]:
    if view.gpu is None or view.profile is None:
        return
    long = _long_enough(view)
    if not long:
        return
    part = replace(view.plan, layers=tuple(one.layer for one in long))
    works = [view.work(one.layer) for one in long]
    times = Attribution(layers=long)
    for roof in roofline(part, works, view.gpu, times).layers:
        distance, excess = roof.distance, roof.excess_ms
        if roof.is_partial or distance is None or distance < _DISTANCE:
            continue
        if excess is None or (view.share_pct(excess) or 0.0) < _SHARE_PCT:
            continue
        yield Found(
            layers=(part.layers[roof.position].index,),
            message=f"takes {distance:.1f} × its limit by {roof.bound} on {view.gpu.name}",
            evidence={
                "distance": round(distance, 3),
                "bound": roof.bound,
                "attainable_ms": roof.attainable_ms,
                "gpu": view.gpu.name,
            },
            stakes_ms={part.layers[roof.position].index: excess},
        )


def _long_enough(view: LintView) -> tuple[AttributedLayer, ...]:
    """Return the layers long enough to lose that much; a large plan has few."""
    shortest_ms = max(_SHORTEST_MS, (view.engine_ms or 0.0) * _SHARE_PCT / 100)
    timings = view.timings
    long = sorted(index for index, ms in view.times_ms.items() if ms >= shortest_ms)
    return tuple(AttributedLayer(layer=view.layers[one], timing=timings[one]) for one in long)


RULE = Rule(
    code="TIME204",
    name="below-roofline",
    summary="A layer takes several times the limit of the GPU's peaks",
    severity=Severity.WARNING,
    advice="look at its shape and tactic; raise the batch or the builder's optimization level",
    doc=__doc__,
    check=_check,
)
