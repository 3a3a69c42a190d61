"""What is written in trex's form is read back to the same facts."""

import json

import msgspec
import pytest

from enginescope.core.record import replace
from enginescope.formats.trex.trex_metadata import build_metadata, log_metadata, parse_trex_metadata
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.plan.build import BuildReport, ToolReport
from enginescope.records.samples import ReportedSummary

REPORT = BuildReport(
    engine="net.engine",
    engine_bytes=1234,
    precision="fp16+int8",
    options={"builder_optimization_level": "5", "workspace": "1GiB"},
    tensorrt="10.16.1.11",
    device="GPU of the report",
    notices=(Notice(code="W-BUILD-SHAPE", message="assumed"),),
)
GPU = Device(name="H200", compute_capability="9.0", memory_bytes=150 << 30, sm_count=132)


def read(value: object) -> ToolReport:
    report, notices = parse_trex_metadata(json.dumps(value).encode(), "m.json")
    assert notices == ()
    return report


def test_a_build_has_trexs_sections_and_the_whole_report() -> None:
    written = build_metadata(REPORT, "/models/net.onnx", GPU)
    report = read(written)
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
    assert build_metadata(REPORT, "m", None)["device_information"] == {
        "Selected Device": "GPU of the report"
    }
    assert build_metadata(replace(REPORT, device=None), "m", None)["device_information"] == {}


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
    again = read(written)
    assert again.summaries == report.summaries
    assert again.throughput_per_s == 321.5
    assert again.options == {"Inference Options": {"Batch": "Explicit"}}


def test_a_log_without_figures_has_no_summary() -> None:
    assert log_metadata(ToolReport(tool="trtexec")) == {}


def test_a_number_that_is_none_stays_text() -> None:
    report = ToolReport(tool="trtexec", device_facts={"SMs": "many"})
    assert log_metadata(report)["device_information"] == {"SMs": "many"}


def test_a_recorded_log_reads_back_the_same(data) -> None:
    logs = sorted((data / "trt86-h200").rglob("*.profile.log"))
    assert logs
    for path in logs:
        log, _ = parse_trtexec_log(path.read_bytes(), path.name)
        again = read(log_metadata(log.report))
        assert again.summaries == log.report.summaries
        assert again.throughput_per_s == log.report.throughput_per_s
        assert again.host_walltime_s == log.report.host_walltime_s
        assert again.device == log.report.device
