import os
from pathlib import Path

import pytest

from enginescope.records.run.job import BackendSpec, InputFile, Job, Subject, Workload
from enginescope.records.run.sample_set import AnswerRequest, Sample, SampleFile
from enginescope.runner.fleet.container import (
    ContainerTask,
    container_command,
    mounts_of,
    mounts_of_job,
)
from enginescope.runner.fleet.machines import REMOTE_CELL, uses_gpu
from tests.runner.fleet.cells import cell


def model_at(path: Path) -> Subject:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"onnx")
    return Subject(name=path.name, kind="onnx", path=str(path))


def mounted(one) -> dict[str, bool]:
    return {mount.folder: mount.is_writable for mount in mounts_of(one)}


def task(**more) -> ContainerTask:
    work = Path("/tmp/suite")
    files = ("/tmp/suite/task", "/tmp/suite/returned")
    return ContainerTask(module=REMOTE_CELL, arguments=files, work=work, **more)


@pytest.mark.parametrize(
    ("tool", "wanted"),
    [
        ("docker", ["--gpus=all"]),
        ("podman", ["--device=nvidia.com/gpu=all", "--security-opt=label=disable"]),
    ],
)
def test_the_command(tool, wanted, monkeypatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1000)
    path = f"/usr/bin/{tool}"
    command = container_command(path, "me/es:1", task(uses_gpu=True, is_attended=True), "n1")
    assert command[:3] == [path, "run", "--rm"]
    at = command.index("me/es:1")
    before, after = command[:at], command[at + 1 :]
    assert after == ["-m", REMOTE_CELL, "/tmp/suite/task", "/tmp/suite/returned"]
    assert before[-1] == "--entrypoint=python3"
    for option in (
        "--name=n1",
        "--network=none",
        "--pull=never",
        "--init",
        "--interactive",
        f"--user=1000:{os.getgid()}",
        "--env=HOME=/tmp/suite",
        "--mount=type=bind,source=/tmp/suite,target=/tmp/suite",
        *wanted,
    ):
        assert option in before
    assert ("--userns=keep-id" in before) is (tool == "podman")
    assert not {"--interactive", wanted[0]} & set(container_command(path, "me/es:1", task(), "n1"))


def test_gpus_only_where_the_cell_uses_one() -> None:
    for one, wanted in (
        (cell(), False),
        (cell(backend="trt"), True),
        (cell(gpu="H200"), True),
        (cell(backend="fake"), False),
    ):
        assert uses_gpu(one) is wanted


def test_samples_are_read_outputs_written_and_links_followed(tmp_path) -> None:
    subject = model_at(tmp_path / "zoo" / "net.onnx")
    image = tmp_path / "images" / "a.png"
    image.parent.mkdir()
    image.write_bytes(b"")
    outputs = tmp_path / "outputs"
    sample = Sample(name="a", images=(SampleFile(input="x", path=str(image)),))
    request = AnswerRequest(samples=(sample,), folder=str(outputs))
    job = Job(subject=subject, backend=BackendSpec(name="ort-cpu"), answering=request)
    found = {mount.folder: mount.is_writable for mount in mounts_of_job(job)}
    assert found == {str(tmp_path / "zoo"): False, str(image.parent): False, str(outputs): True}
    model_at(tmp_path / "real" / "model.onnx")
    link = tmp_path / "links" / "net.onnx"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "real" / "model.onnx")
    one = cell(subject=Subject(name="link", kind="onnx", path=str(link)))
    assert set(mounted(one)) == {str(tmp_path / "links"), str(tmp_path / "real")}


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
