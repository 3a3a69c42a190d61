"""A suite whose cells are done elsewhere: the same rows as here."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from enginescope.cli.main import main
from enginescope.core.jsonio import decode
from enginescope.core.optional import is_installed
from enginescope.records.suite.suite import CellRow
from enginescope.store.archive import Store
from tests.cli.called import called
from tests.conftest import missing
from tests.plants.in_process import workers_in_process

HERE = Path(__file__).parents[1]
FLEET = HERE.parent / "runner" / "fleet"
SUITE = """
[suite]
name = "net"
models = ["samples"]
backends = ["ort-cpu", "fake?fault=segfault", "fake"]
timeout = "60s"
[timing]
iterations = 20
warmup = 1
"""


@pytest.fixture
def suite(tmp_path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(SUITE)
    return path


def run(*arguments: str | Path, env: dict[str, str] | None = None, timeout: float = 280):
    command = [sys.executable, "-m", "enginescope", "suite", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})}
    )


def rows(store: Path, name: str = "net") -> dict[str, tuple[str, str | None]]:
    """Label -> how it ended, and why."""
    lines = (store / "suites" / name / "cells.jsonl").read_bytes().splitlines()
    found = [decode(line, CellRow, source="row") for line in lines]
    return {one.cell.label: (one.status.value, one.reason) for one in found}


def of_convnet(found: dict[str, tuple[str, str | None]]) -> dict[str, tuple[str, str | None]]:
    return {label: one for label, one in found.items() if "convnet" in label}


@pytest.fixture(scope="module")
def rows_here(tmp_path_factory) -> dict[str, tuple[str, str | None]]:
    folder = tmp_path_factory.mktemp("here")
    (folder / "net.toml").write_text(SUITE)
    with workers_in_process():
        called("suite", folder / "net.toml", "--store", folder)
    return rows(folder)


@pytest.fixture
def docker(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "docker"
    place.mkdir()
    script = place / "docker"
    stand_in = FLEET / "docker_stand_in.py"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(place), prepend=":")
    monkeypatch.setenv("DOCKER_STAND_IN", str(place))
    return place


@pytest.mark.slow
def test_in_containers(suite, tmp_path, docker, rows_here) -> None:
    options = ("--include", "convnet", "--in-docker", "me/es:1", "--store", tmp_path)
    ended = called("suite", suite, *options)
    assert ended.returncode == 3, ended.stderr
    assert rows(tmp_path) == of_convnet(rows_here)
    assert len(Store(tmp_path).rows(tag="net")) == 3
    again = called("suite", suite, *options)
    assert "2 done before" in again.stderr
    assert "skipped, known to be bad" in again.stderr
    starts = [json.loads(one) for one in (docker / "calls.jsonl").read_text().splitlines()]
    assert sum(one[0] == "run" for one in starts) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--on-ray", "local", "--in-docker", "i"], "cells run in one place"),
        (["--on-ray", "local", "--jobs", "2"], "--on-ray and --jobs"),
        (["--in-docker", "i", "--jobs", "1"], "--in-docker and --jobs"),
    ],
)
def test_what_makes_no_sense_is_refused(suite, tmp_path, docker, capsys, options, said) -> None:
    assert main(["suite", str(suite), *options, "--store", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_options_that_make_no_sense_leave_no_suite(suite, tmp_path, monkeypatch) -> None:
    store, options = tmp_path / "store", ["--on-ray", "local", "--in-docker", "i"]
    assert main(["suite", str(suite), *options, "--store", str(store)]) == 2
    assert not store.exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = called("suite", suite, "--in-docker", "me/es:1", "--store", tmp_path)
    assert ended.returncode in (2, 3)
    assert "docker is not on this machine" in ended.stderr


class TwoWorkers:
    """A Ray cluster, in a process of its own."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="r")  # sockets want short paths
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        self.env = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, FLEET / "two_workers.py", folder, port],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.env,
        )
        address = self._process.stdout.readline().strip()
        assert address
        self.addresses = {"driver": address, "client": f"ray://127.0.0.1:{port}"}

    def tell(self, word: str) -> None:
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        while self._process.stdout.readline().strip() != "done":
            assert self._process.poll() is None

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@pytest.fixture
def ray_home(tmp_path, monkeypatch) -> Path:
    """An empty home, to see what is left in it."""
    if not is_installed("ray"):
        missing("needs Ray: pip install 'enginescope[ray]'")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def left_by_ray(*folders: Path) -> list[Path]:
    """Return what is in folders; ONNX Runtime's own files on its user are not Ray's."""
    found = [one for folder in folders for one in folder.iterdir()]
    return [one for one in found if one.name not in (".cache", ".ses")]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", ["driver", "client"])
def test_on_a_ray_cluster_that_loses_a_machine(suite, tmp_path, ray_home, rows_here, way) -> None:
    cluster = TwoWorkers()
    try:
        command = [sys.executable, "-m", "enginescope", "suite", suite, "--on-ray"]
        command.append(cluster.addresses[way])
        sitting = subprocess.Popen(
            [*map(str, command), "--store", str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=cluster.env,
        )
        said = ""
        for line in sitting.stderr:
            said += line
            if "on worker-b" in line:
                cluster.tell("kill")
                break
        said += sitting.communicate(timeout=400)[1]
    finally:
        cluster.end()
    assert sitting.returncode == 3, said
    assert "worker-b was lost" in said
    assert rows(tmp_path / "store") == rows_here
    assert "it runs once more" in said
    assert len(Store(tmp_path / "store").rows(tag="net")) == 6
    assert left_by_ray(ray_home) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_cluster_of_this_machine_alone(suite, tmp_path, ray_home, rows_here) -> None:
    env = {"TMPDIR": tempfile.mkdtemp(prefix="t")}
    ended = run(
        suite, "--on-ray", "local", "--json", "--store", tmp_path / "store", env=env, timeout=400
    )
    assert ended.returncode == 3, ended.stderr
    assert len(json.loads(ended.stdout)["rows"]) == 6  # nothing of Ray's is on standard output
    assert rows(tmp_path / "store") == rows_here
    assert left_by_ray(ray_home, Path(env["TMPDIR"])) == []


@pytest.mark.slow
def test_a_cluster_that_is_not_there(suite, tmp_path, ray_home) -> None:
    ended = run(suite, "--on-ray", "127.0.0.1:9", "--store", tmp_path)
    assert ended.returncode == 3
    assert "Ray cluster 127.0.0.1:9" in ended.stderr
    assert "Traceback" not in ended.stderr
