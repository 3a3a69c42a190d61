"""Session creation from a model and from its compiled one, over a stand-in for a compiler."""

import shutil
from types import SimpleNamespace

import pytest

from enginescope.backends.onnxruntime.backend import compiled_start
from enginescope.backends.onnxruntime.providers.opening import Setup
from enginescope.backends.onnxruntime.providers.providers import CPU, TENSORRT
from enginescope.records.run.job import BackendSpec, Job, Subject
from tests.backends.onnxruntime.models import relu

ort = pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path):
    return relu(tmp_path / "net.onnx")


def job(model) -> Job:
    return Job(
        subject=Subject(name=model.name, kind="onnx", path=str(model)),
        backend=BackendSpec(name="ort-cpu", options={"ep_context": "1"}),
    )


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
    setup = Setup(model=str(model), provider=CPU, provider_options={})
    phases, said = compiled_start(stand_in, job(model), setup)
    assert [one.name for one in phases] == [
        "compile_model",
        "session_from_model",
        "session_from_compiled",
    ]
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
    setup = Setup(model=str(model), provider=TENSORRT, provider_options=told)
    _, said = compiled_start(stand_in, job(model), setup)
    assert said.code == "I-EP-CONTEXT", said.message
    assert [own.keys() for _, own in (*added, *opened)] == [{"trt_fp16_enable"}] * 7


def test_a_provider_that_cannot_compile_is_named(model) -> None:
    """The real compiler: the CPU provider compiles nothing."""
    if not hasattr(ort, "ModelCompiler"):
        pytest.skip(f"ONNX Runtime {ort.__version__} has no ModelCompiler")
    setup = Setup(model=str(model), provider=CPU, provider_options={})
    phases, said = compiled_start(ort, job(model), setup)
    assert phases == ()
    assert said.code == "I-NO-EP-CONTEXT"
    assert "CPUExecutionProvider gives no compiled model: " in said.message
    assert "Unable to compile any nodes" in said.message


def test_an_older_runtime_has_no_compiler(model) -> None:
    stand_in, _, _ = runtime(__version__="1.20.0")
    del stand_in.ModelCompiler
    setup = Setup(model=str(model), provider=CPU, provider_options={})
    _, said = compiled_start(stand_in, job(model), setup)
    assert said.message.endswith("ONNX Runtime 1.20.0 has none")
