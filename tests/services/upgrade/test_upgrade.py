from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.formats.tensors.tensor_files import answer_file, read_answers, write_answers
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.verdict.upgrade import UpgradeKind
from enginescope.services.upgrade.stacks import StackRunner
from enginescope.store.archive import Store
from tests.analysis.in_turn import crashed, process
from tests.plants.in_process import workers_in_process

OLD, NEW = "old", "new"
USUAL_OUTPUTS = StackRunner.collect_outputs


class Planted:
    """Runs with planted medians in place of measured ones; counts what was timed."""

    def __init__(self, seed: int = 0, slowdown: float = 1.0, *, fails: str | None = None) -> None:
        self.timed: list[str] = []
        self._draw = np.random.default_rng(seed)
        self._slowdown, self._fails = slowdown, fails

    def run_jobs(self, jobs, sink, *, command=None, watcher=None):
        (job,) = jobs
        stack = job.backend.environment
        self.timed.append(stack)
        median = 2.0 * (1 + 0.003 * self._draw.standard_normal())
        median *= self._slowdown if stack == NEW else 1.0
        run = process(median, n=50, seed=len(self.timed), job=job)
        if stack == self._fails:
            run = crashed(run)
        sink(run)
        return (run,)


@pytest.fixture
def planted(monkeypatch):
    def plant(**how) -> Planted:
        runs = Planted(**how)
        monkeypatch.setattr(
            StackRunner, "run_jobs", lambda _self, *jobs, **more: runs.run_jobs(*jobs, **more)
        )
        return runs

    return plant


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
    import sys

    with workers_in_process():
        return es.upgrade(model, old=sys.executable, samples=2, store=folder / "store", **more)


pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_same_stack_twice_is_safe(convnet, tmp_path, planted) -> None:
    runs = planted()
    report = upgraded(convnet, tmp_path)
    (model,) = report.models
    assert report.kind is UpgradeKind.SAFE
    assert report.is_passed
    assert [(row.metric, row.reason) for row in model.rows[:1]] == [("outputs", "identical")]
    assert model.evidence is EvidenceLevel.INTERLEAVED
    assert model.reference == f"{convnet.name} · ort-cpu in this Python"
    assert runs.timed.count(OLD) == runs.timed.count(NEW) == len(model.old)
    assert Store(tmp_path / "store").load(model.new[0]).tags == (f"cmp-{model.comparison}",)


@pytest.mark.parametrize(("slowdown", "kind"), [(1.0, "worse"), (1.03, "worse")])
def test_twenty_upgrades(convnet, tmp_path, planted, monkeypatch, slowdown, kind) -> None:
    """A/A is wrong in at most 1 of 20; a slowdown of 3 % is found in at least 19."""
    from enginescope.services.upgrade import checks as service

    outputs = {}

    def once(*given):
        outputs.setdefault("row", outputs.get("row") or usual(*given))
        return outputs["row"]

    usual = service.compare_outputs
    monkeypatch.setattr(service, "compare_outputs", once)
    found = 0
    for seed in range(20):
        planted(seed=seed, slowdown=slowdown)
        report = upgraded(convnet, tmp_path / str(seed))
        found += report.kind.value == kind
    assert found <= 1 if slowdown == 1 else found >= 19


def test_nothing_of_wrong_outputs_is_timed(convnet, tmp_path, planted, monkeypatch) -> None:
    runs = planted(slowdown=0.5)
    plant_outputs(monkeypatch, lambda stack, data: data + 1 if stack == NEW else data)
    report = upgraded(convnet, tmp_path)
    outputs, latency = report.models[0].rows
    assert (outputs.kind, outputs.reason) == (UpgradeKind.WORSE, "outputs-fail")
    assert (latency.kind, latency.reason) == (UpgradeKind.INCONCLUSIVE, "outputs-first")
    assert not runs.timed
    assert not report.is_passed
    assert report.models[0].evidence is None


def test_an_old_stack_that_is_wrong_is_no_baseline(convnet, tmp_path, planted, monkeypatch) -> None:
    runs = planted()
    plant_outputs(monkeypatch, lambda stack, data: data + 1 if stack == OLD else data)
    report = upgraded(convnet, tmp_path)
    assert report.models[0].rows[0].reason == "old-fails"
    assert report.kind is UpgradeKind.INCONCLUSIVE
    assert not runs.timed


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


def test_each_round_builds_both_engines(convnet, tmp_path, monkeypatch) -> None:
    rebuilds = []
    runs = Planted()

    def run_jobs(_self, jobs, sink, **more):
        rebuilds.append(jobs[0].rebuild)
        return runs.run_jobs(jobs, sink, **more)

    monkeypatch.setattr(StackRunner, "run_jobs", run_jobs)
    upgraded(convnet, tmp_path, builds=8)
    assert len(rebuilds) >= 16
    assert all(rebuilds)


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


def test_the_stack_that_computes_the_reference_is_named(convnet, tmp_path, planted) -> None:
    planted()
    report = upgraded(convnet, tmp_path, reference="ort-cpu@old")
    assert report.models[0].reference == f"{convnet.name} · ort-cpu in old"
    assert report.kind is UpgradeKind.SAFE
