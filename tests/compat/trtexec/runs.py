"""Hand-made command lines and runs."""

from typing import Any

import numpy as np

from enginescope.compat.trtexec.arguments import Version, parse_version, read_arguments
from enginescope.compat.trtexec.settings import Settings, job_of, settings_of
from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.plan.build import BuildReport, DeviceMemory
from enginescope.records.plan.plan import LayerTiming, Profile
from enginescope.records.run.job import Subject
from enginescope.records.run.run import Phase, Run, TensorValues, WarmUpReport
from enginescope.records.samples import QueryTrace
from enginescope.records.tensor import DataType, Tensor

N = 1000


def version(text: str) -> Version:
    found = parse_version(text)
    assert found is not None
    return found


def settings(*flags: str, trt: str = "10.16.1.11", model: str = "--onnx=model.onnx") -> Settings:
    given = flags if any("--loadEngine" in one for one in flags) else (model, *flags)
    return settings_of(read_arguments(given, version(trt)))


def trace() -> QueryTrace:
    """Queries that begin every 1.25 ms, an hour after the clocks were started."""
    begin = 3_600_000.0 + 1.25 * np.arange(N)
    jitter = 1e-6 * (np.arange(N) % 7)
    offsets = {"enqueue_start": 0.0, "enqueue_end": 0.002_345 + jitter, "h2d_start": 0.1}
    offsets |= {"h2d_end": 0.2 + jitter, "compute_start": 0.2 + jitter}
    offsets |= {"compute_end": 1.2 + 3 * jitter, "d2h_start": 1.2 + 3 * jitter}
    offsets["d2h_end"] = 1.25 + 4 * jitter
    stamps = {name: frozen(begin + offset) for name, offset in offsets.items()}
    return QueryTrace(stream=np.arange(N) % 2, **stamps)


def samples(stamps: QueryTrace) -> tuple[Samples, ...]:
    parts = {"enqueue": "enqueue", "h2d": "h2d", "gpu_compute": "compute", "d2h": "d2h"}
    spans = {
        metric: getattr(stamps, f"{part}_end") - getattr(stamps, f"{part}_start")
        for metric, part in parts.items()
    }
    spans["trtexec_latency"] = spans["h2d"] + spans["gpu_compute"] + spans["d2h"]
    return tuple(Samples(metric=tag, values_ms=frozen(values)) for tag, values in spans.items())


def timing(index: int, name: str, *figures: float) -> LayerTiming:
    fields = ("total_ms", "mean_ms", "median_ms", "share_pct")
    return LayerTiming(index=index, name=name, **dict(zip(fields, figures, strict=True)))


PROFILE = Profile(
    source="tensorrt",
    iterations=120,
    layers=(
        timing(0, "conv1", 60.0, 0.5, 0.49, 75.0),
        timing(1, "noop", 0.0, 0.0, 0.0, 0.0),
        timing(2, 'fc "x"\\y\nz', 20.0, 1 / 6, 0.16, 25.0),
    ),
)


def measured(asked: Settings, **changes: Any) -> Run:
    stamps = trace()
    kind = "engine" if asked.load_engine else "onnx"
    subject = Subject(name="model", kind=kind, path=asked.model, size_bytes=3 * 2**20)
    phases = {"parse": 250.0, "build": 12_000.0, "load": 31.25}
    values = np.array([[1.5, np.nan, np.inf, -np.inf]], dtype=np.float32)
    run = Run(
        id="0123456789ab",
        created="2026-01-02T03:04:05.000006+00:00",
        origin="measured",
        job=job_of(asked, subject),
        phases=tuple(Phase(name=name, duration_ms=ms) for name, ms in phases.items()),
        inputs=(Tensor(name="x", shape=(1, 3, 8, 8), dtype=DataType.FP32),),
        outputs=(Tensor(name="y", shape=(1, 4), dtype=DataType.FP32),),
        samples=samples(stamps),
        wall_ms=1.25 * N,
        warmup=WarmUpReport(iterations=160, duration_ms=200.0, ended_by="limit"),
        trace=stamps,
        profile=PROFILE,
        build=BuildReport(engine="/nowhere/model.engine", engine_bytes=2 * 2**20),
        device_memory=DeviceMemory(activation_bytes=5 * 2**20),
        answers=(TensorValues(name="y", dtype=DataType.FP32, shape=(1, 4), data=values),),
    )
    return replace(run, **changes)
