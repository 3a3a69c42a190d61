import gc
import weakref

import numpy as np
import pytest

from enginescope.backends.base import Feeds, Measured
from enginescope.backends.fake import FakeSession
from enginescope.backends.stepwise import measure
from enginescope.core.errors import BackendError
from enginescope.probe.host import peak_rss_bytes
from enginescope.records.plan.plan import Profile
from enginescope.records.run.job import BackendSpec, Job, StopRule, Subject, WarmUp, Workload

JOB = Job(
    subject=Subject(name="nothing", kind="synthetic"),
    backend=BackendSpec(name="fake", options={"latency_us": "20"}),
    workload=Workload(warmup=WarmUp(time_ms=0, iterations=0), stop=StopRule(iterations=5)),
)


def measured_with(profile_pass, open_session=FakeSession) -> Measured:
    feeds = Feeds(arrays={"x": np.zeros((1, 3, 8, 8), np.float32)}, batch=1)
    return measure(JOB, open_session, lambda _: feeds, lambda _: None, profile_pass)


@pytest.mark.parametrize("error", [BackendError("profiling", why="disk full"), MemoryError("full")])
def test_a_failed_layer_pass_keeps_what_is_measured(error) -> None:
    def fail(job, arrays):
        raise error

    measured = measured_with(fail)
    assert len(measured.samples[0]) == 5
    assert measured.profile is None
    (notice,) = [one for one in measured.notices if one.code == "W-NO-LAYERS"]
    assert "full" in notice.message
    assert [phase.name for phase in measured.phases][-1] == "steady_state"


def test_the_timed_session_is_gone_before_the_layer_pass() -> None:
    opened = []
    seen = []

    def open_session(job: Job) -> FakeSession:
        session = FakeSession(job)
        opened.append(weakref.ref(session))
        return session

    def look(job, arrays):
        gc.collect()
        seen.append(opened[0]())
        return Profile(source="fake", layers=(), iterations=1), ()

    assert measured_with(look, open_session).profile is not None
    assert seen == [None]


def test_peak_memory_is_that_of_the_timing() -> None:
    hoard = []

    def fill(job, arrays):
        hoard.append(np.ones(64 << 20, np.uint8))
        return Profile(source="fake", layers=(), iterations=1), ()

    before = peak_rss_bytes()
    measured = measured_with(fill)
    assert before is not None
    assert measured.peak_memory_bytes is not None
    assert measured.peak_memory_bytes < before + (32 << 20)
