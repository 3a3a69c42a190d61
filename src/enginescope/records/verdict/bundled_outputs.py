"""Outputs in a bundle of evidence, and how those of a repetition differ from them."""

from __future__ import annotations

from enum import Enum

from enginescope.core.record import Record


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
