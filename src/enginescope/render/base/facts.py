"""What is known of a run besides its figures, as (name, value) pairs for people."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.environment import Device
from enginescope.records.run.job import BackendSpec, Job, Mode
from enginescope.records.run.run import Run
from enginescope.records.tensor import Tensor
from enginescope.render.base.phrases import stated, stop_sentence, warm_up_sentence
from enginescope.render.base.short_names import NAME_LENGTH, ToldApart, told_apart

Facts: TypeAlias = tuple[tuple[str, str], ...]

#: Phase -> its name for people.
_PHASES = {
    "cooldown": "waiting for the GPU to cool",
    "process_start": "process start",
    "imports": "imports",
    "parse": "parsing the model",
    "build": "building the engine",
    "convert": "converting the model",
    "infer_shapes": "inferring shapes",
    "cold_load": "load, caches empty",
    "compile_model": "compile the model (EPContext)",
    "session_from_model": "session from the model",
    "session_from_compiled": "session from the compiled model",
    "cold_first_inference": "first inference, caches empty",
    "load": "load",
    "first_inference": "first inference",
    "warm_up": "warm-up",
    "steady_state": "steady state",
    "telemetry": "GPU telemetry",
    "layer_profile": "layer profile",
}


def backend_text(spec: BackendSpec) -> str:
    """Return ``ort-cpu fp32``, with options after a question mark."""
    options = "&".join(f"{key}={value}" for key, value in spec.options.items())
    name = f"{spec.name} {spec.precision}" if spec.precision else spec.name
    name = f"{name} @{spec.environment}" if spec.environment else name
    return f"{name}?{options}" if options else name


def made_text(run: Run) -> str:
    """Return when a run was made, to the second: ``2026-11-21 11:17:09 UTC``."""
    zone = " UTC" if run.created.endswith(("+00:00", "Z")) else ""
    return f"{run.created[:19].replace('T', ' ')}{zone}"


def shape_text(shape: tuple[int | None, ...] | None) -> str:
    """Return ``1×3×224×224``; ``?`` for a dimension that is not known."""
    if shape is None:
        return "shape not known"
    return "×".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


def tensor_text(tensor: Tensor) -> str:
    """Return ``input 1×3×224×224 FP32 NCHW``, as far as it is known."""
    unknown = [] if tensor.shape is not None else [shape_text(None)]
    return " ".join(filter(None, (tensor.name, *unknown, form_text(tensor))))


def form_text(tensor: Tensor) -> str:
    """Return ``1×3×224×224 FP32 NCHW``: what is known of it, maybe nothing."""
    shape = shape_text(tensor.shape) if tensor.shape is not None else None
    dtype = tensor.dtype.value if tensor.dtype else None
    return " ".join(filter(None, (shape, dtype, tensor.layout.name if tensor.layout else None)))


def inputs_text(run: Run) -> str | None:
    """Return the shape of one input, or the count and shapes of several."""
    shapes = [(one.name, one.shape) for one in run.inputs]
    shapes = shapes or [(one.name, one.dims) for one in run.job.workload.shapes]
    if not shapes:
        return None
    if len(shapes) == 1:
        return shape_text(shapes[0][1])
    named = ", ".join(f"{name} {shape_text(shape)}" for name, shape in shapes[:3])
    return f"{named}, …" if len(shapes) > 3 else named


def subject_names(jobs: Sequence[Job]) -> list[str]:
    """Return the names of models: of several, their files' names where those tell them apart.

    Models of one name go by where their paths part ways.
    """
    paths = {job.subject.path for job in jobs}
    names = [job.subject.name for job in jobs]
    if len(paths) == 1 or None in paths:
        return names
    for short in ([name.rpartition("/")[2] for name in names], names):
        if len(set(short)) >= len(paths):
            return short
    whole = [Path(str(job.subject.path)) for job in jobs]
    shared = os.path.commonpath([one.parent for one in whole])
    return [str(one.relative_to(shared)) for one in whole]


def subject_line(run: Run, name: str | None = None) -> str:
    """Return what was measured: ``model.onnx · ort-cpu · batch 1 · 1×3×224×224``.

    Of a backend with long options it has the name: ``trt fp16 + 2 options``.

    Args:
        name: Of the model, if its own does not tell it from others.
    """
    batch = run.job.workload.batch
    parts = (
        name or run.job.subject.name,
        *_short_backend(run).labels,
        f"batch {batch}" if batch is not None else None,
        inputs_text(run),
    )
    return " · ".join(filter(None, parts))


def options_line(run: Run) -> str | None:
    """Return the backend's options where `subject_line` leaves them out."""
    return _short_backend(run).shared


def _short_backend(run: Run) -> ToldApart:
    return told_apart([backend_text(run.job.backend)], NAME_LENGTH)


def place_line(run: Run) -> str | None:
    """Return where it was measured: the GPU if one was used, else the processor."""
    devices = run.environment.devices
    if devices:
        held = (
            f"{device.name} at {device.clock_lock}" if device.clock_lock else device.name
            for device in devices
        )
        return ", ".join(dict.fromkeys(held))
    host = run.environment.host
    cores = host.cores_usable or host.cores_logical
    parts = (host.cpu_model, counted(cores, "core") if cores else None)
    return ", ".join(filter(None, parts)) or None


def given_gpu_text(name: str) -> str:
    """Return the name of a GPU that no file tells of: somebody gave it."""
    return f"{name}, as given"


def device_text(device: Device) -> str:
    """Return a GPU's name and what is known of it."""
    parts = (
        device.name,
        f"compute capability {device.compute_capability}" if device.compute_capability else None,
        f"{device.sm_count} SMs" if device.sm_count is not None else None,
        format_bytes(device.memory_bytes) if device.memory_bytes is not None else None,
        f"driver {device.driver}" if device.driver else None,
        f"clocks locked: {device.clock_lock}" if device.clock_lock else None,
    )
    return " · ".join(filter(None, parts))


def machine_facts(run: Run) -> Facts:
    """Return host, processor, memory, load, GPUs, and steering environment variables."""
    host, busy, cores = run.environment.host, run.other_load_cores, run.job.conditions.pinned_cores
    loss, stolen, stopped = run.cpu_loss, None, None
    if loss is not None:
        stolen = _amount(loss.steal_pct, 2, " % of the processor time")
        of = f" of {loss.periods:,}" if loss.periods is not None else ""
        if loss.throttled_periods is not None:
            stopped = f"{loss.throttled_periods:,}{of} periods"
    kinds = ("usable", "physical", "logical")
    counts = ((getattr(host, f"cores_{kind}"), kind) for kind in kinds)
    pairs = (
        ("Host", host.name),
        ("System", host.os),
        ("Processor", host.cpu_model),
        ("Cores", ", ".join(f"{count} {kind}" for count, kind in counts if count is not None)),
        ("Memory", format_bytes(host.memory_bytes) if host.memory_bytes is not None else None),
        ("CPU governor", host.governor),
        ("CPU boost", _flag(host.boost, "on", "off")),
        ("Threads of a core", _flag(host.smt, "two (SMT)", "one")),
        ("Pinned to", f"cores {', '.join(map(str, cores))}" if cores else None),
        ("Container", host.container),
        ("Load average, 1 min", _amount(host.load_1min, 3, "")),
        ("Other load", _amount(busy, 2, " cores busy with other work")),
        ("Time stolen", stolen),
        ("Stopped by quota", stopped),
        *(("GPU", device_text(device)) for device in run.environment.devices),
        *(("Variable", f"{key}={value}") for key, value in run.environment.variables.items()),
    )
    return stated(*pairs)


def method_facts(run: Run) -> Facts:
    """Return how it was measured: command, rules, providers, node placement, versions."""
    workload = run.job.workload
    placed = (f"{p.provider}: {p.nodes} nodes in {p.subgraphs} subgraphs" for p in run.placement)
    command = run.command or (run.tool.command if run.tool else None) or ""
    pairs = (
        *(("Command", line) for line in command.splitlines()),
        ("Subject", run.job.subject.path or run.job.subject.name),
        ("SHA-256", run.job.subject.sha256),
        ("Backend", str(run.job.backend)),
        ("Providers", ", ".join(run.providers) or None),
        ("Node placement", ", ".join(placed) or None),
        ("Inputs", ", ".join(tensor_text(one) for one in run.inputs) or None),
        ("Outputs", ", ".join(tensor_text(output) for output in run.outputs) or None),
        ("Requests", mode_text(workload.mode)),
        ("Load", run.job.load.text if run.job.load else None),
        ("Contention", run.job.contention.text if run.job.contention else None),
        ("Warm-up", warm_up_sentence(run.warmup) if run.warmup else None),
        ("Stopped because", stop_sentence(run.stop) if run.stop else None),
        ("Seed of the feeds", str(workload.seed) if run.origin == "measured" else None),
        ("Made", f"{made_text(run)} ({run.origin})"),
        ("Run", run.id),
        *((f"Version of {name}", text) for name, text in run.environment.versions.items()),
    )
    return stated(*pairs)


def phase_facts(run: Run) -> Facts:
    """Return the phases with their durations, and the peak memory."""
    phases = ((_PHASES.get(one.name, one.name), one.duration_ms) for one in run.phases)
    memory = (
        ("GPU memory: engine", "engine_bytes"),
        ("GPU memory: contexts", "context_bytes"),
        ("GPU memory: activations", "activation_bytes"),
        ("GPU memory: inputs and outputs", "buffer_bytes"),
        ("GPU memory: whole process", "process_bytes"),
        ("peak GPU memory: whole process", "process_peak_bytes"),
    )
    sizes = (
        ("peak memory until the timed loop ended", run.peak_memory_bytes),
        *((name, getattr(run.device_memory, field, None)) for name, field in memory),
        *(
            (f"peak {what} during the {step}", getattr(part, field, None))
            for step, part in (("build", run.build), ("preparation", run.preparation))
            for what, field in (("memory", "peak_host_bytes"), ("GPU memory", "peak_device_bytes"))
        ),
    )
    return (
        *((name, format_ms(duration_ms, 3)) for name, duration_ms in phases),
        *((name, format_bytes(size)) for name, size in sizes if size is not None),
    )


def mode_text(mode: Mode) -> str | None:
    """Return how requests were issued, as far as it is known."""
    calls = {"arrays": "tensors in pageable memory", "client": "tensors copied by the caller"}
    parts = (
        mode.kind,
        f"{mode.in_flight} in flight" if mode.in_flight is not None else None,
        counted(mode.streams, "stream") if mode.streams is not None else None,
        _flag(mode.transfers, "with host-device copies", "without host-device copies"),
        _flag(mode.cuda_graph, "CUDA graph", "no CUDA graph"),
        _flag(mode.spin_wait, "spin wait", "blocking wait"),
        "L2 cache flushed before each" if mode.cold else None,
        f"{mode.rotate} sets of inputs" if mode.rotate and mode.rotate > 1 else None,
        f"{format_ms(mode.idle_ms)} pause between" if mode.idle_ms else None,
        f"{mode.decode} tokens per request" if mode.decode is not None else None,
        calls.get(mode.call or ""),
        {"native": "calls from C", "python": "calls from Python"}.get(mode.loop or ""),
    )
    return ", ".join(filter(None, parts)) or None


def _flag(value: bool | None, yes: str, no: str) -> str | None:  # noqa: FBT001
    return None if value is None else yes if value else no


def _amount(value: float | None, digits: int, what: str) -> str | None:
    return None if value is None else f"{format_significant(value, digits)}{what}"
