"""How much of a latency's variance is due to the build, the process and the iteration."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.stats.nested_variance import Allocation, Level, LevelCosts, VarianceComponent
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.rounds import StoredReport


class DrawnBuild(Record, frozen=True, kw_only=True):
    """One build and its processes.

    Attributes:
        number: From 1.
        medians_ms: One for each process.
        build_s: Wall time of the building process.
        build_peak_bytes: Peak host memory of the building process.
        device_bytes, host_bytes: Of a process that ran it: device memory, peak host memory.
        outputs: Builds of one letter gave identical bits; ``None``: no outputs are known.
        output_gap: Largest absolute difference from the outputs of the first build; infinite where
            names, shapes or NaNs differ.
        is_repeatable: Whether all its processes gave identical bits.
        changed_layers: Layers that are not those of the first build; ``None``: no plan is known.
    """

    number: int
    runs: tuple[str, ...]
    medians_ms: tuple[float, ...]
    median_ms: float
    build_s: float
    build_peak_bytes: int | None = None
    engine_bytes: int | None = None
    engine_sha256: str | None = None
    device_bytes: int | None = None
    host_bytes: int | None = None
    outputs: str | None = None
    output_gap: float | None = None
    is_repeatable: bool | None = None
    changed_layers: int | None = None


class DrawnTactic(Record, frozen=True, kw_only=True):
    """A tactic of a layer, the builds that chose it, and the layer's mean time over these."""

    tactic: str
    builds: tuple[int, ...]
    mean_ms: float | None = None


class LayerDraw(Record, frozen=True, kw_only=True):
    """A layer whose tactic differs between builds.

    Attributes:
        tactics: The fastest first.
        cost_ms: The slowest tactic's time less the fastest's; ``None`` without layer times.
    """

    layer: str
    type: str
    tactics: tuple[DrawnTactic, ...]
    cost_ms: float | None = None


class BuildSpread(Record, frozen=True, kw_only=True):
    """The variation between builds that comparisons allow for.

    Attributes:
        environment: `Environment.comparable_key` of its runs.
        backend: Name of the backend.
        options: Those that decide what is built.
        metric: The latency that was measured.
        sd: Standard deviation between builds, in logarithms; 0 where its interval holds 0, so that
            no comparison rests on a variation that was not seen.
        timing_cache_sha256: Of the timing cache that every build read; ``None``: none was pinned.
    """

    environment: tuple[str | None, ...]
    backend: str
    model: str
    metric: str
    created: str
    builds: int
    sd: float
    precision: str | None = None
    options: dict[str, str] = {}
    model_sha256: str | None = None
    timing_cache_sha256: str | None = None


class LotteryReport(Result, StoredReport, frozen=True, kw_only=True):
    """Several builds of one model, each in several processes.

    Attributes:
        backend: As it is typed.
        made: What a build is here: an engine, or a graph that ONNX Runtime has optimized.
        processes: Of each build.
        iterations: Of the middle process.
        components: Build, process, iteration.
        duration_s: Of all builds and processes.
        best: What the formula of Kalibera and Jones makes of the costs for `best.duration_s`.
        layers: Those whose tactic differs between builds, the costliest first.
        regrouped_layers: Layers that some build fuses otherwise than the first.
        is_recorded: Whether `spread` is in the store, for later comparisons.
    """

    model: str
    backend: str
    made: Literal["engine", "optimized graph"]
    metric: str
    processes: int
    iterations: int
    median_ms: float
    builds: tuple[DrawnBuild, ...]
    components: tuple[VarianceComponent, ...]
    costs: LevelCosts
    duration_s: float
    best: Allocation
    spread: BuildSpread
    layers: tuple[LayerDraw, ...] = ()
    regrouped_layers: int = 0
    is_recorded: bool = False
    evidence: EvidenceLevel

    def component(self, level: Level) -> VarianceComponent:
        """Return the component of a level."""
        return next(one for one in self.components if one.level == level)
