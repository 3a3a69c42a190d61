"""Time concentrated in one layer.

What it looks for: one layer with at least a quarter of the profile's time, in a plan of four layers
or more.

Why it costs time: this layer limits what all other changes can save.

What to do: begin with this layer. Its time alone does not show what can be saved, so nothing is at
stake. PLAN118 explains a block without times inside.

When it is wrong: the network is one large layer by design.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_SHARE_PCT = 25.0
_FEWEST = 4


def _check(view: LintView) -> Iterator[Found]:
    if len(view.active) < _FEWEST:
        return
    least_ms = (view.engine_ms or 0.0) * _SHARE_PCT / 100
    long = [index for index, time_ms in view.times_ms.items() if time_ms >= least_ms]
    for layer in map(view.layers.__getitem__, long):
        share = view.share_pct(view.times_ms[layer.index])
        if share is None or share < _SHARE_PCT:
            continue
        if layer.is_inert:
            continue
        yield Found(
            layers=(layer.index,),
            message="takes a quarter of the time or more",
            evidence={"share_pct": round(share, 3), "type": layer.type},
            stakes_ms={},
        )


RULE = Rule(
    code="TIME201",
    name="time-concentrated",
    summary="One layer takes a large part of the time",
    severity=Severity.INFO,
    advice="begin with this layer",
    doc=__doc__,
    check=_check,
)
