"""What a container is started with."""

from __future__ import annotations

import os
from pathlib import Path

from enginescope.records.run.job import InputFile, Subject, Workload
from enginescope.runner.fleet.cell_task import REMOTE_CELL
from enginescope.runner.fleet.docker_fleet import docker_command, mounts_of
from tests.runner.fleet.cells import cell


def model_at(path: Path) -> Subject:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"onnx")
    return Subject(name=path.name, kind="onnx", path=str(path))


def mounted(one) -> dict[str, bool]:
    return {mount.folder: mount.is_writable for mount in mounts_of(one)}


def test_the_command() -> None:
    work = Path("/tmp/suite")
    command = docker_command("/usr/bin/docker", "me/es:1", cell(), work, name="n1")
    assert command[:3] == ["/usr/bin/docker", "run", "--rm"]
    at = command.index("me/es:1")
    before, after = command[:at], command[at + 1 :]
    assert after == ["-m", REMOTE_CELL, "/tmp/suite/task", "/tmp/suite/returned"]
    assert before[-1] == "--entrypoint=python3"
    for wanted in (
        "--name=n1",
        "--network=none",
        "--pull=never",
        "--init",
        f"--user={os.getuid()}:{os.getgid()}",
        "--env=HOME=/tmp/suite",
        "--mount=type=bind,source=/tmp/suite,target=/tmp/suite",
    ):
        assert wanted in before
    assert "--gpus=all" not in before


def test_gpus_only_where_the_cell_uses_one() -> None:
    for one, wanted in (
        (cell(), False),
        (cell(backend="trt"), True),
        (cell(gpu="H200"), True),
        (cell(backend="fake"), False),
    ):
        command = docker_command("docker", "i", one, Path("/w"), name="n")
        assert ("--gpus=all" in command) is wanted


def test_what_is_read_is_mounted_where_it_is_and_cannot_be_written(tmp_path) -> None:
    subject = model_at(tmp_path / "zoo" / "net" / "model.onnx")
    data = tmp_path / "zoo" / "net" / "test_data_set_0"
    data.mkdir()
    other = tmp_path / "inputs"
    other.mkdir()
    (other / "x.npy").write_bytes(b"")
    calibration = tmp_path / "calibration"
    calibration.mkdir()
    one = cell(
        backend="trt",
        subject=subject,
        options={"calibration": str(calibration), "workspace": "1GiB", "x": "/not/there"},
        job={
            "workload": Workload(
                files=(InputFile(name="x", path=str(other / "x.npy")),), data_set=str(data)
            ),
            "engine_cache": str(tmp_path / "engines"),
        },
        data_sets=(str(data),),
    )
    assert mounted(one) == {
        str(calibration): False,
        str(other): False,
        str(tmp_path / "zoo" / "net"): False,
        str(tmp_path / "engines"): True,
    }


def test_a_link_and_what_it_leads_to_are_there(tmp_path) -> None:
    model_at(tmp_path / "real" / "model.onnx")
    link = tmp_path / "links" / "net.onnx"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "real" / "model.onnx")
    one = cell(subject=Subject(name="link", kind="onnx", path=str(link)))
    assert set(mounted(one)) == {str(tmp_path / "links"), str(tmp_path / "real")}
