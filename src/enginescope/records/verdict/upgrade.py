"""What an upgrade was checked on, and whether it is safe."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.judge.evidence import EvidenceLevel
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import Verdict
from enginescope.records.run.rounds import MadeReport
from enginescope.records.verdict.gate import DEFAULT_REGRESSION_PCT, InconclusivePolicy, Limit

#: The metric of the row that is about outputs.
OUTPUTS = "outputs"
#: Tools that start a stack in a container: ``docker:IMAGE``.
CONTAINER_TOOLS = ("docker", "podman")
#: Metrics that count in the verdict on a model, with the increase that does not matter.
UPGRADE_LIMITS = (
    Limit(metric="latency", regression_pct=DEFAULT_REGRESSION_PCT),
    Limit(metric="peak_memory", regression_pct=5.0),
    Limit(metric="device_memory", regression_pct=5.0),
    Limit(metric="engine_size", regression_pct=5.0),
)
#: A model may take so much more memory, however small it is: less than an allocator's arena.
MEMORY_FLOOR_BYTES = 16 << 20


class UpgradeKind(Enum):
    """What may be said of the new stack; the worst first."""

    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"
    BETTER = "better"
    SAFE = "safe"


class UpgradeReason(Enum):
    """Why a row is what it is, where it is not the reason of a verdict on a metric."""

    IDENTICAL = "identical"
    WITHIN_REPEATS = "within-repeats"
    WITHIN_LIMITS = "within-limits"
    OUTPUTS_FAIL = "outputs-fail"
    OLD_FAILS = "old-fails"
    BOTH_FAIL = "both-fail"
    NO_REFERENCE = "no-reference"
    NO_OUTPUTS = "no-outputs"
    OUTPUTS_FIRST = "outputs-first"
    PROCESS_FAILED = "process-failed"
    NOT_WORSE = "not-worse"
    MISSING = "missing"
    SMALL_GROWTH = "small-growth"


class Stack(Record, frozen=True, kw_only=True):
    """One side of an upgrade.

    Attributes:
        name: As ``--on BACKEND@NAME`` has it.
        python: Interpreter of its environment, or ``docker:IMAGE``; ``None``: recorded runs.
        versions: Versions and hardware as its Python sees them.
    """

    name: str
    python: str | None = None
    versions: dict[str, str] = {}

    @property
    def container(self) -> tuple[str, str] | None:
        """Tool and image of a stack in a container; ``None``: it is not in one."""
        tool, colon, image = (self.python or "").partition(":")
        return (tool, image) if colon and tool in CONTAINER_TOOLS else None


class UpgradeRow(Record, frozen=True, kw_only=True):
    """One metric of one model.

    Attributes:
        metric: ``outputs``, the tag of a `Metric`, or the name of a figure.
        reason: Value of an `UpgradeReason`, or of the `Reason` of `verdict`.
        message: What the figures do not say; `None` where they say all.
        decides: Whether the row counts in the verdict on the model.
        limit_pct: Largest increase that does not matter, in percent.
        old, new: Figure of each stack, in the unit of the metric; of outputs the largest absolute
            error against the reference.
        verdict: With the interval; ``None`` of outputs and where nothing was measured.
        library: Of memory beyond its limit: figures of processes with an empty model, old and new.
    """

    metric: str
    kind: UpgradeKind
    reason: str
    message: str | None = None
    decides: bool = True
    limit_pct: float | None = None
    old: float | None = None
    new: float | None = None
    verdict: Verdict | None = None
    library: tuple[float, float] | None = None


class LayerChange(Record, frozen=True, kw_only=True):
    """Layers that do the same work on both stacks, or layers of one stack alone.

    Attributes:
        changes: What differs in how they are built.
        old_ms, new_ms: Times of one process a side; ``None``: no layer, or no time.
    """

    name: str
    type: str
    changes: tuple[str, ...] = ()
    old_ms: float | None = None
    new_ms: float | None = None
    difference_ms: float | None = None


class DifferenceCause(Record, frozen=True, kw_only=True):
    """Layers whose time differs for one reason.

    Attributes:
        cause: As `enginescope.analysis` names it: ``"tactic"``, ``"nothing"``, …
        kind: Type of the layers.
        detail: What it was and what it is: ``"FP32 → FP16"``.
        layers: Number of pairs.
    """

    cause: str
    kind: str | None
    detail: str | None
    layers: int
    difference_ms: float | None = None


class LayerDifferences(Record, frozen=True, kw_only=True):
    """The layers of both stacks, paired by ONNX operator; times of one process a side.

    Attributes:
        old, new: Number of layers of each stack.
        paired: Pairs; several layers that are one on the other side are one pair.
        differing: Pairs whose layers are built differently.
        only_old, only_new: Layers without a counterpart.
        old_ms, new_ms: Layer times added up; ``None``: a side has none.
        causes: The largest difference first; they add up to the whole difference.
        layers: Those that differ most.
    """

    old: int
    new: int
    paired: int
    differing: int
    only_old: int = 0
    only_new: int = 0
    old_ms: float | None = None
    new_ms: float | None = None
    causes: tuple[DifferenceCause, ...] = ()
    layers: tuple[LayerChange, ...] = ()


class UpgradedModel(Record, frozen=True, kw_only=True):
    """One model on both stacks.

    Attributes:
        backend: As it is typed, without the stack.
        reference: What the outputs were compared with, and where it was computed.
        repeats: Fresh processes of each stack that returned outputs.
        evidence: Of the timings; ``None``: nothing was timed.
        comparison: Of the stored runs, whose tag is ``cmp-`` and this id.
        old, new: Ids of the runs.
        layers: Compared layers; ``None``: a side has none.
    """

    model: str
    backend: str
    rows: tuple[UpgradeRow, ...]
    reference: str | None = None
    repeats: int = 0
    evidence: EvidenceLevel | None = None
    comparison: str | None = None
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    layers: LayerDifferences | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def kind(self) -> UpgradeKind:
        """The verdict on the model."""
        return worst(row.kind for row in self.rows if row.decides)


class UpgradeReport(Result, MadeReport, frozen=True, kw_only=True):
    """Whether an upgrade is safe, model by model.

    Attributes:
        old, new: The stacks.
        limits: Of the metrics that count.
        inconclusive: How an inconclusive model counts in `is_passed`.
    """

    old: Stack
    new: Stack
    models: tuple[UpgradedModel, ...]
    limits: tuple[Limit, ...] = UPGRADE_LIMITS
    inconclusive: InconclusivePolicy = "fail"

    @property
    def kind(self) -> UpgradeKind:
        """The verdict on the upgrade: that of the worst model."""
        return worst(model.kind for model in self.models)

    @property
    def is_passed(self) -> bool:
        """Whether nothing got worse, and nothing is open that `inconclusive` forbids."""
        is_open = self.kind is UpgradeKind.INCONCLUSIVE and self.inconclusive != "pass"
        return self.kind is not UpgradeKind.WORSE and not is_open


def worst(kinds: Iterable[UpgradeKind]) -> UpgradeKind:
    """Return the worst of `kinds`; inconclusive where there is none."""
    return min(kinds, key=list(UpgradeKind).index, default=UpgradeKind.INCONCLUSIVE)
