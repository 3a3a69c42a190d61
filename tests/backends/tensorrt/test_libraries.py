"""What is said where TensorRT or the CUDA runtime is missing, or does not load."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginescope.backends.tensorrt import libraries
from enginescope.backends.tensorrt.backend import TrtBackend
from enginescope.backends.tensorrt.build.build import build_engine
from enginescope.backends.tensorrt.cuda import Cuda, Driver
from enginescope.backends.tensorrt.libraries import Libraries, installed_version, load
from enginescope.core.errors import BackendError, MissingDependencyError, UnsupportedError
from enginescope.records.run.job import BackendSpec
from tests.backends.tensorrt.driving import absent, build, job, measure, report


def test_neither_tensorrt_nor_cuda(monkeypatch) -> None:
    monkeypatch.setattr(libraries, "is_installed", lambda _: False)
    with pytest.raises(MissingDependencyError, match="TensorRT is not installed") as caught:
        TrtBackend().require(BackendSpec(name="trt"))
    assert "pip install tensorrt" in (caught.value.hint or "")
    found = TrtBackend().availability()
    assert not found.usable
    assert "pip install" in (found.hint or "")
    assert installed_version() is None


def test_a_runtime_that_is_not_installed_is_named(use) -> None:
    use()
    for runtime in ("lean", "dispatch"):
        with pytest.raises(MissingDependencyError, match=f"{runtime} runtime") as caught:
            load(runtime)
        assert f"tensorrt-{runtime}-cu13" in (caught.value.hint or "")
        assert installed_version(runtime) is None


def test_the_version_is_known_without_an_import(each, monkeypatch) -> None:
    del sys.modules["tensorrt"]
    assert installed_version() == each.trt.__version__
    assert "tensorrt" not in sys.modules
    assert load().version[:2] == libraries.version_numbers(each.trt.__version__)[:2]
    # without a distribution it is the module's
    monkeypatch.setattr(libraries.metadata, "version", absent)
    assert installed_version() == each.trt.__version__


@pytest.mark.parametrize(
    "error", ["OSError('libnvinfer.so.10: cannot open')", "RuntimeError('no')"]
)
def test_a_package_whose_libraries_do_not_load(use, tmp_path, monkeypatch, error) -> None:
    use()
    package = tmp_path / "broken" / "tensorrt"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"raise {error}\n")
    for name in [one for one in sys.modules if one.split(".")[0] == "tensorrt"]:
        del sys.modules[name]
    monkeypatch.setattr(libraries.metadata, "version", absent)
    with pytest.MonkeyPatch.context() as patch:  # undone before the stand-in leaves the path
        patch.syspath_prepend(str(package.parent))
        with pytest.raises(MissingDependencyError, match="does not load"):
            load()
        assert installed_version() is None


def test_tensorrt_without_cuda_bindings(use) -> None:
    use()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cuda.bindings.runtime", None)
        with pytest.raises(MissingDependencyError, match="cuda") as caught:
            load()
    assert "enginescope[trt]" in (caught.value.hint or "")


def test_errors_of_the_bindings_are_named(use, monkeypatch) -> None:
    fake = use()

    def raises():  # as those before 13 do where there is no driver
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    monkeypatch.setattr(fake.cuda, "cudaGetDeviceCount", raises)
    with pytest.raises(MissingDependencyError, match=r"no NVIDIA GPU.*libcuda"):
        TrtBackend().require(BackendSpec(name="trt"))
    assert not TrtBackend().availability().usable
    monkeypatch.setattr(fake.cuda, "cudaGetDeviceCount", lambda: (0, 0))
    with pytest.raises(UnsupportedError, match="there is none"):
        Driver(fake.cuda).device_count()
    monkeypatch.undo()
    fake = use()
    error = fake.cuda.cudaError_t.cudaErrorInvalidValue
    with pytest.raises(BackendError, match="this: cudaErrorInvalidValue: invalid argument"):
        Driver(fake.cuda).check((error, None), "this")
    with pytest.raises(UnsupportedError, match="GPU 3: this machine shows 1"):
        Cuda(fake.cuda, 3)
    with pytest.raises(UnsupportedError, match=r"this TensorRT has no DataType.FP3"):
        libraries.member(fake.trt.DataType, "FP3", "type fp3")


def test_a_runtime_that_only_runs_does_not_build(use, perceptron, engines) -> None:
    fake = use()
    lean = Libraries(trt=fake.trt, cuda=fake.cuda, driver=fake.driver, runtime="lean")
    with pytest.raises(UnsupportedError, match="lean runtime cannot build") as caught:
        build_engine(lean, job(perceptron, engine_cache=str(engines)), lambda _: None)
    assert "version_compatible=1" in (caught.value.hint or "")


def test_a_lean_runtime_runs_what_was_built_for_it(use, perceptron, tmp_path, monkeypatch) -> None:
    fake = use()
    made = report(build(job(perceptron, engine_cache=str(tmp_path), version_compatible="1")))
    path = tmp_path / "net.engine"
    path.write_bytes(Path(made.engine).read_bytes())
    # the lean runtime has the same names, less the builder and the plugins
    lean = SimpleNamespace(**{name: getattr(fake.trt, name) for name in dir(fake.trt)})
    for name in ("Builder", "OnnxParser", "init_libnvinfer_plugins", "get_plugin_registry"):
        delattr(lean, name)
    monkeypatch.setitem(sys.modules, "tensorrt_lean", lean)
    monkeypatch.setattr(libraries, "is_installed", lambda name: name in ("tensorrt_lean", "cuda"))
    assert TrtBackend().availability().detail.endswith("lean runtime on Fake H200")
    found = measure(job(path))
    assert len(found.samples[0])
    assert "W-NO-PLAN" in {one.code for one in found.notices}
