from enginescope.analysis.suites.suite_row import with_cells
from enginescope.core.record import replace
from enginescope.records.suite.suite import CellRow, CellStatus
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow, GateTerms
from tests.suites.made import cell, row, timed

EMPTY = GateReport(baseline="main", terms=GateTerms(), rows=(), jobs=0)


def answered(model: str, status: CellStatus = CellStatus.OK, mode: str = "validate") -> CellRow:
    return row(cell(model, mode=mode), status)


def outcomes(before, now) -> dict[str, GateOutcome]:
    return {one.model: one.outcome for one in with_cells(EMPTY, before, now).rows}


def test_each_way_an_answer_can_change() -> None:
    ok, wrong = CellStatus.OK, CellStatus.WRONG
    before = [
        answered("same"),
        answered("broken"),
        answered("mended", wrong),
        answered("bad", wrong),
        answered("gone"),
    ]
    now = [
        answered("same"),
        answered("broken", CellStatus.CRASHED),
        answered("mended"),
        answered("bad", wrong),
        answered("new", ok),
        answered("new_bad", wrong),
    ]
    assert outcomes(before, now) == {
        "same": GateOutcome.NO_REGRESSION,
        "broken": GateOutcome.NEW_FAILURE,
        "mended": GateOutcome.FIXED,
        "bad": GateOutcome.STILL_FAILING,
        "gone": GateOutcome.LOST,
        "new": GateOutcome.NEW,
        "new_bad": GateOutcome.NEW_FAILURE,
    }
    report = with_cells(EMPTY, before, now)
    assert not report.is_passed
    assert report.rows[0].why == "crashed: it is said why"  # the worst first, and why
    assert report.jobs == 7
    assert report.measured == now[0].ended  # where no run says when


def test_measured_cells_are_left_to_their_runs_and_wrong_answers_said_once() -> None:
    assert outcomes([timed(cell("a"), 1.0)], [timed(cell("a"), 9.0)]) == {}
    both = timed(cell("a", mode="both"), 1.0)
    assert outcomes([both], [both]) == {}
    was = replace(timed(cell("a", mode="both"), 1.0), run="run1")
    lost = GateRow(
        job="a.onnx · ort-cpu",
        model="a.onnx",
        backend="ort-cpu",
        outcome=GateOutcome.LOST,
        baseline=("run1",),
    )
    report = replace(EMPTY, rows=(lost,), jobs=1)
    found = with_cells(report, [was], [answered("a", CellStatus.WRONG, "both")])
    assert [one.outcome for one in found.rows] == [GateOutcome.NEW_FAILURE]
    assert found.jobs == 1
