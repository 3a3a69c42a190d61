"""A run with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

from enginescope.analysis.claims.layer_claims import WholeRequest
from enginescope.analysis.claims.run_claims import Usability, usability
from enginescope.analysis.frames import Frames, to_pandas
from enginescope.analysis.layers.layer_sum import (
    GPU_COMPUTE,
    LayerSum,
    layer_sum,
    of_plan_profile,
    own_times,
    plan_profiles,
    profile_notices,
    times_of_plan_profile,
    whole_request,
)
from enginescope.analysis.layers.layer_table import LayerRow, TimeShare, layer_rows, time_by
from enginescope.analysis.plans.plan_columns import PlanTotals, plan_totals
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs import gpu_state
from enginescope.analysis.runs.throughput import (
    Pipeline,
    RoundTrip,
    Throughput,
    pipeline,
    round_trip,
    throughput_of,
)
from enginescope.core.record import Record, Result
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Percentile, Samples, Summary
from enginescope.judge.stats.describe import Histogram, describe, describe_values, histogram
from enginescope.judge.stats.stability import notices_of
from enginescope.records.notice import weightiest
from enginescope.records.run.run import Run
from enginescope.records.run.telemetry import ClockAround, clock_around

Runs: TypeAlias = Sequence[Run]

#: Percentiles of the curve: closer in the tail, which a logarithmic axis spreads.
POINTS = (1.0, 5.0, *map(float, range(10, 90, 10)), *map(float, range(90, 100)), 99.5, 99.9)


def percentile_curve(samples: Samples) -> tuple[Percentile, ...]:
    """Return the percentiles of `samples`, each with its interval or its mark."""
    return describe_values(samples.values_ms, percentiles=POINTS).percentiles


class Cycles(Record, frozen=True, kw_only=True):
    """A metric's median in cycles.

    Attributes:
        cycles: Median × the clock during the timed loop.
        low, high: The same at the lowest and at the highest clock that was read.
    """

    metric: str
    cycles: float
    low: float
    high: float
    clock_mhz: float


class RunView(Frames, Result):
    """A run and its figures, computed at first use.

    Args:
        run: Never changed: `given` of the view. The `run` of the view has no layer times of another
            build than its plan, and a notice about them.
        plan_view: Of the run's plan and times; by default of the run's optimization profile.
    """

    def __init__(self, run: Run, *, plan_view: PlanView | None = None) -> None:
        self.given = run
        self._plan_view = plan_view
        self._described: dict[int, Summary] = {}

    @cached_property
    def run(self) -> Run:
        """The run with the times of its layers; without those of another build."""
        return own_times(self.given, self.whole_request) if self.given.profile else self.given

    def _summary(self) -> str:
        latency = self.latency
        figure = f"median {latency.median_ms:.6g} ms" if latency else self.run.outcome.kind.value
        return f"{self.id} {self.run.job.subject.name} on {self.run.job.backend}: {figure}"

    @property
    def id(self) -> str:
        """The run's hexadecimal name."""
        return self.run.id

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Statistics of every metric whose samples can carry some, in the run's order.

        Copies of a run without transfers, all 0, have none. Nor have enqueue times that the tool
        printed statistics of and whose file holds them to 10 µs only, as trtexec's does.
        """
        every = enumerate(self.run.samples)
        return tuple(self._describe(at) for at, samples in every if self._is_sound(samples))

    @cached_property
    def latency(self) -> Summary | None:
        """Statistics of the headline series, or ``None`` when nothing was measured."""
        headline = self.given.headline
        return self.summary(headline.metric) if headline else None

    def summary(self, metric: str) -> Summary | None:
        """Return the statistics of one metric by its tag, or ``None``; no other is described."""
        for at, sample in enumerate(self.given.samples):
            if sample.metric == metric and self._is_sound(sample):
                return self._describe(at)
        return None

    @cached_property
    def percentile_curve(self) -> tuple[Percentile, ...]:
        """The headline's percentiles from 1 to 99.9; empty without samples."""
        headline = self.run.headline
        return percentile_curve(headline) if headline and self.latency else ()

    @cached_property
    def histogram(self) -> Histogram | None:
        """The headline's distribution, far outliers folded away; ``None`` without samples."""
        headline = self.run.headline
        return histogram(headline.values_ms) if headline else None

    def sparkline(self, columns: int) -> Histogram | None:
        """Return the headline's distribution in at most `columns` bins."""
        headline = self.run.headline
        return histogram(headline.values_ms, bins=columns) if headline else None

    @cached_property
    def notices(self) -> tuple[Notice, ...]:
        """Stored notices, and those that the samples give; warnings first.

        A derived notice gives way to a stored one of the same code.
        """
        stored = {(notice.code, notice.message): notice for notice in self.run.notices}
        codes = {notice.code for notice in self.run.notices}
        headline, gpu, view = self.run.headline, self.run.gpu, self.plan_view
        derived = (
            *(notices_of(headline) if headline else ()),
            *(gpu_state.energy_notices(gpu) if gpu else ()),
            *(profile_notices(view.rows) if view and view.profile is not None else ()),
        )
        return weightiest([*stored.values(), *(one for one in derived if one.code not in codes)])

    @cached_property
    def usability(self) -> Usability | None:
        """Whether its figures can be used, and what harms them; ``None`` without samples."""
        return usability(self.latency, self.notices) if self.latency else None

    @cached_property
    def layers(self) -> tuple[LayerRow, ...]:
        """Layers with their times: the plan joined with the profile, or either alone."""
        whole = self._whole_plan
        return whole.rows if whole else layer_rows(self.run.plan, self.run.profile)

    @cached_property
    def time_by_type(self) -> tuple[TimeShare, ...]:
        """Layer times by layer type or operator, the longest first."""
        return time_by(self.layers, lambda row: row.type)

    @cached_property
    def time_by_precision(self) -> tuple[TimeShare, ...]:
        """Layer times by the precision of the layers' first inputs, the longest first."""
        return time_by(self.layers, lambda row: row.precision)

    @cached_property
    def plan_totals(self) -> PlanTotals | None:
        """Counts and bytes of the plan, or ``None`` without one."""
        if self.run.plan is None:
            return None
        return self._whole_plan.totals if self._whole_plan else plan_totals(self.run.plan)

    @property
    def _whole_plan(self) -> PlanView | None:
        """`plan_view` where it is of all that the run has, not of one optimization profile."""
        view, run = self.plan_view, self.run
        same = view is not None and view.plan is run.plan and view.profile is run.profile
        return view if same else None

    @cached_property
    def plan_view(self) -> PlanView | None:
        """The plan with its times, of the run's optimization profile; ``None`` without one."""
        plan, profile = self.run.plan, self.run.profile
        if self._plan_view is not None or plan is None:
            return self._plan_view
        index = self.run.job.backend.profile_index or 0
        if index not in plan_profiles(plan):
            return PlanView(plan, profile, whole=self.whole_request)
        times = times_of_plan_profile(profile, index) if profile else None
        return PlanView(of_plan_profile(plan, index), times, whole=self.whole_request)

    @cached_property
    def layer_sum(self) -> LayerSum | None:
        """The layers' times added up, against the whole; ``None`` without a profile."""
        return layer_sum(self.run.profile, self.whole_request)

    @cached_property
    def whole_request(self) -> WholeRequest | None:
        """Mean and median of whole requests without a profiler: of the samples, else printed."""
        measured = (self.summary(tag) for tag in (GPU_COMPUTE, "device_latency", "latency"))
        first = next((one for one in measured if one is not None), self.latency)
        return whole_request(self.given, first)

    @cached_property
    def round_trip(self) -> RoundTrip | None:
        """The parts of a request, where they were timed one by one."""
        return round_trip(self.run)

    @cached_property
    def pipeline(self) -> Pipeline | None:
        """How queries that overlap follow each other."""
        return pipeline(self.run)

    @property
    def layer_sum_ms(self) -> float | None:
        """Sum of the layers, milliseconds; `layer_sum` says of which figure."""
        return self.layer_sum.sum_ms if self.layer_sum else None

    @property
    def layer_sum_ratio(self) -> float | None:
        """Sum of the layers ÷ the whole; above 1: they add up to more than the whole."""
        return self.layer_sum.ratio if self.layer_sum else None

    @cached_property
    def throughput(self) -> Throughput | None:
        """The rate with its unit and definition, or ``None`` when there is no sound one."""
        return throughput_of(self.run, self.latency)

    @property
    def throughput_per_s(self) -> float | None:
        """The rate alone; `throughput` says what it counts."""
        return self.throughput.per_s if self.throughput else None

    @cached_property
    def energy(self) -> gpu_state.Energy | None:
        """Joules of a request; ``None`` without a telemetry pass, or a GPU that reports none.

        Also where the pass was too short for its sensor (``W-ENERGY-WINDOW`` in `notices`).
        """
        return gpu_state.energy_of(self.run.gpu, self.run.job.workload.batch)

    @cached_property
    def thermal_state(self) -> gpu_state.ThermalState:
        """Whether the GPU's temperature had settled; ``unknown`` without telemetry."""
        return gpu_state.thermal_state(self.run.gpu)

    @cached_property
    def sm_clock(self) -> ClockAround | None:
        """The SM clock around the timed loop, or ``None`` where it was not read."""
        return clock_around(self.run.gpu.timed) if self.run.gpu else None

    @cached_property
    def cycles(self) -> Cycles | None:
        """The median of GPU compute, else of the headline, in cycles of the SM clock."""
        summary, clock = self.summary("gpu_compute") or self.latency, self.sm_clock
        if summary is None or clock is None:
            return None
        per_mhz = summary.median_ms * 1e3
        return Cycles(
            metric=summary.metric,
            cycles=per_mhz * clock.during_mhz,
            low=per_mhz * clock.lowest_mhz,
            high=per_mhz * clock.highest_mhz,
            clock_mhz=clock.during_mhz,
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return the samples as tidy columns.

        ``metric`` (tag), ``i`` (position within metric and phase), ``start_ms`` (since the metric's
        first steady sample; missing in the warm-up and where it was not recorded), ``value_ms``,
        ``phase`` (``warm_up`` or ``steady_state``).
        """
        return sample_columns(self.run)

    def layers_to_pandas(self) -> Any:
        """Return the layers as a ``pandas.DataFrame``, one row each, in the plan's order.

        Columns: ``index``, ``name``, ``type``, ``subtype``, ``precision``, ``provider``,
        ``time_ms`` (per iteration), ``raw_ms`` (as the profiler reported it, where ``time_ms`` is
        without its part), ``share_pct`` (of the sum of the times, 0…100), ``tactic``,
        ``onnx_nodes`` (joined by ``;``), ``is_container`` (its time holds that of other rows).

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return to_pandas(layer_columns(self.layers))

    def _is_sound(self, samples: Samples) -> bool:
        if samples.metric in ("h2d", "d2h") and not samples.values_ms.any():
            return False
        tool = self.given.tool
        printed = {summary.metric for summary in tool.summaries} if tool else set()
        coarse = any(notice.code == "I-ENQUEUE-RESOLUTION" for notice in self.given.notices)
        hidden = samples.metric == "enqueue" and "enqueue" in printed and coarse
        return bool(len(samples)) and not hidden

    def _describe(self, at: int) -> Summary:
        if at not in self._described:
            samples, workload = self.given.samples[at], self.given.job.workload
            one_in_flight = samples.metric == "latency" and workload.mode.in_flight == 1
            summary = describe(samples, batch=workload.batch, one_in_flight=one_in_flight)
            self._described[at] = summary
        return self._described[at]


def sample_columns(run: Run) -> dict[str, list[Any]]:
    """Return every sample of a run, one row each as in `RunView.columns`, warm-up first."""
    names = ("metric", "i", "start_ms", "value_ms", "phase")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for sample in run.samples:
        for phase, values, starts in (
            ("warm_up", sample.warmup_ms, None),
            ("steady_state", sample.values_ms, sample.start_ms),
        ):
            if values is not None:
                columns["metric"] += [sample.metric] * len(values)
                columns["i"] += range(len(values))
                columns["start_ms"] += [None] * len(values) if starts is None else starts.tolist()
                columns["value_ms"] += values.tolist()
                columns["phase"] += [phase] * len(values)
    return columns


def layer_columns(rows: tuple[LayerRow, ...]) -> dict[str, list[Any]]:
    """Return layers as columns: the fields of `LayerRow` that hold one value each."""
    fields = "index name type subtype precision provider time_ms raw_ms share_pct tactic"
    columns: dict[str, list[Any]] = {
        field: [getattr(row, field) for row in rows] for field in fields.split()
    }
    columns["onnx_nodes"] = [";".join(row.onnx_nodes) for row in rows]
    columns["is_container"] = [row.is_container for row in rows]
    return columns
