import json
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from enginescope.core.errors import StoreError, UsageError
from enginescope.core.record import replace
from enginescope.records.run.job import BackendSpec, Job, Subject
from enginescope.records.run.run import Artifact, Outcome, OutcomeKind
from enginescope.records.suite.suite import CellRow, CellStatus, Claim, SuiteChange
from enginescope.store import suite_folder
from enginescope.store.archive import Store
from enginescope.store.location import VARIABLE, DatabaseUrl, store_folder
from enginescope.store.row import Filter
from enginescope.store.row import select as select_rows
from enginescope.store.sql.database import Database
from tests.store.stored_runs import a_run, plain
from tests.suites.made import cell, keep_suite, result, timed

MODELS = ("resnet18.onnx", "ResNet50.onnx", "100%_a.onnx", "b_c.onnx", "ÄÖ.onnx", "a\\b.onnx")
BACKENDS = (("ort-cpu", None), ("ort-cuda", "fp16"), ("trt", "fp16"))


def many() -> list:
    chosen = random.Random(7)
    runs = []
    for number in range(30):
        backend, precision = chosen.choice(BACKENDS)
        runs.append(
            a_run(
                id=f"{number:06x}-{chosen.choice('aA_-')}",
                # offsets and parts of seconds, which a language's order of texts would mix up
                created=f"2026-01-01T00:00:{number % 7:02}{chosen.choice(('', '.5'))}+00:00",
                job=Job(
                    subject=Subject(name=chosen.choice(MODELS)),
                    backend=BackendSpec(name=backend, precision=precision),
                ),
                outcome=Outcome(kind=chosen.choice(tuple(OutcomeKind))),
                tags=tuple(chosen.sample(("a", "B", "b", "ä", "c.d"), chosen.randint(0, 3))),
            )
        )
    return runs


FILTERS = (
    Filter(),
    Filter(limit=7),
    Filter(limit=7, offset=5),
    Filter(offset=25),
    Filter(limit=5, offset=100),
    *(Filter(tag=one) for one in ("a", "B", "ä", "", "none")),
    *(Filter(model=one) for one in ("RESNET", "%", "_", "", "äö", "\\", "18.")),
    *(Filter(backend=one) for one in ("ort", "ORT-CUDA:", "trt:fp16", "%", "")),
    *(Filter(outcome=one) for one in ("ok", "timed_out", "")),
    *(Filter(order=one) for one in ("oldest", "fastest", "slowest", "model")),
    Filter(since="2026-01-02", until="2026-01-02"),
    Filter(tag="b", model="res", backend="ort", outcome="ok", limit=3),
)


def test_listings(place) -> None:
    store = Store(place)
    for run in many():
        store.save(run)
    rows = list(store.rows())
    assert len(rows) == 30
    assert sorted(rows, key=lambda row: row.id) == sorted(
        select_rows(rows, Filter()), key=lambda row: row.id
    )
    for wanted in FILTERS:
        expected = select_rows(rows, wanted)
        assert store.select(wanted) == expected, wanted
        assert Store(place).select(wanted) == expected, wanted
    assert store.notices == ()
    report = store.reindex()
    assert (report.indexed, report.broken) == (30, ())
    assert list(Store(place).rows()) == rows


def test_a_run_comes_back_whole(place, tmp_path) -> None:
    (tmp_path / "build.log").write_text("log")
    run = a_run(artifacts=(Artifact(path="build.log", kind="log"),), tags=("one",))
    Store(place).save(run, tags=["two"], files_from=tmp_path)
    again = Store(place)
    loaded = again.load("latest")
    (path,) = again.artifact_paths(run.id)
    assert (path.read_text(), path.parent.parent) == ("log", again.folder_of(run.id))
    assert loaded.tags == ("one", "two")
    assert plain(replace(loaded, tags=run.tags, artifacts=run.artifacts)) == plain(run)
    assert again.load(str(again.folder_of(run.id))).id == run.id
    assert again.id_of(str(again.folder_of(run.id))) == run.id


def test_names(place) -> None:
    store = Store(place)
    with pytest.raises(StoreError, match="has 0 runs") as caught:
        store.load("latest")
    assert "enginescope bench" in (caught.value.hint or "")
    runs = {"abc111": ["old", "def"], "abc222": [], "def333": ["old"]}
    for at, (run_id, tags) in enumerate(runs.items()):
        store.save(a_run(id=run_id, at=at), tags=tags)
    # a tag says more than a beginning, and names the newest run that has it
    named = {"latest": "def333", "latest~2": "abc111", "de": "def333", "def": "abc111"}
    named |= {"old": "def333", str(store.folder_of("abc222")): "abc222"}
    assert {name: store.load(name).id for name in named} == named
    with pytest.raises(StoreError, match="2 runs begin with it: abc111, abc222") as caught:
        store.load("abc")
    assert caught.value.hint == "give more of the id"
    for name, near in (("abc112", "abc111"), ("bac111", "abc111"), ("olld", "old")):
        with pytest.raises(StoreError, match="there is none in") as caught:
            store.load(name)
        assert caught.value.hint == f"did you mean {near}?"
    for name in ("latest~9", "latest~x", "", "../abc111", ".", ".part-", "\0"):
        with pytest.raises(StoreError):
            store.load(name)
    for here in (store, Store(place)):
        with pytest.raises(StoreError, match="a run of this id exists"):
            here.save(a_run(id="def333"))
    assert store.load("def333").created.endswith("02+00:00")
    for number in range(9):
        store.save(a_run(id=f"aa{number}"))
    with pytest.raises(StoreError, match=r"9 runs begin with it: aa0, .*, aa7, …"):
        store.load("aa")


def test_tags(place) -> None:
    store, run = Store(place), a_run(id="abc")
    store.save(run, tags=["a", "a"])
    before = store.folder_of("abc")
    assert store.load("abc").tags == ("a",)
    assert store.tag("abc", "b", "a", "b").tags == ("a", "b")
    assert store.untag("b", "a", "none").tags == ("b",)
    again = Store(place)
    assert plain(again.load("abc")) == plain(replace(run, tags=("b",)))
    assert [row.tags for row in again.rows()] == [("b",)]
    assert ([row.id for row in again.rows(tag="b")], again.rows(tag="a")) == (["abc"], ())
    assert again.folder_of("abc") == before
    assert json.loads((before / "run.json").read_text())["tags"] == ["b"]
    with pytest.raises(StoreError, match="there is none in"):
        store.tag("gone", "b")


def at_once(act: Callable[[int], object], count: int) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(act, range(count)))


def test_tags_given_at_once(place) -> None:
    Store(place).save(a_run(id="abc"))
    at_once(lambda number: Store(place).tag("abc", f"t{number}"), 6)
    assert sorted(Store(place).load("abc").tags) == [f"t{number}" for number in range(6)]


def test_many_save_at_once_into_a_new_store(place) -> None:
    failures = []

    def save(number: int) -> None:
        try:
            Store(place).save(a_run(id=f"run{number}"))
            Store(place).save(a_run(id="same"))
        except StoreError as error:
            failures.append(str(error.why))

    at_once(save, 6)
    assert (failures, len(Store(place).rows())) == (["a run of this id exists"] * 5, 7)


def test_one_of_many_sets_the_journal_of_a_new_file(tmp_path, monkeypatch) -> None:
    all_see_none, set_up = threading.Barrier(4, timeout=60), []
    version, write_ahead = Database.version, Database.write_ahead

    def seen(self) -> str | None:
        found = version(self)
        all_see_none.wait()
        return found

    def slowly(self) -> None:
        set_up.append(self)
        time.sleep(0.05)
        write_ahead(self)

    monkeypatch.setattr(Database, "version", seen)
    monkeypatch.setattr(Database, "write_ahead", slowly)
    place = DatabaseUrl(f"sqlite:///{tmp_path}/team.db")
    at_once(lambda number: Store(place).save(a_run(id=f"run{number}")), 4)
    monkeypatch.undo()
    assert (len(set_up), len(Store(place).rows())) == (1, 4)


def test_delete(place) -> None:
    store = Store(place)
    store.save(a_run(id="abc"))
    folder = store.folder_of("abc")
    assert store.delete("abc") == "abc"
    assert store.rows() == ()
    assert not folder.exists()
    with pytest.raises(StoreError):
        store.delete("abc")
    store.save(a_run("other.onnx", id="abc"))  # the id is free again
    assert store.load("abc").job.subject.name == "other.onnx"
    assert json.loads((store.folder_of("abc") / "run.json").read_text())["id"] == "abc"


def test_export_and_import(place, tmp_path) -> None:
    store = Store(place)
    store.save(a_run(id="abc"), tags=["a"])
    file = store.export("abc", tmp_path / "one.zip")
    assert plain(Store(tmp_path / "other").import_zip(file)) == plain(store.load("abc"))
    store.delete("abc")
    store.import_zip(file)
    assert store.load("a").id == "abc"


def test_check_writable(place, tmp_path) -> None:
    store = Store(place)
    store.check_writable()
    assert store.rows() == ()
    is_folder = not isinstance(place, DatabaseUrl)
    assert store.path == (place if is_folder else tmp_path / "home" / "enginescope")
    assert isinstance(store.path, Path)


def test_suites(place) -> None:
    here, there = Store(place), Store(place)
    slow, fast = cell("net", "ort-cpu"), cell("net", "ort-cpu:fp16")
    found = result([timed(slow, 8.0)], cells=(slow, fast))
    folder = suite_folder.SuiteFolder(here.suite_home() / suite_folder.SUITES / "nightly")
    folder.begin(found.plan)
    folder.keep(found.rows[0])
    keep_suite(here, folder)
    (other,) = suite_folder.suite_folders(there.suite_home())
    assert (other.path.name, other.result().count(CellStatus.OK)) == ("nightly", 1)
    other.keep(timed(fast, 2.0))
    keep_suite(there, other)
    again = suite_folder.suite_named("nightly", Store(place).suite_home())
    assert [one.figure("latency") for one in again.result().rows] == [8.0, 2.0]
    assert len(suite_folder.suite_folders(Store(place).suite_home())) == 1


def test_a_lease_is_of_one_machine_until_it_expires(place, tmp_path) -> None:
    store, plan = Store(place), result([timed(cell(), 1.0)]).plan
    mine = Claim(owner="mine (process 1)", token="m", seconds=900)
    theirs = Claim(owner="theirs (process 2)", token="t", seconds=900)
    row = timed(cell(), 3.0)

    def put(claim: Claim, *rows: CellRow) -> None:
        store.suites.put_suite("nightly", SuiteChange(plan=plan, rows=rows, claim=claim))

    put(mine)
    put(mine)  # renewed, also by a process that comes after a kill
    with pytest.raises(
        suite_folder.SuiteRunsError, match=r"mine \(process 1\) is running it, .* until 20"
    ):
        put(theirs, row)
    assert store.suites.suite_ended("nightly") == {}  # nothing of it is written
    assert store.suite_lease("nightly").owner == "mine (process 1)"
    put(replace(mine, seconds=-1))
    put(theirs, row)
    assert store.suite_lease("nightly").owner == "theirs (process 2)"
    store.suites.put_suite("nightly", SuiteChange(rows=(timed(cell(), 1.0, ended="2000"),)))
    (folder,) = suite_folder.suite_folders(Store(place).suite_home())
    assert folder.result().rows == (row,)  # the one that ended last
    with pytest.raises(StoreError, match="its plan is not stored here"):
        store.suites.put_suite("another", SuiteChange(rows=(row,)))
    assert store.suite_lease("another") is None


def test_the_argument_goes_first_else_the_platforms_data_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert store_folder(tmp_path / "argument") == tmp_path / "argument"
    assert store_folder() == tmp_path / "variable"
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store_folder().name == "enginescope"
    assert store_folder(Path("~/runs")) == Path.home() / "runs"
    with pytest.raises(UsageError, match="no_such_user"):
        store_folder(Path("~no_such_user_here/x"))
