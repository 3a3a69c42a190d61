"""References answer once for all backends of a model."""

from __future__ import annotations

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


def answers(folder, text: str):
    folder.mkdir()
    (folder / "0.npz").write_text(text)
    return folder


def test_the_same_question_is_answered_from_what_was_kept(tmp_path) -> None:
    known = ReferenceCache(tmp_path)
    job = cell("a").job
    assert known.load(job, SAMPLES, tmp_path / "out") is None
    known.save(job, SAMPLES, run("a"), answers(tmp_path / "made", "y"))
    again = known.load(job, SAMPLES, tmp_path / "out")
    assert again is not None
    assert again.id == "a"
    assert (tmp_path / "out" / "0.npz").read_text() == "y"


def test_another_model_sample_or_option_is_another_question(tmp_path) -> None:
    known = ReferenceCache(tmp_path)
    job = cell("a").job
    known.save(job, SAMPLES, run("a"), answers(tmp_path / "made", "y"))
    retrained = replace(job, subject=replace(job.subject, sha256="1" * 64))
    threads = replace(job, backend=replace(job.backend, options={"intra_op_num_threads": "1"}))
    for other, samples in (
        (retrained, SAMPLES),
        (threads, SAMPLES),
        (job, ()),
        (job, (Sample(name="random 0", seed=1),)),
    ):
        assert known.load(other, samples, tmp_path / "out") is None


def test_a_data_set_that_changed_is_asked_again(tmp_path) -> None:
    known = ReferenceCache(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    (data / "input_0.pb").write_bytes(b"a")
    samples = (Sample(name="set", data_set=str(data)),)
    known.save(cell("a").job, samples, run("a"), tmp_path / "none")
    assert known.load(cell("a").job, samples, tmp_path / "out") is not None
    (data / "input_0.pb").write_bytes(b"longer")
    assert known.load(cell("a").job, samples, tmp_path / "out") is None


def test_the_oldest_goes(tmp_path) -> None:
    known = ReferenceCache(tmp_path)
    for at in range(20):
        known.save(cell(f"{at}").job, SAMPLES, run(f"{at}"), tmp_path / "none")
    assert known.load(cell("0").job, SAMPLES, tmp_path / "out") is None
    assert known.load(cell("19").job, SAMPLES, tmp_path / "out") is not None
    assert len(list(tmp_path.iterdir())) < 10


def test_an_entry_that_was_used_outlives_one_that_was_not(tmp_path) -> None:
    known = ReferenceCache(tmp_path)
    for at in range(8):
        known.save(cell(f"{at}").job, SAMPLES, run(f"{at}"), tmp_path / "none")
    assert known.load(cell("0").job, SAMPLES, tmp_path / "out") is not None
    known.save(cell("8").job, SAMPLES, run("8"), tmp_path / "none")
    assert known.load(cell("0").job, SAMPLES, tmp_path / "out") is not None
    assert known.load(cell("1").job, SAMPLES, tmp_path / "out") is None


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
