import sys
from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import replace
from enginescope.formats.tensors.tensor_files import answer_file, read_answers, write_answers
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.job import BackendSpec, Job
from enginescope.records.run.sample_set import AnswerRequest, Sample
from enginescope.records.verdict.upgrade import Stack, UpgradeKind
from enginescope.runner.fleet import container
from enginescope.runner.jobs import subject_of
from enginescope.services.accuracy.sides import Side
from enginescope.services.upgrade import checks
from enginescope.services.upgrade.checks import library_memory
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.stacks import StackRunner, parse_stack, with_versions
from enginescope.store.archive import Store
from tests.plants.in_process import workers_in_process
from tests.runner.fleet.test_docker_fleet import docker
from tests.services.test_tune import Planted

__all__ = ["docker"]
pytestmark = pytest.mark.filterwarnings("ignore")
OLD, NEW = "old", "new"
USUAL_OUTPUTS = StackRunner.collect_outputs


@pytest.fixture
def planted(monkeypatch):
    """A function that plants medians: 2 ms, and `slowdown` times as much in the new stack."""

    def plant(seed: int = 0, slowdown: float = 1.0, fails: str | None = None) -> Planted:
        def level(job: Job) -> float:
            return 2.0 * (slowdown if job.backend.environment == NEW else 1.0)

        def is_failing(job: Job) -> bool:
            return job.backend.environment == fails

        runs = Planted(level, fails=is_failing, noise=0.003, seed=seed)
        monkeypatch.setattr(StackRunner, "run_jobs", lambda _, *jobs, **more: runs(*jobs, **more))
        return runs

    return plant


@pytest.fixture
def same_outputs(monkeypatch):
    """Outputs of the first comparison for all: they are the same, and take time."""
    rows: list[object] = []
    usual = checks.compare_outputs

    def once(*given):
        rows.extend([] if rows else [usual(*given)])
        return rows[0]

    monkeypatch.setattr(checks, "compare_outputs", once)


def plant_outputs(monkeypatch, change) -> None:
    """Have ``change(stack, data)`` change each output in place, as its process ends."""

    def collected(self, side, request, run_here):
        run = USUAL_OUTPUTS(self, side, request, run_here)
        stack = side.job.backend.environment
        for number in range(len(request.samples) if stack else 0):
            file = answer_file(Path(request.folder), number)
            tensors = [replace(one, data=change(stack, one.data)) for one in read_answers(file)]
            file.unlink()
            write_answers(file, tensors)
        return run

    monkeypatch.setattr(StackRunner, "collect_outputs", collected)


def upgraded(model: Path, folder: Path, **more):
    with workers_in_process():
        return es.upgrade(model, old=sys.executable, samples=2, store=folder / "store", **more)


def test_the_same_stack_twice_is_safe(convnet, tmp_path, planted) -> None:
    runs = planted()
    report = upgraded(convnet, tmp_path)
    (model,) = report.models
    assert report.kind is UpgradeKind.SAFE
    assert report.is_passed
    assert [(row.metric, row.reason) for row in model.rows[:1]] == [("outputs", "identical")]
    assert model.evidence is EvidenceLevel.INTERLEAVED
    assert model.reference == f"{convnet.name} · ort-cpu in this Python"
    timed = [job.backend.environment for job in runs.jobs]
    assert timed.count(OLD) == timed.count(NEW) == len(model.old)
    assert Store(tmp_path / "store").load(model.new[0]).tags == (f"cmp-{model.comparison}",)
    report = upgraded(convnet, tmp_path, reference="ort-cpu@old")
    assert report.models[0].reference == f"{convnet.name} · ort-cpu in old"
    assert report.kind is UpgradeKind.SAFE


@pytest.mark.parametrize("slowdown", [1.0, 1.03])
def test_twenty_upgrades(convnet, planted, same_outputs, tmp_path, slowdown) -> None:
    """A/A is wrong in at most 1 of 20; a slowdown of 3 % is found in at least 19."""
    worse = 0
    for seed in range(20):
        planted(seed=seed, slowdown=slowdown)
        worse += upgraded(convnet, tmp_path / str(seed)).kind is UpgradeKind.WORSE
    assert worse <= 1 if slowdown == 1 else worse >= 19


def test_nothing_of_wrong_outputs_is_timed(convnet, tmp_path, planted, monkeypatch) -> None:
    runs = planted(slowdown=0.5)
    plant_outputs(monkeypatch, lambda stack, data: data + 1 if stack == NEW else data)
    report = upgraded(convnet, tmp_path)
    outputs, latency = report.models[0].rows
    assert (outputs.kind, outputs.reason) == (UpgradeKind.WORSE, "outputs-fail")
    assert (latency.kind, latency.reason) == (UpgradeKind.INCONCLUSIVE, "outputs-first")
    assert not report.is_passed
    assert report.models[0].evidence is None
    plant_outputs(monkeypatch, lambda stack, data: data + 1 if stack == OLD else data)
    report = upgraded(convnet, tmp_path)  # an old stack that is wrong is no baseline
    assert report.models[0].rows[0].reason == "old-fails"
    assert report.kind is UpgradeKind.INCONCLUSIVE
    assert not runs.jobs


def test_nondeterminism_is_not_drift(convnet, tmp_path, planted, monkeypatch) -> None:
    planted()
    draw = np.random.default_rng(0)

    def wobble(stack, data):
        return data + np.float32(1e-6 * draw.uniform()) if stack == NEW else data

    plant_outputs(monkeypatch, wobble)
    row = upgraded(convnet, tmp_path, repeats=4).models[0].rows[0]
    assert row.kind is UpgradeKind.SAFE
    assert row.reason in ("within-repeats", "within-limits")
    assert "processes of one stack" in row.message


@pytest.mark.parametrize(
    ("fails", "kind"), [(NEW, UpgradeKind.WORSE), (OLD, UpgradeKind.INCONCLUSIVE)]
)
def test_a_stack_whose_processes_crash(convnet, tmp_path, planted, fails, kind) -> None:
    planted(fails=fails)
    row = upgraded(convnet, tmp_path).models[0].rows[1]
    assert (row.kind, row.reason) == (kind, "process-failed")
    assert f"the {fails} stack failed: crashed: died of SIGSEGV" in row.message


def test_a_backend_without_outputs_has_no_win(convnet, tmp_path, planted) -> None:
    planted(slowdown=0.8)
    report = upgraded(convnet, tmp_path, on="fake")
    outputs, latency, *_ = report.models[0].rows
    assert outputs.reason == "no-outputs"
    assert (latency.kind, latency.reason) == (UpgradeKind.INCONCLUSIVE, "outputs-first")
    assert report.models[0].evidence is EvidenceLevel.INTERLEAVED


def test_each_round_builds_both_engines(convnet, tmp_path, planted) -> None:
    runs = planted()
    upgraded(convnet, tmp_path, builds=8)
    assert len(runs.jobs) >= 16
    assert all(job.rebuild for job in runs.jobs)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"repeats": 1}, "`repeats` 1: it is not at least 2"),
        ({"rounds": 7}, "`rounds` 7: it is not between 8 and 1,000"),
        ({"rounds": 9, "builds": 9}, "each round is a build"),
        ({"on": ("ort-cpu@old", "ort-cpu@mine")}, "the stacks are old and new"),
        ({"on": ("ort-cpu", "fake")}, "each stack has one backend"),
        ({"reference": "ort-cpu@mine"}, "the stacks are old and new"),
        ({"new": "old=python3"}, "two stacks of one name"),
        ({"new": "/no/python"}, "cannot be started"),
        ({"max_regression_pct": {"speed": 1}}, "no metric 'speed'"),
    ],
)
def test_requests_that_contradict_themselves(convnet, tmp_path, more, text) -> None:
    with pytest.raises(UsageError, match=text):
        upgraded(convnet, tmp_path, **more)


@pytest.mark.slow
def test_a_process_of_each_stack_runs_an_empty_model(tmp_path) -> None:
    stacks = Stack(name="old", python=sys.executable), Stack(name="new", python=sys.executable)
    store, runner = Store(tmp_path), StackRunner(stacks, None)
    request = UpgradeRequest(old="old", new="new", store=store.place)
    old, new = library_memory(request, ("ort-cpu", "ort-cpu"), stacks, runner, store)["peak_memory"]
    assert 20 << 20 < old < 500 << 20
    assert new == pytest.approx(old, rel=0.1)
    assert store.rows() == ()


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


def test_a_missing_image_or_tool_is_named(convnet, tmp_path, planted, docker, monkeypatch) -> None:
    planted()
    upgraded(convnet, tmp_path, on="fake", rounds=8, evidence=tmp_path / "bundle")
    with pytest.raises(UsageError, match="docker has no image absent:1"):
        es.reproduce(tmp_path / "bundle", old="docker:absent:1")
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in ("docker", "podman"):
        with pytest.raises(EnginescopeError, match=f"{tool} is not on this machine") as caught:
            with_versions(parse_stack(f"{tool}:me/es:1", "old"))
        assert caught.value.why == f"{tool}:me/es:1 needs it"
        assert tool in (caught.value.hint or "")
