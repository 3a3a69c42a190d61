"""The lean bindings have methods whose types they lack; calling one raises. Seen with 10.16.1."""

import pytest

from enginescope.backends.tensorrt.libraries import Libraries, inspect
from enginescope.backends.tensorrt.run.engine import tensors_of


class LeanEngine:
    """As far as it is asked, with the errors of the real one."""

    num_io_tensors = 1

    def __init__(self, trt) -> None:
        self._trt = trt

    def get_tensor_name(self, index):
        return "x"

    def get_tensor_dtype(self, name):
        return self._trt.DataType.HALF

    def get_tensor_shape(self, name):
        return (1, 3, 8, 8)

    def get_tensor_mode(self, name):
        return self._trt.TensorIOMode.INPUT

    def get_tensor_location(self, name):
        return self._trt.TensorLocation.DEVICE

    def get_tensor_vectorized_dim(self, name):
        return 1

    def get_tensor_components_per_element(self, name):
        return 4

    def get_tensor_format(self, name):
        raise TypeError("Unable to convert function return value to a Python type!")

    def get_tensor_format_desc(self, name):
        return "Four wide channel vectorized row major FP16 format (kCHW4)"

    def create_engine_inspector(self):
        raise RuntimeError("Could not activate keep_alive!")


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


class LeanModule:
    """A module without ``TensorFormat`` and ``EngineInspector``."""

    class DataType:
        HALF = Named("HALF")

    class TensorIOMode:
        INPUT = Named("INPUT")

    class TensorLocation:
        HOST, DEVICE = Named("HOST"), Named("DEVICE")


@pytest.fixture
def engine() -> LeanEngine:
    return LeanEngine(LeanModule)


def test_formats_come_from_descriptions_and_there_is_no_plan(engine, monkeypatch) -> None:
    (tensor,) = tensors_of(LeanModule, engine)
    assert tensor.layout == "CHW4"
    assert (tensor.vector_axis, tensor.vector_width) == (1, 4)
    monkeypatch.setattr(LeanEngine, "get_tensor_format_desc", lambda _self, _name: "plain")
    assert tensors_of(LeanModule, engine)[0].layout == "LINEAR"
    libraries = Libraries(trt=LeanModule, cuda=None, driver=None, runtime="lean")
    text, plan, (notice,) = inspect(libraries, engine, None, "net")
    assert (text, plan) == (None, None)
    assert notice.code == "W-NO-PLAN"
    assert "lean" in notice.message
