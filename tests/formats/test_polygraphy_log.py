"""Polygraphy's log: a run for each runner, with its mean and what it runs on."""

import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.importing.artifact_kinds import ArtifactKind, kind_of
from enginescope.formats.polygraphy.polygraphy_log import parse_polygraphy_logs

LOG = """\
[I] RUNNING | Command: /opt/bin/polygraphy run net.onnx --trt --onnxrt
[V] Loaded Module: polygraphy | Version: 0.50.0 | Path: ['/opt/polygraphy']
[I] ort-runner-odd is only mentioned
[I] onnxrt-runner-N0-01/02/26-03:04:05  | Activating and starting inference
[V] Loaded Module: onnxruntime | Version: 1.30.0 | Path: ['/opt/onnxruntime']
[I] Creating ONNX-Runtime Inference Session with providers: ['CUDAExecutionProvider']
[I] onnxrt-runner-N0-01/02/26-03:04:05  | Completed 20 iteration(s) in 50 ms | \
Average inference time: 2.5 ms.
[I] trt-runner-N0-01/02/26-03:04:05     | Activating and starting inference
[V] Loaded Module: tensorrt | Version: 10.16.2.5 | Path: ['/opt/tensorrt']
[W] careful
[W] careful
[I] Finished engine building in 13.5 seconds
[V] Loaded engine size: 12 MiB
[I] trt-runner-N0-01/02/26-03:04:05     | Completed 1 iteration(s) in 3.7 ms | \
Average inference time: 3.7 ms.
[I] Accuracy Comparison | onnxrt-runner vs. trt-runner
[W]         trt-runner | Output: y: Some values are 0.
[I]         Error Metrics: y
[I]             Minimum Required Tolerance: elemwise error | [abs=2.5e-06] OR [rel=1e-05] (lower)
[I]         PASSED | Output: 'y' | Difference is within tolerance (rel=0.001, abs=0.001)
[E]         FAILED | Output: 'z' | Difference exceeds tolerance (rel=0.001, abs=0.001)
[E] FAILED | Runtime: 16.9s | Command: /opt/bin/polygraphy run net.onnx --trt --onnxrt
"""


@pytest.mark.parametrize("text", [LOG, LOG.replace("\n", "\r\n")])
def test_each_runner_is_a_process(text) -> None:
    (ort, few), (trt, one) = parse_polygraphy_logs(text.encode(), "p.log")
    assert (ort.backend, trt.backend) == ("ort-cuda", "trt")
    assert (ort.versions, trt.versions) == ({"onnxruntime": "1.30.0"}, {"tensorrt": "10.16.2.5"})
    for log, mean in ((ort, 2.5), (trt, 3.7)):
        report = log.report
        assert (report.tool, report.tool_version, report.passed) == ("polygraphy", "0.50.0", False)
        (summary,) = report.summaries
        assert (summary.metric, summary.mean_ms, summary.median_ms) == ("latency", mean, None)
        outputs = report.options["Outputs compared"]
        assert outputs == {"y": "PASSED, abs 2.5e-06, rel 1e-05", "z": "FAILED"}
        assert [(one.level, one.text) for one in report.messages] == [
            ("warning", "careful"),
            ("error", "FAILED | Output: 'z' | Difference exceeds tolerance (rel=0.001, abs=0.001)"),
        ]
    assert (ort.report.build_s, ort.report.engine_bytes) == (None, None)
    assert (trt.report.build_s, trt.report.engine_bytes) == (13.5, 12 << 20)
    assert [notice.code for notice in few] == []
    assert [(n.code, n.evidence["inferences"]) for n in one] == [("W-FEW-INFERENCES", 1)]


def test_a_log_that_breaks_off_or_goes_on_with_another_command() -> None:
    cut = LOG[: LOG.index("[E] FAILED | Runtime")]
    passed = cut + "[I] PASSED | Command: polygraphy"
    for text, codes in ((cut, ["W-LOG-UNFINISHED"]), (passed, [])):
        (_, notices), _ = parse_polygraphy_logs(text.encode(), "p.log")
        assert [one.code for one in notices] == codes
    cut = LOG[: LOG.index("[I] Accuracy Comparison")]
    logs = parse_polygraphy_logs((cut + LOG).encode(), "p.log")
    assert [log.report.passed for log, _ in logs] == [None, None, False, False]
    assert [bool(log.report.options) for log, _ in logs] == [False, False, True, True]


def test_a_log_without_an_inference_says_what_to_do() -> None:
    with pytest.raises(FormatError, match="no runner finished an inference") as error:
        parse_polygraphy_logs(LOG.partition("| Completed")[0].encode(), "p.log")
    assert "polygraphy run MODEL" in error.value.hint


def test_commands_one_after_another_keep_their_own_facts() -> None:
    second = """\
/opt/lib/warnings.py:194: RuntimeWarning: invalid value
[W] --workspace is deprecated
[I] RUNNING | Command: /opt/bin/polygraphy run other.onnx --onnxrt --validate
[V] Loaded Module: polygraphy | Version: 0.51.0 | Path: ['/opt/polygraphy']
[I] onnxrt-runner-N0-01/02/26-03:05:05  | Activating and starting inference
[I] onnxrt-runner-N0-01/02/26-03:05:05  | Completed 1 iteration(s) in 0.25 ms | \
Average inference time: 0.25 ms.
[E]         Inf Detected | One or more non-finite values were encountered in this output
[E]     FAILED | Output Validation
[E] FAILED | Runtime: 1.2s | Command: /opt/bin/polygraphy run other.onnx --onnxrt --validate
"""
    first = LOG.replace("[E] FAILED | Runtime", "[I] PASSED | Runtime")
    logs = parse_polygraphy_logs((first + second).encode(), "p.log")
    reports = [log.report for log, _ in logs]
    assert [report.passed for report in reports] == [True, True, False]
    assert [report.tool_version for report in reports] == ["0.50.0", "0.50.0", "0.51.0"]
    assert [report.command.split()[2] for report in reports] == ["net.onnx"] * 2 + ["other.onnx"]
    assert [log.versions for log, _ in logs[1:]] == [{"tensorrt": "10.16.2.5"}, {}]
    assert [bool(report.options) for report in reports] == [True, True, False]
    lines = first.count("\n")
    assert [(message.line - lines, message.text) for message in reports[2].messages] == [
        (2, "--workspace is deprecated"),
        (7, "Inf Detected | One or more non-finite values were encountered in this output"),
        (8, "FAILED | Output Validation"),
    ]


def test_a_build_or_a_failure_without_an_inference_is_a_run() -> None:
    build = """\
[V] Loaded Module: polygraphy | Version: 0.50.0 | Path: ['/opt/polygraphy']
[V] Loaded Module: tensorrt | Version: 10.16.2.5 | Path: ['/opt/tensorrt']
[I] Finished engine building in 9.25 seconds
"""
    ((log, notices),) = parse_polygraphy_logs(build.encode(), "p.log")
    assert notices == ()  # polygraphy convert does not say how it ended
    assert (log.backend, log.versions) == ("trt", {"tensorrt": "10.16.2.5"})
    assert (log.report.build_s, log.report.summaries, log.report.passed) == (9.25, (), None)
    failed = LOG.partition("[I] Creating")[0] + "[!] no such file\n[E] FAILED | Runtime: 1s\n"
    ((log, notices),) = parse_polygraphy_logs(failed.encode(), "p.log")
    assert (log.backend, log.report.passed, log.report.build_s) == ("ort-cpu", False, None)
    assert [message.text for message in log.report.messages] == ["no such file"]
    assert notices == ()
    ((log, _),) = parse_polygraphy_logs(b"[E] FAILED | Command: polygraphy run a.onnx", "p.log")
    assert (log.backend, log.report.passed) == ("polygraphy", False)


def test_an_excerpt_is_known_by_its_line_of_times() -> None:
    text = "\n".join(["# Checking outputs", "```", LOG.split("\n")[6], "```"])
    assert kind_of(text.encode(), "README.md") is ArtifactKind.POLYGRAPHY_LOG
    ((log, _),) = parse_polygraphy_logs(text.encode(), "README.md")
    assert (log.report.summaries[0].mean_ms, log.report.command) == (2.5, None)
