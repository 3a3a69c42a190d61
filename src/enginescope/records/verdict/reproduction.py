"""What an upgrade leaves as its evidence, and what comes out when it runs again."""

from __future__ import annotations

from enum import Enum

from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.records.run.job import Limits, Workload
from enginescope.records.verdict.upgrade import UpgradedModel, UpgradeReport, UpgradeRow

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
