"""Plans side by side: what each consists of, where its time goes, how fast it is.

Compared plans as columns of tables.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from enginescope.analysis.layers import layer_sum
from enginescope.analysis.layers.layer_table import LayerRow, layer_rows
from enginescope.analysis.memory.memory_view import PeakMemory, memory_of
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, LayersSide, cause_of
from enginescope.analysis.plans.layer_attributes import type_name
from enginescope.analysis.plans.plan_columns import PlanTotals, plan_totals
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.runs.throughput import Throughput
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.judge.samples import Interval
from enginescope.judge.units import shape_text
from enginescope.records.plan.plan import Plan
from enginescope.records.run.job import Mode
from enginescope.records.run.run import Run
from enginescope.records.tensor import Tensor


class LatencyFigure(Record, frozen=True, kw_only=True):
    """Time of whole requests, measured without a layer profiler.

    Attributes:
        metric: Tag of a `Metric`.
        source: Computed from samples, or as the tool printed it.
        median_interval: Only from samples, where they carry one.
        n: Samples.
    """

    metric: str
    source: Literal["samples", "printed"]
    mean_ms: float | None
    median_ms: float | None
    median_interval: Interval | None = None
    n: int | None = None


class PlanShare(Record, frozen=True, kw_only=True):
    """Layers of a plan that share a property.

    Attributes:
        key: The property's value; ``None``: not known.
        layers: Those that do work, or have a time.
        time_ms: Sum of their times; ``None`` without a profile.
    """

    key: str | None
    layers: int
    time_ms: float | None


class PlanSummary(Record, frozen=True, kw_only=True):
    """A plan among others.

    Attributes:
        label: ``"A"``, ``"B"``, …: the first is the base.
        run: Id of the run it is of; that of an imported one is new each time.
        gpu, tensorrt: As the files, the run or else the engine's passport say it.
        batch: First dimension of the first input, else what was fed.
        sum_ms: The layers' times added up; ``None`` without layer times.
        iterations: Of the profiling pass.
        has_own_times: The layer times are without the profiler's part; ``None`` without any.
        by_type, by_precision, by_output_precision: Precision is the type of a layer's first input,
            or output.
        mode: How the requests behind both were issued.
        memory: ``None``: the plan does not tell its tensors.
    """

    label: str
    name: str
    run: str
    gpu: str | None
    tensorrt: str | None
    batch: int | None
    totals: PlanTotals
    sum_ms: float | None
    iterations: int | None
    has_own_times: bool | None
    by_type: tuple[PlanShare, ...]
    by_precision: tuple[PlanShare, ...]
    by_output_precision: tuple[PlanShare, ...]
    latencies: tuple[LatencyFigure, ...]
    throughput: Throughput | None
    mode: Mode
    memory: PeakMemory | None = None

    @property
    def sum_per_item_ms(self) -> float | None:
        """`sum_ms` ÷ `batch`."""
        return self.sum_ms / self.batch if self.sum_ms is not None and self.batch else None

    @property
    def items_per_s(self) -> float | None:
        """Throughput in elements of the batch, where the batch is known."""
        if self.throughput is None:
            return None
        if self.throughput.unit == "items":
            return self.throughput.per_s
        return self.throughput.per_s * self.batch if self.batch else None

    def latency(self, metric: str) -> LatencyFigure | None:
        """Return the figure of a metric, or ``None``."""
        return next((latency for latency in self.latencies if latency.metric == metric), None)


class ComparedPlan(Record, frozen=True, kw_only=True, eq=False):
    """A plan and its times, as one side of a comparison."""

    plan: Plan
    view: RunView
    summary: PlanSummary

    @property
    def label(self) -> str:
        """``"A"``, ``"B"``, …"""
        return self.summary.label


def compared_plan(
    run: Run, *, label: str, name: str | None = None, plan_profile: int = 0
) -> ComparedPlan:
    """Return a run's plan as a side of a comparison.

    Args:
        run: Measured or imported.
        name: By default that of the run's subject.
        plan_profile: Optimization profile to look at, of a plan that has several.
    """
    if run.plan is None:
        raise UsageError(
            f"{name or run.job.subject.name} has no plan to compare",
            hint="give a plan's JSON, or a run of trt or trtexec, which inspect their engines",
        )
    plan, profile = layer_sum.of_plan_profile(run.plan, plan_profile), run.profile
    if profile is not None and layer_sum.plan_profiles(run.plan):
        profile = layer_sum.times_of_plan_profile(profile, plan_profile)
    view = RunView(replace(run, plan=plan, profile=profile))
    profile = view.run.profile
    rows = tuple(row for row in layer_rows(plan, profile) if row.time_ms or not row.is_inert)
    memory = memory_of(plan, run.arenas, process_bytes=run.peak_memory_bytes)
    inputs = (*(one.tensor for one in plan.inputs), *run.inputs)
    sizes = (one.shape[0] for one in inputs if one.shape)
    shares = partial(_shares, rows, timed=profile is not None)
    summary = PlanSummary(
        label=label,
        name=name or run.job.subject.name,
        run=run.id,
        gpu=", ".join(dict.fromkeys(device.name for device in run.environment.devices))
        or (run.build.device if run.build else None),
        tensorrt=run.environment.versions.get("tensorrt")
        or (run.tool.tool_version if run.tool else None)
        or (run.build.tensorrt if run.build else None),
        batch=next((size for size in sizes if size is not None), run.job.workload.batch),
        totals=plan_totals(plan),
        sum_ms=profile.sum_ms if profile else None,
        iterations=profile.iterations if profile else None,
        has_own_times=profile.has_own_times if profile else None,
        by_type=shares(lambda row: row.type),
        by_precision=shares(lambda row: row.precision),
        by_output_precision=shares(lambda row: type_name(row.outputs)),
        latencies=_latencies(view),
        throughput=view.throughput,
        mode=run.job.workload.mode,
        memory=None if memory is None else memory.peak,
    )
    return ComparedPlan(plan=plan, view=view, summary=summary)


def _shares(
    rows: tuple[LayerRow, ...], key: Callable[[LayerRow], str | None], *, timed: bool
) -> tuple[PlanShare, ...]:
    groups: dict[str | None, list[float]] = {}
    for row in rows:
        if not row.is_container:
            groups.setdefault(key(row), []).append(row.time_ms or 0.0)
    shares = [
        PlanShare(key=name, layers=len(times), time_ms=sum(times) if timed else None)
        for name, times in groups.items()
    ]
    return tuple(sorted(shares, key=lambda it: (-(it.time_ms or 0.0), -it.layers, it.key or "")))


def _latencies(view: RunView) -> tuple[LatencyFigure, ...]:
    tool = view.run.tool
    printed = {one.metric: one for one in tool.summaries} if tool else {}
    figures = []
    for metric in ("latency", "trtexec_latency", "gpu_compute"):
        summary = view.summary(metric)
        known = summary or printed.get(metric)
        if known is not None:
            figure = LatencyFigure(
                metric=metric,
                source="samples" if summary else "printed",
                mean_ms=known.mean_ms,
                median_ms=known.median_ms,
                median_interval=summary.median_interval if summary else None,
                n=summary.n if summary else None,
            )
            figures.append(figure)
    return tuple(figures)


class ShareAcross(Record, frozen=True, kw_only=True):
    """Layers that share a property, in each of several plans.

    Attributes:
        key: The property's value; ``None``: not known.
        layers: Of each plan.
        time_ms: Sum of their times in each plan; ``None``: that plan has no times.
    """

    key: str | None
    layers: tuple[int, ...]
    time_ms: tuple[float | None, ...]

    def difference_ms(self, at: int) -> float | None:
        """Return the time in the plan at a position less that in the first."""
        base_ms, other_ms = self.time_ms[0], self.time_ms[at]
        return other_ms - base_ms if base_ms is not None and other_ms is not None else None


class MemoryAcross(Record, frozen=True, kw_only=True):
    """A part of the memory at the peak, in each of several plans.

    Attributes:
        part: ``"tensors"`` that layers of `type` write, ``"workspace"`` or ``"weights"``.
        nbytes: Of each plan; ``None``: not known there.
    """

    part: str
    type: str | None
    nbytes: tuple[int | None, ...]

    def difference_bytes(self, at: int) -> int | None:
        """Return the bytes in the plan at a position less those in the first."""
        base, other = self.nbytes[0], self.nbytes[at]
        return other - base if base is not None and other is not None else None


class PlansOverview(Record, frozen=True, kw_only=True):
    """Plans side by side; the first is the base.

    Attributes:
        by_type, by_precision, by_output_precision: The most time in any plan first; precision is
            the type of a layer's first input, or output.
        memory: The tensors by type, the largest difference first, then workspace and weights; none
            where a plan does not tell its tensors.
    """

    plans: tuple[PlanSummary, ...]
    by_type: tuple[ShareAcross, ...]
    by_precision: tuple[ShareAcross, ...]
    by_output_precision: tuple[ShareAcross, ...]
    memory: tuple[MemoryAcross, ...] = ()

    def difference_ms(self, at: int) -> float | None:
        """Return the sum of the layers of the plan at a position less that of the first."""
        base_ms, other_ms = self.plans[0].sum_ms, self.plans[at].sum_ms
        return other_ms - base_ms if base_ms is not None and other_ms is not None else None

    def speedup(self, at: int) -> float | None:
        """Return the first plan's time ÷ that of the plan at a position, each per item.

        Per batch where a batch is not known.
        """
        base, other = self.plans[0], self.plans[at]
        pair = (base.sum_per_item_ms, other.sum_per_item_ms)
        if None in pair:
            pair = (base.sum_ms, other.sum_ms)
        return pair[0] / pair[1] if pair[0] is not None and pair[1] else None


def plans_overview(plans: Sequence[PlanSummary]) -> PlansOverview:
    """Return `plans` side by side, in the order given."""
    return PlansOverview(
        plans=tuple(plans),
        by_type=_across(plans, lambda one: one.by_type),
        by_precision=_across(plans, lambda one: one.by_precision),
        by_output_precision=_across(plans, lambda one: one.by_output_precision),
        memory=_memory_across([plan.memory for plan in plans]),
    )


def _memory_across(plans: Sequence[PeakMemory | None]) -> tuple[MemoryAcross, ...]:
    peaks = [peak for peak in plans if peak is not None]
    if len(peaks) < len(plans):
        return ()
    types = dict.fromkeys(kind for peak in peaks for kind in peak.tensor_bytes)
    sizes = {kind: [peak.tensor_bytes.get(kind, 0) for peak in peaks] for kind in types}
    ordered = sorted(types, key=lambda kind: (min(sizes[kind]) - max(sizes[kind]), kind))
    rows: list[tuple[str, str | None, Sequence[int | None]]] = [
        *(("tensors", kind, sizes[kind]) for kind in ordered),
        ("workspace", None, [peak.workspace_bytes for peak in peaks]),
        ("weights", None, [peak.weights_bytes for peak in peaks]),
    ]
    return tuple(
        MemoryAcross(part=part, type=kind, nbytes=tuple(nbytes))
        for part, kind, nbytes in rows
        if set(nbytes) - {None}
    )


def _across(
    plans: Sequence[PlanSummary], shares: Callable[[PlanSummary], tuple[PlanShare, ...]]
) -> tuple[ShareAcross, ...]:
    tables = [{share.key: share for share in shares(plan)} for plan in plans]
    found = []
    for key in dict.fromkeys(key for table in tables for key in table):
        # no layers take no time, where the plan has times at all
        zeros = (None if plan.sum_ms is None else 0.0 for plan in plans)
        none = (PlanShare(key=key, layers=0, time_ms=time_ms) for time_ms in zeros)
        row = [table.get(key, empty) for table, empty in zip(tables, none, strict=True)]
        layers, times = tuple(one.layers for one in row), tuple(one.time_ms for one in row)
        found.append(ShareAcross(key=key, layers=layers, time_ms=times))
    found.sort(key=lambda one: (-max(one.layers), one.key or ""))
    return tuple(sorted(found, key=lambda one: -max(ms or 0.0 for ms in one.time_ms)))


_SIDE: tuple[tuple[str, Callable[[LayersSide], Any]], ...] = (
    ("layers", lambda one: ";".join(map(str, one.layers))),
    ("name", lambda one: one.name),
    ("type", lambda one: one.type),
    ("ms", lambda one: one.time_ms),
    ("precision_in", lambda one: one.precision_in),
    ("precision_out", lambda one: one.precision_out),
    ("tactic", lambda one: one.tactic),
    ("inputs", lambda one: "; ".join(map(_tensor, one.inputs))),
    ("outputs", lambda one: "; ".join(map(_tensor, one.outputs))),
    ("onnx_nodes", lambda one: ";".join(one.onnx_nodes)),
)


def layer_columns(layers: Sequence[ComparedLayers]) -> dict[str, list[Any]]:
    """Return compared layers as columns of equal length; ``None`` is a missing value."""
    columns: dict[str, list[Any]] = {
        "relation": [layer.relation.value for layer in layers],
        "evidence": [layer.evidence.value if layer.evidence else None for layer in layers],
        "score": [layer.score for layer in layers],
        "difference_ms": [layer.difference_ms for layer in layers],
        "share_pct": [layer.share_pct for layer in layers],
        "speedup": [layer.speedup for layer in layers],
        "cause": [cause_of(layer).value for layer in layers],
        "changes": [";".join(change.what for change in layer.changes) for layer in layers],
    }
    for label in ("a", "b"):
        sides = [getattr(layer, label) for layer in layers]
        for name, value in _SIDE:
            columns[f"{label}_{name}"] = [value(side) if side else None for side in sides]
    return columns


def plan_columns(overview: PlansOverview) -> dict[str, list[Any]]:
    """Return plans as columns of equal length, one row each."""
    plans = overview.plans
    columns: dict[str, list[Any]] = {
        name: [getattr(one, name) for one in plans]
        for name in ("label", "name", "gpu", "tensorrt", "batch", "sum_ms", "sum_per_item_ms")
    }
    columns["difference_ms"] = [overview.difference_ms(at) for at in range(len(plans))]
    columns["speedup"] = [overview.speedup(at) for at in range(len(plans))]
    for name in ("layers", "active_layers", "weights_bytes", "activation_bytes"):
        columns[name] = [getattr(one.totals, name) for one in plans]
    columns["throughput_items_per_s"] = [one.items_per_s for one in plans]
    for metric in dict.fromkeys(latency.metric for plan in plans for latency in plan.latencies):
        figures = [one.latency(metric) for one in plans]
        for name in ("mean_ms", "median_ms"):
            columns[f"{metric}_{name}"] = [getattr(figure, name, None) for figure in figures]
    return columns


def _tensor(tensor: Tensor) -> str:
    dtype, layout = tensor.dtype.value if tensor.dtype else None, tensor.layout
    parts = (tensor.name, shape_text(tensor.shape or ()), dtype, layout.name if layout else None)
    return " ".join(part for part in parts if part)
