"""The stand-in builds as TensorRT does, and refuses what TensorRT refuses."""

import pytest

from tests.fakes import models
from tests.fakes.driving import BATCHES, Build, Run, plan_of, recorder
from tests.fakes.loading import VERSIONS, loaded


@pytest.fixture(params=VERSIONS)
def fake(request):
    with loaded(request.param) as found:
        yield found


@pytest.fixture
def newest():
    with loaded("11.4.0") as found:
        yield found


@pytest.fixture
def ten():
    with loaded("10.16.1") as found:
        yield found


def test_a_plan_begins_as_plans_do(fake, tmp_path) -> None:
    plan = plan_of(fake, models.perceptron(tmp_path / "m.onnx"), BATCHES)
    assert plan[:8] == b"ftrt" + bytes(4)
    version = ".".join(str(one) for one in plan[24:28])
    assert version.startswith(fake.trt.__version__)


def test_a_dynamic_input_needs_a_profile(fake, tmp_path) -> None:
    build = Build(fake, models.perceptron(tmp_path / "m.onnx"))
    assert build.plan() is None
    assert "no optimization profile has been defined" in build.log[-1]


def test_a_profile_must_fit_the_model(fake, tmp_path) -> None:
    build = Build(fake, models.perceptron(tmp_path / "m.onnx"))
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


def test_an_unknown_operator_is_an_error_of_its_node(fake, tmp_path) -> None:
    build = Build(fake, models.missing_operator(tmp_path / "m.onnx"))
    assert not build.parsed
    assert build.parser.num_errors == 1
    error = build.parser.get_error(0)
    is_newest = fake.trt.__version__.startswith("11")
    assert error.node() == 1
    assert str(error.code()).endswith("INVALID_NODE" if is_newest else "UNSUPPORTED_NODE")
    assert "Plugin not found" in error.desc()
    if fake.trt.__version__.startswith("8"):
        assert not hasattr(error, "node_name")
        assert error.code().name() == "ErrorCode.UNSUPPORTED_NODE"  # a method, there alone
    else:
        assert (error.node_name(), error.node_operator()) == ("strange", "Frobnicate")


def test_version_8_needs_explicit_batch(tmp_path) -> None:
    path = models.perceptron(tmp_path / "m.onnx")
    for version in VERSIONS:
        with loaded(version) as fake:
            logger = recorder(fake.trt, [])
            parser = fake.trt.OnnxParser(fake.trt.Builder(logger).create_network(0), logger)
            assert parser.parse_from_file(str(path)) is not version.startswith("8")


def test_a_strongly_typed_network_takes_no_precision(ten, tmp_path) -> None:
    path = models.perceptron(tmp_path / "m.onnx")
    build = Build(ten, path, strongly_typed=True)
    build.add_profile(BATCHES)
    build.config.set_flag(ten.trt.BuilderFlag.FP16)
    assert build.plan() is None
    assert "strongly typed" in build.log[-1]


def test_int8_needs_a_calibrator_or_ranges(ten, tmp_path) -> None:
    trt = ten.trt
    path = models.image(tmp_path / "m.onnx")
    build = Build(ten, path)
    build.config.set_flag(trt.BuilderFlag.INT8)
    assert build.plan() is None
    assert "no int8 calibrator" in build.log[-1]
    batches = [[ten.cuda.cudaMalloc(120)[1]]]
    kept = []

    class Calibrator(trt.IInt8EntropyCalibrator2):
        def __init__(self):
            trt.IInt8EntropyCalibrator2.__init__(self)

        def get_batch_size(self):
            return 1

        def get_batch(self, names):
            assert names == ["x"]
            return batches.pop() if batches else None

        def write_calibration_cache(self, cache):
            kept.append(bytes(cache))

    build.config.int8_calibrator = Calibrator()
    assert build.plan() is not None
    assert batches == []
    assert kept


def test_progress_is_told_and_can_be_stopped(newest, tmp_path) -> None:
    trt, seen = newest.trt, []

    class Monitor(trt.IProgressMonitor):
        def __init__(self, goes_on):
            trt.IProgressMonitor.__init__(self)
            self.goes_on = goes_on

        def phase_start(self, phase_name, parent_phase, num_steps):
            seen.append((phase_name, parent_phase, num_steps))

        def step_complete(self, phase_name, step):
            return self.goes_on

    build = Build(newest, models.perceptron(tmp_path / "m.onnx"))
    build.add_profile(BATCHES)
    build.config.progress_monitor = Monitor(goes_on=True)
    assert build.plan() is not None
    assert seen[0] == ("Building Engine", None, 2)
    assert seen[1][1] == "Building Engine"
    build.config.progress_monitor = Monitor(goes_on=False)
    assert build.plan() is None


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


def test_a_derived_class_must_initialise_its_base(fake) -> None:
    class Forgetful(fake.trt.ILogger):
        def __init__(self):
            """Nothing."""

    with pytest.raises(TypeError, match="must be called when overriding __init__"):
        Forgetful()


def test_types_cannot_be_set_on_a_strongly_typed_tensor(tmp_path) -> None:
    path = models.perceptron(tmp_path / "m.onnx")
    for version in VERSIONS:
        with loaded(version) as fake:
            tensor = Build(fake, path).network.get_input(0)
            if version.startswith("11"):
                with pytest.raises(AttributeError):
                    tensor.dtype = fake.trt.DataType.HALF
            else:
                tensor.dtype = fake.trt.DataType.HALF
                assert tensor.dtype == fake.trt.DataType.HALF


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


def test_an_engine_that_is_not_refittable_is_not_refitted(ten, tmp_path) -> None:
    run = Run(ten, plan_of(ten, models.perceptron(tmp_path / "m.onnx"), BATCHES))
    with pytest.raises(TypeError, match="nullptr"):
        ten.trt.Refitter(run.engine, run.logger)
