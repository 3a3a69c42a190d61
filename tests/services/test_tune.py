import json
import math
from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.record import replace
from enginescope.judge.verdict import VerdictKind
from enginescope.runner import session
from enginescope.services.tune import tune as service
from enginescope.services.tune.alternatives import TuneRequest, alternatives_of
from enginescope.services.tune.outputs import check_outputs
from enginescope.store.archive import Store
from tests.analysis.in_turn import crashed, in_turn, process
from tests.fakes import loading, models
from tests.formats.trtexec.test_tuning_cache import line, written
from tests.plants.in_process import workers_in_process

SHORT = es.Workload(stop=es.StopRule(iterations=24), warmup=es.WarmUp(time_ms=0, iterations=0))


class Planted:
    """Processes whose median is planted by their job.

    Attributes:
        jobs: In the order of their processes.
    """

    def __init__(self, level, *, fails=lambda _job: False, noise=0.004, seed=5) -> None:
        self.jobs: list = []
        self._level, self._fails, self._noise = level, fails, noise
        self._draw = np.random.default_rng(seed)

    def __call__(self, jobs, sink, *, command=None, watcher=None):
        (job,) = jobs
        self.jobs.append(job)
        median = self._level(job) * np.exp(self._noise * self._draw.standard_normal())
        run = process(median, n=48, seed=len(self.jobs), job=job, command=command)
        if self._fails(job):
            run = crashed(run)
        if job.workload.mode.kind == "throughput":
            run = replace(run, wall_ms=float(48 * median))
        watcher.started(0, job)
        sink(run)
        return (run,)

    def rounds_of(self, **options: str) -> int:
        return sum(job.backend.options == options for job in self.jobs)


@pytest.fixture
def planted(monkeypatch):
    """A function that plants medians, gives every alternative right outputs, and counts."""

    def plant(level, *, wrong=None, **how) -> Planted:
        runs = Planted(level, **how)
        monkeypatch.setattr(session, "run_jobs", runs)
        monkeypatch.setattr(service, "check_outputs", lambda *_given: (wrong or {}, {}))
        return runs

    return plant


def tuned(model: Path, folder: Path, **more):
    return es.tune(model, store=folder / "store", **{"workload": SHORT, **more})


def by_threads(**times: float):
    """Plant a median by number of threads: ``t2=1.5``; of others 2 ms."""
    return lambda job: times.get(f"t{job.backend.options.get('intra_op_num_threads', '')}", 2.0)


THREADS = {"intra_op_num_threads": (1, 2, 3, 4)}


def test_the_fastest_is_confirmed_with_processes_of_its_own(convnet, tmp_path, planted) -> None:
    runs = planted(by_threads(t1=4.0, t2=1.5, t3=1.9))
    report = tuned(convnet, tmp_path, options=THREADS)
    assert report.winner.backend == "ort-cpu?intra_op_num_threads=2"
    confirmed = report.confirmation
    assert confirmed.kind is VerdictKind.FASTER
    assert (confirmed.ratio.ratio, confirmed.seed) == (pytest.approx(0.75, abs=0.01), 1)
    assert {job.workload.seed for job in runs.jobs} == {0, 1}
    fresh = [job for job in runs.jobs if job.workload.seed == 1]
    assert all(job.rebuild for job in fresh)
    assert {str(job.backend) for job in fresh} == {"ort-cpu", report.winner.backend}
    assert len(fresh) == 2 * confirmed.rounds
    store = Store(tmp_path / "store")
    stored = {store.load(row.id).turn.comparison for row in store.rows()}
    assert stored == {report.comparison, confirmed.comparison}
    assert str(report).startswith("<TuneReport winner for ")


def test_slower_ones_have_fewer_processes_than_the_default(convnet, tmp_path, planted) -> None:
    runs = planted(by_threads(t1=8.0, t2=1.0, t3=9.0, t4=1.0))
    report = tuned(convnet, tmp_path, options=THREADS)
    dropped = {one.backend[-1]: one.dropped_after for one in report.alternatives}
    assert dropped["1"] == dropped["3"] == 3
    assert runs.rounds_of(intra_op_num_threads="1") == 3
    assert report.default.rounds == report.rounds == 12
    assert [one.state for one in report.alternatives][-2:] == ["dropped", "dropped"]


def test_equals_have_no_winner_and_a_default_no_confirmation(convnet, tmp_path, planted) -> None:
    planted(by_threads())
    report = tuned(convnet, tmp_path, options=THREADS, rounds=8)
    assert report.winner is None
    assert report.confirmation is None or report.confirmation.kind is not VerdictKind.FASTER
    planted(by_threads(t1=4.0, t2=4.1, t3=4.2, t4=4.3))
    report = tuned(convnet, tmp_path, options=THREADS)
    assert (report.candidate, report.confirmation) == (None, None)


def test_wrong_outputs_failures_and_invalid_combinations_are_out(
    convnet, tmp_path, planted
) -> None:
    one_thread = {"intra_op_num_threads": "1"}
    runs = planted(by_threads(t1=0.5, t2=1.5), wrong={1: "outputs: y: too large"})
    report = tuned(convnet, tmp_path, options=THREADS)
    assert report.winner.backend.endswith("=2")
    (out,) = (one for one in report.alternatives if one.state == "wrong")
    assert (out.number, out.rounds, out.why) == (1, 0, "outputs: y: too large")
    assert runs.rounds_of(**one_thread) == 0
    planted(by_threads(t2=1.5), fails=lambda job: job.backend.options == one_thread)
    report = tuned(convnet, tmp_path, options=THREADS)
    (out,) = (one for one in report.alternatives if one.state == "failed")
    assert out.why == "failed: died of SIGSEGV"
    assert report.winner.backend.endswith("=2")
    planted(by_threads(t2=1.0))
    options = {"intra_op_num_threads": (2,), "graph_optimization_level": ("all", "most")}
    report = tuned(convnet, tmp_path, options=options)
    (invalid,) = report.invalid
    assert invalid.backend.endswith("graph_optimization_level=most")
    assert "graph_optimization_level" in invalid.why
    assert len(report.alternatives) == 2


def test_a_default_that_fails_or_an_unconfirmed_winner_ends_it(convnet, tmp_path, planted) -> None:
    planted(by_threads(), fails=lambda job: not job.backend.options)
    with pytest.raises(BackendError, match="SIGSEGV"):
        tuned(convnet, tmp_path, options=THREADS)
    planted(by_threads(t2=1.5), fails=lambda job: job.rebuild and bool(job.backend.options))
    report = tuned(convnet, tmp_path, options=THREADS)
    assert report.winner is None
    assert "died of SIGSEGV" in report.confirmation.why
    planted(by_threads(t2=1.0))
    report = tuned(convnet, tmp_path, options=THREADS, max_time_s=1e-3)
    assert (report.rounds, report.confirmation, report.winner) == (1, None, None)
    assert {one.code for one in report.notices} == {"W-NOT-CONFIRMED", "I-SHORT-SEARCH"}


def test_batches_count_per_item_and_throughput_is_better_higher(planted, tmp_path) -> None:
    model = models.perceptron(tmp_path / "net.onnx")
    planted(lambda job: {1: 1.0, 4: 2.0}[job.workload.batch])
    report = tuned(model, tmp_path, batch=(1, 4))
    assert (report.winner.batch, report.default.value) == (4, pytest.approx(1.0, abs=0.02))
    assert report.winner.value == pytest.approx(0.5, abs=0.02)
    runs = planted(lambda job: {1: 1.0, 4: 2.0}[job.workload.batch])
    report = tuned(model, tmp_path, batch=(1, 4), metric="throughput")
    assert report.winner.value == pytest.approx(2000, rel=0.02)
    assert report.confirmation.ratio.ratio == pytest.approx(2, rel=0.02)
    assert {job.workload.mode.kind for job in runs.jobs} == {"throughput"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no alternative to the default"),
        ({"options": {"no_such_option": (1, 2)}}, "no_such_option"),
        ({"options": {"intra_op_num_threads": range(1, 80)}}, "80 alternatives"),
        ({"on": "ort-cpu?intra_op_num_threads=1", "options": THREADS}, "has a value for it"),
        ({"on": "fake", "options": {"seed": (1, 2)}}, "returns no outputs"),
        ({"options": {"intra_op_num_threads": ()}}, "no values"),
        ({"batch": (0, 1)}, "`batch` 0"),
        ({"metric": "speed", "options": THREADS}, "`metric`"),
        ({"rounds": 3, "options": THREADS}, "`rounds` 3: it is not between 8 and 1,000"),
        ({"routes": "absent.jsonl"}, "`routes` absent.jsonl"),
    ],
)
def test_a_request_that_cannot_be(convnet, tmp_path, options, message) -> None:
    with pytest.raises(UsageError, match=message):
        tuned(convnet, tmp_path, **options)


def test_outputs_are_compared_with_those_of_the_default(tmp_path) -> None:
    model = models.perceptron(tmp_path / "net.onnx")
    options = {"graph_optimization_level": ("basic",)}
    on = ("ort-cpu", "ort-cpu:fp16")
    request = TuneRequest(model=model, on=on, options=options, samples=1, tolerance="fp32")
    asked: list[str] = []
    with workers_in_process():
        candidates = alternatives_of(request, Store(tmp_path / "store")).candidates
        wrong, _ = check_outputs(request, candidates, asked.append, math.inf)
        late = check_outputs(request, candidates, asked.append, 0.0)
    names = {str(one.job.backend): one.number for one in candidates}
    assert set(wrong) == {names["ort-cpu:fp16?graph_optimization_level=basic"]}
    assert next(iter(wrong.values())).startswith("outputs: ")
    assert sum(text.startswith("inputs") for text in asked[:-2]) == 2  # one a backend and precision
    assert (late[0], set(late[1])) == ({}, {1, 2})


def test_build_routes_of_trtexec_are_alternatives_on_tensorrt(tmp_path, planted) -> None:
    model = models.perceptron(tmp_path / "net.onnx")
    lines = line("-copy_ppg=off", 0.5), line("-peep:max=2", None, error_message="exit code 1")
    routes = written(tmp_path / "t.jsonl", *lines, line("-copy_ppg=on", 0.7))

    def level(job) -> float:
        return 1.0 if job.backend.options.get("build_route") == "-copy_ppg=off" else 2.0

    with loading.loaded("11.4.0"):
        planted(level)
        report = tuned(model, tmp_path, on="trt", routes=routes)
    assert report.winner.backend == "trt?build_route=-copy_ppg=off"
    assert report.winner.trtexec_ms == 0.5
    (invalid,) = report.invalid
    assert invalid.why == "in trtexec: exit code 1"
    assert json.loads(routes.read_text().splitlines()[1])["gpu_time"] == 0.5


def test_of_a_process_that_was_measured_again_the_last_attempt_counts() -> None:
    default, candidate = in_turn(0.5)
    again = replace(default[3], turn=replace(default[3].turn, attempt=1))
    found = service._read(((*default[:4], again, *default[4:]), candidate), TuneRequest("net.onnx"))
    assert found.kind is VerdictKind.FASTER
