import json
import sys
from pathlib import Path

import pytest

from enginescope.core.errors import MissingDependencyError, UnsupportedError
from enginescope.records.run.job import StopRule, Subject, WarmUp, Workload
from enginescope.records.suite.suite import CellStatus
from enginescope.runner.fleet import container
from enginescope.runner.fleet.container import DockerFleet
from enginescope.runner.jobs import subject_of
from tests.runner.fleet.cells import Heard, cell

STAND_IN = Path(__file__).with_name("docker_stand_in.py")
IMAGE = "me/es:1"


class Docker:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fault(self, text: str) -> None:
        (self.folder / "fault").write_text(text)

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines()]


@pytest.fixture
def docker(tmp_path, monkeypatch) -> Docker:
    place = tmp_path / "docker"
    place.mkdir()
    script = place / "docker"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(place), prepend=":")
    monkeypatch.setenv("DOCKER_STAND_IN", str(place))
    return Docker(place)


def fake_cell(key: str = "k0", **options: str):
    quick = Workload(warmup=WarmUp(time_ms=0, iterations=1), stop=StopRule(iterations=20))
    return cell(
        key,
        "fake",
        subject=Subject(name="nothing", kind="synthetic"),
        options=options,
        job={"workload": quick, "layer_profile": False},
    )


def test_a_cell_comes_back_with_its_run_and_a_container_that_dies_is_a_row(docker) -> None:
    heard = Heard()
    DockerFleet(IMAGE).run([fake_cell(), fake_cell("k1", fault="segfault")], "cmd", heard.watch)
    assert [one.row.status for one in heard.returned] == [CellStatus.OK, CellStatus.CRASHED]
    assert [len(one.runs) for one in heard.returned] == [1, 1]
    assert heard.returned[0].row.figure("latency")
    assert heard.started[0] == ("k0", f"container of {IMAGE}")
    fleet = DockerFleet(IMAGE)
    docker.fault("oom")
    fleet.run([fake_cell()], None, heard.watch)
    (lost,) = heard.lost
    assert lost.reason == "its container ended by signal 9 with status 137: oom"
    assert lost.is_fault


def test_a_container_that_does_not_end_is_ended(docker, monkeypatch) -> None:
    heard = Heard()
    fleet = DockerFleet(IMAGE)
    docker.fault("hang")
    monkeypatch.setattr(container, "longest_s", lambda _cell: 1.0)
    fleet.run([fake_cell()], None, heard.watch)
    assert heard.lost[0].reason == "its container did not end within 1 s"
    started, ended = docker.calls[-2:]
    name = next(one for one in started if one.startswith("--name=")).partition("=")[2]
    assert ended == ["kill", name]


def test_what_is_missing_is_said_before_anything_starts(docker, monkeypatch, tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="docker has no image absent:1") as caught:
        DockerFleet("absent:1")
    assert "docker pull absent:1" in (caught.value.hint or "")
    docker.fault("no daemon")
    with pytest.raises(UnsupportedError, match="docker does not respond") as caught:
        DockerFleet(IMAGE)
    assert caught.value.why == "Cannot connect to the Docker daemon"
    assert "the daemon must run" in (caught.value.hint or "")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(MissingDependencyError, match="docker is not on this machine"):
        DockerFleet(IMAGE)


def test_cells_of_a_model_share_their_reference(docker, tmp_path, convnet) -> None:
    pytest.importorskip("onnxruntime")
    quick = {"mode": "validate", "subject": subject_of(convnet)}
    cells = [
        cell("k0", "ort-cpu", **quick),
        cell("k1", "ort-cpu", options={"intra_op_num_threads": "2"}, **quick),
    ]
    heard, shared = Heard(), tmp_path / "references"
    DockerFleet(IMAGE, str(shared)).run(cells, None, heard.watch)
    assert [one.row.status for one in heard.returned] == [CellStatus.OK] * 2
    # its bindings, its outputs
    assert len([one for one in shared.iterdir() if not one.name.startswith(".")]) == 2
    mounts = [
        [one for one in call if f"={shared}," in one or one.endswith(f"={shared}")]
        for call in docker.calls
    ]
    assert [len(one) for one in mounts if one] == [1, 1]
