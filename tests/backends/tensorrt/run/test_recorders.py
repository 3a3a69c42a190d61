"""The arithmetic of both recorders, against a device whose times are known."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from enginescope.analysis.runs.throughput import pipeline, round_trip
from enginescope.backends.tensorrt.run.request_loops import PIPELINE_FILL
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.records.run.job import Mode
from enginescope.records.run.run import Run
from enginescope.runner.inputs.inputs import make_feeds
from tests.backends.tensorrt.driving import LATENCY, THROUGHPUT, job, opened, with_engine, workload

COMPUTE_MS = 2.0


class Recording:
    """A session that is ready, its recorder, and how often the engine was enqueued."""

    def __init__(self, session, one) -> None:
        session.bind(make_feeds(session.input_specs, one.workload))
        session.step()
        session.settle()
        self.session = session
        self.enqueued = 0
        for lane in session.lanes:
            lane.launches = [(self._counting(launch), given) for launch, given in lane.launches]
            lane.bare = None
        self.recorder = session.recorder()

    def _counting(self, launch):
        def call(*arguments):
            self.enqueued += 1
            return launch(*arguments)

        return call

    def series(self, metric: str) -> np.ndarray:
        return next(one.values_ms for one in self.recorder.samples() if one.metric == metric)

    def as_run(self) -> Run:
        samples, wall_ms = self.recorder.samples(), None
        if samples[0].metric != "latency":
            wall_ms = self.recorder.wall_ms
        more = {"job": job(Path("a.engine")), "samples": samples, "wall_ms": wall_ms}
        return Run(id="1", created="", origin="measured", **more)


@pytest.fixture
def recording(use, perceptron, engines):
    with ExitStack() as stack:

        def make(mode: Mode, **options: str) -> Recording:
            use("10.16.1", FAKE_TENSORRT_COMPUTE_US=str(int(COMPUTE_MS * 1000)))
            one = with_engine(job(perceptron, workload=workload(mode=mode), **options), engines)
            return Recording(stack.enter_context(opened(one)), one)

        yield make


@pytest.mark.parametrize("transfers", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_queries_that_fill_the_pipeline_are_not_counted(recording, depth, transfers) -> None:
    found = recording(replace(THROUGHPUT, in_flight=depth, transfers=transfers))
    for count in (1, 6):
        before, enqueued = len(found.recorder), found.enqueued
        found.recorder.run(count)
        assert len(found.recorder) == before + count
        assert found.enqueued == enqueued + count + PIPELINE_FILL


@pytest.mark.parametrize("transfers", [False, True])
def test_throughput_is_what_the_device_does(recording, transfers) -> None:
    found = recording(replace(THROUGHPUT, transfers=transfers))
    found.recorder.run(10)
    assert np.median(found.series("gpu_compute")) == pytest.approx(COMPUTE_MS, rel=0.01)
    # back to back: one query follows the other as soon as the device is free
    assert found.recorder.wall_ms == pytest.approx(10 * COMPUTE_MS, rel=0.05)
    run = found.as_run()
    told = pipeline(run)
    assert told.period_ms == pytest.approx(COMPUTE_MS, rel=0.05)
    assert told.compute_ms == pytest.approx(COMPUTE_MS, rel=0.01)
    assert abs(told.gap_ms) < 0.1 * COMPUTE_MS
    assert round_trip(run) is None


def test_the_bare_loop_tells_what_its_calls_cost(recording) -> None:
    bare = recording(THROUGHPUT)
    bare.recorder.run(4)
    enqueued = bare.enqueued
    assert bare.recorder.loop_ms() >= 0
    assert bare.enqueued == enqueued  # nothing is launched for it
    copying = recording(replace(THROUGHPUT, transfers=True))
    copying.recorder.run(4)
    assert copying.recorder.loop_ms() is None


def test_one_query_at_a_time_leaves_a_gap_and_streams_overlap(recording) -> None:
    paused = recording(replace(THROUGHPUT, in_flight=1, idle_ms=3.0))
    paused.recorder.run(5)
    assert pipeline(paused.as_run()).gap_ms > 2.0  # four pauses of three, over five queries
    streams = recording(replace(THROUGHPUT, streams=2))
    streams.recorder.run(12)
    assert streams.recorder.wall_ms == pytest.approx(6 * COMPUTE_MS, rel=0.15)
    assert pipeline(streams.as_run()).gap_ms < 0


def test_stretches_add_up_without_the_pauses_between(recording, clock) -> None:
    found = recording(THROUGHPUT, stamps="1")
    for _ in range(3):
        found.recorder.run(4)
        clock.sleep(0.03)
    assert found.recorder.wall_ms == pytest.approx(12 * COMPUTE_MS, rel=0.1)
    trace = found.recorder.trace()
    assert (trace.d2h_end.max() - trace.h2d_start.min()) == pytest.approx(12 * COMPUTE_MS, rel=0.1)
    assert (np.diff(trace.compute_start) > 0).all()


def test_an_enqueue_belongs_to_its_query(recording, clock) -> None:
    found = recording(THROUGHPUT)
    slow = []

    def sometimes(launch):
        def call(*arguments):
            slow.append(len(slow))
            if len(slow) == PIPELINE_FILL + 3:  # the third that counts
                clock.sleep(0.01)
            return launch(*arguments)

        return call

    lane = found.session.lanes[0]
    lane.launches = [(sometimes(launch), given) for launch, given in lane.launches]
    found.recorder.run(5)
    assert int(np.argmax(found.series("enqueue"))) == 2
    assert found.series("enqueue")[2] >= 10


@pytest.mark.parametrize("transfers", [False, True])
def test_parts_and_what_lies_outside_make_the_whole(recording, transfers) -> None:
    found = recording(replace(LATENCY, transfers=transfers))
    found.recorder.run(11)
    names = ("h2d", "gpu_compute", "d2h") if transfers else ("gpu_compute",)
    whole, parts = found.series("latency"), [found.series(name) for name in names]
    assert (whole > sum(parts) - 1e-3).all()
    assert np.median(found.series("gpu_compute")) == pytest.approx(COMPUTE_MS, rel=0.05)
    told = round_trip(found.as_run())
    assert [name for name, _ in told.parts] == list(names)
    assert told.outside_ms == pytest.approx(float(np.median(whole - sum(parts))))
    assert 0 < told.outside_ms < 1.0
    assert pipeline(found.as_run()) is None


def test_untimed_requests_come_before_the_timed_ones_and_are_counted(recording) -> None:
    found = recording(LATENCY)
    found.recorder.run(3)
    assert found.enqueued == found.recorder.issued == 3
    found.recorder.run(5, untimed=4)
    assert found.enqueued == found.recorder.issued == 3 + 4 + 5
    assert len(found.recorder) == 3 + 5
    for streams, issued in ((1, 102), (2, 104)):
        recorder = recording(replace(THROUGHPUT, streams=streams)).recorder
        recorder.run(100, untimed=3)
        assert (len(recorder), recorder.issued) == (100, issued)


@pytest.mark.parametrize("mode", [THROUGHPUT, LATENCY], ids=["bare", "latency"])
def test_times_so_far_can_be_read_between_stretches(recording, mode) -> None:
    found = recording(mode)
    assert found.recorder.times_ms().size == 0
    assert all(len(one) == 0 for one in found.recorder.samples())
    found.recorder.run(4)
    kept = found.recorder.times_ms()
    assert found.recorder.times_ms(2).tolist() == kept[-2:].tolist()
    found.recorder.run(2)
    assert len(kept) == 4


@pytest.mark.parametrize(
    "mode",
    [LATENCY, THROUGHPUT, replace(THROUGHPUT, transfers=True)],
    ids=["latency", "bare", "any"],
)
@pytest.mark.parametrize(
    ("fault", "words"),
    [("execute_fails", "enqueueing an inference"), ("illegal_address", "cudaErrorIllegalAddress")],
)
def test_a_failure_on_the_way_says_what_failed(recording, mode, fault, words) -> None:
    found = recording(replace(mode, cuda_graph=False))
    found.recorder.run(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_TENSORRT_FAULT", fault)
        with pytest.raises(BackendError, match=words):
            found.recorder.run(3)
