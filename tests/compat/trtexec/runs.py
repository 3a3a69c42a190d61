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


def trace(n: int = N) -> QueryTrace:
    """Queries that begin every 1.25 ms, an hour after the clocks were started."""
    begin = 3_600_000.0 + 1.25 * np.arange(n)
    jitter = 1e-6 * (np.arange(n) % 7)
    return QueryTrace(
        stream=np.arange(n) % 2,
        enqueue_start=frozen(begin),
        enqueue_end=frozen(begin + 0.002_345 + jitter),
        h2d_start=frozen(begin + 0.1),
        h2d_end=frozen(begin + 0.2 + jitter),
        compute_start=frozen(begin + 0.2 + jitter),
        compute_end=frozen(begin + 1.2 + 3 * jitter),
        d2h_start=frozen(begin + 1.2 + 3 * jitter),
        d2h_end=frozen(begin + 1.25 + 4 * jitter),
    )


def samples(stamps: QueryTrace) -> tuple[Samples, ...]:
    spans = {
        "enqueue": stamps.enqueue_end - stamps.enqueue_start,
        "h2d": stamps.h2d_end - stamps.h2d_start,
        "gpu_compute": stamps.compute_end - stamps.compute_start,
        "d2h": stamps.d2h_end - stamps.d2h_start,
    }
    spans["trtexec_latency"] = spans["h2d"] + spans["gpu_compute"] + spans["d2h"]
    return tuple(Samples(metric=tag, values_ms=frozen(values)) for tag, values in spans.items())


PROFILE = Profile(
    source="tensorrt",
    iterations=120,
    layers=(
        LayerTiming(
            index=0, name="conv1", total_ms=60.0, mean_ms=0.5, median_ms=0.49, share_pct=75.0
        ),
        LayerTiming(index=1, name="noop", total_ms=0.0, mean_ms=0.0, median_ms=0.0, share_pct=0.0),
        LayerTiming(
            index=2,
            name='fc "x"\\y\nz',
            total_ms=20.0,
            mean_ms=1 / 6,
            median_ms=0.16,
            share_pct=25.0,
        ),
    ),
)


def measured(asked: Settings, **changes: Any) -> Run:
    stamps = trace()
    kind = "engine" if asked.load_engine else "onnx"
    subject = Subject(name="model", kind=kind, path=asked.model, size_bytes=3 * 2**20)
    run = Run(
        id="0123456789ab",
        created="2026-01-02T03:04:05.000006+00:00",
        origin="measured",
        job=job_of(asked, subject),
        phases=(
            Phase(name="parse", duration_ms=250.0),
            Phase(name="build", duration_ms=12_000.0),
            Phase(name="load", duration_ms=31.25),
        ),
        inputs=(Tensor(name="x", shape=(1, 3, 8, 8), dtype=DataType.FP32),),
        outputs=(Tensor(name="y", shape=(1, 4), dtype=DataType.FP32),),
        samples=samples(stamps),
        wall_ms=1.25 * N,
        warmup=WarmUpReport(iterations=160, duration_ms=200.0, ended_by="limit"),
        trace=stamps,
        profile=PROFILE,
        build=BuildReport(engine="/nowhere/model.engine", engine_bytes=2 * 2**20),
        device_memory=DeviceMemory(activation_bytes=5 * 2**20),
        answers=(
            TensorValues(
                name="y",
                dtype=DataType.FP32,
                shape=(1, 4),
                data=np.array([[1.5, np.nan, np.inf, -np.inf]], dtype=np.float32),
            ),
        ),
    )
    return replace(run, **changes)
