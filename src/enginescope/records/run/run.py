"""A run: a job, its result and tensors, and everything needed to believe it."""

from enum import Enum
from typing import Literal

import numpy as np

from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array, Samples, frozen
from enginescope.records.environment import Environment
from enginescope.records.plan.build import BuildReport, DeviceMemory, Preparation, ToolReport
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.progress import Phase as Phase
from enginescope.records.progress import RoundPosition
from enginescope.records.run.job import InputShape, Job
from enginescope.records.run.load_and_contention import ContentionOutcome, LoadOutcome
from enginescope.records.run.telemetry import CpuLoss, GpuTelemetry, Telemetry
from enginescope.records.samples import QueryTrace, ReportedSummary
from enginescope.records.tensor import DataType, Tensor


class ShapeVisit(Record, frozen=True, kw_only=True):
    """Requests of one shape between two changes.

    Attributes:
        point: Of the rule, from 0.
        parts_ms: What a change takes besides the first request: ``profile``, ``bind``, ``graph``.
        first_ms: The first request.
        later_ms: The requests after it.
        same_ms: A request of the same shape after a pause like the one before the first request.
        is_new: Whether the process ran this shape for the first time.
        is_change: Whether it ran another shape before.
    """

    point: int
    parts_ms: dict[str, float]
    first_ms: float
    later_ms: tuple[float, ...]
    same_ms: float
    is_new: bool = False
    is_change: bool = True

    @property
    def change_ms(self) -> float:
        """The parts of the change and the first request, above the same without a change."""
        return sum(self.parts_ms.values()) + self.first_ms - self.same_ms


class ShapeOutcome(Record, frozen=True, kw_only=True):
    """Visits of one process.

    Attributes:
        visits: In the order in which they were made.
        inputs: Of each point, the shapes of the inputs that have a dynamic dimension.
        profiles: Of each point, the optimization profile that ran it.
        why: Of each point, why it was not measured.
        why_no_graph: Why a CUDA graph could not be captured.
    """

    visits: tuple[ShapeVisit, ...]
    inputs: tuple[tuple[InputShape, ...], ...]
    profiles: tuple[int | None, ...]
    why: tuple[str | None, ...]
    why_no_graph: str | None = None

    @property
    def later_medians(self) -> dict[int, float]:
        """The median of each shape's requests after the first of a visit, in ms."""
        times: dict[int, list[float]] = {}
        for visit in self.visits:
            times.setdefault(visit.point, []).extend(visit.later_ms)
        return {point: float(np.median(values)) for point, values in times.items()}

    @property
    def relative_times(self) -> Array:
        """These requests in the order they were timed, each ÷ the median of its shape."""
        medians = self.later_medians
        return frozen(
            [later / medians[visit.point] for visit in self.visits for later in visit.later_ms]
        )


class TensorValues(Record, frozen=True, kw_only=True, eq=False):
    """A tensor with its values.

    Attributes:
        data: In NumPy's own type and in `shape` where it has the type; else the raw bytes, uint8,
            shape (nbytes,): BF16, FP8, FP4, INT4.
    """

    name: str
    dtype: DataType
    shape: tuple[int, ...]
    data: Array


#: Version of the stored form. Raised when an old reader could misread a new file.
SCHEMA_VERSION = 1


class OutcomeKind(Enum):
    """How a job ended."""

    OK = "ok"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    UNSUPPORTED = "unsupported"


class Outcome(Record, frozen=True, kw_only=True):
    """How a job ended, and why.

    Attributes:
        message: For people; ``None`` when all went well.
        hint: The next step.
        exit_code, signal: Of the worker process.
        detail: Traceback or the last lines of standard error.
    """

    kind: OutcomeKind = OutcomeKind.OK
    message: str | None = None
    hint: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    detail: str | None = None


class WarmUpReport(Record, frozen=True, kw_only=True):
    """How the warm-up went.

    Attributes:
        ended_by: ``steady``: the halves of its last stretch agreed; ``limit``: time ran out first.
    """

    iterations: int
    duration_ms: float
    ended_by: Literal["steady", "limit", "fixed"]


class StopReport(Record, frozen=True, kw_only=True):
    """Which rule ended the timed loop.

    Attributes:
        half_width_pct: Of the median's interval when it ended.
    """

    rule: Literal["iterations", "duration", "precision", "max_time", "hard_limit"]
    iterations: int
    duration_ms: float
    half_width_pct: float | None = None


class ProviderShare(Record, frozen=True, kw_only=True):
    """Nodes of a model that one execution provider took.

    Attributes:
        operators: Nodes by operator.
        reasons: By operator, why the provider that was asked for did not take it, where that is
            known.
    """

    provider: str
    nodes: int
    subgraphs: int
    operators: dict[str, int] = {}
    reasons: dict[str, str] = {}


class ArenaStep(Record, frozen=True, kw_only=True, gc=False):
    """A provider's allocator around a node.

    Attributes:
        before_bytes, in_use_bytes: In use when the node began, and when it had ended.
        peak_bytes: Most that had been in use until then.
    """

    node: str
    before_bytes: int
    in_use_bytes: int
    peak_bytes: int


class ArenaUse(Record, frozen=True, kw_only=True):
    """Memory that a provider's allocator handed out, by the runtime's own account.

    Attributes:
        in_use_peak_bytes: Most that was in use at once.
        held_bytes: Most that the arena had taken from the system or the device.
        steps: Nodes of the first inference, in the order in which they ended.
        later: Nodes of later inferences at which the highest mark rose.
    """

    provider: str
    in_use_peak_bytes: int
    held_bytes: int | None = None
    steps: tuple[ArenaStep, ...] = ()
    later: tuple[ArenaStep, ...] = ()


class Artifact(Record, frozen=True, kw_only=True):
    """A file that belongs to a run.

    Attributes:
        kind: ``"trtexec_times"``, ``"worker_log"``, …
        path: Relative to the run's folder, or where it was found when it is not stored with it.
    """

    kind: str
    path: str
    sha256: str | None = None
    size_bytes: int | None = None


#: Definitions of latency; the first that a run has is its headline.
HEADLINES = ("latency", "trtexec_latency", "gpu_compute")


class Run(Record, frozen=True, kw_only=True, eq=False):
    """A measured or imported run.

    Attributes:
        id: Hexadecimal, unique in a store; any unambiguous beginning names the run.
        created: UTC, ISO 8601, to the microsecond: runs made within a second keep their order.
        command: The exact command line that made it.
        inputs, outputs: As they were fed and received, dynamic dimensions resolved.
        peak_memory_bytes: Peak resident memory of the worker until the timed loop had ended.
        timer_resolution_ms: Smallest step of the clock that took the samples.
        other_load_cores: Cores that other processes kept busy during the timed loop.
        cpu_loss: Processor time that the machine withheld meanwhile.
        placement: Which provider took which share of the nodes.
        providers: Providers of the session, in order.
        tool: What the tool that made an imported run says of it.
        wall_ms: Time the timed queries span, on the GPU's clock where there is one, our own pauses
            left out: what throughput is divided by where queries overlap.
        loop_ms: Host time for one query of that loop without its launch: events, clocks, waiting.
        trace: Stamps of each query, where they were asked for.
        preparation: What was done to the model before, once: conversions, engines of a provider.
        arenas: In the pass that profiles layers.
        answers: Values of the outputs, where they were asked for.
        gpu: What the GPU reported of itself, times counted as in `telemetry`.
        load: What became of the queries of a load test.
        shapes: Visits of a process that changed between shapes.
        contention: The window that it shared with other jobs.
        turn: Its place in a comparison whose sides were interleaved.
    """

    id: str
    created: str
    origin: Literal["measured", "imported"]
    job: Job
    outcome: Outcome = Outcome()
    environment: Environment = Environment()
    command: str | None = None
    phases: tuple[Phase, ...] = ()
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    samples: tuple[Samples, ...] = ()
    warmup: WarmUpReport | None = None
    stop: StopReport | None = None
    profile: Profile | None = None
    plan: Plan | None = None
    telemetry: Telemetry | None = None
    gpu: GpuTelemetry | None = None
    peak_memory_bytes: int | None = None
    timer_resolution_ms: float | None = None
    other_load_cores: float | None = None
    cpu_loss: CpuLoss | None = None
    providers: tuple[str, ...] = ()
    placement: tuple[ProviderShare, ...] = ()
    tool: ToolReport | None = None
    wall_ms: float | None = None
    loop_ms: float | None = None
    trace: QueryTrace | None = None
    build: BuildReport | None = None
    preparation: Preparation | None = None
    arenas: tuple[ArenaUse, ...] = ()
    device_memory: DeviceMemory | None = None
    answers: tuple[TensorValues, ...] = ()
    notices: tuple[Notice, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    tags: tuple[str, ...] = ()
    turn: RoundPosition | None = None
    load: LoadOutcome | None = None
    shapes: ShapeOutcome | None = None
    contention: ContentionOutcome | None = None
    schema_version: int = SCHEMA_VERSION

    def series(self, metric: str) -> Samples | None:
        """Return the samples of a metric, or ``None``."""
        return next((sample for sample in self.samples if sample.metric == metric), None)

    def phase_ms(self, name: str) -> float | None:
        """Return a phase's duration in milliseconds, or ``None``."""
        return next((phase.duration_ms for phase in self.phases if phase.name == name), None)

    @property
    def is_ok(self) -> bool:
        """Whether it succeeded."""
        return self.outcome.kind is OutcomeKind.OK

    @property
    def headline(self) -> Samples | None:
        """The series that the run is about: latency, by whichever definition it has."""
        return next((series for series in map(self.series, HEADLINES) if series), None)

    @property
    def printed(self) -> ReportedSummary | None:
        """What a tool printed of the latency of a run without samples, by the same definitions."""
        if self.headline is not None or self.tool is None:
            return None
        stated = {summary.metric: summary for summary in self.tool.summaries}
        return next((stated[tag] for tag in HEADLINES if tag in stated), None)
