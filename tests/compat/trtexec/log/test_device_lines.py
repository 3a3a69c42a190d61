import pytest

from enginescope.compat.trtexec.log.log import device_lines
from enginescope.records.environment import Device
from tests.compat.trtexec.runs import version

BARE = Device(name="A GPU")


def texts(*args) -> list[str]:
    return [one.text for one in device_lines(*args)]


def test_what_is_not_known_has_no_line() -> None:
    assert texts((BARE,), BARE, 0, version("8.6.1")) == [
        "=== Device Information ===",
        "Selected Device: A GPU",
        "",
        "TensorRT version: 8.6.1",
    ]
    assert texts((), None, 0, version("8.6.1"))[:2] == ["=== Device Information ===", ""]


def test_later_versions_list_all_devices() -> None:
    second = Device(name="B", uuid="GPU-2", compute_capability="9.0")
    assert texts((BARE, second), second, 1, version("10.16.1")) == [
        "=== Device Information ===",
        "Available Devices: ",
        '  Device 0: "A GPU" UUID: ',
        '  Device 1: "B" UUID: GPU-2',
        "Selected Device: B",
        "Selected Device ID: 1",
        "Selected Device UUID: GPU-2",
        "Compute Capability: 9.0",
        "",
        "TensorRT version: 10.16.1",
    ]


@pytest.mark.parametrize(
    ("trt", "compute_mhz", "memory_mhz", "clocks"),
    [("8.6.0", 0.0, 0.0, ("0", "0")), ("10.16.1", 1755.0, 1593.0, ("1.755", "1.593"))],
)
def test_the_lines_are_those_of_published_logs(trt, compute_mhz, memory_mhz, clocks) -> None:
    uuid = "GPU-31e9692b-62b7-2d62-f0b1-f4195b568ac7"
    device = Device(
        name="NVIDIA H100 PCIe",
        uuid=uuid,
        compute_capability="9.0",
        sm_count=114,
        memory_bytes=81081 << 20,
        shared_per_sm_bytes=228 << 10,
        memory_bus_bits=5120,
        has_ecc=True,
        clock_mhz=compute_mhz,
        memory_clock_mhz=memory_mhz,
    )
    is_later = trt == "10.16.1"
    listed = ["Available Devices: ", f'  Device 0: "NVIDIA H100 PCIe" UUID: {uuid}']
    identity = ["Selected Device ID: 0", f"Selected Device UUID: {uuid}"]
    assert texts((device,), device, 0, version(trt)) == [
        "=== Device Information ===",
        *(listed if is_later else []),
        "Selected Device: NVIDIA H100 PCIe",
        *(identity if is_later else []),
        "Compute Capability: 9.0",
        "SMs: 114",
        "Device Global Memory: 81081 MiB",
        "Shared Memory per SM: 228 KiB",
        "Memory Bus Width: 5120 bits (ECC enabled)",
        f"Application Compute Clock Rate: {clocks[0]} GHz",
        f"Application Memory Clock Rate: {clocks[1]} GHz",
        "",
        (
            "Note: The application clock rates do not reflect the actual clock rates that the GPU "
            "is currently running at."
        ),
        "",
        f"TensorRT version: {trt}",
    ]
