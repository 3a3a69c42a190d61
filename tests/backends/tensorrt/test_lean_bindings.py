"""The lean bindings have methods whose types they lack; calling one raises. Seen with 10.16.1."""

from types import SimpleNamespace

from enginescope.backends.tensorrt.libraries import Libraries, inspect
from enginescope.backends.tensorrt.run.engine import tensors_of


def named(*names: str) -> SimpleNamespace:
    return SimpleNamespace(**{name: SimpleNamespace(name=name) for name in names})


#: Without ``TensorFormat`` and ``EngineInspector``.
LEAN = SimpleNamespace(
    DataType=named("HALF"), TensorIOMode=named("INPUT"), TensorLocation=named("HOST", "DEVICE")
)


def raises(error: Exception):
    def call(*_: object) -> None:
        raise error

    return call


def engine(described: str) -> SimpleNamespace:
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


def test_formats_come_from_descriptions_and_there_is_no_plan() -> None:
    lean = engine("Four wide channel vectorized row major FP16 format (kCHW4)")
    (tensor,) = tensors_of(LEAN, lean)
    assert tensor.layout == "CHW4"
    assert (tensor.vector_axis, tensor.vector_width) == (1, 4)
    assert tensors_of(LEAN, engine("plain"))[0].layout == "LINEAR"
    libraries = Libraries(trt=LEAN, cuda=None, driver=None, runtime="lean")
    text, plan, (notice,) = inspect(libraries, lean, None, "net")
    assert (text, plan) == (None, None)
    assert notice.code == "W-NO-PLAN"
    assert "lean" in notice.message
