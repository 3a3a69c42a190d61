"""Many tiny kernels.

What it looks for: at least twenty layers of less than 5 µs each in the profile. Together they take
at least a fifth of the engine's time.

Why it costs time: such kernels do not fill the GPU. Launching one takes about as long as running
it.

What to do: run with a CUDA graph, or raise the batch. Look for what prevents fusion: alternating
precisions, outputs in the middle, plugins. Half of the layers' time is at stake: what each of two
items saves at twice the batch.

When it is wrong: the profiler separates kernels that otherwise overlap, and adds some microseconds
to each.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.rules.base import Found, Rule, Severity
from enginescope.rules.view import LintView

_TINY_MS = 0.005
_FEWEST = 20
_SHARE_PCT = 20.0
_IN_GRAPH = "raise the batch, and look for what prevents fusion"


def _check(view: LintView) -> Iterator[Found]:
    times = view.times_ms.items()
    short = sorted(index for index, time_ms in times if 0 < time_ms < _TINY_MS)
    tiny = tuple(one for one in short if not view.layers[one].is_inert)
    share = view.share_pct(view.time_ms(tiny))
    if len(tiny) >= _FEWEST and share is not None and share >= _SHARE_PCT:
        yield Found(
            layers=tiny,
            subject=f"{len(tiny):,} layers",
            message="take less than 5 µs each",
            evidence={"layers": len(tiny), "share_pct": round(share, 3)},
            stakes_ms=view.part_ms(tiny, 0.5),
            advice=_IN_GRAPH if view.cuda_graph else None,
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
