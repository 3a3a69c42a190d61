"""The stand-in runs plans: true answers, in time, and the errors that TensorRT would give."""

import json

import numpy as np
import pytest

from tests.fakes import models
from tests.fakes.driving import BATCHES, Build, Run, plan_of
from tests.fakes.loading import VERSIONS, loaded

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
Y = np.maximum(X @ models.WEIGHTS, 0)


@pytest.fixture(params=VERSIONS)
def fake(request):
    with loaded(request.param) as found:
        yield found


@pytest.fixture
def run(fake, tmp_path):
    made = Run(fake, plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES))
    made.bind(x=X)
    return made


def test_who_does_not_wait_reads_what_was_there_before(run, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_TENSORRT_COMPUTE_US", str(3600 * 10**6))
    rt, gpu = run.gpu.rt, run.gpu
    aside = gpu.ok(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking))
    found = np.ones((2, 3), np.float32)
    assert run.enqueue()
    kind = rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
    gpu.ok(rt.cudaMemcpyAsync(found, run.addresses["y"], found.nbytes, kind, aside))
    gpu.ok(rt.cudaStreamSynchronize(aside))
    assert not found.any()


def test_half_precision_rounds(tmp_path) -> None:
    with loaded("10.16.1") as fake:
        build = Build(fake, models.perceptron(tmp_path / "m.onnx"))
        build.add_profile(BATCHES)
        build.config.set_flag(fake.trt.BuilderFlag.FP16)
        run = Run(fake, build.plan())
        run.bind(x=X)
        assert run.enqueue()
        run.wait()
        assert (run.output("y", (2, 3)) == Y.astype(np.float16).astype(np.float32)).all()


def test_a_graph_runs_when_it_is_launched(run) -> None:
    assert run.enqueue()
    run.wait()
    twice = run.gpu.to_device(2 * X)
    graph = run.graph()
    run.gpu.ok(run.gpu.rt.cudaGraphLaunch(graph, run.stream))
    run.wait()
    np.testing.assert_allclose(run.output("y", (2, 3)), Y, rtol=1e-6)
    # addresses are those of the capture
    assert run.context.set_tensor_address("x", twice)
    run.gpu.ok(run.gpu.rt.cudaGraphLaunch(graph, run.stream))
    run.wait()
    np.testing.assert_allclose(run.output("y", (2, 3)), Y, rtol=1e-6)


def test_profiles_are_chosen_by_index(fake, tmp_path) -> None:
    build = Build(fake, models.perceptron(tmp_path / "m.onnx"))
    build.add_profile(BATCHES)
    build.add_profile({"x": ((16, 4), (16, 4), (32, 4))})
    run = Run(fake, build.plan())
    assert run.engine.num_optimization_profiles == 2
    assert run.context.set_input_shape("x", (2, 4))
    assert run.context.set_optimization_profile_async(1, int(run.stream))
    assert run.context.active_optimization_profile == 1
    assert run.context.infer_shapes() == ["x"]  # shapes are forgotten
    assert not run.context.set_input_shape("x", (2, 4))
    assert run.context.set_input_shape("x", (32, 4))
    assert not run.context.set_optimization_profile_async(2, int(run.stream))


def test_what_is_not_bound_is_refused(fake, tmp_path) -> None:
    run = Run(fake, plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES))
    assert not run.enqueue()
    assert "Not all input dimensions" in run.log[-1]
    assert run.context.set_input_shape("x", (2, 4))
    assert not run.enqueue()
    assert "Neither address or allocator is set" in run.log[-1]
    assert not run.context.set_tensor_address("z", 1)
    assert not run.context.execute_async_v3(12345)


def test_memory_that_is_not_the_devices_is_an_illegal_address(run) -> None:
    assert run.context.set_tensor_address("x", X.ctypes.data)
    assert run.enqueue()
    rt = run.gpu.rt
    assert run.gpu.failed(rt.cudaStreamSynchronize(run.stream)) == "cudaErrorIllegalAddress"
    assert run.gpu.failed(rt.cudaMalloc(1)) == "cudaErrorIllegalAddress"  # it stays
    assert not run.enqueue()


def test_a_buffer_that_is_too_small_is_an_illegal_address(run) -> None:
    assert run.context.set_input_shape("x", (8, 4))
    assert run.enqueue()
    rt = run.gpu.rt
    assert run.gpu.failed(rt.cudaStreamSynchronize(run.stream)) == "cudaErrorIllegalAddress"


def test_no_graph_holds_what_waits_for_values(fake, tmp_path) -> None:
    run = Run(fake, plan_of(fake, models.non_zero(tmp_path / "m.onnx")))
    run.bind(x=np.ones(6, np.float32))
    run.context.set_output_allocator("y", fake.trt.IOutputAllocator())
    rt = run.gpu.rt
    mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    run.gpu.ok(rt.cudaStreamBeginCapture(run.stream, mode))
    assert not run.enqueue()
    ended = run.gpu.failed(rt.cudaStreamEndCapture(run.stream))
    assert ended == "cudaErrorStreamCaptureInvalidated"


def test_the_profiler_hears_every_layer(fake, run) -> None:
    heard = []

    class Profiler(fake.trt.IProfiler):
        def __init__(self):
            fake.trt.IProfiler.__init__(self)

        def report_layer_time(self, layer_name, ms):
            heard.append((layer_name, ms))

    assert not run.context.report_to_profiler()
    profiler = Profiler()
    run.context.profiler = profiler
    assert run.enqueue()
    assert heard == [("product", 0.1), ("activation", 0.1)]  # it is told while enqueueing
    run.context.enqueue_emits_profile = False
    assert run.enqueue()
    assert len(heard) == 2
    assert run.context.report_to_profiler()
    assert len(heard) == 4
    run.gpu.ok(run.gpu.rt.cudaStreamDestroy(run.stream))
    with pytest.raises(AssertionError, match="SIGSEGV"):
        run.context.report_to_profiler()


def test_the_inspector_speaks_the_versions_json(fake, run) -> None:
    trt = fake.trt
    inspector = run.engine.create_engine_inspector()
    inspector.execution_context = run.context
    told = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
    layer = told["Layers"][0]
    assert layer["Name"] == "product"
    assert [one["Name"] for one in layer["Inputs"]] == ["x"]
    assert layer["Outputs"][0]["Dimensions"] == [2, 3]  # the context's
    newest = fake.trt.__version__.startswith("11")
    assert ("I/O Tensors" in told, "Bindings" in told) == (newest, not newest)
    assert ("Format/Datatype" in layer["Inputs"][0]) is not newest
    lines = inspector.get_engine_information(trt.LayerInformationFormat.ONELINE).splitlines()
    assert [line.partition("(")[0] for line in lines] == ["MatMul", "Relu"]


def test_engines_and_contexts_take_memory_and_give_it_back(fake, tmp_path) -> None:
    plan = plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES)
    before = fake.device.memory.free
    run = Run(fake, plan)
    newer = getattr(run.engine, "device_memory_size_v2", None)
    activation = run.engine.device_memory_size if newer is None else newer
    assert before - fake.device.memory.free == models.WEIGHTS.nbytes + activation
    del run
    assert fake.device.memory.free == before
