"""Layer times that belong to another build than the plan beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from enginescope.analysis.layers.attribution import joined_times
from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.records.notice import Notice
from enginescope.records.plan.plan import Plan
from enginescope.records.plan.timing import LayerTiming
from enginescope.records.run.run import Run

_SHOWN_NAMES = 20


def own_times(run: Run) -> Run:
    """Return `run` without layer times of another build, with a notice about them."""
    if run.plan is None or run.profile is None:
        return run
    notice = other_build(run.plan, *joined_times(run.plan, run.profile))
    if notice is None:
        return run
    return replace(run, profile=None, notices=(*run.notices, notice))


def other_build(
    plan: Plan, timings: Mapping[int, LayerTiming], left: Sequence[LayerTiming]
) -> Notice | None:
    """Return a notice if the layer times were taken of another build than `plan`; else ``None``.

    Plan and profile of one engine name the same layers. Another build is certain where the profile
    times layers that the plan lacks, and the plan has active layers that the profile lacks. Either
    alone also occurs in one engine: a cut-off file, or a log without layers that took no time.

    Args:
        timings, left: As `joined_times` returns them.
    """
    unmatched = [timing.name for timing in left if timing.mean_ms]
    if not unmatched:
        return None
    timed = {layer.profile_index for layer in plan.layers if layer.index in timings}
    expected = [
        layer
        for layer in plan.active_layers
        if not timed or layer.profile_index is None or layer.profile_index in timed
    ]
    untimed = [layer.name for layer in expected if layer.index not in timings]
    if not untimed:
        return None
    return Notice(
        code="W-OTHER-BUILD",
        message=f"the layer times are of another build than the plan, so enginescope ignores them: "
        f"{_counted(len(unmatched), 'time has', 'times have')} no layer in the plan "
        f"({unmatched[0]!r}), {_counted(len(untimed), 'layer has', 'layers have')} no time "
        f"({untimed[0]!r}); export plan and profile from one engine in one run",
        evidence={
            "unmatched": len(unmatched),
            "untimed": len(untimed),
            "times": unmatched[:_SHOWN_NAMES],
            "layers": untimed[:_SHOWN_NAMES],
        },
    )


def profile_notices(rows: Sequence[LayerRow]) -> tuple[Notice, ...]:
    """Return which active layers have no time, and which times have no layer."""
    untimed = [row.name for row in rows if row.in_plan and not row.is_inert and row.mean_ms is None]
    strays = [row.name for row in rows if not row.in_plan]
    notices = []
    if untimed:
        notices.append(
            _partial("W-LAYERS-UNTIMED", untimed, "layer has no time", "layers have no time")
        )
    if strays:
        notices.append(
            _partial("W-TIMES-UNMATCHED", strays, "time has no layer", "times have no layer")
        )
    return tuple(notices)


def _partial(code: str, names: Sequence[str], singular: str, plural: str) -> Notice:
    more = ", …" if len(names) > 1 else ""
    return Notice(
        code=code,
        message=f"{_counted(len(names), singular, plural)} in the plan and profile given: "
        f"{names[0]!r}{more}",
        evidence={"count": len(names), "layers": list(names[:_SHOWN_NAMES])},
    )


def _counted(count: int, singular: str, plural: str) -> str:
    return f"1 {singular}" if count == 1 else f"{count:,} {plural}"
