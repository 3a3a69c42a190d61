import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from enginescope.core.errors import FormatError, UsageError
from enginescope.formats.importing.plan_files import PlanFiles, ReadPlan, neighbour, read_plan_files
from tests.formats import plans, times
from tests.formats.trtexec.test_script_log import LAYERS, PREFIX

TIMES = [{"count": 5}, {"name": "conv + relu", "timeMs": 5.0, "averageMs": 1.0, "medianMs": 1.0}]
TIMING = {"performance_summary": {"GPU Compute Time": [1.0, 2.0, 1.5, 1.5, 1.9]}}
BUILD = {"build_options": {"Precision": "FP16"}, "device_information": {"Selected Device": "GPU"}}
GRAPH = "net.engine.graph.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / GRAPH).write_bytes(plans.encoded(plans.tensorrt_8_4()))
    roles = {"profile": TIMES, "profile.metadata": TIMING, "build.metadata": BUILD}
    for role, value in roles.items():
        (tmp_path / f"net.engine.{role}.json").write_text(json.dumps(value))
    return tmp_path


def read(folder: Path, **named: Path) -> ReadPlan:
    return read_plan_files(PlanFiles(plan=folder / GRAPH, **named))


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
    log = folder / "net.engine.profile.log"
    log.write_text(
        "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --useCudaGraph\n"
        "[11/21/2026-07:26:41] [I] === Inference Options ===\n"
        "[11/21/2026-07:26:41] [I] CUDA Graph: Enabled\n"
    )
    assert log not in read(folder).files
    (folder / "net.engine.profile.metadata.json").unlink()
    found = read(folder)
    assert log in found.files
    assert found.report.options["Inference Options"]["CUDA Graph"] == "Enabled"


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
    found = read_plan_files(PlanFiles(plan=plan))
    assert (log in found.files) is is_read
    assert (found.report is not None) is is_read
    assert not is_read or found.report.device.name == "NVIDIA H200"
    assert found.notices == ()
    (tmp_path / "net.profile.log").write_text(text)  # this name goes first
    assert log not in read_plan_files(PlanFiles(plan=plan)).files


def test_files_beside_the_plan_are_read(folder) -> None:
    found = read(folder)
    assert (found.plan.name, found.profile.iterations) == ("net.engine", 5)
    assert (found.report.summaries[0].mean_ms, found.report.device.name) == (1.5, "GPU")
    roles = ("graph", "profile", "profile.metadata", "build.metadata")
    assert [one.name for one in found.files] == [f"net.engine.{role}.json" for role in roles]
    assert found.notices == ()


def test_a_plan_alone(tmp_path) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(plans.encoded(plans.tensorrt_8_4()))
    alone = read_plan_files(PlanFiles(plan=path))
    assert (alone.plan.name, alone.profile, alone.report) == (tmp_path.name, None, None)
    with pytest.raises(FormatError, match="absent"):
        read_plan_files(PlanFiles(plan=tmp_path / "absent.json"))


def test_a_named_file_goes_before_a_found_one(folder, tmp_path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"count": 9}, *TIMES[1:]]))
    assert read(folder, profile=other).profile.iterations == 9


def test_layer_times_that_are_named_have_the_requests_of_their_own_timing(folder) -> None:
    """Layers of a CUDA graph were scaled to the requests of another run of the engine."""
    other = folder / "graph.profile.json"
    other.write_text(json.dumps(TIMES))
    (folder / "net.engine.times.json").write_text(json.dumps(times.records(10)))
    found = read(folder, profile=other)
    assert (found.times, found.report and found.report.summaries) == (None, ())
    (folder / "graph.times.json").write_text(json.dumps(times.records(20)))
    assert len(read(folder, profile=other).times.samples[0].values_ms) == 20


def test_a_damaged_neighbour_leaves_a_notice_and_a_named_one_an_error(folder) -> None:
    path = folder / "net.engine.profile.json"
    path.write_text("[1, 2]")
    found = read(folder)
    assert found.profile is None
    assert [one.code for one in found.notices] == ["W-DAMAGED-FILE"]
    with pytest.raises(FormatError, match="no layer times"):
        read(folder, profile=path)


REQUESTS = [{"startEnqMs": 1, "endEnqMs": 2, "computeMs": 1.5, "latencyMs": 2}]
METADATA = {"performance_summary": {"Throughput": 5.0}, "device_information": {}}


@pytest.mark.parametrize(
    ("name", "data", "said", "hint"),
    [
        ("net.profile.json", TIMES, "layer times", "--profile"),
        ("net.timing.json", REQUESTS, "times of requests", "enginescope import"),
        ("net.profile.metadata.json", METADATA, "trex's metadata", "--metadata"),
        ("net.onnx", b"\x08\x07", "is a model", "--onnx"),
        ("net.graph.json", b"", "is empty", "--exportLayerInfo"),
        ("net.engine", b"ftrt", "is not a JSON file", "--exportLayerInfo"),
        ("net.engine", b"ptrt\x00\x01", "not a JSON file", "--on trt"),
        ("net.engine", b"\xff\xfe\x00", "not a JSON file", "--on trt"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, name, data, said, hint) -> None:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    with pytest.raises(UsageError) as caught:
        read_plan_files(PlanFiles(plan=path))
    assert said in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_json_of_no_known_kind_is_no_plan(tmp_path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"hello": 1}')
    with pytest.raises(FormatError, match="there are no layers"):
        read_plan_files(PlanFiles(plan=path))


def test_times_of_whole_requests_beside_the_plan(folder) -> None:
    rows = [{"h2dMs": 0.1, "computeMs": n, "d2hMs": 0.1, "latencyMs": n + 0.2} for n in (1, 2)]
    (folder / "net.engine.timing.json").write_text(json.dumps(rows))
    found = read(folder)
    assert {one.metric: len(one) for one in found.times.samples}["gpu_compute"] == 2
    assert found.facts.times is found.times
    assert found.artifacts[-1].kind == "trtexec_times"
    # Two times whose percentiles are not those that were printed: said, as import says it.
    assert [one.code for one in found.notices] == ["W-SUMMARY-MISMATCH"]


def test_how_coarse_times_are_and_what_was_repaired_in_their_file_is_said(folder) -> None:
    """A run made of the plan shows percentiles of these times."""
    steps = [1.0 + (one % 7) / 1024 for one in range(200)]
    records = [{"startEnqMs": 5000.0 + one, "computeMs": one} for one in steps]
    text = json.dumps(records).replace("}]", ', "note": "a\x01b"}]')
    (folder / "net.engine.timing.json").write_text(text)
    levels = {one.code: one.level for one in read(folder).notices}
    assert levels["I-RESOLUTION"] == levels["I-JSON-REPAIRED"] == "info"


@pytest.mark.parametrize("text", ["[{", '[{"name": "x"}]', "{}"])
def test_times_that_do_not_read_well_are_left_out(folder, text) -> None:
    (folder / "net.engine.timing.json").write_text(text)
    found = read(folder)
    assert found.times is None
    (one,) = found.notices
    assert (one.code, one.evidence["file"]) == ("W-DAMAGED-FILE", "net.engine.timing.json")


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
@pytest.mark.parametrize("is_packed", [True, False])
def test_a_plan_has_packed_neighbours(folder, suffix, pack, is_packed) -> None:
    expected, plan = read(folder), folder / GRAPH
    for path in list(folder.iterdir()):
        if is_packed or path != plan:
            path.with_name(f"{path.name}{suffix}").write_bytes(pack(path.read_bytes()))
            path.unlink()
    packed = plan.with_name(f"{plan.name}{suffix}")
    found = read_plan_files(PlanFiles(plan=packed if is_packed else plan))
    for field in ("plan", "profile", "report"):
        assert getattr(found, field) == getattr(expected, field)


def test_layers_that_a_script_printed_are_a_plan(tmp_path) -> None:
    path = tmp_path / "net.log"
    path.write_text(f"hello\n{LAYERS}")
    plan = read_plan_files(PlanFiles(plan=path)).plan
    assert (plan.name, [layer.name for layer in plan.layers]) == ("net", ["conv + relu", "shape"])
    path.write_text(f"{PREFIX}[W] careful\n")
    with pytest.raises(UsageError, match="is not a plan") as error:
        read_plan_files(PlanFiles(plan=path))
    assert "a log of a script that uses TensorRT" in str(error.value.why)
