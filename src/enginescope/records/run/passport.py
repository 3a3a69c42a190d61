"""The passport of an engine: what it is, how it was built, and what was measured with it."""

from __future__ import annotations

from enginescope.core.record import Record, Result
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport, ToolReport
from enginescope.records.plan.plan import IOTensor
from enginescope.records.run.run import Artifact


class PrecisionShare(Record, frozen=True, kw_only=True):
    """Layers that compute in one precision.

    Attributes:
        precision: ``None``: the plan does not say.
        layers: Those that do work.
        time_ms: Sum of their mean times; ``None`` without layer times.
    """

    precision: str | None
    layers: int
    time_ms: float | None = None


class PassportRun(Record, frozen=True, kw_only=True):
    """A stored run of the engine.

    Attributes:
        metric: Its headline: ``"latency"``, ``"gpu_compute"`` …
        median_ms: Of that metric.
    """

    id: str
    created: str
    outcome: str
    gpu: str | None = None
    metric: str | None = None
    median_ms: float | None = None


class EngineValidation(Record, frozen=True, kw_only=True):
    """Outputs of an engine compared with a reference.

    Attributes:
        reference: What it was.
        tolerance: Row of the limits, as in ``validate``.
        samples: Number of them.
        error_to_spread: Largest of an output: RMSE ÷ spread of the reference.
        created: UTC, ISO 8601.
    """

    engine_sha256: str
    reference: str
    passes: bool
    tolerance: str
    samples: int
    error_to_spread: float | None = None
    created: str | None = None


class Passport(Result, Record, frozen=True, kw_only=True):
    """What is known of an engine, without loading it.

    Attributes:
        file: Name of the engine's file, or of its plan where there is no engine.
        engine: Digest and size of the engine; ``None``: only its plan is there.
        tensorrt, is_rtx, compute_capabilities: From the engine's header, else from its build.
        device: GPU of the build, else of the measurement.
        build: As `enginescope build` recorded it.
        tool: What trtexec or trex recorded: options of the build, GPU, version.
        plan_schema, layers: Of the plan; `layers` counts those that do work.
        precisions: Of the plan's layers, most layers first.
        io: Inputs and outputs, with the shapes of each optimization profile.
        weights_bytes, activation_bytes: As `PlanTotals` defines them.
        artifacts: Files that were read, with digest and size.
        runs: Stored runs of the same engine, newest first; empty in the file that `build` writes.
        evidence: Level of these runs; ``None``: there are none that succeeded.
        validations: Of the same engine, newest first.
        notices: What does not fit together.
    """

    file: str
    engine: Artifact | None = None
    tensorrt: str | None = None
    is_rtx: bool | None = None
    compute_capabilities: tuple[str, ...] = ()
    device: Device | None = None
    build: BuildReport | None = None
    tool: ToolReport | None = None
    plan_schema: str | None = None
    layers: int | None = None
    precisions: tuple[PrecisionShare, ...] = ()
    io: tuple[IOTensor, ...] = ()
    weights_bytes: int | None = None
    activation_bytes: int | None = None
    artifacts: tuple[Artifact, ...] = ()
    runs: tuple[PassportRun, ...] = ()
    evidence: str | None = None
    validations: tuple[EngineValidation, ...] = ()
    notices: tuple[Notice, ...] = ()
