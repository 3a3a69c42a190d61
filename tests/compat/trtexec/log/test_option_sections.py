import pytest

from enginescope.compat.trtexec.log.log import option_lines
from tests.compat.trtexec.runs import settings


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
        "--memPoolSize=workspace:1G,tacticSharedMem:0.5",
        "--tacticSources=+JIT_CONVOLUTIONS,-CUDNN",
        "--timingCacheFile=c.bin",
        "--inputIOFormats=fp16:chw+hwc8,fp32:chw",
        "--tempfileControls=in_memory:deny",
        "--sparsity=force",
        "--weightStreamingBudget=50%",
        "--loadInputs=x:a.raw",
        "--staticPlugins=a.so",
        "--staticPlugins=b.so",
    )
    pools = next(one for one in found if one.startswith("Memory Pools: "))
    assert pools.startswith("Memory Pools: workspace: 1024 MiB, dlaSRAM: default, ")
    assert pools.endswith("dlaGlobalDRAM: default, tacticSharedMem: 0.5 MiB")
    for line in (
        "Tactic sources: cudnn [OFF], JIT convolutions [ON], ",
        "timingCacheMode: global",
        "Input(s): fp16:chw+hwc8",
        "Input(s): fp32:chw",
        "Tempfile Controls: { in_memory: deny, temporary: allow }",
        "Sparsity: Forced",
        "Weight Streaming Budget: 50%",
        "x<-a.raw",
        "Plugins: a.so b.so",
    ):
        assert line in found
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
