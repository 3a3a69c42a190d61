"""A trace of PyTorch: GPU time by operator, and never layers of an engine."""

from typing import Any

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document
from enginescope.formats.torch.torch_trace import is_torch_trace, torch_trace_of


def event(cat: str, name: str, dur: float, ts: float = 0.0, **args: Any) -> dict[str, Any]:
    place = {"ph": "X", "pid": 1, "tid": 1}
    return {**place, "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args}


def trace(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, "traceEvents": list(events), **more}


OPS = (
    event("cpu_op", "aten::linear", 90, 0, **{"External id": 1}),
    event("cpu_op", "aten::addmm", 50, 10, **{"External id": 2}),
    event("cpu_op", "aten::relu", 20, 100, **{"External id": 3}),
)
KERNELS = (
    event("kernel", "gemm", 40, 200, **{"External id": 2, "device": 0}),
    event("kernel", "gemm", 20, 300, **{"External id": 2, "device": 0}),
    event("gpu_memcpy", "Memcpy DtoH", 5, 400, **{"External id": 99, "device": 0}),
)
STEPS = [event("user_annotation", f"ProfilerStep#{number}", 1) for number in (1, 2)]
GPU_0 = {"id": 0, "name": "GPU 0", "computeMajor": 9, "computeMinor": 0, "numSms": 4}
DEVICES = [{**GPU_0, "totalGlobalMem": 8}, {"id": 1, "name": "GPU 1"}]


def read(value: dict[str, Any]):
    assert is_torch_trace(value)
    return torch_trace_of(Document(source="t.json", value=value))


def test_kernels_count_for_the_operator_that_started_them() -> None:
    value = trace(*OPS, *KERNELS, *STEPS, deviceProperties=DEVICES, cuda_runtime_version=12040)
    found, (notice,) = read(value)
    profile = found.profile
    assert (profile.source, profile.part, profile.iterations) == ("torch", "operator", 2)
    assert {one.name: (one.kind, one.total_ms, one.mean_ms) for one in profile.layers} == {
        "aten::addmm": ("addmm", pytest.approx(0.06), pytest.approx(0.03)),
        "Memcpy DtoH": ("Memcpy DtoH", pytest.approx(0.005), pytest.approx(0.0025)),
    }
    (device,) = found.devices
    assert (device.name, device.compute_capability, device.sm_count) == ("GPU 0", "9.0", 4)
    assert found.versions == {"cuda": "12.4"}
    assert notice.code == "I-TORCH-OPERATORS"
    assert "not layers of an engine" in notice.message


def test_without_steps_the_whole_trace_counts_as_one() -> None:
    found, (notice,) = read(trace(*OPS, *KERNELS))
    assert found.profile.iterations == 1
    assert all(layer.mean_ms == layer.total_ms for layer in found.profile.layers)
    assert "no ProfilerStep" in notice.message
    assert found.devices == ()


def test_kernels_alone_and_operators_of_one_length() -> None:
    found, _ = read(trace(event("kernel", "k", 1), event("kernel", "k", 4)))
    (layer,) = found.profile.layers
    assert (layer.name, layer.total_ms) == ("k", pytest.approx(2 * layer.mean_ms / 2))
    # A file has the outer operator first.
    found, _ = read(trace(event("cpu_op", "aten::to", 5, 9), event("cpu_op", "aten::_copy", 5, 9)))
    assert {one.name: one.total_ms for one in found.profile.layers} == pytest.approx(
        {"aten::to": 0.0, "aten::_copy": 0.005}
    )


def test_without_a_gpu_operators_have_their_own_time_on_the_cpu() -> None:
    found, (notice,) = read(trace(*OPS))
    times = {one.name: one.total_ms for one in found.profile.layers}
    assert times == pytest.approx({"aten::linear": 0.04, "aten::addmm": 0.05, "aten::relu": 0.02})
    assert "CPU time" in notice.message


def test_times_that_count_from_1970() -> None:
    begin = 1_661_203_462_598_738
    operators = (
        event("cpu_op", "aten::zeros", 19, begin),
        event("cpu_op", "aten::zero_", 7, begin + 12),
        event("cpu_op", "aten::add", 3, begin + 19),  # begins as the first ends
        event("cpu_op", "aten::mul", 5, begin + 22),
    )
    found, _ = read(trace(*operators))
    times = {one.name: one.total_ms for one in found.profile.layers}
    wanted = {"aten::zeros": 0.012, "aten::zero_": 0.007, "aten::add": 0.003, "aten::mul": 0.005}
    assert times == pytest.approx(wanted)


def test_other_traces() -> None:
    assert not is_torch_trace([{"cat": "Session", "name": "model_run", "dur": 1}])
    assert is_torch_trace(trace(event("kernel", "k", 1)))
    assert not is_torch_trace(trace(event("user", "k", 1)))
    with pytest.raises(FormatError, match="no operator"):
        torch_trace_of(Document(source="t", value=trace({"cat": "cpu_op"})))
