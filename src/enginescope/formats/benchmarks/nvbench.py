"""nvbench's ``--json`` and ``--jsonbin``: summaries, and samples as 32-bit floats beside them."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import encode
from enginescope.formats.benchmarks import benchmark_series
from enginescope.formats.lenient_json import Document, whole_number
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device
from enginescope.records.plan.build import LogMessage, ToolReport

_MS = 1e3
#: Metric -> the beginning of its tags, and of the tags of its times; the first that a file has.
_TAGS = {
    "gpu_compute": ("nv/cold", "nv/cold/time/gpu"),
    "latency": ("nv/cpu_only", "nv/cpu_only/time/cpu"),
}
_BINARY = "nv/json/bin:{}/sample_times"
_FIGURES = ("min", "max", "mean", "median")
_LITTLE_ENDIAN = "<f4"
#: A file of samples above this size is none.
_MOST_BYTES = 1 << 30


def is_nvbench(value: Any) -> bool:
    """Whether JSON values are results of nvbench, which writes ``null`` for an empty list."""
    benchmarks = value.get("benchmarks") if isinstance(value, dict) else None
    if not isinstance(benchmarks, list) or not all(isinstance(one, dict) for one in benchmarks):
        return False
    states = [one.get("states", "none") for one in benchmarks]
    return any(states) and all(one is None or isinstance(one, list) for one in states)


def nvbench_results(document: Document, path: Path) -> tuple[benchmark_series.BenchmarkResult, ...]:
    """Return the states of a file; samples if the files of ``--jsonbin`` lie beside it."""
    root = document.value
    devices = {
        whole_number(one.get("id")): _device(one)
        for one in root.get("devices") or ()
        if isinstance(one, dict)
    }
    meta = root.get("meta") if isinstance(root.get("meta"), dict) else {}
    readers = {
        f"{bench.get('name')} {bench_at}.{state_at}": partial(
            _result, bench, state, devices, meta, document, path
        )
        for bench_at, bench in enumerate(root["benchmarks"])
        for state_at, state in enumerate(bench.get("states") or ())
        if isinstance(state, dict)
    }
    return benchmark_series.readable_results(readers, document.source)


def _device(device: dict[str, Any]) -> Device:
    version, clock = whole_number(device.get("sm_version")), device.get("sm_default_clock_rate")
    clock_mhz = benchmark_series.milliseconds(clock, 1e-6)  # from Hz
    return Device(
        name=str(device.get("name")),
        compute_capability=f"{version // 100}.{version % 100 // 10}" if version else None,
        memory_bytes=whole_number(device.get("global_memory_size")),
        sm_count=whole_number(device.get("number_of_sms")),
        shared_per_sm_bytes=whole_number(device.get("shared_memory_per_sm")),
        memory_bus_bits=whole_number(device.get("global_memory_bus_width")),
        has_ecc=device.get("ecc_state") if isinstance(device.get("ecc_state"), bool) else None,
        clock_mhz=clock_mhz,
    )


def _result(
    bench: dict[str, Any],
    state: dict[str, Any],
    devices: dict[Any, Device],
    meta: dict[str, Any],
    document: Document,
    path: Path,
) -> benchmark_series.BenchmarkResult:
    name = " ".join((str(bench.get("name")), *_axes(bench, state)))
    stated = {
        one["tag"]: {
            pair["name"]: pair.get("value")
            for pair in one.get("data") or ()
            if isinstance(pair, dict)
        }
        for one in state.get("summaries") or ()
        if isinstance(one, dict) and "tag" in one
    }
    kind = next((kind for kind, (_, time) in _TAGS.items() if f"{time}/mean" in stated), None)
    is_skipped = state.get("is_skipped") is True
    if kind is None and not is_skipped:
        raise FormatError(document.source, why=f"no times of {name}", expected="nvbench's JSON")
    beginning, time = _TAGS[kind or "latency"]
    figures = {word: stated.get(f"{time}/{word}", {}).get("value") for word in _FIGURES}
    values = _samples(stated.get(_BINARY.format(beginning)), path)
    device = devices.get(whole_number(state.get("device")))
    reason = LogMessage(level="error", text=str(state.get("skip_reason", "skipped")))
    text = f"{document.source} has no samples beside it, so its figures are printed ones"
    lacks = benchmark_series.file_notice(
        f"{text}; nvbench --jsonbin stores samples", document.source
    )
    return benchmark_series.BenchmarkResult(
        name=name,
        samples=None
        if values is None or kind is None
        else Samples(metric=kind, values_ms=frozen(values)),
        report=ToolReport(
            tool="nvbench",
            tool_version=_version(meta),
            command=" ".join(map(str, meta.get("argv") or ())) or None,
            passed=False if is_skipped else None,
            options={
                "Summaries": {
                    tag: str(data["value"])
                    for tag, data in stated.items()
                    if data.get("value") is not None
                }
            },
            summaries=(benchmark_series.reported(kind, figures, _MS),) if kind else (),
            messages=(reason,) if is_skipped else (),
        ),
        notices=(*document.notices, *((lacks,) if values is None and kind else ())),
        devices=(device,) if device is not None else (),
    )


def _axes(bench: dict[str, Any], state: dict[str, Any]) -> Iterator[str]:
    """Yield the device where a benchmark ran on several, and the axes, as nvbench names them."""
    devices = bench.get("devices")
    if isinstance(devices, list) and len(devices) > 1:
        yield f"Device={state.get('device')}"
    for one in state.get("axis_values") or ():
        if isinstance(one, dict):
            yield f"{one.get('name')}={one.get('value')}"


def _version(meta: dict[str, Any]) -> str | None:
    version = meta.get("version")
    own = version.get("nvbench") if isinstance(version, dict) else None
    text = own.get("string") if isinstance(own, dict) else None
    return text if isinstance(text, str) else None


def _samples(file: dict[str, Any] | None, path: Path) -> list[float] | None:
    """Return the samples in ms of a file in the folder that nvbench names after its JSON."""
    if file is None or not isinstance(file.get("filename"), str):
        return None
    named = PureWindowsPath(file["filename"])  # which has both kinds of separators
    binary = path.parent / named.parent.name / named.name
    if ".." in named.parts or not binary.is_file() or binary.stat().st_size > _MOST_BYTES:
        return None
    data = binary.read_bytes()
    values = np.frombuffer(data[: len(data) // 4 * 4], dtype=_LITTLE_ENDIAN).astype(np.float64)
    is_whole = str(values.size) == str(file.get("size")) and len(data) % 4 == 0
    if not is_whole or not values.size or not np.isfinite(values).all():
        return None
    milliseconds_each: list[float] = (values * _MS).tolist()
    return milliseconds_each


def nvbench_files(series: Sequence[benchmark_series.ExportedSeries], name: str) -> dict[str, bytes]:
    """Return the JSON and the files of samples, by their paths beside each other.

    Args:
        name: Of the JSON file.
    """
    devices = list({each.device.name: each.device for each in series if each.device}.values())
    files, benchmarks = {}, []
    for number, each in enumerate(series):
        binary = f"{name}-bin/{number}.bin"
        files[binary] = (each.values_ms / _MS).astype(_LITTLE_ENDIAN).tobytes()
        device = devices.index(each.device) if each.device else None
        benchmarks.append(_exported(each, number, binary, device))
    version = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}
    document = {
        "meta": {"argv": ["enginescope"], "version": {"json": version}},
        "devices": [_exported_device(device, at) for at, device in enumerate(devices)],
        "benchmarks": benchmarks,
    }
    return {name: encode(document), **files}


def _exported_device(device: Device, number: int) -> dict[str, Any]:
    major, _, minor = (device.compute_capability or "").partition(".")
    known = {
        "id": number,
        "name": device.name,
        "sm_version": int(major) * 100 + int(minor) * 10 if major and minor else None,
        "sm_default_clock_rate": None
        if device.clock_mhz is None
        else round(device.clock_mhz * 1e6),
        "number_of_sms": device.sm_count,
        "global_memory_size": device.memory_bytes,
        "global_memory_bus_width": device.memory_bus_bits,
        "shared_memory_per_sm": device.shared_per_sm_bytes,
        "ecc_state": device.has_ecc,
    }
    return {key: value for key, value in known.items() if value is not None}


def _exported(
    series: benchmark_series.ExportedSeries, index: int, binary: str, device: int | None
) -> dict[str, Any]:
    beginning, time = _TAGS["gpu_compute" if series.metric == "gpu_compute" else "latency"]
    seconds = series.values_ms / _MS
    where = "GPU" if series.metric == "gpu_compute" else "CPU"
    values = (seconds.min(), seconds.max(), seconds.mean(), np.median(seconds))
    summaries = [
        _summary(f"{beginning}/sample_size", "Samples", "sample_size", "int64", seconds.size),
        *(
            _summary(
                f"{time}/{word}", f"{title} {where} Time".strip(), "duration", "float64", series
            )
            for word, title, series in zip(
                _FIGURES, ("Min", "Max", "", "Median"), values, strict=True
            )
        ),
    ]
    if seconds.size > 1:
        noise = seconds.std(ddof=1) / seconds.mean()
        tag = f"{time}/stdev/relative"
        summaries.append(_summary(tag, "Noise", "percentage", "float64", noise))
    samples = {
        "tag": _BINARY.format(beginning),
        "name": "Samples Times File",
        "hint": "file/sample_times",
        "hide": "Not needed in table.",
        "data": [
            {"name": "filename", "type": "string", "value": binary},
            {"name": "size", "type": "int64", "value": str(seconds.size)},
        ],
    }
    return {
        "name": series.name,
        "index": index,
        "devices": [] if device is None else [device],
        "axes": [],
        "states": [
            {
                "name": "" if device is None else f"Device={device}",
                "device": device,
                "type_config_index": 0,
                "axis_values": [],
                "summaries": [*summaries, samples],
                "is_skipped": False,
            }
        ],
        "enginescope": benchmark_series.origin(series),
    }


def _summary(tag: str, name: str, hint: str, kind: str, value: Any) -> dict[str, Any]:
    text = str(int(value)) if kind == "int64" else repr(float(value))
    return {
        "tag": tag,
        "name": name,
        "hint": hint,
        "data": [{"name": "value", "type": kind, "value": text}],
    }
