from pathlib import Path

import pytest

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job, StopRule, WarmUp, Workload
from enginescope.records.run.load_and_contention import ContentionRule, Share
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.run.telemetry import GpuProcess, GpuTelemetry
from enginescope.runner import contenders
from enginescope.runner.assemble import notices_of_run
from enginescope.runner.jobs import make_jobs

SHORT = Workload(
    warmup=WarmUp(time_ms=0, iterations=1, limit_ms=1),
    stop=StopRule(duration_ms=100.0, precision_pct=None),
)


def jobs(folder: Path, *backends: str, share: Share = "processes") -> tuple[Job, ...]:
    model = folder / "m.onnx"
    model.touch()
    made = make_jobs([model], backends, SHORT, layer_profile=False)
    names = tuple(str(job.backend) for job in made)
    rules = (ContentionRule(contenders=names, place=at, share=share) for at in range(len(made)))
    return tuple(replace(job, contention=rule) for job, rule in zip(made, rules, strict=True))


def run(*made: Job) -> tuple[Run, ...]:
    stored: list[Run] = []
    runs = contenders.run_contenders(made, stored.append)
    assert stored == list(runs)
    return runs


def check_window(runs: tuple[Run, ...]) -> None:
    """Check that all share one window, and that each ran before and after it."""
    assert {run.outcome.kind for run in runs} == {OutcomeKind.OK}
    windows = {round(run.contention.window_ms, 3) for run in runs if run.contention}
    assert len(windows) == 1
    assert windows.pop() >= 100
    for one in runs:
        assert one.contention.before >= 1
        assert one.headline.values_ms.sum() <= one.contention.window_ms


@pytest.mark.usefixtures("in_process")
def test_contenders_share_a_window(tmp_path: Path) -> None:
    check_window(run(*jobs(tmp_path, "fake?latency_us=3000", "fake?latency_us=5000")))
    (alone,) = run(*jobs(tmp_path, "fake?latency_us=3000"))
    check_window((alone,))


@pytest.mark.parametrize("share", ["processes", "streams"])
def test_real_workers(tmp_path: Path, share: Share) -> None:
    runs = run(*jobs(tmp_path, "fake?latency_us=5000", "fake?latency_us=8000", share=share))
    check_window(runs)
    artifacts = [one.path for made in runs for one in made.artifacts]
    assert not any("result" in path for path in artifacts)
    medians = [float(made.headline.values_ms.mean()) for made in runs if made.headline]
    assert medians == sorted(medians)  # each has its own result


def test_a_contender_that_fails_fails_all_and_is_the_first(tmp_path: Path) -> None:
    ended = run(*jobs(tmp_path, "fake?latency_us=5000", "fake?fault=exit"))
    assert [one.outcome.kind for one in ended] == [OutcomeKind.CRASHED, OutcomeKind.FAILED]
    assert ended[0].job.backend.options == {"fault": "exit"}


@pytest.mark.usefixtures("in_process")
def test_the_load_of_the_other_contenders_is_not_a_load_by_others(tmp_path: Path) -> None:
    one, other = run(*jobs(tmp_path, "fake?latency_us=3000", "fake?latency_us=5000"))
    loaded = replace(one, other_load_cores=2.5)
    loaded = replace(loaded, notices=(Notice(code="W-X", message=""), *notices_of_run(loaded)))
    assert any(notice.code == "W-LOAD" for notice in loaded.notices)
    quiet = contenders._without_contenders(loaded, (2.45,), frozenset())
    assert quiet.other_load_cores == pytest.approx(0.05)
    assert "W-LOAD" not in [notice.code for notice in quiet.notices]
    assert quiet.notices[0].code == "W-X"
    assert other.other_load_cores is None or other.other_load_cores >= 0


@pytest.mark.usefixtures("in_process")
def test_contenders_on_a_gpu_are_not_other_processes(tmp_path: Path) -> None:
    (one,) = run(*jobs(tmp_path, "fake?latency_us=3000"))
    listed = (
        GpuProcess(pid=7),
        GpuProcess(pid=8),
        GpuProcess(pid=9, name="nvidia-cuda-mps-server"),
    )
    seen = replace(one, gpu=GpuTelemetry(gpu="GPU-0", others=listed))
    left = contenders._without_contenders(seen, (), frozenset({7}))
    assert [process.pid for process in left.gpu.others] == [8]
    assert left.contention.has_mps
    assert one.contention.has_mps is None
