"""What a backend is: the protocol, and the objects that cross it."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport, DeviceMemory, Preparation, ToolReport
from enginescope.records.plan.plan import Plan, Profile
from enginescope.records.progress import Progress
from enginescope.records.run import run
from enginescope.records.run.job import BackendSpec, Job, Mode
from enginescope.records.run.load_and_contention import ContentionOutcome, LoadOutcome
from enginescope.records.run.telemetry import CpuLoss, GpuTelemetry
from enginescope.records.samples import QueryTrace
from enginescope.records.tensor import DataType, Tensor

Arrays: TypeAlias = Mapping[str, "np.ndarray[Any, Any]"]


class InputSpec(Record, frozen=True, kw_only=True):
    """What a model asks for.

    Attributes:
        dtype: ``None``: a type that has no array form here.
        shape: A name or ``None`` for a dynamic dimension.
        type_text: The runtime's own word for the type.
        default_shape: What a dynamic shape is unless somebody fixes it: the optimum of an
            optimization profile.
        default_values: What it is fed unless somebody says otherwise: its values are dimensions.
    """

    name: str
    dtype: DataType | None
    shape: tuple[int | str | None, ...]
    type_text: str
    default_shape: tuple[int, ...] | None = None
    default_values: tuple[int, ...] | None = None


class Feeds(Record, frozen=True, kw_only=True, eq=False):
    """Values for the inputs of a model.

    Attributes:
        arrays: Types that NumPy lacks are raw: BF16 as uint16 and FP8 as uint8 in their own shape,
            types of four bits as uint8, packed, of shape (nbytes,).
        shapes: Of the tensors, whatever the shape of a raw array.
        batch: Items in one request.
        random_integers: Inputs filled with random integers that no range bounded: the first to
            suspect when a model rejects its input.
    """

    arrays: dict[str, Any]
    batch: int
    shapes: Mapping[str, tuple[int, ...]] = {}
    notices: tuple[Notice, ...] = ()
    random_integers: tuple[str, ...] = ()


FeedSource: TypeAlias = Callable[[tuple[InputSpec, ...]], Feeds]
ProgressSink: TypeAlias = Callable[[Progress], None]


class Measured(Record, frozen=True, kw_only=True, eq=False):
    """What a backend hands back: raw samples and what qualifies them.

    Attributes:
        peak_memory_bytes: Of the process when the timed loop had ended; later passes need memory of
            their own.
        mode: How requests were issued, where it can differ from what was asked for.
        cpu_loss, wall_ms, loop_ms, trace, build, preparation, arenas, device_memory, tool, plan,
            load, shapes, contention: As in `Run`.
        answers: Outputs of the last request, if the job asks for them.
        devices: The GPUs used, for a machine without NVML.
        gpu: What the GPU reported, times on the host's monotonic clock.
        files: Texts to keep with the run, by file name: an inspector's JSON, a tool's log.
    """

    phases: tuple[run.Phase, ...] = ()
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    batch: int | None = None
    samples: tuple[Samples, ...] = ()
    warmup: run.WarmUpReport | None = None
    stop: run.StopReport | None = None
    profile: Profile | None = None
    peak_memory_bytes: int | None = None
    other_load_cores: float | None = None
    cpu_loss: CpuLoss | None = None
    providers: tuple[str, ...] = ()
    placement: tuple[run.ProviderShare, ...] = ()
    notices: tuple[Notice, ...] = ()
    mode: Mode | None = None
    wall_ms: float | None = None
    loop_ms: float | None = None
    trace: QueryTrace | None = None
    build: BuildReport | None = None
    preparation: Preparation | None = None
    arenas: tuple[run.ArenaUse, ...] = ()
    device_memory: DeviceMemory | None = None
    tool: ToolReport | None = None
    plan: Plan | None = None
    answers: tuple[run.TensorValues, ...] = ()
    devices: tuple[Device, ...] = ()
    gpu: GpuTelemetry | None = None
    files: Mapping[str, str] = {}
    load: LoadOutcome | None = None
    shapes: run.ShapeOutcome | None = None
    contention: ContentionOutcome | None = None


class Availability(Record, frozen=True, kw_only=True):
    """Whether a backend can work on this machine.

    Attributes:
        detail: Version when usable, the cause when not.
        hint: What to install or change.
    """

    usable: bool
    detail: str
    hint: str | None = None


class Backend(Protocol):
    """A runtime that can execute jobs.

    One folder under ``backends/``, one line in ``registry.py``. A backend that can be driven one
    request at a time implements `execute` with `enginescope.backends.stepwise.measure`; one that
    measures by itself (a command-line tool) fills `Measured` on its own.
    """

    @property
    def mode_fields(self) -> frozenset[str]:
        """Names of the fields of `Mode` that it honours; none: it issues one request at a time."""

    def check(self, spec: BackendSpec) -> None:
        """Raise `UsageError` if the precision or an option is not this backend's."""

    def availability(self) -> Availability:
        """Say whether this machine can run it, without running anything."""

    def prepare(self) -> None:
        """Import the runtime, so that its import time is not counted as the model's load.

        Raises:
            MissingDependencyError: It is not installed.
        """

    def execute(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Measure `job` in this process.

        Raises:
            UnsupportedError: This machine, build or model cannot be measured with it.
            BackendError: It failed.
        """


@runtime_checkable
class Demanding(Protocol):
    """A backend that needs more than a Python package of this program's own."""

    def require(self, spec: BackendSpec) -> None:
        """Say what is missing here, without starting anything.

        Raises:
            MissingDependencyError: A library, a tool or a GPU is not there; the hint says how to
                get it.
        """


@runtime_checkable
class DemandingForBuild(Protocol):
    """A backend that can build on machines where it cannot run."""

    def require_for_build(self, spec: BackendSpec) -> None:
        """Say what is missing here to build, without starting anything.

        Raises:
            MissingDependencyError: A library or a GPU is not there; the hint says how to get it.
        """


@runtime_checkable
class Deciding(Protocol):
    """A backend that also takes engines, of which a build has decided some things for good."""

    def decided_by_build(self, spec: BackendSpec) -> tuple[str, ...]:
        """Return what of `spec` only a build can decide: its precision, options by name."""


@runtime_checkable
class Rounding(Protocol):
    """A backend that may compute FP32 values of a model in a smaller type without being asked."""

    def unasked_precision(self, spec: BackendSpec) -> str | None:
        """Return that type, ``"tf32"`` or ``"bf16"``; ``None``: FP32 stays FP32 here."""


@runtime_checkable
class Inspecting(Protocol):
    """A backend that can say what an engine consists of without running it."""

    def inspect(self, job: Job, progress: ProgressSink) -> Measured:
        """Load the engine in this process and return its plan, tensors and devices.

        Raises:
            UnsupportedError: This machine or build cannot load it.
        """


class LoadedModel(Protocol):
    """A model that a backend has loaded."""

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        """What the model asks for."""

    @property
    def providers(self) -> tuple[str, ...]:
        """Providers in use, in order."""

    def notices(self) -> tuple[Notice, ...]:
        """Return what the session has to say about itself."""

    def close(self) -> None:
        """Release what does not release itself."""


class AnsweringSession(LoadedModel, Protocol):
    """A loaded model that answers samples of any shape it takes, one at a time, untimed."""

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as the model declares them, dynamic dimensions ``None``."""

    def answer(self, feeds: Feeds) -> tuple[run.TensorValues, ...]:
        """Return the outputs for these inputs; a sequence's or map's parts as tensors each.

        Raises:
            BackendError: The model rejects them.
        """


@runtime_checkable
class Answering(Protocol):
    """A backend whose outputs can be compared with another's."""

    def open_for_answers(self, job: Job) -> AnsweringSession:
        """Load the model in this process.

        Raises:
            UnsupportedError: This machine or build cannot load it.
            BackendError: Loading failed.
        """


@runtime_checkable
class Builder(Protocol):
    """A backend that turns the model into an engine before it can measure.

    The build is a job of its own, in a process of its own: it heats and fills the GPU, and none of
    that belongs into the process that measures.
    """

    def engine_for(self, job: Job) -> BuildReport | None:
        """Return the engine to measure if it is there already, without touching the GPU."""

    def needs_build(self, job: Job) -> bool:
        """Whether `job` has a model that must be built; ``False`` for an engine."""

    def build(self, job: Job, progress: ProgressSink) -> Measured:
        """Build the engine in this process; `Measured.build` says where it lies.

        Raises:
            UnsupportedError: This TensorRT, GPU or model cannot be built as asked.
            BackendError: It failed.
        """


@runtime_checkable
class StoringBuilds(Protocol):
    """A backend that makes its build in each process, unless it is told to store it."""

    def with_stored_build(self, spec: BackendSpec) -> BackendSpec:
        """Return the backend with options that store a build, so that several processes run it."""


@runtime_checkable
class Preparing(Protocol):
    """A backend that may have to make something of the model before it can measure: once.

    It is done in a process of its own: memory and time of a conversion, or of a provider that
    builds engines while it loads, are no part of the run.
    """

    def needs_preparation(self, job: Job) -> bool:
        """Whether `job` has something to be made ready that is not."""

    def prepared_for(self, job: Job) -> Preparation | None:
        """Return what was made ready earlier, without touching the GPU."""

    def make_ready(self, job: Job, feeds: FeedSource, progress: ProgressSink) -> Measured:
        """Make `job` ready in this process; `Measured.preparation` says what it is.

        Raises:
            UnsupportedError: This machine, build or model cannot do it.
            BackendError: It failed.
        """


def check_named_files(
    spec: BackendSpec, *, one: Iterable[str] = (), several: Iterable[str] = ()
) -> None:
    """Raise unless every file that is named is there.

    Args:
        one: Options that name a file.
        several: Options that name files, separated by commas.

    Raises:
        UsageError: Names the option and the file.
    """
    named = [(key, spec.options[key]) for key in one if key in spec.options]
    lists = [(key, spec.options[key].split(",")) for key in several if key in spec.options]
    named += [(key, path) for key, paths in lists for path in paths if path]
    for key, path in named:
        if not Path(path).is_file():
            why = "it is a folder" if Path(path).is_dir() else "no such file"
            raise UsageError(f"{spec.name}: {key}={path}", why=why)
