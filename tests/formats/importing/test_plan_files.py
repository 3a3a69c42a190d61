import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.importing.plan_files import PlanFiles, neighbour, read_plan_files
from tests.formats import plans, times
from tests.formats.trtexec.test_script_log import LAYERS, PREFIX

TIMES = [{"count": 5}, {"name": "conv + relu", "timeMs": 5.0, "averageMs": 1.0, "medianMs": 1.0}]
TIMING = {"performance_summary": {"GPU Compute Time": [1.0, 2.0, 1.5, 1.5, 1.9]}}
BUILD = {
    "build_options": {"Precision": "FP32+FP16"},
    "device_information": {"Selected Device": "GPU"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.engine.graph.json").write_bytes(plans.encoded(plans.tensorrt_8_4()))
    for role, value in (
        ("profile", TIMES),
        ("profile.metadata", TIMING),
        ("build.metadata", BUILD),
    ):
        (tmp_path / f"net.engine.{role}.json").write_text(json.dumps(value))
    return tmp_path


@pytest.mark.parametrize(
    ("plan", "profile"),
    [
        ("x.graph.json", "x.profile.json"),
        ("x_layer_info.json", "x_profile.json"),
        ("x-engine_info.json", "x-profile.json"),
        ("layers.json", "profile.json"),
        ("x.json", "x.profile.json"),
    ],
)
def test_what_a_neighbour_is_called(tmp_path, plan, profile) -> None:
    assert neighbour(tmp_path / plan, "profile") is None
    (tmp_path / profile).write_text("[]")
    assert neighbour(tmp_path / plan, "profile") == tmp_path / profile


def test_options_of_the_timing_log(folder) -> None:
    """Without trex's metadata, the log that trex would have cut it out of is read."""
    plan = PlanFiles(plan=folder / "net.engine.graph.json")
    log = folder / "net.engine.profile.log"
    log.write_text(
        "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --useCudaGraph\n"
        "[11/21/2026-07:26:41] [I] === Inference Options ===\n"
        "[11/21/2026-07:26:41] [I] CUDA Graph: Enabled\n"
    )
    assert log not in read_plan_files(plan).files
    (folder / "net.engine.profile.metadata.json").unlink()
    read = read_plan_files(plan)
    assert log in read.files
    assert read.report.options["Inference Options"]["CUDA Graph"] == "Enabled"


TRTEXEC_LOG = """&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine=net.engine
[11/21/2026-07:26:41] [I] === Device Information ===
[11/21/2026-07:26:41] [I] Selected Device: NVIDIA H200
&&&& PASSED TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine=net.engine
"""


@pytest.mark.parametrize(("text", "is_read"), [(TRTEXEC_LOG, True), ("make: done\n", False)])
def test_a_log_named_like_the_plan_alone(tmp_path, text, is_read) -> None:
    """`trtexec … > net.log` is how a recipe keeps the log; any program may write such a name."""
    plan, log = tmp_path / "net.graph.json", tmp_path / "net.log"
    plan.write_bytes(plans.encoded(plans.tensorrt_8_4()))
    log.write_text(text)
    read = read_plan_files(PlanFiles(plan=plan))
    assert (log in read.files) is is_read
    assert (read.report is not None) is is_read
    if read.report is not None:
        assert read.report.device.name == "NVIDIA H200"
    assert read.notices == ()
    (tmp_path / "net.profile.log").write_text(text)  # this name goes first
    assert log not in read_plan_files(PlanFiles(plan=plan)).files


def test_files_beside_the_plan_are_read(folder) -> None:
    read = read_plan_files(PlanFiles(plan=folder / "net.engine.graph.json"))
    assert (read.plan.name, read.profile.iterations) == ("net.engine", 5)
    assert (read.report.summaries[0].mean_ms, read.report.device.name) == (1.5, "GPU")
    assert [one.name for one in read.files] == [
        "net.engine.graph.json",
        "net.engine.profile.json",
        "net.engine.profile.metadata.json",
        "net.engine.build.metadata.json",
    ]
    assert read.notices == ()


def test_a_plan_alone(tmp_path) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(plans.encoded(plans.tensorrt_8_4()))
    read = read_plan_files(PlanFiles(plan=path))
    assert (read.plan.name, read.profile, read.report) == (tmp_path.name, None, None)


def test_a_named_file_goes_before_a_found_one(folder, tmp_path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"count": 9}, *TIMES[1:]]))
    read = read_plan_files(PlanFiles(plan=folder / "net.engine.graph.json", profile=other))
    assert read.profile.iterations == 9


def test_layer_times_that_are_named_have_the_requests_of_their_own_timing(folder) -> None:
    """Layers of a CUDA graph were scaled to the requests of another run of the engine."""
    plan, other = folder / "net.engine.graph.json", folder / "graph.profile.json"
    other.write_text(json.dumps(TIMES))
    (folder / "net.engine.times.json").write_text(json.dumps(times.records(10)))
    read = read_plan_files(PlanFiles(plan=plan, profile=other))
    assert (read.times, read.report and read.report.summaries) == (None, ())
    (folder / "graph.times.json").write_text(json.dumps(times.records(20)))
    own = read_plan_files(PlanFiles(plan=plan, profile=other)).times
    assert len(own.samples[0].values_ms) == 20


def test_a_damaged_neighbour_leaves_a_notice_and_a_named_one_an_error(folder) -> None:
    path = folder / "net.engine.profile.json"
    path.write_text("[1, 2]")
    plan = folder / "net.engine.graph.json"
    read = read_plan_files(PlanFiles(plan=plan))
    assert read.profile is None
    assert [one.code for one in read.notices] == ["W-DAMAGED-FILE"]
    with pytest.raises(FormatError, match="no layer times"):
        read_plan_files(PlanFiles(plan=plan, profile=path))


@pytest.mark.parametrize("content", [b"ptrt\x00\x01", b"\xff\xfe\x00"])
def test_what_is_no_json_is_perhaps_an_engine(tmp_path, content) -> None:
    path = tmp_path / "net.engine"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a JSON file") as caught:
        read_plan_files(PlanFiles(plan=path))
    assert caught.value.hint is not None
    assert "--on trt" in caught.value.hint


def test_a_plan_that_is_not_there(tmp_path) -> None:
    with pytest.raises(FormatError, match="absent"):
        read_plan_files(PlanFiles(plan=tmp_path / "absent.json"))


def test_times_of_whole_requests_beside_the_plan(folder) -> None:
    rows = [{"h2dMs": 0.1, "computeMs": n, "d2hMs": 0.1, "latencyMs": n + 0.2} for n in (1, 2)]
    (folder / "net.engine.timing.json").write_text(json.dumps(rows))
    read = read_plan_files(PlanFiles(plan=folder / "net.engine.graph.json"))
    assert {one.metric: len(one) for one in read.times.samples}["gpu_compute"] == 2
    assert read.facts.times is read.times
    assert read.artifacts[-1].kind == "trtexec_times"
    # Two times whose percentiles are not those that were printed: said, as import says it.
    assert [one.code for one in read.notices] == ["W-SUMMARY-MISMATCH"]


def test_how_coarse_times_are_and_what_was_repaired_in_their_file_is_said(folder) -> None:
    """A run made of the plan shows percentiles of these times."""
    steps = [1.0 + (one % 7) / 1024 for one in range(200)]
    records = [{"startEnqMs": 5000.0 + one, "computeMs": one} for one in steps]
    text = json.dumps(records).replace("}]", ', "note": "a\x01b"}]')
    (folder / "net.engine.timing.json").write_text(text)
    read = read_plan_files(PlanFiles(plan=folder / "net.engine.graph.json"))
    found = {one.code: one.level for one in read.notices}
    assert found["I-RESOLUTION"] == found["I-JSON-REPAIRED"] == "info"


@pytest.mark.parametrize("text", ["[{", '[{"name": "x"}]', "{}"])
def test_times_that_do_not_read_well_are_left_out(folder, text) -> None:
    (folder / "net.engine.timing.json").write_text(text)
    read = read_plan_files(PlanFiles(plan=folder / "net.engine.graph.json"))
    assert read.times is None
    (one,) = read.notices
    assert (one.code, one.evidence["file"]) == ("W-DAMAGED-FILE", "net.engine.timing.json")


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
@pytest.mark.parametrize("is_packed", [True, False])
def test_a_plan_has_packed_neighbours(folder, suffix, pack, is_packed) -> None:
    expected = read_plan_files(PlanFiles(plan=folder / "net.engine.graph.json"))
    plan = folder / "net.engine.graph.json"
    for path in list(folder.iterdir()):
        if is_packed or path != plan:
            path.with_name(f"{path.name}{suffix}").write_bytes(pack(path.read_bytes()))
            path.unlink()
    packed = plan.with_name(f"{plan.name}{suffix}")
    found = read_plan_files(PlanFiles(plan=packed if is_packed else plan))
    assert (found.plan, found.profile, found.report) == (
        expected.plan,
        expected.profile,
        expected.report,
    )


def test_layers_that_a_script_printed_are_a_plan(tmp_path) -> None:
    path = tmp_path / "net.log"
    path.write_text(f"hello\n{LAYERS}")
    plan = read_plan_files(PlanFiles(plan=path)).plan
    assert (plan.name, [layer.name for layer in plan.layers]) == ("net", ["conv + relu", "shape"])
    path.write_text(f"{PREFIX}[W] careful\n")
    with pytest.raises(UsageError, match="is not a plan") as error:
        read_plan_files(PlanFiles(plan=path))
    assert "a log of a script that uses TensorRT" in str(error.value.why)
