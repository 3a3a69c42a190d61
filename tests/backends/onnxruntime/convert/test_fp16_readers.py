"""Models that ONNX Runtime loads and a library of the conversion does not read."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.helper import make_node

from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, fp16_model
from enginescope.core.errors import BackendError, innermost_reason
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime.convert.test_fp16 import weights
from tests.backends.onnxruntime.models import branch, info, write
from tests.backends.onnxruntime.test_backend import QUICK
from tests.overflowing import TENSOR, overflowing

pytestmark = pytest.mark.skipif(find_spec("onnx_ir") is None, reason="needs onnx_ir")
FLOAT = TensorProto.FLOAT
W = weights(4, 3)
X, Y = info("x", "N", 4), info("y", "N", 3)
ML = {"domains": {"ai.onnx.ml": 2}}


def constant(name: str, value: float) -> Any:
    return onnx.numpy_helper.from_array(np.array([value], np.float32), name)


def with_a_map(path: Path, *, scaled: bool = False) -> Path:
    """Scores by class, as scikit-learn's classifiers are exported.

    Args:
        scaled: Behind a scaler, whose output has a type that ONNX does not infer.
    """
    kinds = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    out = helper.make_value_info("z", helper.make_sequence_type_proto(kinds))
    labels = {"domain": "ai.onnx.ml", "classlabels_int64s": [0, 1, 2]}
    scaling = {"domain": "ai.onnx.ml", "offset": [0.5], "scale": [2.0]}
    nodes = [
        *([make_node("Scaler", ["x"], ["s"], **scaling)] if scaled else []),
        make_node("MatMul", ["s" if scaled else "x", "w"], ["m"]),
        make_node("Softmax", ["m"], ["p"]),
        make_node("ZipMap", ["p"], ["z"], **labels),
    ]
    return write(path, nodes, [X], [out], w=W, **ML)


def of_features(path: Path) -> Path:
    """Operators of ``ai.onnx.ml`` between two of ONNX's own."""
    own = {"domain": "ai.onnx.ml"}
    nodes = [
        make_node("MatMul", ["x", "w"], ["m"]),
        make_node("FeatureVectorizer", ["m", "x"], ["f"], inputdimensions=[3, 4], **own),
        make_node("Normalizer", ["f"], ["n"], norm="L2", **own),
        make_node("Mul", ["n", "two"], ["y"]),
    ]
    return write(path, nodes, [X], [info("y", "N", 7)], w=W, two=np.float32([2]), **ML)


def branches(path: Path, *, outer: bool) -> Path:
    """Two branches that both declare a weight `one`, or one of them and the graph around it."""
    t = info("t", "N", 3)
    then = branch("then", [make_node("Add", ["m", "one"], ["t"])], t, constant("one", 1))
    own = [] if outer else [constant("one", 2)]
    other = branch("else", [make_node("Sub", ["m", "one"], ["t"])], t, *own)
    nodes = [
        make_node("MatMul", ["x", "w"], ["m"]),
        make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    held = [constant("one", 5)] if outer else []
    return write(path, nodes, [X, info("c", kind=TensorProto.BOOL)], [Y], w=W, weights=held)


def twice(path: Path) -> Path:
    nodes = [make_node("MatMul", ["x", "w"], ["m"]), make_node("Add", ["m", "one"], ["y"])]
    return write(path, nodes, [X], [Y], w=W, weights=[constant("one", 1), constant("one", 7)])


def shadowing(path: Path) -> Path:
    """A loop whose body calls what it carries as the graph calls its input."""
    going, goes_on = (info(name, kind=TensorProto.BOOL) for name in ("going", "goes_on"))
    body = helper.make_graph(
        [make_node("Identity", ["going"], ["goes_on"]), make_node("MatMul", ["x", "w"], ["m"])],
        "body",
        [info("at", kind=TensorProto.INT64), going, X],
        [goes_on, info("m", "N", 4)],
    )
    nodes = [
        make_node("Relu", ["x"], ["r"]),
        make_node("Loop", ["n", "yes", "r"], ["y"], body=body),
    ]
    return write(path, nodes, [X], [info("y", "N", 4)], w=weights(4, 4), n=2, yes=True)


def two_outputs_of_one_name(path: Path) -> Path:
    return write(path, [make_node("MatMul", ["x", "w"], ["y"])], [X], [Y, Y], w=W)


def session(path: str | Path, **options: Any) -> Any:
    made = onnxruntime.SessionOptions()
    made.log_severity_level = 4
    for name, value in options.items():
        setattr(made, name, value)
    return onnxruntime.InferenceSession(str(path), made, providers=["CPUExecutionProvider"])


WRITTEN = {
    "map": with_a_map,
    "scaled map": partial(with_a_map, scaled=True),
    "features": of_features,
    "twice": twice,
    "branches": partial(branches, outer=False),
    "outer": partial(branches, outer=True),
    "shadowing": shadowing,
    "outputs": two_outputs_of_one_name,
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_onnx_runtime_loads_is_converted(kind, tmp_path) -> None:
    source = WRITTEN[kind](tmp_path / "net.onnx")
    before, after = session(source), session(fp16_model(source, tmp_path / "cache").path)
    x = np.random.default_rng(3).standard_normal((2, 4)).astype(np.float32)
    for chosen in (True, False):
        given = {"x": x, "c": np.array(chosen)}
        feeds = {one.name: given[one.name] for one in before.get_inputs()}
        assert len(before.get_outputs()) == len(after.get_outputs())
        a, b = before.run(None, feeds)[-1], after.run(None, feeds)[-1]
        if kind.endswith("map"):
            a, b = ([[row[key] for key in sorted(row)] for row in one] for one in (a, b))
        assert np.allclose(a, b, rtol=1e-2, atol=1e-2)


def test_a_reason_is_the_innermost_one_of_the_library_that_raised_it() -> None:
    import onnx_ir

    kinds = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    graph = helper.make_graph([], "none", [helper.make_value_info("z", kinds)], [])
    with pytest.raises(onnx_ir.serde.SerdeError) as caught:
        onnx_ir.from_proto(helper.make_model(graph))
    said = innermost_reason(caught.value, "onnxruntime")
    assert said.startswith("onnx_ir: NotImplementedError: Map types")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "hint"),
    [("twice", None), ("no kernel for MatMul here", "?op_block_list=MatMul keeps MatMul in fp32")],
)
def test_a_hint_is_given_only_if_it_can_help(text, hint, tmp_path, monkeypatch) -> None:
    from onnxruntime.transformers import float16

    def fails(*_args: Any, **_options: Any) -> Any:
        raise AssertionError(text)

    monkeypatch.setattr(float16, "convert_float_to_float16", fails)
    with pytest.raises(BackendError) as caught:
        fp16_model(twice(tmp_path / "net.onnx"), tmp_path / "cache")
    assert caught.value.hint == hint


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("model", ["convnet", "transformer"])
def test_a_model_whose_fp16_the_runtime_removes_is_noticed(model, request, tmp_path) -> None:
    """Its CPU provider moves values in FP16, and computes little in it, on x86 nothing."""
    file = request.getfixturevalue(model)
    jobs = make_jobs([file], ["ort-cpu:fp16"], QUICK, engine_cache=tmp_path)
    (run,) = run_jobs(jobs, lambda _: None)
    notes = {one.code: one for one in run.notices}
    optimized = tmp_path / "optimized.onnx"
    session(run.preparation.made[-1].path, optimized_model_filepath=str(optimized))
    graph = onnx.load(optimized).graph
    half = {one.name for one in graph.value_info if one.type.tensor_type.elem_type == 10}
    half |= {one.name for one in graph.initializer if one.data_type == 10}
    moves = {"Cast", "Flatten", "Reshape", "Transpose"}
    kept = [n for n in graph.node if n.op_type not in moves and half & {*n.input, *n.output}]
    assert ("W-NOT-FP16" in notes) == (not kept)
    if not kept:
        assert "computation is FP32" in notes["W-NOT-FP16"].message


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("key", "value"), [("offset", "-8"), ("length", "-4"), ("offset", "x")])
def test_an_unsound_place_of_external_weights_is_said(key, value, tmp_path) -> None:
    held = TensorProto(name="w", data_type=FLOAT, dims=[4, 3], data_location=1)
    for name, text in {"location": "w.bin", "offset": "0", "length": "48", key: value}.items():
        held.external_data.add(key=name, value=text)
    (tmp_path / "w.bin").write_bytes(bytes(48))
    node = make_node("MatMul", ["x", "w"], ["y"])
    source = write(
        tmp_path / "net.onnx", [node], [info("x", 2, 4)], [info("y", 2, 3)], weights=[held]
    )
    (run,) = run_jobs(make_jobs([source], ["ort-cpu:fp16"], QUICK), lambda _: None)
    assert run.outcome.kind.value == "failed"
    assert "external data of weight w" in (run.outcome.message or "")
    assert run.outcome.hint == "export the model again, or fetch it again"


#: What stays in FP32 hands on FP32.
KEPT = Fp16Options(node_block_list=("loud", "pool", "scale"))


@pytest.mark.filterwarnings("ignore")
def test_values_that_fp16_cannot_hold_go_from_one_kept_node_to_the_next(tmp_path) -> None:
    model = overflowing(tmp_path / "net.onnx", by_constant=True)
    made = onnx.load(fp16_model(model, tmp_path / "cache", KEPT).path)
    readers = {one.name: one for one in made.graph.node}
    assert readers["loud"].output[0] == readers["pool"].input[0]
    assert readers["pool"].output[0] == readers["scale"].input[0]
    # and where the kept nodes end a cast is still there
    casts = {one.input[0]: one for one in made.graph.node if one.op_type == "Cast"}
    assert casts[readers["scale"].output[0]].attribute[0].i == onnx.TensorProto.FLOAT16
    x = np.random.default_rng(0).uniform(-1, 1, (1, 8, 32, 32)).astype(np.float32)
    wanted, found, spoilt = (
        session(path).run(None, {"x": x})[0]
        for path in (
            model,
            fp16_model(model, tmp_path / "cache", KEPT).path,
            fp16_model(model, tmp_path / "cache").path,
        )
    )
    np.testing.assert_allclose(found, wanted, atol=5e-3 * float(wanted.std()), rtol=5e-3)
    assert float(np.abs(spoilt - wanted).max()) > 0.5 * float(wanted.std())


@pytest.mark.filterwarnings("ignore")
def test_an_output_between_two_kept_nodes_is_still_given(tmp_path) -> None:
    path = overflowing(tmp_path / "net.onnx", by_constant=True)
    model = onnx.load(path)
    model.graph.output.append(onnx.ValueInfoProto(name=TENSOR))
    model.graph.output[-1].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    onnx.save(model, path)
    made = fp16_model(path, tmp_path / "cache", KEPT).path
    x = np.zeros((1, 8, 32, 32), np.float32)
    opened = session(made)
    assert [one.name for one in opened.get_outputs()] == ["y", TENSOR]
    assert opened.run(None, {"x": x})[1].dtype == np.float32
