"""What trtexec left, as a result: by version, and with every kind of damage."""

import shlex

import numpy as np
import pytest

from enginescope.backends.trtexec.outcome import read_log
from enginescope.backends.trtexec.process import Ended
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.records.run.job import Mode, StopRule
from enginescope.records.tensor import DataType
from tests.backends.trtexec.jobs import codes, job, measured, workload


@pytest.mark.parametrize("version", ["8.6.1", "10.16.0", "11.1.0"])
def test_a_model_is_built_measured_profiled_and_inspected(tool, convnet, version) -> None:
    tool.version(version)
    result = measured(job(convnet))
    by_metric = {one.metric: one for one in result.samples}
    assert set(by_metric) == {"trtexec_latency", "gpu_compute", "h2d", "d2h", "enqueue"}
    assert by_metric["gpu_compute"].values_ms[0] == pytest.approx(0.25)
    assert len(by_metric["h2d"]) == 77
    assert (result.stop.rule, result.stop.iterations) == ("duration", 77)
    assert result.wall_ms == result.stop.duration_ms
    assert (result.warmup.iterations, result.profile.source) == (31, "trtexec")
    assert [one.name for one in result.profile.layers] == ["conv", "head"]
    assert result.plan.layers[1].type == "Gemm"
    assert result.plan.source_schema == ("trt11" if version.startswith("11") else "trt8-10")
    assert (result.inputs[0].shape, result.inputs[0].dtype) == ((2, 3, 8, 8), DataType.FP32)
    assert [one.shape for one in result.outputs] == [(2, 10), None]
    assert "W-SUMMARY-MISMATCH" not in codes(result)
    assert not {one.code for one in result.notices if one.level == "warning"}


def test_the_tools_own_words_are_kept(tool, convnet) -> None:
    result = measured(job(convnet))
    assert result.tool.passed
    assert result.tool.tool_version == "8.6.1"
    assert result.tool.device is not None
    assert shlex.split(result.tool.command or "") == [str(tool.binary), *tool.arguments]
    ends = ("log", "timing.json", "profile.json", "graph.json")
    assert set(result.files) == {f"small_convnet.{end}" for end in ends}
    assert result.files["small_convnet.log"].startswith("&&&& RUNNING")
    assert '"startComputeMs"' in result.files["small_convnet.timing.json"]


def phases(result) -> dict[str, float]:
    return {one.name: one.duration_ms for one in result.phases}


def test_phases(tool, convnet, engine) -> None:
    of_model = phases(measured(job(convnet)))
    assert (of_model["parse"], of_model["warm_up"]) == (250.0, 100.0)
    assert of_model["build"] == 2000.0  # 8.6 counts the parsing in
    assert of_model["load"] == pytest.approx(15.0)
    of_engine = phases(measured(job(engine)))
    assert "build" not in of_engine
    assert of_engine["load"] == pytest.approx(40.0)
    tool.version("10.16.0")
    assert phases(measured(job(convnet)))["build"] == 2250.0


def test_an_engine(tool, engine) -> None:
    result = measured(job(engine))
    assert tool.value("loadEngine") == str(engine)
    assert result.batch == 2  # of the shapes it was run with
    assert result.plan.source_schema == "names-only"
    assert {"I-OWN-FILL", "I-NAMES-ONLY"} <= codes(result)
    assert result.device_memory is None
    tool.version("10.16.0")
    result = measured(job(engine))
    assert result.device_memory.activation_bytes == 3 << 19


def test_the_mode_is_the_one_it_printed(tool, engine) -> None:
    mode = Mode(kind="throughput", in_flight=1, transfers=False, cuda_graph=False, spin_wait=True)
    for version in ("8.6.1", "11.1.0"):
        tool.version(version)
        result = measured(job(engine, workload=workload(mode=mode)))
        assert result.mode == replace(mode, streams=1, idle_ms=0.0)
        assert "W-MODE" not in codes(result)


def test_a_mode_it_did_not_follow_and_a_graph_it_refused(tool, engine) -> None:
    tool.fault("says_no_spin")
    mode = Mode(kind="throughput", spin_wait=True)
    assert "W-MODE" in codes(measured(job(engine, workload=workload(mode=mode))))
    tool.fault("graph_refused")
    result = measured(job(engine))
    assert "W-NO-CUDA-GRAPH" in codes(result)
    assert result.mode.cuda_graph is False


def test_counted_iterations_and_a_run_without_layers(tool, engine) -> None:
    result = measured(job(engine, workload=workload(stop=StopRule(iterations=25))))
    assert (result.stop.rule, result.stop.iterations) == ("iterations", 25)
    result = measured(job(engine, layer_profile=False))
    assert result.profile is None
    assert "W-DAMAGED-FILE" not in codes(result)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no_times", "exported no times"),
        ("garbage_times", "exported times cannot be used"),
        ("empty_times", "exported times cannot be used"),
        ("fails", r"Error\[4\].*no outputs; Engine could not be created"),
        ("fails_with_0", r"exit status 0: Error\[4\]"),
        ("silent", "exported no times"),
        ("segv", "died of SIGSEGV"),
        ("says_nothing_of_errors", "std::bad_alloc|FAILED"),
        ("oom", "out of memory"),
    ],
)
def test_without_times_there_is_no_result(tool, engine, fault, message) -> None:
    tool.fault(fault)
    with pytest.raises(BackendError, match=message):
        measured(job(engine))


def test_times_that_end_early_are_used_and_a_cut_log_is_noticed(tool, engine) -> None:
    tool.fault("damaged_times")
    result = measured(job(engine))
    assert 30 < len(result.samples[0]) < 45
    assert "W-TRUNCATED" in codes(result)
    tool.fault("cut_log")
    assert "W-LOG-UNFINISHED" in codes(measured(job(engine)))


@pytest.mark.parametrize("fault", ["no_profile", "damaged_profile"])
def test_layer_times_from_the_log_where_their_file_is_bad(tool, engine, fault) -> None:
    tool.fault(fault)
    result = measured(job(engine))
    np.testing.assert_allclose([one.mean_ms for one in result.profile.layers], [0.2, 0.05])
    assert {"W-DAMAGED-FILE", "I-PRINTED-PROFILE"} <= codes(result)


@pytest.mark.parametrize("fault", ["no_plan", "damaged_plan"])
def test_without_a_plan_the_measurement_stands(tool, engine, fault) -> None:
    tool.fault(fault)
    result = measured(job(engine))
    assert result.plan is None
    assert result.samples
    (notice,) = [one for one in result.notices if one.code == "W-DAMAGED-FILE"]
    assert notice.evidence["file"] == "net.graph.json"


RUNNING = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx\n"
PASSED = RUNNING.replace("RUNNING", "PASSED")
FAILED = RUNNING.replace("RUNNING", "FAILED")


def error(text: str) -> str:
    return f"[11/21/2026-07:26:41] [E] {text}\n"


def failure(status: int, log: str) -> BackendError:
    with pytest.raises(BackendError) as caught:
        read_log(Ended(status, log), "net.log")
    return caught.value


def test_a_log_of_a_good_end() -> None:
    log, notices = read_log(Ended(0, RUNNING + PASSED), "net.log")
    assert log.report.tool_version == "8.6.1"
    assert notices == ()


def test_the_first_errors_are_the_cause() -> None:
    log = RUNNING + "".join(error(word) for word in ("one", "two", "three", "four")) + FAILED
    found = failure(1, log)
    assert str(found) == "trtexec failed with exit status 1: one; two; three"
    assert found.exit_code == 3


def test_failed_is_believed_whatever_the_status() -> None:
    assert "one" in str(failure(0, RUNNING + error("one") + FAILED))


@pytest.mark.parametrize(
    ("status", "log", "what", "why"),
    [
        (1, f"{RUNNING}terminate called\n\n", "failed with exit status 1", "terminate called"),
        (-11, RUNNING, "died of SIGSEGV", RUNNING.strip()),
        (-200, RUNNING, "died of signal 200", RUNNING.strip()),
        (0, "", "failed with exit status 0", "it printed nothing"),
        (127, "no such library\n", "failed with exit status 127", "no such library"),
    ],
)
def test_without_an_error_the_last_line_is_the_cause(status, log, what, why) -> None:
    found = failure(status, log)
    assert (found.what, found.why) == (f"trtexec {what}", why)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Unknown option: --fp61", "--trtexec-args"),
        ("Error Code 1: Cuda Runtime (out of memory)", "smaller batch"),
        ("[OutOfMemory]", "smaller batch"),
    ],
)
def test_hints(text, hint) -> None:
    assert hint in (failure(1, RUNNING + error(text)).hint or "")
