"""Shape computations on the host.

What it looks for: copies of shapes between GPU and host, and shape calls, that take together at
least 1 % of the engine's time. The rule finds a copy from the GPU to the host without times too.

Why it costs time: the host computes shapes that depend on data, and the GPU waits for them.

What to do: make dimensions static, or few. Remove shape arithmetic, NonZero and similar nodes from
the model. Fold constants: ``polygraphy surgeon sanitize model.onnx --fold-constants -o
folded.onnx``.

When it is wrong: the profiler adds its own time to such short calls, where it cannot be estimated.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_WAITS = "DeviceToShapeHost"
_TYPES = frozenset({"shape_call", "ShapeHostToDevice", _WAITS, "Shape"})
_SHARE_PCT = 1.0


def _check(view: LintView) -> Iterator[Found]:
    every = [layer for layer in view.plan.layers if layer.type in _TYPES]
    waits = [layer for layer in every if layer.type == _WAITS]
    calls = [one.index for one in every if view.times_ms.get(one.index) or one.type == _WAITS]
    share = view.share_pct(view.time_ms(calls))
    if not calls or not (waits or (share or 0.0) >= _SHARE_PCT):
        return
    count = "1 shape" if len(calls) == 1 else f"{len(calls):,} shapes"
    first = view.layers[calls[0]].name
    yield Found(
        layers=tuple(calls),
        subject=f"{first} … {view.layers[calls[-1]].name}" if calls[1:] else first,
        message=f"computes {count} on the host between the layers"
        + (", and the GPU waits for it" if waits else ""),
        evidence={"calls": len(calls), "share_pct": None if share is None else round(share, 3)},
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
