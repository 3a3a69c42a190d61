import json

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.trex.trex_metadata import parse_trex_metadata


def read(value: object):
    return parse_trex_metadata(json.dumps(value).encode(), "m.json")


SEVEN = [1.0, 9.0, 3.0, 2.0, 4.0, 5.0, 6.0]


def test_performance_of_8_5_and_later() -> None:
    report, notices = read(
        {
            "performance_summary": {
                "Throughput": 2829.15,
                "Latency": SEVEN,
                "GPU Compute Time": SEVEN,
                "Total Host Walltime": 3.0,
                "Total GPU Compute Time": 2.9,
            },
            "inference_options": {"Duration": "3s (+ 200ms warm up)", "Iterations": 10.0},
        }
    )
    latency = report.summaries[0]
    assert latency.metric == "trtexec_latency"
    assert (latency.min_ms, latency.max_ms, latency.mean_ms, latency.median_ms) == (1, 9, 3, 2)
    assert latency.percentiles == ((90.0, 4.0), (95.0, 5.0), (99.0, 6.0))
    assert report.throughput_per_s == 2829.15
    assert (report.host_walltime_s, report.total_gpu_compute_s) == (3.0, 2.9)
    assert report.options == {
        "Inference Options": {"Duration": "3s (+ 200ms warm up)", "Iterations": "10"}
    }
    assert notices == ()


def test_performance_up_to_8_4_has_one_percentile() -> None:
    report, _ = read({"performance_summary": {"Latency": SEVEN[:5], "Enqueue Time": SEVEN[:4]}})
    assert report.summaries[0].percentiles == ((99.0, 4.0),)
    assert report.summaries[1].percentiles == ()


def test_percentiles_without_a_name_are_left_out() -> None:
    report, (notice,) = read({"performance_summary": {"Latency": [*SEVEN, 7.0]}})
    assert (report.summaries[0].percentiles, report.summaries[0].median_ms) == ((), 2.0)
    assert notice.code == "W-PERCENTILES-UNNAMED"
    assert notice.evidence["lengths"] == {"Latency": 8}


def test_device_and_values_cut_at_a_colon() -> None:
    report, _ = read(
        {
            "build_options": {"Memory Pools": "workspace", "Precision": "FP32+FP16"},
            "model_options": {"Format": "ONNX"},
            "device_information": {
                "Selected Device": "NVIDIA A100",
                "Compute Capability": 8.0,
                "SMs": 108.0,
                "Device Global Memory": "80994 MiB",
            },
        }
    )
    assert report.options["Build Options"]["Memory Pools"] == "workspace"
    assert (report.device.name, report.device.compute_capability) == ("NVIDIA A100", "8.0")
    assert (report.device.sm_count, report.device.memory_bytes) == (108, 80994 * 2**20)
    assert report.device_facts["SMs"] == "108"


def test_the_old_list_of_device_attributes() -> None:
    report, _ = read(
        [
            {
                "Name": "NVIDIA A100",
                "ComputeCapability": [8, 0],
                "TotalMemory": 85e9 // 1,
                "MULTIPROCESSOR_COUNT": 108,
                "CUDA_VERSION": [11, 6, 0],
            }
        ]
    )
    assert (report.device.compute_capability, report.device.sm_count) == ("8.0", 108)
    assert report.device.memory_bytes is None  # written as a float, so not what trex writes
    assert report.device_facts["CUDA_VERSION"] == "[11, 6, 0]"


def test_odd_values_are_not_known() -> None:
    report, _ = read(
        {"performance_summary": {"Latency": "fast", "Throughput": "x", "D2H Latency": [None]}}
    )
    assert report.throughput_per_s is None
    assert [(one.metric, one.min_ms) for one in report.summaries] == [("d2h", None)]


@pytest.mark.parametrize("value", [{}, [], {"performance_summary": 3}, [{"Name": "x"}], 3])
def test_what_is_no_metadata(value) -> None:
    with pytest.raises(FormatError, match="none of trex's sections"):
        read(value)
