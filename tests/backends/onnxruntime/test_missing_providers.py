"""A provider that is not there says which wheel or library would bring it."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import onnxruntime
import pytest

from enginescope.backends.onnxruntime import backend
from enginescope.backends.onnxruntime.providers import placement, providers
from enginescope.backends.onnxruntime.providers.providers import CUDA, TENSORRT_RTX, provider_called
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import MissingDependencyError, UnsupportedError, UsageError
from enginescope.records.run.job import Mode
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.jobs import check_demands, make_jobs
from enginescope.runner.session import run_jobs
from tests.backends.onnxruntime import models
from tests.backends.onnxruntime.test_backend import QUICK
from tests.wheels import unpacked

OPENVINO = provider_called("OpenVINOExecutionProvider")
ONE_PACKAGE = (
    "pip uninstall -y onnxruntime; pip install onnxruntime-gpu: the wheels share one package, so "
    "only one of them can be installed"
)
LAST_WINS = (
    "onnxruntime-gpu and onnxruntime are both installed into one package and the last one wins: "
    "pip uninstall -y onnxruntime-gpu onnxruntime; pip install onnxruntime-gpu"
)
RTX_WHEEL = "pip install 'onnxruntime>=1.24' onnxruntime-ep-nv-tensorrt-rtx"


def ran(folder: Path, cell: str, **more: object) -> Run:
    jobs = make_jobs([models.relu(folder / "m.onnx")], [cell], QUICK, **more)
    (run,) = run_jobs(jobs, lambda _: None)
    return run


@pytest.mark.parametrize(
    ("wheels", "provider", "hint"),
    [
        (("onnxruntime",), CUDA, ONE_PACKAGE),
        ((), CUDA, "pip install onnxruntime-gpu"),
        (("onnxruntime", "onnxruntime-gpu"), CUDA, LAST_WINS),
        (("onnxruntime",), TENSORRT_RTX, RTX_WHEEL),
        (("onnxruntime-gpu",), OPENVINO, "pip install onnxruntime-openvino"),
        (("onnxruntime",), provider_called("XExecutionProvider"), "plugin=LIBRARY"),
    ],
)
def test_which_wheel(monkeypatch, wheels, provider, hint) -> None:
    monkeypatch.setattr(providers, "installed_wheels", lambda: wheels)
    assert hint in providers.wheel_hint(provider)


@pytest.mark.parametrize(
    ("library", "hint"),
    [
        ("libnvinfer.so.10", "pip install 'tensorrt-cu12<11'"),
        ("libcudnn.so.9", "onnxruntime-gpu[cuda,cudnn]"),
        ("libcublasLt.so.13", "onnxruntime-gpu[cuda]"),
        ("libmine.so", "install libmine.so"),
    ],
)
def test_which_library(library, hint) -> None:
    assert hint in providers.library_hint(library, 12)


def test_what_doctor_says_of_a_library() -> None:
    ort = SimpleNamespace(cuda_version="12.8")
    hint = providers.library_hint_for(ort, "library libnvinfer.so.10 is missing")
    assert "tensorrt-cu12<11" in hint
    assert "print_debug_info" in providers.library_hint_for(ort, "starting it kills the process")


def test_the_library_is_found_by_loading(tmp_path, monkeypatch) -> None:
    (tmp_path / "capi").mkdir()
    (tmp_path / "capi" / "libonnxruntime_providers_cuda.so").write_bytes(b"")

    def load(path):
        raise OSError("libcublas.so.13: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(providers.ctypes, "CDLL", load)
    ort = SimpleNamespace(__file__=str(tmp_path / "__init__.py"), cuda_version="13.0")
    assert providers.did_not_start(ort, CUDA).why == "library libcublas.so.13 is missing"


@pytest.mark.parametrize("name", ["cpu", "CPU", "cpuexecutionprovider"])
def test_a_name_that_is_nearly_one_that_is_there(name) -> None:
    there = ["CPUExecutionProvider"]
    ort = SimpleNamespace(__version__="1.31.1", get_available_providers=lambda: there)
    near = providers.not_built_in(ort, provider_called(name))
    assert near.hint == "did you mean ort:CPUExecutionProvider?"
    other = providers.not_built_in(ort, provider_called("OpenVINOExecutionProvider"))
    assert "onnxruntime-openvino" in (other.hint or "")


@pytest.mark.parametrize(
    "cell", ["ort-cuda", "ort-cuda:fp16", "ort-trt:fp16", "ort-trt-rtx", "ort:XExecutionProvider"]
)
@pytest.mark.usefixtures("in_process")
def test_every_such_cell_is_unsupported(tmp_path, cell) -> None:
    if len(onnxruntime.get_available_providers()) > 2:
        pytest.skip("this onnxruntime has more providers")
    run = ran(tmp_path, cell, engine_cache=tmp_path / "cache")
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "is not in this ONNX Runtime" in (run.outcome.message or "")
    assert run.outcome.hint
    assert run.samples == ()
    assert not (tmp_path / "cache" / "converted").exists()  # nothing is converted for nobody


@pytest.fixture
def plugged(monkeypatch, tmp_path):
    """A runtime that takes libraries, and a wheel that has one."""
    library = tmp_path / "libmine.so"
    library.write_bytes(b"")
    names = {"get_ep_name": lambda: TENSORRT_RTX.name, "get_library_path": lambda: str(library)}
    monkeypatch.setitem(sys.modules, "onnxruntime_ep_nv_tensorrt_rtx", SimpleNamespace(**names))
    installed = SimpleNamespace(metadata={"Name": "onnxruntime-ep-nv-tensorrt-rtx-cu13"})
    monkeypatch.setattr(providers.metadata, "distributions", lambda: [installed])
    monkeypatch.setattr(providers, "_registered", {})
    calls: list[tuple[str, str]] = []
    device = SimpleNamespace(ep_name=TENSORRT_RTX.name)
    ort = SimpleNamespace(
        __version__="1.31.1",
        register_execution_provider_library=lambda name, path: calls.append((name, path)),
        get_ep_devices=lambda: [SimpleNamespace(ep_name="CPUExecutionProvider"), device],
    )
    return SimpleNamespace(ort=ort, library=str(library), calls=calls, device=device)


def test_a_plugin_is_found_in_its_wheel_and_registered_once(plugged) -> None:
    library = providers.library_of(TENSORRT_RTX, None)
    assert library == plugged.library
    for _ in range(2):
        assert providers.devices_of(plugged.ort, TENSORRT_RTX, library) == [plugged.device]
    assert plugged.calls == [(TENSORRT_RTX.name, library)]
    assert providers.library_of(OPENVINO, None) is None


def test_a_plugin_without_a_device(plugged) -> None:
    plugged.ort.get_ep_devices = list
    with pytest.raises(UnsupportedError, match="finds no device here"):
        providers.devices_of(plugged.ort, TENSORRT_RTX, plugged.library)


def incompatible(mask: int, notes: str | None):
    """ONNX Runtime's native module with one GPU that a provider does not take."""
    gpu = SimpleNamespace(type=SimpleNamespace(name="GPU"), vendor="NVIDIA")
    values = {"NONE": 0, "DRIVER_INCOMPATIBLE": 1, "DEVICE_INCOMPATIBLE": 2, "UNKNOWN": -(1 << 31)}
    members = {name: SimpleNamespace(value=value) for name, value in values.items()}

    def details(name: str, device: object) -> dict[str, object]:
        if name != TENSORRT_RTX.name:
            raise RuntimeError("no valid factory")
        return {"reasons_bitmask": mask, "notes": notes, "error_code": 0}

    native = SimpleNamespace(
        OrtDeviceEpIncompatibilityReason=SimpleNamespace(__members__=members),
        get_hardware_devices=lambda: [gpu],
        get_hardware_device_ep_incompatibility_details=details,
    )
    return SimpleNamespace(_pybind_state=native)


@pytest.mark.parametrize(
    ("mask", "notes", "words"),
    [
        (2, "needs 8.0", ("GPU of NVIDIA: device incompatible (needs 8.0)",)),
        (3, None, ("GPU of NVIDIA: driver incompatible, device incompatible",)),
        (-(1 << 31), None, ("GPU of NVIDIA: unknown",)),
        (0, None, ()),
    ],
)
def test_a_plugin_states_why_it_takes_no_device(plugged, mask, notes, words) -> None:
    plugged.ort.capi = incompatible(mask, notes)
    plugged.ort.get_ep_devices = list
    assert providers.incompatibilities(plugged.ort, TENSORRT_RTX.name) == words
    assert providers.incompatibilities(plugged.ort, "Nope") == ()
    with pytest.raises(UnsupportedError) as error:
        providers.devices_of(plugged.ort, TENSORRT_RTX, plugged.library)
    assert all(each in error.value.why for each in words)


def test_a_probe_of_a_plugin_asks_for_its_devices(plugged, monkeypatch) -> None:
    plugged.ort.SessionOptions = SimpleNamespace
    plugged.ort.get_available_providers = list
    monkeypatch.setattr(placement, "preload", lambda _: None)
    placement.start(plugged.ort, TENSORRT_RTX.name)
    plugged.ort.capi = incompatible(2, None)
    plugged.ort.get_ep_devices = list
    with pytest.raises(UnsupportedError, match="GPU of NVIDIA: device incompatible"):
        placement.start(plugged.ort, TENSORRT_RTX.name)


@pytest.mark.parametrize("failure", [None, "no device: GPU of NVIDIA: device incompatible"])
def test_a_plugin_without_a_device_is_not_usable(plugged, monkeypatch, failure) -> None:
    found = backend.tensorrt_rtx()
    plugged.ort.get_available_providers = list
    monkeypatch.setattr(found, "_runtime", lambda: plugged.ort)
    monkeypatch.setattr(backend, "probe_failure", lambda _: failure)
    availability = found.availability()
    assert availability.usable is (failure is None)
    assert availability.detail == (failure or "onnxruntime 1.31.1, as a separate library")


def test_the_installed_runtime_has_the_functions() -> None:
    ort = pytest.importorskip("onnxruntime", minversion="1.27")
    native = ort.capi._pybind_state
    if not hasattr(native, "get_hardware_device_ep_incompatibility_details"):
        pytest.skip(f"not in ONNX Runtime {ort.__version__}")
    device = native.get_hardware_devices()[0]
    found = native.get_hardware_device_ep_incompatibility_details(providers.CPU_NAME, device)
    assert found.keys() >= {"reasons_bitmask", "notes"}
    assert device.type.name
    assert providers.incompatibilities(ort, providers.CPU_NAME) == ()


def test_a_plugin_that_does_not_load_or_that_an_older_runtime_takes_not(plugged) -> None:
    def fails(*_: str) -> None:
        raise RuntimeError("libcudart.so.13: cannot open shared object file")

    plugged.ort.register_execution_provider_library = fails
    with pytest.raises(UnsupportedError, match=r"did not start.*libcudart"):
        providers.devices_of(plugged.ort, TENSORRT_RTX, plugged.library)
    del plugged.ort.register_execution_provider_library
    with pytest.raises(UnsupportedError, match="takes no provider libraries"):
        providers.devices_of(plugged.ort, TENSORRT_RTX, plugged.library)


def test_a_library_that_is_not_there(tmp_path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        providers.library_of(TENSORRT_RTX, str(tmp_path / "no.so"))
    absent = f"ort-trt-rtx?plugin={tmp_path / 'no.so'}"
    with pytest.raises(UsageError, match=r"plugin=.*no\.so.*\n?.*no such file"):
        make_jobs([models.relu(tmp_path / "m.onnx")], [absent], QUICK)


@pytest.mark.skipif(
    not hasattr(onnxruntime, "register_execution_provider_library"),
    reason="an ONNX Runtime without plug-ins",
)
def test_a_file_that_is_no_library_is_unsupported(tmp_path) -> None:
    """Through the real registration, in a worker."""
    library = tmp_path / "libmine.so"
    library.write_bytes(b"not a library")
    run = ran(tmp_path, f"ort:MyProvider?plugin={library}")
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "MyProvider did not start" in (run.outcome.message or "")


@pytest.mark.parametrize(
    ("text", "package"), [("ort-cpu:fp16", "onnx-ir"), ("ort-trt?infer_shapes=always", "sympy")]
)
def test_what_a_conversion_needs_is_said_before_it_starts(monkeypatch, text, package) -> None:
    monkeypatch.setattr("enginescope.backends.onnxruntime.backend.is_installed", lambda _: False)
    spec = parse_backend(text)
    with pytest.raises(MissingDependencyError, match=package) as caught:
        check_demands(spec, Mode())
    assert "enginescope[convert]" in (caught.value.hint or "")
    for other in ("ort-cpu", "ort-trt:fp16"):
        check_demands(parse_backend(other), Mode())


def test_what_a_library_writes_need_not_be_utf8(tmp_path, monkeypatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nprintf 'caf\\351: no device\\n' >&2\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert placement.probe_failure("CUDAExecutionProvider") == "caf\ufffd: no device"


def test_neither_home_nor_temporary_folder_is_written_to(tmp_path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    environment.pop("XDG_CACHE_HOME", None)
    code = "import enginescope.backends.onnxruntime.backend, onnxruntime"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ort-cuda", "ort-trt"])
def test_missing_gpu_libraries_are_unsupported(tmp_path, monkeypatch, backend) -> None:
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has an NVIDIA GPU")
    gpu_wheel = unpacked("onnxruntime-gpu", large=True)
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(gpu_wheel), inherited]))
    run = ran(tmp_path, backend)
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED
    assert "did not start" in (run.outcome.message or "")
    assert (run.samples, run.profile) == ((), None)
    assert run.environment.versions["onnxruntime-gpu"]
