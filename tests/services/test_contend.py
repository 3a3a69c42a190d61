"""Contenders on ONNX Runtime's CPU, the fake backend and the stand-in for TensorRT."""

import os
from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.verdicts.job_identity import identity_of
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.job import Mode, StopRule, WarmUp, Workload
from enginescope.records.run.run import Run
from enginescope.services.contend import contend as service
from enginescope.store.archive import Store
from tests.fakes import loading, models
from tests.plants.in_process import workers_in_process

SHORT = Workload(
    warmup=WarmUp(time_ms=0, iterations=0, limit_ms=1),
    stop=StopRule(duration_ms=100.0, precision_pct=None),
)
SLOW = "fake?latency_us=3000"


def contended(*contenders, tmp_path, **more) -> es.ContendReport:
    usual = {"rounds": 3, "workload": SHORT, "store": tmp_path / "store"}
    with workers_in_process():
        return es.contend(*contenders, **{**usual, **more})


def unread(folder: Path) -> Path:
    """Make a model that the fake backend does not read."""
    (folder / "m.onnx").touch()
    return folder / "m.onnx"


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """The report of two copies of a model, and the store of their runs."""
    folder = tmp_path_factory.mktemp("copies")
    report = contended(*[unread(folder)] * 2, tmp_path=folder, on=SLOW, tags=("mine",))
    return report, Store(folder / "store")


def stored_runs(store: Store) -> list[Run]:
    return [store.load(row.id) for row in store.rows()]


def test_two_copies_are_stored_with_the_comparison_and_are_not_the_job_alone(copies) -> None:
    found, store = copies
    assert [contender.name for contender in found.contenders] == ["A", "B"]
    assert found.contenders[0].threads is None
    assert [slowed.beside for slowed in found.slow_downs] == [("B",), ("A",)]
    assert all(slowed.factor.ratio > 0 for slowed in found.slow_downs)
    assert found.measured_rounds >= 3
    assert found.mps is None
    rows, runs = store.rows(), stored_runs(store)
    first = [run for run in runs if run.turn.attempt == 0]
    assert len(first) == 4 * found.measured_rounds  # each alone, and both of the pair
    assert found.measured_rounds == 3  # a disturbed process is measured again at once
    assert {frozenset(row.tags) for row in rows} == {frozenset({"mine", f"cmp-{found.comparison}"})}
    texts = {run.job.contention.text for run in runs if run.job.contention}
    name = f"m.onnx on {SLOW}"
    assert texts == {None, f"beside {name} (2) (processes)", f"beside {name} (processes)"}
    assert len({identity_of(run) for run in runs}) == len(texts)


def test_three_have_all_pairs_and_a_backend_that_issues_its_requests_is_refused(copies) -> None:
    job = stored_runs(copies[1])[0].job
    sets = service._sets((job, job, job), "streams")
    assert [len(jobs) for jobs in sets.values()] == [1, 1, 1, 2, 2, 2, 3]
    rules = [jobs[-1].contention for jobs in sets.values()]
    assert len({rule.contenders for rule in rules if rule}) == 7  # no two sets are called alike
    assert (rules[-1].place, rules[-1].share) == (2, "streams")
    run = stored_runs(copies[1])[0]
    with pytest.raises(UnsupportedError, match="issues requests by itself"):
        service._check_window([replace(run, contention=None)])


@pytest.mark.parametrize(
    ("backend", "threads"),
    [("ort-cpu?intra_op_num_threads=1", "1"), ("ort-cpu", "4 (default)"), ("fake", None)],
)
def test_the_threads_of_a_session_are_named(copies, backend, threads) -> None:
    job = replace(stored_runs(copies[1])[0].job, backend=parse_backend(backend))
    assert service._threads(job, physical=4) == threads


def test_tensorrt(tmp_path) -> None:
    perceptron = models.perceptron(tmp_path / "p.onnx")
    with loading.loaded(loading.VERSIONS[-1]):
        found = contended(perceptron, perceptron, tmp_path=tmp_path, on="trt")
    assert (len(found.slow_downs), found.contenders[0].backend) == (2, "trt")
    assert found.evidence is EvidenceLevel.INTERLEAVED


@pytest.mark.parametrize(
    ("count", "more", "words"),
    [
        (1, {}, "1 model to run at the same time"),
        (7, {}, "contend takes 2 to 6"),
        (2, {"on": ("fake",) * 3}, "3 backends for 2 models"),
        (2, {"rounds": 2}, "`rounds` 2"),
        (2, {"share": "mps"}, "`share` 'mps'"),
        (2, {"workload": Workload(stop=StopRule(iterations=5))}, "share a window of time"),
        (2, {"workload": replace(SHORT, mode=Mode(kind="throughput"))}, "one request in flight"),
        (2, {"on": (SLOW, "fake?fault=error")}, "asked to fail"),  # a contender that fails ends it
    ],
)
def test_mistakes_are_named(tmp_path, count, more, words) -> None:
    with pytest.raises((UsageError, BackendError), match=words):
        contended(*[unread(tmp_path)] * count, tmp_path=tmp_path, **{"on": "fake", **more})


def test_an_mps_server_is_named(copies, monkeypatch, tmp_path) -> None:
    run = stored_runs(copies[1])[0]

    def seen(has_mps: bool | None) -> Run:
        assert run.contention is not None
        return replace(run, contention=replace(run.contention, has_mps=has_mps))

    assert service._mps([seen(None)]) is None
    assert service._mps([seen(None), seen(True)]) == "serves"
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert service._mps([seen(False)]) == "off"
    (tmp_path / "nvidia-cuda-mps-control.pid").write_text(f"{os.getpid()}\n")
    assert service._mps([seen(False)]) == "running"
