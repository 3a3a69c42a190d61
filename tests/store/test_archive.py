import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind, Run
from enginescope.store import run_folder
from enginescope.store.archive import Store, load_path
from tests.store.stored_runs import DAMAGE, a_run, edit, plain


def test_save_load_and_tag(store) -> None:
    run = a_run()
    folder = store.save(run, tags=["good", "good"])
    loaded = store.load(run.id)
    assert folder == store.runs_folder / run.id
    np.testing.assert_array_equal(loaded.samples[0].values_ms, run.samples[0].values_ms)
    np.testing.assert_array_equal(loaded.samples[0].warmup_ms, [3.0])
    assert loaded.tags == ("good",)
    assert (loaded.job, loaded.created, loaded.outcome) == (run.job, run.created, run.outcome)
    assert load_path(folder).id == load_path(folder / "run.json").id == run.id
    with pytest.raises(StoreError, match="a run of this id exists"):
        store.save(run)
    assert [one.name for one in store.runs_folder.iterdir()] == [run.id]
    assert store.untag(run.id, "good").tags == ()
    assert store.tag(run.id, "x", "y", "x").tags == ("x", "y")
    assert store.rows(tag="y")[0].id == run.id
    assert store.untag("x", "y").tags == ("x",)
    assert store.rows(tag="y") == ()
    np.testing.assert_array_equal(store.load("x").samples[0].values_ms, run.samples[0].values_ms)


def test_rows_of_an_empty_and_of_a_full_store(store) -> None:
    assert store.rows() == ()
    with pytest.raises(StoreError) as caught:
        store.load("latest")
    assert "enginescope bench" in (caught.value.hint or "")
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
    run = a_run()
    store.save(Run(id=run.id, created=run.created, origin="measured", job=run.job))
    (row,) = (row for row in store.rows() if row.id == run.id)
    assert (row.median_ms, row.samples, row.metric) == (None, None, None)


@pytest.mark.parametrize("tag", ["latest", "latest~1", "", "a b", "a/b", "-x"])
def test_what_cannot_be_a_tag(store, tag) -> None:
    run = a_run()
    store.save(run, tags=[tag, "good"])  # measured is measured: the run is kept
    loaded = store.load("good")
    assert loaded.tags == ("good",)
    assert [one.code for one in loaded.notices] == ["W-TAG"]
    assert loaded.notices[0].evidence == {"tags": [tag]}
    with pytest.raises(StoreError, match="a tag has no spaces"):
        store.tag(run.id, tag)


def test_delete_and_tag_runs_of_the_store_alone(store, tmp_path) -> None:
    run = a_run()
    store.save(run)
    assert store.delete(run.id) == run.id
    assert store.rows() == ()
    assert list(store.runs_folder.iterdir()) == []
    with pytest.raises(StoreError):
        store.delete(run.id)
    store.save(run)
    folder = Store(tmp_path / "other").save(run)
    for change in (store.delete, store.tag, store.untag):
        with pytest.raises(StoreError, match="not in the store"):
            change(str(folder))
    assert folder.is_dir()
    assert store.load(run.id).id == run.id


def test_a_path_into_the_store_is_the_run_there(store, monkeypatch) -> None:
    run = a_run()
    store.save(run)
    monkeypatch.chdir(store.path)
    assert store.id_of(f"runs/{run.id}") == run.id
    assert store.id_of(f"runs/{run.id}/run.json") == run.id
    assert store.delete(f"runs/{run.id}") == run.id
    store.save(a_run(id="abc"))
    monkeypatch.setattr(store, "id_of", lambda _: "gone")
    with pytest.raises(StoreError, match="cannot delete run gone: No such file"):
        store.delete("gone")


def test_a_save_that_was_cut_off_can_be_deleted(store) -> None:
    store.save(a_run(id="abc"))
    (store.runs_folder / ".part-1f").mkdir()
    (store.runs_folder / ".deleted-2e").mkdir()
    assert [row.id for row in store.rows()] == ["abc"]
    assert [one.name for one in store.reindex().broken] == [".part-1f"]
    assert store.delete(".part-1f") == ".part-1f"
    assert [one.name for one in store.runs_folder.iterdir()] == ["abc"]
    with pytest.raises(StoreError):
        store.delete(".part-1f")


def test_a_half_written_run_is_not_seen(store, monkeypatch) -> None:
    def die(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(run_folder, "write_run", die)
    with pytest.raises(StoreError, match="disk full"):
        store.save(a_run())
    assert list(store.runs_folder.iterdir()) == []


def test_loading_a_path_needs_no_database_and_the_document_is_plain_json(store) -> None:
    code = "import sys, enginescope.store.archive; print('sqlalchemy' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.strip() == "False"
    plain = json.loads((store.save(a_run()) / "run.json").read_text())
    assert plain["schema_version"] == 1
    assert plain["samples"][0]["values_ms"]["npy"].startswith("arrays/")


def test_names_and_a_long_list_of_candidates(store) -> None:
    store.save(a_run(id="abc111", at=1), tags=["old", "def"])
    store.save(a_run(id="abc222", at=2))
    store.save(a_run(id="def333", at=3), tags=["old"])
    assert store.load("de").id == "def333"
    assert store.load("def").id == "abc111"  # a tag says more than a beginning
    assert (store.load("latest").id, store.load("latest~2").id) == ("def333", "abc111")
    assert store.load("old").id == "def333"  # the newest with the tag
    assert store.load(str(store.runs_folder / "abc222")).id == "abc222"
    with pytest.raises(StoreError, match="2 runs begin with it: abc111, abc222") as caught:
        store.load("abc")
    assert caught.value.hint == "give more of the id"
    for name in ("latest~9", "latest~x", "", "../abc111", ".", ".part-", "\0"):
        with pytest.raises(StoreError):
            store.load(name)
    for number in range(9):
        store.save(a_run(id=f"aa{number}"))
    with pytest.raises(StoreError, match=r"9 runs begin with it: aa0, .*, aa7, …"):
        store.load("aa")


@pytest.mark.parametrize(
    ("name", "near"), [("abc112", "abc111"), ("bac1", "abc1"), ("basline", "baseline")]
)
def test_the_nearest_name_is_offered(store, name, near) -> None:
    store.save(a_run(id="abc111"), tags=["baseline"])
    with pytest.raises(StoreError, match="there is none in") as caught:
        store.load(name)
    assert caught.value.hint == f"did you mean {near}?"


@pytest.mark.parametrize("run_id", ["", "../../evil", "a/b", ".part-1", "a" * 65, "a\n"])
def test_an_id_names_a_folder_of_the_store_and_nothing_else(store, run_id) -> None:
    with pytest.raises(StoreError, match="an id is up to 64"):
        store.save(a_run(id=run_id))
    assert not store.path.exists()


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
    (notice,) = store.notices
    assert notice.code == "W-BROKEN-RUN"
    assert bad.id in notice.message
    with pytest.raises((FormatError, StoreError)):
        store.load(bad.id)
    assert store.delete(bad.id) == bad.id


@pytest.mark.parametrize("ask", ["load", "load_id", "tag", "untag"])
def test_a_broken_run_comes_with_a_way_out(store, ask) -> None:
    run = a_run()
    folder = store.save(run)
    way_out = f"enginescope runs delete {run.id} removes it from the store"
    DAMAGE["another id"](folder)
    with pytest.raises(FormatError) as caught:
        store.load(run.id)
    assert caught.value.hint == f"expected '{run.id}'; {way_out}"
    DAMAGE["half"](folder)
    arguments = (run.id, "main") if "tag" in ask else (run.id,)
    with pytest.raises(FormatError) as caught:
        getattr(store, ask)(*arguments)
    assert caught.value.hint == way_out
    with pytest.raises(FormatError) as caught:
        Store(store.path / "another").load(str(folder))
    assert caught.value.hint == "copy the run's folder again from its source"


def test_what_was_broken_is_forgotten_when_it_is_whole_again(store) -> None:
    folder = store.save(a_run())
    whole = (folder / "run.json").read_bytes()
    DAMAGE["half"](folder)
    store.reindex()
    assert store.rows() == ()
    assert [one.code for one in store.notices] == ["W-BROKEN-RUN"]
    (folder / "run.json").write_bytes(whole)
    assert len(store.rows()) == 1
    assert store.notices == ()


def test_a_newer_schema_names_both_versions(store, monkeypatch) -> None:
    run = a_run()
    DAMAGE["newer"](store.save(run))
    with pytest.raises(StoreError, match="schema 99, this enginescope reads up to 1"):
        store.load(run.id)
    store.save(a_run(id="abc"))
    Store(store.path).delete("abc")
    monkeypatch.setattr(store._shelf, "has", lambda _: True)
    with pytest.raises(StoreError, match="run abc: it was deleted while it was read"):
        store.load("abc")


def test_a_store_that_is_no_folder(store) -> None:
    store.path.write_text("a file")
    with pytest.raises(StoreError, match="cannot write to the store"):
        store.save(a_run())
    with pytest.raises(StoreError, match="cannot read"):
        store.rows()
    with pytest.raises(StoreError):
        store.load("latest")


def test_relative_artefacts_start_where_they_are_said_to(store, tmp_path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "log.txt").write_text("log")
    run = a_run(artifacts=(Artifact(kind="log", path="log.txt"),))
    store.save(run, files_from=tmp_path / "from")
    (path,) = store.artifact_paths(run.id)
    assert path.read_text() == "log"
    other = Store(tmp_path / "other")
    other.save(store.load(run.id), files_from=store.folder_of(run.id))
    assert other.artifact_paths(run.id)[0].read_text() == "log"


def test_only_files_of_the_run_are_its_artefacts(store, tmp_path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = store.save(a_run(id="abc"))
    paths = ["../../../secret", str(tmp_path / "secret"), "artifacts/none", "a" * 5000, "\0"]
    edit(folder, artifacts=[{"kind": "log", "path": path} for path in paths])
    assert store.artifact_paths("abc") == ()


def save_many(path: Path, count: int) -> None:
    store = Store(path)
    for number in range(count):
        run = a_run(at=number)
        store.save(run)
        store.tag("shared", f"by-{run.id}")


def test_several_processes_write_at_once(store) -> None:
    shared = a_run(id="feed", at=3000)
    folder = store.save(shared, tags=["shared"])
    for one in store.path.glob("index*"):  # so that they meet at its creation too
        one.unlink()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=save_many, args=(store.path, 25)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0] * 4
    rows = store.rows()
    assert len(rows) == len({row.id for row in rows}) == 101
    assert {one.name for one in store.runs_folder.iterdir()} == {row.id for row in rows}
    tags = {f"by-{row.id}" for row in rows if row.id != "feed"} | {"shared"}
    assert set(store.load("feed").tags) == set(rows[0].tags) == tags
    assert not list(store.path.glob("*damaged*"))
    assert store.notices == ()
    assert plain(load_path(folder))["samples"] == plain(shared)["samples"]


def test_a_writer_that_is_killed_leaves_no_run(store) -> None:
    store.save(a_run(id="abc"))
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from enginescope.store import archive, folder_store\n"
        "from tests.store.stored_runs import a_run\n"
        "def die(*_, **__): os._exit(9)\n"
        "folder_store.FolderStore.place = die\n"
        "archive.Store(Path(sys.argv[1])).save(a_run(id='def'))\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(store.path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert killed.returncode == 9
    assert [row.id for row in store.rows()] == ["abc"]
    report = store.reindex()
    assert report.indexed == 1
    assert report.broken[0].reason.startswith("a save that was cut off")
