import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.backends.base import InputSpec
from enginescope.backends.trtexec.inputs import at_optimum, onnx_inputs
from enginescope.core.errors import BackendError
from enginescope.records.tensor import DataType
from tests.backends.onnxruntime import models


def test_names_types_and_dynamic_dimensions(tmp_path) -> None:
    assert onnx_inputs(models.lookup(tmp_path / "m.onnx")) == (
        InputSpec(
            name="ids", dtype=DataType.INT64, shape=("batch", "n"), type_text="tensor(int64)"
        ),
    )


def test_an_input_with_an_initial_value_is_none(tmp_path) -> None:
    weight = numpy_helper.from_array(np.ones((8,), np.float32), "w")
    path = models.write(
        tmp_path / "m.onnx",
        [helper.make_node("Add", ["x", "w"], ["y"], name="add")],
        [models.info("x", 1, 8), models.info("w", 8)],
        [models.info("y", 1, 8)],
        weights=[weight],
    )
    assert [one.name for one in onnx_inputs(path)] == ["x"]


def test_a_dimension_without_a_name_and_a_sequence(tmp_path) -> None:
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    unnamed = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [None, 4])
    path = models.write(
        tmp_path / "m.onnx",
        [helper.make_node("Identity", ["x"], ["y"], name="echo")],
        [unnamed, sequence],
        [models.info("y", 1, 4, kind=TensorProto.FLOAT16)],
    )
    first, second = onnx_inputs(path)
    assert (first.shape, first.dtype) == ((None, 4), DataType.FP16)
    assert (second.dtype, second.type_text) == (None, "sequence_type")


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({}, None),
        ({"min_shapes": "ids:1x2"}, (1, 2)),
        ({"min_shapes": "ids:1x2", "max_shapes": "ids:8x2"}, (8, 2)),
        ({"min_shapes": "ids:1x2", "opt_shapes": "'ids':4x2", "max_shapes": "ids:8x2"}, (4, 2)),
        ({"opt_shapes": "ids:4x2;ids:6x2", "profile_index": "1"}, (6, 2)),
        ({"opt_shapes": "ids:4x2", "profile_index": "1"}, None),
        ({"opt_shapes": "ids:4"}, None),
        ({"opt_shapes": "other:4x2"}, None),
    ],
)
def test_the_optimum_of_the_profile_in_use(tmp_path, options, shape) -> None:
    (spec,) = at_optimum(onnx_inputs(models.lookup(tmp_path / "m.onnx")), options)
    assert spec.default_shape == shape
    assert spec.shape == ("batch", "n")


def test_a_file_that_is_no_model(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"not a protobuf")
    with pytest.raises(BackendError, match="not an ONNX model"):
        onnx_inputs(path)
