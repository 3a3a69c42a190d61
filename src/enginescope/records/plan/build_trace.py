"""How a builder came to an engine: what it joined, tried, timed and chose."""

from typing import Literal

from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.records.plan.build import LogMessage
from enginescope.records.tensor import DataType


class OptimisationStep(Record, frozen=True, kw_only=True):
    """The number of layers after one step of the graph's optimization, by its log's line (from 1).

    The builder's names, such as ``"Original"`` and ``"scale fusion"``, repeat.
    """

    name: str
    layers: int
    line: int


class GraphChange(Record, frozen=True, kw_only=True):
    """One change to the graph.

    Attributes:
        rule: ``"ConvReluFusion"``, where it is known.
        names: The two that were joined, or the one that changed.
        nodes: What the two are made of, earlier fusions undone; of the others, their name.
        detail: Of a change of type: ``"REDUCE to POOLING"``.
        step: Index of the step that counted the layers next; as many as there are steps, if none
            did.
    """

    action: Literal["fuse", "remove", "retype"]
    names: tuple[str, ...]
    nodes: tuple[str, ...]
    step: int
    line: int
    rule: str | None = None
    detail: str | None = None


class TacticTrial(Record, frozen=True, kw_only=True):
    """One tactic that was timed.

    Attributes:
        runner: The kind of implementation: ``"CaskConvolution"``.
        tactic: Its number, as printed.
        name: Of the kernel.
        time_ms: ``None`` where the log states no finite time.
    """

    runner: str | None
    tactic: str
    name: str | None = None
    time_ms: float | None = None


class FormatTrial(Record, frozen=True, kw_only=True):
    """One combination of tensor formats, and the tactics timed in it.

    Attributes:
        inputs, outputs: Formats as printed, type with strides: ``"Half(25088,1:8,448,8)"``.
        trials: In the order of the log; none where times came from the timing cache.
        chosen_runner, chosen_tactic: The best of this combination, as the builder says.
        without_tactics: Runners that had nothing to offer.
        available, pruned: Tactics that the runners had, and those put aside before timing.
        tuning_s: What timing took, on the wall clock.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    line: int
    trials: tuple[TacticTrial, ...] = ()
    chosen_runner: str | None = None
    chosen_tactic: str | None = None
    without_tactics: tuple[str, ...] = ()
    available: int | None = None
    pruned: int | None = None
    tuning_s: float | None = None


class TunedLayer(Record, frozen=True, kw_only=True):
    """A layer, or a conversion between formats, that costs were computed for.

    TensorRT 8 and before name only a layer that a runner was tried for: one whose times all came
    from the timing cache is not.
    """

    kind: Literal["layer", "reformat"]
    combinations: tuple[FormatTrial, ...]
    line: int
    name: str | None = None

    @property
    def tuning_s(self) -> float | None:
        """Seconds that timing took; ``None`` where no combination says."""
        return sum_known(one.tuning_s for one in self.combinations)


class AddedReformat(Record, frozen=True, kw_only=True):
    """A conversion put into the engine.

    Attributes:
        name: ``"Reformatted Input Tensor 0 to conv1"``.
        tensor: What is converted.
        source, target: Formats with strides.
    """

    name: str
    tensor: str
    source: str
    target: str
    line: int


class ChosenTensor(Record, frozen=True, kw_only=True):
    """A tensor of a layer of the finished engine.

    Attributes:
        format: As printed: ``"Half[1,64:8,56,56]"``.
        shape: ``None`` as a dimension is a dynamic one.
        vector_width: Elements that lie together; 1: none do; ``None``: the log does not say.
    """

    name: str
    format: str
    dtype: DataType | None = None
    shape: tuple[int | None, ...] | None = None
    vector_width: int | None = None
    vector_axis: int | None = None


class ChosenLayer(Record, frozen=True, kw_only=True):
    """A layer of the finished engine, and the number of its tactic, as printed.

    The type is the runner: ``"CaskConvolution"``; of TensorRT 10, ``"kgen"``, ``"gemm"``, too.
    """

    index: int
    name: str
    type: str
    line: int
    tactic: str | None = None
    tactic_name: str | None = None
    inputs: tuple[ChosenTensor, ...] = ()
    outputs: tuple[ChosenTensor, ...] = ()


class MemoryStage(Record, frozen=True, kw_only=True):
    """Memory after one stage of the build, to the MiB, as printed.

    Of the process, or of what TensorRT manages, as the name says.
    """

    name: str
    line: int
    host_change_bytes: int | None = None
    device_change_bytes: int | None = None
    host_bytes: int | None = None
    device_bytes: int | None = None


class LayerMemory(Record, frozen=True, kw_only=True):
    """Memory that a layer keeps or needs while it runs, bytes."""

    name: str
    host_persistent_bytes: int
    device_persistent_bytes: int
    scratch_bytes: int
    line: int


class TimedStage(Record, frozen=True, kw_only=True):
    """A stage of the build and its seconds, as printed."""

    name: str
    seconds: float
    line: int


class TimingCacheUse(Record, frozen=True, kw_only=True):
    """Entries that a timing cache had before and after a build, and how often it served.

    The hits are those of all caches that the log closes.
    """

    loaded: int | None = None
    stored: int | None = None
    hits: int | None = None


class BuildTrace(Record, frozen=True, kw_only=True):
    """What a verbose build log tells.

    Attributes:
        source: The log.
        tuned: In the order they were tuned.
        layers: The finished engine.
        memory_totals: Bytes, named by the builder.
        messages: Warnings and errors, each text once.
        tensorrt_version: As the tool that wrote the log printed it.
    """

    source: str
    steps: tuple[OptimisationStep, ...] = ()
    changes: tuple[GraphChange, ...] = ()
    tuned: tuple[TunedLayer, ...] = ()
    reformats: tuple[AddedReformat, ...] = ()
    layers: tuple[ChosenLayer, ...] = ()
    memory: tuple[MemoryStage, ...] = ()
    memory_totals: dict[str, int] = {}
    layer_memory: tuple[LayerMemory, ...] = ()
    stages: tuple[TimedStage, ...] = ()
    cache: TimingCacheUse = TimingCacheUse()
    messages: tuple[LogMessage, ...] = ()
    tensorrt_version: str | None = None

    def stage_s(self, name: str) -> float | None:
        """Return a stage's seconds, or ``None``."""
        return next((one.seconds for one in self.stages if one.name == name), None)
