"""How a request passes its tensors, and several requests in flight."""

import threading
from functools import partial

import numpy as np
import pytest

from enginescope.backends import loop
from enginescope.backends.loop import ThreadsRecorder
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import Mode, StopRule, WarmUp, Workload
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.jobs import make_jobs
from enginescope.runner.session import run_jobs
from tests.fakes import models
from tests.plants.in_process import workers_in_process

BRIEF = {"warmup": WarmUp(time_ms=0, iterations=0), "stop": StopRule(iterations=20)}


def measured(model, mode: Mode) -> Run:
    jobs = make_jobs([model], ["ort-cpu"], Workload(mode=mode, **BRIEF), layer_profile=False)
    with workers_in_process():
        (run,) = run_jobs([replace(job, keep_outputs=True) for job in jobs], lambda _: None)
    assert run.outcome.kind is OutcomeKind.OK, run.outcome
    return run


@pytest.fixture
def perceptron(tmp_path):
    return models.perceptron(tmp_path / "p.onnx")


@pytest.mark.parametrize("call", ["arrays", "client"])
def test_arrays_give_the_outputs_of_bound_tensors(perceptron, call) -> None:
    bound = measured(perceptron, Mode())
    arrays = measured(perceptron, Mode(call=call))
    np.testing.assert_array_equal(bound.answers[0].data, arrays.answers[0].data)
    assert (bound.job.workload.mode.call, arrays.job.workload.mode.call) == (None, call)
    assert "I-NOT-BOUND" not in {notice.code for notice in arrays.notices}


@pytest.mark.parametrize("count", [2, 5])
def test_requests_in_flight_have_a_rate(perceptron, count) -> None:
    run = measured(perceptron, Mode(kind="throughput", in_flight=count))
    assert len(run.headline or ()) == 20
    assert run.wall_ms is not None
    assert run.wall_ms > 0
    mode = run.job.workload.mode
    assert (mode.kind, mode.in_flight) == ("throughput", count)


def test_tokens_are_generated_one_request_at_a_time(perceptron) -> None:
    jobs = make_jobs(
        [perceptron], ["ort-cpu"], Workload(mode=Mode(kind="throughput", decode=4), **BRIEF)
    )
    with workers_in_process():
        (run,) = run_jobs(jobs, lambda _: None)
    assert run.outcome.kind is OutcomeKind.UNSUPPORTED


def test_a_provider_without_threads_refuses_them(perceptron) -> None:
    with pytest.raises(UsageError, match="ort-cuda has no `kind` throughput"):
        make_jobs([perceptron], ["ort-cuda"], Workload(mode=Mode(kind="throughput")))


def test_steps_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=30)
    recorder = ThreadsRecorder([together.wait] * 3)  # ends only if all three run
    recorder.run(3)
    assert len(recorder) == 3
    assert recorder.issued == 3
    (samples,) = recorder.samples()
    assert samples.start_ms is not None
    assert (np.diff(samples.start_ms) >= 0).all()


def test_a_thread_that_waits_for_the_slowest_adds_no_time(monkeypatch) -> None:
    """Requests a second of a ResNet on two streams were a fifth too low."""
    clock, together = threading.local(), threading.Barrier(2, timeout=30)

    def step(end_ms: int) -> None:
        together.wait()
        clock.ns = end_ms * 1_000_000

    monkeypatch.setattr(loop, "perf_counter_ns", lambda: getattr(clock, "ns", 0))
    recorder = ThreadsRecorder([partial(step, 10), partial(step, 30)])
    recorder.run(2)
    assert recorder.wall_ms == 20.0
    assert loop.next_chunk(recorder) == (10, 0)  # 100 ms of two requests at a time


def test_untimed_requests_are_issued_by_each_thread() -> None:
    calls: list[int] = []
    recorder = ThreadsRecorder([lambda: calls.append(1)] * 2)
    recorder.run(10, untimed=3)
    assert (len(calls), len(recorder), recorder.issued) == (16, 10, 16)


def test_an_error_in_a_thread_is_raised() -> None:
    def fail() -> None:
        raise BackendError("running", why="for this test")

    with pytest.raises(BackendError, match="for this test"):
        ThreadsRecorder([lambda: None, fail]).run(4, untimed=1)
