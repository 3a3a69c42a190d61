import json
import subprocess
import sys

import pytest

from enginescope.core.record import replace
from enginescope.records.suite.suite import CellStatus
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.suites.suite_cells import Fingerprints, resume_state
from tests.suites.made import HERE, cell, row, timed


def test_what_is_missing_or_bad_or_of_other_versions_is_to_be_done() -> None:
    good, bad, new = cell("good"), cell("bad"), cell("new")
    rows = {one.cell.key: one for one in (timed(good, 1.0), row(bad, CellStatus.CRASHED))}
    state = resume_state([good, bad, new], rows, Fingerprints(own=HERE))
    assert [one.cell for one in state.done] == [good]
    assert [one.cell for one in state.known_bad] == [bad]
    assert state.todo == (new,)
    assert state.changed == 0
    good, bad = cell("good"), cell("bad")
    rows = {one.cell.key: one for one in (timed(good, 1.0), row(bad, CellStatus.WRONG))}
    state = resume_state([good, bad], rows, Fingerprints(own=HERE), retry_failed=True)
    assert (state.todo, state.known_bad) == ((bad,), ())
    assert [one.cell for one in state.done] == [good]
    calm, busy, bad = cell("calm"), cell("busy"), cell("bad")
    loud = replace(timed(busy, 1.0), is_unstable=True)
    rows = {one.cell.key: one for one in (timed(calm, 1.0), loud, row(bad, CellStatus.CRASHED))}
    here = Fingerprints(own=HERE)
    assert resume_state([calm, busy, bad], rows, here).todo == ()
    state = resume_state([calm, busy, bad], rows, here, retry_busy=True)
    assert state.todo == (busy,)
    assert [one.cell for one in state.known_bad] == [bad]
    good, bad = cell("good"), cell("bad")
    rows = {one.cell.key: one for one in (timed(good, 1.0), row(bad, CellStatus.UNSUPPORTED))}
    here = Fingerprints(own={**HERE, "onnxruntime": "1.32.0"})
    state = resume_state([good, bad], rows, here)
    assert (state.todo, state.changed) == ((good, bad), 2)
    assert resume_state([good, bad], rows, None).todo == ()  # a fleet's machines differ
    ours, theirs = cell("a"), cell("a", "trt@trt86")
    assert ours.key != theirs.key
    rows = {one.cell.key: one for one in (timed(ours, 1.0), timed(theirs, 1.0))}
    here = Fingerprints(own=HERE, environments={"trt86": {**HERE, "tensorrt": "8.6.1"}})
    assert resume_state([ours, theirs], rows, here).todo == (theirs,)


@pytest.mark.parametrize(
    ("status", "raised"),
    [
        (CellStatus.TIMED_OUT, {"timeout_s": 9.0}),
        (CellStatus.OUT_OF_MEMORY, {"memory_bytes": 1 << 40}),
    ],
)
def test_what_failed_for_a_limit_is_done_again_under_another(status, raised) -> None:
    slow, crashed = cell("slow"), cell("crashed")
    rows = {one.cell.key: one for one in (row(slow, status), row(crashed, CellStatus.CRASHED))}
    longer = [
        replace(one, job=replace(one.job, limits=replace(one.job.limits, **raised)))
        for one in (slow, crashed)
    ]
    assert resume_state(longer, rows, Fingerprints(own=HERE)).todo == (longer[0],)


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
    here = Fingerprints(own=HERE, environments={"other": HERE})
    assert resume_state([had, lacks, there], rows, here).todo == (had,)
    assert resume_state([had], rows, None).todo == ()  # a fleet's machines differ


def test_the_fingerprint_names_versions_and_another_python_prints_its_own() -> None:
    assert {"enginescope", "numpy", "cores"} <= environment_fingerprint(2).keys()
    assert "cores" not in environment_fingerprint()
    module = "enginescope.runner.environment_fingerprint"
    printed = subprocess.run([sys.executable, "-m", module, "2"], capture_output=True, check=True)
    assert json.loads(printed.stdout.splitlines()[-1])["cores"] == "2"
