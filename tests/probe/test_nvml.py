import sys
from types import SimpleNamespace

from enginescope.probe.nvml import probe_devices


class FakeNVMLError(Exception):
    pass


def fake_nvml(**changes):
    def refuse(*_):
        raise FakeNVMLError

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


def test_a_gpu_that_does_not_tell_its_memory_clock(monkeypatch) -> None:
    """GPUs of embedded boards say NotSupported, which ends trex's tool."""

    def clock(_, which):
        if which == 2:
            raise FakeNVMLError
        return 1300

    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlDeviceGetMaxClockInfo=clock))
    (device,) = probe_devices()
    assert (device.max_sm_clock_mhz, device.max_memory_clock_mhz) == (1300, None)


def test_no_driver_or_package_means_no_devices(monkeypatch) -> None:
    def refuse():
        raise FakeNVMLError

    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlInit=refuse))
    assert probe_devices() == ()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert probe_devices() == ()


def test_a_gpu_that_is_lost_is_left_out(monkeypatch) -> None:
    def handle(index):
        if index == 0:
            raise FakeNVMLError
        return index

    two = fake_nvml(nvmlDeviceGetCount=lambda: 2, nvmlDeviceGetHandleByIndex=handle)
    monkeypatch.setitem(sys.modules, "pynvml", two)
    assert len(probe_devices()) == 1
