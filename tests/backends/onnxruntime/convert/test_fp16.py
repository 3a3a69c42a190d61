"""Models converted to FP16: valid, close to their source, kept once, never beside it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

from enginescope.backends.onnxruntime.convert import fp16, model_files
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.models import branch, info, write

FLOAT = TensorProto.FLOAT
#: The oldest that is supported; 1.16, which the GPU suite runs on, folds casts of branches wrongly
#: and truncates where it quantizes FP16.
SUPPORTED = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 18)
needs_supported = pytest.mark.skipif(not SUPPORTED, reason="an ONNX Runtime older than 1.18")


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def converted(folder: Path, source: Path, **options: Any) -> Any:
    return fp16_model(source, folder / "cache", Fp16Options(**options))


def answer(path: str | Path, **feeds: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    halves = {one.name for one in session.get_inputs() if one.type == "tensor(float16)"}
    cast = {name: value.astype(np.float16) for name, value in feeds.items() if name in halves}
    return np.asarray(session.run(None, feeds | cast)[0])


def close(made: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.allclose(made.astype(np.float32), wanted, rtol=1e-2, atol=1e-2))


#: Inputs and outputs of most models here.
ENDS = [info("x", 4, 8)], [info("y", 4, 8)]


def dense(path: Path, **more: Any) -> Path:
    nodes = [
        make_node("MatMul", ["x", "w"], ["m"]),
        make_node("Max", ["m", "x"], ["a"], name="largest"),
        make_node("Min", ["m", "x"], ["b"], name="least"),
        make_node("Add", ["a", "b"], ["y"], name="sum"),
    ]
    return write(path, nodes, *ENDS, **{"w": weights(8, 8), **more})


def branching(path: Path, nodes_of: Any, columns: int, **arrays: Any) -> Path:
    """Write an If node; `nodes_of` a branch's name are its nodes, the last output is its."""
    both = [branch(name, nodes_of(name), info(f"{name}_o", 4, columns)) for name in ("yes", "no")]
    which = make_node("If", ["c"], ["z"], name="which", then_branch=both[0], else_branch=both[1])
    inputs = [info("x", 4, columns), info("c", kind=TensorProto.BOOL)]
    nodes = [which, make_node("Relu", ["z"], ["y"])]
    return write(path, nodes, inputs, [info("y", 4, columns)], **arrays)


X = np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)


@pytest.mark.parametrize("keep_io_types", [True, False])
def test_a_converted_model_is_valid_and_close(tmp_path, keep_io_types) -> None:
    source = dense(tmp_path / "net.onnx")
    made = converted(tmp_path, source, keep_io_types=keep_io_types)
    onnx.checker.check_model(made.path, full_check=True)
    before, after = onnx.load(source), onnx.load(made.path)
    assert after.ir_version == before.ir_version
    assert [(one.domain, one.version) for one in after.opset_import] == [("", 17)]
    wanted = FLOAT if keep_io_types else TensorProto.FLOAT16
    assert after.graph.input[0].type.tensor_type.elem_type == wanted
    assert after.graph.initializer[0].data_type == TensorProto.FLOAT16
    assert made.details["nodes_in_fp32"] == 2  # Max and Min: two that share their inputs' casts
    assert close(answer(made.path, x=X), answer(source, x=X))


@needs_supported
@pytest.mark.parametrize("keep_io_types", [True, False])
def test_nodes_that_stay_within_branches(tmp_path, keep_io_types) -> None:
    """On tensors of the branch and of the graph."""

    def nodes(name: str) -> list[Any]:
        return [
            make_node("MatMul", ["x", "w"], [f"{name}_m"]),
            make_node("Max", [f"{name}_m", "x"], [f"{name}_t"]),
            make_node("CumSum", [f"{name}_t", "axis"], [f"{name}_u"]),
            make_node("Relu", [f"{name}_u"], [f"{name}_o"]),
        ]

    source = branching(tmp_path / "net.onnx", nodes, 4, w=weights(4, 4), axis=0)
    made = converted(tmp_path, source, keep_io_types=keep_io_types)
    for taken in (True, False):
        feeds = {"x": X[:, :4], "c": np.array(taken)}
        assert close(answer(made.path, **feeds), answer(source, **feeds))


@pytest.mark.parametrize("keep_io_types", [True, False])
def test_weights_listed_as_inputs(tmp_path, keep_io_types) -> None:
    """As models before IR version 4 have them, one of them used by nobody."""
    nodes, inputs = [make_node("MatMul", ["x", "w"], ["y"])], [info("w", 8, 8), info("spare", 3)]
    held = {"w": weights(8, 8), "spare": weights(3), "ir": 3, "opset": 9}
    source = write(tmp_path / "net.onnx", nodes, [*ENDS[0], *inputs], ENDS[1], **held)
    made = converted(tmp_path, source, keep_io_types=keep_io_types)
    assert close(answer(made.path, x=X), answer(source, x=X))
    assert made.details["casts"] == (2 if keep_io_types else 0)


def test_the_bundled_convnet(convnet, tmp_path) -> None:
    made = fp16_model(convnet, tmp_path)
    image = np.random.default_rng(5).random((1, 3, 96, 96)).astype(np.float32)
    wanted = answer(convnet, image=image)
    assert np.abs(answer(made.path, image=image) - wanted).max() < 0.05 * np.abs(wanted).max()
    assert Path(made.path).stat().st_size < 0.6 * convnet.stat().st_size


def test_nodes_and_operators_stay_when_asked(tmp_path) -> None:
    source = dense(tmp_path / "net.onnx")
    plain = converted(tmp_path, source)
    named = converted(tmp_path, source, node_block_list=("node_of_m",))
    kind = converted(tmp_path, source, op_block_list=("MatMul",))
    assert len({plain.key, named.key, kind.key}) == 3
    for made in (named, kind):
        assert made.details["nodes_in_fp32"] == plain.details["nodes_in_fp32"] + 1
        assert onnx.load(made.path).graph.initializer[0].data_type == FLOAT
    assert named.options == {"keep_io_types": "1", "node_block_list": "node_of_m"}


def constant(name: str, values: np.ndarray) -> Any:
    tensor = numpy_helper.from_array(values.astype(np.float32), name)
    return make_node("Constant", [], [name], name=f"constant_{name}", value=tensor)


@needs_supported
def test_a_constant_in_a_branch_stays_for_a_node_that_stays(tmp_path) -> None:
    """A divisor of 9.8e7 was rounded to 65,504, and the result was 1,496 times too large."""

    def nodes(name: str) -> list[Any]:
        return [
            constant(f"{name}_large", np.full(8, 9.8e7)),
            make_node("Div", ["x", f"{name}_large"], [f"{name}_d"], name=f"{name}_divide"),
            make_node("Mul", [f"{name}_d", "back"], [f"{name}_o"], name=f"{name}_multiply"),
        ]

    source = branching(tmp_path / "net.onnx", nodes, 8, back=np.float32(9.8e7))
    stays = tuple(f"{name}_{node}" for name in ("yes", "no") for node in ("divide", "multiply"))
    made = converted(tmp_path, source, node_block_list=stays)
    for taken in (True, False):
        feeds = {"x": X, "c": np.array(taken)}
        assert close(answer(made.path, **feeds), answer(source, **feeds))


@pytest.mark.parametrize("version", [3, 8])
@pytest.mark.parametrize("is_output", [True, False])
def test_a_model_with_constant_nodes_is_converted(tmp_path, version, is_output) -> None:
    """A Constant that is an output, or a model before IR version 4, could not be converted."""
    nodes = [constant("k", np.full(8, 3.0)), make_node("Add", ["x", "k"], ["y"], name="add")]
    outputs = [*ENDS[1], *[info("k", 8)][: int(is_output)]]
    source = write(tmp_path / "net.onnx", nodes, ENDS[0], outputs, ir=version)
    assert close(answer(converted(tmp_path, source).path, x=X), X + 3)


def test_a_node_that_is_not_there(tmp_path) -> None:
    source = dense(tmp_path / "net.onnx")
    with pytest.raises(UsageError, match="has no node 'larges'") as caught:
        converted(tmp_path, source, node_block_list=("larges",))
    assert "largest" in (caught.value.hint or "")


def test_operators_that_are_not_there(tmp_path) -> None:
    """One that ONNX knows may be in another model of the suite; one spelt almost so is a slip."""
    source = dense(tmp_path / "net.onnx")
    blocked = ("Softmax", "MatMul", "Celebrate")
    (notice,) = converted(tmp_path, source, op_block_list=blocked).notices
    assert notice.code == "W-BLOCK-LIST"
    assert notice.message == (
        "net.onnx has no operator Softmax, Celebrate: op_block_list keeps nothing in FP32 by it"
    )
    assert converted(tmp_path, source, op_block_list=blocked).notices == (notice,)
    (near,) = converted(tmp_path / "other", source, op_block_list=("MatMulInteger",)).notices
    assert near.evidence["nearest"] == {"MatMulInteger": "MatMul"}
    assert "MatMulInteger (nearest: MatMul)" in near.message
    assert converted(tmp_path, source).notices == ()
    with pytest.raises(UsageError, match="has no operator 'matmul'") as caught:
        converted(tmp_path, source, op_block_list=("matmul",))
    assert caught.value.hint == "did you mean MatMul?"


def test_an_operator_without_an_fp16_form_stays(tmp_path) -> None:
    """DynamicQuantizeLinear takes FP32 alone; the converter does not know."""
    nodes = [
        make_node("Relu", ["x"], ["r"]),
        make_node("DynamicQuantizeLinear", ["r"], ["y", "scale", "zero"]),
    ]
    outputs = [info("y", 4, 8, kind=TensorProto.UINT8)]
    source = write(tmp_path / "net.onnx", nodes, ENDS[0], outputs)
    made = converted(tmp_path, source)
    assert made.details["nodes_in_fp32"] == 1
    assert np.abs(answer(made.path, x=X).astype(int) - answer(source, x=X)).max() <= 1


#: Of a quantized model's values.
STEP = 0.1


def quantised(path: Path, opset: int) -> Path:
    nodes = [
        make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    held = {"scale": np.float32(STEP), "zero": np.int8(0)}
    return write(path, nodes, *ENDS, opset=opset, ir=9, **held)


@needs_supported
def test_a_quantised_model(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="no FP16 form below opset 19") as caught:
        fp16_model(quantised(tmp_path / "old.onnx", 17), tmp_path / "cache")
    assert "opset 19" in (caught.value.hint or "")
    source = quantised(tmp_path / "new.onnx", 19)
    made = converted(tmp_path, source)
    apart = np.abs(answer(made.path, x=X).astype(np.float32) - answer(source, x=X))
    assert apart.max() < 1.1 * STEP  # half way between two steps FP16 may take the other


def test_a_model_without_fp32(tmp_path) -> None:
    source = models.relu(tmp_path / "net.onnx", TensorProto.FLOAT16)
    with pytest.raises(UnsupportedError, match="holds no FP32"):
        converted(tmp_path, source)
    assert not list((tmp_path / "cache").rglob("*.onnx"))


def test_a_file_that_is_no_model(tmp_path) -> None:
    source = tmp_path / "net.onnx"
    source.write_bytes(b"not a protobuf")
    with pytest.raises(BackendError, match="not an ONNX model"):
        converted(tmp_path, source)


def test_what_the_converter_raises_is_said(tmp_path, monkeypatch) -> None:
    from onnxruntime.transformers import float16

    def fails(*_args: Any, **_options: Any) -> Any:
        raise AssertionError("twice")

    monkeypatch.setattr(float16, "convert_float_to_float16", fails)
    with pytest.raises(BackendError, match="AssertionError: twice"):
        fp16_model(dense(tmp_path / "net.onnx"), tmp_path / "cache")
    assert list((tmp_path / "cache" / model_files.FOLDER).iterdir()) == []


def external(folder: Path) -> Path:
    """Weights, and the shape of a Reshape, in a file of their own."""
    source = dense(folder / "inner.onnx", shape=[2, 16])
    model = onnx.load(source)
    source.unlink()
    model.graph.node[-1].output[0] = "s"
    model.graph.node.append(make_node("Reshape", ["s", "shape"], ["y"]))
    model.graph.output[0].CopyFrom(info("y", 2, 16))
    onnx.save(model, folder.parent / "whole.onnx")
    path = folder / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
    return path


def test_weights_in_a_file_of_their_own(tmp_path, folder, monkeypatch) -> None:
    # the shape is read first, the weights last
    monkeypatch.setattr(model_files, "_SMALL_BYTES", 64)
    made = fp16_model(external(folder), tmp_path / "cache")
    assert close(answer(made.path, x=X), answer(tmp_path / "whole.onnx", x=X))
    assert sorted(one.name for one in folder.iterdir()) == ["net.data", "net.onnx"]


def test_large_weights_are_written_apart(convnet, tmp_path, monkeypatch) -> None:
    image = np.random.default_rng(5).random((1, 3, 96, 96)).astype(np.float32)
    whole = fp16_model(convnet, tmp_path / "whole")
    monkeypatch.setattr(model_files, "_APART_BYTES", 16)
    apart = fp16_model(convnet, tmp_path / "apart")
    data = Path(f"{apart.path}.data")
    assert data.stat().st_size > Path(apart.path).stat().st_size
    assert apart.size_bytes == data.stat().st_size + Path(apart.path).stat().st_size
    assert (answer(apart.path, image=image) == answer(whole.path, image=image)).all()


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "models"
    made.mkdir()
    return made


def test_changed_weights_are_another_model(tmp_path, folder) -> None:
    source = external(folder)
    first = converted(tmp_path, source)
    data = bytearray((folder / "net.data").read_bytes())
    data[1] ^= 0x40
    (folder / "net.data").write_bytes(data)
    assert converted(tmp_path, source).key != first.key


def test_missing_weights(tmp_path, folder) -> None:
    source = external(folder)
    (folder / "net.data").unlink()
    with pytest.raises(BackendError, match=r"net\.data is missing"):
        converted(tmp_path, source)


def test_local_functions_are_inlined(tmp_path) -> None:
    opsets = [helper.make_opsetid("", 17)]
    add = make_node("Add", ["a", "a"], ["b"])
    double = helper.make_function("own", "Double", ["a"], ["b"], [add], opsets)
    nodes, more = [make_node("Double", ["x"], ["y"], domain="own")], {"domains": {"own": 1}}
    source = write(tmp_path / "net.onnx", nodes, *ENDS, functions=[double], **more)
    assert close(answer(converted(tmp_path, source).path, x=X), 2 * X)


def test_it_is_made_once_for_each_version(tmp_path, monkeypatch) -> None:
    source = dense(tmp_path / "net.onnx")
    first = converted(tmp_path, source)
    with monkeypatch.context() as patch:
        patch.setattr(fp16, "convert", lambda *_: pytest.fail("made again"))
        again = converted(tmp_path, source)
    assert (again.path, again.from_cache, first.from_cache) == (first.path, True, False)
    assert again.made_ms == first.made_ms
    monkeypatch.setattr(fp16, "versions_of", lambda *_: {"onnxruntime": "0.1"})
    assert converted(tmp_path, source).key != first.key


@pytest.mark.parametrize("spoil", ["record", "model", "cut off", "a byte"])
def test_an_entry_that_is_not_whole_is_made_anew(tmp_path, spoil) -> None:
    source = dense(tmp_path / "net.onnx")
    first = Path(converted(tmp_path, source).path)
    if spoil == "model":
        first.unlink()
    elif spoil == "cut off":
        first.write_bytes(first.read_bytes()[:-1])
    elif spoil == "a byte":  # as large as before
        first.write_bytes(models.damaged(first.read_bytes()))
    else:
        (first.parent / "made.json").write_text(json.dumps({"path": 3}))
    again = converted(tmp_path, source)
    assert not again.from_cache
    assert Path(again.path).is_file()
    assert [one.name for one in first.parent.parent.iterdir()] == [first.parent.name]


def test_weights_that_are_not_what_was_kept(convnet, tmp_path, monkeypatch) -> None:
    """They lie in a file of their own, of the same size as before."""
    monkeypatch.setattr(model_files, "_APART_BYTES", 1)
    (weights_file,) = Path(fp16_model(convnet, tmp_path / "cache").path).parent.glob("*.data")
    whole = weights_file.read_bytes()
    weights_file.write_bytes(models.damaged(whole))
    assert not fp16_model(convnet, tmp_path / "cache").from_cache
    assert weights_file.read_bytes() == whole


def test_one_that_came_first_is_taken(tmp_path) -> None:
    """Two processes make the same model: the second finds the first one's in its place."""
    first = Path(fp16_model(dense(tmp_path / "net.onnx"), tmp_path / "cache").path)
    with model_files.new_entry(first.parent, lambda: model_files._is_whole(first.parent)) as part:
        (part / first.name).write_text("the second one's")
    assert first.read_text("latin-1") != "the second one's"
    assert [one.name for one in first.parents[1].iterdir()] == [first.parent.name]


def test_a_cache_that_cannot_be_written(tmp_path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(BackendError, match="converted models in"):
        fp16_model(dense(tmp_path / "net.onnx"), tmp_path / "cache")
