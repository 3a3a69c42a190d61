"""Nodes of MobileNet-V2 on ONNX Runtime's CUDA provider, recorded on an H100 with CUPTI and ncu."""

import json
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.formats.lenient_json import Document
from enginescope.formats.onnxruntime import ort_profile
from enginescope.formats.onnxruntime.ort_profile import ort_profile_of
from enginescope.records.plan.plan import Profile

FILE = Path(__file__).parents[1] / "data" / "ort-cuda-h100" / "mobilenet_v2.json.xz"
RUNS = 8
_CALLS = ("RUNTIME", "DRIVER")


@pytest.fixture(scope="module")
def recorded() -> dict:
    return json.loads(lzma.decompress(FILE.read_bytes()))


@pytest.fixture(scope="module")
def document(recorded: dict) -> Document:
    return Document(value=recorded["profile"], source="mobilenet_v2.json", notices=())


@pytest.fixture(scope="module")
def trace(recorded: dict) -> ort_profile.GpuTrace:
    called = {key: start for kind, key, start, _ in recorded["records"] if kind in _CALLS}
    work = [(key, ns) for kind, key, _, ns in recorded["records"] if kind not in _CALLS]
    calls = [ort_profile.GpuCall(called_us=called[key] / 1e3, gpu_us=ns / 1e3) for key, ns in work]
    return ort_profile.GpuTrace(calls=tuple(calls))


def slowest(profile: Profile, count: int = 10) -> set[str]:
    ranked = sorted(profile.layers, key=lambda one: -(one.median_ms or 0))
    return {one.name for one in ranked[:count]}


def test_every_run_launches_the_same_kernels_in_the_same_nodes(document, trace) -> None:
    times = ort_profile.with_gpu_times(document, trace)
    assert times.mode == "gpu"
    nodes = [event for event in times.document.value if event["cat"] == "Node"]
    assert set(Counter(event["name"] for event in nodes if event["dur"] > 0).values()) == {RUNS}
    assert times.notices[0].evidence["elsewhere_us"] < 0.05 * times.notices[0].evidence["nodes_us"]


def test_the_hosts_times_are_other_times(document, trace) -> None:
    host, _ = ort_profile_of(document)
    gpu, _ = ort_profile_of(document, trace)
    assert (host.mode, gpu.mode) == ("host", "gpu")
    assert layer_times(gpu).sum_ms == pytest.approx(0.404, abs=0.01)
    assert layer_times(host).sum_ms is not None
    assert layer_times(host).sum_ms > 5 * layer_times(gpu).sum_ms
    assert len(slowest(host) & slowest(gpu)) <= 5


def test_kernels_take_what_nsight_compute_says_less_a_constant(recorded) -> None:
    """ncu counts some 1.1 us of launch into each kernel, the same for all."""
    order = [(at, ns) for kind, _, at, ns in recorded["records"] if kind == "CONCURRENT_KERNEL"]
    ours = np.array([ns for _, ns in sorted(order)]).reshape(RUNS, -1) / 1e3
    ncu = np.array(recorded["ncu_us"])
    assert ours.shape == (RUNS, len(ncu))
    launch_us = float(np.median(ncu - np.median(ours, axis=0)))
    assert launch_us == pytest.approx(1.12, abs=0.05)
    error = np.abs(np.median(ours, axis=0) + launch_us - ncu)
    assert np.mean(error <= np.maximum(0.5, 0.1 * ncu)) >= 0.95
