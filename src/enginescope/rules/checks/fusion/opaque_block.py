"""Fused block with no timing inside.

What it looks for: a Myelin or ForeignNode layer that replaces a part of the network. It takes at
least 5 % of the engine's time.

Why it costs time: the plan does not show the kernels of the block, and the profiler times the block
as a whole. Neither shows what is slow inside, or what can be saved.

What to do: build with TensorRT 10 or later, which lists the kernels of such a block, each with its
time. Or time the kernels with Nsight Systems: `nsys profile --stats=true trtexec
--loadEngine=net.engine`.

When it is wrong: the block is a single operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.analysis.layers.reformats import is_whole_part
from enginescope.judge.units import format_ms, format_significant
from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_SHARE_PCT = 5.0


def _check(view: LintView) -> Iterator[Found]:
    least_ms = (view.engine_ms or 0.0) * _SHARE_PCT / 100
    for index, time_ms in view.times_ms.items():
        layer, share = view.layers[index], view.share_pct(time_ms)
        if time_ms < least_ms or share is None or not is_whole_part(layer):
            continue
        yield Found(
            layers=(layer.index,),
            message=f"takes {format_ms(time_ms, 3)}, "
            f"{format_significant(share, 2)} % of the time, and the plan shows nothing of its "
            "kernels",
            evidence={"time_ms": time_ms, "share_pct": round(share, 3), "type": layer.type},
            stakes_ms={},
        )


RULE = Rule(
    code="PLAN118",
    name="opaque-block",
    summary="A fused block takes much of the time, and nothing inside it is timed",
    severity=Severity.INFO,
    advice="build with TensorRT 10 or later to see its kernels",
    doc=__doc__,
    check=_check,
)
