"""Entries of what was made ready, where several processes make the same."""

from pathlib import Path

import pytest

from enginescope.backends.onnxruntime.convert.model_files import new_entry

NAME = "made.json"


def is_there(entry: Path) -> bool:
    return (entry / NAME).is_file()


def test_what_another_process_has_made_meanwhile_stays(tmp_path) -> None:
    entry = tmp_path / "ort" / "key"
    with new_entry(entry, lambda: is_there(entry)) as late:
        with new_entry(entry, lambda: is_there(entry)) as early:
            (early / NAME).write_text("early")
        (late / NAME).write_text("late")
    assert (entry / NAME).read_text() == "early"
    assert [one.name for one in entry.parent.iterdir()] == ["key"]


def test_what_was_not_whole_before_is_made_anew(tmp_path) -> None:
    entry = tmp_path / "key"
    for by in ("first", "second"):
        with new_entry(entry, lambda: False) as part:
            (part / NAME).write_text(by)
    assert (entry / NAME).read_text() == "second"


def test_of_what_fails_nothing_is_kept(tmp_path) -> None:
    with pytest.raises(ValueError, match="no"), new_entry(tmp_path / "key", lambda: False):
        raise ValueError("no")
    assert not any(tmp_path.iterdir())
