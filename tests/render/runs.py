"""Runs made by hand, for tests of what is shown of them."""

from typing import Any

import numpy as np

from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.run.job import BackendSpec, Job, Mode, Subject, Workload
from enginescope.records.run.run import (
    Outcome,
    OutcomeKind,
    Phase,
    ProviderShare,
    Run,
    StopReport,
    WarmUpReport,
)
from enginescope.records.run.telemetry import Channel, Telemetry
from enginescope.records.samples import ReportedSummary
from enginescope.records.tensor import DataType, Tensor

#: A layer name that would leave a script element or a table cell, if anything let it.
EVIL = "</script><script>alert(1)</script>"
KINDS = ("Conv", "Relu", "MatMul", "Add")


def profile(count: int = 40, sum_ms: float = 4.6) -> Profile:
    times = np.random.default_rng(3).lognormal(-4, 1.0, count)
    times *= sum_ms / times.sum()
    return Profile(
        source="onnxruntime",
        iterations=50,
        whole_ms=4.9,
        layers=tuple(
            LayerTiming(
                index=i,
                name=f"/encoder/block.{i}/{KINDS[i % 4]}",
                mean_ms=float(time),
                median_ms=float(time) * 0.98,
                total_ms=float(time) * 50,
                kind=KINDS[i % 4],
                provider="CPUExecutionProvider",
            )
            for i, time in enumerate(times)
        ),
    )


def measured_run(**changes: Any) -> Run:
    """A measured run with everything that a run can have but a plan."""
    # skewed around 4.2 ms, with one spike
    values = 3.9 + np.random.default_rng(7).lognormal(-1.2, 0.5, 600)
    values[200] = 31.0
    time_ms = np.linspace(0, 3_000, 60)
    fields: dict[str, Any] = {
        "id": "7f3ac01944de",
        "created": "2025-11-21T09:40:12Z",
        "origin": "measured",
        "command": "enginescope bench squeezenet.onnx --on ort-cpu",
        "job": Job(
            subject=Subject(name="squeezenet.onnx", kind="onnx", path="m/squeezenet.onnx"),
            backend=BackendSpec(name="ort-cpu", precision="fp32"),
            workload=Workload(batch=1),
        ),
        "environment": Environment(
            host=Host(cpu_model="AMD EPYC", cores_usable=2, memory_bytes=8 << 30),
            versions={"onnxruntime": "1.31.1"},
            variables={"OMP_NUM_THREADS": "2"},
        ),
        "phases": (
            Phase(name="load", duration_ms=210.0),
            Phase(name="first_inference", duration_ms=9.81),
        ),
        "inputs": (Tensor(name="data", shape=(1, 3, 227, 227), dtype=DataType.FP32),),
        "outputs": (Tensor(name="prob", shape=(1, 1000), dtype=DataType.FP32),),
        "samples": (
            Samples(
                metric="latency",
                values_ms=frozen(values),
                start_ms=frozen(np.cumsum(values) - values[0]),
                warmup_ms=frozen(values[:5] * 1.2),
            ),
        ),
        "warmup": WarmUpReport(iterations=52, duration_ms=240.0, ended_by="steady"),
        "stop": StopReport(
            rule="precision", iterations=600, duration_ms=2_590.0, half_width_pct=0.47
        ),
        "profile": profile(),
        "telemetry": Telemetry(
            time_ms=time_ms, channels=(Channel(name="rss_bytes", values=9e7 + 1e3 * time_ms),)
        ),
        "peak_memory_bytes": 96 << 20,
        "other_load_cores": 0.8,
        "providers": ("CPUExecutionProvider",),
        "placement": (ProviderShare(provider="CPUExecutionProvider", nodes=60, subgraphs=1),),
        "notices": (
            Notice(code="I-DYNAMIC-SHAPE", message="data: batch became 1", level="info"),
            Notice(code="W-LOAD", message="other load: 0.8 of 2 cores busy"),
        ),
    }
    return Run(**{**fields, **changes})


def failed_run(**changes: Any) -> Run:
    """A run that died before it measured anything."""
    outcome = Outcome(
        kind=OutcomeKind.CRASHED,
        message="the worker died while loading the model",
        hint="run it with --verbose",
        signal=11,
        detail="Fatal Python error: Segmentation fault\n  File worker.py, line 12\n",
    )
    nothing: dict[str, Any] = {
        "id": "deadbeef0001",
        "samples": (),
        "profile": None,
        "telemetry": None,
        "notices": (),
        "warmup": None,
        "stop": None,
        "phases": (),
        "peak_memory_bytes": None,
    }
    return measured_run(**{**nothing, "outcome": outcome, **changes})


def imported_run(**changes: Any) -> Run:
    """A run as trtexec's artifacts give one: several metrics, a plan, a printed summary."""
    gpu_ms = 0.8 + 0.01 * np.random.default_rng(5).random(200)
    names = ("stem", EVIL, "Reformat | copy", "fc")
    dtypes = (DataType.INT8, DataType.INT8, DataType.FP32, DataType.FP16)
    layers = tuple(
        Layer(
            index=i,
            name=name,
            type=("Convolution", "Convolution", "Reformat", "gemm")[i],
            inputs=(Tensor(name=f"t{i}", shape=(1, 8), dtype=dtypes[i]),),
            outputs=(Tensor(name=f"t{i + 1}", shape=(1, 8), dtype=dtypes[i]),),
            tactic_name="=HYPERLINK(1)" if i == 0 else None,
            onnx_nodes=("Conv_0", "Relu_1") if i == 0 else (),
        )
        for i, name in enumerate(names)
    )
    times = (0.3, 0.2, 0.15, 0.05)
    fields: dict[str, Any] = {
        "id": "0123456789ab",
        "origin": "imported",
        "command": None,
        "job": Job(
            subject=Subject(name="resnet18", kind="engine"),
            backend=BackendSpec(name="trtexec", precision="int8"),
            workload=Workload(mode=Mode(in_flight=None, cuda_graph=True)),
        ),
        "environment": Environment(devices=(Device(name="NVIDIA H200", driver="550.1"),)),
        "samples": (
            Samples(metric="trtexec_latency", values_ms=frozen(gpu_ms + 0.1)),
            Samples(metric="gpu_compute", values_ms=frozen(gpu_ms)),
        ),
        "profile": Profile(
            source="trtexec",
            layers=tuple(
                LayerTiming(index=i, name=names[i], mean_ms=times[i], median_ms=times[i])
                for i in range(4)
            ),
        ),
        "plan": Plan(name="resnet18", layers=layers),
        "tool": ToolReport(
            tool="trtexec",
            tool_version="8.6.1",
            command="trtexec --onnx=resnet18.onnx --int8",
            passed=True,
            options={"Build Options": {"Precision": "FP32+INT8"}},
            summaries=(
                ReportedSummary(
                    metric="gpu_compute", min_ms=0.8, median_ms=0.805, percentiles=((99.0, 0.81),)
                ),
            ),
            throughput_per_s=1_234.5,
            messages=(LogMessage(level="warning", text="GPU compute time is unstable", line=7),),
        ),
        "telemetry": None,
        "warmup": None,
        "stop": None,
        "phases": (),
        "peak_memory_bytes": None,
        "providers": (),
        "placement": (),
        "notices": (),
        "inputs": (),
        "outputs": (),
        "other_load_cores": None,
    }
    return measured_run(**{**fields, **changes})
