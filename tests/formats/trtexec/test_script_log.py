"""Logs of scripts that use TensorRT: an engine each, with the layers that they print."""

import json

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document
from enginescope.formats.plan.plan_json import inspected_plan, plan_of
from enginescope.formats.trtexec.trtexec_log import is_script_log, parse_script_logs

PREFIX = "[02/03/2026-04:05:06] [TRT] "
BUILD = f"""\
my script 1.0
{PREFIX}[V] Loaded shared library libnvinfer_builder_resource_sm90.so.10.16.2
{PREFIX}[I] Input filename:   net.onnx
{PREFIX}[W] careful
{PREFIX}[I] Total Weights Memory: 1024 bytes
{PREFIX}[I] Engine generation completed in 14.5 seconds.
{PREFIX}[I] Loaded engine size: 12 MiB
"""
LAYERS = """\
Layers:
Name: conv + relu, LayerType: CaskConvolution, Inputs: [ { Name: x, Location: Device, \
Dimensions: [1,3,8,8], Format/Datatype: Row major linear FP32 }], Outputs: [ { Name: a, b, \
Location: Device, Dimensions: [-1,8,8,8], Format/Datatype: Half }], ParameterType: Convolution, \
Kernel: [3,3], Groups: 1, Weights: {"Type": "Float", "Count": 72}, TacticName: k_a4, \
TacticValue: 0x5b, StreamId: 0, Metadata: [ONNX Layer: conv]\x1e[ONNX Layer: relu]
Name: shape, LayerType: shape_call, Inputs: [], Outputs: [], TacticName: , StreamId: 1, Metadata:

Bindings:
x
a, b

x
[[1. 2.]]
"""


def test_a_script_that_builds_and_prints_layers() -> None:
    ((log, notices),) = parse_script_logs((BUILD + LAYERS).encode(), "s.log")
    report = log.report
    assert (report.tool, report.tool_version, log.backend) == ("tensorrt", "10.16.2", "trt")
    assert (report.build_s, report.engine_bytes) == (14.5, 12 << 20)
    assert report.memory == {"Total Weights Memory": 1024}
    assert [one.text for one in report.messages] == ["careful"]
    assert report.passed is None
    assert notices == ()
    plan, told = plan_of(Document(source="s.log", value=log.inspected), name="s")
    first, second = plan.layers
    assert (first.name, first.type) == ("conv + relu", "Convolution")
    assert first.subtype == "CaskConvolution"
    assert (first.inputs[0].shape, first.outputs[0].shape) == ((1, 3, 8, 8), (None, 8, 8, 8))
    assert (first.outputs[0].name, first.onnx_nodes) == ("a, b", ("conv", "relu"))
    assert (first.weights[0].count, first.attributes["Kernel"]) == (72, [3, 3])
    assert (first.tactic_value, second.stream, second.tactic_name) == ("0x5b", 1, None)
    assert [one.tensor.name for one in (*plan.inputs, *plan.outputs)] == ["x", "a, b"]
    assert told == ()


def test_each_engine_of_a_script_is_apart() -> None:
    second = BUILD.replace("14.5", "9.25")
    (one, _), (two, _) = parse_script_logs((BUILD + second + LAYERS).encode(), "s.log")
    assert (one.report.build_s, two.report.build_s) == (14.5, 9.25)
    assert one.inspected is None
    assert two.inspected is not None
    assert two.report.tool_version == "10.16.2"
    assert two.report.messages[0].line == one.report.messages[0].line + BUILD.count("\n")


def test_json_in_a_log_goes_before_text() -> None:
    root = {"Layers": ["conv", "relu"], "Bindings": ["x"]}
    assert inspected_plan(f"{LAYERS}then\n{json.dumps(root, indent=1)}\nand more") == root
    assert inspected_plan('{"Layers": [oops') is None


def test_what_is_a_log_of_a_script() -> None:
    assert is_script_log(BUILD)
    assert is_script_log(LAYERS)
    assert not is_script_log("Name: me, and more")
    with pytest.raises(FormatError, match="neither a built engine nor layers") as error:
        parse_script_logs(f"{PREFIX}[W] careful\n".encode(), "s.log")
    assert "trt.Logger" in error.value.hint


TORCH = {
    "python": "{}:torch_tensorrt [TensorRT Conversion Context]:",
    "c++": "{}: [Torch-TensorRT TorchScript Conversion Context] - ",
}


@pytest.mark.parametrize("logger", TORCH)
def test_torch_tensorrt_prints_lines_of_tensorrt(logger) -> None:
    lines = [
        *(("DEBUG", "Tactic: 0x3e8 Time: 0.011776"), ("WARNING", "careful")),
        ("INFO", "Total Weights Memory: 1024 bytes"),
        *(("INFO", "Engine generation completed in 3.21 seconds."), ("ERROR", "broken")),
    ]
    text = "INFO:torch_tensorrt.dynamo._compiler:Compilation Settings: CompilationSettings()\n"
    text += "".join(f"{TORCH[logger].format(level)}{line}\n" for level, line in lines)
    assert is_script_log(text)
    ((log, _),) = parse_script_logs(text.encode(), "torch.log")
    assert (log.backend, log.report.build_s) == ("trt", 3.21)
    assert log.report.memory == {"Total Weights Memory": 1024}
    assert [(one.level, one.text) for one in log.report.messages] == [
        ("warning", "careful"),
        ("error", "broken"),
    ]


def test_other_lines_of_torch_are_no_log_of_tensorrt() -> None:
    assert not is_script_log("INFO:torch_tensorrt.dynamo._compiler:Compilation Settings\n")
    assert not is_script_log("INFO: [Torch-TensorRT] - Partitioning\n")


def test_a_weight_streaming_script() -> None:
    text = (
        f"{PREFIX}[I] Loaded engine size: 48 MiB\n"
        "streamable_weights_size = 25165824\n"
        f"{PREFIX}[I] Weight streaming is enabled with a budget of 12582912 bytes.\n"
    )
    ((log, _),) = parse_script_logs(text.encode(), "streaming.log")
    assert log.report.engine_bytes == 48 << 20


@pytest.mark.parametrize("prefix", ["[02/03/2026-04:05:06] [TRT] ", ""])
def test_a_build_that_is_stated_at_the_verbose_level(prefix) -> None:
    """TensorRT to 8.5, also with the logger of a sample, which writes the level alone."""
    text = (
        f"{prefix}[I] [MemUsageChange] Init CUDA: CPU +172, GPU +0, now: CPU 196, GPU 545 (MiB)\n"
        f"{prefix}[V] Running: FCToConvTransform\n"
        f"{prefix}[V] Engine generation completed in 0.5 seconds.\n"
        f"{prefix}[I] Loaded engine size: 12 MiB\n"
    )
    assert is_script_log(text)
    ((log, _),) = parse_script_logs(text.encode(), "s.log")
    assert (log.report.build_s, log.report.engine_bytes) == (0.5, 12 << 20)
