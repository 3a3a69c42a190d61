from pathlib import Path

import pytest

from enginescope.records.run.job import Job, Limits, Watcher
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner import session
from enginescope.runner.session import run_jobs
from tests.runner.test_isolate import fake_job


def job(**options: str) -> Job:
    limits = Limits(timeout_s=2 if options.get("fault") == "hang" else 60, memory_bytes=600 << 20)
    return fake_job(limits, **options)


def test_one_jobs_death_never_loses_anothers_result_and_the_watcher_is_told() -> None:
    kept: list[Run] = []
    started: list[int] = []
    phases: list[tuple[int, str]] = []
    watcher = Watcher(
        started=lambda index, _: started.append(index),
        progressed=lambda index, progress: phases.append((index, progress.phase)),
    )
    jobs = [job(), job(fault="segfault"), job(fault="hang"), job(seed="1")]
    runs = run_jobs(jobs, kept.append, watcher=watcher)
    assert [run.outcome.kind.value for run in runs] == ["ok", "crashed", "timed_out", "ok"]
    assert [run.id for run in kept] == [run.id for run in runs]
    assert sum(run.headline is not None for run in runs) == 2
    assert len({run.id for run in runs}) == 4
    assert started == [0, 1, 2, 3]
    assert {0, 3} <= {index for index, _ in phases}


def test_a_run_keeps_what_is_needed_to_believe_it() -> None:
    (run,) = run_jobs([job(latency_us="500")], lambda _: None, command="enginescope bench x")
    assert (run.command, run.origin) == ("enginescope bench x", "measured")
    assert run.stop.rule == "iterations"
    assert run.warmup is not None
    assert run.providers == ("FakeExecutionProvider",)
    assert run.placement[0].nodes == 3
    assert run.environment.versions["enginescope"]
    assert run.timer_resolution_ms is not None
    assert 0 < run.timer_resolution_ms < 1
    assert run.job.workload.batch == 1
    assert run.profile is not None
    assert run.phase_ms("load") is not None
    assert run.phase_ms("absent") is None


def test_files_are_there_while_the_sink_runs_and_gone_after() -> None:
    there = []

    def sink(run: Run) -> None:
        there.extend(artifact.path for artifact in run.artifacts)
        assert all(Path(path).read_text() for path in there)

    run_jobs([job(fault="segfault")], sink)
    assert there
    with pytest.raises(FileNotFoundError):
        Path(there[0]).read_text()


def test_an_interrupt_keeps_what_is_done(monkeypatch) -> None:
    kept: list[Run] = []
    real = session.run_isolated
    count = iter(range(10))

    def second_is_interrupted(*arguments):
        if next(count) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(session, "run_isolated", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_jobs([job(), job(), job()], kept.append)
    assert [run.outcome.kind for run in kept] == [OutcomeKind.OK]
