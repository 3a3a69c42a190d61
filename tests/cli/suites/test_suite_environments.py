"""Cells of a suite in another Python of this machine, with other versions of the libraries."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from enginescope.cli.main import main
from enginescope.runner.fleet.machines import REFERENCES, REMOTE_CELL
from enginescope.store.archive import Store
from tests.cli.called import called
from tests.cli.suites.test_suite import LIMIT_S, TIMING, command, rows, until, zoo

SOURCE = Path(__file__).resolve().parents[3] / "src"
#: A backend that measures nothing, in the other Python.
THERE = "fake@other"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def with_version(folder: Path, version: str) -> None:
    """Have a folder of modules claim a version of ONNX Runtime."""
    for one in folder.glob("onnxruntime-*"):
        (one / "METADATA").unlink()
        one.rmdir()
    info = folder / f"onnxruntime-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: onnxruntime\nVersion: {version}\n"
    )


@pytest.fixture
def python(tmp_path) -> Path:
    """This Python by another name, in which ONNX Runtime seems to be another."""
    with_version(tmp_path / "site", "0.9.9")
    run = f'PYTHONPATH="{tmp_path / "site"}:{SOURCE}" exec "{sys.executable}" "$@"'
    return script(tmp_path / "other-python", run)


def suite_file(folder: Path, model: Path, python: Path | str, *, there: str = THERE) -> Path:
    path = folder / "two.toml"
    path.write_text(
        f'[suite]\nmodels = ["{model}"]\nbackends = ["fake", "{there}"]\nlayers = false\n'
        f'[environments]\nother = "{python}"\n{TIMING}'
    )
    return path


def run(store: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return called("suite", "--store", store, *arguments)


def test_each_python_does_its_cells_and_has_its_own_versions(tmp_path, convnet, python) -> None:
    asked = suite_file(tmp_path, convnet, "./other-python")  # beside the file
    store, out = tmp_path / "store", tmp_path / "out"
    ended = run(store, asked, "-o", out)
    assert ended.returncode == 0, ended.stderr
    here, there = rows(out)
    environments = [one["cell"]["job"]["backend"].get("environment") for one in (here, there)]
    assert environments == [None, "other"]
    assert there["status"] == "ok"
    assert there["versions"]["onnxruntime"] == "0.9.9"
    assert here["versions"]["onnxruntime"] != "0.9.9"
    kept = Store(store).load(there["run"])
    assert str(kept.job.backend) == THERE
    assert kept.environment.versions["onnxruntime"] == "0.9.9"
    assert kept.tags == ("two",)
    assert THERE in ended.stdout

    assert "2 done before" in run(store, asked, "-o", out).stderr
    with_version(tmp_path / "site", "0.9.10")
    assert "1 from other versions" in run(store, asked, "-o", out).stderr
    assert [one["versions"]["onnxruntime"] for one in rows(out)[2:]] == ["0.9.10"]


def test_backends_of_another_python_share_their_reference(
    tmp_path, convnet, python, monkeypatch
) -> None:
    pytest.importorskip("onnxruntime")
    kept, real = [], shutil.rmtree

    def listed(path, **options):
        if Path(path).name == REFERENCES and Path(path).is_dir():
            kept.append([one.name for one in Path(path).iterdir() if one.name[0] != "."])
        real(path, **options)

    monkeypatch.setattr(shutil, "rmtree", listed)
    asked = tmp_path / "two.toml"
    there = json.dumps(["ort-cpu@other", "ort-cpu@other?intra_op_num_threads=1"])
    asked.write_text(
        f'[suite]\nmodels = ["{convnet}"]\nbackends = {there}\nmode = "validate"\n'
        f'[environments]\nother = "{python}"\n'
    )
    assert main(["suite", str(asked), "--store", str(tmp_path / "store")]) == 0
    assert [len(one) for one in kept] == [2]  # its bindings, its outputs


def test_named_on_the_command_line(tmp_path, convnet, python, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    zoo(tmp_path, convnet)
    asked = ("zoo", "--on", THERE, "--environment", "other=./other-python", "--iterations", 5)
    ended = run(tmp_path / "store", *asked, "--no-layers", "-o", tmp_path / "out")
    assert ended.returncode == 0, ended.stderr
    assert [one["versions"]["onnxruntime"] for one in rows(tmp_path / "out")] == ["0.9.9"]


@pytest.mark.parametrize(
    ("dies", "said"),
    [
        ("echo out of luck; exit 7", "ended with status 7: out of luck"),
        ("kill -9 $$", "ended by signal 9"),
    ],
)
def test_a_python_that_dies_is_a_row(tmp_path, convnet, python, dies, said) -> None:
    mortal = script(
        tmp_path / "mortal", f'case "$2" in *remote_cell) {dies};; esac; exec "{python}" "$@"'
    )
    out = tmp_path / "out"
    ended = run(tmp_path / "store", suite_file(tmp_path, convnet, mortal), "-o", out)
    assert ended.returncode == 3, ended.stderr
    here, there = rows(out)
    assert (here["status"], there["status"]) == ("ok", "crashed")
    assert there["reason"].endswith(said)
    assert "environment other" in there["reason"]
    assert there["versions"]["onnxruntime"] == "0.9.9"  # so that it is known to be bad there


def test_a_python_that_is_gone_for_a_while(tmp_path, convnet, python) -> None:
    gone = 'case "$2" in *environment_fingerprint) mv "$0" "$0.gone";; esac'
    mortal = script(tmp_path / "mortal", f'{gone}; exec "{python}" "$@"')
    store, out = tmp_path / "store", tmp_path / "out"
    asked = suite_file(tmp_path, convnet, mortal)
    assert run(store, asked, "-o", out).returncode == 3
    there = rows(out)[-1]
    assert there["status"] == "unsupported"
    assert "it cannot be started: No such file" in there["reason"]
    script(mortal, f'exec "{python}" "$@"')
    again = run(store, asked, "-o", out)
    assert again.returncode == 0, again.stderr  # not known to be bad
    assert "two: 2 cells, 1 done before\n" in again.stderr
    assert rows(out)[-1]["status"] == "ok"


def test_a_worker_that_dies_there_is_a_row_as_here(tmp_path, convnet, python) -> None:
    """And what start-up files print is no answer."""
    chatty = f'echo "CUDA 12 loaded"; "{python}" "$@"; status=$?; echo bye; exit $status'
    (tmp_path / "site" / "sitecustomize.py").write_text("print('no line of its own', end='')\n")
    script(tmp_path / "chatty", chatty)
    asked = suite_file(tmp_path, convnet, "./chatty", there=f"{THERE}?fault=segfault")
    out = tmp_path / "out"
    assert run(tmp_path / "store", asked, "-o", out).returncode == 3
    there = rows(out)[-1]
    assert (there["status"], there["reason"]) == ("crashed", "died of SIGSEGV")
    assert Store(tmp_path / "store").load(there["run"]).job.backend.environment == "other"


def test_environments_are_of_suites_on_this_machine_and_the_plan_says_which(
    tmp_path, convnet, capsys
) -> None:
    store = ("--store", str(tmp_path / "store"))
    assert main(["bench", str(convnet), "--on", THERE, *store]) == 2
    assert "only cells of a suite" in capsys.readouterr().err
    asked = suite_file(tmp_path, convnet, "python3")
    assert main(["suite", str(asked), "--list", "--json", *store]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert [one["job"]["backend"].get("environment") for one in cells] == [None, "other"]
    assert main(["suite", str(asked), "--in-docker", "me/es:1", *store]) == 2
    assert "environments belong to this machine" in capsys.readouterr().err
    assert not (tmp_path / "store" / "suites").exists()
    asked = suite_file(tmp_path, convnet, sys.executable, there="fake@othr")
    assert main(["suite", str(asked), *store]) == 2
    text = capsys.readouterr().err
    assert "no environment is called 'othr'" in text
    assert "did you mean other?" in text


def theirs(parent: int) -> list[psutil.Process]:
    """Return the process of a cell in another Python with its worker; none before both are."""
    with contextlib.suppress(psutil.NoSuchProcess):
        found = psutil.Process(parent).children(recursive=True)
        starters = [one for one in found if REMOTE_CELL in one.cmdline()]
        workers = [one for starter in starters for one in starter.children(recursive=True)]
        return [*starters, *workers] if workers else []
    return []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_suite_that_is_ended(tmp_path, convnet, python, number) -> None:
    asked = suite_file(tmp_path, convnet, python, there=f"{THERE}?fault=hang")
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        command(tmp_path / "store", asked, "-o", tmp_path / "out"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    try:
        started = until(lambda: theirs(process.pid))
        assert any((tmp_path / "tmp").iterdir())
        process.send_signal(number)
        status = process.wait(LIMIT_S)
    finally:
        process.kill()
        process.wait()
    until(lambda: not any(one.is_running() for one in started))
    if number == signal.SIGTERM:
        assert status == 128 + number
        assert not any((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("nowhere/bin/python", ("cannot be started", "bin/python")),
        ("without", ("No module named enginescope", "-m pip install enginescope==")),
        ("older", ("has enginescope 0.0.1", "-m pip install enginescope==")),
        ("mute", ("returned unreadable output: hello", "bin/python")),
    ],
)
def test_a_python_that_cannot_do_cells(tmp_path, convnet, capsys, python, said) -> None:
    script(tmp_path / "without", "echo No module named enginescope >&2; exit 1")
    script(tmp_path / "older", """echo '{"enginescope": "0.0.1"}'""")
    script(tmp_path / "mute", "echo hello")
    asked = suite_file(tmp_path, convnet, tmp_path / python)
    assert main(["suite", str(asked), "--store", str(tmp_path / "store")]) == 2
    text = " ".join(capsys.readouterr().err.split())
    for one in ("environment other", *said):
        assert one in text
    assert not (tmp_path / "store" / "suites").exists()


def test_what_is_missing_there_is_to_be_installed_there(tmp_path, convnet, python) -> None:
    (tmp_path / "site" / "onnx_ir.py").write_text("raise ImportError('not in this Python')\n")
    asked = suite_file(tmp_path, convnet, python, there="ort-cpu:fp16@other")
    out = tmp_path / "out"
    assert run(tmp_path / "store", asked, "-o", out).returncode == 3
    there = rows(out)[-1]
    assert there["status"] in ("unsupported", "failed"), there
    assert f"{python} -m pip install 'enginescope[convert]'" in there["hint"]
