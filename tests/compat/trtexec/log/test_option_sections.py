"""The sections of a log before the run: options and device."""

import pytest

from enginescope.compat.trtexec.log.log import device_lines, option_lines
from enginescope.core.record import replace
from enginescope.records.environment import Device
from tests.compat.trtexec.runs import settings, version


def texts(*flags: str, trt: str = "10.16.1") -> list[str]:
    lines = option_lines(settings(*flags, trt=trt))
    assert all(one.level == "I" for one in lines)
    return [one.text for one in lines]


@pytest.mark.parametrize(
    ("flags", "trt", "precision", "calibration"),
    [
        ((), "8.6.1", "FP32", ""),
        (("--int8", "--fp16"), "8.6.1", "FP32+FP16+INT8", "Dynamic"),
        (("--best",), "8.6.1", "FP32+FP16+INT8", "Dynamic"),
        (("--best", "--calib=c"), "10.16.1", "FP32+FP16+BF16+INT8", "c"),
        (("--stronglyTyped",), "10.16.1", "Strongly Typed", ""),
    ],
)
def test_the_precision(flags, trt, precision, calibration) -> None:
    found = texts(*flags, trt=trt)
    assert f"Precision: {precision}" in found
    assert f"Calibration: {calibration}" in found


def test_keys_of_other_versions_are_left_out() -> None:
    eight, eleven = texts(trt="8.6.1"), texts(trt="11.1.0")
    assert "minTiming: 1" in eight
    assert "Strip weights: Disabled" not in eight
    for key in ("LayerPrecisions", "Calibration", "Restricted mode", "Separate profiling"):
        assert any(one.startswith(f"{key}:") for one in eight)
        assert not any(one.startswith(f"{key}:") for one in eleven)
    assert "Input(s)s format: CHW" in eleven


def test_what_was_given_is_repeated() -> None:
    found = texts(
        *("--memPoolSize=workspace:1G,tacticSharedMem:0.5", "--sparsity=force"),
        *("--tacticSources=+JIT_CONVOLUTIONS,-CUDNN", "--timingCacheFile=c.bin"),
        *("--inputIOFormats=fp16:chw+hwc8,fp32:chw", "--tempfileControls=in_memory:deny"),
        *("--weightStreamingBudget=50%", "--loadInputs=x:a.raw"),
        *("--staticPlugins=a.so", "--staticPlugins=b.so"),
    )
    pools = next(one for one in found if one.startswith("Memory Pools: "))
    assert pools.startswith("Memory Pools: workspace: 1024 MiB, dlaSRAM: default, ")
    assert pools.endswith("dlaGlobalDRAM: default, tacticSharedMem: 0.5 MiB")
    assert {
        "Tactic sources: cudnn [OFF], JIT convolutions [ON], ",
        "Tempfile Controls: { in_memory: deny, temporary: allow }",
        *("timingCacheMode: global", "Input(s): fp16:chw+hwc8", "Input(s): fp32:chw"),
        *("Sparsity: Forced", "Weight Streaming Budget: 50%", "x<-a.raw", "Plugins: a.so b.so"),
    } <= set(found)
    assert "timingCacheMode: disable" in texts("--noBuilderCache")
    assert "Weight Streaming Budget: Automatic" in texts("--weightStreamingBudget=-1")
    assert "Weight Streaming Budget: 1048576 bytes" in texts("--weightStreamingBudget=1M")


def test_shapes_of_profiles_and_of_the_run() -> None:
    flags = ("--minShapes=x:1x3", "--optShapes=x:2x3", "--maxShapes=x:8x3")
    later, earlier = texts(*flags), texts(*flags, trt="8.6.1")
    assert "Input build shape (profile 0): x=1x3+2x3+8x3" in later
    assert "Input build shape: x=1x3+2x3+8x3" in earlier
    assert "Input inference shape : x=2x3" in later


def test_names_and_batches_of_models_and_engines() -> None:
    assert "Model: a\\x0ab" in [one.text for one in option_lines(settings(model="--onnx=a\nb"))]
    assert "Batch: 1" in texts("--loadEngine=e.plan", trt="8.6.1")
    assert "Batch: Explicit" in texts("--loadEngine=e.plan", "--shapes=x:1", trt="8.6.1")
    assert "Batch: Explicit" in texts("--loadEngine=e.plan")


BARE = Device(name="A GPU")
TITLE = "=== Device Information ==="


def of_devices(*args) -> list[str]:
    return [one.text for one in device_lines(*args)]


def test_what_is_not_known_has_no_line() -> None:
    found = of_devices((BARE,), BARE, 0, version("8.6.1"))
    assert found == [TITLE, "Selected Device: A GPU", "", "TensorRT version: 8.6.1"]
    assert of_devices((), None, 0, version("8.6.1"))[:2] == [TITLE, ""]


def test_later_versions_list_all_devices() -> None:
    second = Device(name="B", uuid="GPU-2", compute_capability="9.0")
    assert of_devices((BARE, second), second, 1, version("10.16.1")) == [
        *(
            TITLE,
            "Available Devices: ",
            '  Device 0: "A GPU" UUID: ',
            '  Device 1: "B" UUID: GPU-2',
        ),
        *("Selected Device: B", "Selected Device ID: 1", "Selected Device UUID: GPU-2"),
        *("Compute Capability: 9.0", "", "TensorRT version: 10.16.1"),
    ]


UUID = "GPU-31e9692b-62b7-2d62-f0b1-f4195b568ac7"
H100 = Device(
    name="NVIDIA H100 PCIe",
    uuid=UUID,
    compute_capability="9.0",
    sm_count=114,
    memory_bytes=81081 << 20,
    shared_per_sm_bytes=228 << 10,
    memory_bus_bits=5120,
    has_ecc=True,
)


@pytest.mark.parametrize(
    ("trt", "compute_mhz", "memory_mhz", "clocks"),
    [("8.6.0", 0.0, 0.0, ("0", "0")), ("10.16.1", 1755.0, 1593.0, ("1.755", "1.593"))],
)
def test_the_lines_are_those_of_published_logs(trt, compute_mhz, memory_mhz, clocks) -> None:
    device = replace(H100, clock_mhz=compute_mhz, memory_clock_mhz=memory_mhz)
    listed = ["Available Devices: ", f'  Device 0: "NVIDIA H100 PCIe" UUID: {UUID}']
    identity = ["Selected Device ID: 0", f"Selected Device UUID: {UUID}"]
    if trt == "8.6.0":
        listed = identity = []
    assert of_devices((device,), device, 0, version(trt)) == [
        *(TITLE, *listed, "Selected Device: NVIDIA H100 PCIe", *identity),
        *("Compute Capability: 9.0", "SMs: 114", "Device Global Memory: 81081 MiB"),
        *("Shared Memory per SM: 228 KiB", "Memory Bus Width: 5120 bits (ECC enabled)"),
        f"Application Compute Clock Rate: {clocks[0]} GHz",
        f"Application Memory Clock Rate: {clocks[1]} GHz",
        "",
        (
            "Note: The application clock rates do not reflect the actual clock rates that the GPU "
            "is currently running at."
        ),
        *("", f"TensorRT version: {trt}"),
    ]
