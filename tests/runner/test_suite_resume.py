"""What is done, what is known to be bad, what is to be done."""

from __future__ import annotations

from msgspec.structs import replace

from enginescope.model.suite import CellStatus
from enginescope.runner.suite_resume import conditions_here, standing_of
from tests.suites.made import HERE, cell, row, timed


def test_only_what_is_missing_is_to_be_done() -> None:
    good, bad, new = cell("good"), cell("bad"), cell("new")
    rows = {one.cell.key: one for one in (timed(good, 1.0), row(bad, CellStatus.CRASHED))}
    standing = standing_of([good, bad, new], rows, {None: HERE})
    assert [one.cell for one in standing.done] == [good]
    assert [one.cell for one in standing.known_bad] == [bad]
    assert standing.todo == (new,)
    assert standing.changed == 0


def test_retry_failed_runs_what_is_bad_and_not_what_is_good() -> None:
    good, bad = cell("good"), cell("bad")
    rows = {one.cell.key: one for one in (timed(good, 1.0), row(bad, CellStatus.WRONG))}
    standing = standing_of([good, bad], rows, {None: HERE}, retry_failed=True)
    assert (standing.todo, standing.known_bad) == ((bad,), ())
    assert [one.cell for one in standing.done] == [good]


def test_other_versions_make_everything_undone() -> None:
    good, bad = cell("good"), cell("bad")
    rows = {one.cell.key: one for one in (timed(good, 1.0), row(bad, CellStatus.UNSUPPORTED))}
    here = {None: {**HERE, "onnxruntime": "1.32.0"}}
    standing = standing_of([good, bad], rows, here)
    assert (standing.todo, standing.changed) == ((good, bad), 2)
    assert standing_of([good, bad], rows, None).todo == ()  # a fleet's machines differ


def test_each_environment_has_versions_of_its_own() -> None:
    ours, theirs = cell("a"), cell("a", "trt@trt86")
    assert ours.key != theirs.key
    rows = {one.cell.key: one for one in (timed(ours, 1.0), timed(theirs, 1.0))}
    here = {None: HERE, "trt86": {**HERE, "tensorrt": "8.6.1"}}
    assert standing_of([ours, theirs], rows, here).todo == (theirs,)


def test_what_failed_for_a_limit_is_done_again_under_another() -> None:
    slow, crashed = cell("slow"), cell("crashed")
    rows = {
        one.cell.key: one
        for one in (row(slow, CellStatus.TIMED_OUT), row(crashed, CellStatus.CRASHED))
    }
    longer = [
        replace(one, job=replace(one.job, limits=replace(one.job.limits, timeout_s=9.0)))
        for one in (slow, crashed)
    ]
    assert standing_of(longer, rows, {None: HERE}).todo == (longer[0],)


def test_what_missed_a_package_is_done_again_when_it_has_come() -> None:
    had, lacks, there = cell("had"), cell("lacks"), cell("there", "trt@other")
    reason = "Python package {} is not available: ort-cpu:fp16 needs it"
    rows = {
        one.cell.key: one
        for one in (
            row(had, CellStatus.UNSUPPORTED, reason=reason.format("json")),
            row(lacks, CellStatus.UNSUPPORTED, reason=reason.format("no-such-package")),
            row(there, CellStatus.UNSUPPORTED, reason=reason.format("json")),
        )
    }
    here = {None: HERE, "other": HERE}
    assert standing_of([had, lacks, there], rows, here).todo == (had,)
    assert standing_of([had], rows, None).todo == ()  # a fleet's machines differ


def test_conditions_name_versions_processor_and_cores() -> None:
    here = conditions_here(2)
    assert {"enginescope", "numpy", "cores"} <= here.keys()
    assert "cores" not in conditions_here()
