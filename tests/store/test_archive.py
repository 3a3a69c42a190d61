from __future__ import annotations

import json
import multiprocessing
import secrets
import zipfile
from pathlib import Path

import numpy as np
import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.model.job import BackendSpec, Job, Subject
from enginescope.model.run import Artifact, Outcome, OutcomeKind, Run
from enginescope.model.samples import Samples, frozen
from enginescope.store import archive
from enginescope.store.archive import Store, load_path


def a_run(name: str = "m.onnx", *, at: int = 0, **more) -> Run:
    values = frozen(np.linspace(1, 2, 11))
    return Run(
        id=more.pop("id", secrets.token_hex(6)),
        created=f"2026-01-01T00:{at // 60:02}:{at % 60:02}+00:00",
        origin="measured",
        job=Job(subject=Subject(name=name), backend=BackendSpec(name="ort-cpu")),
        samples=(Samples(metric="latency", values_ms=values, warmup_ms=frozen([3.0])),),
        **more,
    )


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


def test_save_and_load(store) -> None:
    run = a_run()
    folder = store.save(run, tags=["good", "good"])
    loaded = store.load(run.id)
    assert folder == store.runs_folder / run.id
    np.testing.assert_array_equal(loaded.samples[0].values_ms, run.samples[0].values_ms)
    np.testing.assert_array_equal(loaded.samples[0].warmup_ms, [3.0])
    assert loaded.tags == ("good",)
    assert (loaded.job, loaded.created, loaded.outcome) == (run.job, run.created, run.outcome)
    assert load_path(folder).id == load_path(folder / "run.json").id == run.id


def test_an_id_is_written_once(store) -> None:
    run = a_run()
    store.save(run)
    with pytest.raises(StoreError, match="there is a run of that id"):
        store.save(run)
    assert [one.name for one in store.runs_folder.iterdir()] == [run.id]


def test_names(store) -> None:
    store.save(a_run(id="abc111", at=1), tags=["old"])
    store.save(a_run(id="abc222", at=2))
    store.save(a_run(id="def333", at=3), tags=["old"])
    assert store.load("def").id == "def333"
    assert store.load("latest").id == "def333"
    assert store.load("latest~2").id == "abc111"
    assert store.load("old").id == "def333"  # the newest with the tag
    assert store.load(str(store.runs_folder / "abc222")).id == "abc222"
    with pytest.raises(StoreError, match="2 runs begin so: abc111, abc222"):
        store.load("abc")
    with pytest.raises(StoreError) as caught:
        store.load("abc112")
    assert caught.value.hint == "did you mean abc111?"
    for name in ("latest~9", "latest~x", "", "../abc111"):
        with pytest.raises(StoreError):
            store.load(name)


def test_an_empty_store_says_what_to_do(store) -> None:
    assert store.rows() == ()
    with pytest.raises(StoreError) as caught:
        store.load("latest")
    assert "enginescope bench" in (caught.value.hint or "")


def test_rows(store) -> None:
    store.save(a_run("resnet18.onnx", at=1), tags=["b", "a"])
    store.save(a_run("100%.onnx", at=2, outcome=Outcome(kind=OutcomeKind.CRASHED)))
    newest, oldest = store.rows()
    assert (newest.model, newest.outcome) == ("100%.onnx", "crashed")
    assert (oldest.median_ms, oldest.samples, oldest.tags) == (1.5, 11, ("a", "b"))
    assert [row.model for row in store.rows(model="resnet")] == ["resnet18.onnx"]
    assert [row.model for row in store.rows(model="%")] == ["100%.onnx"]
    assert [row.model for row in store.rows(tag="a")] == ["resnet18.onnx"]
    assert [row.model for row in store.rows(outcome="crashed")] == ["100%.onnx"]
    assert len(store.rows(backend="ort")) == 2
    assert store.rows(backend="trt") == ()
    assert len(store.rows(limit=1)) == 1


def test_a_run_without_samples_has_no_median(store) -> None:
    run = a_run()
    store.save(Run(id=run.id, created=run.created, origin="measured", job=run.job))
    (row,) = store.rows()
    assert (row.median_ms, row.samples, row.metric) == (None, None, None)


def test_tags(store) -> None:
    run = a_run()
    store.save(run)
    assert store.tag(run.id, "x", "y", "x").tags == ("x", "y")
    assert store.rows(tag="y")[0].id == run.id
    assert store.untag("x", "y").tags == ("x",)
    assert store.rows(tag="y") == ()
    np.testing.assert_array_equal(store.load("x").samples[0].values_ms, run.samples[0].values_ms)


def test_artefacts_are_copied_and_never_overwrite_each_other(store, tmp_path) -> None:
    paths = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "times.json")
        paths[-1].write_text(folder)
    artifacts = tuple(Artifact(kind="times", path=str(path)) for path in paths)
    run = a_run(artifacts=artifacts)
    folder = store.save(run)
    kept = store.load(run.id).artifacts
    assert [one.path for one in kept] == ["artifacts/times.json", "artifacts/times-2.json"]
    assert [(folder / one.path).read_text() for one in kept] == ["one", "two"]
    assert kept[0].size_bytes == 3
    assert kept[0].sha256 is not None


def test_a_lost_artefact_is_said(store, tmp_path) -> None:
    run = a_run(artifacts=(Artifact(kind="times", path=str(tmp_path / "gone")),))
    store.save(run)
    loaded = store.load(run.id)
    assert [one.code for one in loaded.notices] == ["W-ARTIFACT-LOST"]
    assert loaded.artifacts[0].path == str(tmp_path / "gone")


def test_delete(store) -> None:
    run = a_run()
    store.save(run)
    assert store.delete(run.id) == run.id
    assert store.rows() == ()
    assert list(store.runs_folder.iterdir()) == []
    with pytest.raises(StoreError):
        store.delete(run.id)


def test_only_runs_of_the_store_are_deleted(store, tmp_path) -> None:
    other = Store(tmp_path / "other")
    folder = other.save(a_run())
    with pytest.raises(StoreError, match="not in the store"):
        store.delete(str(folder))
    assert folder.is_dir()


def test_export(store, tmp_path) -> None:
    run = a_run()
    store.save(run)
    path = store.export(run.id, tmp_path / "out.zip")
    with zipfile.ZipFile(path) as archive_file:
        names = archive_file.namelist()
        archive_file.extractall(tmp_path / "elsewhere")
    assert f"{run.id}/run.json" in names
    assert load_path(tmp_path / "elsewhere" / run.id).id == run.id
    with pytest.raises(StoreError, match="cannot write"):
        store.export(run.id, Path("/proc/none/out.zip"))


DAMAGE = {
    "empty": lambda folder: (folder / "run.json").write_text(""),
    "half": lambda folder: (folder / "run.json").write_text('{"id": "x", '),
    "no document": lambda folder: (folder / "run.json").unlink(),
    "another thing": lambda folder: (folder / "run.json").write_text("[]"),
    "no array": lambda folder: (folder / "arrays/000.npy").unlink(),
    "half an array": lambda folder: (folder / "arrays/000.npy").write_bytes(b"\x93NUMPY"),
    "newer": lambda folder: (folder / "run.json").write_text('{"schema_version": 99}'),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_broken_run_is_named_and_skipped(store, damage) -> None:
    good, bad = a_run(at=1), a_run(at=2)
    store.save(good)
    DAMAGE[damage](store.save(bad))
    report = store.reindex()
    assert report.indexed == 1
    assert [one.name for one in report.broken] == [bad.id]
    assert report.broken[0].reason
    assert [row.id for row in store.rows()] == [good.id]
    with pytest.raises((FormatError, StoreError)):
        store.load(bad.id)
    assert store.delete(bad.id) == bad.id


def test_a_newer_schema_names_both_versions(store) -> None:
    run = a_run()
    DAMAGE["newer"](store.save(run))
    with pytest.raises(StoreError, match="schema 99, this enginescope reads up to 1"):
        store.load(run.id)


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty"])
def test_the_index_comes_back_by_itself(store, damage) -> None:
    run = a_run()
    store.save(run, tags=["kept"])
    file = store.path / "index.sqlite"
    for one in store.path.glob("index.sqlite*"):
        one.unlink()
    if damage != "missing":
        file.write_bytes(b"" if damage == "empty" else b"not a database" * 500)
    again = Store(store.path)
    assert [row.tags for row in again.rows()] == [("kept",)]


def save_many(path: Path, count: int) -> None:
    store = Store(path)
    for number in range(count):
        store.save(a_run(at=number))


def test_several_processes_write_at_once(store) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=save_many, args=(store.path, 10)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert len(store.rows()) == 40
    assert store.reindex().indexed == 40


def test_a_half_written_run_is_not_seen(store, monkeypatch) -> None:
    def die(*_):
        raise OSError("disk full")

    monkeypatch.setattr(archive, "write_run", die)
    with pytest.raises(StoreError, match="disk full"):
        store.save(a_run())
    assert list(store.runs_folder.iterdir()) == []


def test_loading_a_path_needs_no_database() -> None:
    import subprocess
    import sys

    code = "import sys, enginescope.store.archive; print('sqlalchemy' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.strip() == "False"


def test_the_document_is_plain_json(store) -> None:
    folder = store.save(a_run())
    plain = json.loads((folder / "run.json").read_text())
    assert plain["schema_version"] == 1
    assert plain["samples"][0]["values_ms"]["npy"].startswith("arrays/")
