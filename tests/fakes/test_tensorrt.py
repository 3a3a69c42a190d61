"""The stand-in builds and runs plans as TensorRT does, and refuses what TensorRT refuses."""

import json

import numpy as np
import pytest

from tests.fakes import models
from tests.fakes.driving import BATCHES, Build, Run, plan_of, recorder
from tests.fakes.loading import VERSIONS, loaded

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
Y = np.maximum(X @ models.WEIGHTS, 0)


@pytest.fixture(params=VERSIONS)
def fake(request):
    with loaded(request.param) as found:
        yield found


@pytest.fixture
def ten():
    with loaded("10.16.1") as found:
        yield found


def test_a_plan_begins_as_plans_do(fake, tmp_path) -> None:
    plan = plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES)
    assert plan[:8] == b"ftrt" + bytes(4)
    assert ".".join(str(one) for one in plan[24:28]).startswith(fake.trt.__version__)


def test_a_dynamic_input_needs_a_profile_that_fits(fake, tmp_path) -> None:
    build = Build(fake, models.perceptron(tmp_path / "m.onnx"))
    assert build.plan() is None
    assert "no optimization profile has been defined" in build.log[-1]
    build.add_profile({"x": ((1, 5), (2, 5), (8, 5))})
    assert build.plan() is None
    assert "input has static dimensions [-1, 4]" in build.log[-1]
    falling = {"x": ((2, 4), (1, 4), (8, 4))}
    if fake.trt.__version__.startswith("11"):
        assert build.add_profile(falling) == -1
    else:
        with pytest.raises(ValueError, match="inconsistent"):
            build.add_profile(falling)


def test_a_shape_tensor_needs_values(fake, tmp_path) -> None:
    build = Build(fake, models.expanded(tmp_path / "m.onnx"))
    assert build.network.get_input(1).is_shape_tensor
    build.add_profile({"x": ((1, 3), (1, 3), (1, 3))})
    assert build.plan() is None
    assert "missing values for shape input" in build.log[-1]


def test_strong_typing_takes_no_precision_and_refitting_needs_its_flag(ten, tmp_path) -> None:
    path = models.perceptron(tmp_path / "m.onnx")
    build = Build(ten, path, strongly_typed=True)
    build.add_profile(BATCHES)
    build.config.set_flag(ten.trt.BuilderFlag.FP16)
    assert build.plan() is None
    assert "strongly typed" in build.log[-1]
    run = Run(ten, plan_of(ten, path, BATCHES))
    with pytest.raises(TypeError, match="nullptr"):  # it was not built to be refitted
        ten.trt.Refitter(run.engine, run.logger)


def test_int8_needs_a_calibrator_or_ranges(ten, tmp_path) -> None:
    trt = ten.trt
    build = Build(ten, models.image(tmp_path / "m.onnx"))
    build.config.set_flag(trt.BuilderFlag.INT8)
    assert build.plan() is None
    assert "no int8 calibrator" in build.log[-1]
    batches = [[ten.cuda.cudaMalloc(120)[1]]]
    kept = []

    class Calibrator(trt.IInt8EntropyCalibrator2):
        def get_batch(self, names):
            assert names == ["x"]
            return batches.pop() if batches else None

        def write_calibration_cache(self, cache):
            kept.append(bytes(cache))

    build.config.int8_calibrator = Calibrator()
    assert build.plan() is not None
    assert batches == []
    assert kept


def test_progress_is_told_and_can_be_stopped(ten, tmp_path) -> None:
    trt, seen = ten.trt, []

    class Monitor(trt.IProgressMonitor):
        goes_on = True

        def phase_start(self, phase_name, parent_phase, num_steps):
            seen.append((phase_name, parent_phase, num_steps))

        def step_complete(self, phase_name, step):
            return self.goes_on

    build = Build(ten, models.perceptron(tmp_path / "m.onnx"))
    build.add_profile(BATCHES)
    build.config.progress_monitor = Monitor()
    assert build.plan() is not None
    assert seen[0] == ("Building Engine", None, 2)
    assert seen[1][1] == "Building Engine"
    Monitor.goes_on = False
    assert build.plan() is None


def test_what_a_version_takes_of_flags_types_and_bases(fake, tmp_path) -> None:
    trt, path = fake.trt, models.perceptron(tmp_path / "m.onnx")
    build = Build(fake, path)
    parser = trt.OnnxParser(build.builder.create_network(0), build.logger)
    # version 8 needs the flag of an explicit batch
    assert parser.parse_from_file(str(path)) is not trt.__version__.startswith("8")
    if trt.__version__.startswith("8"):  # a method, there alone
        assert trt.ErrorCode.UNSUPPORTED_NODE.name() == "ErrorCode.UNSUPPORTED_NODE"
    tensor = build.network.get_input(0)
    if trt.__version__.startswith("11"):
        with pytest.raises(AttributeError):
            tensor.dtype = trt.DataType.HALF
    else:
        tensor.dtype = trt.DataType.HALF
        assert tensor.dtype == trt.DataType.HALF

    class Forgetful(trt.ILogger):
        def __init__(self):
            """Nothing."""

    with pytest.raises(TypeError, match="must be called when overriding __init__"):
        Forgetful()


def test_arguments_are_typed_as_the_bindings_type_them(fake, tmp_path) -> None:
    trt = fake.trt
    build = Build(fake, models.perceptron(tmp_path / "m.onnx"))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        build.config.set_flag(0)
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = 1 << trt.BuilderFlag.TF32
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        build.config.nonsense = 1
    with pytest.raises(TypeError, match="incompatible"):
        trt.Runtime(3)
    assert trt.Dims([1, 2]) == (1, 2)
    with pytest.raises(TypeError, match="incompatible"):
        _ = trt.Dims([1, 2]) == trt.Dims([1, 2])
    plan = fake.trt.IHostMemory(b"12")
    assert plan.nbytes == 2
    with pytest.raises(TypeError, match="has no len"):
        len(plan)


def test_compatible_plans_go_one_way(tmp_path) -> None:
    path, plans, loads = models.perceptron(tmp_path / "m.onnx"), {}, {}
    for version in VERSIONS:
        with loaded(version) as fake:
            build = Build(fake, path)
            build.add_profile(BATCHES)
            build.config.set_flag(fake.trt.BuilderFlag.VERSION_COMPATIBLE)
            plans[version] = build.plan()
    for version in VERSIONS:
        with loaded(version) as fake:
            runtime = fake.trt.Runtime(recorder(fake.trt, []))
            assert runtime.deserialize_cuda_engine(plans[version]) is None  # its code may not run
            runtime.engine_host_code_allowed = True
            engines = {one: runtime.deserialize_cuda_engine(plan) for one, plan in plans.items()}
            loads[version] = [one for one, engine in engines.items() if engine is not None]
            assert engines[version].create_engine_inspector() is None
    assert loads == {
        "8.6.0": ["8.6.0"],
        "10.16.1": ["8.6.0", "10.16.1"],
        "11.4.0": ["10.16.1", "11.4.0"],
    }


def test_without_a_gpu_there_is_no_builder() -> None:
    with loaded(fault="no_gpu") as fake:
        with pytest.raises(TypeError, match="factory function returned nullptr"):
            fake.trt.Builder(fake.trt.Logger(fake.trt.Logger.ERROR))
        with pytest.raises(AssertionError, match="SIGSEGV"):
            fake.trt.Runtime(fake.trt.Logger(fake.trt.Logger.ERROR))


# running


@pytest.fixture
def run(fake, tmp_path):
    made = Run(fake, plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES))
    made.bind(x=X)
    return made


def test_who_does_not_wait_reads_what_was_there_before(run, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_TENSORRT_COMPUTE_US", str(3600 * 10**6))
    rt, gpu = run.gpu.rt, run.gpu
    aside = gpu.ok(rt.cudaStreamCreate())
    found = np.ones((2, 3), np.float32)
    assert run.enqueue()
    kind = rt.cudaMemcpyKind.cudaMemcpyDeviceToHost
    gpu.ok(rt.cudaMemcpyAsync(found, run.addresses["y"], found.nbytes, kind, aside))
    gpu.ok(rt.cudaStreamSynchronize(aside))
    assert not found.any()


def test_half_precision_rounds(ten, tmp_path) -> None:
    build = Build(ten, models.perceptron(tmp_path / "m.onnx"))
    build.add_profile(BATCHES)
    build.config.set_flag(ten.trt.BuilderFlag.FP16)
    run = Run(ten, build.plan())
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


@pytest.mark.parametrize("is_foreign", [True, False], ids=["foreign", "too small"])
def test_memory_that_is_not_the_devices_or_too_small_is_an_illegal_address(run, is_foreign) -> None:
    if is_foreign:
        assert run.context.set_tensor_address("x", X.ctypes.data)
    else:
        assert run.context.set_input_shape("x", (8, 4))
    assert run.enqueue()
    rt = run.gpu.rt
    assert run.gpu.failed(rt.cudaStreamSynchronize(run.stream)) == "cudaErrorIllegalAddress"
    assert run.gpu.failed(rt.cudaMalloc(1)) == "cudaErrorIllegalAddress"  # it stays
    assert not run.enqueue()


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
        def report_layer_time(self, layer_name, ms):
            heard.append((layer_name, ms))

    assert not run.context.report_to_profiler()
    run.context.profiler = Profiler()
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
