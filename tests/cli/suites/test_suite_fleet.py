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
from tests.runner.fleet.test_docker_fleet import docker

__all__ = ["docker"]
TWO_WORKERS = Path(__file__).parents[2] / "runner" / "fleet" / "two_workers.py"
SUITE = """
[suite]
name = "net"
models = ["{model}"]
backends = ["ort-cpu", "fake?fault=segfault", "fake"]
timeout = "60s"
[timing]
iterations = 20
warmup = 1
"""
#: Label of a cell -> how it ended, and why.
Rows = dict[str, tuple[str, str | None]]


@pytest.fixture
def suite(tmp_path, convnet) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(SUITE.format(model=convnet))
    return path


def run(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "enginescope", "suite", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=400, env={**os.environ, **env}
    )


def rows(store: Path) -> Rows:
    lines = (store / "suites" / "net" / "cells.jsonl").read_bytes().splitlines()
    found = [decode(line, CellRow, source="row") for line in lines]
    return {one.cell.label: (one.status.value, one.reason) for one in found}


@pytest.fixture(scope="module")
def rows_here(tmp_path_factory, convnet) -> Rows:
    folder = tmp_path_factory.mktemp("here")
    (folder / "net.toml").write_text(SUITE.format(model=convnet))
    with workers_in_process():
        called("suite", folder / "net.toml", "--store", folder)
    return rows(folder)


@pytest.mark.slow
def test_in_containers(suite, tmp_path, docker, rows_here) -> None:
    options = ("--in-docker", "me/es:1", "--store", tmp_path)
    ended = called("suite", suite, *options)
    assert ended.returncode == 3, ended.stderr
    assert rows(tmp_path) == rows_here
    assert len(Store(tmp_path).rows(tag="net")) == 3
    again = called("suite", suite, *options)
    assert "2 done before" in again.stderr
    assert "skipped, known to be bad" in again.stderr
    assert sum(call[0] == "run" for call in docker.calls) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--on-ray", "local", "--in-docker", "i"], "cells run in one place"),
        (["--on-ray", "local", "--jobs", "2"], "--on-ray and --jobs"),
        (["--in-docker", "i", "--jobs", "1"], "--in-docker and --jobs"),
    ],
)
def test_what_makes_no_sense_leaves_no_suite(
    suite, tmp_path, docker, capsys, options, said
) -> None:
    store = tmp_path / "store"
    assert main(["suite", str(suite), *options, "--store", str(store)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
    assert not store.exists()


def test_no_docker_is_said(suite, tmp_path, monkeypatch) -> None:
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
            [sys.executable, TWO_WORKERS, folder, port],
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


def lose_worker_b(cluster: TwoWorkers, suite: Path, *options: str | Path) -> tuple[int, str]:
    """Run a suite on a cluster whose worker-b is lost; return its status and what it printed."""
    with subprocess.Popen(
        [sys.executable, "-m", "enginescope", "suite", suite, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=cluster.env,
    ) as process:
        shown = ""
        for line in process.stderr:
            shown += line
            if "on worker-b" in line:
                cluster.tell("kill")
                break
        shown += process.communicate(timeout=400)[1]
    return process.returncode, shown


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_ray_cluster_that_loses_a_machine(suite, tmp_path, ray_home, rows_here) -> None:
    """From a machine of the cluster, and from any other."""
    cluster = TwoWorkers()
    try:
        for way, address in cluster.addresses.items():
            cluster.tell("add")
            store = tmp_path / way
            status, shown = lose_worker_b(cluster, suite, "--on-ray", address, "--store", store)
            assert status == 3, shown
            assert "worker-b was lost" in shown
            assert "it runs once more" in shown
            assert rows(store) == rows_here
            assert len(Store(store).rows(tag="net")) == 3
    finally:
        cluster.end()
    assert left_by_ray(ray_home) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_cluster_of_this_machine_alone(suite, tmp_path, ray_home, rows_here) -> None:
    place, store = tempfile.mkdtemp(prefix="t"), tmp_path / "store"
    ended = run(suite, "--on-ray", "local", "--json", "--store", store, TMPDIR=place)
    assert ended.returncode == 3, ended.stderr
    assert len(json.loads(ended.stdout)["rows"]) == 3  # nothing of Ray's is on standard output
    assert rows(store) == rows_here
    assert left_by_ray(ray_home, Path(place)) == []


@pytest.mark.slow
def test_a_cluster_that_is_not_there(suite, tmp_path, ray_home) -> None:
    ended = run(suite, "--on-ray", "127.0.0.1:9", "--store", tmp_path)
    assert ended.returncode == 3
    assert "Ray cluster 127.0.0.1:9" in ended.stderr
    assert "Traceback" not in ended.stderr
