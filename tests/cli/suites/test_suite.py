"""``enginescope suite`` as a user runs it: cells in processes, killed, resumed, changed."""

import csv
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import enginescope as es
from enginescope.cli.main import main
from enginescope.core.errors import UsageError
from enginescope.probe.host import usable_processors
from enginescope.store import run_folder
from enginescope.store.archive import Store
from tests.cli.called import called

T = TypeVar("T")
LIMIT_S = 280
TIMING = '[timing]\niterations = 10\nwarmup = "1"\n'


def command(store: Path, *arguments: object) -> list[str]:
    words = ("suite", "--store", store, *arguments)
    return [sys.executable, "-m", "enginescope", *map(str, words)]


def suite(store: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(
        command(store, *arguments), capture_output=True, text=True, timeout=LIMIT_S, env=env
    )


def until(true: Callable[[], T], seconds: float = LIMIT_S) -> T:
    """Return what a call returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def stopped(number: int, when: Callable[[], T], *arguments: object) -> tuple[int, str]:
    """Send a suite a signal once something is true; return its status and what it said."""
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(*arguments), text=True, **pipes) as process:
        until(lambda: when() or process.poll() is not None)
        process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT_S)
    return process.returncode, said


def rows(folder: Path) -> list[dict]:
    """Every row that was kept, in order, the older ones of a cell too; not one being written."""
    with suppress(FileNotFoundError):
        lines = (folder / "cells.jsonl").read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]
    return []


def stored(store: Path) -> set[str]:
    return {one.parent.name for one in store.glob("runs/*/run.json")}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def perf(folder: Path, name: str) -> list[dict[str, str]]:
    (path,) = (folder / "ort_perf").glob(f"benchmark_{name}_*.csv")
    return table(path)


def zoo(folder: Path, model: Path) -> str:
    """Make a folder of one model; return its path."""
    (folder / "zoo").mkdir()
    shutil.copy(model, folder / "zoo" / "net.onnx")
    return str(folder / "zoo")


def planted(model: Path, *faults: str) -> str:
    return "".join(
        f'[[model]]\nname = "{one}"\npath = "{model}"\nbackends = ["fake?fault={one}"]\n'
        + ('timeout = "4s"\n' if one == "hang" else "")
        for one in faults
    )


def test_whatever_happens_in_a_cell_is_a_row(tmp_path, convnet) -> None:
    file = tmp_path / "zoo.toml"
    file.write_text(
        f'[suite]\nmodels = ["{convnet}"]\nbackends = ["ort-cpu", "fake"]\nlayers = false\n'
        f'timeout = "150s"\nmemory_limit = "400MiB"\n'
        + TIMING
        + planted(convnet, "segfault", "hang", "memory", "abort")
    )
    ended = suite(tmp_path, file)
    folder = tmp_path / "suites" / "zoo"
    assert ended.returncode == 3, ended.stderr
    assert {one["cell"]["model"]: one["status"] for one in rows(folder)} == {
        "small_convnet": "ok",
        "segfault": "crashed",
        "hang": "timed_out",
        "memory": "out_of_memory",
        "abort": "crashed",
    }
    assert "6 cells: 2 ok, 2 crashed, 1 timed out, 1 out of memory" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80 + len(str(tmp_path))
    found = table(folder / "results.csv")
    measured = [one for one in found if one["metric"] == "latency"]
    assert sorted(one["spec"] for one in measured) == ["fake", "ort-cpu"]
    assert [one["spec"] for one in found if one["metric"] == "speed_up"] == ["ort-cpu", "fake"]
    assert {one["reason"] for one in found if one["model"] == "segfault"} == {"died of SIGSEGV"}
    assert [one["model"] for one in perf(folder, "fail")] == ["segfault", "hang", "memory", "abort"]
    assert perf(folder, "status")[0]["ORT-CPUFp32"] == "Pass"
    assert b"small_convnet" in (folder / "suite.html").read_bytes()
    before = rows(folder)

    again = called("suite", "--store", tmp_path, file)
    assert rows(folder) == before  # nothing is run again
    assert "6 cells, 2 done before" in again.stderr
    since = before[-1]["ended"][:10]
    assert f"known to be bad since {since}: segfault" in again.stderr
    assert again.returncode == 3

    retry = ("--retry-failed", "--include", "segfault", "--json")
    more = called("suite", "--store", tmp_path, file, *retry)
    assert [one["cell"]["model"] for one in rows(folder)[len(before) :]] == ["segfault"]
    assert json.loads(more.stdout)["rows"][0]["status"] == "crashed"
    assert more.stderr.splitlines()[-1].endswith("fake?fault=segfault: crashed: died of SIGSEGV")


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_killed_and_started_again_it_goes_on(tmp_path, convnet) -> None:
    file = tmp_path / "killed.toml"
    on = [f"fake?seed={seed}&latency_us=2000" for seed in range(5)]
    file.write_text(
        f'[suite]\nmodels = ["{convnet}"]\nbackends = {on}\nlayers = false\n'
        '[timing]\niterations = 300\nwarmup = "1"\n'
    )
    folder = tmp_path / "suites" / "killed"
    stopped(signal.SIGKILL, lambda: len(rows(folder)) >= 2, tmp_path, file)
    before = rows(folder)
    assert 2 <= len(before) < 5
    ended = called("suite", "--store", tmp_path, file)
    assert ended.returncode == 0, ended.stderr
    assert rows(folder)[: len(before)] == before
    assert len({one["cell"]["key"] for one in rows(folder)}) == len(rows(folder)) == 5
    assert f"{len(before)} done before" in ended.stderr
    assert {one["run"] for one in rows(folder)} <= stored(tmp_path)


@pytest.mark.usefixtures("in_process")
def test_a_folder_of_its_own_starts_with_the_results_of_the_store(tmp_path, convnet) -> None:
    store, own = tmp_path / "store", tmp_path / "own"
    typed = ["suite", zoo(tmp_path, convnet), "--on", "ort-cpu", "--name", "main"]
    typed += ["--iterations", "10", "--no-layers", "--store", str(store)]
    assert main(typed) == 0
    assert main([*typed, "-o", str(own)]) == 0
    assert rows(own) == rows(store / "suites" / "main")  # nothing ran again
    assert len(Store(store).rows(tag="main")) == 1
    assert (own / "suite.html").is_file()


@pytest.mark.usefixtures("in_process")
def test_killed_between_two_processes_a_cell_is_done_from_its_first(tmp_path, convnet) -> None:
    asked = ["--on", "fake?latency_us=2000", "--iterations", "300", "--include", "convnet"]
    asked = [convnet.parent, *asked, "--no-layers", "--processes", "4", "--name", "killed"]
    stopped(signal.SIGKILL, lambda: stored(tmp_path), tmp_path, *asked)
    before = stored(tmp_path)
    assert len(before) < 4
    assert not (tmp_path / "suites" / "killed" / "cells.jsonl").exists()
    ended = called("suite", "--store", tmp_path, *asked)
    assert ended.returncode == 0, ended.stderr
    (row,) = rows(tmp_path / "suites" / "killed")
    assert len(row["runs"]) == 4
    assert not before & set(row["runs"])


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ended_in_order_it_leaves_the_tables_of_what_is_done(tmp_path, convnet, jobs) -> None:
    if len(usable_processors() or ()) < int(jobs):
        pytest.skip("one processor has no two lanes")
    on = [part for seed in range(6) for part in ("--on", f"fake?seed={seed}&latency_us=2000")]
    options = ["--no-layers", "--iterations", "300", "--jobs", jobs, "--include", "convnet"]
    folder = tmp_path / "suites" / "samples"
    arguments = (tmp_path, convnet.parent, *on, *options, "--name", "samples")
    status, said = stopped(signal.SIGTERM, lambda: rows(folder), *arguments)
    if "physical cores" in said:
        pytest.skip("the processors are threads of one core")
    assert status == 128 + signal.SIGTERM, said
    done = rows(folder)
    assert 1 <= len(done) < 6
    assert {one["status"] for one in done} == {"ok"}  # who was killed with it is no crash
    assert f"{len(done)} of 6 cells are done" in said
    assert len({one["cell"] for one in table(folder / "results.csv")}) == len(done)
    assert b"not done" in (folder / "suite.html").read_bytes()


@pytest.mark.usefixtures("in_process")
def test_only_what_changed_is_done_again(tmp_path, convnet, transformer, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    zoo = tmp_path / "zoo"
    for name, model in (("conv", convnet), ("block", transformer)):
        (zoo / name).mkdir(parents=True)
        (zoo / name / "model.onnx").write_bytes(model.read_bytes())
    options = ["--on", "fake", "--iterations", "5", "--no-layers", "--store", "s"]
    assert main(["suite", "zoo", *options]) == 0
    folder = Path("s/suites/zoo")
    assert [one["cell"]["model"] for one in rows(folder)] == ["block", "conv"]
    model = zoo / "conv" / "model.onnx"
    model.write_bytes(model.read_bytes() + b"\0")
    assert main(["suite", "zoo", *options]) == 0
    assert [one["cell"]["model"] for one in rows(folder)] == ["block", "conv", "conv"]
    assert main(["suite", "zoo", *options, "--warmup", "2"]) == 0  # another option: all of them
    assert len(rows(folder)) == 5
    assert len(table(folder / "results.csv")[0]) > 20


def test_a_provider_that_is_not_here_is_unsupported(tmp_path, convnet, capsys) -> None:
    ort = pytest.importorskip("onnxruntime")
    if "TensorrtExecutionProvider" in ort.get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    models = ["--store", str(tmp_path), "--on", "ort-trt", "--iterations", "2", "--name", "trt"]
    assert main(["suite", str(convnet.parent), *models]) == 3
    made = rows(tmp_path / "suites" / "trt")
    assert [one["status"] for one in made] == ["unsupported"] * 2
    assert all("TensorrtExecutionProvider is not in this" in one["reason"] for one in made)
    assert "2 unsupported" in capsys.readouterr().out
    assert all(one["run"] for one in made)  # a gate sees them too


def with_answers(folder: Path, model: Path, *, wrong: bool) -> None:
    """A model with a data set whose outputs are its own, or are not."""
    onnx = pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    named = onnx.load(str(model))
    named.producer_name = folder.name  # models of the same content are the same model
    onnx.save(named, str(folder / "model.onnx"))
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    image = np.random.default_rng(0).random((1, 3, 96, 96), np.float32)
    (scores,) = session.run(None, {"image": image})
    values = {"input_0": image, "output_0": scores + 3 if wrong else scores}
    for name, array in values.items():
        tensor = onnx.numpy_helper.from_array(array, "image" if "in" in name else "scores")
        (data / f"{name}.pb").write_bytes(tensor.SerializeToString())


def test_a_reference_of_a_file_lies_beside_it(tmp_path, convnet, monkeypatch, capsys) -> None:
    """And one that is typed, here."""
    file = tmp_path / "suites" / "one.toml"
    for folder, name in (("suites", "of_file.onnx"), ("here", "typed.onnx")):
        (tmp_path / folder).mkdir()
        shutil.copy(convnet, tmp_path / folder / name)
    checks = '[validation]\nreference = "./of_file.onnx"\n'
    file.write_text(f'[suite]\nmode = "validate"\nmodels = ["{convnet}"]\n{checks}')
    monkeypatch.chdir(tmp_path / "here")
    listed = ["suite", str(file), "--list", "--json", "--store", str(tmp_path / "s")]
    for typed, found in (
        ((), "suites/of_file.onnx"),
        (("--reference", "typed.onnx"), "here/typed.onnx"),
    ):
        assert main([*listed, *typed]) == 0
        (one,) = json.loads(capsys.readouterr().out)
        assert one["checking"]["reference"] == str(tmp_path / found)


@pytest.mark.usefixtures("in_process")
def test_wrong_answers_are_not_measured(tmp_path, convnet, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    with_answers(tmp_path / "zoo" / "good", convnet, wrong=False)
    with_answers(tmp_path / "zoo" / "bad", convnet, wrong=True)
    options = ["--mode", "both", "--input", "dataset", "--iterations", "5", "--no-layers"]
    loose = [*options, "--name", "loose", "--rtol", "0", "--atol", "4", "--include", "bad"]
    assert main(["suite", "zoo", *loose, "--store", "s"]) == 0  # as was asked for
    assert main(["suite", "zoo", *options, "--store", "s"]) == 1  # the answer is bad
    bad, good = rows(Path("s/suites/zoo"))
    assert (bad["status"], bad["run"]) == ("wrong", None)
    assert bad["reason"].startswith("scores: ")
    figures = {one["metric"]: one["value"] for one in bad["figures"]}
    assert figures["max_abs_error"] == pytest.approx(3, rel=1e-3)
    assert good["status"] == "ok"
    assert {"latency", "max_abs_error"} <= {one["metric"] for one in good["figures"]}
    assert perf(Path("s/suites/zoo"), "fail")[0]["error type"] == "result accuracy issue"

    # the same suite, in which what was good is bad now, against this one
    data = {name: tmp_path / "zoo" / name / "test_data_set_0" for name in ("bad", "good")}
    data["bad"].rename(tmp_path / "wrong")
    data["good"].rename(data["bad"])
    (tmp_path / "wrong").rename(data["good"])
    assert main(["suite", "zoo", *options, "--store", "s", "--name", "now"]) == 1
    capsys.readouterr()
    assert main(["gate", "--baseline", "zoo", "now", "--store", "s", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {(one["model"], one["outcome"]) for one in found["rows"]} == {
        ("good", "new failure"),
        ("bad", "fixed"),
    }
    assert main(["gate", "--baseline", "now", "s/suites/zoo", "--store", "s"]) == 1


@pytest.mark.usefixtures("in_process")
def test_two_suites_in_a_gate(tmp_path, convnet, capsys) -> None:
    options = ["--store", str(tmp_path), "--no-layers", "--iterations", "200"]
    models = zoo(tmp_path, convnet)
    for name, spec in (("main", "fake?latency_us=1000"), ("head", "fake?latency_us=3000")):
        assert main(["suite", models, *options, "--name", name, "--on", spec]) == 0
    capsys.readouterr()
    status = main(["gate", "--baseline", "main", "head", "--store", str(tmp_path), "--all"])
    shown = capsys.readouterr().out
    assert status == 1
    assert shown.startswith("gate failed: 1 regression")
    assert "net.onnx · fake" in shown
    assert main(["gate", "--baseline", "main", "main", "--store", str(tmp_path)]) == 2
    assert "all of them are the baseline's" in capsys.readouterr().err
    with pytest.raises(UsageError, match="all of them are the baseline's"):
        es.gate("main", baseline="main", store=tmp_path)


def test_several_processes_a_cell(tmp_path, convnet, capsys) -> None:
    options = [zoo(tmp_path, convnet), "--store", str(tmp_path), "--no-layers", "--processes", "3"]
    options += ["--iterations", "40", "--warmup", "2"]
    asked = [*options, "--name", "main", "--on", "fake?latency_us=1000"]
    assert main(["suite", *asked]) == 0
    assert "median of 3 processes" in capsys.readouterr().out
    folder = tmp_path / "suites" / "main"
    (good,) = rows(folder)
    assert (len(good["runs"]), good["attempts"]) == (3, 1)
    assert good["run"] in good["runs"]
    assert stored(tmp_path) == set(good["runs"])
    ids = {one["metric"]: one["runs"] for one in table(folder / "results.csv")}
    assert ids["latency"] == " ".join(good["runs"])
    assert main(["suite", *asked]) == 0
    assert rows(folder) == [good]  # nothing is run again
    assert main(["suite", *options, "--name", "head", "--on", "fake?latency_us=3000"]) == 0
    capsys.readouterr()
    assert main(["gate", "--baseline", "main", "head", "--store", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rows"]
    assert row["outcome"] == "regression"
    assert (len(row["baseline"]), len(row["current"])) == (3, 3)
    assert row["verdict"]["estimate"]["method"] == "processes"
    assert "I-FEW-PROCESSES" in {one["code"] for one in found["notices"]}


def test_a_process_that_fails_for_good_ends_its_cell(tmp_path, convnet) -> None:
    options = ["--no-layers", "--processes", "3", "--retries", "1", "--include", "convnet"]
    asked = ["--store", str(tmp_path), "--name", "bad", "--on", "fake?fault=segfault", *options]
    assert main(["suite", str(convnet.parent), *asked]) == 3
    (bad,) = rows(tmp_path / "suites" / "bad")
    assert (bad["status"], bad["attempts"], bad["runs"]) == ("crashed", 2, [])
    assert len(stored(tmp_path)) == 2  # of its first process alone


def test_side_by_side_on_cores_of_their_own(tmp_path, convnet) -> None:
    if len(usable_processors() or ()) < 2:
        pytest.skip("one processor has no two lanes")
    on = [part for seed in range(4) for part in ("--on", f"fake?seed={seed}")]
    options = ["--no-layers", "--iterations", "20", "--jobs", "2", "--name", "lanes"]
    ended = suite(tmp_path, convnet.parent, *on, *options, "--include", "convnet")
    if "physical cores" in ended.stderr:
        pytest.skip("the processors are threads of one core")
    assert ended.returncode == 0, ended.stderr
    made = rows(tmp_path / "suites" / "lanes")
    assert len(made) == 4
    runs = [json.loads((tmp_path / "runs" / one["run"] / "run.json").read_text()) for one in made]
    pinned = {tuple(one["job"]["conditions"]["pinned_cores"]) for one in runs}
    assert 1 <= len(pinned) <= 2
    assert () not in pinned
    assert made[0]["cell"]["job"]["conditions"]["pinned_cores"] == []  # the plan's cell is kept


def test_the_example_lists_its_cells(tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    assert main(["suite", "--init"]) == 0
    assert main(["suite", "--list", "--store", "s"]) == 0
    assert capsys.readouterr().out.count("light_") == 9
    assert main(["suite", "--list", "--store", "s", "--processes", "3"]) == 0
    assert capsys.readouterr().out.count(" · random · 3 processes\n") == 9
    assert main(["suite", "--init"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["suite", "--init", "s.yaml"]) == 2  # it would be read as YAML
    assert "--init s.toml" in capsys.readouterr().err
    assert not (tmp_path / "s.yaml").exists()


def test_limits_that_are_typed_stand_in_the_place_of_the_file_s(tmp_path, capsys) -> None:
    file = tmp_path / "suite.toml"
    text = '[suite]\nmodels = ["samples"]\nmode = "validate"\n[validation]\n'
    for held, typed, kept in (
        ('tolerance = "fp16"', ("--rtol", "0.1"), {"rtol": 0.1, "tolerance": None}),
        ("rtol = 0.1\natol = 0.2", ("--tolerance", "fp16"), {"rtol": None, "tolerance": "fp16"}),
        ("atol = 0.2", ("--rtol", "0.1"), {"rtol": 0.1, "atol": 0.2}),
    ):
        file.write_text(text + held)
        asked = ["suite", str(file), "--list", "--json", "--store", str(tmp_path), *typed]
        assert main(asked) == 0
        assert json.loads(capsys.readouterr().out)[0]["checking"].items() >= kept.items()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MODELS backend = ['fake']", "did you mean backends?"),
        ("MODELS name = 'two words'", "--name NAME"),
        ("", "models = "),
        ("MODELS BOTH tolerance = 'fp61'", "did you mean fp"),
        ("MODELS BOTH reference = 'x'", "'x'"),
        ("MODELS BOTH reference = 'out/x'", "paths in a suite start at its file"),
        ("MODELS BOTH reference = 'trt@x'", "remove the @"),
        ("MODELS BOTH tolerance = 'fp16'\natol = 1", "already covers it"),
        ("MODELS [validation]\nrtol = nan", "validation.rtol"),
        ("MODELS [timing]\nprecision = inf", "timing.precision"),
    ],
)
def test_a_users_mistake_says_the_next_step(tmp_path, capsys, text, said) -> None:
    file = tmp_path / "suite.toml"
    text = text.replace("BOTH", "mode = 'both'\n[validation]\n")
    file.write_text("[suite]\n" + text.replace("MODELS", "models = ['samples']\n"))
    assert main(["suite", str(file), "--store", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "suites").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("in_process")
def test_the_nine_light_topologies_in_two_precisions(tmp_path) -> None:
    file = tmp_path / "zoo.toml"
    plain = "graph_optimization_level=disable"  # else each session folds 500 MiB of constants
    file.write_text(
        '[suite]\nmodels = ["onnx:light"]\n'
        f'backends = ["ort-cpu?{plain}", "ort-cpu:fp16?{plain}"]\nlayers = false\n'
        "[timing]\niterations = 1\nwarmup = 0\n"
    )
    assert main(["suite", "--store", str(tmp_path), str(file)]) == 0
    made = rows(tmp_path / "suites" / "zoo")
    assert len(made) == 18
    assert {one["status"] for one in made} == {"ok"}
    assert {one["cell"]["job"]["backend"]["precision"] for one in made} == {None, "fp16"}


def test_a_full_store_ends_the_suite_and_loses_no_figure(tmp_path, monkeypatch, capsys) -> None:
    file = tmp_path / "zoo.toml"
    cells = [f'[[model]]\nname = "m{n}"\npath = "{__file__}"\nbackends = ["fake"]\n' for n in "01"]
    file.write_text(TIMING + "".join(cells))
    usual = run_folder.write_run

    def full(_run: Any, folder: Path, **_more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder))

    monkeypatch.setattr(run_folder, "write_run", full)
    given = ["suite", str(file), "--store", str(tmp_path / "store"), "--json"]
    assert main(given) == 3
    shown = capsys.readouterr()
    (row,) = json.loads(shown.out)["rows"]
    assert row["status"] == "ok"
    assert {one["metric"] for one in row["figures"]} >= {"latency", "load"}
    for part in ("No space left on device", "m0", "same command again to resume"):
        assert part in shown.err

    monkeypatch.setattr(run_folder, "write_run", usual)
    assert main(given) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2
