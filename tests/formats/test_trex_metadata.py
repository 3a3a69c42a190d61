"""trex's metadata: read, and what is written in its form is read back to the same facts."""

import json

import msgspec
import pytest

from enginescope.core.errors import FormatError
from enginescope.core.record import replace
from enginescope.formats.trex.trex_metadata import build_metadata, log_metadata, parse_trex_metadata
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport, ToolReport
from enginescope.records.samples import ReportedSummary


def read(value: object):
    return parse_trex_metadata(json.dumps(value).encode(), "m.json")


SEVEN = [1.0, 9.0, 3.0, 2.0, 4.0, 5.0, 6.0]


def test_performance_of_8_5_and_later() -> None:
    performance = {"Throughput": 2829.15, "Latency": SEVEN, "GPU Compute Time": SEVEN}
    performance |= {"Total Host Walltime": 3.0, "Total GPU Compute Time": 2.9}
    options = {"Duration": "3s (+ 200ms warm up)", "Iterations": 10.0}
    report, notices = read({"performance_summary": performance, "inference_options": options})
    latency = report.summaries[0]
    assert latency.metric == "trtexec_latency"
    assert (latency.min_ms, latency.max_ms, latency.mean_ms, latency.median_ms) == (1, 9, 3, 2)
    assert latency.percentiles == ((90.0, 4.0), (95.0, 5.0), (99.0, 6.0))
    assert report.throughput_per_s == 2829.15
    assert (report.host_walltime_s, report.total_gpu_compute_s) == (3.0, 2.9)
    assert report.options == {"Inference Options": {**options, "Iterations": "10"}}
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
    device = {"Selected Device": "NVIDIA A100", "Compute Capability": 8.0, "SMs": 108.0}
    report, _ = read(
        {
            "build_options": {"Memory Pools": "workspace", "Precision": "FP32+FP16"},
            "model_options": {"Format": "ONNX"},
            "device_information": {**device, "Device Global Memory": "80994 MiB"},
        }
    )
    assert report.options["Build Options"]["Memory Pools"] == "workspace"
    assert (report.device.name, report.device.compute_capability) == ("NVIDIA A100", "8.0")
    assert (report.device.sm_count, report.device.memory_bytes) == (108, 80994 * 2**20)
    assert report.device_facts["SMs"] == "108"


def test_the_old_list_of_device_attributes() -> None:
    attributes = {"Name": "NVIDIA A100", "ComputeCapability": [8, 0], "TotalMemory": 85e9 // 1}
    attributes |= {"MULTIPROCESSOR_COUNT": 108, "CUDA_VERSION": [11, 6, 0]}
    report, _ = read([attributes])
    assert (report.device.compute_capability, report.device.sm_count) == ("8.0", 108)
    assert report.device.memory_bytes is None  # written as a float, so not what trex writes
    assert report.device_facts["CUDA_VERSION"] == "[11, 6, 0]"


def test_odd_values_are_not_known() -> None:
    performance = {"Latency": "fast", "Throughput": "x", "D2H Latency": [None]}
    report, _ = read({"performance_summary": performance})
    assert report.throughput_per_s is None
    assert [(one.metric, one.min_ms) for one in report.summaries] == [("d2h", None)]


@pytest.mark.parametrize("value", [{}, [], {"performance_summary": 3}, [{"Name": "x"}], 3])
def test_what_is_no_metadata(value) -> None:
    with pytest.raises(FormatError, match="none of trex's sections"):
        read(value)


REPORT = BuildReport(
    engine="net.engine",
    engine_bytes=1234,
    precision="fp16+int8",
    options={"builder_optimization_level": "5", "workspace": "1GiB"},
    tensorrt="10.16.1.11",
    device="GPU",
    notices=(Notice(code="W-BUILD-SHAPE", message="assumed"),),
)
GPU = Device(name="H200", compute_capability="9.0", memory_bytes=150 << 30, sm_count=132)


def test_a_build_has_trexs_sections_and_the_whole_report() -> None:
    written = build_metadata(REPORT, "/models/net.onnx", GPU)
    report, notices = read(written)
    assert notices == ()
    assert report.options["Model Options"] == {"Format": "ONNX", "Model": "/models/net.onnx"}
    assert report.options["Build Options"] == {
        "Precision": "FP32+FP16+INT8",
        "builder optimization level": "5",
        "workspace": "1GiB",
    }
    assert (report.device.name, report.device.compute_capability) == ("H200", "9.0")
    assert (report.device.sm_count, report.device.memory_bytes) == (132, 150 << 30)
    assert msgspec.convert(written["enginescope"], BuildReport, strict=False) == REPORT


@pytest.mark.parametrize(
    ("asked", "printed"),
    [(None, "FP32"), ("fp16", "FP32+FP16"), ("bf16+int4", "FP32+BF16+INT4"), ("best", "FP32+BEST")],
)
def test_a_precision_is_printed_as_trtexec_does(asked, printed) -> None:
    report = replace(REPORT, precision=asked)
    assert build_metadata(report, "m", None)["build_options"]["Precision"] == printed


def test_what_is_not_known_of_a_gpu_is_left_out() -> None:
    for name, wanted in (("GPU", {"Selected Device": "GPU"}), (None, {})):
        written = build_metadata(replace(REPORT, device=name), "m", None)
        assert written["device_information"] == wanted


SUMMARY = ReportedSummary(
    metric="gpu_compute",
    min_ms=1.0,
    max_ms=9.0,
    mean_ms=3.0,
    median_ms=2.0,
    percentiles=((90.0, 4.0), (95.0, 5.0), (99.0, 6.0)),
)


def test_a_log_is_cut_into_trexs_sections() -> None:
    facts = {"Compute Capability": "9.0", "SMs": "132", "Compute Clock Rate": "1.98 GHz"}
    report = ToolReport(
        tool="trtexec",
        options={"Inference Options": {"Batch": "Explicit"}, "System Options": {"Device": "0"}},
        summaries=(SUMMARY,),
        throughput_per_s=321.5,
        host_walltime_s=3.0,
        device_facts={"Selected Device": "H200", **facts},
    )
    written = log_metadata(report)
    assert written["performance_summary"] == {
        "Throughput": 321.5,
        "GPU Compute Time": [1.0, 9.0, 3.0, 2.0, 4.0, 5.0, 6.0],
        "Total Host Walltime": 3.0,
    }
    assert written["inference_options"] == {"Batch": "Explicit"}
    assert written["device_information"] == {
        "Selected Device": "H200",
        "Compute Capability": 9.0,
        "SMs": 132.0,
        "Compute Clock Rate": 1.98,
    }
    assert set(written) == {"performance_summary", "inference_options", "device_information"}
    again, notices = read(written)
    assert notices == ()
    assert again.summaries == report.summaries
    assert again.throughput_per_s == 321.5
    assert again.options == {"Inference Options": {"Batch": "Explicit"}}


def test_what_a_log_lacks_is_left_out_and_a_number_that_is_none_stays_text() -> None:
    assert log_metadata(ToolReport(tool="trtexec")) == {}
    report = ToolReport(tool="trtexec", device_facts={"SMs": "many"})
    assert log_metadata(report)["device_information"] == {"SMs": "many"}


def test_a_recorded_log_reads_back_the_same(data) -> None:
    logs = sorted((data / "trt86-h200").rglob("*.profile.log"))
    assert logs
    for path in logs:
        log, _ = parse_trtexec_log(path.read_bytes(), path.name)
        again, notices = read(log_metadata(log.report))
        assert notices == ()
        for field in ("summaries", "throughput_per_s", "host_walltime_s", "device"):
            assert getattr(again, field) == getattr(log.report, field)
