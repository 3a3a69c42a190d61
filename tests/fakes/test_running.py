"""The stand-in runs plans: true answers, in time, and the errors that TensorRT would give."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.fakes import models
from tests.fakes.driving import BATCHES, Build, Run, plan_of
from tests.fakes.loading import VERSIONS, environment, loaded

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


def test_answers_are_the_models(run) -> None:
    assert run.enqueue()
    run.wait()
    np.testing.assert_allclose(run.output("y", (2, 3)), Y, rtol=1e-6)


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


def test_compute_takes_the_time_that_is_said(run, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_TENSORRT_COMPUTE_US", "50")
    rt, gpu = run.gpu.rt, run.gpu
    events = [gpu.ok(rt.cudaEventCreate()) for _ in range(2)]
    run.wait()
    gpu.ok(rt.cudaEventRecord(events[0], run.stream))
    assert run.enqueue()
    assert run.enqueue()
    gpu.ok(rt.cudaEventRecord(events[1], run.stream))
    run.wait()
    assert gpu.ok(rt.cudaEventElapsedTime(*events)) >= 0.1


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


def test_shapes_follow_the_profile(run) -> None:
    context = run.context
    assert [tuple(one) for one in run.engine.get_tensor_profile_shape("x", 0)] == list(BATCHES["x"])
    assert context.set_input_shape("x", (8, 4))
    assert context.infer_shapes() == []
    assert context.get_tensor_shape("y") == (8, 3)
    assert not context.set_input_shape("x", (9, 4))
    assert "does not satisfy any optimization profile" in run.log[-1]
    assert not context.set_input_shape("x", (2, 5))
    assert "Static dimension mismatch" in run.log[-1]


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


def test_shapes_can_come_from_values(fake, tmp_path) -> None:
    trt = fake.trt
    build = Build(fake, models.expanded(tmp_path / "m.onnx"))
    build.add_profile({}, {"shape": ((1, 3), (2, 3), (4, 3))})
    run = Run(fake, build.plan())
    assert run.engine.get_tensor_location("shape") == trt.TensorLocation.HOST
    wide = fake.trt.__version__.startswith("8")
    wanted = np.array([4, 3], np.int32 if wide else np.int64)
    if wide:
        assert run.engine.get_tensor_dtype("shape") == trt.DataType.INT32
        index = run.engine.get_binding_index("shape")
        spans = run.engine.get_profile_shape_input(0, index)
    else:
        spans = run.engine.get_tensor_profile_values(0, "shape")
    assert spans == [[1, 3], [2, 3], [4, 3]]
    x = np.ones((1, 3), np.float32)
    assert run.context.infer_shapes() == ["shape"]
    assert run.context.set_tensor_address("shape", wanted.ctypes.data)
    run.bind(x=x)
    assert run.context.infer_shapes() == []
    assert run.context.get_tensor_shape("y") == (4, 3)
    assert run.enqueue()
    run.wait()
    assert run.output("y", (4, 3)).tolist() == np.ones((4, 3)).tolist()


def allocator_of(fake, run, *, gives: bool = True):
    class Allocator(fake.trt.IOutputAllocator):
        def __init__(self):
            fake.trt.IOutputAllocator.__init__(self)
            self.shapes = {}

        def reallocate_output(self, tensor_name, memory, size, alignment):
            if not gives:
                return 0
            run.addresses[tensor_name] = run.gpu.ok(run.gpu.rt.cudaMalloc(size))
            return run.addresses[tensor_name]

        def notify_shape(self, tensor_name, shape):
            self.shapes[tensor_name] = tuple(shape)

    return Allocator()


def test_an_allocator_is_asked_when_the_size_is_known(fake, tmp_path) -> None:
    run = Run(fake, plan_of(fake, models.non_zero(tmp_path / "m.onnx")))
    kind = np.int32 if fake.trt.__version__.startswith("8") else np.int64
    run.bind(x=np.array([0, 1, 0, 2, 0, 3], np.float32))
    assert run.context.get_tensor_shape("y") == (1, -1)
    assert not run.enqueue()
    made = allocator_of(fake, run)
    assert run.context.set_output_allocator("y", made)
    assert run.enqueue()
    run.wait()
    assert made.shapes == {"y": (1, 3)}
    assert run.output("y", (1, 3), kind).tolist() == [[1, 3, 5]]


def test_no_graph_holds_what_waits_for_values(fake, tmp_path) -> None:
    run = Run(fake, plan_of(fake, models.non_zero(tmp_path / "m.onnx")))
    run.bind(x=np.ones(6, np.float32))
    made = allocator_of(fake, run)
    run.context.set_output_allocator("y", made)
    rt = run.gpu.rt
    mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    run.gpu.ok(rt.cudaStreamBeginCapture(run.stream, mode))
    assert not run.enqueue()
    ended = run.gpu.failed(rt.cudaStreamEndCapture(run.stream))
    assert ended == "cudaErrorStreamCaptureInvalidated"


def test_an_allocator_that_gives_nothing_fails_the_run(fake, tmp_path) -> None:
    run = Run(fake, plan_of(fake, models.non_zero(tmp_path / "m.onnx")))
    run.bind(x=np.ones(6, np.float32))
    made = allocator_of(fake, run, gives=False)
    run.context.set_output_allocator("y", made)
    assert not run.enqueue()
    assert "OutOfMemory" in run.log[-1]


@pytest.mark.parametrize("name", ["CHW2", "CHW4", "CHW16", "CHW32", "HWC", "HWC8", "HWC16"])
def test_formats_lay_values_out(fake, tmp_path, name) -> None:
    trt = fake.trt
    build = Build(fake, models.image(tmp_path / "m.onnx"))
    for tensor in (build.network.get_input(0), build.network.get_output(0)):
        tensor.allowed_formats = 1 << int(getattr(trt.TensorFormat, name))
    run = Run(fake, build.plan())
    assert run.engine.get_tensor_format("x") == getattr(trt.TensorFormat, name)
    wide = run.engine.get_tensor_components_per_element("x")
    assert run.engine.get_tensor_vectorized_dim("x") == (1 if name != "HWC" else -1)
    values = np.arange(30, dtype=np.float32).reshape(1, 5, 2, 3)
    channels = -(-5 // max(wide, 1)) * max(wide, 1)
    full = np.zeros((1, channels, 2, 3), np.float32)
    full[:, :5] = values
    if name.startswith("HWC"):
        packed = full.transpose(0, 2, 3, 1)
    else:
        packed = full.reshape(1, -1, wide, 2, 3).transpose(0, 1, 3, 4, 2)
    packed = np.ascontiguousarray(packed)
    run.addresses = {"x": run.gpu.to_device(packed), "y": run.gpu.to_device(packed)}
    for tensor, address in run.addresses.items():
        assert run.context.set_tensor_address(tensor, address)
    assert run.enqueue()
    run.wait()
    assert (run.output("y", packed.shape) == 2 * packed).all()


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


def test_less_is_told_where_less_was_kept(fake, tmp_path) -> None:
    build = Build(fake, models.image(tmp_path / "m.onnx"))
    inspector = Run(fake, build.plan()).engine.create_engine_inspector()
    told = inspector.get_engine_information(fake.trt.LayerInformationFormat.JSON)
    assert json.loads(told)["Layers"] == ["twice"]


def test_engines_and_contexts_take_memory_and_give_it_back(fake, tmp_path) -> None:
    plan = plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES)
    before = fake.device.memory.free
    run = Run(fake, plan)
    newer = getattr(run.engine, "device_memory_size_v2", None)
    activation = run.engine.device_memory_size if newer is None else newer
    assert before - fake.device.memory.free == models.WEIGHTS.nbytes + activation
    del run
    assert fake.device.memory.free == before


def test_engines_fail_to_load_on_demand(fake, tmp_path, monkeypatch) -> None:
    plan = plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES)
    monkeypatch.setenv("FAKE_TENSORRT_FAULT", "oom_engine")
    with pytest.raises(AssertionError, match="OutOfMemory"):
        Run(fake, plan)
    monkeypatch.setenv("FAKE_TENSORRT_FAULT", "oom_context")
    run = Run(fake, plan)
    assert run.context is None
    assert "OutOfMemory" in run.log[-1]


def test_runs_fail_on_demand(run, monkeypatch) -> None:
    rt, gpu = run.gpu.rt, run.gpu
    monkeypatch.setenv("FAKE_TENSORRT_FAULT", "execute_fails")
    assert not run.enqueue()
    assert "Cask" in run.log[-1]
    monkeypatch.setenv("FAKE_TENSORRT_FAULT", "oom_buffer")
    assert gpu.failed(rt.cudaMalloc(1)) == "cudaErrorMemoryAllocation"
    monkeypatch.setenv("FAKE_TENSORRT_FAULT", "graph_refused")
    mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    gpu.ok(rt.cudaStreamBeginCapture(run.stream, mode))
    assert run.enqueue()
    ended = gpu.failed(rt.cudaStreamEndCapture(run.stream))
    assert ended == "cudaErrorStreamCaptureInvalidated"
    assert run.enqueue()  # it goes on without a graph
    run.wait()
    monkeypatch.setenv("FAKE_TENSORRT_FAULT", "illegal_address")
    assert run.enqueue()
    assert gpu.failed(rt.cudaStreamSynchronize(run.stream)) == "cudaErrorIllegalAddress"
    assert gpu.failed(rt.cudaStreamSynchronize(run.stream)) == "cudaErrorIllegalAddress"


@pytest.mark.parametrize("fault", ["crash_build", "crash_run"])
def test_crashes_are_real(tmp_path, fault) -> None:
    script = (
        "from pathlib import Path\n"
        "from tests.fakes import driving, loading, models\n"
        f"with loading.loaded(fault={fault!r}) as fake:\n"
        f"    plan = driving.plan_of(fake, models.image(Path({str(tmp_path / 'm.onnx')!r})))\n"
        "    run = driving.Run(fake, plan)\n"
        "    run.bind(x=__import__('numpy').ones((1, 5, 2, 3), 'float32'))\n"
        "    run.enqueue()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    assert done.returncode == -11, done.stderr


def test_other_processes_find_the_stand_ins(tmp_path) -> None:
    script = (
        "import tensorrt; from importlib import metadata\n"
        "print(tensorrt.__version__, metadata.version('tensorrt-cu13-bindings'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment("11.4.0"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["11.4.0.106", "11.4.0.106"], done.stderr
