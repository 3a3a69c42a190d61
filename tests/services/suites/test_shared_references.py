"""Machines of a fleet run a reference once, and cells end as in a session on one machine."""

import shutil
import threading
from pathlib import Path

import pytest

import enginescope.services.accuracy.validation_run as validation_run
import enginescope.services.suites.reference_cache as shared
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import replace
from enginescope.records.run.job import Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.run.sample_set import Sample
from enginescope.records.suite.suite import Cell, CellStatus
from enginescope.runner.fleet.machines import REFERENCES, packed_task, unpacked_returned
from enginescope.runner.inputs.collect_outputs import EndedBadly
from enginescope.runner.jobs import subject_of
from enginescope.services.suites.cell import checked_cell
from enginescope.services.suites.reference_cache import ReferenceCache, shared_references
from enginescope.services.suites.remote_cell import run_remote_cell
from tests.suites.made import cell

SAMPLES = (Sample(name="random 0"),)
REFERENCE = "ort-cpu?intra_op_num_threads=1&inter_op_num_threads=1"


def run(name: str) -> Run:
    return Run(id=name, created="", origin="measured", job=cell(name).job)


@pytest.fixture
def answered(monkeypatch) -> list[str]:
    """The backends that were run for outputs."""
    backends, real = [], validation_run.answered

    def counted(job, *more):
        backends.append(str(job.backend))
        return real(job, *more)

    monkeypatch.setattr(validation_run, "answered", counted)
    return backends


def cells(convnet: Path, *specs: str, **more: object) -> list[Cell]:
    subject = subject_of(convnet)
    found = (cell("net", spec, mode="validate") for spec in specs)
    return [replace(one, job=replace(one.job, subject=subject, **more)) for one in found]


@pytest.mark.usefixtures("in_process")
def test_a_fleet_runs_the_reference_of_two_backends_once(tmp_path, convnet, answered) -> None:
    pytest.importorskip("onnxruntime")
    one, other = cells(convnet, "ort-cpu?intra_op_num_threads=2", "ort-cpu")
    here = [checked_cell(each, Watcher()) for each in (one, other)]
    answered.clear()
    rows = [
        unpacked_returned(run_remote_cell(packed_task(each, None, references=str(tmp_path)))).row
        for each in (one, other)
    ]
    assert [row.status for row in rows] == [CellStatus.OK, CellStatus.OK]
    assert [row.figures for row in rows] == [each.figures for each in here]
    assert answered.count(REFERENCE) == 2  # its bindings, its outputs
    assert len(answered) == 6


@pytest.mark.usefixtures("in_process")
def test_a_machine_without_the_folder_runs_its_own_reference(tmp_path, convnet, answered) -> None:
    pytest.importorskip("onnxruntime")
    (one,) = cells(convnet, "ort-cpu")
    for _ in range(2):
        task = packed_task(one, None, references=str(tmp_path / "of another machine"))
        assert unpacked_returned(run_remote_cell(task)).row.status is CellStatus.OK
    assert answered.count(REFERENCE) == 4
    assert not (tmp_path / "of another machine").exists()
    assert shared_references(None) is None


@pytest.mark.parametrize("kind", [BackendError, UnsupportedError])
def test_a_reference_that_failed_fails_alike_on_every_machine(tmp_path, kind) -> None:
    outcome = Outcome(kind=OutcomeKind.TIMED_OUT, message="no end within 5 s", hint="--timeout")
    runs = []

    def fail() -> Run:
        runs.append(1)
        raise kind("running net", why="too slow", hint="wait") from EndedBadly(outcome)

    caught = []
    for _ in range(2):  # two machines
        with pytest.raises(BackendError) as found:
            ReferenceCache(tmp_path).once(cell("a").job, SAMPLES, tmp_path / "out", fail)
        caught.append(found.value)
    assert len(runs) == 1
    assert {type(error) for error in caught} == {kind}
    assert {(str(error), error.hint) for error in caught} == {("running net: too slow", "wait")}
    assert {error.__cause__.outcome for error in caught} == {outcome}
    longer = replace(cell("a").job, limits=replace(cell("a").job.limits, timeout_s=60.0))
    with pytest.raises(BackendError):
        ReferenceCache(tmp_path).once(longer, SAMPLES, tmp_path / "out", fail)
    assert len(runs) == 2


def test_machines_wait_for_the_one_that_runs_the_reference(tmp_path) -> None:
    inside, proceed, runs, found = threading.Event(), threading.Event(), [], []
    job = cell("a").job

    def reference(out: Path):
        def once() -> Run:
            runs.append(1)
            inside.set()
            assert proceed.wait(60)
            out.mkdir(exist_ok=True)
            (out / "0.npz").write_text("y")
            return run("a")

        return once

    def machine(name: str) -> None:
        out = tmp_path / name
        kept = ReferenceCache(tmp_path).once(job, SAMPLES, out, reference(out))
        found.append((kept.id, (out / "0.npz").read_text()))

    threads = [threading.Thread(target=machine, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    assert inside.wait(60)
    proceed.set()
    for thread in threads:
        thread.join(60)
    assert (len(runs), found) == (1, [("a", "y")] * 3)


def test_other_versions_and_damaged_entries_are_run_again(tmp_path, monkeypatch) -> None:
    runs = []

    def once() -> Run:
        runs.append(1)
        return run("a")

    def ask() -> None:
        ReferenceCache(tmp_path).once(cell("a").job, SAMPLES, tmp_path / "out", once)

    ask()
    ask()
    assert len(runs) == 1
    monkeypatch.setattr(shared, "versions", lambda: {"onnxruntime": "1.0"})
    ask()
    assert len(runs) == 2
    for file in tmp_path.glob("*/run.json"):
        file.write_text("{")
    ask()
    assert len(runs) == 3


def test_a_session_that_ended_removes_the_folder_under_a_cell(tmp_path) -> None:
    folder = tmp_path / REFERENCES
    folder.mkdir()

    def once() -> Run:
        shutil.rmtree(folder)
        return run("a")

    references = ReferenceCache(folder)
    assert references.once(cell("a").job, SAMPLES, tmp_path / "out", once).id == "a"
    assert references.once(cell("a").job, SAMPLES, tmp_path / "out", lambda: run("b")).id == "b"
    assert not folder.exists()
