from __future__ import annotations

import json

import pytest

from enginescope.core.errors import FormatError
from enginescope.store import run_folder
from enginescope.store.migrate import migrated
from enginescope.store.run_folder import read_run, write_run
from tests.store.test_archive import a_run

STEPS = {
    1: lambda document: document | {"colour": "red"},
    2: lambda document: {key: value for key, value in document.items() if key != "old"},
}


def test_one_step_after_another() -> None:
    found = migrated({"schema_version": 1, "old": 1}, 1, steps=STEPS, target=3)
    assert found == {"schema_version": 3, "colour": "red"}
    assert migrated({"schema_version": 3}, 3, steps=STEPS, target=3) == {"schema_version": 3}


def test_an_older_run_is_brought_up_and_stays_so(tmp_path, monkeypatch) -> None:
    write_run(a_run(), tmp_path)
    path = tmp_path / "run.json"
    old = json.loads(path.read_text()) | {"schema_version": 0, "identifier": "abc"}
    del old["id"]
    path.write_text(json.dumps(old))
    rename = {0: lambda one: one | {"id": one["identifier"]}}
    monkeypatch.setattr(run_folder, "migrated", lambda one, at: migrated(one, at, steps=rename))
    assert read_run(tmp_path).id == "abc"
    assert json.loads(path.read_text())["schema_version"] == 1


def test_no_version_is_no_run(tmp_path) -> None:
    (tmp_path / "run.json").write_text('{"id": "abc"}')
    with pytest.raises(FormatError, match="no schema_version"):
        read_run(tmp_path)
