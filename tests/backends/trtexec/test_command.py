from pathlib import Path

import pytest

from enginescope.backends.trtexec.command import command_for
from enginescope.backends.trtexec.options import name_of
from enginescope.core.errors import UnsupportedError
from enginescope.core.record import replace
from enginescope.records.run.job import Mode, StopRule, WarmUp
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.trtexec.jobs import job, workload
from tests.backends.trtexec.known_flags import taken_by

VERSIONS = [(8, 6, 1), (10, 16, 0), (11, 0, 0), (11, 1, 0)]
BUSY = Mode(kind="throughput", transfers=False, cuda_graph=False, spin_wait=True)
OFF = {"noCudaGraph", "noSpinWait", "includeDataTransfers"}
SWITCHES = {
    *("useCudaGraph", "noCudaGraph", "useSpinWait", "noSpinWait", "noDataTransfers"),
    *("includeDataTransfers", "exposeDMA"),
}


def command(one, version, folder):
    feeds = lambda specs: make_feeds(specs, one.workload)  # noqa: E731
    return command_for(Path("trtexec"), version, one, feeds, folder)


def switches(made) -> set[str]:
    return {name_of(one) for one in made.arguments[1:]} & SWITCHES


def value(made, flag: str) -> str:
    (found,) = [one for one in made.arguments[1:] if name_of(one) == flag]
    return found.partition("=")[2]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", [Mode(), BUSY])
def test_every_flag_is_one_of_the_version(tmp_path, engine, version, mode) -> None:
    made = command(job(engine, workload=workload(mode=mode)), version, tmp_path)
    names = [name_of(one) for one in made.arguments[1:]]
    assert set(names) <= taken_by(version[:2])
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("version", [*VERSIONS, (11, 2, 0), (11, 4, 1), (12, 0, 0)])
def test_a_version_newer_than_what_is_known_is_said(tmp_path, engine, version) -> None:
    made = command(job(engine), version, tmp_path)
    said = [one.message for one in made.notices if one.code == "W-NEWER-TRTEXEC"]
    if version[:2] <= (11, 1):
        assert said == []
    else:
        (text,) = said
        assert f"TensorRT {'.'.join(map(str, version))} is newer than 11.1" in text
        as_known = command(job(engine), (11, 1, 0), tmp_path)
        assert [*map(name_of, made.arguments)] == [*map(name_of, as_known.arguments)]


@pytest.mark.parametrize(
    ("version", "mode", "expected"),
    [
        ((8, 6, 1), Mode(), {"useCudaGraph", "useSpinWait"}),
        ((11, 1, 0), Mode(), {"useCudaGraph", "useSpinWait", "includeDataTransfers"}),
        ((8, 6, 1), Mode(spin_wait=False), {"useCudaGraph"}),
        ((11, 1, 0), Mode(spin_wait=False, cuda_graph=False), OFF),
        ((10, 16, 0), replace(BUSY, in_flight=1), {"noDataTransfers", "useSpinWait", "exposeDMA"}),
        ((11, 1, 0), replace(BUSY, in_flight=2), {"noDataTransfers", "useSpinWait", "noCudaGraph"}),
    ],
)
def test_every_switch_is_stated(tmp_path, engine, version, mode, expected) -> None:
    made = command(job(engine, workload=workload(mode=mode)), version, tmp_path)
    assert switches(made) == expected


def test_streams_and_pauses(tmp_path, engine) -> None:
    mode = Mode(kind="throughput", in_flight=None, streams=3, idle_ms=2.5)
    asked = workload(mode=mode, stop=StopRule(iterations=100))
    made = command(job(engine, workload=asked), (8, 6, 1), tmp_path)
    assert [value(made, flag) for flag in ("infStreams", "idleTime")] == ["3", "2.5"]
    assert value(made, "iterations") == "34"  # rounds, of three queries each
    assert (made.mode.kind, made.mode.in_flight, made.mode.streams) == ("throughput", 2, 3)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (Mode(kind="latency"), "mode latency on trtexec"),
        (Mode(cold=True), "mode cold"),
        (Mode(rotate=4), "mode rotate"),
        (Mode(kind="throughput", in_flight=3), "3 requests in flight"),
    ],
)
def test_modes_that_trtexec_has_not(tmp_path, engine, mode, message) -> None:
    with pytest.raises(UnsupportedError, match=message):
        command(job(engine, workload=workload(mode=mode)), (8, 6, 1), tmp_path)


@pytest.mark.parametrize(
    ("stop", "iterations", "duration", "rule", "codes"),
    [
        (StopRule(iterations=50), "50", "0", "iterations", []),
        (StopRule(duration_ms=1500.0), "1", "1.5", "duration", []),
        (StopRule(duration_ms=1500.0, min_iterations=20), "20", "1.5", "duration", []),
        (StopRule(), "100", "3", "duration", ["I-STOP-RULE"]),
        (StopRule(max_time_ms=500.0, min_samples=7), "7", "0.5", "duration", ["I-STOP-RULE"]),
    ],
)
def test_stop_rules(tmp_path, engine, stop, iterations, duration, rule, codes) -> None:
    made = command(job(engine, workload=workload(stop=stop)), (8, 6, 1), tmp_path)
    found = value(made, "iterations"), value(made, "duration"), made.rule
    assert found == (iterations, duration, rule)
    assert [one.code for one in made.notices] == codes
    assert made.expected_ms == 100.0 + 1e3 * float(duration)


def test_warm_up_by_count(tmp_path, engine) -> None:
    counted = workload(warmup=WarmUp(time_ms=0.0, iterations=50))
    made = command(job(engine, workload=counted), (11, 1, 0), tmp_path)
    assert value(made, "warmUp") == "0"
    assert [one.code for one in made.notices] == ["I-WARMUP-RULE", "W-FIRST-QUERY"]


def test_outputs_are_not_kept_and_that_is_said(tmp_path, engine) -> None:
    made = command(job(engine, keep_outputs=True), (8, 6, 1), tmp_path)
    assert [one.code for one in made.notices] == ["I-NO-OUTPUTS"]


def test_without_layers_there_is_no_profiler(tmp_path, engine) -> None:
    made = command(job(engine, layer_profile=False), (8, 6, 1), tmp_path)
    names = {name_of(one) for one in made.arguments}
    assert not names & {"exportProfile", "dumpProfile", "separateProfileRun"}
    assert {"exportTimes", "exportLayerInfo"} <= names


def test_the_users_arguments_win(tmp_path, engine) -> None:
    options = {"args": "--noCudaGraph --warmUp=5 --avgRuns=3"}
    made = command(job(engine, options=options), (11, 1, 0), tmp_path)
    assert switches(made) == {"noCudaGraph", "useSpinWait", "includeDataTransfers"}
    assert value(made, "warmUp") == "5"
    assert made.arguments[-3:] == ("--noCudaGraph", "--warmUp=5", "--avgRuns=3")
    assert made.mode is None


def test_subjects(tmp_path, engine, convnet) -> None:
    assert value(command(job(engine), (8, 6, 1), tmp_path), "loadEngine") == str(engine)
    made = command(job(convnet, precision="fp16"), (8, 6, 1), tmp_path)
    assert value(made, "onnx") == str(convnet)
    assert value(made, "profilingVerbosity") == "detailed"
    assert "--fp16" in made.arguments
