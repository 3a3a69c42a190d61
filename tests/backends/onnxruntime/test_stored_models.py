"""Stored forms of a model: compiled, over a stand-in for a compiler, and optimized."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx.helper import make_node

from enginescope.backends.onnxruntime.backend import compiled_start
from enginescope.backends.onnxruntime.convert.model_files import new_entry
from enginescope.backends.onnxruntime.options import STORED_GRAPH, session_options
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.providers.providers import CPU, TENSORRT
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec, Job, Subject
from tests.backends.onnxruntime.models import info, relu, write
from tests.backends.onnxruntime.test_gpu_providers import executed, job_of, made_ready

ort = pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path):
    return relu(tmp_path / "net.onnx")


def started(runtime, model, provider=CPU, **options: str):
    subject = Subject(name=model.name, kind="onnx", path=str(model))
    spec = BackendSpec(name="ort-cpu", options={"ep_context": "1"})
    setup = Setup(model=str(model), provider=provider, provider_options=options)
    return compiled_start(runtime, Job(subject=subject, backend=spec), setup)


def runtime(**changes):
    """The installed runtime with a compiler that copies, and providers by any name."""
    made: list[tuple[str, int]] = []
    added: list[tuple[str, dict[str, str]]] = []

    class Compiler:
        def __init__(self, options, source, flags) -> None:
            made.append((source, flags))
            self.source = source

        def compile_to_file(self, target) -> None:
            shutil.copy(self.source, target)

    class Options(ort.SessionOptions):
        def add_provider(self, name, own) -> None:
            added.append((name, dict(own)))

    names = {one: getattr(ort, one) for one in dir(ort) if not one.startswith("__")}
    names |= {"ModelCompiler": Compiler, "SessionOptions": Options, "__version__": "1.32.0"}
    return SimpleNamespace(**(names | changes)), made, added


def test_both_starts_are_timed_in_turn(model) -> None:
    stand_in, made, added = runtime()
    phases, said = started(stand_in, model)
    names = ["compile_model", "session_from_model", "session_from_compiled"]
    assert [one.name for one in phases] == names
    assert said.code == "I-EP-CONTEXT"
    assert len(said.evidence["from_model_ms"]) == len(said.evidence["from_compiled_ms"]) == 3
    assert made == [(str(model), int(ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED))]
    assert added == [(CPU.name, {})]


def test_the_caches_of_the_provider_are_off(model) -> None:
    opened = []

    def session(path, options, providers, enable_fallback):
        opened.append(providers[0])

    stand_in, _, added = runtime(
        get_available_providers=lambda: [TENSORRT.name],
        InferenceSession=session,
        preload_dlls=lambda: None,
    )
    told = {"trt_engine_cache_enable": "1", "trt_engine_cache_path": "/c", "trt_fp16_enable": "1"}
    _, said = started(stand_in, model, TENSORRT, **told)
    assert said.code == "I-EP-CONTEXT", said.message
    assert [own.keys() for _, own in (*added, *opened)] == [{"trt_fp16_enable"}] * 7


def test_a_provider_that_cannot_compile_is_named(model) -> None:
    """The real compiler: the CPU provider compiles nothing."""
    if not hasattr(ort, "ModelCompiler"):
        pytest.skip(f"ONNX Runtime {ort.__version__} has no ModelCompiler")
    phases, said = started(ort, model)
    assert phases == ()
    assert said.code == "I-NO-EP-CONTEXT"
    assert "CPUExecutionProvider gives no compiled model: " in said.message
    assert "Unable to compile any nodes" in said.message


def test_an_older_runtime_has_no_compiler(model) -> None:
    stand_in, _, _ = runtime(__version__="1.20.0")
    del stand_in.ModelCompiler
    _, said = started(stand_in, model)
    assert said.message.endswith("ONNX Runtime 1.20.0 has none")


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
    w = np.arange(512 * 1024, dtype=np.float32).reshape(512, 1024)
    product = make_node("MatMul", ["x", "w"], ["y"])
    write(tmp_path / "net.onnx", [product], [info("x", 1, 512)], [info("y", 1, 1024)], w=w)
    job = job_of(tmp_path / "net.onnx", f"ort-cpu?{STORED_GRAPH}=1", tmp_path / "a")
    found = made_ready(job)
    assert Path(found.model).stat().st_size < 1 << 20
    (made,) = found.made
    assert len(made.digests) == 2
    measured = executed(replace(job, engine=found.record))
    plain = executed(job_of(tmp_path / "net.onnx", "ort-cpu", tmp_path / "a"))
    assert np.array_equal(measured.answers[0].data, plain.answers[0].data)


def test_what_is_stored_is_not_optimized_again() -> None:
    levels = [session_options(ort, {STORED_GRAPH: on}).graph_optimization_level for on in "10"]
    assert [level.name for level in levels] == ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]


def test_a_provider_that_keeps_engines_stores_no_graph() -> None:
    for name, options in (("ort-cpu", {STORED_GRAPH: "1"}), ("ort-trt", {})):
        assert load_backend(name).with_stored_build(parse_backend(name)).options == options
    with pytest.raises(UsageError, match=STORED_GRAPH):
        parse_backend(f"ort-cpu?{STORED_GRAPH}=2")


NAME = "made.json"


def test_what_another_process_has_made_meanwhile_stays(tmp_path) -> None:
    entry = tmp_path / "ort" / "key"
    is_there = (entry / NAME).is_file
    with new_entry(entry, is_there) as late:
        with new_entry(entry, is_there) as early:
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
