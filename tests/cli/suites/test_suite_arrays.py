"""A suite as arrays of Slurm and as an Indexed Job of Kubernetes, on stand-ins: rows as here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.core.jsonio import decode
from enginescope.records.suite.suite import CellRow
from enginescope.runner.fleet import slurm_fleet, slurm_queue
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.store.archive import Store
from tests.cli.suites.test_suite_fleet import FLEET, SUITE, rows
from tests.plants.in_process import workers_in_process

ROOT = Path(__file__).parents[3]
CONVNET = ("--include", "convnet")


@pytest.fixture
def suite(tmp_path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def rows_here(tmp_path_factory) -> dict[str, tuple[str, str | None]]:
    folder = tmp_path_factory.mktemp("here")
    (folder / "net.toml").write_text(SUITE)
    with workers_in_process():
        assert main(["suite", str(folder / "net.toml"), *CONVNET, "--store", str(folder)]) == 3
    return rows(folder)


def stand_in(folder: Path, program: str, script: str) -> None:
    """Put a program on the path that is a script of the tests."""
    file = folder / program
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FLEET / script}" "$@"\n')
    file.chmod(0o755)


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    return place


@pytest.fixture
def slurm(tmp_path, programs, monkeypatch) -> Path:
    """The folder of the stand-in."""
    for program in ("sbatch", "squeue", "scancel"):
        file = programs / program
        script = shlex.join([sys.executable, str(FLEET / "slurm_stand_in.py"), program])
        file.write_text(f'#!/bin/sh\nexec {script} "$@"\n')
        file.chmod(0o755)
    home = tmp_path / "slurm"
    home.mkdir()
    monkeypatch.setenv("SLURM_STAND_IN", str(home))
    monkeypatch.setattr(slurm_fleet, "_LOOK_S", 0.3)
    monkeypatch.setattr(slurm_queue.SlurmQueue, "late_s", 0.6)
    return home


@pytest.fixture
def kubectl(tmp_path, programs, monkeypatch) -> Path:
    """The folder of the stand-in."""
    stand_in(programs, "kubectl", "kubectl_stand_in.py")
    home = tmp_path / "cluster"
    home.mkdir()
    monkeypatch.setenv("KUBECTL_STAND_IN", str(home))
    return home


def options_of(job: Path) -> dict[str, str]:
    return json.loads((job / "options.json").read_text())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_array_of_slurm(suite, tmp_path, slurm, rows_here, capsys) -> None:
    (slurm / "kill").write_text("1_0 1_2 2_1")  # one cell loses a node, the other two
    on_slurm = ("--on-slurm", "--slurm", "partition=gpu", "--slurm", "mem=2G", "--jobs", "2")
    command = ["suite", str(suite), *CONVNET, *on_slurm, "--store", str(tmp_path)]
    assert main(command) == 3
    said = capsys.readouterr().err
    first, second = options_of(slurm / "1"), options_of(slurm / "2")
    assert (first["array"], second["array"]) == ("0-2%2", "0-1%2")
    assert (first["partition"], first["mem"]) == ("gpu", "2G")
    assert not (slurm / "3").exists()
    assert said.count("was lost (slurmstepd: error: CANCELLED DUE TO NODE FAILURE)") == 2
    found = rows(tmp_path)
    lost = [label for label, one in found.items() if one not in rows_here.values()]
    (label,) = lost
    assert found[label][0] == "crashed"
    assert "its job was lost 2 times: slurmstepd" in found[label][1]
    assert {**found, label: rows_here[label]} == rows_here
    assert main([*command, "--retry-failed"]) == 3
    assert rows(tmp_path) == rows_here
    assert len(Store(tmp_path).rows(tag="net")) >= 3
    assert list((tmp_path / "suites" / "net" / "returned").iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_a_killed_session_left_in_the_queue_is_collected(
    suite, tmp_path, slurm, rows_here
) -> None:
    store = tmp_path / "store"
    command = ["-m", "enginescope", "suite", str(suite), *CONVNET, "--store", str(store)]
    session = subprocess.Popen(
        [sys.executable, *command, "--on-slurm"], stderr=subprocess.PIPE, text=True
    )
    for line in session.stderr:
        if "job 1_" in line:
            break
    session.kill()
    session.communicate()
    while len(list(slurm.glob("1/*.ended"))) < 3:  # the queue goes on without the session
        time.sleep(0.1)
    assert main([*command[2:], "--collect"]) == 3
    assert rows(store) == rows_here
    assert not (store / "suites" / "net" / "tasks").exists()


def test_without_a_partition(suite, tmp_path, slurm, capsys) -> None:
    (slurm / "refuses").touch()
    command = ["suite", str(suite), *CONVNET, "--on-slurm", "--store", str(tmp_path)]
    assert main(command) == 3
    said = capsys.readouterr().err
    assert "Slurm accepts no jobs" in said
    assert "why: sbatch: error: invalid partition specified: moon" in said


@pytest.mark.slow
def test_as_jobs_of_this_machine(suite, tmp_path, rows_here, monkeypatch) -> None:
    monkeypatch.setattr(slurm_fleet, "_LOOK_S", 0.3)
    options = (*CONVNET, "--on-slurm", "--slurm", "cluster=local", "--store", str(tmp_path))
    assert main(["suite", str(suite), *options]) == 3
    assert rows(tmp_path) == rows_here
    assert len(Store(tmp_path).rows(tag="net")) == 3


def emit(suite: Path, tmp_path: Path, *more: str) -> Path:
    """Write the Job of a suite; return its manifest."""
    store = ("--store", str(tmp_path), "--k8s-mount", f"all:{tmp_path}")
    jobs = ("--emit-k8s", str(tmp_path / "jobs"), "--k8s-image", "me/es:1")
    main(["suite", str(suite), *CONVNET, *jobs, *store, *more])
    return tmp_path / "jobs" / "net.json"


def apply(manifest: Path) -> str:
    command = ["kubectl", "apply", "-f", str(manifest)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def collect(suite: Path, tmp_path: Path) -> int:
    return main(["suite", str(suite), *CONVNET, "--collect", "--store", str(tmp_path)])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_indexed_job(suite, tmp_path, kubectl, rows_here, capsys) -> None:
    (kubectl / "kill").write_text("0 2 2")  # one cell loses a node, the other two
    manifest = emit(suite, tmp_path, "--jobs", "2", "--k8s-limit", "memory=4Gi")
    assert f"3 cells in {manifest}: kubectl apply -f {manifest}" in capsys.readouterr().err
    assert "created: 2 of 3" in apply(manifest)
    assert not (tmp_path / "suites" / "net" / "cells.jsonl").exists()
    assert collect(suite, tmp_path) == 3
    assert "2 cells were collected" in capsys.readouterr().err
    found = rows(tmp_path)
    assert len(found) == 2
    assert found.items() <= rows_here.items()
    assert "created: 1 of 1" in apply(emit(suite, tmp_path))
    collect(suite, tmp_path)
    assert rows(tmp_path) == rows_here
    assert len(Store(tmp_path).rows(tag="net")) == 3
    folder = tmp_path / "suites" / "net"
    assert list((folder / "returned").iterdir()) == []
    assert not (folder / "tasks").exists()
    first, second = map(json.loads, (kubectl / "jobs.jsonl").read_text().splitlines())
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["spec"]["parallelism"] == 2


COMPARED = """
[suite]
name = "net"
models = ["samples"]
mode = "validate"
backends = ["ort-cpu", "ort-cpu?intra_op_num_threads=1", "ort-cpu?graph_optimization_level=basic"]
timeout = "60s"
[validation]
samples = 2
"""


def compared(store: Path) -> dict[str, tuple[object, ...]]:
    """Label -> how a cell ended, why, and its largest errors."""
    lines = (store / "suites" / "net" / "cells.jsonl").read_bytes().splitlines()
    found = [decode(line, CellRow, source="row") for line in lines]
    return {one.cell.label: (one.status, one.reason, one.figures) for one in found}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_outputs_are_compared_with_one_reference_as_here(tmp_path, slurm, kubectl) -> None:
    suite, here = tmp_path / "net.toml", tmp_path / "here"
    suite.write_text(COMPARED)
    with workers_in_process():
        assert main(["suite", str(suite), *CONVNET, "--store", str(here)]) == 0
    expected = compared(here)
    assert len(expected) == 3
    on_slurm = ("--on-slurm", "--store", str(tmp_path / "slurm store"))
    assert main(["suite", str(suite), *CONVNET, *on_slurm]) == 0
    assert compared(tmp_path / "slurm store") == expected
    references = tmp_path / "suites" / "net" / "references"
    assert not (tmp_path / "slurm store" / references.relative_to(tmp_path)).exists()
    apply(emit(suite, tmp_path))
    kept = {one.name for one in references.iterdir() if not one.name.startswith(".")}
    assert len(kept) == 2  # its bindings, its outputs
    assert collect(suite, tmp_path) == 0
    assert compared(tmp_path) == expected
    assert not references.exists()


def damages(good: bytes, other: bytes) -> dict[str, bytes | str]:
    """Return what may stand in the place of a result."""
    zip_at = good.index(b"PK\x03\x04")
    return {
        "nothing": b"",
        "not ours": b"nothing of ours",
        "cut off": good[: len(good) // 2],
        "a damaged run": good[: zip_at + 40] + bytes(200) + good[zip_at + 240 :],
        "no zip file in it": good.replace(b"PK", b"__"),
        "the result of another cell": other,
        "a folder": "mkdir",
        "a pipe": "mkfifo",
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_damaged_result_stays_and_the_others_are_collected(
    suite, tmp_path, kubectl, rows_here, capsys
) -> None:
    apply(emit(suite, tmp_path))
    place = tmp_path / "suites" / "net" / "returned"
    good = {file.name: file.read_bytes() for file in place.iterdir()}
    spoilt = next(name for name, data in good.items() if b"segfault" not in data)
    others = [name for name in good if name != spoilt]
    for what, damage in damages(good[spoilt], good[others[0]]).items():
        for name in others:
            (place / name).write_bytes(good[name])
        (place / spoilt).unlink(missing_ok=True)
        if isinstance(damage, str):
            subprocess.run([damage, place / spoilt], check=True)
        else:
            (place / spoilt).write_bytes(damage)
        capsys.readouterr()
        collect(suite, tmp_path)
        said = capsys.readouterr().err
        assert f"not collected: {place / spoilt}: " in said, what
        assert "its cell counts as not done" in said, what
        assert "2 cells were collected" in said, what
        assert "Traceback" not in said, what
        assert [one.name for one in place.iterdir()] == [spoilt], what
        if damage == "mkdir":
            (place / spoilt).rmdir()
    (place / spoilt).unlink()
    (place / spoilt).write_bytes(b"")
    assert "created: 1 of 1" in apply(emit(suite, tmp_path))  # the damaged file is replaced
    collect(suite, tmp_path)
    assert rows(tmp_path) == rows_here


def test_a_file_of_no_cell_stays(suite, tmp_path, capsys) -> None:
    place = tmp_path / "suites" / "net" / "returned"
    place.mkdir(parents=True)
    (place / "strange").write_bytes(b"nothing of ours")
    collect(suite, tmp_path)
    said = capsys.readouterr().err
    assert f"not collected: {place / 'strange'}: this suite no longer has this cell" in said
    assert len(list(place.iterdir())) == 1


@pytest.mark.slow
@pytest.mark.documentation
@pytest.mark.timeout(300)
def test_the_commands_of_the_page_with_the_default_store(
    tmp_path, programs, kubectl, monkeypatch
) -> None:
    page = (ROOT / "docs" / "how-to" / "suite-on-ray.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page.partition("## Kubernetes")[2], re.DOTALL)
    commands = "".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in blocks)
    assert {"--emit-k8s", "kubectl", "--collect"} <= set(commands.split())
    assert "--store" not in commands
    work = tmp_path / "work"
    sample_models(work / "models")
    script = programs / "enginescope"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m enginescope "$@"\n')
    script.chmod(0o755)
    monkeypatch.delenv("ENGINESCOPE_HOME", raising=False)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    ended = subprocess.run(
        ["bash", "-ec", commands], cwd=work, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "2 cells were collected" in ended.stderr
    (job,) = map(json.loads, (kubectl / "jobs.jsonl").read_text().splitlines())
    assert job["spec"]["completions"] == 2
