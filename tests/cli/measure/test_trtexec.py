import os
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.backends.tensorrt import libraries
from enginescope.cli.main import main
from enginescope.cli.measure import trtexec
from enginescope.compat.trtexec.log.log import Line
from enginescope.compat.trtexec.settings import job_of
from enginescope.core.errors import MissingDependencyError
from enginescope.core.record import replace
from enginescope.formats.importing.importer import import_artifacts
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import Job, Subject
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind, Run
from enginescope.records.tensor import DataType, Tensor
from enginescope.runner import jobs as demands
from enginescope.runner import session
from enginescope.services import trtexec_session
from enginescope.store.archive import Store
from tests.compat.trtexec.runs import measured, settings, version

INSPECTOR = '{"Layers": ["conv1", "a\x1fb"], "Bindings": ["x", "y"]}'


class Device:
    """Stands in for the runner: keeps the jobs, hands back runs whose files are soon gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: list[tuple[str, Job]] = []
        self.changes: dict[str, Any] = {}
        self.inspector: str | None = INSPECTOR

    def run_jobs(self, jobs, sink, **_: Any) -> tuple[Run, ...]:
        return self._hand_over("run", jobs, sink)

    def build_engines(self, jobs, sink, **_: Any) -> tuple[Run, ...]:
        self.changes = {"samples": (), "answers": (), "profile": None} | self.changes
        return self._hand_over("build", jobs, sink)

    def _hand_over(self, kind: str, jobs, sink) -> tuple[Run, ...]:
        (job,) = jobs
        self.jobs.append((kind, job))
        engine, plan = self.folder / "built.engine", self.folder / "built.graph.json"
        engine.write_bytes(b"an engine")
        artifacts: tuple[Artifact, ...] = ()
        if self.inspector is not None:
            plan.write_text(self.inspector)
            artifacts = (Artifact(kind="plan", path=str(plan)),)
        run = measured(settings(), job=job, artifacts=artifacts)
        if job.subject.kind == "onnx":
            run = replace(run, build=BuildReport(engine=str(engine), engine_bytes=9))
        run = replace(run, **self.changes)
        sink(run)
        engine.unlink()
        plan.unlink(missing_ok=True)
        return (run,)


@pytest.fixture
def device(tmp_path, monkeypatch) -> Device:
    """A machine with TensorRT 10.16 and a GPU, a model and an engine in the working folder."""
    stand_in = Device(tmp_path)
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trtexec, "installed_tensorrt", lambda _arguments: version("10.16.1.11"))
    monkeypatch.setattr(demands, "check_demands", lambda _spec, _mode, **_more: None)
    monkeypatch.setattr(session, "run_jobs", stand_in.run_jobs)
    monkeypatch.setattr(session, "build_engines", stand_in.build_engines)
    (tmp_path / "model.onnx").write_bytes(b"a model")
    (tmp_path / "e.bin").write_bytes(b"ftrt" + bytes(20) + bytes([10, 9, 0, 34]))
    (tmp_path / "file").write_text("not a folder")
    return stand_in


def test_a_command_line_measures_prints_and_writes_what_is_asked(device, capsys) -> None:
    flags = [
        *("--onnx=model.onnx", "--fp16", "--useCudaGraph", "--separateProfileRun"),
        *("--dumpProfile", "--saveEngine=out.engine", "--exportTimes=times.json"),
        *("--exportProfile=profile.json", "--exportLayerInfo=layers.json"),
        "--exportOutput=output.json",
    ]
    assert main(["trtexec", *flags]) == 0
    shown = capsys.readouterr()
    ((kind, job),) = device.jobs
    assert (kind, job.subject.kind, job.backend.precision) == ("run", "onnx", "fp16")
    assert job.workload.mode.cuda_graph is True
    lines = shown.out.splitlines()
    assert lines[0] == (
        "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # enginescope trtexec "
        + " ".join(flags)
    )
    assert lines[-1].startswith("&&&& PASSED TensorRT.trtexec [TensorRT v101601] [b11] # ")
    assert all(re.match(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[I\] ", one) for one in lines[1:-1])
    assert "enginescope: run 0123456789ab" in shown.err
    assert Path("out.engine").read_bytes() == b"an engine"
    assert Store().load("0123456789ab").job == job
    log, _ = parse_trtexec_log(shown.out.encode(), "stdout")
    Path("run.profile.log").write_text(shown.out)
    names = ("times.json", "profile.json", "layers.json", "run.profile.log")
    (imported,) = import_artifacts([Path(name) for name in names]).runs
    assert "W-SUMMARY-MISMATCH" not in [one.code for one in imported.notices]
    assert imported.tool == log.report
    assert len(imported.headline or ()) == 1000
    assert imported.profile.iterations == 120
    assert [one.name for one in imported.plan.layers] == ["conv1", "a\x1fb"]


def test_an_engine_is_loaded_whatever_its_name_and_stored_where_it_is_asked(
    device, tmp_path, capsys
) -> None:
    assert main(["trtexec", "--loadEngine=e.bin"]) == 0
    ((kind, job),) = device.jobs
    assert (kind, job.subject.kind) == ("run", "engine")
    assert main(["trtexec", "--onnx=model.onnx", f"--es-store={tmp_path / 'other'}"]) == 0
    assert Store(tmp_path / "other").load("0123456789ab").id == "0123456789ab"


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        (("--onnx=model.onnx", "--skipInference", "--exportLayerInfo=l.json"), "build"),
        (("--onnx=model.onnx", "--runtimePlatform=WindowsAMD64", "--dumpLayerInfo"), "build"),
        (("--loadEngine=e.bin", "--skipInference", "--exportLayerInfo=l.json"), "run"),
    ],
)
def test_a_skipped_inference_only_builds_or_loads(device, capsys, flags, wanted) -> None:
    assert main(["trtexec", "--exportTimes=t.json", *flags]) == 0
    assert device.jobs[0][0] == wanted
    shown = capsys.readouterr().out
    assert "Performance summary" not in shown
    assert "&&&& PASSED" in shown
    assert not Path("t.json").exists()
    assert Path("l.json").exists() == ("--skipInference" in flags)


def test_warnings_go_to_standard_error(device, capsys) -> None:
    assert main(["trtexec", "--onnx=model.onnx", "--infStreams=2", "--optShapes=x:1x3"]) == 0
    shown = capsys.readouterr()
    assert "[W] optShapes is being broadcasted to minShapes for tensor x" in shown.err
    assert "[W] * Multiple inference streams are used." in shown.err
    assert "[W]" not in shown.out


def test_a_run_that_fails_is_stored_and_ends_in_failed(device, capsys) -> None:
    outcome = Outcome(kind=OutcomeKind.FAILED, message="no kernel", hint="another GPU")
    device.changes = {"outcome": outcome, "samples": ()}
    flags = ["--onnx=model.onnx", "--saveEngine=out.engine", "--exportTimes=t.json"]
    assert main(["trtexec", *flags]) == 1
    shown = capsys.readouterr()
    assert "[E] no kernel" in shown.err
    assert shown.out.splitlines()[-1].startswith("&&&& FAILED TensorRT.trtexec")
    assert not any(Path(name).exists() for name in ("t.json", "out.engine"))
    assert Store().load("0123456789ab").outcome == outcome


def test_a_file_that_cannot_be_filled_fails_the_call(device, capsys) -> None:
    device.inspector = None
    assert main(["trtexec", "--onnx=model.onnx", "--exportLayerInfo=l.json"]) == 1
    shown = capsys.readouterr()
    assert "[E] layer information: TensorRT's inspector gave none for this engine" in shown.err
    assert "Performance summary" in shown.out
    assert "&&&& FAILED" in shown.out
    assert not Path("l.json").exists()


def test_a_file_that_cannot_be_written_any_more_fails_the_call(device, capsys, monkeypatch) -> None:
    usual = Path.write_bytes

    def refuse(self: Path, data: bytes) -> int:
        if "p.json" not in self.name:
            return usual(self, data)
        raise OSError(28, "No space left on device")

    def hand_over(_kind: str, jobs, sink) -> tuple[Run, ...]:
        sink(measured(settings(), job=jobs[0]))
        return (measured(settings(), job=jobs[0]),)

    monkeypatch.setattr(Path, "write_bytes", refuse)
    monkeypatch.setattr(device, "_hand_over", hand_over)
    assert main(["trtexec", "--onnx=model.onnx", "--exportProfile=p.json"]) == 1
    assert "[E] cannot write p.json: No space left on device" in capsys.readouterr().err


def test_an_engine_that_cannot_be_copied_fails_the_call(device, capsys, monkeypatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trtexec_session.shutil, "copyfile", refuse)
    assert main(["trtexec", "--onnx=model.onnx", "--saveEngine=out.engine"]) == 1
    assert "[E] cannot write out.engine" in capsys.readouterr().err


def test_inputs_of_other_first_dimensions_than_the_batch_are_written_too(device) -> None:
    job = job_of(settings("--dumpRawBindingsToFile"), Subject(name="m", kind="onnx"))
    workload = replace(job.workload, batch=4)
    inputs = (
        Tensor(name="x", shape=(4, 2), dtype=DataType.FP32),
        Tensor(name="mask", shape=(3,), dtype=DataType.BOOL),
    )
    device.changes = {"inputs": inputs, "job": replace(job, workload=workload)}
    assert main(["trtexec", "--onnx=model.onnx", "--dumpRawBindingsToFile"]) == 0
    assert Path("x.input.4.2.fp32.raw").stat().st_size == 32
    assert Path("mask.input.3.bool.raw").stat().st_size == 3


@pytest.mark.parametrize(
    ("flags", "asked"),
    [((), None), (("--useRuntime=lean",), "lean"), (("--useRuntime=full",), None)],
)
def test_the_version_is_that_of_the_runtime_in_use(monkeypatch, flags, asked) -> None:
    seen = []

    def installed_version(runtime: str | None = None) -> str:
        seen.append(runtime)
        return "10.16.1.11"

    monkeypatch.setattr(libraries, "installed_version", installed_version)
    assert main(["trtexec", "--help", *flags]) == 0
    assert seen == [asked]


def test_raw_files_hold_the_values_that_were_fed_and_random_ones_are_the_same_again(device) -> None:
    flags = ["trtexec", "--onnx=model.onnx", "--dumpRawBindingsToFile"]
    assert main(flags) == 0
    fed = Path("x.input.1.3.8.8.fp32.raw")
    first = fed.read_bytes()
    Store().delete("0123456789ab")
    assert main(flags) == 0
    assert fed.read_bytes() == first
    Store().delete("0123456789ab")
    np.arange(192, dtype=np.float32).tofile("x.raw")
    assert main([*flags, "--loadInputs=x:x.raw"]) == 0
    assert fed.read_bytes() == Path("x.raw").read_bytes()
    assert Path("y.output.1.4.fp32.raw").stat().st_size == 16


def test_the_version_of_a_plan(device, capsys) -> None:
    assert main(["trtexec", "--loadEngine=e.bin", "--getPlanVersionOnly"]) == 0
    assert "[I] Plan was created with TensorRT version 10.9.0.34" in capsys.readouterr().out
    assert device.jobs == []
    assert main(["trtexec", "--loadEngine=nowhere", "--getPlanVersionOnly"]) == 1
    assert "[E] engine nowhere: No such file or directory" in capsys.readouterr().err
    Path("e.bin").write_bytes(b"no plan")
    assert main(["trtexec", "--loadEngine=e.bin", "--getPlanVersionOnly"]) == 1
    shown = capsys.readouterr()
    assert "does not begin as an engine" in shown.err
    assert "&&&& FAILED" in shown.out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--onx=model.onnx"], "did you mean --onnx?"),
        (["--onnx=model.onnx", "--threads"], "--threads is not supported"),
        (["--onnx=nowhere.onnx"], "no such file"),
        (["--fp16=false"], "leave --fp16 out"),
        (["--"], "is not a flag"),
        (["--onnx=model.onnx", "--loadInputs=x:nowhere.raw"], "there is no file nowhere.raw"),
        (["--onnx=model.onnx", "--exportTimes=nowhere/t.json"], "cannot write nowhere/t.json"),
        (["--onnx=model.onnx", "--exportTimes=."], "cannot write ."),
        (["--onnx=model.onnx", "--es-store=file"], "cannot write to the store"),
    ],
)
def test_a_usage_error_is_2_and_no_run(device, capsys, flags, message) -> None:
    assert main(["trtexec", *flags]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert device.jobs == []


def test_the_order_of_lines_holds_where_both_streams_go_to_one_file(tmp_path) -> None:
    path = tmp_path / "log"
    with (
        path.open("w") as out,
        os.fdopen(os.dup(out.fileno()), "w", buffering=1) as err,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        trtexec.say([Line("I", "first"), Line("W", "second"), Line("I", "third")])
    words = [line.split()[-1] for line in path.read_text().splitlines()]
    assert words == ["first", "second", "third"]


def test_a_missing_gpu_is_2_and_no_run(device, capsys, monkeypatch) -> None:
    def refuse(*_: Any, **_more) -> None:
        raise MissingDependencyError("no NVIDIA GPU can be used here")

    monkeypatch.setattr(demands, "check_demands", refuse)
    assert main(["trtexec", "--onnx=model.onnx"]) == 2
    assert "no NVIDIA GPU can be used here" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--onnx=x", "--help"]])
def test_help_needs_no_tensorrt(monkeypatch, capsys, arguments) -> None:
    monkeypatch.setattr(trtexec, "installed_tensorrt", lambda _arguments: None)
    assert main(["trtexec", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "--exportTimes=<file>" in shown
    assert "all versions" in shown


def test_help_of_a_version_has_its_flags_alone(device, capsys) -> None:
    assert main(["trtexec", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Flags of TensorRT 10.16.1." in shown
    assert not any(flag in shown for flag in ("--noCudaGraph", "--uff"))


def test_without_tensorrt_one_line_says_how_to_get_it(monkeypatch, capsys) -> None:
    assert main(["trtexec", "--onnx=x", "--fp16"]) == 2  # as this machine is
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(trtexec, "installed_tensorrt", lambda _arguments: None)
    assert main(["trtexec", "--onnx=model.onnx"]) == 2
    wanted = "enginescope: TensorRT is not installed: pip install tensorrt 'enginescope[trt]'\n"
    assert capsys.readouterr() == ("", wanted)
