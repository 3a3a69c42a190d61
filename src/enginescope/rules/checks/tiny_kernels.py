"""Many tiny kernels.

What it looks for: at least twenty layers of less than 5 µs each that take together at least a fifth
of the profile's time.

Why it costs time: such kernels do not fill the GPU, and launching one takes about as long as
running it.

What to do: run with a CUDA graph, raise the batch, and look for what keeps the layers from being
fused: precisions that alternate, outputs marked in between, plugins.

When it is wrong: the profiler separates kernels that overlap otherwise, and adds some
microseconds to each.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_TINY_MS = 0.005
_FEWEST = 20
_SHARE_PCT = 20.0


def _check(view: LintView) -> Iterator[Found]:
    times = view.times_ms.items()
    short = sorted(index for index, time_ms in times if 0 < time_ms < _TINY_MS)
    tiny = tuple(one for one in short if not view.layers[one].is_inert)
    time_ms = view.sum_ms(tiny)
    share = view.share_pct(time_ms)
    if len(tiny) >= _FEWEST and share is not None and share >= _SHARE_PCT:
        yield Found(
            layers=tiny,
            subject=f"{len(tiny):,} layers",
            message="take less than 5 µs each",
            evidence={"layers": len(tiny), "share_pct": round(share, 3)},
        )


RULE = Rule(
    code="TIME202",
    name="tiny-kernels",
    summary="Many kernels are too short to fill the GPU",
    severity=Severity.WARNING,
    advice="run with a CUDA graph or a larger batch, and look for what prevents fusion",
    doc=__doc__,
    check=_check,
)
