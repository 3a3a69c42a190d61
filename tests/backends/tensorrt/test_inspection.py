"""What the inspector and the profiler tell, and what is made of it when they do not."""

from types import SimpleNamespace

import pytest

from enginescope.backends.tensorrt.build.network import node_at
from enginescope.backends.tensorrt.libraries import Libraries, inspect
from enginescope.backends.tensorrt.profile_pass import profile_of
from enginescope.backends.tensorrt.run.engine import tensors_of
from enginescope.backends.tensorrt.run.inference_stream import Grown, make_allocator
from enginescope.core.errors import BackendError, UnsupportedError
from tests.backends.tensorrt.driving import job, measure, opened, with_engine


@pytest.mark.parametrize(
    ("text", "words", "kept"),
    [
        ("", "cannot read this plan", None),
        ('{"Layers": 3}', "cannot be read", '{"Layers": 3}'),
        ("no JSON at all", "cannot be read", "no JSON at all"),
    ],
)
def test_an_inspector_that_tells_nothing_useful(use, text, words, kept) -> None:
    fake = use()
    libraries = Libraries(trt=fake.trt, cuda=fake.cuda, driver=fake.driver, runtime="full")
    inspector = SimpleNamespace(get_engine_information=lambda _: text)
    engine = SimpleNamespace(create_engine_inspector=lambda: inspector)
    told, plan, (notice,) = inspect(libraries, engine, None, "net")
    assert (told, plan) == (kept, None)
    assert notice.code == "W-NO-PLAN"
    assert words in notice.message


def test_a_profile_is_of_layers_by_their_place() -> None:
    with pytest.raises(BackendError, match="other layers from one run to the next"):
        profile_of([[("a", 1.0), ("b", 1.0)], [("a", 1.0)]], [2.0, 1.0])
    rows = [[("same", 1.0), ("same", 3.0)], [("same", 2.0), ("same", 6.0)]]
    found = profile_of(rows, [4.5, 8.5])
    assert [(one.name, one.mean_ms, one.total_ms) for one in found.layers] == [
        ("same", 1.5, 3.0),
        ("same", 4.5, 9.0),
    ]
    assert [one.share_pct for one in found.layers] == [25.0, 75.0]
    assert (found.iterations, found.whole_ms) == (2, 6.5)


def test_auxiliary_streams_are_noticed(use, perceptron, engines, monkeypatch) -> None:
    use()
    monkeypatch.setattr("enginescope.backends.tensorrt.profile_pass.ENOUGH_MS", 1.0)
    found = measure(with_engine(job(perceptron, layer_profile=True, max_aux_streams="2"), engines))
    (notice,) = (one for one in found.notices if one.code == "W-PARALLEL-LAYERS")
    assert notice.evidence == {"aux_streams": 2}


def test_a_profile_that_tensorrt_refuses(use, perceptron, engines, monkeypatch) -> None:
    fake = use()
    sizes = {"opt_shapes": "x:1x4;x:2x4", "profile_index": "1"}
    one = with_engine(job(perceptron, **sizes), engines)
    method = "set_optimization_profile_async"
    monkeypatch.setattr(fake.trt.IExecutionContext, method, lambda *_: False)
    with pytest.raises(BackendError, match="optimization profile 1: TensorRT refused it"):
        measure(one)


def test_a_runtime_takes_a_dla_core_and_may_lack_controls_of_temporary_files(
    use, perceptron, engines, monkeypatch
) -> None:
    fake = use()
    one = with_engine(job(perceptron), engines)
    core = job(perceptron, engine=one.engine, dla_core="1")
    with opened(core) as session:
        assert session._runtime.DLA_core == 1
    one = with_engine(job(perceptron, tempfile_controls="temporary:deny"), engines)
    monkeypatch.delattr(fake.trt, "TempfileControlFlag")
    with pytest.raises(UnsupportedError, match="tempfile_controls"):
        measure(one)


def test_an_output_without_memory_gets_the_null_address(use) -> None:
    fake = use()

    def full(nbytes):
        raise MemoryError

    memory = {"y": Grown(SimpleNamespace(device_buffer=full))}  # type: ignore[arg-type]
    allocator = make_allocator(fake.trt, memory)
    assert allocator.reallocate_output("y", 0, 64, 256) == 0
    memory["y"] = Grown(SimpleNamespace(device_buffer=lambda nbytes: 4096))  # type: ignore[arg-type]
    assert allocator.reallocate_output_async("y", 0, 64, 256, 0) == 4096
    memory["y"]._cuda.device_buffer = full
    assert allocator.reallocate_output("y", 0, 32, 256) == 4096  # it is large enough
    assert allocator.reallocate_output("y", 0, 65, 256) == 0


def test_a_node_is_found_by_its_number(perceptron, tmp_path) -> None:
    assert node_at(str(perceptron), 1) == ("activation", "Relu")
    assert node_at(str(perceptron), 2) == (None, None)
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(b"garbage")
    assert node_at(str(damaged), 0) == (None, None)


def named(*names: str) -> SimpleNamespace:
    return SimpleNamespace(**{name: SimpleNamespace(name=name) for name in names})


#: The lean bindings have methods whose types they lack (``TensorFormat``, ``EngineInspector``);
#: calling one raises. Seen with 10.16.1.
LEAN = SimpleNamespace(
    DataType=named("HALF"), TensorIOMode=named("INPUT"), TensorLocation=named("HOST", "DEVICE")
)


def raises(error: Exception):
    def call(*_: object) -> None:
        raise error

    return call


def lean_engine(described: str) -> SimpleNamespace:
    """As far as it is asked, with the errors of the real one."""
    untyped = TypeError("Unable to convert function return value to a Python type!")
    return SimpleNamespace(
        num_io_tensors=1,
        get_tensor_name=lambda index: "x",
        get_tensor_dtype=lambda name: LEAN.DataType.HALF,
        get_tensor_shape=lambda name: (1, 3, 8, 8),
        get_tensor_mode=lambda name: LEAN.TensorIOMode.INPUT,
        get_tensor_location=lambda name: LEAN.TensorLocation.DEVICE,
        get_tensor_vectorized_dim=lambda name: 1,
        get_tensor_components_per_element=lambda name: 4,
        get_tensor_format=raises(untyped),
        get_tensor_format_desc=lambda name: described,
        create_engine_inspector=raises(RuntimeError("Could not activate keep_alive!")),
    )


def test_lean_bindings_have_formats_of_descriptions_and_no_plan() -> None:
    lean = lean_engine("Four wide channel vectorized row major FP16 format (kCHW4)")
    (tensor,) = tensors_of(LEAN, lean)
    assert tensor.layout == "CHW4"
    assert (tensor.vector_axis, tensor.vector_width) == (1, 4)
    assert tensors_of(LEAN, lean_engine("plain"))[0].layout == "LINEAR"
    libraries = Libraries(trt=LEAN, cuda=None, driver=None, runtime="lean")
    text, plan, (notice,) = inspect(libraries, lean, None, "net")
    assert (text, plan) == (None, None)
    assert notice.code == "W-NO-PLAN"
    assert "lean" in notice.message
