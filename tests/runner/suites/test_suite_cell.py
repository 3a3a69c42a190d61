import itertools

import numpy as np
import pytest

from enginescope.core.record import replace
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Device
from enginescope.records.run.job import Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.runner.suites import suite_cells
from tests.analysis.gated_runs import process
from tests.runner.fleet.cells import cell


@pytest.mark.parametrize(
    ("wanted", "there", "is_refused"),
    [
        ("NVIDIA-H200", "NVIDIA H200", False),
        ("a100", "NVIDIA A100-SXM4-80GB", False),
        ("A100", "NVIDIA RTX A1000", True),
        ("L4", "NVIDIA L40", True),
    ],
)
def test_a_kind_of_gpu_has_words_as_on_a_fleet(monkeypatch, wanted, there, is_refused) -> None:
    monkeypatch.setattr(suite_cells, "probe_devices", lambda: (Device(name=there),))
    refused = suite_cells.refusal_of(cell(gpu=wanted))
    assert (refused is not None) is is_refused
    if refused is not None:
        assert refused.message == f"it asks for a GPU called {wanted}; here is {there}"


def test_without_a_gpu_that_is_said_and_so_is_the_number_of_the_process(monkeypatch) -> None:
    monkeypatch.setattr(suite_cells, "probe_devices", lambda: ())
    refused = suite_cells.refusal_of(cell(gpu="H200"))
    assert refused.message == "it asks for a GPU called H200; here is none that is seen"
    ends(monkeypatch, OK, OK)
    told: list[int] = []
    watcher = Watcher(started=lambda number, _: told.append(number))
    suite_cells.measure_cell(cell(backend="fake", processes=2), lambda _: None, watcher=watcher)
    assert told == [0, 1]


def ends(monkeypatch, *kinds: OutcomeKind) -> list[str]:
    """Make the next processes end so; return the ids of their runs as they come."""
    made: list[str] = []
    left = iter(kinds)

    def run_jobs(jobs, sink, *, command, watcher):
        run = Run(
            id=f"run{len(made)}",
            created="",
            origin="measured",
            job=jobs[0],
            outcome=Outcome(kind=next(left)),
        )
        made.append(run.id)
        if watcher is not None:
            watcher.started(0, jobs[0])
        sink(run)
        return (run,)

    monkeypatch.setattr(suite_cells, "run_jobs", run_jobs)
    return made


OK, CRASHED, UNSUPPORTED = OutcomeKind.OK, OutcomeKind.CRASHED, OutcomeKind.UNSUPPORTED


@pytest.mark.parametrize(
    ("kinds", "retries", "last", "attempts"),
    [
        ((OK, OK, OK), 0, ["run0", "run1", "run2"], 1),
        ((OK, CRASHED), 0, ["run0", "run1"], 1),  # the third is not begun
        ((OK, CRASHED, OK, OK), 1, ["run0", "run2", "run3"], 2),
        ((CRASHED, OK, CRASHED, OK, OK), 1, ["run1", "run3", "run4"], 2),  # each has its own
        ((OK, CRASHED, CRASHED), 1, ["run0", "run2"], 2),
        ((UNSUPPORTED,), 2, ["run0"], 1),
    ],
)
def test_a_process_that_fails_all_attempts_ends_it(
    monkeypatch, kinds, retries, last, attempts
) -> None:
    made = ends(monkeypatch, *kinds)
    kept: list[str] = []
    found, most = suite_cells.measure_cell(
        cell(backend="fake", processes=3, retries=retries), lambda run: kept.append(run.id)
    )
    assert [one.id for one in found] == last
    assert (most, kept, len(made)) == (attempts, made, len(kinds))


@pytest.mark.parametrize(("retries", "expected"), [(0, ["run0", "run1"]), (1, ["run0", "run2"])])
def test_disturbed_and_failed_processes_are_measured_again(monkeypatch, retries, expected) -> None:
    """The round engine of the judge decides what is disturbed, as for every comparison."""
    draw = np.random.default_rng(1)
    steady, wild = (np.exp(sd * draw.standard_normal((3, 400))) for sd in (0.01, 2.0))
    left = iter([steady[0], wild[0], steady[1]])
    count = itertools.count()

    def run_jobs(jobs, sink, **_more):
        run = process(
            1.0, of=jobs[0], samples=(Samples(metric="latency", values_ms=frozen(next(left))),)
        )
        run = replace(run, id=f"run{next(count)}")
        sink(run)
        return (run,)

    monkeypatch.setattr(suite_cells, "run_jobs", run_jobs)
    kept: list[str] = []
    found, most = suite_cells.measure_cell(
        cell(backend="fake", processes=2, retries=retries), lambda run: kept.append(run.id)
    )
    assert [run.id for run in found] == expected
    assert (most, kept) == (1 + retries, [f"run{number}" for number in range(2 + retries)])
