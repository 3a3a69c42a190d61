"""What trtexec is fed: the arrays that every backend gets."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from enginescope.backends.base import InputSpec
from enginescope.backends.trtexec.inputs import at_optimum, onnx_inputs, write_inputs
from enginescope.backends.trtexec.options import Flags
from enginescope.core.errors import BackendError, FormatError, UnsupportedError
from enginescope.records.run.job import InputFile, InputRange, InputShape
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.onnxruntime import models
from tests.backends.trtexec.jobs import job, workload

OLD, NEW = (8, 6, 1), (10, 16, 0)


def written(one, version, folder):
    flags = Flags(version)
    fed = write_inputs(flags, one, lambda specs: make_feeds(specs, one.workload), folder)
    return fed, flags.arguments


def values(folder, dtype):
    return np.frombuffer((folder / "input_0.bin").read_bytes(), dtype)


def test_the_arrays_are_those_of_every_backend(tmp_path, convnet) -> None:
    one = job(convnet, workload=workload(batch=2, seed=7))
    fed, arguments = written(one, NEW, tmp_path)
    assert arguments == [
        "--shapes=image:2x3x96x96",
        f"--loadInputs=image:{tmp_path / 'input_0.bin'}",
    ]
    (spec,) = [t for t in fed.tensors if t.name == "image"]
    assert spec.shape == (2, 3, 96, 96)
    assert fed.batch == 2
    expected = make_feeds(onnx_inputs(convnet), one.workload).arrays["image"]
    np.testing.assert_array_equal(values(tmp_path, "<f4").reshape(expected.shape), expected)


def test_a_static_model_has_no_shapes(tmp_path) -> None:
    _, arguments = written(job(models.relu(tmp_path / "m.onnx")), NEW, tmp_path)
    assert [one.partition("=")[0] for one in arguments] == ["--loadInputs"]
    one = job(models.relu(tmp_path / "m.onnx"), options={"input_formats": "fp16:chw"})
    fed, arguments = written(one, NEW, tmp_path)
    assert arguments == []
    assert [notice.code for notice in fed.notices] == ["I-OWN-FILL"]


def test_int64_is_narrowed_where_tensorrt_has_none(tmp_path) -> None:
    path = models.lookup(tmp_path / "m.onnx")
    shaped = workload(
        shapes=(InputShape(name="ids", dims=(1, 5)),),
        ranges=(InputRange(name="ids", low=0, high=9),),
    )
    written(job(path, workload=shaped), OLD, tmp_path)
    old = values(tmp_path, "<i4")
    written(job(path, workload=shaped), NEW, tmp_path)
    np.testing.assert_array_equal(values(tmp_path, "<i8"), old)
    assert old.size == 5
    wide = workload(ranges=(InputRange(name="ids", low=2**40, high=2**40),))
    with pytest.raises(UnsupportedError, match="before 10 has no INT64"):
        written(job(path, workload=wide), OLD, tmp_path)


def test_doubles_are_what_the_parser_makes_of_them(tmp_path) -> None:
    written(job(models.relu(tmp_path / "m.onnx", TensorProto.DOUBLE)), NEW, tmp_path)
    assert values(tmp_path, "<f4").size == 8


def test_unbounded_integers_are_remembered(tmp_path) -> None:
    fed, _ = written(job(models.lookup(tmp_path / "m.onnx")), NEW, tmp_path)
    assert fed.random_integers == ("ids",)


def test_a_profiles_optimum_is_what_is_fed_by_default(tmp_path) -> None:
    path = models.lookup(tmp_path / "m.onnx")
    options = {"opt_shapes": "ids:2x4;ids:3x5", "profile_index": "1"}
    _, arguments = written(job(path, options=options), NEW, tmp_path)
    assert arguments[0] == "--shapes=ids:3x5"
    shaped = workload(shapes=(InputShape(name="ids", dims=(1, 7)),))
    _, arguments = written(job(path, options=options, workload=shaped), NEW, tmp_path)
    assert arguments[0] == "--shapes=ids:1x7"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (models.strings, "it holds strings"),
        (lambda path: models.relu(path, x="a,b"), "comma"),  # trtexec would split the name
    ],
)
def test_inputs_that_trtexec_cannot_be_given(tmp_path, model, message) -> None:
    with pytest.raises(UnsupportedError, match=message):
        written(job(model(tmp_path / "m.onnx")), NEW, tmp_path)


def test_an_engine_fills_itself(tmp_path, engine) -> None:
    fed, arguments = written(job(engine), NEW, tmp_path)
    assert (arguments, fed.tensors) == ([], ())
    assert [notice.code for notice in fed.notices] == ["I-OWN-FILL"]


def test_shapes_and_files_for_an_engine(tmp_path, engine) -> None:
    np.save(tmp_path / "x.npy", np.arange(4, dtype=">i4"))
    (tmp_path / "y.dat").write_bytes(b"raw")
    names = {"x": "x.npy", "y": "y.dat"}
    files = tuple(InputFile(name=key, path=str(tmp_path / name)) for key, name in names.items())
    given = workload(shapes=(InputShape(name="x", dims=(1, 4)),), files=files)
    fed, arguments = written(job(engine, workload=given), NEW, tmp_path)
    first, second = tmp_path / "input_0.bin", tmp_path / "input_1.bin"
    assert arguments == ["--shapes=x:1x4", f"--loadInputs=x:{first},y:{second}"]
    np.testing.assert_array_equal(values(tmp_path, "<i4"), [0, 1, 2, 3])
    assert second.read_bytes() == b"raw"
    assert "x, y came from files" in fed.notices[0].message


@pytest.mark.parametrize("name", ["x.npy", "x.dat"])
def test_a_file_for_an_engine_that_cannot_be_read(tmp_path, engine, name) -> None:
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY and no more")
    given = workload(files=(InputFile(name="x", path=str(tmp_path / name)),))
    with pytest.raises(FormatError, match=name):
        written(job(engine, workload=given), NEW, tmp_path)


@pytest.mark.parametrize(
    ("given", "word"),
    [({"ranges": (InputRange(name="x", low=0, high=1),)}, "range"), ({"batch": 4}, "batch")],
)
def test_what_needs_to_know_the_engine(tmp_path, engine, given, word) -> None:
    with pytest.raises(UnsupportedError, match=f"a {word} for net.engine"):
        written(job(engine, workload=workload(**given)), NEW, tmp_path)


def test_names_types_and_dynamic_dimensions(tmp_path) -> None:
    (ids,) = onnx_inputs(models.lookup(tmp_path / "m.onnx"))
    shape = ("batch", "n")
    wanted = InputSpec(name="ids", dtype=DataType.INT64, shape=shape, type_text="tensor(int64)")
    assert ids == wanted


def test_an_input_with_an_initial_value_is_none(tmp_path) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"], name="add")
    inputs = [models.info("x", 1, 8), models.info("w", 8)]
    w, y = np.ones(8, np.float32), models.info("y", 1, 8)
    path = models.write(tmp_path / "m.onnx", [node], inputs, [y], w=w)
    assert [one.name for one in onnx_inputs(path)] == ["x"]


def test_a_dimension_without_a_name_and_a_sequence(tmp_path) -> None:
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    unnamed = models.info("x", None, 4, kind=TensorProto.FLOAT16)
    node = helper.make_node("Identity", ["x"], ["y"], name="echo")
    y = models.info("y", 1, 4, kind=TensorProto.FLOAT16)
    first, second = onnx_inputs(models.write(tmp_path / "m.onnx", [node], [unnamed, sequence], [y]))
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
