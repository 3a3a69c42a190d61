from __future__ import annotations

import json

import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.store import run_folder
from enginescope.store.run_folder import migrated, read_run, rewrite, write_run
from tests.store.stored_runs import a_run, edit

STEPS = {
    1: lambda document: document | {"colour": "red"},
    2: lambda document: {key: value for key, value in document.items() if key != "old"},
    3: lambda document: document | {"shade": document["colour"]["shade"]},
}


def up(document: dict, target: int) -> dict:
    return migrated(document, source="run.json", steps=STEPS, target=target)


def test_one_step_after_another() -> None:
    assert up({"schema_version": 1, "old": 1}, 3) == {"schema_version": 3, "colour": "red"}
    assert up({"schema_version": 3}, 3) == {"schema_version": 3}


def test_a_step_that_cannot_read_the_document() -> None:
    with pytest.raises(FormatError, match=r"not a run of schema 3 \(TypeError") as caught:
        up({"schema_version": 3, "colour": "red"}, 4)
    assert caught.value.path == "run.json"


@pytest.mark.parametrize("version", [None, "1", 1.5, True, []])
def test_no_version_is_no_run(version) -> None:
    with pytest.raises(FormatError, match="no schema_version"):
        up({"schema_version": version}, 3)
    with pytest.raises(FormatError, match="no schema_version"):
        up({}, 3)


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was(version) -> None:
    with pytest.raises(FormatError, match=f"there is no schema {version}"):
        up({"schema_version": version}, 3)


def test_a_newer_version_names_both() -> None:
    with pytest.raises(StoreError, match="schema 9, this enginescope reads up to 3") as caught:
        up({"schema_version": 9}, 3)
    assert caught.value.hint


def test_an_older_run_is_read_and_its_file_left(tmp_path, monkeypatch) -> None:
    write_run(a_run(id="abc"), tmp_path)
    edit(tmp_path, schema_version=0, identifier="abc", id=None)
    before = (tmp_path / "run.json").read_bytes()
    monkeypatch.setitem(run_folder.STEPS, 0, lambda one: one | {"id": one["identifier"]})
    assert read_run(tmp_path).id == "abc"
    assert read_run(tmp_path).samples[0].values_ms.size == 11
    assert (tmp_path / "run.json").read_bytes() == before
    assert rewrite(tmp_path, tags=("new",)).tags == ("new",)
    assert json.loads((tmp_path / "run.json").read_text())["schema_version"] == 1
