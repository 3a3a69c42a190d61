"""How an engine was built or a model prepared, and what another tool's log says of itself."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.progress import Phase
from enginescope.records.samples import ReportedSummary


class BuildReport(Result, Record, frozen=True, kw_only=True):
    """The build of an engine.

    Attributes:
        engine: Path of the file.
        key: Digest of all that decides what is built: model, options, TensorRT, GPU, driver.
        model, model_sha256: Name and digest of the ONNX file; `key` covers weights in other files.
        timing_cache_sha256: Of the timing cache that the build read; ``None``: it read none.
        from_cache: It was built earlier for the same key; the times are of that build.
        precision: As asked for; ``None``: the builder's default.
        options: As asked for.
        tensorrt: Version that built it.
        compute_capabilities: Of the GPUs that can run it, where TensorRT for RTX built it:
            ``"8.9"``; ``">12.0"``: newer ones.
        parse_ms, build_ms: `build_ms` is of the builder alone, parsing left out.
        layers: Of the network, before fusion.
        peak_host_bytes, peak_device_bytes: Of the building process; the device's by NVML, sampled.
        notices: What the build had to say: it holds for every run of the engine.
    """

    engine: str
    engine_bytes: int
    engine_sha256: str | None = None
    key: str | None = None
    model: str | None = None
    model_sha256: str | None = None
    timing_cache_sha256: str | None = None
    from_cache: bool = False
    precision: str | None = None
    options: dict[str, str] = {}
    tensorrt: str | None = None
    compute_capabilities: tuple[str, ...] = ()
    device: str | None = None
    driver: str | None = None
    command: str | None = None
    parse_ms: float | None = None
    build_ms: float | None = None
    layers: int | None = None
    peak_host_bytes: int | None = None
    peak_device_bytes: int | None = None
    notices: tuple[Notice, ...] = ()


class DeviceMemory(Record, frozen=True, kw_only=True):
    """Device memory of a run.

    Attributes:
        engine_bytes: What loading the engine took: weights and code, free memory before less after.
        context_bytes: What the execution contexts took, activations included, measured likewise.
        activation_bytes: Scratch and activations of one context, as TensorRT states it.
        buffer_bytes: Inputs and outputs.
        process_bytes: The whole process while it measured, by NVML: the CUDA context included.
        process_peak_bytes: The most the process held until its first request was answered, sampled
            every 20 ms.
        streamable_weights_bytes: Weights that may stay on the host (weight streaming).
    """

    engine_bytes: int | None = None
    context_bytes: int | None = None
    activation_bytes: int | None = None
    buffer_bytes: int | None = None
    process_bytes: int | None = None
    process_peak_bytes: int | None = None
    streamable_weights_bytes: int | None = None


class MadeModel(Record, frozen=True, kw_only=True):
    """A model that was made from another.

    Attributes:
        path: The ONNX file; weights too large for it lie beside it.
        tool: What made it: ``"onnxruntime.transformers.float16"``.
        key: Digest of source, options and versions.
        versions: Packages that took part.
        details: Counts: nodes in all, nodes that stay in FP32, casts.
        made_ms: What making it took.
        size_bytes: Of the ONNX file and its weights.
        digests: SHA-256 of each of these files by its name.
        notices: What making it had to say: it holds for every run of it.
    """

    path: str
    kind: Literal["fp16", "autocast", "shapes", "optimized"]
    tool: str
    key: str
    versions: dict[str, str] = {}
    options: dict[str, str] = {}
    details: dict[str, int] = {}
    made_ms: float | None = None
    size_bytes: int = 0
    digests: dict[str, str] = {}
    from_cache: bool = False
    notices: tuple[Notice, ...] = ()


class Preparation(Record, frozen=True, kw_only=True):
    """A model made ready: converted, its engines built.

    Attributes:
        key: Digest of all that decides what was made.
        model: The file that is loaded.
        record: Where this lies as a file.
        made: How it came to be, step by step; empty where it is the user's own.
        provider_options: What the provider is told besides the user's options: where its caches
            lie.
        cold: ``cold_load`` and ``cold_first_inference`` of a process of its own that found the
            caches empty: engines are built in the one or in the other.
        cache_files, cache_bytes: What that process has left in the caches.
        peak_host_bytes, peak_device_bytes: Of that process; the device's by NVML, sampled.
        from_cache: It was done earlier for the same key; times are of then.
        notices: They hold for every run of it.
    """

    key: str
    model: str
    record: str | None = None
    made: tuple[MadeModel, ...] = ()
    provider_options: dict[str, str] = {}
    cold: tuple[Phase, ...] = ()
    cache_files: int | None = None
    cache_bytes: int | None = None
    peak_host_bytes: int | None = None
    peak_device_bytes: int | None = None
    from_cache: bool = False
    notices: tuple[Notice, ...] = ()


class LogMessage(Record, frozen=True, kw_only=True):
    """A warning or error another tool logged."""

    level: str
    text: str
    line: int | None = None


class ToolReport(Record, frozen=True, kw_only=True):
    """Facts from a build or a timing log, as the tool stated them.

    Attributes:
        tool: ``"trtexec"``, …
        tool_version: As printed, such as ``"8.6.0"``.
        command: Its command line.
        passed: Its own verdict.
        options: Per section ("Build Options", "Inference Options", …), values kept whole.
        device_facts: The device section, values kept whole.
        throughput_per_s: Queries per second, as printed.
        engine_bytes, context_memory_bytes: As exact as the log says it.
        memory: Named totals from the log, bytes.
    """

    tool: str
    tool_version: str | None = None
    command: str | None = None
    passed: bool | None = None
    options: dict[str, dict[str, str]] = {}
    device: Device | None = None
    device_facts: dict[str, str] = {}
    summaries: tuple[ReportedSummary, ...] = ()
    throughput_per_s: float | None = None
    host_walltime_s: float | None = None
    total_gpu_compute_s: float | None = None
    build_s: float | None = None
    parse_s: float | None = None
    deserialize_s: float | None = None
    load_s: float | None = None
    engine_bytes: int | None = None
    context_memory_bytes: int | None = None
    memory: dict[str, int] = {}
    messages: tuple[LogMessage, ...] = ()
