"""The verb as a user runs it: real processes, real models, a store of its own."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.records.run.job import StopRule, Workload
from enginescope.runner import isolate
from enginescope.store import run_folder
from tests.cli.called import called

QUICK = ["--iterations", "20", "--warmup", "1", "--no-layers"]


def bench(store: Path, *arguments: str, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "enginescope", "bench", "--store", str(store), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, **more)


def stored(store: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((store / "runs").glob("*/run.json"))]


def test_one_model_one_screen(tmp_path, convnet) -> None:
    ended = bench(tmp_path, str(convnet), "--iterations", "200", "--tag", "mine", "-v")
    assert ended.returncode == 0, ended.stderr
    assert "small_convnet.onnx" in ended.stdout
    assert " ms median" in ended.stdout
    assert "I-DYNAMIC-SHAPE" in ended.stdout
    (run,) = stored(tmp_path)
    assert run["job"]["subject"]["sha256"]
    assert run["tags"] == ["mine"]
    assert "--iterations 200" in run["command"]
    assert run["profile"]["layers"]


def test_json_alone_on_standard_output(tmp_path, convnet) -> None:
    """And plain lines where there is no terminal, even with forced color."""
    env = {**os.environ, "FORCE_COLOR": "1"}
    ended = bench(tmp_path, str(convnet), *QUICK, "--json", env=env)
    assert ended.returncode == 0
    assert json.loads(ended.stdout)
    assert "ort-cpu …" in ended.stderr
    assert "ort-cpu: ok, 20 samples" in ended.stderr
    assert "\x1b" not in ended.stderr
    silent = called("bench", convnet, *QUICK, "--json", "-q", "--store", tmp_path)
    assert json.loads(silent.stdout)
    assert silent.stderr == ""


def test_six_outcomes_three_results_exit_code_three(tmp_path, convnet) -> None:
    faults = ("ort-cpu", "fake?fault=segfault", "fake", "fake?fault=hang", "fake?fault=memory")
    backends = (*faults, "ort-cpu?intra_op_num_threads=1")
    on = [part for backend in backends for part in ("--on", backend)]
    limits = ["--timeout", "8s", "--memory-limit", "400MiB"]
    ended = called("bench", convnet, *QUICK, *on, *limits, "--store", tmp_path)
    assert ended.returncode == 3, ended.stderr
    assert len(stored(tmp_path)) == 6
    runs = {run["job"]["backend"]["options"].get("fault"): run for run in stored(tmp_path)}
    assert runs["segfault"]["outcome"]["signal"] == signal.SIGSEGV
    kinds = {"segfault": "crashed", "hang": "timed_out", "memory": "out_of_memory"}
    for fault, kind in kinds.items():
        assert runs[fault]["outcome"]["kind"] == kind
        assert kind in ended.stdout.replace(" ", "_")
    good = [run for run in stored(tmp_path) if run["outcome"]["kind"] == "ok"]
    assert len(good) == 3
    assert all(run["samples"] for run in good)


@pytest.mark.usefixtures("in_process")
def test_no_model_measures_the_samples(tmp_path) -> None:
    ended = called("bench", "--store", tmp_path, *QUICK)
    assert ended.returncode == 0, ended.stderr
    names = {run["job"]["subject"]["name"] for run in stored(tmp_path)}
    assert names == {"small_convnet.onnx", "small_transformer.onnx"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.onnx"], "no such file"),
        (["."], "it is a folder"),
        (["--on", "ort-cpo"], "did you mean ort-cpu?"),
        (["--iterations", "5", "--duration", "1s"], "each alone ends"),
        (["--warmup", "long"], "not a duration"),
        (["--data", "absent"], "no such folder"),
        (["--shape", "image:3,224"], "not NAME:DIMS"),
        (["--batch", "99999999999999999999"], "is too large"),
        (["--seed", "-1"], "not in the range"),
        (["--timeout", "0s"], "'0s' is not above 0"),
        (["--input", "image:absent.npy"], "there is no file absent.npy"),
        (["x" * 300 + ".onnx"], "File name too long"),
        (["--store", "/dev/null/store"], "cannot write to the store"),
        (["--on", "ort-cpu?intra_op_num_threads=²"], "not a number of threads"),
    ],
)
def test_user_errors(tmp_path, capsys, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--store", "store", *arguments]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("arguments", [["caf\udce9.onnx"], ["--tag", "caf\udce9"]])
def test_what_was_typed_is_not_text(tmp_path, arguments) -> None:
    ended = bench(tmp_path, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "not UTF-8" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_cannot_be_is_said_before_measuring(tmp_path, convnet) -> None:
    """A store that cannot be written, an input that the model lacks."""
    ended = called("bench", "--store", "/dev/null/store", convnet, *QUICK)
    assert ended.returncode == 2
    assert "cannot write to the store" in ended.stderr
    assert "--store DIR" in ended.stderr
    assert "ort-cpu …" not in ended.stderr  # no job was begun
    (tmp_path / "a.npy").touch()
    values = {"--shape": "1x3x96x96", "--range": "0:1", "--input": tmp_path / "a.npy"}
    for option, value in values.items():
        ended = called("bench", convnet, "--store", tmp_path / "store", option, f"imag:{value}")
        assert ended.returncode == 2
        assert f"{convnet.name} has no input called 'imag'" in ended.stderr
        assert "did you mean image?" in ended.stderr
        assert "ort-cpu …" not in ended.stderr


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_keeps_what_is_done_and_ends_workers(tmp_path, convnet, number, status) -> None:
    command = [sys.executable, "-m", "enginescope", "bench", "--store", str(tmp_path)]
    command += [str(convnet), *QUICK, "--on", "ort-cpu", "--on", "fake?fault=hang"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}  # so that the workers' arguments hold it
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        while not (tmp_path / "runs").is_dir() or not stored(tmp_path) or not working(process):
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, number)  # the second job is under way
        _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"1 of 2 runs are stored" in errors
    assert errors.count(b"interrupted") == 1
    assert [run["outcome"]["kind"] for run in stored(tmp_path)] == ["ok"]
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert f"{tmp_path}" not in listing
    assert list(tmp_path.glob("enginescope-*")) == []


def working(process: subprocess.Popen) -> bool:
    """Whether a worker runs: after the first run is stored, that of the second job."""
    children = psutil.Process(process.pid).children(recursive=True)
    return any("enginescope.runner.worker" in one.cmdline() for one in children)


def test_the_worker_dies_with_a_killed_parent(tmp_path, convnet) -> None:
    command = [sys.executable, "-m", "enginescope", "bench", "--store", str(tmp_path)]
    command += [str(convnet), *QUICK, "--on", "fake?fault=hang"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not (workers := psutil.Process(process.pid).children()):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1.0)  # it hangs by now
        process.kill()
    assert psutil.wait_procs(workers, timeout=20)[1] == []


@pytest.mark.usefixtures("in_process")
def test_a_commit_that_is_named_and_the_interval_beside_the_median(tmp_path, convnet) -> None:
    typed = ["bench", "--store", tmp_path, convnet, "--on", "fake"]
    ended = called(*typed, "--iterations", "300", "--commit", " model-7 ")
    assert ended.returncode == 0, ended.stderr
    assert " ms median 95 % CI 0." in " ".join(ended.stdout.split())
    (run,) = stored(tmp_path)
    assert run["environment"]["commit"]["id"] == "model-7"
    refused = called(*typed, "--commit", " ")
    assert refused.returncode == 2
    assert "is not a name" in refused.stderr


def full(*given: Any, **_: Any) -> None:
    place = next(one for one in given if isinstance(one, Path))
    raise OSError(errno.ENOSPC, "No space left on device", str(place))


TWO_FAKES = ("bench", __file__, "--on", "fake", "--on", "fake?latency_us=300", "--iterations", "9")


def test_a_full_store_loses_no_figure(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(run_folder, "write_run", full)
    status = main([*TWO_FAKES, "--store", str(tmp_path / "store"), "--json"])
    shown = capsys.readouterr()
    assert status == 3
    assert [run["summaries"][0]["n"] for run in json.loads(shown.out)["runs"]] == [9, 9]
    assert "2 runs were measured but not stored" in shown.err
    assert shown.err.count("No space left on device") == 1
    assert str(tmp_path / "store") in shown.err
    short = Workload(stop=StopRule(iterations=9))
    with pytest.warns(UserWarning, match="1 run was measured but not stored"):
        found = es.bench(__file__, on="fake", workload=short, store=tmp_path)
    assert found.latency.n == 9


def test_a_full_disk_of_temporary_files_fails_one_job(tmp_path, monkeypatch, capsys) -> None:
    usual = isolate.reserve

    def reserve(file: Path, size: int) -> None:
        is_second = "latency_us" in (file.parent / "job.json").read_text()
        (full if is_second else usual)(file, size)

    monkeypatch.setattr(isolate, "reserve", reserve)
    assert main([*TWO_FAKES, "--store", str(tmp_path / "store"), "--json"]) == 3
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert first["summaries"][0]["n"] == 9
    assert second["outcome"] == "failed"


def test_without_onnx_runtime_nothing_is_stored(tmp_path, convnet, monkeypatch, capsys) -> None:
    from enginescope.services.measurement import bench as service

    monkeypatch.setattr(service, "find_spec", lambda _: None)
    assert main(["bench", str(convnet), "--store", str(tmp_path / "s")]) == 2
    assert "enginescope[ort]" in capsys.readouterr().err
    assert not list((tmp_path / "s").rglob("run.json"))
