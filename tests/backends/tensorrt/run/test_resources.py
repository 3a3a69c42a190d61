"""Nothing is left on the device once a session has ended, however it ends."""

import gc
from types import SimpleNamespace

import pytest

from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.run import session as session_module
from enginescope.backends.tensorrt.run.inference_stream import capture
from enginescope.core.errors import BackendError, EnginescopeError, UnsupportedError
from enginescope.core.record import replace
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.tensorrt import driving
from tests.fakes import models


def left(fake: SimpleNamespace) -> dict[str, object]:
    """What is still there, but for what a device has anyhow.

    The stand-in's contexts that were profiled are left to the collector.
    """
    if gc.isenabled():
        gc.collect()
    device = fake.device
    found = {
        "blocks": device.memory.live(),
        "events": device.events,
        "streams": set(device.timeline.streams) - {0},
        "graphs": device.graphs,
        "executables": device.executables,
        "bytes": device.memory.used - device.memory.CONTEXT_BYTES,
    }
    return {name: one for name, one in found.items() if one}


def test_a_measurement_leaves_nothing(use, tmp_path, perceptron, engines, monkeypatch) -> None:
    fake = use()
    monkeypatch.setattr("enginescope.backends.tensorrt.profile_pass.ENOUGH_MS", 1.0)
    for mode in (
        driving.LATENCY,
        driving.THROUGHPUT,
        replace(driving.THROUGHPUT, streams=3, rotate=2, cold=True, transfers=True),
        replace(driving.THROUGHPUT, cuda_graph=False),
    ):
        one = driving.job(
            perceptron, workload=driving.workload(mode=mode), layer_profile=True, stamps="1"
        )
        driving.measure(driving.with_engine(one, engines))
        assert left(fake) == {}, mode
    # outputs that grow
    driving.measure(
        driving.with_engine(driving.job(models.non_zero(tmp_path / "where.onnx")), engines)
    )
    assert left(fake) == {}


def test_the_engine_is_closed_before_layers_are_profiled(
    use, perceptron, engines, monkeypatch
) -> None:
    """Two at a time may be more than fits; nor may it need the collector to go."""
    fake = use()
    monkeypatch.setattr("enginescope.backends.tensorrt.profile_pass.ENOUGH_MS", 1.0)
    before = []
    real = session_module.TrtSession._open

    def noting(session, *arguments):
        before.append(left(fake))
        real(session, *arguments)

    monkeypatch.setattr(session_module.TrtSession, "_open", noting)
    one = driving.with_engine(driving.job(perceptron, layer_profile=True), engines)
    for graph in (True, False):
        before.clear()
        mode = replace(driving.LATENCY, cuda_graph=graph)
        gc.collect()
        gc.disable()
        try:
            driving.measure(replace(one, workload=driving.workload(mode=mode)))
        finally:
            gc.enable()
        assert before == [{}, {}]


@pytest.mark.parametrize("version", ["8.6.0", "11.4.0"])
@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        ("oom_engine", MemoryError, "loading .*OutOfMemory"),
        ("oom_context", MemoryError, "execution context: .*OutOfMemory"),
        ("oom_buffer", MemoryError, "allocating .*cudaErrorMemoryAllocation"),
        ("execute_fails", BackendError, "enqueueing an inference: .*Cask convolution"),
        ("illegal_address", BackendError, "running the engine: cudaErrorIllegalAddress"),
    ],
)
def test_what_fails_half_way_says_why_and_leaves_nothing(
    use, perceptron, engines, version, fault, error, words
) -> None:
    use(version)
    one = driving.with_engine(driving.job(perceptron), engines)
    fake = use(version, fault)
    with pytest.raises(error, match=words):
        driving.measure(one)
    if fault != "illegal_address":  # then nothing can be freed any more: the process has to end
        assert left(fake) == {}


def test_what_ends_early_leaves_nothing(use, perceptron, engines) -> None:
    fake = use()
    with pytest.raises(EnginescopeError):
        driving.measure(driving.with_engine(driving.job(perceptron, profile_index="5"), engines))
    assert left(fake) == {}
    fake = use()
    one = driving.with_engine(driving.job(perceptron), engines)

    def fails(specs):
        raise UnsupportedError("these feeds")

    with pytest.raises(UnsupportedError):
        TrtBackend().execute(one, fails, lambda _: None)
    assert left(fake) == {}
    one = driving.with_engine(driving.job(perceptron), engines)
    with driving.opened(one) as session:
        session.bind(make_feeds(session.input_specs, one.workload))
        session.close()
    assert left(fake) == {}


def test_a_layer_pass_that_fails_keeps_what_is_measured(
    use, perceptron, engines, monkeypatch
) -> None:
    fake = use()
    one = driving.with_engine(driving.job(perceptron, layer_profile=True), engines)
    for reports, words in ((False, "profiling the layers"), (True, "reported none")):
        method = "report_to_profiler"
        monkeypatch.setattr(fake.trt.IExecutionContext, method, lambda _, reports=reports: reports)
        found = driving.measure(one)
        assert found.profile is None
        (notice,) = (one for one in found.notices if one.code == "W-NO-LAYERS")
        assert words in notice.message
        assert len(found.samples[0])
    assert left(fake) == {}


@pytest.mark.parametrize("fault", ["", "build_fails", "oom_context"])
def test_a_build_leaves_nothing(use, perceptron, engines, fault) -> None:
    fake = use("8.6.0", fault)
    try:
        driving.build(driving.job(perceptron, "int8", engine_cache=str(engines)))
    except BackendError:
        assert fault == "build_fails"
    assert left(fake) == {}


def test_a_graph_that_was_refused_is_destroyed(use, monkeypatch) -> None:
    fake = use()
    cuda = Cuda(fake.cuda)
    captured = capture(cuda, lambda: False, cuda.stream())
    assert captured.graph is None
    assert "the enqueue failed" in (captured.why_not or "")
    cuda.close()
    assert left(fake) == {}
    fake = use()
    error = fake.cuda.cudaError_t.cudaErrorMemoryAllocation
    monkeypatch.setattr(fake.cuda, "cudaGraphInstantiate", lambda *_: (error, None))
    cuda = Cuda(fake.cuda)
    captured = capture(cuda, lambda: True, cuda.stream())
    assert "cannot be instantiated (cudaErrorMemoryAllocation)" in (captured.why_not or "")
    cuda.close()
    assert left(fake) == {}
