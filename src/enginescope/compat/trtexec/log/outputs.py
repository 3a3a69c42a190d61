"""Values of inputs and outputs: printed, as JSON, and as raw files.

What trtexec says between the device and the measurement: parsing, building, loading, binding.

Also the JSON files of trtexec's ``--export…`` flags, strict, with what trtexec leaves out beside.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from enginescope.compat.trtexec.log.log import Line, info, number, on_one_line, warning
from enginescope.compat.trtexec.settings import Settings, dims_text
from enginescope.core.errors import UnsupportedError
from enginescope.core.jsonio import encode
from enginescope.formats.lenient_json import read_json
from enginescope.formats.trtexec.exported_times import STAMPS
from enginescope.judge.samples import Array
from enginescope.records.run.run import Run, TensorValues
from enginescope.records.samples import QueryTrace
from enginescope.records.tensor import DataType, Tensor


def parsing_lines(run: Run) -> tuple[Line, ...]:
    """Return the line that comes before what TensorRT says of the model."""
    return () if run.phase_ms("parse") is None else info("Start parsing network model.")


def engine_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the lines on the engine: how long it took, how large it is."""
    texts, loaded = [], run.job.subject.size_bytes
    if settings.load_engine is None:
        texts += _build(run, settings)
    elif loaded is not None and settings.arguments.version.at_least(9):
        texts.append(f"Loaded engine with size: {number(loaded / 2**20)} MiB")
    if (deserialized := run.phase_ms("load")) is not None:
        texts.append(f"Engine deserialized in {number(deserialized / 1e3)} sec.")
    context = run.device_memory.activation_bytes if run.device_memory else None
    if context is not None and settings.arguments.version.at_least(9, 3):
        size = number(context / 2**20)
        texts.append(f"Created execution context with device memory size: {size} MiB")
    return info(*texts)


def binding_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return the lines on inputs and outputs, up to the start of the inference."""
    from_files = {one.name: one.path for one in settings.files}
    lines: list[Line] = []
    for tensor in run.inputs:
        name = on_one_line(tensor.name)
        file = from_files.get(tensor.name)
        source = f"values loaded from {file}" if file else "random values"
        lines += info(f"Using {source} for input {name}", _binding("Input", tensor, settings))
    lines += info(*(_binding("Output", tensor, settings) for tensor in run.outputs))
    return (*_overridden(run), *lines)


def graph_lines(run: Run, settings: Settings) -> tuple[Line, ...]:
    """Return what became of the CUDA graph, where one was asked for."""
    if not settings.timing.cuda_graph:
        return ()
    version = settings.arguments.version
    if run.job.workload.mode.cuda_graph is not False:
        text = "Successfully captured CUDA graph for the current execution context"
        return info(text) if version.major >= 10 else ()
    if version.major >= 11:
        last = "CUDA graph capture failed. The inference will be launched without using CUDA graph."
    else:
        last = (
            "The specified --useCudaGraph flag has been ignored. The inference will be launched "
            "without using CUDA graph launch."
        )
    return warning(
        "The CUDA graph capture on the stream has failed.",
        "The built TensorRT engine contains operations that are not permitted under CUDA graph "
        "capture mode.",
        last,
    )


def type_name(dtype: DataType) -> str:
    """Return a type's name as trtexec spells it: ``fp32``, ``int8``, ``bool``."""
    return dtype.value.lower()


def _build(run: Run, settings: Settings) -> list[str]:
    texts = []
    parse, build = run.phase_ms("parse"), run.phase_ms("build")
    if parse is not None:
        texts.append(f"Finished parsing network model. Parse time: {number(parse / 1e3)}")
    if build is not None:
        covers_parsing = not settings.arguments.version.at_least(9)
        whole = build + (parse or 0.0 if covers_parsing else 0.0)
        texts.append(f"Engine built in {number(whole / 1e3)} sec.")
    if run.build is not None and settings.arguments.version.at_least(9):
        texts.append(f"Created engine with size: {number(run.build.engine_bytes / 2**20)} MiB")
    return texts


def _binding(role: str, tensor: Tensor, settings: Settings) -> str:
    name = on_one_line(tensor.name)
    if tensor.shape is None or any(dim is None for dim in tensor.shape):
        return (
            f"{role} binding for {name} is dynamic and will be created during execution "
            "using OutputAllocator."
        )
    dims = dims_text(tensor.shape)
    if settings.arguments.version.major < 10 or tensor.dtype is None:
        return f"{role} binding for {name} with dimensions {dims} is created."
    kind = type_name(tensor.dtype)
    return f"{role} binding for {name} with dimensions {dims} and type {kind} is created."


def _overridden(run: Run) -> Iterator[Line]:
    """Say which dynamic dimensions were taken as 1, as the run's notices have them."""
    for notice in run.notices:
        if notice.code not in ("I-DYNAMIC-SHAPE", "W-DYNAMIC-SHAPE"):
            continue
        shapes = dict(notice.evidence.get("shapes", {}))
        if "input" in notice.evidence:  # of runs stored before one notice was for all inputs
            shapes[str(notice.evidence["input"])] = notice.evidence.get("shape", ())
        for name, shape in shapes.items():
            yield Line(
                "W",
                f"Dynamic dimensions required for input: {on_one_line(name)}, but no shapes were "
                f"provided. Automatically overriding shape to: {dims_text(tuple(shape))}",
            )


def numbers_of(tensor: TensorValues) -> Array:
    """Return the values, shape (elements,): whole numbers, booleans as 0 and 1, or floats.

    BF16 and FP8 (E4M3) become float32; two INT4 or FP4 (E2M1) lie in a byte, the low half first;
    E8M0 is a power of two.
    """
    raw = np.ascontiguousarray(tensor.data).reshape(-1)
    if tensor.dtype is DataType.BF16:
        upper = raw.view(np.uint16).astype(np.uint32) << np.uint32(16)
        values: Array = upper.view(np.float32)
    elif tensor.dtype in (DataType.INT4, DataType.FP4):
        pairs = raw.view(np.uint8)
        nibbles = np.stack([pairs & 0xF, pairs >> 4], axis=1).reshape(-1)
        is_signed = tensor.dtype is DataType.INT4  # the upper bit counts -8
        values = (nibbles ^ 8).astype(np.int8) - 8 if is_signed else _small_floats(1)[nibbles]
    elif tensor.dtype is DataType.FP8:
        values = _small_floats(3)[raw.view(np.uint8)]
    elif tensor.dtype is DataType.E8M0:
        codes = raw.view(np.uint8)
        values = np.where(codes == 255, np.nan, 2.0 ** (codes - 127.0))
    else:
        return raw.astype(np.uint8) if raw.dtype == np.bool_ else raw
    return values[: math.prod(tensor.shape)]


@lru_cache(maxsize=2)
def _small_floats(mantissa_bits: int) -> Array:
    """Return every value of E4M3 (3 bits of mantissa) or E2M1 (1 bit), by its code.

    Source: the OCP formats of 8 and 4 bits; neither has infinities, E4M3 has one NaN a sign.
    """
    exponent_bits = 4 if mantissa_bits == 3 else 2
    size = 1 << (1 + exponent_bits + mantissa_bits)
    codes = np.arange(size)
    sign = np.where(codes >= size // 2, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    normal = (1 + fraction) * 2.0 ** (exponent - bias)
    values = sign * np.where(exponent == 0, fraction * 2.0 ** (1 - bias), normal)
    if mantissa_bits == 3:
        values[(codes & 0x7F) == 0x7F] = np.nan
    return values.astype(np.float32)


def output_lines(answers: Sequence[TensorValues]) -> tuple[Line, ...]:
    """Return ``--dumpOutput``: name and shape, then the values of each output."""
    parts = []
    for answer in answers:
        values = numbers_of(answer)
        texts = map(number if values.dtype.kind == "f" else str, values.tolist())
        head = f"{on_one_line(answer.name)}: ({dims_text(answer.shape)})"
        parts.append(f"{head}\n{' '.join(texts)}")
    return info("Output Tensors:", *parts)


def output_json(answers: Sequence[TensorValues]) -> bytes:
    """Return ``--exportOutput``: name, dimensions as text, and the values, flat.

    Ours beside: ``type``; and ``nonFinite``, the places of NaN and infinities, which JSON cannot
    hold and which are ``null`` among the values.
    """
    if not answers:
        raise UnsupportedError("--exportOutput", why="the run holds no outputs")
    return encode([_record(answer) for answer in answers])


def raw_file_name(tensor: TensorValues, role: str) -> str:
    """Return the name trtexec gives a raw file: ``name.output.1.1000.fp32.raw``."""
    name = "".join(one if one.isalnum() or one in "._-," else "_" for one in tensor.name)
    dims = ".".join(str(one) for one in tensor.shape)
    return f"{name}.{role}.{dims}.{type_name(tensor.dtype)}.raw"


def _record(tensor: TensorValues) -> dict[str, Any]:
    values = numbers_of(tensor)
    record: dict[str, Any] = {
        "name": tensor.name,
        "dimensions": dims_text(tensor.shape),
        "type": type_name(tensor.dtype),
        "values": values.tolist(),
    }
    if values.dtype.kind != "f" or bool(np.isfinite(values).all()):
        return record
    record["values"] = [
        one if ok else None
        for one, ok in zip(values.tolist(), np.isfinite(values).tolist(), strict=True)
    ]
    places = {"nan": np.isnan(values), "inf": np.isposinf(values), "-inf": np.isneginf(values)}
    record["nonFinite"] = {
        name: np.flatnonzero(where).tolist() for name, where in places.items() if where.any()
    }
    return record


#: Decimals of milliseconds. Stamps to the picosecond: the difference of two, hours after the start,
#: is as good as the clocks are. Durations to more, so that nothing of a 32-bit float is lost.
_STAMP_DECIMALS = 9
_SPAN_DECIMALS = 12
# Field -> the series it is of, and the stamps it is the difference of where there is none.
_SPANS = {
    "h2dMs": ("h2d", "h2d_start", "h2d_end"),
    "computeMs": ("gpu_compute", "compute_start", "compute_end"),
    "d2hMs": ("d2h", "d2h_start", "d2h_end"),
    "enqueueMs": ("enqueue", "enqueue_start", "enqueue_end"),
}


def times_json(run: Run) -> bytes:
    """Return ``--exportTimes``: an array of one flat object a query, numbers only, by their start.

    trtexec's twelve fields, then ours: ``enqueueMs``, ``streamIndex``, and the mode of the run,
    ``inFlight`` and 0 or 1 for ``transfers``, ``cudaGraph``, ``spinWait``; a mode that is not known
    has no field.
    """
    trace = run.trace
    if trace is None or trace.stream is None or not len(trace):
        raise UnsupportedError("--exportTimes", why="the run holds no stamps of its queries")
    columns: dict[str, Array] = {name: getattr(trace, one) for one, name in STAMPS.items()}
    stamps = set(columns)
    spans = {name: _span(run, trace, *place) for name, place in _SPANS.items()}
    columns |= {name: spans[name] for name in ("h2dMs", "computeMs", "d2hMs")}
    columns["latencyMs"] = spans["h2dMs"] + spans["computeMs"] + spans["d2hMs"]
    columns["enqueueMs"] = spans["enqueueMs"]
    order = np.argsort(trace.h2d_start, kind="stable")  # streams end in another order
    lists: dict[str, list[float] | list[int]] = {
        name: np.round(
            values[order], _STAMP_DECIMALS if name in stamps else _SPAN_DECIMALS
        ).tolist()
        for name, values in columns.items()
    }
    lists["streamIndex"] = [int(one) for one in trace.stream[order].tolist()]
    mode = run.job.workload.mode
    known = {"inFlight": mode.in_flight, "transfers": mode.transfers}
    known |= {"cudaGraph": mode.cuda_graph, "spinWait": mode.spin_wait}
    same = {name: int(value) for name, value in known.items() if value is not None}
    rows = (dict(zip(lists, row, strict=True)) | same for row in zip(*lists.values(), strict=True))
    return b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n"


def profile_json(run: Run) -> bytes:
    """Return ``--exportProfile``: ``{"count"}``, then one object a layer, in execution order."""
    if run.profile is None:
        raise UnsupportedError("--exportProfile", why="the run holds no times of layers")
    rows: list[dict[str, Any]] = [{"count": run.profile.iterations or 0}]
    rows += [
        {
            "name": layer.name,
            "timeMs": layer.total_ms or 0.0,
            "averageMs": layer.mean_ms or 0.0,
            "medianMs": layer.median_ms or 0.0,
            "percentage": layer.share_pct or 0.0,
        }
        for layer in run.profile.layers
    ]
    return encode(rows)


def layer_info_json(inspector: str | None) -> bytes:
    """Return ``--exportLayerInfo``: what the inspector gave, as strict JSON.

    Args:
        inspector: Its text, which may hold raw control characters in names.
    """
    return encode(inspector_values(inspector))


def inspector_values(inspector: str | None) -> Any:
    """Return the inspector's text as values; see `layer_info_json`."""
    if inspector is None:
        what = "layer information"
        raise UnsupportedError(what, why="TensorRT's inspector gave none for this engine")
    return read_json(inspector.encode(), "the inspector's JSON").value


def _span(run: Run, trace: QueryTrace, metric: str, start: str, end: str) -> Array:
    """Return durations: as measured where they are in step with the stamps, else differences."""
    series = run.series(metric)
    if series is not None and len(series) == len(trace):
        return series.values_ms
    return np.asarray(getattr(trace, end) - getattr(trace, start))
