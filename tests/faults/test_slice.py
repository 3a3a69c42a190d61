"""A small part of the fault run (`make faults`), and that the run sees what it looks for."""

from __future__ import annotations

import pytest

from enginescope.store.archive import Store
from tests.faults.__main__ import Table, rooms
from tests.faults.ledger import Event, Ledger, check
from tests.store.stored_runs import a_run


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ENGINESCOPE_HOME", raising=False)


@pytest.mark.parametrize(
    ("room", "count"),
    [
        ("damage", 6),
        ("records", 8),
        ("file", 3),
        ("archives", 8),
        ("limit", 4),
        pytest.param("folder", 3, marks=pytest.mark.slow),
        pytest.param("serve", 2, marks=pytest.mark.slow),
        pytest.param("suites", 2, marks=pytest.mark.slow),
        pytest.param("requests", 20, marks=pytest.mark.slow),
    ],
)
def test_nothing_is_lost_and_all_is_readable(tmp_path, room, count) -> None:
    table = Table()
    for event in rooms(tmp_path, "7", None)[room](count=count):
        table.add(event)
    events = [one for each in table.events.values() for one in each]
    assert len(events) == count
    assert sum(one.checked for one in events) > 0
    assert table.is_sound, table


def test_what_is_lost_changed_or_unreadable_is_seen(tmp_path) -> None:
    """Otherwise a table of zeros would say nothing."""
    store, ledger = Store(tmp_path / "store"), Ledger()
    for run_id in ("gone", "other", "half", "whole", "back", "untagged"):
        run = a_run(id=run_id)
        store.save(run)
        ledger.keep(run)
    ledger.take("tagged untagged t1")
    ledger.take("deleting back")
    ledger.take("deleted back")
    store.delete("gone")
    store.delete("other")
    store.save(a_run(id="other", name="another.onnx"))
    (store.runs_folder / "half" / "run.json").write_text("{")
    event = check("plant", store.path, ledger)
    assert sorted(one.split()[0] for one in event.lost) == [
        *("back", "gone", "half", "other", "untagged")
    ]
    assert any("half" in one for one in event.unreadable)
    table = Table()
    table.add(event)
    assert not table.is_sound
    assert "| plant | 1 | 6 | 5 |" in str(table)


def test_a_sound_table_has_sums() -> None:
    table = Table()
    for kind in ("one", "one", "another"):
        table.add(Event(kind, 2))
    assert table.is_sound
    assert str(table).splitlines()[-1] == "| all | 3 | 6 | 0 | 0 |"
