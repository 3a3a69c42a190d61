from __future__ import annotations

import json
import zipfile

import pytest

from enginescope.cli.main import main
from enginescope.store.archive import Store
from tests.store.test_archive import a_run


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.setenv("ENGINESCOPE_HOME", str(tmp_path / "store"))
    made = Store()
    made.save(a_run("resnet18.onnx", id="abc111", at=1), tags=["baseline"])
    made.save(a_run("bert.onnx", id="def222", at=2))
    return made


def test_alone_it_lists(store, capsys) -> None:
    assert main(["runs"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("def222") < shown.index("abc111")
    assert "resnet18.onnx" in shown
    assert "baseline" in shown


def test_a_listing_fits_eighty_columns(store, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    store.save(a_run("a_very_long_model_name_indeed_that_goes_on_and_on.onnx", at=3))
    main(["runs"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5  # nothing is folded
    assert max(map(len, lines)) <= 80


def test_filters(store, capfdbinary) -> None:
    assert main(["runs", "list", "--model", "bert", "--json"]) == 0
    assert [row["id"] for row in json.loads(capfdbinary.readouterr().out)] == ["def222"]
    assert main(["runs", "list", "--tag", "baseline", "--json"]) == 0
    assert [row["id"] for row in json.loads(capfdbinary.readouterr().out)] == ["abc111"]
    assert main(["runs", "list", "--outcome", "crashed", "--json"]) == 0
    assert json.loads(capfdbinary.readouterr().out) == []


def test_an_empty_store_says_so(tmp_path, capsys) -> None:
    assert main(["runs", "--store", str(tmp_path / "none")]) == 0
    assert "enginescope bench" in capsys.readouterr().err


def test_show(store, capsys) -> None:
    assert main(["runs", "show", "abc"]) == 0
    shown = capsys.readouterr().out
    assert "resnet18.onnx" in shown
    assert str(store.runs_folder / "abc111") in shown


def test_tags(store, capsys) -> None:
    assert main(["runs", "tag", "abc", "x", "y"]) == 0
    assert capsys.readouterr().out == "abc111: baseline x y\n"
    assert main(["runs", "untag", "x", "x", "y", "baseline"]) == 0
    assert capsys.readouterr().out == "abc111: no tags\n"


def test_export(store, tmp_path, capsys) -> None:
    assert main(["runs", "export", "abc", str(tmp_path / "out.zip")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "out.zip")
    assert "abc111/run.json" in zipfile.ZipFile(tmp_path / "out.zip").namelist()


def test_deleting_asks_or_needs_yes(store, capsys) -> None:
    assert main(["runs", "delete", "abc"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["runs", "delete", "abc", "def", "--yes"]) == 0
    assert capsys.readouterr().out == "deleted abc111\ndeleted def222\n"
    assert store.rows() == ()


def test_nothing_is_deleted_if_one_name_is_wrong(store) -> None:
    assert main(["runs", "delete", "abc", "zzz", "--yes"]) == 2
    assert len(store.rows()) == 2


def test_reindex_names_what_is_broken(store, capsys) -> None:
    (store.runs_folder / "abc111" / "run.json").write_text("{")
    assert main(["runs", "reindex"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1 runs indexed\n"
    assert "skipped abc111: " in shown.err


@pytest.mark.parametrize("verb", ["show", "export", "tag"])
def test_an_unknown_run_is_a_user_error(store, verb, tmp_path, capsys) -> None:
    more = {"show": [], "export": [str(tmp_path / "x.zip")], "tag": ["t"]}[verb]
    assert main(["runs", verb, "zzz", *more]) == 2
    shown = capsys.readouterr().err
    assert "run 'zzz'" in shown
    assert "Traceback" not in shown


def test_a_broken_run_is_a_user_error(store, capsys) -> None:
    (store.runs_folder / "abc111" / "run.json").write_text("{")
    assert main(["runs", "show", "abc"]) == 2
    assert "not valid JSON" in capsys.readouterr().err
