"""Shape computations on the host.

What it looks for: shape calls and copies of shapes between host and device that take together at
least 1 % of the profile.

Why it costs time: shapes that depend on data are computed on the host, and the GPU waits for them.

What to do: make dimensions static, or few; take shape arithmetic, NonZero and such out of the
model; simplify it with constant folding.

When it is wrong: the profiler adds its own cost to calls as short as these.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_TYPES = frozenset({"shape_call", "ShapeHostToDevice", "DeviceToShapeHost", "Shape"})
_SHARE_PCT = 1.0


def _check(view: LintView) -> Iterator[Found]:
    calls = [
        layer.index
        for layer in view.plan.layers
        if layer.type in _TYPES and view.times_ms.get(layer.index)
    ]
    time_ms = view.sum_ms(calls)
    share = view.share_pct(time_ms)
    if share is not None and share >= _SHARE_PCT:
        yield Found(
            layers=tuple(calls),
            subject=f"{len(calls)} shape computations",
            message="run on the host between the layers",
            evidence={"calls": len(calls), "share_pct": round(share, 3)},
        )


RULE = Rule(
    code="PLAN112",
    name="host-shapes",
    summary="Shape computations on the host take time",
    severity=Severity.WARNING,
    advice="make dimensions static where they can be, and fold constants in the model",
    doc=__doc__,
    check=_check,
)
