from pathlib import Path

import pytest

import enginescope as es
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.formats.tensors.tensor_files import answer_file, read_answers
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.upgrade import Stack
from enginescope.runner.fleet import container
from enginescope.runner.jobs import subject_of
from enginescope.services.accuracy.sides import Side
from enginescope.services.upgrade.stacks import StackRunner, parse_stack, with_versions
from tests.runner.fleet.test_docker_fleet import docker
from tests.services.upgrade.test_upgrade import planted, upgraded

__all__ = ["docker", "planted"]


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch) -> None:
    monkeypatch.setattr(container, "_GPU_FILES", ())


def test_a_stack_in_a_container_returns_outputs(convnet, tmp_path, docker) -> None:
    stack = parse_stack("a=docker:me/es:1", "old")
    assert stack == Stack(name="a", python="docker:me/es:1")
    assert with_versions(stack).versions["enginescope"] == es.__version__
    runner = StackRunner((stack,), "typed")
    job = Job(subject=subject_of(convnet), backend=BackendSpec(name="ort-cpu", environment="a"))
    outputs = tmp_path / "outputs"
    request = AnswerRequest(samples=(Sample(name="random"),), folder=str(outputs))
    run = runner.collect_outputs(Side(label="a", job=job), request, pytest.fail)
    assert run.outcome.message is None
    assert [tensor.name for tensor in read_answers(answer_file(outputs, 0))] == [
        tensor.name for tensor in run.outputs
    ]
    started = next(call for call in docker.calls[::-1] if call[0] == "run")
    assert f"--mount=type=bind,source={outputs},target={outputs}" in started
    assert f"--mount=type=bind,source={convnet.parent},target={convnet.parent},readonly" in started


@pytest.mark.parametrize(
    ("fault", "image", "texts"),
    [
        ("", "absent:1", ("docker has no image absent:1", "docker pull absent:1")),
        ("no daemon", "me/es:1", ("Cannot connect to the Docker daemon", "docker version")),
        ("no enginescope", "me/es:1", ("No module named 'enginescope'", "an image with")),
        ("no toolkit", "me/es:1", ("could not select device driver", "Container Toolkit")),
        ("", "--privileged", ("not the name of an image", "docker:enginescope:cpu")),
    ],
)
def test_an_unusable_container_has_a_next_step(docker, monkeypatch, fault, image, texts) -> None:
    monkeypatch.setattr(container, "_GPU_FILES", (Path("/dev/null"),))
    docker.fault(fault)
    with pytest.raises(EnginescopeError) as caught:
        with_versions(parse_stack(f"docker:{image}", "old"))
    assert texts[0] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert texts[1] in (caught.value.hint or "")


def test_no_docker(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in ("docker", "podman"):
        with pytest.raises(EnginescopeError, match=f"{tool} is not on this machine") as caught:
            with_versions(parse_stack(f"{tool}:me/es:1", "old"))
        assert caught.value.why == f"{tool}:me/es:1 needs it"
        assert tool in (caught.value.hint or "")


def test_a_missing_image_is_named_with_the_bundle(convnet, tmp_path, planted, docker) -> None:
    planted()
    upgraded(convnet, tmp_path, on="fake", rounds=8, evidence=tmp_path / "bundle")
    with pytest.raises(UsageError, match="docker has no image absent:1"):
        es.reproduce(tmp_path / "bundle", old="docker:absent:1")
