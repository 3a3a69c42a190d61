"""The telemetry pass of an engine, on the stand-ins for TensorRT, CUDA and NVML."""

import importlib.util
import sys
from collections.abc import Iterator

import pytest

from enginescope.core.record import replace
from enginescope.probe import nvml
from enginescope.probe.nvml import probe_devices
from enginescope.records.run.job import TelemetryRule
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.tensorrt.conftest import Use
from tests.backends.tensorrt.driving import (
    COUNT,
    LATENCY,
    THROUGHPUT,
    job,
    measure,
    opened,
    with_engine,
    workload,
)
from tests.fakes import nvml_scenarios

RULE = TelemetryRule(depth="full", interval_ms=20, duration_ms=300, idle_ms=150, settle_ms=50)


@pytest.fixture
def h200(use: Use) -> Iterator[None]:
    """NVML's stand-in too, here and in the sampling process; gone before TensorRT's is."""
    use()
    place = nvml_scenarios.FOLDER / "pynvml.py"
    spec = importlib.util.spec_from_file_location("pynvml", place)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        nvml_scenarios.use(patch, "h200")
        patch.setitem(sys.modules, "pynvml", module)
        spec.loader.exec_module(module)
        patch.setattr(nvml, "probe_devices", probe_devices)
        yield


@pytest.mark.parametrize("mode", [LATENCY, THROUGHPUT], ids=["latency", "throughput"])
def test_either_loop_is_repeated(h200, perceptron, engines, mode) -> None:
    one = with_engine(job(perceptron, workload=workload(mode=mode)), engines)
    found = measure(replace(one, telemetry=RULE))
    assert found.gpu.requests is not None
    assert found.gpu.requests > 0
    assert found.gpu.series is not None
    assert found.gpu.timed is not None
    assert found.phases[-1].name == "telemetry"
    assert {len(series) for series in found.samples} == {COUNT}


@pytest.mark.parametrize(
    ("mode", "streams", "count", "issued"),
    [(LATENCY, 1, 100, 103), (THROUGHPUT, 1, 100, 102), (THROUGHPUT, 2, 100, 104)],
)
def test_untimed_requests_are_counted(
    use, perceptron, engines, mode, streams, count, issued
) -> None:
    use()
    one = with_engine(job(perceptron), engines)
    with opened(one, replace(mode, streams=streams)) as session:
        session.bind(make_feeds(session.input_specs, one.workload))
        session.step()
        session.settle()
        recorder = session.recorder()
        recorder.run(count, untimed=3)
        assert (len(recorder), recorder.issued) == (count, issued)
