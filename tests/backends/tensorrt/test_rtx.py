"""TensorRT for RTX on GPUs that it serves, on others, and on none: on the stand-in."""

import sys
from collections.abc import Callable

import pytest

from enginescope.backends.registry import backend_of, load_backend, parse_backend, read_spec
from enginescope.backends.tensorrt import libraries
from enginescope.backends.tensorrt.backend import tensorrt_rtx
from enginescope.backends.tensorrt.libraries import compute_capabilities, is_served
from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError
from enginescope.records.run.job import BackendSpec
from enginescope.runner.jobs import runtime_of, usual_backend
from tests.backends.tensorrt.driving import absent, build, codes, job, measure, report, with_engine

SPEC = BackendSpec(name="trt", options={"runtime": "rtx"})
Rtx = Callable[..., object]


@pytest.fixture
def rtx(use, monkeypatch) -> Rtx:
    """The stand-in under the name of TensorRT for RTX, on a GPU of a compute capability."""

    def loaded(capability: str = "8.9", fault: str = "") -> object:
        fake = use("rtx-1.7.1", fault)
        monkeypatch.setitem(sys.modules, "tensorrt_rtx_bindings", fake.trt)
        known = ("tensorrt_rtx_bindings", "cuda.bindings")
        monkeypatch.setattr(libraries, "is_installed", lambda name: name in known)
        monkeypatch.setattr(libraries.metadata, "version", absent)
        major, _, minor = capability.partition(".")
        properties = sys.modules["fake_device.handles"].PROPERTIES
        monkeypatch.setitem(properties, "major", int(major))
        monkeypatch.setitem(properties, "minor", int(minor))
        return fake

    return loaded


def test_the_short_name_is_the_runtime() -> None:
    assert parse_backend("trt-rtx?device=1") == parse_backend("trt?runtime=rtx&device=1")
    assert (
        backend_of(read_spec("trt?runtime=rtx")).availability()
        == load_backend("trt-rtx").availability()
    )
    with pytest.raises(UsageError, match="its name says runtime=rtx"):
        parse_backend("trt-rtx?runtime=lean")


def test_a_missing_library_names_the_backend_that_needs_it(monkeypatch) -> None:
    monkeypatch.setattr(libraries, "_find", lambda runtime: None)
    for runtime, name in (("rtx", "trt-rtx"), (None, "trt")):
        with pytest.raises(MissingDependencyError) as caught:
            libraries.load(runtime)
        assert caught.value.why == f"the backend {name} needs it"


def test_compute_capabilities_are_numbers_and_there_is_no_timing_cache() -> None:
    assert parse_backend("trt-rtx?compute_capabilities=8.9,")  # a list may end so
    for text in ("8", "sm_89", ""):
        with pytest.raises(UsageError, match=r"as in 8\.6,8\.9"):
            parse_backend(f"trt-rtx?compute_capabilities={text}")
    assert parse_backend("trt-rtx?timing_cache=none")
    with pytest.raises(UsageError, match="keeps no timing cache"):
        parse_backend("trt-rtx?timing_cache=t.cache")


def test_it_is_not_taken_for_tensorrt(rtx) -> None:
    rtx()
    with pytest.raises(MissingDependencyError, match="TensorRT is not installed"):
        libraries.load()
    assert libraries.load("rtx").title == "TensorRT for RTX 1.7.1.116"
    assert libraries.load("rtx").version >= (11,)
    assert libraries.installed_version() is None
    assert libraries.installed_version("rtx") == "1.7.1.116"
    with pytest.raises(MissingDependencyError, match="this machine has no GPU 7"):
        tensorrt_rtx().require(BackendSpec(name="trt", options={"runtime": "rtx", "device": "7"}))


def test_which_gpus_it_serves(rtx) -> None:
    trt = rtx().trt
    assert compute_capabilities(trt) == ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")
    served = {one: is_served(trt, one) for one in ("7.5", "8.9", "9.0", "10.3", "12.1", "13.0")}
    assert [one for one, fits in served.items() if not fits] == ["9.0", "10.3"]
    assert not is_served(trt, None)


def test_a_gpu_that_it_serves_runs_its_engines(rtx, perceptron, engines) -> None:
    rtx("8.9")
    tensorrt_rtx().require(SPEC)
    assert tensorrt_rtx().availability().detail == "TensorRT for RTX 1.7.1.116 on Fake H200"
    built = with_engine(job(perceptron, runtime="rtx", compute_capabilities="8.9,12.0"), engines)
    assert usual_backend(built.engine) == runtime_of(engines / built.engine) == "trt-rtx"
    found = measure(built)
    assert found.samples
    assert found.plan is not None


def test_a_gpu_that_it_does_not_serve_has_both_facts(rtx) -> None:
    rtx("9.0")
    with pytest.raises(MissingDependencyError) as caught:
        tensorrt_rtx().require(SPEC)
    assert "Fake H200 cannot run engines of TensorRT for RTX" in str(caught.value)
    assert "7.5, 8.0, 8.6, 8.9, 12.0, 12.1 and newer; this GPU has 9.0" in str(caught.value)
    assert "enginescope build MODEL --on trt-rtx" in (caught.value.hint or "")
    assert not tensorrt_rtx().availability().usable


@pytest.mark.parametrize("fault", ["no_gpu", "no_driver"])
def test_a_machine_without_a_gpu_has_both_facts(rtx, use, monkeypatch, fault) -> None:
    rtx(fault=fault)
    with pytest.raises(MissingDependencyError, match=r"runs on compute.*this machine: cudaError"):
        tensorrt_rtx().require(SPEC)
    tensorrt_rtx().require_for_build(SPEC)
    monkeypatch.undo()
    use(fault=fault)  # TensorRT itself builds on a GPU only
    with pytest.raises(MissingDependencyError, match="no NVIDIA GPU"):
        load_backend("trt").require_for_build(BackendSpec(name="trt"))


@pytest.mark.parametrize(("capability", "fault"), [("9.0", ""), ("8.9", "no_gpu")])
def test_it_builds_where_it_cannot_run(rtx, perceptron, engines, capability, fault) -> None:
    rtx(capability, fault)
    one = job(perceptron, runtime="rtx", engine_cache=str(engines))
    found = build(one)
    assert report(found).compute_capabilities == ("8.0", "8.6", "8.9", "12.0", "12.1")
    assert codes(found) >= {"W-NO-PLAN"}
    assert (report(found).device is None) is bool(fault)
    assert tensorrt_rtx().engine_for(one).from_cache


def test_an_engine_for_other_gpus_is_refused_with_both_facts(rtx, perceptron, engines) -> None:
    rtx("8.6")
    built = with_engine(job(perceptron, runtime="rtx", compute_capabilities="8.9"), engines)
    with pytest.raises(UnsupportedError, match=r"has compute capability 8.6. Supported .*: 8.9"):
        measure(built)


def test_tensorrt_loads_no_engine_of_rtx(rtx, use, perceptron, engines, monkeypatch) -> None:
    rtx()
    built = with_engine(job(perceptron, runtime="rtx"), engines)
    monkeypatch.undo()
    use("11.4.0")
    plain = job(engines / "x.engine", engine=built.engine)
    with pytest.raises(UnsupportedError, match="cannot load") as caught:
        measure(plain)
    assert "--on trt-rtx" in (caught.value.hint or "")
