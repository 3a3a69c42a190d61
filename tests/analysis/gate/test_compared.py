import pytest

from enginescope.analysis.gate.gate import check_compared, gate
from enginescope.analysis.suites.suite_row import with_cells
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import CellStatus
from tests.analysis.in_turn import crashed, job, process
from tests.suites.made import cell, row


def on(backend: str, *, seed: int = 0) -> Run:
    return process(1.0, seed=seed, job=job(backend))


def refused(baseline: list[Run], current: list[Run]) -> UsageError:
    with pytest.raises(UsageError, match="nothing to compare") as error:
        check_compared(gate(baseline, current), baseline, current)
    return error.value


def test_jobs_and_cells_that_failed_before_are_named() -> None:
    runs = [crashed(on("a")), crashed(on("b", seed=1)), crashed(on("b", seed=2))]
    error = refused(runs, [crashed(on("a", seed=3)), crashed(on("b", seed=4))])
    assert error.why == (
        "2 of 2 jobs of the baseline and 2 of 2 jobs of the current side failed; "
        "the first is net.onnx · a · batch 1: crashed: died of SIGSEGV"
    )
    assert error.hint
    assert f"enginescope runs show {runs[0].id}" in error.hint
    error = refused([crashed(on("a"))], [on("b", seed=1)])
    assert error.why
    assert error.why.startswith("1 of 1 job of the baseline failed; the first is net.onnx · a")
    rows = [row(cell("net", mode="validate"), CellStatus.CRASHED)]
    with pytest.raises(UsageError, match="nothing to compare") as error:
        check_compared(with_cells(gate([], []), rows, rows), [], [])
    assert error.value.why
    assert error.value.why.startswith("1 of 1 job of the baseline and 1 of 1 job of the current")
    assert "crashed: it is said why" in error.value.why


def test_a_gate_that_compared_or_failed_is_returned() -> None:
    baseline, current = [on("a"), crashed(on("a", seed=1))], [on("a", seed=2)]
    report = replace(gate(baseline, current), rows=())
    with pytest.raises(UsageError, match="nothing to compare") as error:
        check_compared(report, baseline, current)
    assert error.value.why == "no job has latency on both sides"
    for baseline, current in (([on("a")], [on("a", seed=1)]), ([on("a")], [])):
        report = gate(baseline, current)
        assert check_compared(report, baseline, current) is report
