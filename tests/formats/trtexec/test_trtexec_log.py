import pytest

from enginescope.core.errors import FormatError
from enginescope.formats.trtexec import trtexec_log
from tests.formats import logs

WHOLE = logs.OPTIONS_10 + logs.SUMMARY + logs.PROFILE + logs.PASSED


def read(text: str) -> trtexec_log.TrtexecLog:
    return trtexec_log.parse_trtexec_log(text.encode(), "t.log")[0]


@pytest.fixture(params=[WHOLE, logs.prefixed(WHOLE), WHOLE.replace("\n", "\r\n")])
def whole(request: pytest.FixtureRequest) -> trtexec_log.TrtexecLog:
    """The same log without prefixes, with them, and with Windows line ends."""
    return read(request.param)


def test_identity_build_and_summaries(whole) -> None:
    report = whole.report
    assert (report.tool, report.tool_version, report.passed) == ("trtexec", "10.16.0", True)
    assert report.command == "trtexec --onnx=net.onnx"
    assert report.engine_bytes == int(12.5 * 2**20)
    assert report.context_memory_bytes == int(1.5 * 2**20)
    assert (report.build_s, report.deserialize_s) == (12.34, 0.5)
    assert (report.parse_s, report.load_s) == (0.25, None)
    latency, enqueue, end_to_end = report.summaries
    assert (latency.metric, latency.min_ms, latency.max_ms) == ("trtexec_latency", 0.8, 1.25)
    assert (latency.mean_ms, latency.median_ms) == (0.81, 0.805)
    assert latency.percentiles == ((90.0, 0.9), (99.9, 1.2e-05))
    assert (enqueue.max_ms, enqueue.mean_ms) == (None, None)
    assert end_to_end.metric == "end_to_end"
    assert (report.throughput_per_s, report.host_walltime_s) == (1234.5, 3.00097)
    assert report.total_gpu_compute_s == 2.9


def test_values_are_kept_whole(whole) -> None:
    options = whole.report.options
    assert options["Model Options"]["Model"] == "C:\\models\\net.onnx"
    assert options["Model Options"]["Output"] == ""
    assert options["Build Options"]["Memory Pools"] == "workspace: default, dlaSRAM: default"
    assert options["Build Options"]["Input build shape (profile 0)"] == "a=1x3+1x3+1x3; b=1+1+1"
    assert options["Inference Options"]["Inputs"] == "a<-a.bin; b<-b.bin"
    assert list(options) == ["Model Options", "Build Options", "Inference Options"]


def test_device(whole) -> None:
    device = whole.report.device
    assert (device.name, device.uuid, device.compute_capability) == ("NVIDIA RTX", "GPU-1:2", "8.6")
    assert (device.sm_count, device.memory_bytes) == (30, 5937 * 2**20)
    assert whole.report.device_facts["Device 0"] == '"NVIDIA RTX" UUID: GPU-1:2'
    assert "TensorRT version" not in whole.report.device_facts


def test_printed_profile(whole) -> None:
    profile = whole.profile
    assert (profile.source, profile.iterations) == ("trtexec", 120)
    first, odd = profile.layers
    assert first.name == "conv + relu 3 4"
    assert (first.total_ms, first.mean_ms, first.median_ms, first.share_pct) == (12, 0.1, 0.09, 75)
    assert odd.name == "Total"  # a layer may be called so; only the row of 100 % is the sum


@pytest.mark.parametrize(
    "stamp",
    [
        *("2026-11-26T12:0{0}:56.123456{0}Z ", "2026-11-26T12:0{0}:56Z\t", "trt-1  | "),
        *("[pod/bench-7f9c/trt] ", "Nov 26 12:00:5{0} host trtexec[41]: "),
    ],
)
@pytest.mark.parametrize("log", [WHOLE, logs.prefixed(WHOLE)])
def test_what_a_recorder_put_before_every_line_is_left_out(log, stamp) -> None:
    lines = enumerate(log.split("\n"))
    stamped = "\n".join(stamp.format(at % 10) + line for at, line in lines)
    assert read(stamped) == read(log)
    assert read("\n".join(line.rstrip() for line in stamped.split("\n"))) == read(log)


def test_profile_of_versions_without_a_median() -> None:
    text = (
        "&&&& RUNNING TensorRT.trtexec # trtexec\n=== Profile (5 iterations ) ===\n"
        "  Layer   Time (ms)   Avg. Time (ms)   Time %\n"
    )
    assert read(text).profile is None
    table = "    Time(ms)     Avg.(ms)   Time(%)   Layer\n     1.00       0.2000      100.0   a b\n"
    profile = read("=== Model Options ===\n\n=== Profile (5 iterations ) ===\n" + table).profile
    (row,) = profile.layers
    assert (row.name, row.mean_ms, row.median_ms) == ("a b", 0.2, None)


@pytest.mark.parametrize(
    ("digits", "version"),
    [("8601", "8.6.1"), ("8204", "8.2.4"), ("101600", "10.16.0"), ("110100", "11.1.0")],
)
def test_version_of_the_first_line(digits, version) -> None:
    line = f"&&&& RUNNING TensorRT.trtexec [TensorRT v{digits}] # trtexec --a=b c\n"
    report = read(f"&&&& of a wrapper\n{line}").report
    assert report.tool_version == version
    assert report.command == "trtexec --a=b c"


def test_messages() -> None:
    report = read(
        "[03/14/2025-09:26:53] [W] [TRT] slow: very\n"
        "[03/14/2025-09:26:53] [V] [TRT] Total Scratch Memory: 3\n"
        "[03/14/2025-09:26:54] [W] [TRT] slow: very\n"
        "[03/14/2025-09:26:54] [E] Error[1]: no memory\n"
        "[03/14/2025-09:26:55] [F] [TRT] gone\n"
        "[03/14/2025-09:26:55] [W] \n"
        "&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec\n"
    ).report
    assert [(one.level, one.text, one.line) for one in report.messages] == [
        ("warning", "slow: very", 1),
        ("error", "Error[1]: no memory", 4),
        ("fatal", "gone", 5),
    ]
    assert report.passed is False
    assert report.memory == {}


def test_memory_totals() -> None:
    report = read(
        "[03/14/2025-09:26:53] [I] [TRT] Total Host Persistent Memory: 134464\n"
        "[03/14/2025-09:26:53] [I] [TRT] Total Weights Memory: 512 bytes\n"
        "[03/14/2025-09:26:53] [I] [TRT] [MemUsageStats] Peak memory usage of TRT CPU/GPU memory "
        "allocators: CPU 25 MiB, GPU 26 MiB\n"
        "[03/14/2025-09:26:53] [I] [TRT] Total Scratch Memory: lots\n"
        "[03/14/2025-09:26:53] [I] [TRT] Loaded engine size: 23 MiB\n"
    ).report
    assert report.memory == {
        "Total Host Persistent Memory": 134464,
        "Total Weights Memory": 512,
        "Peak TRT CPU allocators": 25 * 2**20,
        "Peak TRT GPU allocators": 26 * 2**20,
    }
    assert report.engine_bytes == 23 * 2**20


def test_a_log_that_breaks_off() -> None:
    log, notices = trtexec_log.parse_trtexec_log(logs.prefixed(WHOLE)[:900].encode(), "t.log")
    assert log.report.passed is None
    assert log.report.options["Model Options"]["Format"] == "ONNX"
    assert log.profile is None
    assert [one.code for one in notices] == ["W-LOG-UNFINISHED"]


def test_each_process_in_a_file_has_its_own_facts() -> None:
    second = logs.OPTIONS_10.replace("12.34 sec", "9 sec") + logs.PASSED
    data = (WHOLE + second).encode()
    (first, _), (last, notices) = trtexec_log.parse_trtexec_logs(data, "t.log")
    assert (first.report.build_s, last.report.build_s) == (12.34, 9.0)
    assert first.report.summaries
    assert (last.report.summaries, notices) == ((), ())
    assert trtexec_log.parse_trtexec_log(data, "t.log")[0].report == last.report
    data = (logs.OPTIONS_10 + WHOLE).encode()
    (first, notices), (second, none) = trtexec_log.parse_trtexec_logs(data, "t.log")
    assert [one.code for one in notices] == ["W-LOG-UNFINISHED"]
    assert (first.report.passed, second.report.passed, none) == (None, True, ())
    part = logs.OPTIONS_10 + "[03/14/2025-09:26:53] [W] careful\n" + logs.PASSED
    (first, _), (second, _) = trtexec_log.parse_trtexec_logs((part + part).encode(), "t.log")
    assert first.report.messages[0].line == second.report.messages[0].line - part.count("\n")


def test_processes_that_wrote_at_the_same_time_are_refused() -> None:
    data = (logs.OPTIONS_10 + WHOLE + logs.PASSED).encode()
    with pytest.raises(FormatError, match="at the same time") as error:
        trtexec_log.parse_trtexec_logs(data, "t.log")
    assert "its own log" in error.value.hint


def test_utf16_is_read_and_another_log_refused() -> None:
    log, _ = trtexec_log.parse_trtexec_log(b"\xff\xfe" + WHOLE.encode("utf-16-le"), "t.log")
    assert log.report.passed is True
    with pytest.raises(FormatError, match="no line of trtexec's"):
        trtexec_log.parse_trtexec_log(b"hello\nworld", "t.log")


def test_recorded_build_log(data) -> None:
    raw = (data / "trt86-h200" / "resnet18.engine.build.log").read_bytes()
    log, notices = trtexec_log.parse_trtexec_log(raw, "b.log")
    report = log.report
    assert notices == ()
    assert (report.tool_version, report.passed) == ("8.6.0", True)
    assert (report.build_s, report.parse_s, report.deserialize_s) == (32.1546, 0.0759826, 0.0100848)
    assert report.options["Build Options"]["Precision"] == "FP32+FP16"
    controls = report.options["Build Options"]["Tempfile Controls"]
    assert controls == "{ in_memory: allow, temporary: allow }"
    assert report.options["Reporting Options"]["Dump refittable layers"] == "Disabled"
    assert report.memory["Total Activation Memory"] == 2418176
    assert len(report.messages) == 8
    assert report.device.name == "NVIDIA H200"
