"""The graph that ONNX Runtime optimizes, stored: the same outputs, no second optimization."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from enginescope.backends.onnxruntime.convert.model_files import new_entry
from enginescope.backends.onnxruntime.options import STORED_GRAPH, session_options
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from tests.backends.onnxruntime.test_gpu_providers import executed, job_of, made_ready


def nodes(path: str) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def test_the_stored_graph_is_optimized_and_gives_the_same_outputs(convnet, tmp_path) -> None:
    plain = job_of(convnet, "ort-cpu", tmp_path / "a")
    job = job_of(convnet, f"ort-cpu?{STORED_GRAPH}=1", tmp_path / "a")
    assert not load_backend("ort-cpu").needs_preparation(plain)
    assert load_backend("ort-cpu").needs_preparation(job)
    found = made_ready(job)
    (made,) = found.made
    assert (made.kind, made.path) == ("optimized", found.model)
    assert Path(found.model).is_relative_to(tmp_path / "a")
    assert nodes(found.model) != nodes(str(convnet))
    measured, usual = executed(replace(job, engine=found.record)), executed(plain)
    for ours, theirs in zip(measured.answers, usual.answers, strict=True):
        assert np.array_equal(ours.data, theirs.data)


def test_it_is_made_once_for_a_cache_and_anew_for_another(convnet, tmp_path) -> None:
    backend = load_backend("ort-cpu")
    job = job_of(convnet, f"ort-cpu?{STORED_GRAPH}=1", tmp_path / "a")
    made_ready(job)
    assert backend.prepared_for(job).from_cache
    assert backend.prepared_for(replace(job, engine_cache=str(tmp_path / "b"))) is None


def test_large_weights_lie_beside_it(tmp_path) -> None:
    weights = np.arange(512 * 1024, dtype=np.float32).reshape(512, 1024)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 512))],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 1024))],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.save(model, tmp_path / "net.onnx")
    job = job_of(tmp_path / "net.onnx", f"ort-cpu?{STORED_GRAPH}=1", tmp_path / "a")
    found = made_ready(job)
    assert Path(found.model).stat().st_size < 1 << 20
    (made,) = found.made
    assert len(made.digests) == 2
    measured = executed(replace(job, engine=found.record))
    plain = executed(job_of(tmp_path / "net.onnx", "ort-cpu", tmp_path / "a"))
    assert np.array_equal(measured.answers[0].data, plain.answers[0].data)


def test_what_is_stored_is_not_optimized_again() -> None:
    levels = onnxruntime.GraphOptimizationLevel
    stored = session_options(onnxruntime, {STORED_GRAPH: "1"})
    assert stored.graph_optimization_level == levels.ORT_DISABLE_ALL
    usual = session_options(onnxruntime, {STORED_GRAPH: "0"})
    assert usual.graph_optimization_level == levels.ORT_ENABLE_ALL


def test_a_provider_that_keeps_engines_stores_no_graph() -> None:
    for name, options in (("ort-cpu", {STORED_GRAPH: "1"}), ("ort-trt", {})):
        spec = parse_backend(name)
        assert load_backend(name).with_stored_build(spec).options == options


def test_another_value_is_refused() -> None:
    with pytest.raises(UsageError, match=STORED_GRAPH):
        parse_backend(f"ort-cpu?{STORED_GRAPH}=2")


NAME = "made.json"


def is_there(entry: Path) -> bool:
    return (entry / NAME).is_file()


def test_what_another_process_has_made_meanwhile_stays(tmp_path) -> None:
    entry = tmp_path / "ort" / "key"
    with new_entry(entry, lambda: is_there(entry)) as late:
        with new_entry(entry, lambda: is_there(entry)) as early:
            (early / NAME).write_text("early")
        (late / NAME).write_text("late")
    assert (entry / NAME).read_text() == "early"
    assert [one.name for one in entry.parent.iterdir()] == ["key"]


def test_what_was_not_whole_before_is_made_anew(tmp_path) -> None:
    entry = tmp_path / "key"
    for by in ("first", "second"):
        with new_entry(entry, lambda: False) as part:
            (part / NAME).write_text(by)
    assert (entry / NAME).read_text() == "second"


def test_of_what_fails_nothing_is_kept(tmp_path) -> None:
    with pytest.raises(ValueError, match="no"), new_entry(tmp_path / "key", lambda: False):
        raise ValueError("no")
    assert not any(tmp_path.iterdir())
