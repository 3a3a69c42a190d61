import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from enginescope.records.progress import Progress
from enginescope.records.run.job import (
    BackendSpec,
    Job,
    Limits,
    StopRule,
    Subject,
    WarmUp,
    Workload,
)
from enginescope.records.run.run import OutcomeKind
from enginescope.runner import isolate
from enginescope.runner.isolate import run_isolated

QUICK = Workload(warmup=WarmUp(time_ms=5, iterations=1, limit_ms=50), stop=StopRule(iterations=20))


def fake_job(limits: Limits | None = None, **options: str) -> Job:
    return Job(
        subject=Subject(name="nothing", kind="synthetic"),
        backend=BackendSpec(name="fake", options=options),
        workload=QUICK,
        limits=limits or Limits(timeout_s=60),
    )


def run(job: Job, folder, on_progress=lambda _: None) -> isolate.Ended:
    folder.mkdir(exist_ok=True)
    return run_isolated(job, folder, on_progress)


def test_a_good_job(tmp_path) -> None:
    seen: list[Progress] = []
    ended = run(fake_job(latency_us="300"), tmp_path, seen.append)
    assert ended.outcome.kind is OutcomeKind.OK
    (samples,) = ended.result.measured.samples
    assert len(samples) == 20
    assert samples.values_ms.min() >= 0.25
    names = [phase.name for phase in ended.result.phases]
    assert names[:4] == ["process_start", "imports", "load", "first_inference"]
    assert names[4:] == ["warm_up", "steady_state", "layer_profile"]
    assert all(phase.duration_ms >= 0 for phase in ended.result.phases)
    assert ended.result.peak_memory_bytes is not None
    assert seen[-1].phase == "layer_profile"
    rss = ended.memory.channel("rss_bytes")
    assert rss.size == ended.memory.time_ms.size > 0
    assert rss.max() <= 1.2 * ended.result.peak_memory_bytes


def test_each_way_a_worker_ends_is_an_outcome(tmp_path) -> None:
    ended = run(fake_job(fault="segfault"), tmp_path)
    assert ended.outcome.kind is OutcomeKind.CRASHED
    assert ended.outcome.signal == signal.SIGSEGV
    assert ended.outcome.message == "died of SIGSEGV"
    assert "Segmentation fault" in (ended.outcome.detail or "")
    assert ended.result is None
    ended = run(fake_job(fault="abort"), tmp_path / "abort")
    assert (ended.outcome.kind, ended.outcome.signal) == (OutcomeKind.CRASHED, signal.SIGABRT)
    ended = run(fake_job(fault="exit"), tmp_path / "exit")
    assert (ended.outcome.kind, ended.outcome.exit_code) == (OutcomeKind.CRASHED, 7)
    ended = run(fake_job(fault="error"), tmp_path / "error")
    assert ended.outcome.kind is OutcomeKind.FAILED
    assert ended.outcome.message == "fake request: asked to fail"
    ended = run(fake_job(fault="unsupported"), tmp_path / "unsupported")
    assert ended.outcome.kind is OutcomeKind.UNSUPPORTED
    ended = run(fake_job(latency_us="not a number"), tmp_path / "bug")
    assert ended.outcome.kind is OutcomeKind.FAILED
    assert "ValueError" in (ended.outcome.message or "")
    assert "Traceback" in (ended.outcome.detail or "")


def test_a_hang_and_a_flood_of_memory_end_at_their_limits(tmp_path) -> None:
    ended = run(fake_job(Limits(timeout_s=1), fault="hang"), tmp_path)
    assert ended.outcome.kind is OutcomeKind.TIMED_OUT
    assert "1 s" in (ended.outcome.message or "")
    ended = run(
        fake_job(Limits(timeout_s=60, memory_bytes=600 << 20), fault="memory"), tmp_path / "memory"
    )
    assert ended.outcome.kind is OutcomeKind.OUT_OF_MEMORY
    assert "limit is 600 MiB" in (ended.outcome.message or "")
    ended = run(fake_job(Limits(timeout_s=60, memory_bytes=1024), fault="hang"), tmp_path / "least")
    assert "limit is 1.00 KiB" in (ended.outcome.message or "")


def stand_in(monkeypatch, code: str) -> None:
    """Run `code` in place of the worker; FOLDER is its result folder."""

    def spawn(job_file, folder, task, **_):
        return subprocess.Popen(
            [sys.executable, "-c", f"FOLDER = {str(folder)!r}\n{code}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    monkeypatch.setattr(isolate, "_spawn", spawn)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"outcome": {"kind": "splendid"}}'], ids=repr)
def test_an_unreadable_result(tmp_path, monkeypatch, content) -> None:
    stand_in(monkeypatch, f"open(FOLDER + '/result.json', 'w').write({content!r})")
    ended = run(fake_job(), tmp_path)
    assert ended.outcome.kind is OutcomeKind.FAILED
    assert "cannot be read" in (ended.outcome.message or "")


def test_no_result_at_all(tmp_path, monkeypatch) -> None:
    stand_in(monkeypatch, "print('so long')")
    ended = run(fake_job(), tmp_path)
    assert ended.outcome.kind is OutcomeKind.FAILED
    assert ended.outcome.detail == "so long"


def test_a_kill_by_the_kernel_for_memory_or_by_somebody(tmp_path, monkeypatch) -> None:
    counts = iter([0, 1])
    monkeypatch.setattr(isolate, "oom_kills", lambda: next(counts))
    stand_in(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    assert run(fake_job(), tmp_path).outcome.kind is OutcomeKind.OUT_OF_MEMORY
    monkeypatch.setattr(isolate, "oom_kills", lambda: None)
    stand_in(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    ended = run(fake_job(), tmp_path)
    assert (ended.outcome.kind, ended.outcome.signal) == (OutcomeKind.CRASHED, signal.SIGKILL)


GRANDCHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],
                         start_new_session=True)
open(FOLDER + '/child', 'w').write(str(child.pid))
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_grandchildren_die_too_even_outside_the_group(tmp_path, monkeypatch) -> None:
    stand_in(monkeypatch, GRANDCHILD)
    assert run(fake_job(Limits(timeout_s=2)), tmp_path).outcome.kind is OutcomeKind.TIMED_OUT
    assert not is_running(int((tmp_path / "child").read_text()))


def test_an_interrupt_ends_the_worker(tmp_path, monkeypatch) -> None:
    stand_in(monkeypatch, GRANDCHILD)

    def interrupt() -> None:
        while not (tmp_path / "child").exists():
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(fake_job(), tmp_path)
    thread.join()
    assert not is_running(int((tmp_path / "child").read_text()))


FLOOD = """
import sys, time
print('the beginning', flush=True)
end = time.monotonic() + 1.0
while time.monotonic() < end:
    sys.stdout.write('again and again\\n' * 10_000)
    time.sleep(0.01)
print('the end', flush=True)
"""


def test_a_log_does_not_grow_without_bound(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(isolate, "LOG_LIMIT_BYTES", 1_000_000)
    monkeypatch.setattr(isolate, "LOG_KEPT_BYTES", 1_000)
    stand_in(monkeypatch, FLOOD)
    ended = run(fake_job(), tmp_path)
    log = (tmp_path / isolate.LOG).read_bytes()
    assert log.startswith(b"the beginning")
    assert log.rstrip().endswith(b"the end")
    assert b"a part is left out here" in log
    assert b"\0" not in log
    assert len(log) < 8_000_000  # it wrote some 15 MB
    assert (ended.outcome.detail or "").endswith("the end")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no -P")
def test_a_file_in_the_working_directory_hides_no_package(tmp_path, monkeypatch) -> None:
    (tmp_path / "msgspec.py").write_text("raise RuntimeError('not the real one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    assert run(fake_job(), tmp_path).outcome.kind is OutcomeKind.OK
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # asked for: as in this process
    assert run(fake_job(), tmp_path).outcome.kind is OutcomeKind.CRASHED


def test_colours_of_a_log_do_not_reach_the_outcome(tmp_path, monkeypatch) -> None:
    stand_in(monkeypatch, "print('\\x1b[1;31mno library\\x1b[m'); print()")
    assert run(fake_job(), tmp_path).outcome.detail == "no library"
