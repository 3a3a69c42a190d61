from enginescope.formats.importing.import_options import is_of_build, merge_reports
from enginescope.records.plan.build import LogMessage, ToolReport
from enginescope.records.samples import ReportedSummary

BUILD = ToolReport(
    tool="trtexec",
    tool_version="8.6.0",
    command="trtexec --onnx=a",
    passed=True,
    options={
        "Build Options": {"Precision": "FP32+FP16", "Load engine": ""},
        "Inference Options": {"CUDA Graph": "Disabled"},
        "System Options": {"Device": "0"},
    },
    build_s=30.0,
    deserialize_s=1.0,
    memory={"Total Scratch Memory": 1},
    messages=(LogMessage(level="warning", text="b"),),
)
TIMING = ToolReport(
    tool="trtexec",
    command="trtexec --loadEngine=a",
    passed=True,
    options={
        "Build Options": {"Precision": "FP32", "Load engine": "a"},
        "Inference Options": {"CUDA Graph": "Enabled"},
    },
    summaries=(ReportedSummary(metric="gpu_compute", min_ms=1.0),),
    deserialize_s=2.0,
    messages=(LogMessage(level="warning", text="t"), LogMessage(level="warning", text="b")),
)


def test_figures_of_the_timing_and_options_of_the_build() -> None:
    for order in ((BUILD, TIMING), (TIMING, BUILD)):
        merged = merge_reports(order)
        assert merged.summaries == TIMING.summaries
        assert merged.options["Build Options"]["Precision"] == "FP32+FP16"
        assert merged.options["Inference Options"]["CUDA Graph"] == "Enabled"
        assert merged.options["System Options"] == {"Device": "0"}
        assert (merged.build_s, merged.deserialize_s) == (30.0, 2.0)
        assert merged.command == "trtexec --onnx=a\ntrtexec --loadEngine=a"
        assert [one.text for one in merged.messages] == ["b", "t"]
        assert merged.memory == {"Total Scratch Memory": 1}


def test_one_report_stays_as_it_is() -> None:
    assert merge_reports([TIMING]) == TIMING
    assert merge_reports([]) is None


def test_one_failure_fails() -> None:
    assert merge_reports([BUILD, ToolReport(tool="trtexec", passed=False)]).passed is False


def test_a_verdict_that_is_not_known() -> None:
    assert merge_reports([ToolReport(tool="trtexec"), ToolReport(tool="trtexec")]).passed is None


def test_whose_build_options_were_used() -> None:
    assert is_of_build(BUILD)
    assert not is_of_build(TIMING)
    assert not is_of_build(ToolReport(tool="trtexec"))
