from pathlib import Path

import pytest

from enginescope.backends.base import Measured
from enginescope.judge.samples import frozen
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Outcome, OutcomeKind
from enginescope.records.run.telemetry import Channel, Telemetry
from enginescope.runner import session
from enginescope.runner.isolate import Ended
from enginescope.runner.session import engine_of
from enginescope.runner.worker import WorkerResult

REPORT = BuildReport(engine="/cache/key/net.engine", engine_bytes=1)


class Builder:
    """A backend that builds, and whether it has the engine already."""

    def __init__(self, kept: BuildReport | None = None) -> None:
        self.kept = kept

    def needs_build(self, job: Job) -> bool:
        return job.subject.kind == "onnx"

    def engine_for(self, job: Job) -> BuildReport | None:
        return self.kept

    def build(self, job, progress) -> Measured:
        raise AssertionError("only in a process of its own")


class Runs:
    """What is asked of `run_isolated`, and how it ends."""

    def __init__(self, outcome: Outcome, report: BuildReport | None) -> None:
        self.outcome, self.report = outcome, report
        self.seen: list[tuple[Job, Path, str]] = []

    def __call__(self, job, folder, on_progress, task) -> Ended:
        self.seen.append((job, folder, task))
        channel = Channel(name="rss_bytes", values=frozen([]))
        memory = Telemetry(time_ms=frozen([]), channels=(channel,))
        result = WorkerResult(outcome=self.outcome, measured=Measured(build=self.report))
        crashed = self.outcome.kind is OutcomeKind.CRASHED
        return Ended(outcome=self.outcome, result=None if crashed else result, memory=memory)


def job(kind="onnx", **more) -> Job:
    return Job(subject=Subject(name="net", kind=kind), backend=BackendSpec(name="trt"), **more)


@pytest.fixture
def runs(monkeypatch):
    def make(backend, outcome=None, report=REPORT) -> Runs:
        made = Runs(outcome or Outcome(), report)
        monkeypatch.setattr(session, "load_backend", lambda _: backend)
        monkeypatch.setattr(session, "run_isolated", made)
        return made

    return make


def found(one: Job, folder: Path):
    return engine_of(one, folder, lambda _: None)


@pytest.mark.parametrize(("backend", "kind"), [(object(), "onnx"), (Builder(), "engine")])
def test_what_needs_no_build_gets_none(runs, tmp_path, backend, kind) -> None:
    made = runs(backend)
    engine = found(job(kind), tmp_path)
    assert (engine.report, engine.ended, engine.failed) == (None, None, False)
    assert made.seen == []


@pytest.mark.parametrize(("kept", "rebuild"), [(None, False), (REPORT, True)])
def test_else_it_is_built_in_a_process_of_its_own(runs, tmp_path, kept, rebuild) -> None:
    made = runs(Builder(kept))
    engine = found(job(rebuild=rebuild, engine_cache="/cache"), tmp_path / "build")
    ((asked, folder, task),) = made.seen
    assert (task, folder, asked.engine_cache) == ("build", tmp_path / "build", "/cache")
    assert engine.job.engine == REPORT.engine
    assert not engine.failed


def test_a_kept_engine_needs_no_process_and_lies_in_the_jobs_folder(runs, tmp_path) -> None:
    made = runs(Builder())
    engine = found(job(), tmp_path / "build")
    assert made.seen[0][0].engine_cache == str(tmp_path / "build" / "cache")
    assert engine.job.engine_cache is None
    made = runs(Builder(REPORT))
    engine = found(job(), tmp_path / "kept")
    assert engine.report is REPORT
    assert engine.job.engine == REPORT.engine
    assert not engine.failed
    assert made.seen == []
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("kind", [OutcomeKind.FAILED, OutcomeKind.CRASHED])
def test_a_build_that_failed_leaves_no_engine(runs, tmp_path, kind) -> None:
    runs(Builder(), Outcome(kind=kind), None)
    engine = found(job(), tmp_path / "build")
    assert engine.failed
    assert engine.report is None
    assert engine.job.engine is None
