import ctypes
import sys
from types import SimpleNamespace

from enginescope.probe.nvml import cuda_uuid, handle_of, probe_device, probe_devices

UUID = "8e2b6d1c-0b7a-4a55-9c1f-2f6d0a3b4c5d"
RAW = bytes.fromhex(UUID.replace("-", ""))


class FakeNVMLError(Exception):
    """As pynvml's."""


def refuse(*_):
    raise FakeNVMLError


def fake_nvml(**changes):
    parts = {
        "NVMLError": FakeNVMLError,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: b"555.1",
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda _: "Example GPU",
        "nvmlDeviceGetUUID": lambda _: "GPU-1",
        "nvmlDeviceGetCudaComputeCapability": lambda _: (9, 0),
        "nvmlDeviceGetMemoryInfo": refuse,
        "nvmlDeviceGetMaxClockInfo": lambda _, clock: {1: 1980, 2: 2619}[clock],
        "nvmlDeviceGetHandleByUUID": lambda _: 0,
        "nvmlDeviceGetPersistenceMode": refuse,
        "NVML_CLOCK_SM": 1,
        "NVML_CLOCK_MEM": 2,
    }
    return SimpleNamespace(**(parts | changes))


def test_a_device_with_its_highest_clocks(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    (device,) = probe_devices()
    assert device.name == "Example GPU"
    assert device.driver == "555.1"
    assert device.compute_capability == "9.0"
    assert device.memory_bytes is None
    assert (device.max_sm_clock_mhz, device.max_memory_clock_mhz) == (1980, 2619)
    # GPUs of embedded boards do not report their memory clock, which ends trex's tool
    clock = fake_nvml(nvmlDeviceGetMaxClockInfo=lambda _, which: 1300 if which == 1 else refuse())
    monkeypatch.setitem(sys.modules, "pynvml", clock)
    (device,) = probe_devices()
    assert (device.max_sm_clock_mhz, device.max_memory_clock_mhz) == (1300, None)


def test_no_driver_or_package_means_no_devices_and_a_lost_gpu_is_left_out(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlInit=refuse))
    assert probe_devices() == ()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert probe_devices() == ()
    handles = {"nvmlDeviceGetHandleByIndex": lambda index: index or refuse()}
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlDeviceGetCount=lambda: 2, **handles))
    assert len(probe_devices()) == 1


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
    # a driver from before instances of GPUs
    old = libcuda(cuDeviceGetUuid_v2=None, cuDeviceGetUuid=libcuda().cuDeviceGetUuid_v2)
    assert cuda_uuid(0, old) == UUID
    # no driver, no such GPU, no answer
    assert cuda_uuid(0, libcuda(cuInit=lambda _: 100)) is None
    assert cuda_uuid(1, libcuda()) is None
    assert cuda_uuid(0, libcuda(cuDeviceGetUuid_v2=lambda *_: 1)) is None
    assert cuda_uuid(0, libcuda(cuDeviceGetUuid_v2=None)) is None


def test_the_gpu_is_the_one_with_cudas_uuid_whatever_its_number(monkeypatch) -> None:
    uuids = ["GPU-slow", f"GPU-{UUID}"]  # CUDA's first GPU is NVML's second
    nvml = fake_nvml(
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetName=lambda handle: ("Slow", "Fast")[handle],
        nvmlDeviceGetUUID=lambda handle: uuids[handle],
        nvmlDeviceGetHandleByUUID=lambda it: uuids.index(it) if it in uuids else refuse(),
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr("enginescope.probe.nvml.cuda_uuid", lambda at: None if at else UUID)
    assert probe_device(0).name == "Fast"
    assert handle_of(nvml, "0") == 1
    assert handle_of(nvml, UUID) == 1
    assert handle_of(nvml, "GPU-slow") == 0
    assert handle_of(nvml, "GPU-none") is None
    # without CUDA the count of NVML holds
    monkeypatch.setattr("enginescope.probe.nvml.cuda_uuid", lambda _: None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert probe_device(0).name == "Fast"
    assert probe_device(1) is None
