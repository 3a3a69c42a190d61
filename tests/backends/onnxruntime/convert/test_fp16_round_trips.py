"""What stays in FP32 hands on FP32."""

from importlib.util import find_spec

import numpy as np
import onnx
import onnxruntime
import pytest

from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model
from tests.overflowing import TENSOR, overflowing

pytestmark = pytest.mark.skipif(find_spec("onnx_ir") is None, reason="needs onnx_ir")


def answers(path, x):
    return onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]


@pytest.mark.filterwarnings("ignore")
def test_values_that_fp16_cannot_hold_go_from_one_kept_node_to_the_next(tmp_path) -> None:
    model = overflowing(tmp_path / "net.onnx", by_constant=True)
    kept = Fp16Options(node_block_list=("loud", "pool", "scale"))
    made = onnx.load(fp16_model(model, tmp_path / "cache", kept).path)
    readers = {one.name: one for one in made.graph.node}
    assert readers["loud"].output[0] == readers["pool"].input[0]
    assert readers["pool"].output[0] == readers["scale"].input[0]
    # and where the kept nodes end a cast is still there
    casts = {one.input[0]: one for one in made.graph.node if one.op_type == "Cast"}
    assert casts[readers["scale"].output[0]].attribute[0].i == onnx.TensorProto.FLOAT16
    x = np.random.default_rng(0).uniform(-1, 1, (1, 8, 32, 32)).astype(np.float32)
    wanted = answers(model, x)
    found = answers(fp16_model(model, tmp_path / "cache", kept).path, x)
    np.testing.assert_allclose(found, wanted, atol=5e-3 * float(wanted.std()), rtol=5e-3)
    spoilt = answers(fp16_model(model, tmp_path / "cache").path, x)
    assert float(np.abs(spoilt - wanted).max()) > 0.5 * float(wanted.std())


@pytest.mark.filterwarnings("ignore")
def test_an_output_between_two_kept_nodes_is_still_given(tmp_path) -> None:
    path = overflowing(tmp_path / "net.onnx", by_constant=True)
    model = onnx.load(path)
    model.graph.output.append(onnx.ValueInfoProto(name=TENSOR))
    model.graph.output[-1].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    onnx.save(model, path)
    kept = Fp16Options(node_block_list=("loud", "pool", "scale"))
    made = fp16_model(path, tmp_path / "cache", kept).path
    x = np.zeros((1, 8, 32, 32), np.float32)
    session = onnxruntime.InferenceSession(made)
    assert [one.name for one in session.get_outputs()] == ["y", TENSOR]
    assert session.run(None, {"x": x})[1].dtype == np.float32
