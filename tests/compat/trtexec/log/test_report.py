"""A run printed, and read back by the parser of trtexec's logs."""

import gzip
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from enginescope.compat.trtexec.arguments import read_arguments
from enginescope.compat.trtexec.files import KeptTexts
from enginescope.compat.trtexec.log.log import Line, device_lines, option_lines, printed, status
from enginescope.compat.trtexec.log.report import HEADINGS, run_lines
from enginescope.compat.trtexec.settings import Settings, settings_of
from enginescope.core.record import replace
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.trtexec.exported_times import as_trtexec_prints, parse_times
from enginescope.formats.trtexec.trtexec_log import TrtexecLog, parse_trtexec_log
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from tests.compat.trtexec.runs import N, measured, settings, version

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
GPU = Device(name="NVIDIA H200", uuid="GPU-1", compute_capability="9.0", sm_count=132)
GPU = replace(GPU, memory_bytes=143_155 * 2**20)
INSPECTOR = '{"Layers": ["a\x1fb", "c"], "Bindings": ["x", "y"]}'


def printed_run(asked: Settings, run: Run, texts: KeptTexts | None = None) -> tuple[Line, ...]:
    return (
        *option_lines(asked),
        *device_lines((GPU,), GPU, 0, asked.arguments.version),
        *run_lines(run, asked, texts or KeptTexts()),
    )


def parsed(asked: Settings, lines: tuple[Line, ...]) -> TrtexecLog:
    trt, typed = asked.arguments.version, ("enginescope", "trtexec", "--onnx=model.onnx")
    body = [printed(one, NOW) for one in lines]
    text = "\n".join([status("RUNNING", trt, typed), *body, status("PASSED", trt, typed)])
    found, notices = parse_trtexec_log(f"{text}\n".encode(), "ours.log")
    assert notices == ()
    return found


@pytest.mark.parametrize("trt", ["8.6.1", "9.3.0", "10.16.1.11", "11.1.0"])
def test_our_log_reads_back_to_the_same_figures(trt) -> None:
    asked = settings("--dumpProfile", "--percentile=50,99.9", trt=trt)
    run = measured(asked)
    log = parsed(asked, printed_run(asked, run))
    report = log.report
    assert report.passed is True
    assert report.tool_version == str(asked.arguments.version)
    assert report.command == "enginescope trtexec --onnx=model.onnx"
    assert report.device == GPU if trt != "8.6.1" else report.device is not None
    assert (report.throughput_per_s, report.host_walltime_s, report.parse_s) == (800, 1.25, 0.25)
    assert report.build_s == (12.25 if trt == "8.6.1" else 12)
    assert report.deserialize_s == 0.03125
    sizes = (None, None) if trt == "8.6.1" else (2 * 2**20, 5 * 2**20)
    assert (report.engine_bytes, report.context_memory_bytes) == sizes
    assert len(report.summaries) == 5
    for one in report.summaries:
        series = run.series(one.metric)
        ours = as_trtexec_prints(series, (50.0, 99.9))
        assert one.median_ms == pytest.approx(ours.median_ms, rel=1e-5)
        assert one.mean_ms == pytest.approx(float(series.values_ms.mean()), rel=6e-6)
        assert one.percentiles[1][1] == pytest.approx(ours.percentiles[1][1], rel=1e-5)
    assert log.profile.iterations == 120
    assert [layer.name for layer in log.profile.layers] == ["conv1", 'fc "x"\\y\\x0az']
    assert log.profile.layers[1].mean_ms == 0.1667


def test_the_mode_is_in_the_log() -> None:
    asked = settings("--exposeDMA", trt="11.1.0")
    options = parsed(asked, printed_run(asked, measured(asked))).report.options
    mode = options["Inference Options"]
    assert mode["CUDA Graph"] == mode["Spin-wait"] == mode["ExposeDMA"] == "Enabled"
    assert mode["Data transfers"] == "Disabled"
    assert "Separate profiling" not in mode
    assert options["Build Options"]["Precision"] == "Strongly Typed"


@pytest.fixture
def recorded(data: Path, tmp_path: Path) -> Path:
    folder = data / "trt86-h200"
    times = gzip.decompress((folder / "depth_anything_small.timing.json.gz").read_bytes())
    (tmp_path / "depth_anything_small.timing.json").write_bytes(times)
    log = "depth_anything_small.engine.profile.log"
    (tmp_path / log).write_bytes((folder / log).read_bytes())
    return tmp_path


def test_a_recorded_run_prints_as_trtexec_printed_it(recorded) -> None:
    (run,) = import_artifacts([recorded]).runs
    times, _ = parse_times((recorded / "depth_anything_small.timing.json").read_bytes(), "times")
    run = replace(run, wall_ms=times.wall_ms)
    theirs = run.tool
    asked = settings_of(read_arguments(theirs.command.split()[1:], version("8.6.0")))
    ours = parsed(asked, run_lines(run, asked, KeptTexts())).report
    assert ours.throughput_per_s == pytest.approx(theirs.throughput_per_s, rel=5e-6)
    assert ours.host_walltime_s == pytest.approx(theirs.host_walltime_s, rel=5e-6)
    assert ours.total_gpu_compute_s == theirs.total_gpu_compute_s
    by_metric = {one.metric: one for one in theirs.summaries}
    exact = [one for one in ours.summaries if one.metric != "enqueue"]
    assert exact == [by_metric[one.metric] for one in exact]
    assert len(exact) == 4


def test_recorded_options_are_repeated_key_by_key(data) -> None:
    for name in ("resnet18.engine.build.log", "resnet18.engine.profile.log"):
        theirs = parse_trtexec_log((data / "trt86-h200" / name).read_bytes(), name)[0].report
        asked = settings_of(read_arguments(theirs.command.split()[1:], version("8.6.0")))
        ours = parsed(asked, option_lines(asked)).report
        expected = {title: dict(section) for title, section in theirs.options.items()}
        # layers are always profiled in a run of their own
        expected["Inference Options"]["Separate profiling"] = "Enabled"
        assert ours.options == expected
        for title, section in expected.items():
            assert list(ours.options[title]) == list(section)


def lines_of(asked: Settings, run: Run | None = None, **changes: object) -> tuple[Line, ...]:
    return run_lines(run or measured(asked, **changes), asked, KeptTexts())


def texts_of(lines: tuple[Line, ...], level: str | None = None) -> list[str]:
    return [one.text for one in lines if level in (None, one.level)]


def varied(asked: Settings, **series: np.ndarray) -> Run:
    run = measured(asked)
    changed = tuple(replace(s, values_ms=series.get(s.metric, s.values_ms)) for s in run.samples)
    return replace(run, samples=changed)


def test_what_is_warned_of() -> None:
    asked = settings()
    assert texts_of(lines_of(asked), "W") == []
    run = measured(asked, notices=(Notice(code="W-LOAD", message="other load\non it"),))
    assert texts_of(lines_of(asked, run), "W") == ["* other load\\x0aon it (W-LOAD)"]
    facts = {"input": "x", "shape": [1, 3]}
    notice = Notice(code="I-DYNAMIC-SHAPE", message="as 1", evidence=facts, level="info")
    (text,) = texts_of(lines_of(asked, notices=(notice,)), "W")
    assert text.startswith("Dynamic dimensions required for input: x, but no shapes")
    assert text.endswith("Automatically overriding shape to: 1x3")
    (found,) = texts_of(lines_of(settings("--infStreams=2")), "W")
    assert found.startswith("* Multiple inference streams are used.")
    (found,) = texts_of(lines_of(settings("--dumpLayerInfo")), "W")
    assert "inspector gave none" in found


@pytest.mark.parametrize(
    ("metric", "words", "hint10", "hint11"),
    [
        ("enqueue", "bound by Enqueue Time", "--useCudaGraph", "--noCudaGraph"),
        ("h2d", "host-to-device transfers", "--noDataTransfers", "--includeDataTransfers"),
        ("d2h", "device-to-host transfers", "--noDataTransfers", "--includeDataTransfers"),
    ],
)
def test_what_bounds_the_throughput_is_warned_of(metric, words, hint10, hint11) -> None:
    for trt, hint in (("10.16.1", hint10), ("11.1.0", hint11)):
        asked = settings(*(("--includeDataTransfers",) if trt == "11.1.0" else ()), trt=trt)
        bound = varied(asked, **{metric: np.full(N, 1.001)})
        first, second = texts_of(lines_of(asked, bound), "W")
        assert words in first
        assert hint in second


def test_unsteady_compute_times_are_warned_of_by_the_versions_own_measure() -> None:
    unsteady = 1 + 0.02 * (-1.0) ** np.arange(N)
    for trt, warned in (("8.6.1", True), ("10.13.0", True), ("10.13.2", False), ("11.1.0", False)):
        asked = settings(trt=trt)
        found = texts_of(lines_of(asked, varied(asked, gpu_compute=unsteady)), "W")
        assert (found[:1] == []) is not warned
        if warned:
            assert found[0] == "* GPU compute time is unstable, with coefficient of variance = 2%."


def test_copies_that_are_not_made_are_printed_as_zero() -> None:
    asked = settings("--noDataTransfers")
    run = measured(asked)
    kept = tuple(one for one in run.samples if one.metric not in ("h2d", "d2h"))
    report = parsed(asked, printed_run(asked, replace(run, samples=kept))).report
    assert [one.metric for one in report.summaries] == list(HEADINGS)
    by_metric = {one.metric: one for one in report.summaries}
    assert by_metric["h2d"].max_ms == by_metric["d2h"].max_ms == 0
    assert report.messages == ()


@pytest.mark.parametrize("trt", ["8.6.1", "10.16.1", "11.1.0"])
def test_a_graph_that_could_not_be_captured(trt) -> None:
    asked = settings(*(() if trt == "11.1.0" else ("--useCudaGraph",)), trt=trt)
    run = measured(asked)
    workload = replace(run.job.workload, mode=replace(run.job.workload.mode, cuda_graph=False))
    run = replace(run, job=replace(run.job, workload=workload))
    found = texts_of(lines_of(asked, run), "W")
    assert len(found) == 3
    assert ("--useCudaGraph flag has been ignored" in found[2]) == (trt != "11.1.0")
    assert any("Successfully captured" in one.text for one in lines_of(asked)) == (trt != "8.6.1")


@pytest.mark.parametrize(("trt", "ends"), [("8.6.1", None), ("9.0.0", 300), ("10.16.1", 200)])
def test_long_traces_are_printed_at_their_ends(trt, ends) -> None:
    found = texts_of(lines_of(settings("--avgRuns=1", trt=trt)))
    averages = [one for one in found if one.startswith("Average on 1 runs - GPU latency: ")]
    assert len(averages) == (N if ends is None else 2 * ends)
    if ends is not None:
        assert f"... Omitting {N - 2 * ends} lines" in found


def test_layers_bindings_and_shapes() -> None:
    asked = settings("--dumpLayerInfo", "--dumpOptimizationProfile", "--optShapes=x:2x3")
    found = texts_of(run_lines(measured(asked), asked, KeptTexts(inspector=INSPECTOR)))
    assert "Layers:\na\\x1fb\nc\n\nBindings:\nx\ny" in found
    assert "Model input x (profile 0): min=2x3, opt=2x3, max=2x3" in found
    assert "Input binding for x with dimensions 1x3x8x8 and type fp32 is created." in found
    assert found.index("Layer Information:") < found.index("Starting inference")


def test_the_librarys_lines_are_among_ours() -> None:
    log = (
        "[01/02/2026-03:04:05] [I] [TRT] [MemUsageChange] Init CUDA\n"
        "[01/02/2026-03:04:05] [W] [TRT] weights\n"
        "[01/02/2026-03:04:05] [V] [TRT] Tactic: 1\n"
        "a library's own words\n"
    )
    asked = settings()
    lines = run_lines(measured(asked), asked, KeptTexts(build_log=log))
    assert Line("I", "[TRT] [MemUsageChange] Init CUDA") in lines
    assert Line("W", "[TRT] weights") in lines
    assert texts_of(lines, "V") == []
    verbose = settings("--verbose")
    lines = run_lines(measured(verbose), verbose, KeptTexts(run_log=log))
    found = texts_of(lines, "V")
    assert found[:2] == ["[TRT] Tactic: 1", "a library's own words"]
    assert found[2] == "=== Explanations of the performance metrics ==="
    assert found[3].startswith("Latency: H2D + GPU compute + D2H")


def test_the_log_of_a_build_is_printed_once() -> None:
    log = "[01/02/2026-03:04:05] [I] [TRT] Detected 1 inputs\n"
    texts = KeptTexts(build_log=log, run_log=log)
    asked = settings("--skipInference")
    run = measured(asked)
    built = tuple(one for one in run.phases if one.name != "load")
    lines = run_lines(replace(run, phases=built), asked, texts)
    assert lines.count(Line("I", "[TRT] Detected 1 inputs")) == 1
    assert texts_of(lines)[1:3] == ["Start parsing network model.", "[TRT] Detected 1 inputs"]
    both = settings()
    assert run_lines(measured(both), both, texts).count(lines[2]) == 2


def test_a_failed_run_says_why_and_reports_nothing() -> None:
    asked = settings()
    outcome = Outcome(kind=OutcomeKind.FAILED, message="no kernel", hint="another GPU")
    lines = lines_of(asked, outcome=outcome, samples=())
    assert texts_of(lines, "E") == ["no kernel", "  try: another GPU"]
    assert not any("Performance summary" in one.text for one in lines)
    silent = lines_of(asked, outcome=Outcome(kind=OutcomeKind.CRASHED), samples=())
    assert texts_of(silent, "E") == ["the worker ended: crashed"]


def test_which_sections_are_printed() -> None:
    found = texts_of(lines_of(settings("--skipInference")))
    assert found[-1] == "Skipped inference phase since --skipInference is added."
    assert not any("Starting inference" in one for one in found)
    found = texts_of(lines_of(settings("--avgRuns=300")))
    assert sum(one.startswith("Average on 300 runs") for one in found) == 3
    assert "y: (1x4)\n1.5 nan inf -inf" in texts_of(lines_of(settings("--dumpOutput")))
    found = texts_of(lines_of(settings("--dumpProfile"), profile=None))
    assert not any(one.startswith("=== Profile") for one in found)


def test_a_loaded_engine_has_no_build_section_from_9_on() -> None:
    for trt, has_section in (("8.6.1", True), ("10.16.1", False)):
        asked = settings("--loadEngine=e.plan", trt=trt)
        log = parsed(asked, printed_run(asked, measured(asked, phases=(), build=None)))
        assert ("Build Options" in log.report.options) is has_section
        assert log.report.build_s is None
        if trt == "10.16.1":
            assert log.report.engine_bytes == 3 * 2**20
