"""Lines of a log as trtexec has them, and the sections in which it repeats its options.

The section on the GPU, and the version line after it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from enginescope.compat.trtexec.arguments import Arguments, Version
from enginescope.compat.trtexec.settings import Settings, dims_text, run_shapes
from enginescope.formats.trtexec.trtexec_flags import MEMORY_POOLS
from enginescope.records.environment import Device

Level = Literal["I", "W", "E", "V"]
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Line(NamedTuple):
    """One message.

    Attributes:
        level: Warnings and errors go to standard error, the others to standard output.
        text: May hold line feeds: only the first line gets the prefix, as in trtexec's own log.
    """

    level: Level
    text: str


def info(*texts: str) -> tuple[Line, ...]:
    """Return messages of level I."""
    return tuple(Line("I", text) for text in texts)


def warning(*texts: str) -> tuple[Line, ...]:
    """Return messages of level W."""
    return tuple(Line("W", text) for text in texts)


def error(*texts: str) -> tuple[Line, ...]:
    """Return messages of level E."""
    return tuple(Line("E", text) for text in texts)


def printed(line: Line, now: datetime) -> str:
    """Return a message with its prefix."""
    return f"[{now:%m/%d/%Y-%H:%M:%S}] [{line.level}] {line.text}"


def status(word: str, version: Version, command: Iterable[str]) -> str:
    """Return a ``&&&& RUNNING``, ``PASSED`` or ``FAILED`` line, which has no prefix."""
    build = f" [b{version.build}]" if version.major >= 9 and version.build is not None else ""
    typed = on_one_line(" ".join(command))
    return f"&&&& {word} TensorRT.trtexec [TensorRT v{version.number}]{build} # {typed}"


def number(value: float) -> str:
    """Return a number as a C++ stream prints it: six significant digits."""
    return f"{value:.6g}"


def enabled(value: bool) -> str:  # noqa: FBT001 - the word for a switch
    """Return ``Enabled`` or ``Disabled``."""
    return "Enabled" if value else "Disabled"


def on_one_line(text: str) -> str:
    r"""Return `text` with its control characters written out: a name must not end a line."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def device_lines(
    devices: Sequence[Device], selected: Device | None, index: int, version: Version
) -> tuple[Line, ...]:
    """Return the facts that are known; what is not known has no line.

    Args:
        devices: All that are there.
        selected: The one CUDA calls `index`.
    """
    lists_all = version.at_least(9)
    texts = ["=== Device Information ==="]
    if lists_all:
        texts.append("Available Devices: ")
        texts += [
            f'  Device {place}: "{one.name}" UUID: {one.uuid or ""}'
            for place, one in enumerate(devices)
        ]
    if selected is not None:
        texts += _selected(selected, index, lists_all=lists_all)
    return info(*texts, "", f"TensorRT version: {version}")


def _selected(device: Device, index: int, *, lists_all: bool) -> Iterator[str]:
    memory, shared = device.memory_bytes, device.shared_per_sm_bytes
    facts = {
        "Selected Device": device.name,
        "Selected Device ID": index if lists_all else None,
        "Selected Device UUID": device.uuid if lists_all else None,
        "Compute Capability": device.compute_capability,
        "SMs": device.sm_count,
        "Device Global Memory": None if memory is None else f"{memory // 2**20} MiB",
        "Shared Memory per SM": None if shared is None else f"{shared // 2**10} KiB",
    }
    yield from (f"{name}: {value}" for name, value in facts.items() if value is not None)
    if device.memory_bus_bits is not None and device.has_ecc is not None:
        ecc = "enabled" if device.has_ecc else "disabled"
        yield f"Memory Bus Width: {device.memory_bus_bits} bits (ECC {ecc})"
    if device.clock_mhz is not None and device.memory_clock_mhz is not None:
        yield f"Application Compute Clock Rate: {number(device.clock_mhz / 1e3)} GHz"
        yield f"Application Memory Clock Rate: {number(device.memory_clock_mhz / 1e3)} GHz"
        yield ""
        yield (
            "Note: The application clock rates do not reflect the actual clock rates that the GPU "
            "is currently running at."
        )


_SOURCES = {
    "CUBLAS": "cublas",
    "CUBLAS_LT": "cublasLt",
    "CUDNN": "cudnn",
    "EDGE_MASK_CONVOLUTIONS": "edge mask convolutions",
    "JIT_CONVOLUTIONS": "JIT convolutions",
}
_VERBOSITY = {"layer_names_only": 0, "none": 1, "detailed": 2}
_SPARSITY = {"disable": "Disabled", "enable": "Enabled", "force": "Forced"}


def option_lines(settings: Settings) -> tuple[Line, ...]:
    """Return all sections of options, in trtexec's order."""
    texts = [
        "=== Model Options ===",
        f"Format: {'ONNX' if settings.onnx else '*'}",
        f"Model: {settings.onnx or ''}",
        "Output:",
        *_build(settings),
        *_system(settings.arguments),
        *_inference(settings),
        *_reporting(settings),
    ]
    return info(*map(on_one_line, texts))


def _build(settings: Settings) -> Iterator[str]:
    arguments = settings.arguments
    version = arguments.version
    if settings.load_engine is not None and version.major >= 9:
        yield ""
        return
    yield "=== Build Options ==="
    if version.major < 9:
        yield f"Max batch: {_batch(settings, 'explicit batch')}"
    yield f"Memory Pools: {_pools(settings)}"
    if version.major < 10:
        yield "minTiming: 1"
    yield f"avgTiming: {arguments.text('--avgTiming', '8')}"
    yield f"Precision: {_precision(settings)}"
    if version.major < 11:
        yield f"LayerPrecisions: {arguments.text('--layerPrecisions')}"
    yield f"Layer Device Types: {arguments.text('--layerDeviceTypes')}"
    if version.major < 11:
        cache = arguments.text("--calib") or ("Dynamic" if "int8" in _allowed(settings) else "")
        yield f"Calibration: {cache}"
    yield f"Refit: {enabled(settings.options.get('refit') == '1')}"
    if version.major >= 10:
        yield f"Strip weights: {enabled(settings.options.get('strip_plan') == '1')}"
    yield f"Version Compatible: {enabled(arguments.has('--versionCompatible'))}"
    norm = "Native" if version.major < 10 else "Plugin"
    has_norm = arguments.has(f"--{norm.lower()}InstanceNorm")
    yield f"ONNX {norm} InstanceNorm: {enabled(has_norm)}"
    yield f"TensorRT runtime: {arguments.text('--useRuntime', 'full')}"
    yield "Lean DLL Path: "
    controls = {"in_memory": "allow", "temporary": "allow"}
    given = filter(None, arguments.text("--tempfileControls").split(","))
    controls |= dict(one.partition(":")[::2] for one in given)
    allowed = ", ".join(f"{name}: {word}" for name, word in controls.items())
    yield f"Tempfile Controls: {{ {allowed} }}"
    yield f"Exclude Lean Runtime: {enabled(arguments.has('--excludeLeanRuntime'))}"
    yield f"Sparsity: {_SPARSITY[arguments.text('--sparsity', 'disable')]}"
    yield "Safe mode: Disabled"
    yield "Build DLA standalone loadable: Disabled"
    yield f"Allow GPU fallback for DLA: {enabled(arguments.has('--allowGPUFallback'))}"
    yield f"DirectIO mode: {enabled(arguments.has('--directIO'))}"
    if version.major < 11:
        yield "Restricted mode: Disabled"
    yield f"Skip inference: {enabled(settings.skip_inference)}"
    yield f"Save engine: {settings.save_engine or ''}"
    yield f"Load engine: {settings.load_engine or ''}"
    yield f"Profiling verbosity: {_VERBOSITY[settings.options['profiling_verbosity']]}"
    yield from _tactics_and_caches(arguments)
    yield from _later_build_keys(settings)
    yield from _formats(arguments)
    yield from _build_shapes(settings)
    if version.major < 11:
        yield "Input calibration shapes: model"


def _tactics_and_caches(arguments: Arguments) -> Iterator[str]:
    cache = arguments.text("--timingCacheFile")
    mode = "global" if cache else "local"
    sources = arguments.text("--tacticSources")
    yield f"Tactic sources: {_sources(sources) if sources else 'Using default tactic sources'}"
    mode = "disable" if arguments.has("--noBuilderCache") else mode
    yield f"timingCacheMode: {mode}"
    yield f"timingCacheFile: {cache}"
    if arguments.version.major < 10:
        yield "Heuristic: Disabled"
        return
    yield f"Enable Compilation Cache: {enabled(not arguments.has('--noCompilationCache'))}"
    if arguments.version.at_least(10, 6):
        yield f"Enable Monitor Memory: {enabled(arguments.has('--monitorMemory'))}"
    yield f"errorOnTimingCacheMiss: {enabled(arguments.has('--errorOnTimingCacheMiss'))}"


def _later_build_keys(settings: Settings) -> Iterator[str]:
    arguments = settings.arguments
    version = arguments.version
    yield f"Preview Features: {arguments.text('--preview') or 'Use default preview flags.'}"
    yield f"MaxAuxStreams: {arguments.text('--maxAuxStreams', '-1')}"
    yield f"BuilderOptimizationLevel: {arguments.text('--builderOptimizationLevel', '-1')}"
    if version.major < 10:
        return
    if version.at_least(10, 4):
        yield f"MaxTactics: {arguments.text('--maxTactics', '-1')}"
    if version.major < 11:
        yield "Calibration Profile Index: 0"
    yield f"Weight Streaming: {enabled(arguments.has('--allowWeightStreaming'))}"
    if version.at_least(10, 2):
        windows = arguments.text("--runtimePlatform").lower() == "windowsamd64"
        yield f"Runtime Platform: {'Windows AMD64' if windows else 'Same As Build'}"
    yield "Debug Tensors: "
    if version.at_least(10, 12):
        independent = arguments.has("--distributiveIndependence")
        yield f"Distributive Independence: {enabled(independent)}"


def _formats(arguments: Arguments) -> Iterator[str]:
    default = "CHW" if arguments.version.major >= 11 else "fp32:CHW"
    for title, flag in (("Input(s)", "--inputIOFormats"), ("Output(s)", "--outputIOFormats")):
        if not (given := [one for one in arguments.text(flag).split(",") if one]):
            yield f"{title}s format: {default}"
        for one in given:
            yield f"{title}: {one}"


def _build_shapes(settings: Settings) -> Iterator[str]:
    if not settings.profiles:
        yield "Input build shapes: model"
    for index, profile in enumerate(settings.profiles):
        place = f" (profile {index})" if settings.arguments.version.major >= 9 else ""
        for shapes in zip(*profile.roles, strict=True):
            dims = "+".join(dims_text(one.dims) for one in shapes)
            yield f"Input build shape{place}: {shapes[0].name}={dims}"


def _system(arguments: Arguments) -> Iterator[str]:
    yield "=== System Options ==="
    yield f"Device: {arguments.text('--device', '0')}"
    yield f"DLACore: {arguments.text('--useDLACore')}"
    yield " ".join(("Plugins:", *arguments.texts("--staticPlugins")))
    yield " ".join(("setPluginsToSerialize:", *arguments.texts("--setPluginsToSerialize")))
    yield " ".join(("dynamicPlugins:", *arguments.texts("--dynamicPlugins")))
    yield "ignoreParsedPluginLibs: 0"
    yield ""


def _inference(settings: Settings) -> Iterator[str]:
    timing, arguments = settings.timing, settings.arguments
    version = arguments.version
    yield "=== Inference Options ==="
    yield f"Batch: {_batch(settings, 'Explicit')}"
    if not (shapes := run_shapes(settings)):
        yield "Input inference shapes: model"
    for shape in shapes:
        yield f"Input inference shape : {shape.name}={dims_text(shape.dims)}"
    yield f"Iterations: {timing.iterations}"
    yield f"Duration: {number(timing.duration_s)}s (+ {number(timing.warm_up_ms)}ms warm up)"
    yield "Sleep time: 0ms"
    yield f"Idle time: {number(timing.idle_ms)}ms"
    yield f"Inference Streams: {timing.streams}"
    yield f"ExposeDMA: {enabled(timing.expose_dma)}"
    yield f"Data transfers: {enabled(timing.transfers)}"
    yield f"Spin-wait: {enabled(timing.spin_wait)}"
    yield "Multithreading: Disabled"
    yield f"CUDA Graph: {enabled(timing.cuda_graph)}"
    if version.major < 11:
        yield "Separate profiling: Enabled"
    yield "Time Deserialize: Disabled"
    yield "Time Refit: Disabled"
    yield f"NVTX verbosity: {_VERBOSITY[settings.options['profiling_verbosity']]}"
    yield f"Persistent Cache Ratio: {arguments.text('--persistentCacheRatio', '0')}"
    if version.major >= 10:
        yield f"Optimization Profile Index: {settings.profile_index}"
        budget = settings.options.get("weight_streaming_budget", "off")
        words = {"off": "Disabled", "auto": "Automatic"}
        size = budget if budget.endswith("%") else f"{budget} bytes"
        yield f"Weight Streaming Budget: {words.get(budget, size)}"
    yield "Inputs:"
    for file in settings.files:
        yield f"{file.name}<-{file.path}"
    if version.major >= 10:
        yield "Debug Tensor Save Destinations:"


def _reporting(settings: Settings) -> Iterator[str]:
    arguments = settings.arguments
    yield "=== Reporting Options ==="
    yield f"Verbose: {enabled(arguments.has('--verbose'))}"
    yield f"Averages: {settings.average_runs} inferences"
    yield f"Percentiles: {','.join(f'{percentile:g}' for percentile in settings.percentiles)}"
    yield "Dump refittable layers:Disabled"
    yield f"Dump output: {enabled(arguments.has('--dumpOutput'))}"
    yield f"Profile: {enabled(arguments.has('--dumpProfile'))}"
    yield f"Export timing to JSON file: {arguments.text('--exportTimes')}"
    yield f"Export output to JSON file: {arguments.text('--exportOutput')}"
    yield f"Export profile to JSON file: {arguments.text('--exportProfile')}"
    yield ""


def _pools(settings: Settings) -> str:
    """Return the pools' sizes in MiB; TensorRT's own limit is ``default``."""
    pairs = settings.options.get("memory_pools", "").split(",")
    given = dict(pair.partition(":")[::2] for pair in pairs if pair)
    sizes = {
        shown: f"{number(int(given[key].rstrip('B')) / 2**20)} MiB" if key in given else "default"
        for key, shown in MEMORY_POOLS.items()
        if shown != "tacticSharedMem" or settings.arguments.version.major >= 10
    }
    return ", ".join(f"{shown}: {size}" for shown, size in sizes.items())


def _precision(settings: Settings) -> str:
    if settings.arguments.version.major >= 11 or settings.options.get("strongly_typed") == "1":
        return "Strongly Typed"
    return "+".join(("FP32", *(one.upper() for one in _allowed(settings))))


def _allowed(settings: Settings) -> tuple[str, ...]:
    """Return the precisions beside FP32, in trtexec's order."""
    asked = (settings.precision or "").split("+")
    if "best" in asked:
        asked += ["fp16", "int8"] + (["bf16"] if settings.arguments.version.major >= 9 else [])
    return tuple(one for one in ("fp16", "bf16", "int8", "fp8", "int4") if one in asked)


def _sources(text: str) -> str:
    signs = {part[1:].strip(): part[0] for part in text.split(",") if part}
    return "".join(
        f"{shown} [{'ON' if signs[name] == '+' else 'OFF'}], "
        for name, shown in _SOURCES.items()
        if name in signs
    )


def _batch(settings: Settings, explicit: str) -> str:
    """Return 1 where trtexec 8 does: it cannot know whether a loaded engine is explicit."""
    is_unknown = settings.load_engine is not None and not settings.shapes
    return "1" if is_unknown and settings.arguments.version.major < 9 else explicit
