"""What an upgrade was checked on, whether it is safe, its evidence, and its repetition."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from enginescope.core.record import Record, Result
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import EvidenceLevel, Verdict
from enginescope.records.run.job import Limits, Workload
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
    NOT_REACHED = "not-reached"


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
        origin: Node at which the error of the outputs starts; ``None``: not searched, or not found.
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
    origin: str | None = None
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


class Release(Record, frozen=True, kw_only=True):
    """A release of a package, in an environment that differs from others in that package alone.

    Attributes:
        python: Interpreter of the environment; ``None``: there is none.
        failure: Why the release cannot be used.
    """

    version: str
    python: str | None = None
    failure: str | None = None


class ReleaseSearch(Result, MadeReport, frozen=True, kw_only=True):
    """The release of a package that made a model worse.

    Attributes:
        releases: Oldest first; those with a `failure` are skipped.
        error: Largest chance that the search names a release though all are equal.
        metric: The metric that is worse in the last release; ``None``: none is.
        steps: Comparisons of two releases; the last one is that of `good` and `bad` if both are
            neighbors, with layers and the origin of wrong outputs.
        good, bad: The nearest releases found to be as good as the first, and worse.
    """

    package: str
    model: str
    sha256: str | None = None
    releases: tuple[Release, ...]
    error: float
    metric: str | None = None
    steps: tuple[UpgradeReport, ...] = ()
    good: str | None = None
    bad: str | None = None

    def row(self, step: UpgradeReport) -> UpgradeRow:
        """Return the row of the metric in a comparison; the worst before the metric is known."""
        rows = [row for row in step.models[0].rows if row.decides]
        named = [row for row in rows if row.metric == self.metric]
        kind = worst(row.kind for row in rows)
        return next(iter((*named, *(row for row in rows if row.kind is kind))))

    @property
    def change(self) -> UpgradeReport | None:
        """The comparison of `good` and `bad`; ``None``: it was not reached."""
        if len(self.steps) < 2:
            return None
        last = self.steps[-1]
        return last if (last.old.name, last.new.name) == (self.good, self.bad) else None

    @property
    def kind(self) -> UpgradeKind:
        """Worse where one release is named, and safe where the last one is as good as the first."""
        if self.metric is None:
            return next((self.row(step).kind for step in self.steps), UpgradeKind.INCONCLUSIVE)
        is_one = self.change is not None and not self.between
        is_worse = is_one and self.row(self.steps[-1]).kind is UpgradeKind.WORSE
        return UpgradeKind.WORSE if is_worse else UpgradeKind.INCONCLUSIVE

    @property
    def between(self) -> tuple[str, ...]:
        """The releases after `good` and before `bad`, of which nothing is known."""
        names = [release.version for release in self.releases]
        if self.good is None or self.bad is None:
            return ()
        return tuple(names[names.index(self.good) + 1 : names.index(self.bad)])


#: Version of `EvidenceBundle`. Raised when an older enginescope could misread a newer bundle.
BUNDLE_SCHEMA = 1


class BundledInput(Record, frozen=True, kw_only=True):
    """A model, sample or reference of an upgrade, with the files that belong to it.

    Attributes:
        path: Whole path where it was read.
        place: Its path in the bundle; ``None``: the bundle has its hashes alone.
        files: Path relative to the folder of `path` -> SHA-256.
    """

    path: str
    place: str | None
    files: dict[str, str]


class UpgradeSettings(Record, frozen=True, kw_only=True):
    """How models were checked; paths are those of `BundledInput`.

    Attributes:
        models: Empty: recorded runs were compared.
        samples: Number of samples.
    """

    models: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    reference: str | None = None
    data: tuple[str, ...] = ()
    samples: int | None = None
    tolerance: str | None = None
    repeats: int = 2
    workload: Workload = Workload()
    rounds: int | None = None
    builds: int | None = None
    process_limits: Limits | None = None


class EvidenceBundle(Record, frozen=True, kw_only=True):
    """The document of a bundle of evidence; the runs are in ``runs/``.

    Attributes:
        outputs: Of each model of `report`; empty: recorded runs, or an older bundle.
    """

    settings: UpgradeSettings
    inputs: tuple[BundledInput, ...]
    report: UpgradeReport
    outputs: tuple[BundledOutputs | None, ...] = ()
    schema: int = BUNDLE_SCHEMA


class Agreement(Enum):
    """How a recorded verdict and a new one agree; the worst first.

    Attributes:
        INCONCLUSIVE: One of them is, or one of the upgrades does not have the metric.
        SAME: Both are clear and equal; or they are of the same figures.
    """

    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"
    SAME = "same"


class ReproducedRow(Record, frozen=True, kw_only=True):
    """One metric of one model, recorded and measured again.

    Attributes:
        decides: Whether the metric counts in the verdict.
        recorded, again: ``None``: one of the upgrades does not have the metric.
    """

    metric: str
    decides: bool
    agreement: Agreement
    recorded: UpgradeRow | None
    again: UpgradeRow | None


class ReproducedModel(Record, frozen=True, kw_only=True):
    """One model, recorded and checked again.

    Attributes:
        outputs: ``None``: the bundle has no outputs, or the repetition.
    """

    recorded: UpgradedModel
    again: UpgradedModel
    rows: tuple[ReproducedRow, ...]
    outputs: ReproducedOutputs | None = None


class EnvironmentChange(Record, frozen=True, kw_only=True):
    """A version or a device of a stack that is not as recorded.

    Attributes:
        stack: Name of the stack.
        recorded, again: ``None``: the stack does not have it.
    """

    stack: str
    name: str
    recorded: str | None
    again: str | None


class Reproduction(Result, Record, frozen=True, kw_only=True):
    """A bundle of evidence that was checked, and the upgrade that ran again.

    Attributes:
        folder: The bundle.
        files, size_bytes: Number of its files, and their size.
        sha256: Of its manifest, which has the SHA-256 of every file.
        enginescope: Version that wrote it.
        again: ``None``: the files were checked, and nothing else.
        environment: Versions and devices that differ.
    """

    folder: str
    files: int
    size_bytes: int
    sha256: str
    enginescope: str
    recorded: UpgradeReport
    again: UpgradeReport | None = None
    models: tuple[ReproducedModel, ...] = ()
    environment: tuple[EnvironmentChange, ...] = ()

    @property
    def is_reproduced(self) -> bool | None:
        """Whether no metric that counts has another verdict.

        ``None``: it did not run again, or every verdict is inconclusive in one of the upgrades.
        """
        rows = [row for model in self.models for row in model.rows if row.decides]
        conclusive = [row for row in rows if row.agreement is not Agreement.INCONCLUSIVE]
        if not conclusive:
            return None
        return all(row.agreement is Agreement.SAME for row in conclusive)


class BundledTensor(Record, frozen=True, kw_only=True):
    """One output of one sample.

    Attributes:
        sha256: Of type, shape and values.
        max_abs_error: Largest absolute difference from the reference; ``None``: it is the
            reference's own, or has another type, shape or place of NaN.
    """

    name: str
    sha256: str
    max_abs_error: float | None = None


class BundledSample(Record, frozen=True, kw_only=True):
    """Outputs of one sample.

    Attributes:
        place: File in the bundle; ``None``: the bundle has hashes and errors alone.
    """

    sample: str
    tensors: tuple[BundledTensor, ...]
    place: str | None = None


class BundledProcess(Record, frozen=True, kw_only=True):
    """Outputs of one fresh process of a stack; those of the reference have no stack."""

    stack: str | None
    samples: tuple[BundledSample, ...]


class BundledOutputs(Record, frozen=True, kw_only=True):
    """Outputs of a model: the reference's, then each process of the old and of the new stack.

    Attributes:
        size_bytes: Of all values, equal ones counted once.
    """

    model: str
    processes: tuple[BundledProcess, ...]
    size_bytes: int


class OutputReason(Enum):
    """Why an output is not as recorded.

    Attributes:
        VALUES: Values differ; `OutputChange.gap` says by how much.
        HASHES: Values differ; the bundle has hashes alone.
        KIND: There is no distance: type, shape or place of NaN differ, or it is text.
        MISSING: One of the upgrades does not have the output.
    """

    VALUES = "values"
    HASHES = "hashes"
    KIND = "kind"
    MISSING = "missing"


class OutputChange(Record, frozen=True, kw_only=True):
    """An output of which no process gave the recorded bits again.

    Attributes:
        stack: ``None``: of the reference.
        gap: Largest absolute difference, of the two processes that are nearest.
        recorded_error, error: Largest absolute error against the reference, recorded and again.
        was_repeatable: Whether the recorded processes of the stack gave the same bits.
    """

    stack: str | None
    sample: str
    output: str
    reason: OutputReason
    gap: float | None = None
    recorded_error: float | None = None
    error: float | None = None
    was_repeatable: bool = True


class ReproducedOutputs(Record, frozen=True, kw_only=True):
    """Outputs of a model, recorded and again.

    Attributes:
        compared: Number of outputs by stack, sample and name.
    """

    compared: int
    changes: tuple[OutputChange, ...] = ()
