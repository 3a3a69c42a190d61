"""How an engine came to be, and the device memory it takes."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.records.notice import Notice


class BuildReport(Result, Record, frozen=True, kw_only=True):
    """The build of an engine.

    Attributes:
        engine: Path of the file.
        key: Digest of all that decides what is built: model, options, TensorRT, GPU, driver.
        from_cache: It was built earlier for the same key; the times are of that build.
        precision: As asked for; ``None``: the builder's default.
        options: As asked for.
        tensorrt: Version that built it.
        parse_ms, build_ms: `build_ms` is of the builder alone, parsing left out.
        layers: Of the network, before fusion.
        peak_host_bytes, peak_device_bytes: Of the building process; the device's by NVML, sampled.
        notices: What the build had to say: it holds for every run of the engine.
    """

    engine: str
    engine_bytes: int
    engine_sha256: str | None = None
    key: str | None = None
    from_cache: bool = False
    precision: str | None = None
    options: dict[str, str] = {}
    tensorrt: str | None = None
    device: str | None = None
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
