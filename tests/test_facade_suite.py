"""Suites from Python."""

from __future__ import annotations

import pytest

import enginescope as es
from enginescope.core.errors import UsageError
from enginescope.model.gate import GateOutcome
from enginescope.model.suite import CellStatus
from enginescope.store.suite_folder import SuiteFolder
from tests.suites.made import cell, result, row, timed


@pytest.fixture
def store(tmp_path):
    """Two suites: in the second an answer is wrong."""
    for name, status in (("main", CellStatus.OK), ("head", CellStatus.WRONG)):
        made = result(
            [
                timed(cell("net"), 8.0),
                timed(cell("net", "ort-cuda"), 2.0),
                row(cell("bert", mode="validate"), status),
            ]
        )
        folder = SuiteFolder(tmp_path / "suites" / name)
        folder.begin(made.plan)
        for one in made.rows:
            folder.keep(one)
    return tmp_path


def test_rows_figures_and_tables(store) -> None:
    found = es.suite("head", store=store)
    assert repr(found) == "<OpenedSuite nightly: 3 cells: 2 ok, 1 wrong>"
    assert [one.cell.model for one in found.failed] == ["bert"]
    assert found.speed_ups["net-ort-cuda-None"] == 4.0
    assert found.perf_tables["status"].rows[0][:3] == ("net", "Pass", "Pass")
    assert "suite_heat" in found.charts
    assert es.suite(store / "suites" / "head").rows == found.rows
    assert found.notices == ()
    with (store / "suites" / "head" / "cells.jsonl").open("a") as file:
        file.write("merged by hand\n")
    assert [one.code for one in es.suite("head", store=store).notices] == ["W-SUITE-LINE"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_hold_a_row_for_each_cell_and_metric(store, kind) -> None:
    pytest.importorskip({"arrow": "pyarrow"}.get(kind, kind))
    frame = getattr(es.suite("main", store=store), f"to_{kind}")()
    assert "metric" in (frame.column_names if kind == "arrow" else frame.columns)
    values = frame["value"].to_pylist() if kind == "arrow" else frame["value"].to_list()
    assert 8.0 in values


def test_a_name_that_is_none_names_what_there_is(store) -> None:
    with pytest.raises(UsageError, match="head, main") as caught:
        es.suite("mian", store=store)
    assert caught.value.hint == "did you mean main?"


def test_a_gate_on_suites_of_answers(store) -> None:
    with pytest.warns(UserWarning, match="2 of 2 runs"):  # they were deleted: it is said
        report = es.gate("head", baseline="main", store=store)
    assert [one.outcome for one in report.rows] == [GateOutcome.NEW_FAILURE]
    assert not report.is_passed
