"""Models that ONNX Runtime loads and a library of the conversion does not read."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginescope.backends.onnxruntime.convert.fp16 import fp16_model
from enginescope.core.errors import BackendError, innermost_reason
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.convert.test_fp16 import weights
from tests.backends.onnxruntime.test_backend import QUICK

pytestmark = pytest.mark.skipif(find_spec("onnx_ir") is None, reason="needs onnx_ir")
FLOAT = TensorProto.FLOAT


def constant(name: str, value: float) -> Any:
    return numpy_helper.from_array(np.array([value], np.float32), name)


def with_a_map(path: Path, *, scaled: bool = False) -> Path:
    """Scores by class, as scikit-learn's classifiers are exported.

    Args:
        scaled: Behind a scaler, whose output has a type that ONNX does not infer.
    """
    kinds = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    out = helper.make_value_info("z", helper.make_sequence_type_proto(kinds))
    labels = {"domain": "ai.onnx.ml", "classlabels_int64s": [0, 1, 2]}
    scaler = helper.make_node(
        "Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[0.5], scale=[2.0]
    )
    nodes = [
        *([scaler] if scaled else []),
        helper.make_node("MatMul", ["s" if scaled else "x", "w"], ["m"]),
        helper.make_node("Softmax", ["m"], ["p"]),
        helper.make_node("ZipMap", ["p"], ["z"], **labels),
    ]
    x = models.info("x", "N", 4)
    graph = helper.make_graph(nodes, "zip", [x], [out], [weights("w", 4, 3)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    onnx.save_model(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)
    return path


def of_features(path: Path) -> Path:
    """Operators of ``ai.onnx.ml`` between two of ONNX's own."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("FeatureVectorizer", ["m", "x"], ["f"], domain="ai.onnx.ml",
                         inputdimensions=[3, 4]),
        helper.make_node("Normalizer", ["f"], ["n"], domain="ai.onnx.ml", norm="L2"),
        helper.make_node("Mul", ["n", "two"], ["y"]),
    ]  # fmt: skip
    x, y = models.info("x", "N", 4), models.info("y", "N", 7)
    graph = helper.make_graph(nodes, "features", [x], [y], [weights("w", 4, 3), constant("two", 2)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    onnx.save_model(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)
    return path


def branches(path: Path, *, outer: bool) -> Path:
    """Two branches that both declare a weight `one`, or one of them and the graph around it."""
    y = [models.info("t", "N", 3)]
    then = helper.make_graph(
        [helper.make_node("Add", ["m", "one"], ["t"])], "then", [], y, [constant("one", 1)]
    )
    own = [] if outer else [constant("one", 2)]
    other = helper.make_graph([helper.make_node("Sub", ["m", "one"], ["t"])], "else", [], y, own)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    held = [weights("w", 4, 3), *([constant("one", 5)] if outer else [])]
    ends = [models.info("x", "N", 4), models.info("c", kind=TensorProto.BOOL)]
    return models.write(path, nodes, ends, [models.info("y", "N", 3)], weights=held)


def twice(path: Path) -> Path:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "one"], ["y"]),
    ]
    held = [weights("w", 4, 3), constant("one", 1), constant("one", 7)]
    ends = [models.info("x", "N", 4)], [models.info("y", "N", 3)]
    return models.write(path, nodes, *ends, weights=held)


def shadowing(path: Path) -> Path:
    """A loop whose body calls what it carries as the graph calls its input."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["goes_on"]),
            helper.make_node("MatMul", ["x", "w"], ["m"]),
        ],
        "body",
        [
            models.info("at", kind=TensorProto.INT64),
            models.info("going", kind=TensorProto.BOOL),
            models.info("x", "N", 4),
        ],
        [models.info("goes_on", kind=TensorProto.BOOL), models.info("m", "N", 4)],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Loop", ["n", "yes", "r"], ["y"], body=body),
    ]
    held = [
        weights("w", 4, 4),
        numpy_helper.from_array(np.array(2), "n"),
        numpy_helper.from_array(np.array(True), "yes"),
    ]
    ends = [models.info("x", "N", 4)], [models.info("y", "N", 4)]
    return models.write(path, nodes, *ends, weights=held)


def two_outputs_of_one_name(path: Path) -> Path:
    y = models.info("y", "N", 3)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    ends = [models.info("x", "N", 4)], [y, y]
    return models.write(path, nodes, *ends, weights=[weights("w", 4, 3)])


def session(path: str | Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


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
    made = fp16_model(source, tmp_path / "cache")
    before, after = session(source), session(made.path)
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


@pytest.mark.parametrize("model", ["convnet", "transformer"])
def test_a_model_whose_fp16_the_runtime_removes_is_noticed(model, request, tmp_path) -> None:
    """Its CPU provider moves values in FP16, and computes little in it, on x86 nothing."""
    file = request.getfixturevalue(model)
    jobs = make_jobs([file], ["ort-cpu:fp16"], QUICK, engine_cache=tmp_path)
    (run,) = run_jobs(jobs, lambda _: None)
    notes = {one.code: one for one in run.notices}
    optimized = tmp_path / "optimized.onnx"
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(optimized)
    made = run.preparation.made[-1].path
    onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    graph = onnx.load(optimized).graph
    half = {one.name for one in graph.value_info if one.type.tensor_type.elem_type == 10}
    half |= {one.name for one in graph.initializer if one.data_type == 10}
    moves = {"Cast", "Flatten", "Reshape", "Transpose"}
    kept = [n for n in graph.node if n.op_type not in moves and half & {*n.input, *n.output}]
    assert ("W-NOT-FP16" in notes) == (not kept)
    if not kept:
        assert "computation is FP32" in notes["W-NOT-FP16"].message


@pytest.mark.parametrize(("key", "value"), [("offset", "-8"), ("length", "-4"), ("offset", "x")])
def test_an_unsound_place_of_external_weights_is_said(key, value, tmp_path) -> None:
    held = onnx.TensorProto(name="w", data_type=FLOAT, dims=[4, 3], data_location=1)
    for name, text in {"location": "w.bin", "offset": "0", "length": "48", key: value}.items():
        held.external_data.add(key=name, value=text)
    (tmp_path / "w.bin").write_bytes(bytes(48))
    ends = [models.info("x", 2, 4)], [models.info("y", 2, 3)]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", *ends, [held])
    source = tmp_path / "net.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save_model(helper.make_model(graph, ir_version=8, opset_imports=opsets), source)
    (run,) = run_jobs(make_jobs([source], ["ort-cpu:fp16"], QUICK), lambda _: None)
    assert run.outcome.kind.value == "failed"
    assert "external data of weight w" in (run.outcome.message or "")
    assert run.outcome.hint == "export the model again, or fetch it again"
