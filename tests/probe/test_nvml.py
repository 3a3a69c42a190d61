from __future__ import annotations

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
    }
    return SimpleNamespace(**(parts | changes))


def test_what_is_not_reported_is_none(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    (device,) = probe_devices()
    assert device.name == "Example GPU"
    assert device.driver == "555.1"
    assert device.compute_capability == "9.0"
    assert device.memory_bytes is None


def test_no_driver_means_no_devices(monkeypatch) -> None:
    def refuse():
        raise FakeNVMLError

    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlInit=refuse))
    assert probe_devices() == ()


def test_no_package_means_no_devices(monkeypatch) -> None:
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
