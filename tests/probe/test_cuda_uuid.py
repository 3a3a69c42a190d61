import ctypes
import sys
from types import SimpleNamespace

from enginescope.probe.nvml import cuda_uuid, handle_of, probe_device
from tests.probe.test_nvml import FakeNVMLError, fake_nvml

UUID = "8e2b6d1c-0b7a-4a55-9c1f-2f6d0a3b4c5d"
RAW = bytes.fromhex(UUID.replace("-", ""))


def libcuda(**changes):
    """CUDA with one GPU, that writes its UUID where it is told to."""

    def get(place, index):
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int))[0] = index
        return 0 if index == 0 else 101

    def uuid(place, _):
        ctypes.memmove(place, RAW, 16)
        return 0

    parts = {"cuInit": lambda _: 0, "cuDeviceGet": get, "cuDeviceGetUuid_v2": uuid}
    return SimpleNamespace(**(parts | changes))


def test_the_uuid_as_nvml_writes_it_but_for_its_prefix() -> None:
    assert cuda_uuid(0, libcuda()) == UUID


def test_a_driver_from_before_instances() -> None:
    old = libcuda(cuDeviceGetUuid_v2=None, cuDeviceGetUuid=libcuda().cuDeviceGetUuid_v2)
    assert cuda_uuid(0, old) == UUID


def test_no_driver_no_such_gpu_and_no_answer_are_not_known() -> None:
    assert cuda_uuid(0, libcuda(cuInit=lambda _: 100)) is None
    assert cuda_uuid(1, libcuda()) is None
    assert cuda_uuid(0, libcuda(cuDeviceGetUuid_v2=lambda *_: 1)) is None
    assert cuda_uuid(0, libcuda(cuDeviceGetUuid_v2=None)) is None


def two_gpus():
    """NVML, where CUDA's first GPU is the second."""
    uuids = ["GPU-slow", f"GPU-{UUID}"]

    def by_uuid(wanted):
        if wanted not in uuids:
            raise FakeNVMLError
        return uuids.index(wanted)

    return fake_nvml(
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetName=lambda handle: ("Slow", "Fast")[handle],
        nvmlDeviceGetUUID=lambda handle: uuids[handle],
        nvmlDeviceGetHandleByUUID=by_uuid,
    )


def test_the_gpu_is_the_one_with_cudas_uuid_whatever_its_number(monkeypatch) -> None:
    nvml = two_gpus()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr("enginescope.probe.nvml.cuda_uuid", lambda at: None if at else UUID)
    found = probe_device(0)
    assert found.name == "Fast"
    assert handle_of(nvml, "0") == 1
    assert handle_of(nvml, UUID) == 1
    assert handle_of(nvml, "GPU-slow") == 0
    assert handle_of(nvml, "GPU-none") is None


def test_without_cuda_the_count_of_nvml_holds(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", two_gpus())
    monkeypatch.setattr("enginescope.probe.nvml.cuda_uuid", lambda _: None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    found = probe_device(0)
    assert found.name == "Fast"
    assert probe_device(1) is None
