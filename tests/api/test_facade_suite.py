"""Suites from Python."""

import errno

import pytest

import enginescope as es
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import replace
from enginescope.records.suite.suite import CellStatus
from enginescope.records.verdict.gate import GateOutcome
from enginescope.store import run_folder
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
    found = es.open_suite("head", store=store)
    assert repr(found) == "<SuiteView nightly: 3 cells: 2 ok, 1 wrong>"
    assert [one.cell.model for one in found.failed] == ["bert"]
    assert found.speed_ups["net-ort-cuda-None"] == 4.0
    assert found.perf_tables["status"].rows[0][:3] == ("net", "Pass", "Pass")
    assert es.open_suite(store / "suites" / "head").rows == found.rows
    assert found.notices == ()
    with (store / "suites" / "head" / "cells.jsonl").open("a") as file:
        file.write("merged by hand\n")
    assert [one.code for one in es.open_suite("head", store=store).notices] == ["W-SUITE-LINE"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_hold_a_row_for_each_cell_and_metric(store, kind) -> None:
    pytest.importorskip({"arrow": "pyarrow"}.get(kind, kind))
    frame = getattr(es.open_suite("main", store=store), f"to_{kind}")()
    assert "metric" in (frame.column_names if kind == "arrow" else frame.columns)
    assert 8.0 in (frame["value"].to_pylist() if kind == "arrow" else frame["value"].to_list())


def test_a_gate_on_suites_and_names_that_are_none(store) -> None:
    with pytest.raises(UsageError, match="head, main") as caught:
        es.open_suite("mian", store=store)
    assert caught.value.hint == "did you mean main?"
    with pytest.warns(UserWarning, match="2 of 2 runs"):  # they were deleted: it is said
        report = es.gate("head", baseline="main", store=store)
    assert [one.outcome for one in report.rows] == [GateOutcome.NEW_FAILURE]
    assert not report.is_passed


class Recorder(es.SuiteObserver):
    """Records what a suite reports, and cancels after some cells."""

    def __init__(self, cancel_after: int | None = None) -> None:
        self.todo: list[str] = []
        self.ended: list[str] = []
        self.cancel_after = cancel_after

    def session_started(self, plan, state) -> None:
        self.todo = [one.label for one in state.todo]

    def cell_ended(self, row, slot) -> None:
        self.ended.append(row.cell.label)

    def check_cancelled(self) -> None:
        if len(self.ended) == self.cancel_after:
            raise KeyboardInterrupt


@pytest.fixture
def request_of_two(tmp_path, convnet) -> es.SuiteRequest:
    return es.SuiteRequest(
        source=convnet.parent,
        include=(convnet.stem,),
        backends=("fake", "fake?seed=1"),
        name="zoo",
        iterations=5,
        layers=False,
        store=tmp_path,
    )


def test_an_observer_sees_every_cell_and_its_cancelling_keeps_what_is_done(
    tmp_path, request_of_two
) -> None:
    first = Recorder(cancel_after=1)
    with pytest.raises(KeyboardInterrupt):
        es.run_suite(request_of_two, observer=first)
    assert len(first.todo) == 2
    assert first.ended == first.todo[:1]
    assert (tmp_path / "suites" / "zoo" / "results.csv").is_file()
    assert es.open_suite("zoo", store=tmp_path).result.pending == 1
    second = Recorder()
    found = es.run_suite(request_of_two, observer=second)
    assert second.ended == second.todo == first.todo[1:]
    assert [one.status for one in found.rows] == [CellStatus.OK] * 2


def test_keywords_replace_what_a_request_says(tmp_path, request_of_two) -> None:
    found = es.run_suite(request_of_two, backends=["fake"], name="one", store=tmp_path / "s")
    assert [one.cell.spec for one in found.rows] == ["fake"]
    assert es.open_suite("one", store=tmp_path / "s").rows == found.rows
    assert found.result.plan.command is not None
    with pytest.raises(UsageError, match="physical cores"):
        es.run_suite(request_of_two, jobs=4096)


def test_a_run_that_is_not_stored_is_a_warning_and_loses_no_figure(
    request_of_two, monkeypatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder, "write_run", full)
    with pytest.warns(UserWarning, match="the suite ended early: .* No space left"):
        found = es.run_suite(request_of_two)
    assert [one.figure("latency") is not None for one in found.rows] == [True]
    assert found.result.pending == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"iterations": 0}, "timing.iterations"),
        ({"processes": -1}, "timing.processes"),
        ({"retries": -1}, "suite.retries"),
        ({"mode": "benchmarks"}, "suite.mode"),
        ({"rtol": float("nan"), "mode": "both"}, "validation.rtol"),
        ({"place": es.ThisMachine(jobs=0)}, "at least one cell"),
    ],
)
def test_a_value_that_the_file_could_not_have_is_refused(request_of_two, values, said) -> None:
    with pytest.raises(EnginescopeError, match=said):
        es.run_suite(replace(request_of_two, **values))
