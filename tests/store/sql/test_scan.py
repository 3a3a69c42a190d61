import shutil

import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.store import run_folder as module
from enginescope.store.run_folder import read_named, scan
from enginescope.store.run_names import PART, run_names
from tests.store.stored_runs import DAMAGE, a_run


def test_names_of_folders_alone(tmp_path) -> None:
    for name in ("b", "a", ".part-1", ".deleted-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").write_text("")
    assert run_names(tmp_path) == ("a", "b")
    assert run_names(tmp_path, PART) == (".part-1",)
    assert run_names(tmp_path / "none") == ()
    with pytest.raises(StoreError, match="cannot read"):
        run_names(tmp_path / "notes.txt")


def test_good_and_broken(store) -> None:
    good, bad = store.save(a_run(id="aaa")), store.save(a_run(id="bbb"))
    DAMAGE["half"](bad)
    found = scan(store.runs_folder, ("aaa", "bbb", "gone"))
    assert [row.id for row in found.rows] == ["aaa"]
    assert found.rows[0].size_bytes == sum(
        one.stat().st_size for one in good.rglob("*") if one.is_file()
    )
    assert [one.name for one in found.broken] == ["bbb"]
    assert "not valid JSON" in found.broken[0].reason


def test_a_copied_folder_is_another_run_by_name(store) -> None:
    folder = store.save(a_run(id="aaa"))
    shutil.copytree(folder, folder.with_name("bbb"))
    with pytest.raises(FormatError, match="at id: it is 'aaa'") as caught:
        read_named(folder.with_name("bbb"))
    assert caught.value.expected == "'bbb'"


def test_a_run_that_vanishes_is_not_broken(store, monkeypatch) -> None:
    folder = store.save(a_run(id="aaa"))
    read = module.read_run

    def vanish(path, **what):
        shutil.rmtree(path, ignore_errors=True)
        return read(path, **what)

    monkeypatch.setattr(module, "read_run", vanish)
    assert scan(store.runs_folder, ("aaa",)).broken == ()
    with pytest.raises(StoreError, match="deleted while it was read"):
        read_named(folder)
