import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from enginescope.cli.main import main
from enginescope.core import sidecar
from enginescope.core.errors import FormatError, StoreError
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind
from enginescope.store import run_folder
from enginescope.store.archive import Store, load_path
from enginescope.store.machine_records import FLOORS
from enginescope.store.server_tokens import ServerTokens
from enginescope.store.suite_folder import SuiteFolder
from tests.store.stored_runs import DAMAGE, a_run, edit, plain


def test_a_saved_run_is_a_folder_of_its_id(store) -> None:
    run = a_run()
    folder = store.save(run)
    assert folder == store.runs_folder / run.id
    assert load_path(folder).id == load_path(folder / "run.json").id == run.id
    assert [one.name for one in store.runs_folder.iterdir()] == [run.id]
    document = json.loads((folder / "run.json").read_text())
    assert document["schema_version"] == 1
    assert document["samples"][0]["values_ms"]["npy"].startswith("arrays/")


def test_rows_of_a_store(store) -> None:
    store.save(a_run("resnet18.onnx", at=1), tags=["b", "a"])
    store.save(a_run("100%.onnx", at=2, outcome=Outcome(kind=OutcomeKind.CRASHED)))
    newest, oldest = store.rows()
    assert (newest.model, newest.outcome) == ("100%.onnx", "crashed")
    assert (oldest.median_ms, oldest.samples, oldest.tags) == (1.5, 11, ("a", "b"))
    for wanted, models in (
        ({"model": "resnet"}, ["resnet18.onnx"]),
        ({"model": "%"}, ["100%.onnx"]),
        ({"tag": "a"}, ["resnet18.onnx"]),
        ({"outcome": "crashed"}, ["100%.onnx"]),
        ({"backend": "ort"}, ["100%.onnx", "resnet18.onnx"]),
        ({"backend": "trt"}, []),
        ({"limit": 1}, ["100%.onnx"]),
    ):
        assert [row.model for row in store.rows(**wanted)] == models, wanted


def test_what_cannot_be_a_tag(store) -> None:
    run, wrong = a_run(), ["latest", "latest~1", "", "a b", "a/b", "-x"]
    store.save(run, tags=[*wrong, "good"])  # measured is measured: the run is kept
    loaded = store.load("good")
    assert loaded.tags == ("good",)
    assert [one.code for one in loaded.notices] == ["W-TAG"]
    assert loaded.notices[0].evidence == {"tags": wrong}
    for tag in wrong:
        with pytest.raises(StoreError, match="a tag has no spaces"):
            store.tag(run.id, tag)


def test_delete_and_tag_runs_of_the_store_alone(store, tmp_path) -> None:
    run = a_run()
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


def test_an_id_names_a_folder_of_the_store_and_is_not_latest(store, tmp_path) -> None:
    for run_id in ("", "../../evil", "a/b", ".part-1", "a" * 65, "a\n", "latest"):
        with pytest.raises(StoreError, match=r"an id is up to 64 .* not latest"):
            store.save(a_run(id=run_id))
    assert not store.path.exists()
    store.save(a_run(id="latest2"))
    packed = store.export("latest2", tmp_path / "one.zip")
    assert Store(tmp_path / "other").import_zip(packed).id == "latest2"
    assert store.load("latest").id == "latest2"


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


def test_a_broken_run_comes_with_a_way_out(store) -> None:
    run = a_run()
    folder = store.save(run)
    way_out = f"enginescope runs delete {run.id} removes it from the store"
    DAMAGE["another id"](folder)
    with pytest.raises(FormatError) as caught:
        store.load(run.id)
    assert caught.value.hint == f"expected '{run.id}'; {way_out}"
    DAMAGE["half"](folder)
    for ask in (store.load, store.load_id, lambda run_id: store.tag(run_id, "main"), store.untag):
        with pytest.raises(FormatError) as caught:
            ask(run.id)
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


def test_artefacts_start_where_they_are_said_to_and_are_files_of_the_run(store, tmp_path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "log.txt").write_text("log")
    run = a_run(artifacts=(Artifact(kind="log", path="log.txt"),))
    store.save(run, files_from=tmp_path / "from")
    (path,) = store.artifact_paths(run.id)
    assert path.read_text() == "log"
    other = Store(tmp_path / "other")
    other.save(store.load(run.id), files_from=store.folder_of(run.id))
    assert other.artifact_paths(run.id)[0].read_text() == "log"
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
    writers = [context.Process(target=save_many, args=(store.path, 10)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0] * 4
    rows = store.rows()
    assert len(rows) == len({row.id for row in rows}) == 41
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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["run.json", "arrays/000.npy"])
def test_a_pipe_in_place_of_a_file_hangs_no_listing(tmp_path, capsys, name) -> None:
    store = Store(tmp_path)
    store.save(a_run(id="good"))
    folder = store.save(a_run(id="piped"))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    (tmp_path / "index.sqlite").unlink()
    assert main(["runs", "--store", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "good" in shown.out
    assert "piped was skipped" in shown.err
    with pytest.raises(FormatError, match=r"is not a file|a pipe or a device"):
        store.load_id("piped")


@pytest.mark.timeout(30)
def test_a_pipe_in_place_of_another_file_of_the_store_is_an_error(tmp_path) -> None:
    for name, read in (
        ("noise-floors.json", FLOORS.read),
        ("suites/nightly/suite.json", lambda top: SuiteFolder(top / "suites/nightly").plan()),
        ("server/tokens.json", lambda top: ServerTokens(top).all()),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / name)
        with pytest.raises(FormatError, match="a pipe or a device"):
            read(tmp_path)


THREADS = 8
PROCESSES = 4
#: Threads take turns as often as they can, so that a race is lost in most processes and not in few.
SCRIPT = """
import pathlib, sys, threading
import enginescope.store.run_folder
from enginescope.store.archive import Store
sys.setswitchinterval(1e-6)
store, begin, failed = Store(pathlib.Path(sys.argv[1])), threading.Barrier(int(sys.argv[2])), []
def read(run_id):
    begin.wait()
    try:
        store.load_id(run_id)
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=read, args=(f"run{n}",)) for n in range(int(sys.argv[2]))]
[one.start() for one in threads]
[one.join() for one in threads]
print(*failed)
"""


def filled(folder) -> Store:
    store = Store(folder)
    for number in range(THREADS):
        store.save(a_run(id=f"run{number}"))
    return store


def test_eight_cold_threads(tmp_path) -> None:
    filled(tmp_path)
    for _ in range(PROCESSES):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(THREADS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr[-500:]


def test_headers_of_arrays_are_parsed_one_at_a_time(tmp_path, monkeypatch) -> None:
    store, now, most = filled(tmp_path), [], []
    real = np.lib.format.read_array_header_1_0
    sidecar._header_of.cache_clear()
    lock = threading.Lock()

    def parse(*given, **more):
        with lock:
            now.append(1)
            most.append(len(now))
        time.sleep(0.01)
        with lock:
            now.pop()
        return real(*given, **more)

    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", parse)
    with ThreadPoolExecutor(THREADS) as pool:
        assert len(list(pool.map(store.load_id, store.ids()))) == THREADS
    assert max(most) == 1
