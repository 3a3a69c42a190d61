import bz2
import gzip
import hashlib
import json
import lzma
import os
import shutil
from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.formats.importing.importer import import_artifacts
from enginescope.records.run.run import OutcomeKind, Run
from tests.formats import logs, plans, times


def write(folder: Path, name: str, content: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    path = folder / name
    path.write_bytes(raw)
    return path


def one(*paths: Path) -> Run:
    (run,) = import_artifacts(paths).runs
    return run


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def skipped(folder: Path) -> dict[str, str]:
    return {Path(path).name: reason for path, reason in import_artifacts([folder]).skipped}


@pytest.fixture
def recorded(data: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "trt86-h200"
    shutil.copytree(data / "trt86-h200", folder)
    for packed in folder.glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return folder


def test_recorded_artefacts_become_one_run_for_each_engine(recorded) -> None:
    found = import_artifacts([recorded])
    by_name = {run.job.subject.name: run for run in found.runs}
    assert sorted(by_name) == ["depth_anything_small", "resnet18", "resnet18_ort_trt_ep"]
    assert found.skipped == ()
    resnet = by_name["resnet18"]
    assert str(resnet.job.backend) == "trtexec:fp16"
    assert (resnet.origin, resnet.job.subject.kind) == ("imported", "engine")
    assert (resnet.job.subject.path, resnet.plan.name) == ("out/resnet18.engine", "resnet18")
    assert resnet.profile.iterations == 9572
    assert [one.name for one in resnet.inputs] == ["input"]
    assert resnet.environment.devices[0].name == "NVIDIA H200"
    assert resnet.environment.versions == {"tensorrt": "8.6.0"}
    assert (resnet.tool.build_s, resnet.tool.throughput_per_s) == (32.1546, 5438.47)
    assert resnet.job.workload.batch == 1
    assert len({run.id for run in found.runs}) == 3
    depth = by_name["depth_anything_small"]
    assert len(depth.samples) == 5
    assert depth.timer_resolution_ms == 2.0**-12
    assert "W-SUMMARY-MISMATCH" not in codes(depth)
    assert "I-PRINTED-PROFILE" in codes(depth)
    assert by_name["resnet18_ort_trt_ep"].job.backend.name == "ort-trt"
    assert by_name["resnet18_ort_trt_ep"].providers == ("TensorrtExecutionProvider",)


def test_artefacts_are_identified(tmp_path) -> None:
    path = write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    (artifact,) = one(path).artifacts
    assert artifact.kind == "plan"
    assert Path(artifact.path) == path.absolute()
    assert artifact.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert artifact.size_bytes == path.stat().st_size


def test_other_files_are_listed(tmp_path) -> None:
    files = {"net.graph.json": plans.tensorrt_8_4(), "notes.md": b"hello", "empty.log": b""}
    files |= {"net.onnx": b"\x08\x08", "package.json": {"name": "x"}, "broken.json": b"{oops"}
    for name, content in files.items():
        write(tmp_path, name, content)
    write(tmp_path / ".git", "times.json", times.records())
    write(tmp_path / "below" / ".cache" / "deeper", "package.json", {"name": "x"})
    write(tmp_path, ".hidden.json", times.records())
    reasons = skipped(tmp_path)
    assert reasons.keys() == {"notes.md", "package.json", "broken.json", "empty.log", "net.onnx"}
    assert reasons["empty.log"].endswith(": it is empty")
    assert reasons["net.onnx"].endswith(": it is a model; enginescope bench measures it")
    assert reasons["notes.md"] == "neither JSON nor a log of trtexec, TensorRT or Polygraphy"
    assert reasons["package.json"] == "JSON of no known kind"
    assert reasons["broken.json"].startswith("not readable as JSON")


def test_times_of_which_the_unit_is_not_known_are_not_lost(tmp_path) -> None:
    write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    write(tmp_path, "other.json", {"times": [1.0, 2.0]})
    ((name, reason),) = skipped(tmp_path).items()
    assert name == "other.json"
    assert "unit" in reason


def test_a_damaged_file_is_a_notice_on_its_run(tmp_path) -> None:
    write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    write(tmp_path, "net.times.json", {"times": [1.0, 2.0]})
    (run,) = import_artifacts([tmp_path]).runs
    assert run.samples == ()
    (notice,) = run.notices
    assert (notice.code, notice.evidence["file"]) == ("W-DAMAGED-FILE", "net.times.json")
    assert [artifact.kind for artifact in run.artifacts] == ["plan"]


def test_a_damaged_profile_of_onnx_runtime(tmp_path) -> None:
    write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    write(tmp_path, "ort.json", [{"cat": "Session", "name": "model_load", "dur": 1}])
    found = import_artifacts([tmp_path])
    assert len(found.runs) == 1
    assert next(reason for _, reason in found.skipped).startswith("ort.json: no finished run")


def test_the_same_file_twice_is_one(tmp_path) -> None:
    path = write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "net.graph.json").symlink_to(path)
    assert len(import_artifacts([tmp_path, path, path]).runs) == 1


def test_what_is_no_file_is_left_out(tmp_path) -> None:
    write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    write(tmp_path, "odd\nname.json", times.records())
    assert skipped(tmp_path) == {
        "pipe.json": "not a regular file",
        "gone.json": "not a regular file",
        "odd\nname.json": "its name cannot be stored",
    }


def test_a_file_that_cannot_be_opened(tmp_path, monkeypatch) -> None:
    write(tmp_path, "net.graph.json", plans.tensorrt_8_4())
    closed = write(tmp_path, "closed.json", times.records())
    real = Path.open

    def refuse(self: Path, *args: object, **more: object) -> object:
        if self == closed:
            raise PermissionError(13, "Permission denied")
        return real(self, *args, **more)

    monkeypatch.setattr(Path, "open", refuse)
    assert import_artifacts([tmp_path]).skipped == ((str(closed), "Permission denied"),)


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACK)
def test_packed_files_are_read_as_if_they_were_not(tmp_path, suffix) -> None:
    pack = PACK[suffix]
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    files = {"net.graph.json": plans.tensorrt_8_4(), "net.times.json": times.records()}
    for name, value in files.items():
        data = write(plain, name, value).read_bytes()
        write(packed, f"{name}{suffix}", pack(data[:9]) + pack(data[9:]))
    expected, found = one(plain), one(packed)
    assert found.job.subject.name == expected.job.subject.name == "net"
    assert found.plan == expected.plan
    latencies = [run.series("trtexec_latency").values_ms.tolist() for run in (found, expected)]
    assert latencies[0] == latencies[1]
    stored = Path(found.artifacts[0].path)
    assert stored.suffix == suffix
    assert found.artifacts[0].sha256 == hashlib.sha256(stored.read_bytes()).hexdigest()


def test_the_digest_is_of_the_file_as_it_is_stored_whatever_its_name(tmp_path) -> None:
    data = lzma.compress(json.dumps(times.records()).encode())
    run = one(write(tmp_path, "net.times.json", data))
    assert run.artifacts[0].sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("inner", PACK)
def test_a_file_that_was_packed_twice_is_named_so(tmp_path, inner) -> None:
    path = write(tmp_path, "net.log.gz", gzip.compress(PACK[inner](logs.OPTIONS_10.encode())))
    with pytest.raises(UsageError, match=r"packed more than once, at last with \w+; unpack it"):
        import_artifacts([path])


def test_a_process_that_loads_the_engine_built_before_is_of_the_same_run(tmp_path) -> None:
    built = logs.OPTIONS_10 + logs.PASSED
    loads = logs.OPTIONS_10.replace("Save engine: net.plan\nLoad engine:", "Load engine: net.plan")
    timed = loads + logs.SUMMARY + logs.PASSED
    write(tmp_path, "same.log", (built + timed).encode())
    run = one(tmp_path / "same.log")
    assert (run.job.subject.name, run.tool.throughput_per_s) == ("same", 1234.5)
    write(tmp_path, "other.log", (timed + timed).encode())
    runs = import_artifacts([tmp_path / "other.log"]).runs
    assert [run.job.subject.name for run in runs] == ["other #1", "other #2"]


def test_nothing_to_import(tmp_path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        import_artifacts([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="there are no files"):
        import_artifacts([tmp_path])
    write(tmp_path, "a.txt", b"x")
    write(tmp_path, "b.txt", b"x")
    with pytest.raises(UsageError, match=r"a\.txt: neither .* \(and 1 more\)"):
        import_artifacts([tmp_path])


def test_a_log_that_failed_is_a_failed_run(tmp_path) -> None:
    text = "[03/14/2025-09:26:53] [E] no memory: 1 GiB\n&&&& FAILED TensorRT.trtexec # trtexec -x\n"
    run = one(write(tmp_path, "net.build.log", text.encode()))
    assert run.outcome.kind is OutcomeKind.FAILED
    assert (run.outcome.message, run.command) == ("no memory: 1 GiB", "trtexec -x")
    quiet = one(write(tmp_path / "b", "net.log", b"&&&& FAILED TensorRT.trtexec # trtexec\n"))
    assert quiet.outcome.message == "trtexec says FAILED"


def test_times_that_do_not_fit_the_log(tmp_path) -> None:
    write(tmp_path, "net.log", (logs.OPTIONS_10 + logs.SUMMARY + logs.PASSED).encode())
    write(tmp_path, "net.times.json", times.records())
    notice = next(notice for notice in one(tmp_path).notices if notice.code == "W-SUMMARY-MISMATCH")
    assert notice.evidence["metric"] == "trtexec_latency"


def test_warm_up_is_taken_from_the_log(tmp_path) -> None:
    write(tmp_path, "net.log", (logs.OPTIONS_10 + logs.PASSED).encode())
    write(tmp_path, "net.times.json", times.records(10, first_ms=193.0))
    latency = one(tmp_path).series("trtexec_latency")
    assert (latency.warmup_ms.size, len(latency)) == (4, 6)


def test_the_mode_is_read_and_not_assumed(tmp_path) -> None:
    run = one(write(tmp_path, "net.log", (logs.OPTIONS_10 + logs.PASSED).encode()))
    mode = run.job.workload.mode
    assert (mode.transfers, mode.cuda_graph, mode.spin_wait, mode.streams) == (False, True, True, 2)
    assert mode.in_flight is None
    bare = one(write(tmp_path / "b", "net.graph.json", plans.tensorrt_8_4()))
    assert bare.job.workload.mode.cuda_graph is None


def test_a_profile_of_onnx_runtime(data) -> None:
    run = one(data / "onnxruntime" / "loop_1.31.json")
    assert (run.job.backend.name, run.profile.source, run.samples) == ("ort-cpu", "onnxruntime", ())


SESSION = {"cat": "Session", "name": "model_run", "ts": 0, "dur": 9}
NODE = {"cat": "Node", "name": "a_kernel_time", "ts": 0, "dur": 5}


def test_providers_without_a_name_of_ours(tmp_path) -> None:
    known = {**NODE, "args": {"provider": "NovelProvider"}}
    assert one(write(tmp_path, "a.json", [known, SESSION])).job.backend.name == "NovelProvider"
    assert one(write(tmp_path, "b.json", [NODE, SESSION])).job.backend.name == "onnxruntime"


def test_a_profile_of_onnx_runtime_states_its_allocators(tmp_path) -> None:
    marks = [("24600", "1048600"), ("1497368", "3145752"), ("9" * 19, "9" * 5000), ("x", None)]
    arguments = [
        {"provider": "NovelProvider", "mem_in_use_peak": peak, "mem_arena_held": held}
        for peak, held in marks
    ]
    nodes = [{**NODE, "args": args} for args in arguments]
    (arena,) = one(write(tmp_path, "a.json", [*nodes, SESSION])).arenas
    assert (arena.in_use_peak_bytes, arena.held_bytes) == (1497368, 3145752)
    assert one(write(tmp_path, "b.json", [nodes[2], SESSION])).arenas == ()


def test_shared_folders(shared) -> None:
    folders = [shared / name for name in ("trt86-h200", "trex-examples", "trt10-rtx3060")]
    found = import_artifacts(folders)
    by_name = {run.job.subject.name: run for run in found.runs}
    assert len(found.runs) == len(by_name) == 12
    assert found.skipped == ()
    for run in found.runs:
        assert not {"W-SUMMARY-MISMATCH", "W-DAMAGED-FILE"} & set(codes(run))
        expected = 0 if run.job.backend.name == "ort-trt" or "torch" in run.job.subject.name else 5
        assert len(run.samples) == expected, run.job.subject.name
    assert by_name["resnet18-a100-fp32"].samples[0].warmup_ms.size == 100
    graph = by_name["resnet18_cudagraph"].job.workload.mode
    assert (graph.cuda_graph, graph.transfers) == (True, False)
    plain = by_name["resnet18"].job.workload.mode
    assert (plain.cuda_graph, plain.transfers) == (False, True)
