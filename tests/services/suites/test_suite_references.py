import json
import shutil
import threading
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, save_model

import enginescope.services.accuracy.validation_run as validation_run
import enginescope.services.suites.reference_cache as shared
from enginescope.cli.main import main
from enginescope.core.errors import BackendError, UnsupportedError
from enginescope.core.record import replace
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.run.sample_set import Sample
from enginescope.records.suite.suite import Cell, CellStatus
from enginescope.runner.fleet.machines import REFERENCES, packed_task, unpacked_returned
from enginescope.runner.inputs.collect_outputs import EndedBadly
from enginescope.runner.jobs import subject_of
from enginescope.services.suites.cell import CellContext, checked_cell, run_cell
from enginescope.services.suites.reference_cache import ReferenceCache, shared_references
from enginescope.services.suites.remote_cell import run_remote_cell
from tests.fakes.models import save, value
from tests.suites.made import cell

SAMPLES = (Sample(name="random 0"),)
REFERENCE = "ort-cpu?intra_op_num_threads=1&inter_op_num_threads=1"


def run(name: str) -> Run:
    return Run(id=name, created="", origin="measured", job=cell(name).job)


class Asked:
    """A cache, and which references had to be run."""

    def __init__(self, folder, most: int | None = None) -> None:
        self.cache, self.out = ReferenceCache(folder, most), folder / "out"
        self.ran: list[str] = []

    def once(self, job, samples=SAMPLES) -> Run:
        def ran() -> Run:
            self.ran.append(job.subject.name)
            self.out.mkdir(exist_ok=True)
            (self.out / "0.npz").write_text("y")
            return run(job.subject.name)

        return self.cache.once(job, samples, self.out, ran)


def test_the_same_question_is_answered_from_what_was_kept_and_another_is_not(tmp_path) -> None:
    known, job = Asked(tmp_path), cell("a").job
    known.once(job)
    shutil.rmtree(known.out)
    assert (known.once(job).id, len(known.ran)) == (job.subject.name, 1)
    assert (known.out / "0.npz").read_text() == "y"
    (tmp_path / "other").mkdir()
    known = Asked(tmp_path / "other")
    known.once(job)
    retrained = replace(job, subject=replace(job.subject, sha256="1" * 64))
    threads = replace(job, backend=replace(job.backend, options={"intra_op_num_threads": "1"}))
    others = (
        (retrained, SAMPLES),
        (threads, SAMPLES),
        (job, ()),
        (job, (Sample(name="random 0", seed=1),)),
    )
    for other, samples in others:
        known.once(other, samples)
    assert len(known.ran) == 1 + len(others)


def test_a_data_set_that_changed_is_asked_again(tmp_path) -> None:
    known = Asked(tmp_path)
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    (data / "input_0.pb").write_bytes(b"a")
    samples = (Sample(name="set", data_set=str(data)),)
    for _ in range(2):
        known.once(cell("a").job, samples)
    assert len(known.ran) == 1
    (data / "input_0.pb").write_bytes(b"longer")
    known.once(cell("a").job, samples)
    assert len(known.ran) == 2


def entries(folder) -> int:
    return len(list(folder.glob("*/run.json")))


def test_the_oldest_goes_unless_it_was_used(tmp_path) -> None:
    known = Asked(tmp_path, 8)
    jobs = [cell(f"{at}").job for at in range(20)]
    for job in jobs:
        known.once(job)
    assert entries(tmp_path) == 8
    known.once(jobs[19])
    assert len(known.ran) == 20
    known.once(jobs[0])
    assert len(known.ran) == 21
    (tmp_path / "used").mkdir()
    known = Asked(tmp_path / "used", 8)
    jobs = [cell(f"{at}").job for at in range(9)]
    for job in (*jobs[:8], jobs[0], jobs[8], jobs[0]):
        known.once(job)
    assert len(known.ran) == 9
    known.once(jobs[1])
    assert len(known.ran) == 10


@pytest.mark.usefixtures("in_process")
def test_a_machine_without_the_folder_runs_its_own_reference(tmp_path, convnet, answered) -> None:
    """From the inputs of its samples alone: a data set in the job would change the key."""
    (one,) = cells(convnet, "ort-cpu")
    work = replace(one.job.workload, data_set=str(tmp_path / "test_data_set_0"))
    one = replace(one, job=replace(one.job, workload=work))
    for _ in range(2):
        task = packed_task(one, None, references=str(tmp_path / "of another machine"))
        assert unpacked_returned(run_remote_cell(task)).row.status is CellStatus.OK
    assert len(of_reference(answered)) == 4
    assert {job.workload.data_set for job in answered} == {None}
    assert not (tmp_path / "of another machine").exists()
    assert shared_references(None) is None


@pytest.fixture
def answered(monkeypatch) -> list[Job]:
    """The jobs that were run for outputs."""
    jobs, real = [], validation_run.answered

    def counted(job, *more):
        jobs.append(job)
        return real(job, *more)

    monkeypatch.setattr(validation_run, "answered", counted)
    return jobs


def of_reference(jobs: list[Job]) -> list[int]:
    """Return the numbers of samples of the processes that ran the reference."""
    return [len(job.answering.samples) for job in jobs if str(job.backend) == REFERENCE]


def cells(model: Path, *specs: str, mode: str = "validate") -> list[Cell]:
    found = (cell(model.stem, spec, mode=mode) for spec in specs)
    return [replace(one, job=replace(one.job, subject=subject_of(model))) for one in found]


@pytest.mark.usefixtures("in_process")
def test_two_backends_run_the_reference_once_here_and_on_a_fleet(tmp_path, convnet, answered):
    both = cells(convnet, "ort-cpu?intra_op_num_threads=2", "ort-cpu")
    known, fleet = ReferenceCache(tmp_path), tmp_path / "fleet"
    fleet.mkdir()
    here = [checked_cell(one, Watcher(), known) for one in both]
    assert (len(of_reference(answered)), len(answered)) == (2, 6)  # its bindings, its outputs
    answered.clear()
    rows = [
        unpacked_returned(run_remote_cell(packed_task(one, None, references=str(fleet)))).row
        for one in both
    ]
    assert (len(of_reference(answered)), len(answered)) == (2, 6)
    alone = checked_cell(both[1], Watcher())
    assert {row.status for row in (*rows, *here, alone)} == {CellStatus.OK}
    assert [row.figures for row in rows] == [row.figures for row in here]
    assert alone.figures == here[1].figures
    assert {figure.metric for figure in alone.figures} >= {"max_abs_error", "cosine"}


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


def endless(path: Path) -> Path:
    """Write a model that loads at once and never ends: a loop that adds one to its input."""
    nodes = [
        helper.make_node("Identity", ["going"], ["goes_on"]),
        helper.make_node("Add", ["held", "one"], ["next"]),
    ]
    going, goes_on = (value(name, [], TensorProto.BOOL) for name in ("going", "goes_on"))
    inputs = [value("at", [], TensorProto.INT64), going, value("held", [1])]
    body = helper.make_graph(nodes, "body", inputs, [goes_on, value("next", [1])])
    loop = helper.make_node("Loop", ["count", "yes", "x"], ["y"], body=body)
    constants = {"count": np.array(2**60), "yes": np.array(True), "one": np.ones(1, np.float32)}
    return save(path, [loop], [value("x", [1])], [value("y", [1])], **constants)


def test_a_reference_that_times_out_runs_again_with_more_time(tmp_path, answered, capsys) -> None:
    model, file = endless(tmp_path / "endless.onnx"), tmp_path / "limits.toml"
    on = json.dumps([f"ort-cpu?intra_op_num_threads={count}" for count in (2, 3)])
    file.write_text(f'[suite]\nmodels = ["{model}"]\nbackends = {on}\nlayers = false\n')
    options = ["suite", str(file), "--mode", "both", "--store", str(tmp_path), "--timeout"]

    def rows() -> list[dict]:
        lines = (tmp_path / "suites" / "limits" / "cells.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    main([*options, "3s"])
    assert [one["status"] for one in rows()] == ["timed_out"] * 2
    assert all("the reference failed" in one["reason"] for one in rows())
    assert of_reference(answered).count(4) == 1
    assert "--timeout" in rows()[0]["hint"]
    answered.clear()
    main([*options, "3s"])
    assert answered == []  # known to be bad
    main([*options, "4s"])
    assert of_reference(answered).count(4) == 1
    assert len(rows()) == 4


def test_what_a_backend_lacks_is_unsupported_in_every_mode(tmp_path, convnet, answered) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Sin", ["x"], ["y"])], "none", [x], [y])
    opsets = [helper.make_opsetid("", 22)]
    model = tmp_path / "no_kernel.onnx"
    save_model(helper.make_model(graph, ir_version=10, opset_imports=opsets), model)
    for mode in ("benchmark", "validate", "both"):
        (one,) = cells(model, "ort-cpu?intra_op_num_threads=2", mode=mode)
        row = run_cell(one, CellContext(sink=lambda _run: None))
        assert row.status is CellStatus.UNSUPPORTED, mode
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    answered.clear()
    found = checked_cell(*cells(convnet, "ort-cuda"), Watcher(), ReferenceCache(tmp_path))
    assert found.status is CellStatus.UNSUPPORTED
    assert "CUDAExecutionProvider is not in" in (found.reason or "")
    assert [str(job.backend) for job in answered] == ["ort-cuda"]  # not the reference
