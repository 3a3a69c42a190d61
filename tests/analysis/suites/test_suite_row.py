import pytest

from enginescope.analysis.suites import suite_row
from enginescope.core.record import replace
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.notice import Notice
from enginescope.records.suite.suite import CellFigure, CellRow, CellStatus
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow, GateTerms
from tests.analysis.gated_runs import crashed, process, processes
from tests.suites.made import cell, row, timed

TIME = suite_row.CellTime(started="2026-01-01T00:00:00+00:00", attempts=1, versions={})
LOAD = Notice(code="W-LOAD", message="other load", evidence={"unstable": True})


def figures(**values: float) -> tuple[CellFigure, ...]:
    return tuple(CellFigure(metric=name, value=value, unit="ms") for name, value in values.items())


def values(found) -> dict[str, float]:
    return {one.metric: one.value for one in found}


def test_medians_sums_and_extremes() -> None:
    own = figures(latency=1.0, latency_low=0.9, latency_high=1.1, samples=10)
    assert (suite_row.pooled_figures([own]), suite_row.pooled_figures([])) == (own, ())
    several = [
        figures(latency=2.0, min=1.9, max=9.0, samples=100, p90=2.2, load=5.0),
        figures(latency=2.1, min=1.8, max=3.0, samples=120, p90=2.4, load=8.0),
        figures(latency=1.9, min=1.7, max=4.0, samples=90, p90=2.3, load=6.0),
    ]
    found = values(suite_row.pooled_figures(several))
    assert (found["latency"], found["p90"], found["load"]) == (2.0, 2.3, 6.0)
    assert (found["samples"], found["min"], found["max"]) == (310, 1.7, 9.0)
    several = [figures(latency=2.0, p99=3.0, cold_load=50.0), figures(latency=2.0)]
    found = values(suite_row.pooled_figures(several))
    assert "p99" not in found
    assert found["cold_load"] == 50.0


def test_the_interval_is_of_how_processes_differ_and_not_of_their_own() -> None:
    own = {"latency_low": 1.999, "latency_high": 2.001}
    medians = [2.0, 2.1, 1.9]
    found = values(suite_row.pooled_figures([figures(latency=one, **own) for one in medians]))
    wanted = level_of_processes(medians)
    assert (found["latency_low"], found["latency_high"]) == (wanted.low, wanted.high)
    assert found["latency_low"] < 1.9


def test_the_row_has_all_runs_and_the_worst_of_their_ends() -> None:
    runs = [process(median, at) for at, median in enumerate((4.2, 4.0, 4.4, 4.1))]
    row = suite_row.cell_row(cell(processes=4), runs, TIME)
    assert row.runs == row.run_ids == tuple(one.id for one in runs)
    assert row.run == runs[3].id  # the lower of the middle two
    assert row.figure("latency") == pytest.approx(4.15, rel=1e-3)
    assert row.status is CellStatus.OK
    run = process(4.0)
    row = suite_row.cell_row(cell(), [run], TIME)
    assert (row.run, row.runs, row.run_ids) == (run.id, (), (run.id,))
    assert row.figures == suite_row.run_figures(run)
    assert suite_row.cell_row(cell(), (), TIME).run_ids == ()
    runs = [process(4.0), crashed(1)]
    row = suite_row.cell_row(cell(processes=3), runs, TIME)
    assert (row.status, row.reason) == (CellStatus.CRASHED, "segmentation fault")
    assert (row.run, row.runs) == (runs[1].id, tuple(one.id for one in runs))
    assert row.figures == ()
    runs = processes(4.0, 5)
    for count, unstable in ((2, False), (3, True)):
        loaded = [replace(one, notices=(LOAD,)) for one in runs[:count]]
        row = suite_row.cell_row(cell(processes=5), [*loaded, *runs[count:]], TIME)
        assert row.warnings == ("W-LOAD",)
        assert row.is_unstable is unstable


EMPTY = GateReport(baseline="main", terms=GateTerms(), rows=(), jobs=0)


def answered(model: str, status: CellStatus = CellStatus.OK, mode: str = "validate") -> CellRow:
    return row(cell(model, mode=mode), status)


def outcomes(before, now) -> dict[str, GateOutcome]:
    return {one.model: one.outcome for one in suite_row.with_cells(EMPTY, before, now).rows}


def test_each_way_an_answer_can_change() -> None:
    ok, wrong = CellStatus.OK, CellStatus.WRONG
    was = {"same": ok, "broken": ok, "mended": wrong, "bad": wrong, "gone": ok}
    before = [answered(name, status) for name, status in was.items()]
    ends = {"same": ok, "broken": CellStatus.CRASHED, "mended": ok, "bad": wrong, "new": ok}
    now = [answered(name, status) for name, status in (ends | {"new_bad": wrong}).items()]
    assert outcomes(before, now) == {
        "same": GateOutcome.NO_REGRESSION,
        "broken": GateOutcome.NEW_FAILURE,
        "mended": GateOutcome.FIXED,
        "bad": GateOutcome.STILL_FAILING,
        "gone": GateOutcome.LOST,
        "new": GateOutcome.NEW,
        "new_bad": GateOutcome.NEW_FAILURE,
    }
    report = suite_row.with_cells(EMPTY, before, now)
    assert not report.is_passed
    assert report.rows[0].why == "crashed: it is said why"  # the worst first, and why
    assert report.jobs == 7
    assert report.measured == now[0].ended  # where no run says when


def test_measured_cells_are_left_to_their_runs_and_wrong_answers_said_once() -> None:
    assert outcomes([timed(cell("a"), 1.0)], [timed(cell("a"), 9.0)]) == {}
    both = timed(cell("a", mode="both"), 1.0)
    assert outcomes([both], [both]) == {}
    was = replace(timed(cell("a", mode="both"), 1.0), run="run1")
    names = {"job": "a.onnx · ort-cpu", "model": "a.onnx", "backend": "ort-cpu"}
    lost = GateRow(**names, outcome=GateOutcome.LOST, baseline=("run1",))
    report = replace(EMPTY, rows=(lost,), jobs=1)
    found = suite_row.with_cells(report, [was], [answered("a", CellStatus.WRONG, "both")])
    assert [one.outcome for one in found.rows] == [GateOutcome.NEW_FAILURE]
    assert found.jobs == 1
