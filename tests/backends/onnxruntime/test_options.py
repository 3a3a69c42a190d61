"""What can be asked of a provider, refused before anything starts."""

import pytest

from enginescope.backends.onnxruntime.options import fp16_way
from enginescope.backends.onnxruntime.providers.providers import CPU, CUDA, TENSORRT
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import UsageError


@pytest.mark.parametrize(
    "text",
    [
        "ort-cpu:fp32",
        "ort-cpu:fp16?op_block_list=Softmax&keep_io_types=0",
        "ort-cuda:fp16?use_tf32=0&arena_extend_strategy=kSameAsRequested",
        "ort-trt:bf16",
        "ort-trt:fp16?fp16_by=converter&node_block_list=a,b",
        "ort-trt:fp16?trt_fp16_enable=True",
        "ort-trt?trt_profile_min_shapes=x:1x3&leftover=cpu&infer_shapes=always",
        "ort-trt-rtx:fp16?nv_max_workspace_size=0",
        "ort-cuda?an_option_of_tomorrow=1",
        "ort-cuda?session.disable_cpu_ep_fallback=1",
        "ort:OpenVINOExecutionProvider?device_type=CPU",
        "ort:OpenVINOExecutionProvider:fp16?device_type=GPU",
        "ort:MyProvider?plugin=/opt/libmine.so",
    ],
)
def test_what_can_be_asked(text) -> None:
    assert str(parse_backend(text)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ort-cpu:int8", "no precision 'int8'"),
        ("ort-cuda:bf16", "no precision 'bf16'"),
        ("ort-cpu?device_id=0", "no option 'device_id'"),
        ("ort-cpu?op_block_list=Softmax", "not converted"),
        ("ort-trt:fp16?op_block_list=Softmax", "not converted"),
        ("ort-cuda:fp16?fp16_by=switch", "no such switch"),
        ("ort-cuda:fp16?fp16_by=autocast", "separate environment"),
        ("ort-cuda?fp16_by=converter", "fp16_by"),
        ("ort-trt:fp16?trt_fp16_enable=0", "contradict"),
        ("ort-cuda?enable_cuda_graph=maybe", "enable_cuda_graph=maybe"),
        ("ort-cuda?gpu_mem_limit=4GiB", "not a whole number"),
        ("ort-trt?trt_builder_optimization_level=9", "trt_builder_optimization_level=9"),
        ("ort-cuda?user_compute_stream=140230", "an address in another process"),
        ("ort-trt?leftover=gpu", "leftover=gpu"),
        ("ort:", "not NAME"),
        ("ort::fp16", "not NAME"),
    ],
)
def test_what_is_refused(text, why) -> None:
    with pytest.raises(UsageError, match=why):
        parse_backend(text)


def test_a_value_is_suggested_and_a_provider_has_its_own_name() -> None:
    with pytest.raises(UsageError) as caught:
        parse_backend("ort-cuda?cudnn_conv_algo_search=HEURISTICS")
    assert caught.value.hint == "did you mean HEURISTIC?"
    backend = load_backend("ort:CUDAExecutionProvider")
    assert backend.provider == CUDA  # type: ignore[attr-defined]
    assert backend.name == "ort:CUDAExecutionProvider"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "provider", "way"),
    [
        ("ort-cpu", CPU, None),
        ("ort-cpu:fp32", CPU, None),
        ("ort-cpu:fp16", CPU, "converter"),
        ("ort-cuda:fp16", CUDA, "converter"),
        ("ort-trt:fp16", TENSORRT, "switch"),
        ("ort-trt:fp16?fp16_by=converter", TENSORRT, "converter"),
    ],
)
def test_which_way(text, provider, way) -> None:
    assert fp16_way(parse_backend(text), provider) == way
