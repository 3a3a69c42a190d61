"""Compare the sum of the layers with a whole request.

Layer times that belong to another build than the plan beside them.
One optimization profile of a plan that holds the layers of several.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from enginescope.analysis.claims.layer_claims import WholeRequest, layer_times
from enginescope.analysis.layers.layer_table import LayerRow, joined_times
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.core.units import sum_known
from enginescope.formats.plan.plan_layer import profile_suffix
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Interval, Summary
from enginescope.judge.stats.autocorrelation import student_quantile
from enginescope.judge.units import counted
from enginescope.records.plan.plan import EXECUTED, LayerTiming, Plan, Profile
from enginescope.records.run.run import Run

#: Layers are timed on the GPU: this metric goes before the headline.
GPU_COMPUTE = "gpu_compute"


def whole_request(run: Run, measured: Summary | None) -> WholeRequest | None:
    """Return what layer times are compared with.

    Args:
        measured: Of its samples: GPU compute time or latency without copies where there is one,
            else the headline. Without samples it is the GPU compute time that the tool printed.
    """
    if measured is not None:
        graph = run.job.workload.mode.cuda_graph
        return WholeRequest(measured.metric, measured.mean_ms, measured.median_ms, graph)
    for printed in run.tool.summaries if run.tool else ():
        if printed.metric == GPU_COMPUTE and printed.mean_ms is not None:
            return WholeRequest(GPU_COMPUTE, printed.mean_ms, printed.median_ms)
    return None


class LayerSum(Record, frozen=True, kw_only=True):
    """Layer times added up, and a whole request timed without a profiler.

    Attributes:
        sum_ms: Sum of the layers' times as they are listed. Containers left out.
        statistic: What a layer's time is, and what `whole_ms` is.
        interval: 95 % confidence interval of a sum of medians; ``None`` for a sum of means, and for
            fewer than 60 iterations.
        iterations: Iterations of the profiling pass.
        whole_ms: `statistic` of `whole_metric` in the timed pass.
        whole_metric: Tag of the metric: GPU compute time where there is one, else the headline.
        pass_whole_ms: Mean of a whole iteration in the profiling pass itself.
        raw_ms: Sum of what the profiler reported, where `profiler_ms` is known.
        profiler_ms: Estimate of what the profiler added to each layer, where it was not measured;
            no layer's time contains it.
        is_own: Measured own times are added up: kernels launched one by one.
        is_host: Times in which the host enqueued the layers are added up.
        is_graph: Whole requests were launched as a CUDA graph.
        part: What is added up, as the profile says it.
    """

    sum_ms: float
    statistic: Literal["median", "mean"] = "mean"
    interval: Interval | None = None
    iterations: int | None = None
    whole_ms: float | None = None
    whole_metric: str | None = None
    pass_whole_ms: float | None = None
    raw_ms: float | None = None
    profiler_ms: float | None = None
    is_own: bool = False
    is_host: bool = False
    is_graph: bool | None = None
    part: Literal["layer", "operator", "kernel"] = "layer"

    @property
    def ratio(self) -> float | None:
        """`sum_ms` ÷ `whole_ms`; above 1: the layers add up to more than the whole."""
        return self.sum_ms / self.whole_ms if self.whole_ms else None

    @property
    def is_same(self) -> bool | None:
        """Whether the sum is the whole within 0.5 %; ``None`` if it is not known."""
        return abs(self.ratio - 1) < 0.005 if self.ratio is not None else None

    @property
    def difference_ms(self) -> float | None:
        """`sum_ms` − `whole_ms`."""
        return self.sum_ms - self.whole_ms if self.whole_ms is not None else None


def layer_sum(profile: Profile | None, whole: WholeRequest | None) -> LayerSum | None:
    """Return the sum of a profile's layers and `whole`; ``None`` without layer times."""
    profile = profile and layer_times(profile, whole)
    if profile is None or profile.sum_ms is None:
        return None
    whole_ms = whole.beside(profile) if whole else None
    is_estimate = profile.profiler_ms is not None
    has_interval = profile.statistic == "median" and not is_estimate
    raw = (one.raw_ms for one in profile.layers if not one.is_container)
    return LayerSum(
        sum_ms=profile.sum_ms,
        statistic=profile.statistic,
        interval=_interval(profile, profile.sum_ms) if has_interval else None,
        raw_ms=sum_known(raw) if is_estimate else None,
        profiler_ms=profile.profiler_ms,
        is_own=profile.has_own_times and not is_estimate,
        is_host=profile.mode == "host",
        is_graph=whole.is_graph if whole else None,
        iterations=profile.iterations,
        whole_ms=whole_ms,
        whole_metric=whole.metric if whole and whole_ms is not None else None,
        pass_whole_ms=profile.whole_ms,
        part=profile.part,
    )


def _interval(profile: Profile, sum_ms: float) -> Interval | None:
    """Return Student's t interval from batches, as wide as the steps of the clock at least.

    Own times add up to the gated time: theirs is its interval.
    """
    if profile.has_own_times and profile.mode == "gated":
        return profile.gated_interval
    batches = profile.batch_sums_ms
    if not batches:
        return None
    layers = sum(layer.time_ms is not None and not layer.is_container for layer in profile.layers)
    below, above = (layers * step for step in profile.resolution_ms)
    error = float(np.std(batches, ddof=1)) / math.sqrt(len(batches))
    reach = student_quantile(0.975, len(batches) - 1) * error
    return Interval(low=max(0.0, sum_ms - reach - below), high=sum_ms + reach + above)


_SHOWN_NAMES = 20


def own_times(run: Run, whole: WholeRequest | None = None) -> Run:
    """Return `run` with the times of its layers, as `layer_times` decides them.

    Layer times of another build are left out, and a notice says so.
    """
    if run.profile is None:
        return run
    profile = layer_times(run.profile, whole)
    notice = run.plan and other_build(run.plan, *joined_times(run.plan, profile))
    if notice:
        return replace(run, profile=None, notices=(*run.notices, notice))
    return run if profile is run.profile else replace(run, profile=profile)


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
    if not unmatched or plan.source_schema == EXECUTED:  # one session executed and timed it
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
        "W-OTHER-BUILD",
        f"the layer times are of another build than the plan, so enginescope ignores them: "
        f"{counted(len(unmatched), 'time has', 'times have')} no layer in the plan "
        f"({unmatched[0]!r}), {counted(len(untimed), 'layer has', 'layers have')} no time "
        f"({untimed[0]!r}); export plan and profile from one engine in one run",
        {
            "unmatched": len(unmatched),
            "untimed": len(untimed),
            "times": unmatched[:_SHOWN_NAMES],
            "layers": untimed[:_SHOWN_NAMES],
        },
    )


def profile_notices(rows: Sequence[LayerRow]) -> tuple[Notice, ...]:
    """Return which active layers have no time, and which times have no layer."""
    untimed = [row.name for row in rows if row.in_plan and not row.is_inert and row.time_ms is None]
    strays = [row.name for row in rows if not row.in_plan]
    kinds = (
        ("W-LAYERS-UNTIMED", untimed, "layer has no time", "layers have no time"),
        ("W-TIMES-UNMATCHED", strays, "time has no layer", "times have no layer"),
    )
    return tuple(
        Notice(
            code,
            f"{counted(len(names), singular, plural)} in the plan and profile given: "
            f"{names[0]!r}{', …' if len(names) > 1 else ''}",
            {"count": len(names), "layers": names[:_SHOWN_NAMES]},
        )
        for code, names, singular, plural in kinds
        if names
    )


def plan_profiles(plan: Plan) -> tuple[int, ...]:
    """Return the optimization profiles that a plan's layers name; empty for a plan of one."""
    found = {layer.profile_index for layer in plan.layers if layer.profile_index is not None}
    return tuple(sorted(found))


def of_plan_profile(plan: Plan, index: int) -> Plan:
    """Return `plan` with the layers and the engine's tensors of one optimization profile.

    A plan of several carries ``[profile N]`` in the names that belong to profile N; names without
    belong to profile 0.
    """
    known = plan_profiles(plan)
    if index not in (known or (0,)):
        have = ", ".join(str(one) for one in known or (0,))
        raise UsageError(f"{plan.name} has no layers of profile {index}", hint=f"it has: {have}")
    if not known:
        return plan
    return replace(
        plan,
        layers=tuple(layer for layer in plan.layers if layer.profile_index == index),
        io=tuple(one for one in plan.io if (profile_suffix((one.tensor.name,)) or 0) == index),
    )


def times_of_plan_profile(profile: Profile, index: int) -> Profile:
    """Return `profile` with the times of one optimization profile's layers, told by their names."""
    kept = tuple(layer for layer in profile.layers if (profile_suffix((layer.name,)) or 0) == index)
    if len(kept) == len(profile.layers):
        return profile
    return replace(profile, layers=kept, batch_sums_ms=())
