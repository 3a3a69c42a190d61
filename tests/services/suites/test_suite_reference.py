import shutil

import pytest

import enginescope.services.accuracy.validation_run as validation_run
from enginescope.core.record import replace
from enginescope.records.run.job import Watcher
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import Sample
from enginescope.records.suite.suite import CellStatus
from enginescope.runner.jobs import subject_of
from enginescope.services.suites.cell import checked_cell
from enginescope.services.suites.reference_cache import ReferenceCache
from tests.suites.made import cell

pytestmark = pytest.mark.usefixtures("in_process")

SAMPLES = (Sample(name="random 0"),)


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


def test_two_backends_of_a_model_ask_the_reference_once(tmp_path, convnet, monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    asked = []
    real = validation_run.answered

    def counted(job, *more):
        asked.append((str(job.backend), len(job.answering.samples)))
        return real(job, *more)

    monkeypatch.setattr(validation_run, "answered", counted)
    known = ReferenceCache(tmp_path)
    reference = "ort-cpu?intra_op_num_threads=1&inter_op_num_threads=1"
    for spec in ("ort-cpu?intra_op_num_threads=2", "ort-cpu"):
        one = cell("net", spec, mode="validate")
        one = replace(one, job=replace(one.job, subject=subject_of(convnet)))
        found = checked_cell(one, Watcher(), known)
        assert found.status is CellStatus.OK
        assert {figure.metric for figure in found.figures} >= {"max_abs_error", "cosine"}
    assert [spec for spec, _ in asked].count(reference) == 2  # its bindings, its answers
    assert len(asked) == 6


def test_the_reference_gets_the_inputs_of_its_samples_alone(tmp_path, convnet, monkeypatch) -> None:
    """A data set in the job as well would change the key of the cached outputs."""
    pytest.importorskip("onnxruntime")
    asked = []
    real = validation_run.answered

    def recorded(job, *more):
        asked.append(job.workload.data_set)
        return real(job, *more)

    monkeypatch.setattr(validation_run, "answered", recorded)
    one = cell("net", "ort-cpu", mode="validate")
    work = replace(one.job.workload, data_set=str(tmp_path / "test_data_set_0"))
    job = replace(one.job, subject=subject_of(convnet), workload=work)
    assert checked_cell(replace(one, job=job), Watcher()).status is CellStatus.OK
    assert set(asked) == {None}
