"""What is measured, on what and how, and what is asked of GPU and machine meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from enginescope.core.record import Record
from enginescope.records.progress import Progress
from enginescope.records.run.load_and_contention import ContentionRule, LoadRule
from enginescope.records.run.sample_set import AnswerRequest

Depth = Literal["off", "clock", "full"]
#: How layers are timed, as `enginescope.records.plan.plan.Profile.mode` says.
ProfileMode = Literal["gated", "trtexec"]


class TelemetryRule(Record, frozen=True, kw_only=True):
    """Which GPU metrics are sampled, how often and for how long.

    Attributes:
        depth: ``clock``: SM clock, throttle reasons, temperature and other processes around the
            timed loop. ``full``: also a pass of its own that repeats the loop while every channel
            is sampled.
        interval_ms: Between two samples of the pass.
        duration_ms: Of the repeated loop.
        idle_ms: Of the stretch before it in which nothing is asked of the model.
        settle_ms: Before either: power is reported as an average of up to a second.
    """

    depth: Depth = "clock"
    interval_ms: float = 100.0
    duration_ms: float = 20_000.0
    idle_ms: float = 3_000.0
    settle_ms: float = 1_000.0

    @property
    def whole_ms(self) -> float:
        """What the pass takes, the start of its process left out."""
        if self.depth != "full":
            return 0.0
        return self.duration_ms + self.idle_ms + 2 * self.settle_ms


class Cooldown(Record, frozen=True, kw_only=True):
    """Wait before a job until the GPU is cool.

    Attributes:
        temperature_c: At or below this, in degrees Celsius.
        limit_s: Measure after this time in any case; the run then carries a notice.
    """

    temperature_c: float
    limit_s: float = 180.0


class Conditions(Record, frozen=True, kw_only=True):
    """Requested state of the machine during a job.

    Attributes:
        pinned_cores: Logical processors that the worker and its children may run on; empty: all.
    """

    pinned_cores: tuple[int, ...] = ()
    cooldown: Cooldown | None = None


class Subject(Record, frozen=True, kw_only=True):
    """The thing under test.

    Attributes:
        name: For people: the file's name, or the address of an endpoint.
        kind: ``unknown``: imported artifacts that do not say.
        sha256: Of the file's content.
    """

    name: str
    kind: Literal["onnx", "engine", "endpoint", "synthetic", "unknown"] = "unknown"
    path: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None


#: What runs a model, and an engine, where nobody names a backend.
CPU_BACKEND, ENGINE_BACKEND = "ort-cpu", "trt"


class BackendSpec(Record, frozen=True, kw_only=True):
    """A backend and its options: ``ort-cpu``, ``trt:fp16?workspace=2GiB``.

    Attributes:
        precision: After the colon; ``None``: the backend's default.
        options: After the question mark.
        environment: After the ``@``: the name that a suite gives another Python; ``None``: this
            one.
    """

    name: str
    precision: str | None = None
    options: dict[str, str] = {}
    environment: str | None = None

    @property
    def is_cpu(self) -> bool:
        """Whether it is ONNX Runtime on the CPU, with whatever options."""
        return self.name == CPU_BACKEND

    @property
    def forbids_tf32(self) -> bool:
        """Whether FP32 stays FP32: TensorRT and trtexec say ``tf32``, ONNX Runtime ``use_tf32``."""
        asked = (self.options.get(one, "").lower() for one in ("tf32", "use_tf32"))
        return any(one in ("0", "false") for one in asked)

    @property
    def profile_index(self) -> int | None:
        """The optimization profile asked for, of engines that have several."""
        text = self.options.get("profile_index", "")
        return int(text) if text.isdecimal() else None

    def __str__(self) -> str:
        """Return the specification as it is typed."""
        precision = f":{self.precision}" if self.precision else ""
        environment = f"@{self.environment}" if self.environment else ""
        options = "&".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}{precision}{environment}" + (f"?{options}" if options else "")


class InputShape(Record, frozen=True, kw_only=True):
    """Shape of an input: ``--shape NAME:1x3x224x224``."""

    name: str
    dims: tuple[int, ...]


class InputFile(Record, frozen=True, kw_only=True):
    """A file with the values of an input: ``--input NAME:FILE``."""

    name: str
    path: str


class InputRange(Record, frozen=True, kw_only=True):
    """Bounds of an input's random integers, both included: ``--range NAME:0:30521``."""

    name: str
    low: int
    high: int


class DimSize(Record, frozen=True, kw_only=True):
    """Size of a dynamic dimension, by its name in the ONNX file: ``--dim seq=128``."""

    name: str
    size: int


class OpenDims(Record, frozen=True, kw_only=True):
    """Dimensions of an input that are 1 because the request gives them no size.

    Attributes:
        names: In the file; ``axis 2`` for one without a name.
    """

    input: str
    names: tuple[str, ...]
    axes: tuple[int, ...]


class FilledInput(Record, frozen=True, kw_only=True):
    """Values of an input that its name decides, such as a mask or positions.

    Attributes:
        first, step: Along the last axis ``first``, ``first + step``, …; a step of 0: one value.
    """

    name: str
    first: int
    step: int = 0


class WarmUp(Record, frozen=True, kw_only=True):
    """Untimed iterations until both minimums are reached and latency is steady.

    Attributes:
        limit_ms: Give up waiting for steadiness after this; the run then carries a notice.
    """

    time_ms: float = 200.0
    iterations: int = 3
    limit_ms: float = 2_000.0


class StopRule(Record, frozen=True, kw_only=True):
    """Conditions that end the timed loop; the first that holds ends it.

    Attributes:
        iterations: Exactly so many.
        duration_ms: When so much time is over, and `min_iterations` are done.
        min_iterations: The duration waits for these, as trtexec's does.
        precision_pct: When the median's 95 % interval is within ± this, and `min_samples` are
            taken.
        max_time_ms: When this is over and `min_samples` are taken, however wide the interval.
        min_time_ms: The precision rule waits for this too: a hundred samples of a fast model are
            over before anything slower than a few milliseconds can show.
    """

    iterations: int | None = None
    duration_ms: float | None = None
    min_iterations: int = 0
    precision_pct: float | None = 0.5
    max_time_ms: float = 10_000.0
    min_samples: int = 100
    min_time_ms: float = 500.0

    @property
    def hard_limit_ms(self) -> float:
        """After this the loop ends even short of `min_samples`: six times `max_time_ms`."""
        return 6 * self.max_time_ms


class Mode(Record, frozen=True, kw_only=True):
    """How requests are issued; ``None`` where it is not known or does not apply.

    In a job it is what was asked for, and ``None`` leaves the choice to the backend; in a run it is
    what was done.

    Attributes:
        kind: ``latency``: one request at a time, timed from call to answer. ``throughput``: queries
            are enqueued ahead, as trtexec does.
        in_flight: Requests at a time, of one stream.
        transfers: Host-device copies inside the timed span.
        streams: Inference streams, each with a context of its own.
        idle_ms: Pause of the host between two queries.
        cold: The L2 cache is flushed before each timed query.
        rotate: Sets of input buffers, interleaved.
        decode: Tokens that a request generates one after another, ``present`` fed to ``past``.
        call: How a request passes its tensors. ``None``: in memory that is bound once, page-locked
            where there is a GPU. ``arrays``: in ordinary, pageable memory; ONNX Runtime gets NumPy
            arrays with each request. ``client``: as arrays, inputs and outputs copied by the caller
            for each request.
        loop: Which loop makes the calls: that in C, or the interpreter.
    """

    kind: Literal["latency", "throughput"] | None = None
    in_flight: int | None = 1
    transfers: bool | None = None
    cuda_graph: bool | None = None
    spin_wait: bool | None = None
    streams: int | None = None
    idle_ms: float | None = None
    cold: bool | None = None
    rotate: int | None = None
    decode: int | None = None
    call: Literal["arrays", "client"] | None = None
    loop: Literal["native", "python"] | None = None


class Workload(Record, frozen=True, kw_only=True):
    """Inputs, warm-up, stop rule and mode of a measurement.

    Attributes:
        batch: Items per request; ``None``: not known, counted as 1 where a rate is needed.
        seed: Of the random feeds.
        shapes, files, ranges: What the user fixed; the rest comes from the model.
        data_set: A ``test_data_set_*`` folder whose inputs are fed.
        dims: Sizes of named dimensions, for all inputs; `shapes` has them too, once a job is made.
        open_dims: Of inputs whose shape comes from `dims`: the dimensions that `dims` does not
            name.
        index_inputs: Inputs that index a table of the model: their ranges come from its size.
        filled: Inputs whose names decide their values.
        derived: Inputs of a model with a past, whose shapes follow from names of dimensions.
    """

    batch: int | None = None
    seed: int = 0
    shapes: tuple[InputShape, ...] = ()
    files: tuple[InputFile, ...] = ()
    ranges: tuple[InputRange, ...] = ()
    data_set: str | None = None
    warmup: WarmUp = WarmUp()
    stop: StopRule = StopRule()
    mode: Mode = Mode()
    dims: tuple[DimSize, ...] = ()
    open_dims: tuple[OpenDims, ...] = ()
    index_inputs: tuple[str, ...] = ()
    filled: tuple[FilledInput, ...] = ()
    derived: tuple[str, ...] = ()


class ShapePoint(Record, frozen=True, kw_only=True):
    """One shape of a sweep.

    Attributes:
        label: ``8``, or a whole shape, ``1x3x224x224``.
        size: Of the dimension that is swept; of whole shapes, their elements.
        items: In one request, for the throughput.
        workload: Inputs of this shape.
    """

    label: str
    size: int
    items: int
    workload: Workload


class ShapeRule(Record, frozen=True, kw_only=True):
    """Shapes that one process changes between, in random order.

    Attributes:
        points: In ascending order of size.
        visits: How often the process changes to each shape.
        requests: Of one visit, the first one included.
        visit_ms: A visit has fewer requests, but at least four, rather than last longer.
        seed: Of the order.
    """

    points: tuple[ShapePoint, ...]
    visits: int = 3
    requests: int = 20
    visit_ms: float = 250.0
    seed: int = 0


class Limits(Record, frozen=True, kw_only=True):
    """Limits of a worker process: time and memory.

    Attributes:
        build_timeout_s: Of a process that builds an engine.
        memory_bytes: Resident memory of its process tree; ``None``: most of what is free when it
            starts.
    """

    timeout_s: float = 600.0
    build_timeout_s: float = 7_200.0
    memory_bytes: int | None = None


class Job(Record, frozen=True, kw_only=True):
    """One measurement to make.

    Attributes:
        profile_mode: How the layers are timed, where the backend has more than one way.
        engine: The engine that was built for it, where the backend needs one.
        engine_cache: Folder of built engines and timing caches; ``None``: nothing is kept.
        rebuild: Build even if the cache has the engine.
        keep_outputs: Keep the values of the outputs with the run.
        answering: Samples to be answered, where nothing is to be timed.
        telemetry: What is asked of the GPU meanwhile.
        conditions: What is asked of the machine meanwhile.
        load: A load test in place of the timed loop.
        shapes: Changes of the shape in place of the timed loop.
        contention: A window that several jobs share, in place of the timed loop.
    """

    subject: Subject
    backend: BackendSpec
    workload: Workload = Workload()
    layer_profile: bool = True
    profile_mode: ProfileMode = "gated"
    limits: Limits = Limits()
    engine: str | None = None
    engine_cache: str | None = None
    rebuild: bool = False
    keep_outputs: bool = False
    answering: AnswerRequest | None = None
    telemetry: TelemetryRule = TelemetryRule()
    conditions: Conditions = Conditions()
    load: LoadRule | None = None
    shapes: ShapeRule | None = None
    contention: ContentionRule | None = None


class Watcher(Record, frozen=True, kw_only=True):
    """What is told while jobs run."""

    started: Callable[[int, Job], None] = lambda _index, _job: None
    progressed: Callable[[int, Progress], None] = lambda _index, _progress: None
